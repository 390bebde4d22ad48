"""Before a request for approval expires, that is noticed once; afterwards it expires as ever (E-42)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from engine.actors import Actor
from engine.clock import ManualClock
from engine.engine import Engine
from engine.errors import InvalidValue
from engine.settings import EngineSettings
from engine.storage import ChangeSet
from engine.wakes import CancelResult, WakeState

MINUTE, HOUR = 60_000, 3_600_000
NOTICE = 10 * MINUTE


@pytest.fixture
async def engine(folder: Path, clock: ManualClock) -> AsyncIterator[Engine]:
    opened = await Engine.open(
        folder, clock=clock, automatic=False, settings=EngineSettings(expiry_notice_ms=NOTICE)
    )
    yield opened
    await opened.close()


async def noticed(engine: Engine) -> list[str]:
    """The requests that were noticed as expiring, in order."""
    return [row.subject_id for row in await engine.journal(limit=1000) if row.kind == "approval.expiring"]


@pytest.mark.parametrize(("offset", "times"), [(-1, 0), (0, 1), (1, 1)])
async def test_a_request_is_noticed_at_its_instant_and_once(
    engine: Engine,
    clock: ManualClock,
    actor: Actor,
    work_order: Callable[..., Any],
    offset: int,
    times: int,
) -> None:
    """Ten minutes before the end: never early, at equality; and the console hears of it."""
    heard: list[str] = []

    def listen(changes: ChangeSet) -> None:
        heard.extend(change.subject_id for change in changes.changes if change.kind == "approval.expiring")

    await engine.submit(work_order(approval_life_ms=HOUR), actor)
    (row,) = await engine.approvals.inbox()
    engine.subscribe(listen)
    clock.advance(HOUR - NOTICE + offset)
    for _ in range(3):
        await engine.reconcile_once()
    assert await noticed(engine) == [row.approval_id] * times
    assert heard == [row.approval_id] * times
    assert len(await engine.approvals.inbox()) == 1
    clock.advance(NOTICE - offset)
    await engine.reconcile_once()
    assert await engine.approvals.inbox() == ()


async def test_what_was_decided_or_ended_is_not_noticed(
    engine: Engine, clock: ManualClock, actor: Actor, work_order: Callable[..., Any]
) -> None:
    for number in range(3):
        await engine.submit(work_order(title=f"{number}", approval_life_ms=HOUR), actor)
    first, second, third = await engine.approvals.inbox()
    await engine.approvals.approve(first.approval_id, actor, seal=first.seal)
    await engine.approvals.reject(second.approval_id, actor, "no")
    await engine.approvals.withdraw(third.approval_id, actor)
    for row in (first, second, third):
        wake = await engine.wakes.get(row.approval_id)
        assert wake is not None
        assert wake.state is WakeState.CANCELLED
    clock.advance(HOUR - NOTICE)
    await engine.reconcile_once()
    assert await noticed(engine) == []


async def test_one_that_lives_no_longer_than_the_notice_has_none(
    engine: Engine, clock: ManualClock, actor: Actor, work_order: Callable[..., Any]
) -> None:
    await engine.submit(work_order(approval_life_ms=NOTICE), actor)
    (row,) = await engine.approvals.inbox()
    assert await engine.wakes.get(row.approval_id) is None


async def test_it_is_the_engines_own_and_after_downtime_nothing_is_said_of_what_is_over(
    engine: Engine, clock: ManualClock, actor: Actor, work_order: Callable[..., Any]
) -> None:
    await engine.submit(work_order(approval_life_ms=HOUR), actor)
    (row,) = await engine.approvals.inbox()
    assert await engine.wakes.cancel(row.approval_id, actor) is CancelResult.UNAUTHORIZED
    clock.advance(2 * HOUR)
    await engine.wakes.run_due()
    assert await noticed(engine) == []
    with pytest.raises(InvalidValue):
        EngineSettings(expiry_notice_ms=0)
