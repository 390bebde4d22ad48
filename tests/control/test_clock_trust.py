"""What a distrusted clock stops and what it leaves alone, through the whole engine (E-31 to E-33, cases J)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from engine.actors import Actor
from engine.clock import ManualClock
from engine.clock_watch import SAMPLES_WANTED
from engine.engine import Engine
from engine.errors import Refused
from engine.states import HoldKind
from engine.work_order import WorkOrderSpec

YEAR = 365 * 86_400_000


@asynccontextmanager
async def opened(folder: Path, clock: ManualClock) -> AsyncIterator[Engine]:
    engine = await Engine.open(folder, clock=clock, automatic=False)
    try:
        yield engine
    finally:
        await engine.close()


async def sample(engine: Engine, clock: ManualClock, times: int = SAMPLES_WANTED) -> None:
    for _ in range(times):
        clock.advance(1_000)
        await engine.reconcile_once()


async def holds(engine: Engine) -> list[HoldKind]:
    return [hold.kind for hold in (await engine.status()).holds]


@pytest.mark.parametrize("step", [3_000, -10_000, 3_600_000, -3_600_000, YEAR, -YEAR])
async def test_a_step_holds_the_engine_until_a_person_confirms(
    folder: Path, clock: ManualClock, work_order: Callable[..., WorkOrderSpec], actor: Actor, step: int
) -> None:
    """E-32, E-33, B-076: no claim, no wake by time; human control works; trust comes back by a verified step."""
    async with opened(folder, clock) as engine:
        due = await engine.submit(work_order(due_at=clock.now() + 60_000), actor)
        ready = await engine.submit(work_order(), actor)
        rows = {row.work_order_id: row for row in await engine.approvals.inbox()}
        clock.step_wall(step)
        await engine.reconcile_once()
        assert await holds(engine) == [HoldKind.CLOCK]
        await engine.approvals.approve(rows[ready.id].approval_id, actor, seal=rows[ready.id].seal)
        assert await engine.work_once() == 0
        story = await engine.work_order(due.id)
        assert story.tasks[0].state == "WAITING"
        assert len(await engine.approvals.inbox()) == 1
        with pytest.raises(Refused, match="consistent samples"):
            await engine.clock_trust.restore(actor, "I set the time")
        if step > 0:
            await sample(engine, clock)
            await engine.clock_trust.restore(actor, "I set the time")
        else:
            await sample(engine, clock)
            with pytest.raises(Refused):
                await engine.clock_trust.restore(actor, "I set the time")
            clock.step_wall(-step)
            await engine.reconcile_once()
            await sample(engine, clock)
            await engine.clock_trust.restore(actor, "I set it back")
        assert await holds(engine) == []
        clock.advance(60_000)
        await engine.reconcile_once()
        kinds = [row.kind for row in await engine.journal(limit=1000)]
        assert "clock.trusted" in kinds
        assert "task.ready" in kinds


async def test_no_lease_is_judged_by_a_jump(
    folder: Path, clock: ManualClock, work_order: Callable[..., WorkOrderSpec], actor: Actor
) -> None:
    """B-079: nothing expires because of a jump, not even in the pass that first sees it."""
    async with opened(folder, clock) as engine:
        await engine.submit(work_order(), actor)
        (row,) = await engine.approvals.inbox()
        clock.step_wall(YEAR)
        done = await engine.reconcile_once()
        assert done["expire_approvals"] == ()
        assert (await engine.approvals.card(row.approval_id)).approval_id == row.approval_id
        assert [item.approval_id for item in await engine.approvals.inbox()] == [row.approval_id]


async def test_a_high_water_in_the_future_is_lowered_by_an_explicit_decision(
    folder: Path, clock: ManualClock, actor: Actor
) -> None:
    """E-33: journalled with both values, after a start below the high water."""
    clock.step_wall(YEAR)
    async with opened(folder, clock):
        pass
    clock.reboot("boot-2")
    clock.step_wall(-YEAR)
    async with opened(folder, clock) as engine:
        assert await holds(engine) == [HoldKind.CLOCK]
        with pytest.raises(Refused):
            await engine.clock_trust.restore(actor, "it was wrong before", lower_high_water=True)
        clock.advance(1_000)
        for _ in range(SAMPLES_WANTED):
            clock.advance(1_000)
            await engine.reconcile_once()
        await engine.clock_trust.restore(actor, "it was wrong before", lower_high_water=True)
        (row,) = [row for row in await engine.journal(limit=1000) if row.kind == "clock.trusted"]
        assert row.detail["high_water_before"] - row.detail["high_water_after"] > YEAR - 60_000
        assert await holds(engine) == []


async def test_distrust_survives_a_restart(folder: Path, clock: ManualClock, actor: Actor) -> None:
    """E-33: only the verified step ends it."""
    async with opened(folder, clock) as engine:
        clock.step_wall(-10_000)
        await engine.reconcile_once()
    async with opened(folder, clock) as engine:
        assert await holds(engine) == [HoldKind.CLOCK]
        assert not engine.clock.trusted


async def test_a_suspend_is_recorded_as_a_gap(folder: Path, clock: ManualClock) -> None:
    """E-30: its own kind, no hold."""
    async with opened(folder, clock) as engine:
        clock.suspend(8 * 3_600_000)
        await engine.reconcile_once()
        assert await holds(engine) == []
        kinds = [row.kind for row in await engine.journal(limit=1000)]
        assert kinds.count("clock.suspend") == 1
