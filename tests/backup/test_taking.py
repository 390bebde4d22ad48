"""Taking and verifying backups (E-80, E-81)."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import signal
import stat
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.actors import ENGINE
from engine.backup import Progress, Stage, Watch, list_copies, take_backup, verify_backup
from engine.backup.contents import Wrong
from engine.backup.manifest import MANIFEST_FILE, read_manifest, render
from engine.clock import ManualClock
from engine.errors import BackupNotGood, Cancelled, DiskFull, FolderNotUsable
from engine.storage import Storage, Subject, Tx
from engine.storage.connections import DATABASE_FILE, connect
from tests.backup.conftest import House, alter, head, row
from tests.storage.support import python

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)

LONG = pytest.mark.skipif(
    os.environ.get("HYPOTHESIS_PROFILE") != "long", reason="with HYPOTHESIS_PROFILE=long"
)


async def test_e80_a_backup_is_one_whole_folder(house: House) -> None:
    """Everything that is in it is in the manifest, and the manifest says what the database says."""
    made = house.take()
    manifest = read_manifest(made.path)
    assert [path.name for path in house.place.iterdir()] == [made.path.name]
    named = {entry.path for entry in manifest.files}
    assert named == {DATABASE_FILE, "secret.key"} | {
        f"blobs/{blob.sha256[:2]}/{blob.sha256}" for blob in house.blobs
    }
    assert (manifest.journal_sequence, manifest.journal_hash) == head(made.path)
    assert manifest.counts["work_orders"] == 2
    assert manifest.made_at == "2026-09-10T00:00:01.000Z"
    assert not (made.path / "channel.key").exists()
    found = verify_backup(made.path)
    assert found.good, found.problems
    assert found.contents is not None
    assert found.contents.journal_sequence == made.journal_sequence


async def test_b091_a_backup_needs_no_files_beside_it(house: House) -> None:
    made = house.take()
    with closing(connect(made.path / DATABASE_FILE, "ro", immutable=True)) as database:
        assert database.execute("PRAGMA journal_mode").fetchone()[0] != "wal"
        assert database.execute("SELECT count(*) FROM work_order").fetchone()[0] == 2
    verify_backup(made.path)
    assert not [path for path in made.path.iterdir() if path.name.startswith(f"{DATABASE_FILE}-")]


def _flood(tx: Tx, number: int, *, now: int) -> None:
    tx.run("INSERT INTO meta(key, value) VALUES (?, ?)", (f"flood {number}", "x" * 300))
    tx.journal("flood", Subject("meta", str(number)), ENGINE, now, detail={"number": number})


async def _beside_a_writer(storage: Storage, take: Callable[[], None]) -> int:
    """Commit as fast as it goes while ``take`` runs in a thread; give how many commits there were."""
    ended = asyncio.ensure_future(asyncio.to_thread(take))
    number = 0
    while not ended.done():
        await asyncio.gather(*(storage.write(_flood, number + one) for one in range(8)))
        number += 8
    await ended
    return number


@pytest.mark.parametrize("times", [10, pytest.param(100, marks=LONG)])
async def test_b088_backups_beside_a_writer_are_each_one_moment(
    house: House, tmp_path: Path, times: int
) -> None:
    """Each is restored and equals a consistent moment: every number up to one, and the journal's head."""
    taken = []

    def take() -> None:
        for _ in range(times):
            taken.append(house.take())

    assert await _beside_a_writer(house.ledger.storage, take) > 0
    assert len({made.journal_hash for made in taken}) > 1
    for number, made in enumerate(taken):
        found = verify_backup(made.path)
        assert found.good, found.problems
        target = tmp_path / f"restored {number}"
        report = house.restore(made.path, target)
        assert report.contents.journal_sequence > made.journal_sequence
        database = target / DATABASE_FILE
        stored = row(database, "SELECT hash FROM journal WHERE sequence = ?", made.journal_sequence)
        assert stored["hash"] == made.journal_hash
        flood = row(
            database,
            """SELECT (SELECT count(*) FROM meta WHERE key LIKE 'flood %') AS rows,
                      (SELECT count(*) FROM journal WHERE kind = 'flood') AS told""",
        )
        assert flood["rows"] == flood["told"]
        shutil.rmtree(target)


async def test_e80_progress_comes_from_the_growing_file(house: House) -> None:
    told: list[Progress] = []
    take_backup(house.folder, house.place, now=house.clock.now(), watch=Watch(told.append))
    stages = [one.stage for one in told]
    assert stages[0] is Stage.DATABASE
    assert told[0].total > 0
    assert {Stage.BLOBS, Stage.DIGESTS} <= set(stages)
    assert all(one.done <= one.total or one.total == 0 for one in told)


@pytest.mark.parametrize("stage", [Stage.DATABASE, Stage.BLOBS, Stage.DIGESTS])
async def test_e80_a_cancelled_backup_leaves_nothing(house: House, stage: Stage) -> None:
    watch = Watch(lambda progress: watch.cancel() if progress.stage is stage else None)
    with pytest.raises(Cancelled):
        take_backup(house.folder, house.place, now=house.clock.now(), watch=watch)
    assert list(house.place.iterdir()) == []


