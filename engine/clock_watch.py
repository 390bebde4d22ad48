"""Watching the clocks: wall time against elapsed time at every reading (E-30, E-31).

`judge` compares two readings and is a pure function. `WatchedClock` stands in front of a clock, compares each
reading with the one before, and stops trusting the wall time in the very call that first sees it jump, so that
no transaction is ever judged by a time nobody has looked at.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from engine.clock import Clock
from engine.instants import Instant, require_duration

DEFAULT_TOLERANCE_MS = 2_000
SAMPLES_WANTED = 5
"""How many consistent samples in a row show that wall and elapsed time agree again (E-33)."""

SAMPLE_GAP_MS = 500
"""Samples closer together than this count as one."""

HISTORY_GAP_MS = 1_000
MOST_HISTORY = 2_000
"""Readings kept to be shown, a second apart at first; when there are more, every second one goes."""

READ_TRIES = 20
READ_SPREAD_MS = 50


@dataclass(frozen=True, slots=True)
class Reading:
    """All clocks at one moment: wall time, elapsed time (sleep counted), awake time, and which boot it is."""

    now: Instant
    elapsed: int
    awake: int
    boot: str


class AnomalyKind(StrEnum):
    """What was wrong with the time. SUSPEND is a gap in which the machine slept, not a fault."""

    BELOW_HIGH_WATER = "BELOW_HIGH_WATER"
    WALL_BACK = "WALL_BACK"
    WALL_FORWARD = "WALL_FORWARD"
    ELAPSED_BACK = "ELAPSED_BACK"
    SUSPEND = "SUSPEND"


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One finding with both readings and its size in milliseconds."""

    kind: AnomalyKind
    before: Reading
    after: Reading
    size_ms: int

    @property
    def is_fault(self) -> bool:
        """Whether wall time cannot be trusted after it."""
        return self.kind is not AnomalyKind.SUSPEND


def judge(before: Reading, after: Reading, high_water: Instant, tolerance_ms: int) -> tuple[Anomaly, ...]:
    """Compare two readings taken one after the other; give what is wrong, nothing if all agree.

    Within one boot wall time must progress as elapsed time does, to within ``tolerance_ms`` (equality agrees).
    Across boots only the high water can be compared: the highest wall time that was ever committed.

    The boundaries, with tolerance ``T``, jump = wall progress less elapsed progress, slept = elapsed progress less
    awake progress, and below = high water less wall time:

    =========================  ==================  =========================================
    same boot                  finding             size
    =========================  ==================  =========================================
    elapsed progress < 0       ELAPSED_BACK        how far it went back
    jump > T                   WALL_FORWARD        the jump
    -T <= jump <= T            none                (equality agrees)
    jump < -T                  WALL_BACK           the jump
    slept > T                  SUSPEND             time slept; may come beside a jump
    =========================  ==================  =========================================

    In either case, if none of the faults above was found: below > T is BELOW_HIGH_WATER, below <= T is none.
    """
    found: list[Anomaly] = []
    if before.boot == after.boot:
        passed = after.elapsed - before.elapsed
        jump = (after.now - before.now) - passed
        if passed < 0:
            found.append(Anomaly(AnomalyKind.ELAPSED_BACK, before, after, -passed))
        elif jump > tolerance_ms:
            found.append(Anomaly(AnomalyKind.WALL_FORWARD, before, after, jump))
        elif jump < -tolerance_ms:
            found.append(Anomaly(AnomalyKind.WALL_BACK, before, after, -jump))
        slept = passed - (after.awake - before.awake)
        if slept > tolerance_ms and passed >= 0:
            found.append(Anomaly(AnomalyKind.SUSPEND, before, after, slept))
    if high_water - after.now > tolerance_ms and not any(one.is_fault for one in found):
        found.append(Anomaly(AnomalyKind.BELOW_HIGH_WATER, before, after, high_water - after.now))
    return tuple(found)


