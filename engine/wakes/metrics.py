"""Figures: per kind what was fired, late, retried and dead, and how long it took."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from engine.wakes.values import Gauges

BUCKETS_MS = (5, 10, 25, 50, 100, 250, 500, 1_000, 5_000, 30_000, 60_000, 300_000, 3_600_000)
"""Upper bounds of the histograms, in milliseconds."""

Event: TypeAlias = Literal[
    "created", "fired", "expired", "late", "retried", "dead", "lapsed", "lost", "cancelled", "no_sink"
]


@dataclass(slots=True)
class Histogram:
    """How many samples fell into each bucket, in milliseconds; the last is for everything above."""

    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS_MS) + 1))
    total_ms: int = 0
    count: int = 0

    def add(self, milliseconds: int) -> None:
        """Count one sample."""
        self.buckets[bisect_left(BUCKETS_MS, milliseconds)] += 1
        self.total_ms += milliseconds
        self.count += 1


@dataclass(frozen=True, slots=True)
class MetricsSnapshot:
    """All figures at one moment; counters since the alarm clock was made."""

    counters: dict[tuple[str, Event], int]
    lateness: dict[str, Histogram]
    running: dict[str, Histogram]
    gauges: Gauges


class Metrics:
    """The running figures of one alarm clock."""

    def __init__(self) -> None:
        self._counters: Counter[tuple[str, Event]] = Counter()
        self._lateness: dict[str, Histogram] = {}
        self._running: dict[str, Histogram] = {}

    def count(self, kind: str, event: Event, number: int = 1) -> None:
        """Count something that happened to wakes of a kind."""
        self._counters[(kind, event)] += number

    def started(self, kind: str, late_ms: int) -> None:
        """Note that a sink was started for the first time for a wake, so late after its due time."""
        self._lateness.setdefault(kind, Histogram()).add(late_ms)

    def ended(self, kind: str, run_ms: int) -> None:
        """Note how long a sink ran."""
        self._running.setdefault(kind, Histogram()).add(run_ms)

    def snapshot(self, gauges: Gauges) -> MetricsSnapshot:
        """The figures so far, with counts over the store."""
        return MetricsSnapshot(dict(self._counters), _copy(self._lateness), _copy(self._running), gauges)


def _copy(histograms: dict[str, Histogram]) -> dict[str, Histogram]:
    return {kind: Histogram(list(one.buckets), one.total_ms, one.count) for kind, one in histograms.items()}