async def test_two_backups_of_one_moment_have_two_names(house: House) -> None:
    first, second = (
        take_backup(house.folder, house.place, now=house.clock.now()),
        take_backup(house.folder, house.place, now=house.clock.now()),
    )
    assert first.path != second.path
    assert len(list_copies(house.folder, [house.place])) == 2


async def test_a_place_that_cannot_be_written_is_said(house: House, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(FolderNotUsable, match="cannot be written"):
        take_backup(house.folder, blocked, now=house.clock.now())


async def test_too_little_room_is_said_before_anything_is_written(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(house.folder)._replace(free=1_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(DiskFull, match="not enough room"):
        house.take()
    assert list(house.place.iterdir()) == []


async def test_a_disk_that_fills_up_meanwhile_is_said_and_nothing_is_left(
    house: House, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a backup that does not fit, and for a restore that does not."""
    monkeypatch.setattr("engine.backup.taking.require_room", lambda *_: None)
    monkeypatch.setattr("engine.backup.restoring.require_room", lambda *_: None)
    made = house.take()
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 700_000)
    with pytest.raises(DiskFull):
        take_backup(house.folder, small_disk / "backups", now=house.clock.now())
    assert list((small_disk / "backups").iterdir()) == []
    with pytest.raises(DiskFull):
        house.restore(made.path, small_disk / "data")
    left = {path.name for path in (small_disk / "data").iterdir()}
    assert left <= {"owner.lock"}


async def test_a_lost_kept_file_is_named_and_does_not_prevent_a_backup(house: House) -> None:
    """It is not good, it says why, and it is still the best that there is to restore."""
    gone = house.folder / "blobs" / house.blobs[0].sha256[:2] / house.blobs[0].sha256
    gone.unlink()
    other = house.folder / "blobs" / house.blobs[1].sha256[:2] / house.blobs[1].sha256
    other.write_bytes(b"altered")
    made = house.take()
    assert set(made.lacking) == {blob.sha256 for blob in house.blobs}
    found = verify_backup(made.path)
    assert not found.good
    assert found.restorable
    assert {one.kind for one in found.problems} == {Wrong.LACKING}
    assert {"missing", "altered"} == {one.state for one in read_manifest(made.path).lacking}


# --------------------------------------------------------------------------------------- what verifying finds


@pytest.fixture
async def backup(house: House) -> Path:
    """A good backup."""
    return house.take().path


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_e81_a_flipped_bit_in_any_file_is_found(backup: Path, data: st.DataObject) -> None:
    files = sorted(path for path in backup.rglob("*") if path.is_file())
    file = data.draw(st.sampled_from(files))
    content = bytearray(file.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= 1 << data.draw(st.integers(0, 7))
    before = file.read_bytes()
    file.write_bytes(content)
    try:
        found = verify_backup(backup)
        assert not found.good
        assert not found.restorable
        assert found.problems[0].file == file.relative_to(backup).as_posix()
    finally:
        file.write_bytes(before)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_e81_a_cut_or_longer_file_is_found(backup: Path, data: st.DataObject) -> None:
    file = data.draw(st.sampled_from(sorted(path for path in backup.rglob("*") if path.is_file())))
    before = file.read_bytes()
    longer = data.draw(st.booleans())
    file.write_bytes(before + b" " if longer else before[: data.draw(st.integers(0, len(before) - 1))])
    try:
        assert not verify_backup(backup).restorable
    finally:
        file.write_bytes(before)


def test_e81_a_missing_or_extra_blob_is_named(backup: Path, house: House) -> None:
    blob = backup / "blobs" / house.blobs[0].sha256[:2] / house.blobs[0].sha256
    aside = backup.parent / "aside"
    blob.rename(aside)
    (found,) = verify_backup(backup).problems
    assert (found.kind, found.file) == (Wrong.FILE_MISSING, blob.relative_to(backup).as_posix())
    aside.rename(blob)
    extra = backup / "blobs" / "ab" / ("ab" * 32)
    extra.parent.mkdir(exist_ok=True)
    extra.write_bytes(b"?")
    (found,) = verify_backup(backup).problems
    assert (found.kind, found.file) == (Wrong.FILE_EXTRA, extra.relative_to(backup).as_posix())


def _signed_again(backup: Path, house: House, change: Callable[[Path], None]) -> None:
    """Alter a backup and make a manifest that fits, as somebody might who means to deceive."""
    change(backup)
    manifest = read_manifest(backup)
    files = [
        entry.model_copy(
            update={
                "size": (backup / entry.path).stat().st_size,
                "sha256": hashlib.sha256((backup / entry.path).read_bytes()).hexdigest(),
            }
        )
        for entry in manifest.files
        if (backup / entry.path).exists()
    ]
    (backup / MANIFEST_FILE).write_bytes(render(manifest.model_copy(update={"files": files})))


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("UPDATE journal SET detail = '{}' WHERE sequence = 3", Wrong.JOURNAL),
        ("DELETE FROM journal WHERE sequence = 3", Wrong.JOURNAL),
        ("UPDATE journal_head SET sequence = sequence - 1", Wrong.JOURNAL),
        ("UPDATE attempt SET claim_id = 'nobody'", Wrong.DATABASE),
        ("DELETE FROM evidence_blob WHERE role = 'stdout'", Wrong.BLOB_EXTRA),
        ("UPDATE evidence_blob SET sha256 = '" + "0" * 64 + "' WHERE role = 'stdout'", Wrong.BLOB_MISSING),
        ("INSERT INTO epoch VALUES (99, 0, 'x', 1, 'h')", Wrong.MANIFEST),
    ],
)
def test_e81_what_digests_do_not_show_is_found(backup: Path, house: House, sql: str, kind: Wrong) -> None:
    _signed_again(backup, house, lambda path: alter(path / DATABASE_FILE, sql))
    found = verify_backup(backup)
    assert kind in {one.kind for one in found.problems}, found.problems
    assert not found.restorable


def test_a_blob_under_a_false_name_is_found(backup: Path, house: House) -> None:
    digest = house.blobs[0].sha256
    _signed_again(
        backup, house, lambda path: (path / "blobs" / digest[:2] / digest).write_bytes(b"other") and None
    )
    assert {one.kind for one in verify_backup(backup).problems} == {Wrong.FILE_ALTERED}


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", '{"manifest": {"version": 2}, "sha256": ""}', "[" * 100_000, "\xff"]
)
def test_what_is_no_manifest_is_refused_with_a_reason(backup: Path, text: str) -> None:
    (backup / MANIFEST_FILE).write_bytes(text.encode("latin-1"))
    found = verify_backup(backup)
    assert [one.kind for one in found.problems] == [Wrong.MANIFEST]
    with pytest.raises(BackupNotGood):
        found.require_restorable()


def test_a_manifest_cannot_name_a_file_elsewhere(backup: Path) -> None:
    document = json.loads((backup / MANIFEST_FILE).read_bytes())
    document["manifest"]["files"][0]["path"] = "../../etc/passwd"
    (backup / MANIFEST_FILE).write_text(json.dumps(document))
    assert [one.kind for one in verify_backup(backup).problems] == [Wrong.MANIFEST]


def test_verifying_changes_nothing_and_can_be_cancelled(backup: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in backup.rglob("*")}
    for path in backup.rglob("*"):
        path.chmod(stat.S_IREAD | (stat.S_IEXEC if path.is_dir() else 0))
    assert verify_backup(backup).good
    for path in backup.rglob("*"):
        path.chmod(0o700)
    assert {path: path.stat().st_mtime_ns for path in backup.rglob("*")} == before
    watch = Watch()
    watch.cancel()
    with pytest.raises(Cancelled):
        verify_backup(backup, watch)


async def test_cancelling_reaches_a_long_check(house: House) -> None:
    """integrity_check is one statement; it ends when asked to."""
    database = connect(house.folder / DATABASE_FILE, "ro")
    watch = Watch()
    timer = threading.Timer(0.1, watch.cancel)
    timer.start()
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    with closing(database), pytest.raises(Cancelled), watch.interrupts(database):
        database.execute(endless).fetchall()
    timer.join()


BACKS_UP_AND_DIES = """
import os, sys
from pathlib import Path
from engine.backup import Stage, Watch, take_backup

folder, place, stage, kill = Path(sys.argv[1]), Path(sys.argv[2]), Stage(sys.argv[3]), int(sys.argv[4])

def tell(progress):
    if progress.stage is stage:
        os.kill(os.getpid(), kill)

take_backup(folder, place, now=1788998500000, watch=Watch(tell))
"""


@pytest.mark.crash
@pytest.mark.parametrize("stage", [Stage.DATABASE, Stage.BLOBS, Stage.DIGESTS])
async def test_e80_a_killed_backup_is_none_and_the_next_one_clears_it_away(
    house: House, stage: Stage
) -> None:
    house.place.mkdir()
    foreign = house.place / "praxis-20260101T000000000Z.unfinished-somebody-else"
    foreign.mkdir()
    child = python(BACKS_UP_AND_DIES, house.folder, house.place, stage.value, int(KILL))
    _, err = child.communicate(timeout=60)
    assert child.returncode not in (0, 1), err
    assert len(list(house.place.iterdir())) == 2
    assert list_copies(house.folder, [house.place]) == ()
    made = house.take()
    assert verify_backup(made.path).good
    assert {path.name for path in house.place.iterdir()} == {made.path.name, foreign.name}


async def test_unfinished_backups_are_not_listed(house: House, clock: ManualClock) -> None:
    made = house.take()
    made.path.rename(made.path.with_name(f"{made.path.name}.unfinished-1"))
    assert list_copies(house.folder, [house.place]) == ()
