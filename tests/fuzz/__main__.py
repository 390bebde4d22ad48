"""Coverage-guided fuzzing of everything that reads bytes from elsewhere, outside the test run.

``python -m tests.fuzz TARGET [libFuzzer options]``, such as ``-runs=100000`` or ``-max_total_time=60``; without a
target it lists them. Needs the package atheris, on which the project does not depend. A target may refuse with one of
the program's own errors; anything else, or a hang, is a finding and ends the run with the bytes that caused it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

try:
    import atheris
except ImportError:
    sys.exit("The package atheris is not installed: python -m pip install atheris")

with atheris.instrument_imports(include=["engine"]):
    from tests.fuzz import targets

TARGETS: dict[str, Callable[[bytes], None]] = {
    name: function for name, function in vars(targets).items() if name.startswith("fuzz_")
}


def main() -> None:
    name = f"fuzz_{sys.argv[1]}" if len(sys.argv) > 1 else ""
    if name not in TARGETS:
        sys.exit("Targets: " + ", ".join(one.removeprefix("fuzz_") for one in TARGETS))
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(targets.seeds(sys.argv[1])):
            (Path(corpus) / str(number)).write_bytes(seed)
        atheris.Setup([sys.argv[0], "-timeout=10", *sys.argv[2:], corpus], TARGETS[name])
        atheris.Fuzz()


main()
