"""Kept files and run folders: which go, when, and which never (E-84)."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from engine.actors import ENGINE
from engine.backup import restore, take_backup
from engine.control import decisions
from engine.control.cancel import cancel
from engine.control.decisions import Finding
from engine.control.holds import Node
from engine.control.proofs import Proof, keep_proofs
from engine.errors import InvalidValue, WrongState
from engine.execution.blobs import BlobStore
from engine.retention import Progress, RetentionSettings, Stage
from engine.retention.settings import HOUR_MS
from engine.states import NodeKind, Outcome
from engine.storage import Subject, Tx
from engine.storage.connections import DATABASE_FILE
from engine.storage.opening import BACKUP_FOLDER
from tests.ledger import PERSON
from tests.retention.conftest import SETTINGS, Attic

FILES_ONLY = RetentionSettings(grace_ms=2 * HOUR_MS)


def there(attic: Attic) -> set[str]:
    return {path.name for path in (attic.folder / "blobs").glob("??/*")}


async def test_e84_a_file_goes_only_after_its_grace(attic: Attic) -> None:
    order = await attic.finished("old")
    printed, shared = attic.kept[order]
    young = await attic.finished("young")
    attic.age(31)
    again = await attic.ran("open")
    # All of them printed the same on stderr; it stays while anything refers to it.
    assert shared in attic.kept[young]
    assert shared in attic.kept[again]
    done = await attic.run()
    assert (done.orders, done.files) == (2, 0)
    seen = await attic.retention.preview()
    assert (seen.loose_files, seen.ready_files) == (2, 0)
    attic.clock.advance(2 * HOUR_MS - 1)
    assert (await attic.run()).files == 0
    attic.clock.advance(1)
    assert (await attic.retention.preview()).ready_files == 2
    done = await attic.run()
    assert done.files == 2
    assert done.file_bytes == len("printed by old\n") + len("printed by young\n")
    assert there(attic) == {shared, attic.kept[again][0]}
    assert printed not in there(attic)
    told = await attic.ledger.one("SELECT detail FROM journal WHERE kind = 'retention.files_removed'")
    assert printed in json.loads(told["detail"])["names"]
    assert await attic.ledger.all("SELECT * FROM loose_file") == []


async def test_e84_what_is_kept_again_has_its_grace_anew(attic: Attic) -> None:
    """A worker keeps bytes that are there already, and refers to them a moment later."""
    blob = attic.blobs.put_bytes(b"once")
    await attic.run(FILES_ONLY)
    attic.clock.advance(2 * HOUR_MS)
    assert attic.blobs.put_bytes(b"once") == blob
    assert (await attic.run(FILES_ONLY)).files == 0
    attic.clock.advance(2 * HOUR_MS)
    assert (await attic.run(FILES_ONLY)).files == 0
    attic.clock.advance(2 * HOUR_MS)
    assert (await attic.run(FILES_ONLY)).files == 1


async def test_e84_what_is_kept_again_while_a_run_looks_stays(
    attic: Attic, monkeypatch: pytest.MonkeyPatch
) -> None:
    blob = attic.blobs.put_bytes(b"once")
    await attic.run(FILES_ONLY)
    attic.clock.advance(2 * HOUR_MS)
    discard = BlobStore.discard

    def late(store: BlobStore, name: str) -> bool:
        store.put_bytes(b"once")
        return discard(store, name)

    monkeypatch.setattr(BlobStore, "discard", late)
    assert (await attic.run(FILES_ONLY)).files == 0
    assert there(attic) == {blob.sha256}


def test_a_discarded_blob_can_be_kept_again(tmp_path: Path) -> None:
    store = BlobStore(tmp_path / "blobs")
    blob = store.put_bytes(b"x")
    assert store.discard(blob.sha256)
    assert not store.discard(blob.sha256)
    assert store.put_bytes(b"x") == blob
    assert store.take_kept_again() == frozenset()
    store.put_bytes(b"x")
    assert not store.discard(blob.sha256)
    assert store.take_kept_again() == {blob.sha256}
    assert store.discard(blob.sha256)
    for name in ("../x", blob.sha256[:10], f"{blob.sha256}.other"):
        with pytest.raises(InvalidValue):
            store.discard(name)


async def test_e84_the_proof_of_a_decision_stays_with_it(attic: Attic, tmp_path: Path) -> None:
    order = await attic.ran("unknown", outcome=Outcome.UNKNOWN)
    attempt = await attic.ledger.one("SELECT id FROM attempt WHERE work_order_id = ?", order)
    (proof,) = keep_proofs([Proof("photo", text="it did not happen")], attic.blobs)
    await attic.ledger.write(
        decisions.reconcile, attempt["id"], Finding.DID_NOT, PERSON, "seen", None, None, (proof,)
    )
    attic.age(40)
    await attic.run()
    attic.age(1)
    await attic.run()
    assert proof.sha256 in there(attic)
    await attic.ledger.write(cancel, Node(NodeKind.WORK_ORDER, order), PERSON, "done with it")
    attic.age(40)
    await attic.run()
    attic.age(1)
    await attic.run()
    assert there(attic) == set()


async def test_e84_what_a_rollback_copy_refers_to_stays(attic: Attic) -> None:
    """It has no kept files of its own; without them it could not be brought back whole."""
    made = take_backup(attic.folder, attic.folder / BACKUP_FOLDER, now=attic.clock.now()).path
    order = await attic.finished("after the backup")
    digests = set(attic.kept[order])
    await attic.close()
    report = restore(attic.folder, made, actor=PERSON, reason="test", clock=attic.clock)
    fresh = await Attic.open(attic.folder, attic.clock)
    attic.ledger = fresh.ledger
    await fresh.ledger.write(lambda tx, now: tx.run("UPDATE hold SET released_at = ?", (now,)))
    for _ in range(3):
        fresh.age(40)
        await fresh.run()
    assert await fresh.orders() == set()
    assert there(fresh) == digests
    # A copy from before a new schema counts alike.
    assert report.rollback is not None
    shutil.copy(report.rollback / DATABASE_FILE, fresh.folder / BACKUP_FOLDER / "before-schema-099.sqlite")
    shutil.rmtree(report.rollback)
    fresh.age(40)
    await fresh.run()
    assert there(fresh) == digests
    (fresh.folder / BACKUP_FOLDER / "before-schema-099.sqlite").unlink()
    for _ in range(2):
        fresh.age(1)
        await fresh.run()
    assert there(fresh) == set()


async def test_e84_a_copy_that_cannot_be_read_keeps_every_file(attic: Attic) -> None:
    """Nobody knows what it needs."""
    attic.blobs.put_bytes(b"loose")
    (attic.folder / BACKUP_FOLDER).mkdir(exist_ok=True)
    bad = attic.folder / BACKUP_FOLDER / "before-schema-001.sqlite"
    bad.write_bytes(b"not a database, and long enough to be read as one" * 100)
    for _ in range(3):
        done = await attic.run(FILES_ONLY)
        assert "cannot be read" in done.why_no_files
        assert "cannot be read" in (await attic.retention.preview()).why_no_files
        attic.age(10)
    assert len(there(attic)) == 1


async def test_e84_run_folders_of_what_is_recorded_or_removed_go(attic: Attic) -> None:
    """What a killed console left there is all that is known of an UNKNOWN: that stays."""
    runs = attic.folder / "runs"
    recorded = await attic.ran("recorded")
    lost = await attic.ledger.submit("/lost")
    await attic.ledger.approve(lost)
    (claim,) = await attic.ledger.claim()
    admission = await attic.ledger.admit(claim)
    await attic.ledger.start(admission)
    attempt = await attic.ledger.one("SELECT id FROM attempt WHERE work_order_id = ?", recorded)
    for name in (attempt["id"], admission.attempt_id, "0" * 26, "something else"):
        (runs / name).mkdir(parents=True)
        (runs / name / "stdout").write_bytes(b"12345")
    seen = await attic.retention.preview(FILES_ONLY)
    assert (seen.runs, seen.run_bytes, seen.loose_files) == (3, 15, 2)
    await attic.run(FILES_ONLY)
    attic.age(1)
    done = await attic.run(FILES_ONLY)
    assert (done.files, done.file_bytes) == (2, 10)
    assert {path.name for path in runs.iterdir()} == {admission.attempt_id, "something else"}


async def test_e84_a_file_that_somebody_has_open_goes_another_time(
    attic: Attic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Windows it cannot be removed meanwhile; the run goes on."""
    read, other = attic.blobs.put_bytes(b"read"), attic.blobs.put_bytes(b"other")
    unlink = Path.unlink

    def held(path: Path, missing_ok: bool = False) -> None:
        if path.name == read.sha256:
            raise PermissionError(13, "The process cannot access the file", str(path))
        unlink(path, missing_ok)

    await attic.run(FILES_ONLY)
    attic.age(1)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", held)
        done = await attic.run(FILES_ONLY)
    assert (done.files, done.file_bytes) == (1, len(b"other"))
    assert there(attic) == {read.sha256}
    assert other.sha256 not in there(attic)
    for _ in range(2):
        attic.age(1)
        await attic.run(FILES_ONLY)
    assert there(attic) == set()


