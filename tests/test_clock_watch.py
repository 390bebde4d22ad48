"""Wall time against elapsed time (E-30, E-31): what is a fault, what is a gap, and at which size exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.clock import ManualClock
from engine.clock_watch import SAMPLES_WANTED, AnomalyKind, Reading, WatchedClock, judge
from engine.errors import InvalidValue

BASE = Reading(1_000_000, 50_000, 40_000, "a")
TOLERANCE = 2_000


def after(wall: int = 0, elapsed: int = 0, awake: int | None = None, boot: str = "a") -> Reading:
    return Reading(
        BASE.now + wall, BASE.elapsed + elapsed, BASE.awake + (elapsed if awake is None else awake), boot
    )


@pytest.mark.parametrize(
    ("reading", "high_water", "kinds"),
    [
        (after(1_000, 1_000), BASE.now, []),
        (after(3_000, 1_000), BASE.now, []),  # 2,000 ahead: equality agrees
        (after(3_001, 1_000), BASE.now, [AnomalyKind.WALL_FORWARD]),
        (after(-1_000, 1_000), BASE.now, []),
        (after(-1_001, 1_000), BASE.now, [AnomalyKind.WALL_BACK]),
        (after(1_000, -1), BASE.now, [AnomalyKind.ELAPSED_BACK]),
        (after(8 * 3_600_000, 8 * 3_600_000, 1_000), BASE.now, [AnomalyKind.SUSPEND]),
        (after(3_000, 3_000, 1_000), BASE.now, []),  # 2,000 asleep: equality is no gap
        (after(3_001, 3_001, 1_000), BASE.now, [AnomalyKind.SUSPEND]),
        (after(0, 0), BASE.now + 2_000, []),
        (after(0, 0), BASE.now + 2_001, [AnomalyKind.BELOW_HIGH_WATER]),
        (after(0, 0, boot="b"), BASE.now + 2_001, [AnomalyKind.BELOW_HIGH_WATER]),
        (after(10**9, -40_000, boot="b"), BASE.now, []),  # another boot: only the high water compares
    ],
)
def test_every_boundary(reading: Reading, high_water: int, kinds: list[AnomalyKind]) -> None:
    assert [found.kind for found in judge(BASE, reading, high_water, TOLERANCE)] == kinds


@given(st.integers(-(10**12), 10**12), st.integers(0, 10**9))
def test_a_fault_exactly_beyond_the_tolerance(jump: int, passed: int) -> None:
    found = judge(BASE, after(passed + jump, passed), BASE.now - 10**13, TOLERANCE)
    assert bool(found) == (abs(jump) > TOLERANCE)
    assert all(one.size_ms == abs(jump) for one in found)


def test_the_call_that_sees_a_jump_stops_the_trust() -> None:
    """E-32: no later call is needed, so nothing is judged by an unwatched time in between."""
    clock = ManualClock()
    watched = WatchedClock(clock)
    clock.step_wall(365 * 86_400_000)
    assert watched.now() == clock.now()
    assert not watched.trusted
    (found,) = watched.take_found()
    assert (found.kind, found.size_ms) == (AnomalyKind.WALL_FORWARD, 365 * 86_400_000)
    assert watched.take_found() == []


def test_a_suspend_moves_both_clocks_and_is_no_fault() -> None:
    """E-30, P27."""
    clock = ManualClock()
    watched = WatchedClock(clock)
    clock.suspend(8 * 3_600_000)
    watched.look()
    assert watched.trusted
    assert [found.kind for found in watched.take_found()] == [AnomalyKind.SUSPEND]


def test_samples_count_only_while_the_clocks_agree() -> None:
    """E-33: N in a row, apart from each other; any fault begins the count anew."""
    clock = ManualClock()
    watched = WatchedClock(clock)
    clock.step_wall(10_000)
    watched.look()
    assert watched.consistent_samples == 0
    for _ in range(10):
        watched.look()
    assert watched.consistent_samples == 0
    for expected in range(1, SAMPLES_WANTED + 2):
        clock.advance(1_000)
        watched.look()
        assert watched.consistent_samples == min(expected, SAMPLES_WANTED)
    clock.step_wall(-20_000)
    watched.look()
    assert watched.consistent_samples == 0


def test_the_high_water_grows_only_by_a_trusted_clock() -> None:
    clock = ManualClock()
    watched = WatchedClock(clock)
    clock.advance(5_000)
    watched.look()
    high = watched.high_water
    assert high == clock.now()
    clock.step_wall(86_400_000)
    watched.look()
    assert watched.high_water == high


@pytest.mark.parametrize("tolerance", [0, -1, 1.5, True, None])
def test_a_tolerance_is_a_positive_whole_number(tolerance: object) -> None:
    with pytest.raises(InvalidValue):
        WatchedClock(ManualClock(), tolerance)  # type: ignore[arg-type]
