"""What the inbox says of a request while the clock is distrusted (E-32)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from engine.actors import Actor
from engine.clock import ManualClock
from engine.engine import Engine
from engine.states import ApprovalState

DAY = 86_400_000


@pytest.fixture
async def engine(folder: Path, clock: ManualClock) -> AsyncIterator[Engine]:
    opened = await Engine.open(folder, clock=clock, automatic=False)
    yield opened
    await opened.close()


async def test_e32_a_jump_of_the_clock_expires_no_request(
    engine: Engine, clock: ManualClock, actor: Actor, work_order: Callable[..., Any]
) -> None:
    order = await engine.submit(work_order(approval_life_ms=DAY), actor)
    (row,) = await engine.approvals.inbox()
    clock.step_wall(3 * DAY)
    await engine.reconcile_once()
    assert not (await engine.status()).clock_trusted
    card = await engine.approvals.card(row.approval_id)
    assert card.state is ApprovalState.PENDING
    why = {gate.name: gate.why for gate in card.gates}
    assert "expired" not in why["approval"]
    approved = await engine.approvals.approve(row.approval_id, actor, seal=card.seal)
    assert approved.state is ApprovalState.APPROVED
    assert await engine.work_once() == 0, "nothing starts before the clock is trusted"
    assert (await engine.work_order(order.id)).tasks[0].approval_state is ApprovalState.APPROVED


async def test_a_request_whose_time_has_passed_is_expired(
    engine: Engine, clock: ManualClock, actor: Actor, work_order: Callable[..., Any]
) -> None:
    await engine.submit(work_order(approval_life_ms=DAY), actor)
    (row,) = await engine.approvals.inbox()
    clock.advance(DAY - 1)
    assert (await engine.approvals.card(row.approval_id)).state is ApprovalState.PENDING
    clock.advance(1)
    assert (await engine.approvals.card(row.approval_id)).state is ApprovalState.EXPIRED
