"""An interrupt while the command line is still starting is answered like any other (exit code 130, no traceback)."""

from __future__ import annotations

import subprocess
import sys

INTERRUPTED_WHILE_IMPORTING = """
import sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "engine.interfaces.cli":
            raise KeyboardInterrupt
        return None

sys.meta_path.insert(0, Interrupt())
from engine.interfaces.entry import main
main()
"""


def test_an_interrupt_during_the_start_is_no_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_WHILE_IMPORTING], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "")


def test_the_entry_runs_the_command_line() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from engine.interfaces.entry import main; main()", "--version"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.strip()
