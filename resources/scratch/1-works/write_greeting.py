"""Write a greeting into a file."""

import sys
from pathlib import Path

name = sys.argv[sys.argv.index("--to") + 1]
print(f"Writing a greeting to {name} …", flush=True)
Path("greeting.txt").write_text(f"Good morning, {name}.\n", encoding="utf-8")
print("Done: greeting.txt")
