"""The alarm clock's figures in the form in which they leave the engine (wakes.md §8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.wakes import MetricsSnapshot
from engine.wakes.metrics import BUCKETS_MS, Histogram


@dataclass(frozen=True, slots=True)
class Spread:
    """How long something took: how many of each length, the sum, and the number of all.

    ``within`` counts, for each bound of ``bounds_ms``, what took no longer; ``count`` has what took longer too.
    """

    bounds_ms: tuple[int, ...]
    within: tuple[int, ...]
    total_ms: int
    count: int


@dataclass(frozen=True, slots=True)
class LaneDepth:
    """How many wakes wait or fire in a lane."""

    workspace: str
    lane: str
    depth: int


@dataclass(frozen=True, slots=True)
class WakeFigures:
    """The alarm clock in numbers. ``events`` count by kind since the owner opened the folder.

    ``lateness`` is from the due time to the start, ``running`` from the start to the end, by kind. ``set_aside``
    are pending wakes that wait for a sink or for a person, by reason.
    """

    events: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    lateness: Mapping[str, Spread] = field(default_factory=dict)
    running: Mapping[str, Spread] = field(default_factory=dict)
    live: int = 0
    dead: int = 0
    oldest_overdue_ms: int = 0
    set_aside: Mapping[str, int] = field(default_factory=dict)
    lanes: tuple[LaneDepth, ...] = ()


def wake_figures(snapshot: MetricsSnapshot) -> WakeFigures:
    """The figures of a snapshot, in a fixed order."""
    events: dict[str, dict[str, int]] = {}
    for (kind, event), number in sorted(snapshot.counters.items()):
        events.setdefault(kind, {})[event] = number
    gauges = snapshot.gauges
    return WakeFigures(
        events=events,
        lateness={kind: _spread(one) for kind, one in sorted(snapshot.lateness.items())},
        running={kind: _spread(one) for kind, one in sorted(snapshot.running.items())},
        live=gauges.live,
        dead=gauges.dead,
        oldest_overdue_ms=gauges.oldest_overdue_ms,
        set_aside=dict(sorted(gauges.waiting.items())),
        lanes=tuple(LaneDepth(*lane, depth) for lane, depth in sorted(gauges.lanes.items())),
    )


def _spread(histogram: Histogram) -> Spread:
    within, below = [], 0
    for number in histogram.buckets[:-1]:
        below += number
        within.append(below)
    return Spread(BUCKETS_MS, tuple(within), histogram.total_ms, histogram.count)
