"""A recovery that fails is undone whole, and while it fails nothing is dispatched (B-040)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from engine.actors import Actor
from engine.clock import ManualClock
from engine.engine import Engine
from engine.scheduling.claims import recover_abandoned_claims
from engine.storage import Tx
from tests.ledger import LEASE, Ledger
from tests.scheduling.bulk import live_claims

BREAK = """CREATE TRIGGER broken BEFORE UPDATE OF state ON task WHEN old.id = 'claimed-000001' AND new.state = 'READY'
           BEGIN SELECT RAISE(ABORT, 'injected failure'); END"""


def run(tx: Tx, sql: str, *, now: int) -> None:
    tx.run(sql)


async def test_the_failure_of_one_record_undoes_all_of_it(folder: Path, clock: ManualClock) -> None:
    """E-25: claim expiry and requeue are one; no task is requeued while its claim still stands, or the reverse."""
    ledger = await Ledger.open(folder, clock)
    await live_claims(ledger, [clock.now() + LEASE] * 3)
    await ledger.write(run, BREAK)
    clock.advance(LEASE)
    with pytest.raises(sqlite3.IntegrityError, match="injected failure"):
        await ledger.write(recover_abandoned_claims, ledger.epoch)
    assert {row["state"] for row in await ledger.all("SELECT state FROM claim")} == {"LIVE"}
    tasks = await ledger.all("SELECT state FROM task WHERE id LIKE 'claimed-%'")
    assert {row["state"] for row in tasks} == {"CLAIMED"}
    assert await ledger.all("SELECT 1 FROM journal WHERE kind = 'claim.expired'") == []
    await ledger.write(run, "DROP TRIGGER broken")
    assert len(await ledger.write(recover_abandoned_claims, ledger.epoch)) == 3
    await ledger.close()


async def until(engine: Engine, condition: Callable[[], Awaitable[bool]]) -> None:
    """Look after each change, and now and then: what an engine fails at changes nothing."""
    changed = asyncio.Event()
    end = engine.subscribe(lambda _: changed.set())
    try:
        while not await condition():
            changed.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), 0.1)
    finally:
        end()


async def test_the_engine_dispatches_nothing_until_recovery_works(
    folder: Path,
    clock: ManualClock,
    work_order: Callable[..., Any],
    actor: Actor,
    expected_log: Callable[..., AbstractContextManager[Any]],
) -> None:
    """B-040: started over claims that cannot be recovered, it says why, claims nothing, and goes on once they can."""
    ledger = await Ledger.open(folder, clock)
    await live_claims(ledger, [clock.now() + LEASE] * 3)
    await ledger.write(run, BREAK)
    await ledger.close()
    clock.advance(LEASE)
    with expected_log("did not complete", level=logging.ERROR):
        engine = await Engine.open(folder)
        try:
            order = await engine.submit(work_order(), actor)
            row = next(row for row in await engine.approvals.inbox() if row.work_order_id == order.id)
            await engine.approvals.approve(row.approval_id, actor, seal=row.seal)

            async def failing() -> bool:
                return "injected failure" in (await engine.status()).recovery_error

            await until(engine, failing)
            assert await engine.work_once() == 0
            assert await engine.attempts() == ()
            kinds = [entry.kind for entry in await engine.journal(limit=1000)]
            assert "task.claimed" not in kinds
            assert "claim.expired" not in kinds
            await engine._storage.write(run, "DROP TRIGGER broken", control=True)

            async def ran() -> bool:
                return bool(await engine.attempts()) and not (await engine.running())

            await until(engine, ran)
            assert (await engine.status()).recovery_error == ""
            kinds = [entry.kind for entry in await engine.journal(limit=1000)]
            assert kinds.count("claim.expired") == 3
            assert kinds.index("claim.expired") < kinds.index("task.claimed")
        finally:
            await engine.close()


async def test_step_by_step_too_nothing_is_claimed_after_a_failed_pass(
    folder: Path, clock: ManualClock, work_order: Callable[..., Any], actor: Actor
) -> None:
    ledger = await Ledger.open(folder, clock)
    await live_claims(ledger, [clock.now() + LEASE] * 3)
    await ledger.write(run, BREAK)
    await ledger.close()
    clock.advance(LEASE)
    engine = await Engine.open(folder, clock=clock, automatic=False)
    try:
        order = await engine.submit(work_order(), actor)
        row = next(row for row in await engine.approvals.inbox() if row.work_order_id == order.id)
        await engine.approvals.approve(row.approval_id, actor, seal=row.seal)
        with pytest.raises(sqlite3.IntegrityError):
            await engine.reconcile_once()
        assert await engine.work_once() == 0
        await engine._storage.write(run, "DROP TRIGGER broken", control=True)
        await engine.reconcile_once()
        assert await engine.work_once() == 1
    finally:
        await engine.close()
