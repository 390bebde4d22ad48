"""Rehearsals and proofs, through the engine (E-81, E-83, console.md §8)."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from engine.actors import Actor
from engine.backup import CopyKind, Progress, rehearse, restore
from engine.clock import ManualClock
from engine.engine import Engine
from engine.errors import BackupNotGood, Unauthorized
from engine.states import HoldKind, WorkOrderState
from engine.work_order import WorkOrderSpec
from tests.backup.conftest import House
from tests.storage.support import digest


@pytest.fixture
async def engine(folder: Path, clock: ManualClock) -> AsyncIterator[Engine]:
    opened = await Engine.open(folder, clock=clock, automatic=False)
    yield opened
    await opened.close()


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where scratch folders are made."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


async def test_a_rehearsal_tells_what_a_restore_would_bring(
    house: House, temporary: Path, actor: Actor
) -> None:
    house.clock.advance(1)
    await house.ledger.submit("/three", due_at=house.clock.now() + 500)
    await house.ledger.approve(house.waiting)
    (claim,) = await house.ledger.claim()
    await house.ledger.admit(claim)
    made = house.take()
    before = digest(made.path)
    done = rehearse(made.path, actor=actor, clock=house.clock)
    assert done.good, done.problems
    assert (done.due, done.void, done.unknown) == (1, 1, 1)
    assert done.before_sequence == made.journal_sequence
    assert done.after.counts["work_orders"] == 3
    assert done.needs_decision >= 1
    assert list(temporary.iterdir()) == []
    assert digest(made.path) == before


async def test_a_rehearsal_of_a_bad_backup_leaves_nothing(
    house: House, temporary: Path, actor: Actor
) -> None:
    made = house.take()
    (made.path / "secret.key").write_bytes(b"x" * 32)
    with pytest.raises(BackupNotGood):
        rehearse(made.path, actor=actor, clock=house.clock)
    assert list(temporary.iterdir()) == []


async def test_a_backup_counts_as_proven_after_its_rehearsal(
    engine: Engine, clock: ManualClock, actor: Actor
) -> None:
    """Made, verified: not proven yet. An older one that is proven later does not take the newer one's place."""
    told: list[Progress] = []
    first = await engine.backups.back_up(actor, progress=told.append)
    clock.advance(60_000)
    second = await engine.backups.back_up(actor)
    assert (await engine.backups.verify(second.path)).good
    assert (await engine.status()).proven_backup_at is None
    assert (await engine.backups.rehearse(second.path, actor)).good
    assert (await engine.backups.rehearse(first.path, actor)).good
    assert (await engine.status()).proven_backup_at == second.made_at
    assert told
    assert not (engine.folder / "rehearsal").exists()
    kinds = [row.kind for row in await engine.journal()]
    assert kinds.count("backup.made") == 2
    assert kinds.count("backup.proven") == 2
    listed = await engine.backups.listed()
    assert [(one.path, one.kind) for one in listed] == [
        (second.path, CopyKind.BACKUP),
        (first.path, CopyKind.BACKUP),
    ]


async def test_a_cancelled_call_waits_until_all_is_cleaned_up(engine: Engine, actor: Actor) -> None:
    task: asyncio.Task[object]
    task = asyncio.create_task(engine.backups.back_up(actor, progress=lambda _: task.cancel()))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await engine.backups.listed() == ()
    assert not list(engine.backups.folder.iterdir())


async def test_only_a_person_backs_up(engine: Engine, agent: Actor) -> None:
    """A backup holds the key of the sealed secrets."""
    with pytest.raises(Unauthorized):
        await engine.backups.back_up(agent)
    with pytest.raises(Unauthorized):
        await engine.acknowledge_restore(agent, "fine")


async def test_b096_through_the_engine(
    folder: Path,
    workspace: Path,
    work_order: Callable[..., WorkOrderSpec],
    actor: Actor,
    agent: Actor,
) -> None:
    """The whole story with a real process: nothing runs after the restore, whatever the coordinator does."""
    count = (
        "import pathlib; p = pathlib.Path('runs'); p.write_text(p.read_text() + 'x' if p.exists() else 'x')"
    )
    engine = await Engine.open(folder, automatic=False)
    order = await engine.submit(work_order(count), agent)
    made = await engine.backups.back_up(actor)
    (row,) = await engine.approvals.inbox()
    await engine.approvals.approve(row.approval_id, actor, seal=row.seal, covers_validation=True)
    while await engine.work_once():
        await engine.reconcile_once()
    assert (workspace / "runs").read_text() == "x"
    (listed,) = await engine.backups.listed()
    comparison = await engine.backups.compare(listed)
    assert comparison.effects[0].number == order.number
    await engine.close()
    report = await asyncio.to_thread(
        lambda: restore(
            folder, made.path, actor=actor, reason="drill", clock=ManualClock(made.made_at + 1_000)
        )
    )
    assert order.id in report.aftermath.asked
    engine = await Engine.open(folder, automatic=False)
    try:
        status = await engine.status()
        assert [hold.kind for hold in status.holds] == [HoldKind.RESTORE]
        for _ in range(2):
            await engine.reconcile_once()
            assert await engine.work_once() == 0
            if (await engine.status()).holds:
                await engine.acknowledge_restore(actor, "looked")
        assert await engine.approvals.inbox() == ()
        again = await engine.work_order_row(order.id)
        assert again is not None
        assert again.state is WorkOrderState.DECISION_NEEDED
        assert (workspace / "runs").read_text() == "x"
        assert (await engine.verify_journal()).sound
    finally:
        await engine.close()
