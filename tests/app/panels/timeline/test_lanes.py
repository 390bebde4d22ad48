"""Bars in lanes and rows: none lost, none painted over another while there is room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.panels.timeline.lanes import MOST_ROWS, RANKS, arranged, rank_of
from app.theme import Tone
from engine.instants import LATEST
from engine.views.timeline import BarKind, TimelineCell, TimelineLane
from tests.app.panels.timeline.samples import START, bar

LANE = TimelineLane("a", "", 1, 1)


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 300)), max_size=40),
    st.integers(0, 1300),
    st.integers(0, 300),
)
def test_what_touches_a_window_is_found(spans: list[tuple[int, int]], at: int, wide: int) -> None:
    bars = sorted(
        (bar(str(number), start, start + took) for number, (start, took) in enumerate(spans)),
        key=lambda one: one.start,
    )
    (lane,) = arranged([LANE], bars, ())
    low, high = START + at, START + at + wide
    found = set()
    for row in lane.rows:
        first, behind = row.within(low, high)
        found |= {
            one.id
            for one in row.bars[first:behind]
            if one.end is not None and one.end >= low and one.start <= high
        }
    assert found == {one.id for one in bars if one.end is not None and one.end >= low and one.start <= high}
    assert sum(len(row.bars) for row in lane.rows) == len(bars)
    assert len(lane.rows) <= MOST_ROWS
    for row in lane.rows[: MOST_ROWS - 1]:
        assert all(end <= start for end, start in zip(row.ends, row.starts[1:], strict=False))


def test_open_bars_reach_to_the_end_of_time() -> None:
    (lane,) = arranged([LANE], [bar("a", 0, None), bar("b", 10, 20)], ())
    assert [row.ends for row in lane.rows] == [[LATEST], [START + 20]]


def test_a_judgement_stands_on_what_it_judges() -> None:
    judged = bar("v", 50, 50, kind=BarKind.VALIDATION, state="PASSED")
    (lane,) = arranged([LANE], [bar("a", 0, 100), judged], ())
    assert len(lane.rows) == 1


def test_counts_show_the_worst_first() -> None:
    """Nothing bad hides behind something good; UNKNOWN is not hidden by FAILED."""
    cells = [
        TimelineCell("a", 3, BarKind.EXECUTION, "SUCCEEDED", 90),
        TimelineCell("a", 3, BarKind.EXECUTION, "UNKNOWN", 1),
        TimelineCell("a", 3, BarKind.EXECUTION, "FAILED", 4),
    ]
    (lane,) = arranged([LANE], (), cells)
    ((at, total, shares),) = lane.columns
    assert (at, total) == (3, 95)
    assert [RANKS[rank] for rank, _ in shares] == [Tone.UNKNOWN, Tone.BAD, Tone.OK]
    assert (lane.height, lane.most) == (1, 95)


def test_unknown_outranks_failed() -> None:
    assert rank_of(BarKind.EXECUTION, "UNKNOWN") > rank_of(BarKind.EXECUTION, "FAILED")
    assert rank_of(BarKind.EXECUTION, "FAILED") > rank_of(BarKind.EXECUTION, "SUCCEEDED")
