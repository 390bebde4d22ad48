"""Mend rounding.py; with ``--only-positive`` half of the way, so that a correction is needed."""

import sys
from pathlib import Path

POSITIVE = "return int(value + 0.5) if value >= 0 else round(value)"
WHOLE = "return int(value + 0.5) if value >= 0 else -int(-value + 0.5)"

target = Path(__file__).resolve().parent.parent / "rounding.py"
wanted = POSITIVE if "--only-positive" in sys.argv[1:] else WHOLE
lines = target.read_text(encoding="utf-8").splitlines()
if not lines[-1].strip().startswith("return "):
    sys.exit(f"{target.name} does not end as expected; nothing was changed.")
lines[-1] = f"    {wanted}"
target.write_text("\n".join(lines) + "\n", encoding="utf-8")
print(f"{target.name}: {wanted}")
