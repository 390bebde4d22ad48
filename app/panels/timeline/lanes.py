"""Bars arranged for painting: lanes one below the other, bars that overlap in rows of their own.

Each row keeps its bars in the order of their start with the furthest end so far, so that what is in view is found by
two bisections however many there are.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.panels.timeline.words import look_of_bar
from app.theme import Tone
from engine.instants import LATEST, Instant
from engine.views.timeline import BarKind, TimelineBar, TimelineCell, TimelineLane

MOST_ROWS = 8
"""A lane is no higher than this; what does not fit is painted over the last row."""

RANKS = (Tone.NEUTRAL, Tone.OK, Tone.LIVE, Tone.WARN, Tone.BAD, Tone.UNKNOWN)
"""Where several bars share a pixel the last of these shows: nothing bad hides behind something good."""

_RANK = {tone: rank for rank, tone in enumerate(RANKS)}


@dataclass(slots=True)
class Row:
    """Bars in the order of their start. ``ends`` of open ones is `LATEST`; ``ranks`` are those of their tones.

    ``reach`` is the furthest end so far, ``longest`` how long the longest bar takes.
    """

    starts: list[Instant] = field(default_factory=list)
    ends: list[Instant] = field(default_factory=list)
    reach: list[Instant] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    bars: list[TimelineBar] = field(default_factory=list)
    longest: int = 0

    def add(self, bar: TimelineBar) -> None:
        """Add a bar that starts no earlier than the last."""
        end = _end(bar)
        self.starts.append(bar.start)
        self.ends.append(end)
        self.reach.append(max(end, self.reach[-1]) if self.reach else end)
        self.ranks.append(rank_of(bar.kind, bar.state))
        self.bars.append(bar)
        self.longest = max(self.longest, end - bar.start)

    def within(self, start: Instant, end: Instant) -> tuple[int, int]:
        """The range of bars that may touch a window: first and one behind the last."""
        return bisect_left(self.reach, start), bisect_right(self.starts, end)


@dataclass(slots=True)
class Lane:
    """One lane with its rows of bars and its counts.

    ``columns`` are the counts by slice: (slice, total, ((rank, count), …) from the worst). ``most`` is the
    greatest total.
    """

    lane: TimelineLane
    rows: list[Row]
    cells: list[TimelineCell]
    columns: list[tuple[int, int, tuple[tuple[int, int], ...]]]
    most: int

    @property
    def height(self) -> int:
        """How many rows high it is; counts have a row of their own."""
        return len(self.rows) + bool(self.columns)


def arranged(
    lanes: Sequence[TimelineLane], bars: Sequence[TimelineBar], cells: Sequence[TimelineCell]
) -> list[Lane]:
    """Put bars (in the order of their start) and counts into their lanes."""
    of_lane: dict[str, list[TimelineBar]] = defaultdict(list)
    for bar in bars:
        of_lane[bar.lane].append(bar)
    counted: dict[str, list[TimelineCell]] = defaultdict(list)
    for cell in cells:
        counted[cell.lane].append(cell)
    return [_lane(lane, of_lane[lane.key], counted[lane.key]) for lane in lanes]


def _lane(lane: TimelineLane, bars: Sequence[TimelineBar], cells: list[TimelineCell]) -> Lane:
    slices: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for cell in cells:
        slices[cell.slice][rank_of(cell.kind, cell.state)] += cell.count
    columns = [
        (at, sum(shares.values()), tuple(sorted(shares.items(), reverse=True)))
        for at, shares in sorted(slices.items())
    ]
    rows = _rows(bars) if bars or not cells else []
    return Lane(lane, rows, cells, columns, max((total for _, total, _ in columns), default=0))


def rank_of(kind: BarKind, state: str) -> int:
    """The rank of what a bar shows."""
    found = _RANKS.get((kind, state))
    if found is None:
        found = _RANKS[kind, state] = _RANK[look_of_bar(kind, state).tone]
    return found


_RANKS: dict[tuple[BarKind, str], int] = {}


def _rows(bars: Sequence[TimelineBar]) -> list[Row]:
    rows = [Row()]
    busy_until: list[Instant] = [0]
    for bar in bars:
        place = 0
        if rows[0].starts:
            place = next(
                (
                    at
                    for at, until in enumerate(busy_until)
                    if until <= bar.start or _may_share(rows[at], bar)
                ),
                len(rows),
            )
        if place == len(rows):
            if place == MOST_ROWS:
                place -= 1
            else:
                rows.append(Row())
                busy_until.append(0)
        rows[place].add(bar)
        busy_until[place] = max(_end(bar), busy_until[place]) if rows[place].starts[1:] else _end(bar)
    return rows


def _may_share(row: Row, bar: TimelineBar) -> bool:
    """A judgement stands on the bar it judges."""
    return bar.kind is BarKind.VALIDATION and row.bars[-1].kind is not BarKind.HOLD


def _end(bar: TimelineBar) -> Instant:
    return LATEST if bar.end is None else max(bar.end, bar.start)
