"""Tasks wait through the alarm clock: booked, cancelled and fired with what they are for (E-22, E-26)."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.actors import Actor
from engine.clock import ManualClock
from engine.control.holds import WHOLE_ENGINE, Node, place_hold
from engine.engine import Engine
from engine.errors import Unauthorized
from engine.scheduling.tasks import drain_due_wakeups
from engine.scheduling.wakeups import TASK_WAKE_UP, book_wake
from engine.states import HoldKind, NodeKind
from engine.storage import Storage, Tx
from engine.storage.schema import shipped_migrations
from engine.wakes import CancelResult, WakeState
from tests.ledger import Ledger
from tests.scheduling.bulk import waiting_tasks

SECOND, HOUR = 1_000, 3_600_000
FAR = 200 * 24 * HOUR


@pytest.fixture
async def ledger(folder: Path, clock: ManualClock) -> Any:
    opened = await Ledger.open(folder, clock)
    yield opened
    await opened.close()


async def wake_of(ledger: Ledger, order: str) -> dict[str, Any]:
    task = await ledger.task_of(order)
    return await ledger.one("SELECT * FROM wake WHERE id = ?", task["id"])


async def test_a_waiting_task_has_a_wake_of_its_own_id_however_far_ahead(
    ledger: Ledger, clock: ManualClock
) -> None:
    """No horizon, no rate and no number of live wakes of the library keeps the engine from waiting."""
    orders = [await ledger.submit(due_at=clock.now() + FAR) for _ in range(3)]
    await waiting_tasks(ledger, [clock.now() + FAR] * 1_500)
    for order in orders:
        wake = await wake_of(ledger, order)
        assert (wake["kind"], wake["state"], wake["due_at"]) == (TASK_WAKE_UP, "pending", clock.now() + FAR)
    assert (await ledger.one("SELECT count(*) AS n FROM wake"))["n"] == 1_503


async def test_a_task_that_is_ready_at_once_has_none(ledger: Ledger, clock: ManualClock) -> None:
    await ledger.submit()
    await ledger.submit(due_at=clock.now())
    assert await ledger.all("SELECT 1 FROM wake") == []


async def test_firing_and_readiness_are_one(ledger: Ledger, clock: ManualClock) -> None:
    order = await ledger.submit(due_at=clock.now() + SECOND)
    clock.advance(SECOND + 5)
    (fired,) = await ledger.write(drain_due_wakeups, ledger.epoch)
    wake = await wake_of(ledger, order)
    assert (fired, wake["state"], wake["late_ms"]) == (wake["id"], "fired", 5)
    history = await ledger.all("SELECT kind FROM journal WHERE subject_id = ? ORDER BY sequence", fired)
    assert [row["kind"] for row in history] == ["task.created", "wake.created", "wake.fired", "task.ready"]


async def test_e85_nothing_is_drained_after_a_restore_until_a_person_has_looked(
    ledger: Ledger, clock: ManualClock, actor: Actor
) -> None:
    def restored(tx: Tx, *, now: int) -> None:
        place_hold(tx, WHOLE_ENGINE, HoldKind.RESTORE, "restored from a copy", actor, now=now)

    await ledger.submit(due_at=clock.now() + SECOND)
    await ledger.write(restored)
    clock.advance(HOUR)
    assert await ledger.write(drain_due_wakeups, ledger.epoch) == ()


async def test_the_wakes_of_others_are_left_alone(ledger: Ledger, clock: ManualClock) -> None:
    def book(tx: Tx, *, now: int) -> None:
        book_wake(tx, "other", "some.other", now + 1, now=now)

    await ledger.write(book)
    clock.advance(SECOND)
    assert await ledger.write(drain_due_wakeups, ledger.epoch) == ()
    assert (await ledger.one("SELECT state, waiting FROM wake"))["waiting"] is None


async def test_cancelling_the_task_cancels_its_wake_and_nobody_else_can(
    folder: Path, clock: ManualClock, actor: Actor, work_order: Callable[..., Any]
) -> None:
    engine = await Engine.open(folder, clock=clock, automatic=False)
    try:
        row = await engine.submit(work_order(due_at=clock.now() + SECOND), actor)
        (task,) = (await engine.work_order(row.id)).tasks
        assert await engine.wakes.cancel(task.id, actor) is CancelResult.UNAUTHORIZED
        await engine.cancel(Node(NodeKind.WORK_ORDER, row.id), actor, reason="not needed")
        wake = await engine.wakes.get(task.id)
        assert wake is not None
        assert wake.state is WakeState.CANCELLED
        clock.advance(SECOND)
        assert (await engine.reconcile_once())["drain_due_wakeups"] == ()
    finally:
        await engine.close()


async def test_the_runner_fires_it_at_its_instant_without_a_pass_of_the_coordinator(
    folder: Path, clock: ManualClock, actor: Actor, work_order: Callable[..., Any]
) -> None:
    engine = await Engine.open(folder, clock=clock, automatic=False)
    try:
        row = await engine.submit(work_order(due_at=clock.now() + SECOND), actor)
        await engine.wakes.run_due()
        clock.advance(SECOND - 1)
        assert (await engine.wakes.run_due()).fired == 0
        clock.advance(1)
        assert (await engine.wakes.run_due()).fired == 1
        assert (await engine.work_order(row.id)).tasks[0].state == "READY"
        assert (await engine.reconcile_once())["drain_due_wakeups"] == ()
    finally:
        await engine.close()


async def test_runner_and_pass_over_the_same_wakes_fire_each_once(folder: Path, clock: ManualClock) -> None:
    ledger = await Ledger.open(folder, clock)
    await waiting_tasks(ledger, [clock.now() + SECOND] * 300)
    await ledger.close()
    clock.advance(SECOND)
    engine = await Engine.open(folder, clock=clock, automatic=False)
    try:
        await engine.wakes.run_due(1)  # it compares the clocks first

        async def drain() -> int:
            done = 0
            while fired := await engine._storage.write(drain_due_wakeups, engine.epoch, 7):
                done += len(fired)
            return done

        drained, report = await asyncio.gather(drain(), engine.wakes.run_due())
        assert drained + report.fired == 299
        rows = await engine._storage.read(
            lambda rx: rx.all(
                """SELECT kind, count(*) AS n, count(DISTINCT subject_id) AS once FROM journal
                   WHERE kind IN ('task.ready', 'wake.fired') GROUP BY kind ORDER BY kind"""
            )
        )
        ready, fired = ([row["n"], row["once"]] for row in rows)
        assert ready == [300, 300]
        assert fired[0] == fired[1] >= 300
    finally:
        await engine.close()


async def test_one_that_cannot_be_woken_is_a_dead_letter_and_the_others_are_on_time(
    folder: Path, clock: ManualClock, actor: Actor, caplog: pytest.LogCaptureFixture
) -> None:
    """A person lets it be tried again; giving it up would leave its task waiting for ever, so nobody may."""
    ledger = await Ledger.open(folder, clock)
    await waiting_tasks(ledger, [clock.now() + SECOND] * 3)
    broken = """CREATE TRIGGER broken BEFORE UPDATE OF state ON task WHEN old.id = 'waiting-000001'
                BEGIN SELECT RAISE(ABORT, 'injected failure'); END"""

    def run(tx: Tx, sql: str, *, now: int) -> None:
        tx.run(sql)

    await ledger.write(run, broken)
    await ledger.close()
    clock.advance(SECOND)
    engine = await Engine.open(folder, clock=clock, automatic=False)
    try:
        with caplog.at_level("ERROR"):
            report = await engine.wakes.run_due()
            assert (report.fired, report.failed) == (2, 1)
            for _ in range(9):
                clock.advance(HOUR)
                report = await engine.wakes.run_due()
        assert report.dead == 1
        wake = await engine.wakes.get("waiting-000001")
        assert wake is not None
        assert wake.state is WakeState.DEAD
        with pytest.raises(Unauthorized):
            await engine.wakes.drop(wake.id, actor, "away with it")
        await engine._storage.write(run, "DROP TRIGGER broken")
        await engine.wakes.release(wake.id, actor, "mended")
        assert (await engine.reconcile_once())["drain_due_wakeups"] == (wake.id,)
    finally:
        await engine.close()


async def test_e15_an_older_database_gets_wakes_for_what_waits_in_it(
    folder: Path, clock: ManualClock
) -> None:
    """As before the wakes: two tasks wait, one has come due meanwhile."""
    ledger = await Ledger.open(folder, clock)
    order = await ledger.submit()
    await ledger.close()
    number = next(one.version for one in shipped_migrations() if one.name == "task_wakes")
    database = sqlite3.connect(ledger.storage.path)
    for state, due in (("WAITING", 7), ("WAITING", 5), ("READY", 3)):
        database.execute(
            """INSERT INTO task(id, work_order_id, ordinal, purpose, state, lane, scope_id, partition, command,
                 max_cost, max_active_ms, due_at, created_at, changed_at)
               SELECT ?, id, ?, 'IMPLEMENT', ?, ?, scope_id, 'EXECUTION', '{}', 1, 1000, ?, 1, 1
               FROM work_order WHERE id = ?""",
            (f"task-{due}", due, state, f"/lane/{due}", clock.now() + due, order),
        )
    step = next(one for one in shipped_migrations() if one.version == number)
    database.execute(step.sql.split(";")[0].split("\n", 1)[1])
    database.commit()
    database.close()
    clock.advance(6)
    storage = await Storage.open(folder, clock=clock)
    await storage.close()
    ledger = await Ledger.open(folder, clock)
    assert await ledger.write(drain_due_wakeups, ledger.epoch) == ("task-5",)
    clock.advance(1)
    assert await ledger.write(drain_due_wakeups, ledger.epoch) == ("task-7",)
    await ledger.close()
