"""The time axis: places, zoom, pan, ticks in the zone in force."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.panels.timeline.scale import LONGEST_MS, SHORTEST_MS, TimeScale, ticks
from app.widgets import Times, Zone
from engine.instants import EARLIEST, LATEST
from tests.app.panels.timeline.samples import HOUR, START

SCALE = TimeScale(START, HOUR, 100.0, 720.0)


@given(st.integers(0, HOUR))
def test_a_pixel_is_an_instant_and_back(offset: int) -> None:
    assert abs(SCALE.instant(SCALE.x(START + offset)) - START - offset) <= 1


@given(st.floats(0.001, 1000.0), st.integers(0, HOUR))
def test_zoom_keeps_what_is_under_the_pointer(factor: float, offset: int) -> None:
    about = START + offset
    zoomed = SCALE.zoomed(factor, about)
    assert SHORTEST_MS <= zoomed.span_ms <= LONGEST_MS
    if SHORTEST_MS < zoomed.span_ms < LONGEST_MS:
        assert abs(zoomed.x(about) - SCALE.x(about)) <= 1.5


@given(st.integers(-(10**18), 10**18), st.integers(-(10**18), 10**18))
def test_no_window_leaves_the_years_that_can_be_written(start: int, span: int) -> None:
    moved = SCALE.moved_to(start, span)
    assert moved.start >= EARLIEST
    assert moved.end <= LATEST


@pytest.mark.parametrize("span", [50, 1_000, 60_000, HOUR, 24 * HOUR, 90 * 24 * HOUR, LONGEST_MS])
def test_ticks_have_room(qapp: object, span: int) -> None:
    times = Times(lambda: START, Zone.UTC)
    found = ticks(TimeScale(START, span, 0.0, 900.0), times, 90.0)
    places = [TimeScale(START, span, 0.0, 900.0).x(tick.instant) for tick in found]
    assert len(found) >= 2
    assert all(after - before >= 85 for before, after in pairwise(places))


def test_ticks_are_round_in_the_local_zone_over_the_end_of_summer_time(qapp: object) -> None:
    """B-112: days are local days; also on the day with 25 hours."""
    local = ZoneInfo("Europe/Berlin")
    times = Times(lambda: START, Zone.LOCAL, local=local)
    start = int(datetime(2026, 10, 24, 0, 0, tzinfo=local).timestamp() * 1000)
    found = ticks(TimeScale(start, 72 * HOUR, 0.0, 1300.0), times, 90.0)
    hours = {datetime.fromtimestamp(tick.instant / 1000, UTC).astimezone(local).hour for tick in found}
    assert hours <= {0, 6, 12, 18}
    assert sum(tick.strong for tick in found) == 3
    assert {tick.text for tick in found if tick.strong} == {"24 Oct", "25 Oct", "26 Oct"}
