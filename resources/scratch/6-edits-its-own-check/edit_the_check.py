"""Write a wrong answer, and edit the check so that it would be found right."""

from pathlib import Path

Path("answer.txt").write_text("41\n", encoding="utf-8")
check = Path("check.py")
check.write_text(check.read_text(encoding="utf-8").replace('"42"', '"41"'), encoding="utf-8")
print("Wrote answer.txt, and made check.py expect what it says.")
