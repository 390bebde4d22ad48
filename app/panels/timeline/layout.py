"""What is where on the timeline: the place of each lane, row and bar, and what is at a place.

A `Layout` is one moment's value: the lanes with their heights, the window of time, how far one has scrolled.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF

from app.panels.timeline.lanes import Lane, Row
from app.panels.timeline.painting import bar_rect
from app.panels.timeline.scale import TimeScale
from engine.instants import Instant
from engine.views.timeline import BarKind, TimelineBar

LANE_PAD = 4
"""Room above and below the rows of a lane."""

_NEAR_PX = 4.0
_JUDGED_PX = 8


@dataclass(frozen=True, slots=True)
class Layout:
    """Lanes below an axis ``axis`` high and right of titles ``gutter`` wide; each row is ``row`` high.

    ``tops`` are where the lanes begin in the scrolled content, with the end of the last; ``scrolled`` is how far that
    content is moved up. ``width`` and ``height`` are those of the whole.
    """

    lanes: Sequence[Lane]
    tops: Sequence[int]
    scale: TimeScale
    gutter: int
    axis: int
    row: int
    scrolled: int
    width: int
    height: int

    def lanes_in_view(self) -> tuple[int, int]:
        """The range of lanes that can be seen: the first and one behind the last."""
        first = max(0, bisect_right(self.tops, self.scrolled) - 1)
        bottom = self.scrolled + self.height - self.axis
        return first, min(bisect_left(self.tops, bottom), len(self.lanes))

    def shown(self, inside: int) -> int:
        """Where a place of the scrolled content is shown."""
        return inside + self.axis - self.scrolled

    def row_top(self, lane: int, row: int) -> int:
        """The top of a row in the scrolled content."""
        return self.tops[lane] + LANE_PAD + (row + bool(self.lanes[lane].columns)) * self.row

    def place_of(self, wanted: TimelineBar) -> tuple[int, int] | None:
        """The numbers of the lane and the row in which a bar stands."""
        for number, lane in enumerate(self.lanes):
            if lane.lane.key == wanted.lane:
                for place, row in enumerate(lane.rows):
                    first = bisect_left(row.starts, wanted.start)
                    behind = bisect_right(row.starts, wanted.start)
                    if any(same_bar(bar, wanted) for bar in row.bars[first:behind]):
                        return number, place
        return None

    def lane_at(self, y: float) -> int:
        """The number of the lane at a height, -1 if there is none."""
        inside = int(y) - self.axis + self.scrolled
        if y < self.axis or inside >= self.tops[-1]:
            return -1
        return bisect_right(self.tops, inside) - 1

    def bar_at(self, place: QPointF, now: Instant) -> TimelineBar | None:
        """The bar at a place, or near it: the one on top, the nearest first."""
        number = self.lane_at(place.y())
        if number < 0 or place.x() < self.gutter:
            return None
        lane = self.lanes[number]
        inside = place.y() - self.axis + self.scrolled - self.tops[number] - LANE_PAD
        at = int(inside // self.row) - bool(lane.columns)
        if not 0 <= at < len(lane.rows):
            return None
        return self._nearest(lane.rows[at], place.x(), now)

    def _nearest(self, row: Row, x: float, now: Instant) -> TimelineBar | None:
        scale = self.scale
        near = round(max(_NEAR_PX, _JUDGED_PX) / scale.per_ms) + 1
        instant = scale.instant(x)
        first, behind = row.within(instant - near, instant + near)
        best: tuple[float, int] | None = None
        for number in range(behind - 1, first - 1, -1):
            bar = row.bars[number]
            if bar.kind is BarKind.VALIDATION:
                gap = max(0.0, abs(scale.x(bar.start) - x) - _JUDGED_PX)
                gap = gap - 1 if gap == 0 else gap
            else:
                rect = bar_rect(bar, scale, now, 0, self.row)
                gap = max(rect.left() - x, x - rect.right(), 0.0)
            if gap <= _NEAR_PX and (best is None or gap < best[0]):
                best = (gap, number)
        return row.bars[best[1]] if best is not None else None


def same_bar(one: TimelineBar, other: TimelineBar) -> bool:
    """Whether two reads of the timeline mean the same bar."""
    return one.id == other.id and one.kind is other.kind