async def test_e84_a_file_that_was_found_altered_stays_as_long_as_its_name(attic: Attic) -> None:
    blob = attic.blobs.put_bytes(b"true")
    attic.blobs.path(blob.sha256).write_bytes(b"false")
    attic.blobs.put_bytes(b"true")
    assert len(there(attic)) == 2
    await attic.run(FILES_ONLY)
    attic.age(1)
    assert (await attic.run(FILES_ONLY)).files == 2
    assert there(attic) == set()


async def test_e84_progress_is_told_and_a_run_can_be_cancelled(attic: Attic) -> None:
    for number in range(25):
        await attic.finished(f"old-{number}")
    attic.age(31)
    await attic.retention.set(SETTINGS, PERSON)
    told: list[Progress] = []
    running: asyncio.Task[object] | None = None

    def tell(progress: Progress) -> None:
        told.append(progress)
        if progress.stage is Stage.WORK and progress.done and running is not None:
            running.cancel()

    running = asyncio.ensure_future(attic.retention.run(PERSON, progress=tell))
    with pytest.raises(asyncio.CancelledError):
        await running
    left = await attic.orders()
    assert 0 < len(left) < 25
    assert (await attic.verify()).sound
    running = None
    told.clear()
    done = await attic.retention.run(PERSON, progress=tell)
    assert done.orders == len(left)
    assert {one.stage for one in told} >= {Stage.LOOK, Stage.WORK, Stage.JOURNAL, Stage.FILES}
    assert all(one.done <= one.total or one.total == 0 for one in told)


