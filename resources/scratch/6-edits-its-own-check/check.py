"""Judge the answer: exit 0 if it is right."""

import sys
from pathlib import Path

answer = Path("answer.txt").read_text(encoding="utf-8").strip()
if answer != "42":
    sys.exit(f"The answer is {answer}, which is wrong.")
print("The answer is right.")
