"""A clock that goes wrong by a script: for trying out, in development, what the product does about it.

A script is a text file with one fault a line: after how long since the start, what, how much; ``#`` begins a comment.

    10s  step +2h       the wall clock is set two hours ahead, as by a person or a time server
    40s  step -2h       and back
    60s  suspend 8h     the machine sleeps: wall and elapsed time go on, awake time does not
    90s  elapsed -5s    elapsed time goes back, as only a broken machine does
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from pathlib import Path

from engine.clock import Clock, SystemClock
from engine.durations import parse_duration
from engine.errors import InvalidValue
from engine.instants import Instant

_LINE = re.compile(r"(\S+)\s+(step|suspend|elapsed)\s+([+-]?)(\S+)", re.ASCII)


class FaultKind(StrEnum):
    """What goes wrong: the wall clock is set, the machine sleeps, elapsed time jumps."""

    STEP = "step"
    SUSPEND = "suspend"
    ELAPSED = "elapsed"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault ``after_ms`` since the start; ``size_ms`` is negative for back, positive for a suspend."""

    after_ms: int
    kind: FaultKind
    size_ms: int


def read_clock_script(path: Path) -> tuple[Fault, ...]:
    """Read a script; `InvalidValue` names the line that cannot be read, or says that the file cannot be."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue(
            f"The clock script {path} cannot be read: {error}.", do="Name a text file."
        ) from error
    faults = []
    for number, line in enumerate(lines, start=1):
        text = line.partition("#")[0].strip()
        if text:
            faults.append(_fault(text, f"{path.name}, line {number}"))
    return tuple(sorted(faults, key=lambda fault: fault.after_ms))


def _fault(text: str, where: str) -> Fault:
    match = _LINE.fullmatch(text)
    if match is None or (match[2] == FaultKind.SUSPEND and match[3] == "-"):
        raise InvalidValue(
            f"{where}: {text!r} is no fault.",
            do="Write it like “10s step -2h” or “60s suspend 8h”.",
            line=where,
        )
    try:
        size = parse_duration(match[4])
        after = parse_duration(match[1])
    except InvalidValue as error:
        raise InvalidValue(f"{where}: {error.what}", do=error.do, line=where) from error
    return Fault(after, FaultKind(match[2]), -size if match[3] == "-" else size)


class FaultClock:
    """Another clock with the faults of a script laid over it, each from its time on. It counts from its making."""

    def __init__(self, faults: Sequence[Fault], clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._started = self._clock.elapsed()
        ordered = sorted(faults, key=lambda fault: fault.after_ms)
        self._times = [fault.after_ms for fault in ordered]
        sums = {
            kind: [0, *accumulate(fault.size_ms if fault.kind is kind else 0 for fault in ordered)]
            for kind in FaultKind
        }
        self._stepped, self._slept, self._jumped = (sums[kind] for kind in FaultKind)

    def now(self) -> Instant:
        """Wall time with what was set and slept so far."""
        at = self._at()
        return self._clock.now() + self._stepped[at] + self._slept[at]

    def elapsed(self) -> int:
        """Elapsed time with what was slept so far."""
        at = self._at()
        return self._clock.elapsed() + self._slept[at] + self._jumped[at]

    def awake(self) -> int:
        """Awake time; it knows of no sleep."""
        return self._clock.awake() + self._jumped[self._at()]

    def boot_id(self) -> str:
        """The boot of the clock behind."""
        return self._clock.boot_id()

    async def sleep(self, milliseconds: int) -> None:
        """Wait as the clock behind does."""
        await self._clock.sleep(milliseconds)

    def _at(self) -> int:
        """How many faults have come."""
        return bisect_right(self._times, self._clock.elapsed() - self._started)