class WatchedClock:
    """A clock that compares every reading with the last one. Safe to use from several threads.

    ``trusted`` turns False in the call that finds a fault and True only by `trust`. The findings wait in
    `take_found` until somebody records them.
    """

    def __init__(self, clock: Clock, tolerance_ms: int = DEFAULT_TOLERANCE_MS) -> None:
        self.tolerance_ms = require_duration(tolerance_ms, "clock tolerance")
        self._clock = clock
        self._lock = threading.Lock()
        self._last = self._read()
        self._high_water = self._last.now
        self._found: list[Anomaly] = []
        self._trusted = True
        self._samples = 0
        self._sampled_at = self._last.elapsed
        self._history = [self._last]
        self._history_gap = HISTORY_GAP_MS

    @property
    def trusted(self) -> bool:
        """Whether wall time may be judged by."""
        with self._lock:
            return self._trusted

    @property
    def high_water(self) -> Instant:
        """The highest wall time seen while it was trusted, or as it was begun with."""
        with self._lock:
            return self._high_water

    @property
    def consistent_samples(self) -> int:
        """How many samples in a row agreed since the last fault, at most `SAMPLES_WANTED`."""
        with self._lock:
            return self._samples

    @property
    def last(self) -> Reading:
        """The last reading."""
        with self._lock:
            return self._last

    def history(self) -> tuple[Reading, ...]:
        """Readings of this process, oldest first, the last one included; at most `MOST_HISTORY` and one."""
        with self._lock:
            last = () if self._history[-1] is self._last else (self._last,)
            return (*self._history, *last)

    def begin(self, stored: Reading, high_water: Instant, trusted: bool) -> None:
        """Go on from what an earlier process stored: its last reading, high water and trust."""
        with self._lock:
            now = self._read()
            self._high_water = max(high_water, self._high_water) if trusted else high_water
            self._trusted = trusted
            self._note(judge(stored, now, high_water, self.tolerance_ms), now)

    def now(self) -> Instant:
        """Wall time; compared with the last reading first."""
        return self.look().now

    def look(self) -> Reading:
        """Read all clocks and compare them with the last reading."""
        with self._lock:
            reading = self._read()
            high_water = self._high_water if self._trusted else reading.now
            self._note(judge(self._last, reading, high_water, self.tolerance_ms), reading)
            if reading.elapsed - self._sampled_at >= SAMPLE_GAP_MS:
                self._samples = min(self._samples + 1, SAMPLES_WANTED)
                self._sampled_at = reading.elapsed
            return reading

    def take_found(self) -> Sequence[Anomaly]:
        """Give what was found since the last call; each finding is given once."""
        with self._lock:
            found, self._found = self._found, []
            return found

    def give_back(self, found: Sequence[Anomaly]) -> None:
        """Put findings back that could not be recorded."""
        with self._lock:
            self._found = [*found, *self._found]

    def trust(self, high_water: Instant) -> None:
        """Trust wall time from now on, with this high water: a person has confirmed it."""
        with self._lock:
            self._trusted = True
            self._high_water = high_water

    def elapsed(self) -> int:
        """Milliseconds since boot, suspend included."""
        return self._clock.elapsed()

    def awake(self) -> int:
        """Milliseconds since boot in which the machine did not sleep."""
        return self._clock.awake()

    def boot_id(self) -> str:
        """Which boot it is."""
        return self._clock.boot_id()

    async def sleep(self, milliseconds: int) -> None:
        """Wait as the clock behind does."""
        await self._clock.sleep(milliseconds)

    def _read(self) -> Reading:
        """Read all clocks so close together that a thread's pause between them is not taken for a jump."""
        clock = self._clock
        for _ in range(READ_TRIES):
            started = clock.elapsed()
            reading = Reading(clock.now(), started, clock.awake(), clock.boot_id())
            if clock.elapsed() - started <= READ_SPREAD_MS:
                break
        return reading

    def _note(self, found: Sequence[Anomaly], reading: Reading) -> None:
        self._keep(found, reading)
        self._last = reading
        self._found.extend(found)
        if any(one.is_fault for one in found):
            self._trusted = False
            self._samples = 0
            self._sampled_at = reading.elapsed
        elif self._trusted:
            self._high_water = max(self._high_water, reading.now)

    def _keep(self, found: Sequence[Anomaly], reading: Reading) -> None:
        """Keep a reading for the history: now and then, and both readings of a finding."""
        kept = self._history
        if found and kept[-1] is not self._last:
            kept.append(self._last)
        if found or abs(reading.elapsed - kept[-1].elapsed) >= self._history_gap:
            kept.append(reading)
        if len(kept) > MOST_HISTORY:
            del kept[1::2]
            self._history_gap *= 2
