"""The console script ``praxis``: so small that Ctrl+C is answered while everything else is still being read."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line; an interrupt during its start ends with exit code 130 and nothing else."""
    try:
        from engine.interfaces.cli import run
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    sys.exit(run(sys.argv[1:]))
