"""Judge the greeting: exit 0 if it is there and names both."""

import sys
from pathlib import Path

text = Path("greeting.txt").read_text(encoding="utf-8")
missing = [name for name in ("Ada", "Grace") if name not in text]
if missing:
    sys.exit(f"greeting.txt does not name {', '.join(missing)}.")
print("greeting.txt greets both by name.")
