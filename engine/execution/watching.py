"""What watching a command has in common on every platform: its clocks, its limits, and what its end amounts to."""

from __future__ import annotations

from dataclasses import dataclass

from engine.clock import Clock
from engine.execution.process import (
    FLOOD_GRACE_MS,
    POLL_MS,
    Difference,
    EndedBy,
    Launch,
    NotStarted,
    ProcessIdentity,
    ProcessReport,
    Stop,
    TreeReport,
)
from engine.instants import Instant

SHORTEST_POLL_MS = 5

LINGER_MS = 200
"""How long what a command left behind may go on before it is asked to end: a ``tee`` may still write."""

KILL_PATIENCE_MS = 5_000
"""How long we wait for killed processes before we report them as survivors."""


class StartRefused(Exception):
    """The command provably never ran; carries why, a sentence, and the drift if that is why."""

    def __init__(self, why: NotStarted, detail: str, drift: tuple[Difference, ...] = ()) -> None:
        super().__init__(detail)
        self.why = why
        self.detail = detail
        self.drift = drift

    def report(self, asked_at: Instant, clock: Clock, stop: Stop) -> ProcessReport:
        """Give the report of a command that never ran."""
        return ProcessReport(
            asked_at,
            clock.now(),
            active_ms=0,
            slept_ms=0,
            ended_by=EndedBy.NOT_STARTED,
            not_started=self.why,
            detail=self.detail,
            drift=self.drift,
            stopped_by=stop.reason if self.why is NotStarted.STOPPED_FIRST else None,
        )


def drifted(drift: tuple[Difference, ...]) -> StartRefused:
    """Give the refusal of a start because guarded files are not what was approved."""
    names = ", ".join(one.path for one in drift)
    return StartRefused(NotStarted.DRIFTED, f"Not what was approved: {names}.", drift)


@dataclass(frozen=True, slots=True)
class Moment:
    """All three clocks at one moment, to tell active time from time asleep."""

    now: Instant
    elapsed: int
    awake: int

    @classmethod
    def of(cls, clock: Clock) -> Moment:
        """Read the clocks."""
        return cls(clock.now(), clock.elapsed(), clock.awake())


@dataclass(frozen=True, slots=True)
class ObservedEnd:
    """The end of the command's own process as it was seen. ``asked``: after we had asked or killed it.

    ``from_outside``: a signal or console event that was not ours ended it.
    """

    at: Moment
    code: int | None = None
    signal: int | None = None
    asked: bool = False
    from_outside: bool = False


class Watch:
    """The state of watching one command that was let go."""

    def __init__(self, launch: Launch, stop: Stop, clock: Clock, identity: ProcessIdentity) -> None:
        self.launch = launch
        self.identity = identity
        self.began = Moment.of(clock)
        self.cause: EndedBy | None = None
        self.end: ObservedEnd | None = None
        self._stop = stop
        self._clock = clock
        self._grace: int | None = None

    def due(self, written: int) -> int | None:
        """Say whether the tree is to be ended now: give the grace in ms, None if there is no new cause.

        A flood shortens a grace that already runs, also that of what the command left behind.
        """
        cause: EndedBy | None = None
        grace = self.launch.grace_ms
        if written > self.launch.output_limit_bytes:
            cause, grace = EndedBy.OUTPUT_LIMIT, min(grace, FLOOD_GRACE_MS)
        elif self.end is None and self._stop.reason is not None:
            cause = EndedBy.STOPPED
        elif self.end is None and self._clock.awake() - self.began.awake >= self.launch.time_limit_ms:
            cause = EndedBy.TIME_LIMIT
        if cause is None or (self._grace is not None and grace >= self._grace):
            return None
        self.cause = self.cause or cause
        self._grace = grace
        return grace

    def report(self, tree: TreeReport, written: int) -> ProcessReport:
        """Give the report of an observed end, whatever caused it."""
        end = self.end
        if end is None or end.asked:
            return self._report(self.cause or EndedBy.LOST, tree, written)
        # It had ended before anything that we did could reach it, so that is what happened (B-049).
        if end.from_outside:
            return self._report(EndedBy.SIGNAL, tree, written)
        flooded = written > self.launch.output_limit_bytes
        return self._report(EndedBy.OUTPUT_LIMIT if flooded else EndedBy.EXIT, tree, written)

    def lost(self, detail: str, tree: TreeReport, written: int) -> ProcessReport:
        """Give the report of a command that we lost sight of."""
        return self._report(EndedBy.LOST, tree, written, detail)

    def _report(self, ended_by: EndedBy, tree: TreeReport, written: int, detail: str = "") -> ProcessReport:
        began = self.began
        ended = self.end.at if self.end is not None else Moment.of(self._clock)
        active = ended.awake - began.awake
        return ProcessReport(
            began.now,
            ended.now,
            active_ms=active,
            slept_ms=max(0, ended.elapsed - began.elapsed - active),
            ended_by=ended_by,
            identity=self.identity,
            exit_code=self.end.code if self.end is not None else None,
            signal=self.end.signal if self.end is not None else None,
            stopped_by=self._stop.reason if ended_by is EndedBy.STOPPED else None,
            detail=detail,
            output_bytes=written,
            tree=tree,
        )


def next_interval(interval: int, grown: int, left: int) -> int:
    """Choose the next wait in ms: longer while it is quiet, shorter when the output nears its limit.

    ``grown`` bytes came within the last ``interval`` ms, ``left`` may still come.
    """
    if grown <= 0 or left <= 0:
        return min(POLL_MS, 2 * interval)
    half_of_the_way = left * interval // (2 * grown)
    return max(SHORTEST_POLL_MS, min(POLL_MS, 2 * interval, half_of_the_way))
