"""Callers that are cancelled right after their commit: nothing stays half done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.control.holds import Node
from engine.engine import Engine
from engine.settings import EngineSettings
from engine.states import AttemptState, NodeKind, WorkOrderState
from engine.storage import ChangeSet
from engine.work_order import WorkOrderSpec
from tests.e2e.support import AGENT, PERSON, approve_all, until

WAITING = "import pathlib, time; pathlib.Path('begun').touch(); time.sleep(60)"


async def begun(workspace: Path) -> None:
    async def there() -> bool:
        return (workspace / "begun").exists()

    await until(there)


async def test_a_cancel_whose_caller_is_gone_stops_what_runs(
    folder: Path, workspace: Path, work_order: Callable[..., WorkOrderSpec]
) -> None:
    """E-70, E-71: the stop follows from the commit, not from who asked for it."""
    engine = await Engine.open(folder, settings=EngineSettings(grace_ms=300))
    try:
        order = await engine.submit(work_order(WAITING), AGENT)
        await approve_all(engine)
        await begun(workspace)
        call = asyncio.create_task(
            engine.cancel(Node(NodeKind.WORK_ORDER, order.id), PERSON, reason="wrong branch")
        )

        def gone(changes: ChangeSet) -> None:
            if any(change.kind == "attempt.stop_requested" for change in changes.changes):
                call.cancel()

        engine.subscribe(gone)
        with pytest.raises(asyncio.CancelledError):
            await call

        async def cancelled() -> bool:
            row = await engine.work_order_row(order.id)
            return row is not None and row.state is WorkOrderState.CANCELLED

        await until(cancelled)
    finally:
        await engine.close()


async def test_work_goes_on_when_its_caller_is_cancelled(
    folder: Path, workspace: Path, work_order: Callable[..., WorkOrderSpec]
) -> None:
    """E-53: a run is concluded although nobody waits for it any more, and `close` waits for that."""
    engine = await Engine.open(folder, automatic=False, settings=EngineSettings(grace_ms=300))
    await engine.submit(work_order(WAITING), AGENT)
    await approve_all(engine)
    call = asyncio.create_task(engine.work_once())
    await begun(workspace)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await engine.close()
    engine = await Engine.open(folder, automatic=False)
    (attempt,) = await engine.attempts()
    assert (attempt.state, attempt.reason_code) == (AttemptState.UNKNOWN, "stopped_by_shutdown")
    await engine.close()


async def test_closing_goes_on_when_its_caller_is_cancelled(
    folder: Path, workspace: Path, work_order: Callable[..., WorkOrderSpec]
) -> None:
    """E-10, E-54: the stop is recorded and the folder free, whoever waited; a second call waits for the first."""
    engine = await Engine.open(folder, settings=EngineSettings(grace_ms=300))
    await engine.submit(work_order(WAITING), AGENT)
    await approve_all(engine)
    await begun(workspace)
    call = asyncio.create_task(engine.close())
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await engine.close()
    engine = await Engine.open(folder, automatic=False)
    (attempt,) = await engine.attempts()
    assert (attempt.state, attempt.reason_code) == (AttemptState.UNKNOWN, "stopped_by_shutdown")
    await engine.close()


async def test_no_claim_is_left_without_its_taker(
    folder: Path, work_order: Callable[..., WorkOrderSpec]
) -> None:
    """E-23: a wait for the end that is given up at any moment leaves no task CLAIMED with nobody at it."""
    engine = await Engine.open(folder, settings=EngineSettings(slots=1))
    try:
        for moment in range(12):
            order = await engine.submit(work_order(), AGENT)
            (row,) = await engine.approvals.inbox()
            approving = asyncio.create_task(
                engine.approvals.approve(row.approval_id, PERSON, seal=row.seal, covers_validation=True)
            )
            for _ in range(moment):
                await asyncio.sleep(0)
            waiting = asyncio.create_task(engine.finish())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            await approving

            async def through(order: str = order.id) -> bool:
                found = await engine.work_order_row(order)
                return found is not None and found.state is WorkOrderState.AWAITING_ACCEPTANCE

            await until(through)
    finally:
        await engine.close()