async def test_b097_the_file_really_shrinks(attic: Attic) -> None:
    """Rows go in small steps, and so does the room that they took."""

    def fill(tx: Tx, *, now: int) -> None:
        for number in range(2_000):
            tx.journal("note", Subject("note", str(number)), ENGINE, now, detail={"text": "x" * 500})

    await attic.ledger.write(fill)
    attic.age(31)
    path = attic.folder / DATABASE_FILE
    seen = await attic.retention.preview(SETTINGS)
    assert seen.rows.going >= 2_000
    assert seen.rows.bytes > 1_000_000
    done = await attic.run()
    assert done.database_after < done.database_before - 1_000_000
    # The log is written back with the end of the run, not some time later.
    assert path.stat().st_size < done.database_after + 100_000
    assert (await attic.retention.preview()).free_bytes == 0
    assert (await attic.retention.last_run()) == done


async def test_only_one_run_at_a_time(attic: Attic) -> None:
    await attic.finished("old")
    results = await asyncio.gather(
        attic.retention.run(PERSON), attic.retention.run(PERSON), return_exceptions=True
    )
    assert sorted(type(one).__name__ for one in results) == ["RetentionRun", "WrongState"]
    assert any(isinstance(one, WrongState) for one in results)


async def test_it_runs_by_itself_once_a_day_when_a_person_says_so(attic: Attic) -> None:
    """One series of the alarm clock: it fires late after downtime, once, and can be seen and ended there."""
    await attic.finished("old")
    await attic.retention.set(SETTINGS, PERSON)
    assert not await attic.retention.by_itself()
    await attic.retention.set_by_itself(True, PERSON)
    await attic.retention.set_by_itself(True, PERSON)
    assert await attic.retention.by_itself()
    wakes = attic.retention._wakes
    attic.age(31)
    for _ in range(3):
        await wakes.run_due()
    assert await attic.orders() == set()
    last = await attic.retention.last_run()
    assert last is not None
    assert last.orders == 1
    for _ in range(3):
        attic.age(5)
        await wakes.run_due()
    again = await attic.retention.last_run()
    assert again is not None
    assert again.at > last.at
    # Runs that find nothing leave no trace in the journal.
    assert len(await attic.ledger.all("SELECT 1 FROM journal WHERE kind = 'retention.done'")) == 2
    await attic.retention.set_by_itself(False, PERSON)
    assert not await attic.retention.by_itself()
