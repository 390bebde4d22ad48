"""How the clock page says what the clocks did."""

from __future__ import annotations

from itertools import pairwise

from app.panels.words import order_name, stage_name
from app.theme import Look, Shape, Tone
from app.widgets import Times, duration_text, spoken
from engine.clock_watch import AnomalyKind, Reading
from engine.views.clock import AnomalyRow, ClockView, TouchedRow

TRUSTED = Look("trusted", Tone.OK, Shape.DOT)
DISTRUSTED = Look("distrusted", Tone.BAD, Shape.CLOCK)

_KINDS = {
    AnomalyKind.BELOW_HIGH_WATER: Look("below high water", Tone.BAD, Shape.TRIANGLE),
    AnomalyKind.WALL_BACK: Look("stepped back", Tone.BAD, Shape.TRIANGLE),
    AnomalyKind.WALL_FORWARD: Look("stepped forward", Tone.BAD, Shape.TRIANGLE),
    AnomalyKind.ELAPSED_BACK: Look("elapsed went back", Tone.BAD, Shape.TRIANGLE),
    AnomalyKind.SUSPEND: Look("slept", Tone.NEUTRAL, Shape.PAUSE),
}


def anomaly_look(kind: AnomalyKind) -> Look:
    """Word, tone and shape of a finding; sleep is no fault."""
    return _KINDS[kind]


def signed(milliseconds: int) -> str:
    """A length of time with its sign: "+3 min", "−1 h"; zero is "0 ms"."""
    if milliseconds == 0:
        return "0 ms"
    return f"{'+' if milliseconds > 0 else '−'}{duration_text(abs(milliseconds))}"


def trust_sentence(state: ClockView, times: Times) -> str:
    """Whether the clock is trusted, since when, and what that means."""
    if state.trusted:
        return "Wall time and elapsed time agree. Wakes, leases and expiries are judged by the clock."
    since = f" since {times.stamp(state.distrusted_since)}" if state.distrusted_since is not None else ""
    return (
        f"Distrusted{since}. {state.reason} Nothing is claimed, admitted or fired by time, and no lease is judged. "
        "What runs goes on, and you can hold, cancel and decide as always."
    )


def anomaly_text(row: AnomalyRow, times: Times) -> str:
    """A finding in one line for screen readers."""
    return f"{times.stamp(row.wall_after, seconds=True)}, {row.sentence}"


def touched_line(row: TouchedRow, times: Times) -> str:
    """One thing that a finding touched."""
    name = stage_name(row.number, row.purpose) if row.kind != "order" else order_name(row.number)
    when = (
        f"due {times.stamp(row.at, seconds=True)}" if row.kind == "task" else f"since {times.stamp(row.at)}"
    )
    return f"{name} · {spoken(row.title)} · {when}"


def offsets(history: tuple[Reading, ...]) -> tuple[tuple[Reading, int], ...]:
    """Each reading of the present boot with how far wall time has moved against elapsed time since the first."""
    if not history:
        return ()
    boot = history[-1].boot
    same = [reading for reading in history if reading.boot == boot]
    first = same[0]
    return tuple((reading, (reading.now - first.now) - (reading.elapsed - first.elapsed)) for reading in same)


def plot_sentence(state: ClockView) -> str:
    """What the plot shows, in words."""
    points = offsets(state.history)
    if len(points) < 2:
        return "There are not enough readings yet."
    span = duration_text(points[-1][0].elapsed - points[0][0].elapsed)
    parted = points[-1][1]
    widest = max(abs(offset) for _, offset in points)
    slept = sum(
        max(0, (after.elapsed - before.elapsed) - (after.awake - before.awake))
        for (before, _), (after, _) in pairwise(points)
    )
    asleep = f" The machine slept {duration_text(slept)} of it." if slept > state.tolerance_ms else ""
    if widest <= state.tolerance_ms:
        return (
            f"Over {span}, wall time and elapsed time agree within {duration_text(state.tolerance_ms)}: they are "
            f"{signed(parted)} apart now.{asleep}"
        )
    return f"Over {span}, wall time moved {signed(parted)} against elapsed time.{asleep}"
