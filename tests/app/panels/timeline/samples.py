"""Timelines made up for tests of the widget."""

from __future__ import annotations

from typing import Any

from engine.states import Purpose
from engine.views.timeline import (
    BarKind,
    Grouping,
    TimelineBar,
    TimelineCell,
    TimelineLane,
    TimelineMark,
    TimelineView,
)

START = 1_788_998_400_000
"""2026-09-10T00:00:00.000Z, where `ManualClock` begins."""

HOUR = 3_600_000


def bar(
    identity: str,
    start: int,
    end: int | None,
    lane: str = "a",
    kind: BarKind = BarKind.EXECUTION,
    **fields: Any,
) -> TimelineBar:
    """A bar from ``start`` to ``end``, in milliseconds after `START`."""
    values: dict[str, Any] = {
        "kind": kind,
        "id": identity,
        "subject": f"subject-{identity}",
        "lane": lane,
        "state": "SUCCEEDED",
        "start": START + start,
        "end": None if end is None else START + end,
        "until": None,
        "work_order_id": f"order-{lane}",
        "task_id": f"task-{lane}",
        "number": 7,
        "title": "Mend rounding",
        "purpose": Purpose.IMPLEMENT,
        "who": "local",
        "note": "",
    }
    return TimelineBar(**{**values, **fields})


def view(
    *bars: TimelineBar,
    cells: tuple[TimelineCell, ...] = (),
    marks: tuple[TimelineMark, ...] = (),
    more_lanes: bool = False,
    start: int = START - 24 * HOUR,
    end: int = START + 24 * HOUR,
) -> TimelineView:
    """A read that holds these bars, with a lane for each that they name."""
    keys = sorted({one.lane for one in bars} | {cell.lane for cell in cells})
    lanes = tuple(TimelineLane(key, "Mend rounding", 7, 1) for key in keys)
    return TimelineView(
        start,
        end,
        START - HOUR,
        START,
        Grouping.WORK_ORDER,
        lanes,
        more_lanes,
        tuple(sorted(bars, key=lambda one: one.start)),
        cells,
        60_000,
        marks,
    )
