"""The machine stays awake while something runs, and only then.

On Windows the system is asked not to sleep by itself; the screen may go dark, and a person can still send it to
sleep. Elsewhere nothing is asked: the machine keeps its own rules, and time slept through is seen by the engine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

_CONTINUOUS = 0x80000000
_SYSTEM_REQUIRED = 0x00000001


def ask_system(awake: bool) -> None:
    """Ask the system to stay awake, or no longer. Windows keeps the wish per thread: always call from the same."""
    if sys.platform == "win32":
        import ctypes

        ctypes.windll.kernel32.SetThreadExecutionState(_CONTINUOUS | (_SYSTEM_REQUIRED if awake else 0))


class KeepAwake:
    """Turns the number of running attempts into the wish to stay awake; each wish is said once."""

    def __init__(self, ask: Callable[[bool], None] = ask_system) -> None:
        self._ask = ask
        self._on = False

    def follow(self, running: int) -> None:
        """Say how many attempts run now; 0 lets the machine sleep again."""
        wanted = running > 0
        if wanted != self._on:
            self._on = wanted
            self._ask(wanted)
