"""The command ``praxis-console``: looks at arguments, versions and display, then starts the console."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace

from app.options import has_display, installed, parse, qt_problem


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the console; returns the exit code."""
    options = parse(arguments)
    problem = qt_problem(sys.version_info[:2], installed("PySide6-Essentials"))
    if problem:
        _tell(problem)
        return 2
    if options.screenshots is not None and not options.self_test:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    elif not has_display(sys.platform, os.environ):
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        options = replace(options, tour=not (options.self_test or options.quit))
    # Only now: a broken pair of Python and PySide6 would end the process without a word.
    from app.main import start

    return start(options, _tell)


def _tell(text: str) -> None:
    """Say something where a person will see it: a windowed program on Windows has no standard error."""
    if sys.stderr is not None:
        print(text, file=sys.stderr)
    elif sys.platform == "win32":
        import ctypes

        ctypes.windll.user32.MessageBoxW(None, text, "Praxis Console", 0x10)


if __name__ == "__main__":
    sys.exit(main())
