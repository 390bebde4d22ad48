"""The time axis: instants to pixels and back, zoom and pan within limits, and where ticks stand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from app.widgets import Times
from engine.instants import EARLIEST, LATEST, Instant

SHORTEST_MS = 50
LONGEST_MS = 50 * 366 * 86_400_000

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
_STEPS = (
    *(1, 2, 5, 10, 20, 50, 100, 200, 500),
    *(_SECOND, 2 * _SECOND, 5 * _SECOND, 15 * _SECOND, 30 * _SECOND),
    *(_MINUTE, 2 * _MINUTE, 5 * _MINUTE, 15 * _MINUTE, 30 * _MINUTE),
    *(_HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR),
    *(_DAY, 2 * _DAY, 7 * _DAY, 14 * _DAY, 28 * _DAY, 91 * _DAY, 182 * _DAY, 364 * _DAY),
    *(5 * 364 * _DAY, 10 * 364 * _DAY),
)


@dataclass(frozen=True, slots=True)
class TimeScale:
    """A window of time laid over ``width`` pixels, beginning at pixel ``left``."""

    start: Instant
    span_ms: int
    left: float
    width: float

    @property
    def end(self) -> Instant:
        """The end of the window."""
        return self.start + self.span_ms

    @property
    def per_ms(self) -> float:
        """Pixels of one millisecond."""
        return self.width / self.span_ms

    def x(self, instant: Instant) -> float:
        """The pixel at which an instant stands; outside the window too."""
        return self.left + (instant - self.start) * self.width / self.span_ms

    def instant(self, x: float) -> Instant:
        """The instant at a pixel."""
        return self.start + round((x - self.left) * self.span_ms / max(self.width, 1.0))

    def over(self, left: float, width: float) -> TimeScale:
        """The same window over other pixels."""
        return replace(self, left=left, width=max(width, 1.0))

    def zoomed(self, factor: float, about: Instant) -> TimeScale:
        """A window shorter by ``factor``, with the instant ``about`` where it stood."""
        span = min(max(round(self.span_ms / factor), SHORTEST_MS), LONGEST_MS)
        share = (about - self.start) / self.span_ms
        return self.moved_to(round(about - share * span), span)

    def panned(self, milliseconds: int) -> TimeScale:
        """The window moved by so much."""
        return self.moved_to(self.start + milliseconds, self.span_ms)

    def moved_to(self, start: Instant, span_ms: int) -> TimeScale:
        """Another window within what can be written as a time."""
        span = min(max(span_ms, SHORTEST_MS), LONGEST_MS)
        return replace(self, start=min(max(start, EARLIEST), LATEST - span), span_ms=span)


@dataclass(frozen=True, slots=True)
class Tick:
    """One tick: where, and what is written at it. ``strong`` begins a day."""

    instant: Instant
    text: str
    strong: bool


def ticks(scale: TimeScale, times: Times, room: float) -> tuple[Tick, ...]:
    """Ticks at round times of the zone in force, at least ``room`` pixels apart."""
    step = next((size for size in _STEPS if size * scale.per_ms >= room), _STEPS[-1])
    offset = _offset_ms(times, scale.start)
    at = (scale.start + offset) // step * step - offset
    made: list[Tick] = []
    seen: Instant | None = None
    while at <= scale.end + step:
        # A change of the zone's offset within the window: go on from the round time of the new one.
        placed = at + offset - _offset_ms(times, _possible(at)) if step >= _HOUR else at
        if scale.start <= placed <= scale.end and placed != seen:
            made.append(_tick(placed, step, times))
            seen = placed
        at += step
    return tuple(made)


def _tick(instant: Instant, step: int, times: Times) -> Tick:
    moment = times.moment(instant)
    midnight = moment.hour == moment.minute == moment.second == moment.microsecond == 0
    day = f"{moment.day} {moment:%b}"
    if step >= 364 * _DAY:
        text = f"{moment:%b} {moment.year}"
    elif step >= _DAY:
        text = day if moment.year == times.moment(times.now()).year else f"{day} {moment.year}"
    elif midnight:
        text = day
    elif step >= _MINUTE:
        text = f"{moment:%H:%M}"
    elif step >= _SECOND:
        text = f"{moment:%H:%M:%S}"
    else:
        text = f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03d}"
    return Tick(instant, text, midnight)


def _offset_ms(times: Times, instant: Instant) -> int:
    return (times.moment(instant).utcoffset() or timedelta()) // timedelta(milliseconds=1)


def _possible(instant: Instant) -> Instant:
    return min(max(instant, EARLIEST), LATEST)
