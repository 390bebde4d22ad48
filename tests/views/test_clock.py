"""What the clock page reads: the clocks now, what was wrong with them, and what each finding touched."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from engine.actors import Actor
from engine.clock import ManualClock
from engine.clock_watch import MOST_HISTORY, SAMPLES_WANTED, AnomalyKind, WatchedClock
from engine.engine import Engine
from engine.errors import NotFound
from engine.work_order import WorkOrderSpec

HOUR = 3_600_000


@pytest.fixture
async def engine(folder: Path, clock: ManualClock) -> AsyncIterator[Engine]:
    opened = await Engine.open(folder, clock=clock, automatic=False)
    yield opened
    await opened.close()


async def test_the_clock_as_it_is(engine: Engine, clock: ManualClock) -> None:
    state = await engine.clock_trust.state()
    assert (state.trusted, state.distrusted_since, state.reason) == (True, None, "")
    assert state.below_high_water_ms == 0
    assert (await engine.status()).clock_trusted
    clock.step_wall(-HOUR)
    await engine.reconcile_once()
    state = await engine.clock_trust.state()
    assert not state.trusted
    assert state.distrusted_since == clock.now()
    assert state.below_high_water_ms == HOUR
    assert state.reason == "The wall clock jumped back by 1.0 h."
    assert (state.samples, state.can_be_trusted) == (0, False)
    assert not (await engine.status()).clock_trusted
    for _ in range(SAMPLES_WANTED):
        clock.advance(1_000)
        await engine.reconcile_once()
    assert (await engine.clock_trust.state()).can_be_trusted


async def test_findings_newest_first_by_pages(engine: Engine, clock: ManualClock) -> None:
    for step in (5_000, -9_000):
        clock.step_wall(step)
        await engine.reconcile_once()
    clock.suspend(8 * HOUR)
    await engine.reconcile_once()
    rows = await engine.clock_trust.anomalies()
    assert [row.kind for row in rows] == [
        AnomalyKind.SUSPEND,
        AnomalyKind.WALL_BACK,
        AnomalyKind.WALL_FORWARD,
    ]
    assert [row.size_ms for row in rows] == [8 * HOUR, 9_000, 5_000]
    assert all(row.same_boot for row in rows)
    first = await engine.clock_trust.anomalies(limit=1)
    assert [*first, *await engine.clock_trust.anomalies(after=first[0].id, limit=10)] == list(rows)


async def test_what_a_jump_touched(
    engine: Engine, clock: ManualClock, work_order: Callable[..., WorkOrderSpec], actor: Actor
) -> None:
    """B-076: what waited, and what only the jump made due."""
    waiting = await engine.submit(work_order(), actor)
    due = await engine.submit(work_order(due_at=clock.now() + HOUR), actor)
    later = await engine.submit(work_order(due_at=clock.now() + 3 * HOUR), actor)
    clock.step_wall(2 * HOUR)
    await engine.reconcile_once()
    (row,) = await engine.clock_trust.anomalies()
    touched = await engine.clock_trust.touched(row.id)
    assert {item.work_order_id for item in touched.approvals} >= {waiting.id}
    assert [item.work_order_id for item in touched.due] == [due.id]
    assert later.id not in {item.work_order_id for item in touched.due}
    assert (touched.claims, touched.running) == ((), ())
    kinds = [item.kind for item in touched.journal]
    assert "clock.wall_forward" in kinds
    assert "hold.placed" in kinds
    with pytest.raises(NotFound):
        await engine.clock_trust.touched("none")


def test_the_history_is_bounded_and_keeps_findings() -> None:
    clock = ManualClock()
    watched = WatchedClock(clock)
    for _ in range(3 * MOST_HISTORY):
        clock.advance(1_000)
        watched.look()
    assert len(watched.history()) <= MOST_HISTORY + 1
    before = clock.now()
    clock.advance(10)
    clock.step_wall(HOUR)
    watched.look()
    assert [reading.now for reading in watched.history()[-2:]] == [before, before + HOUR + 10]
    elapsed = [reading.elapsed for reading in watched.history()]
    assert elapsed == sorted(elapsed)
    assert elapsed[0] == ManualClock().elapsed()
