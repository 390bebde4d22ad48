"""Print what pyproject.toml says the product needs, with the extras named as arguments; one requirement a line."""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = [line for name in sys.argv[1:] for line in project["optional-dependencies"][name]]
print("\n".join([*project["dependencies"], *extras]))
