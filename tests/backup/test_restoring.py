"""Restoring (E-82, B-089 to B-096): what comes back, what does not come twice, and kills in between."""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine import files
from engine.backup import CopyKind, list_copies, restore, take_backup, undo_restore
from engine.backup.aftermath import acknowledge_restore
from engine.clock import ManualClock
from engine.clock_watch import Reading
from engine.control.cancel import cancel
from engine.control.clock_trust import store_reading
from engine.control.decisions import Finding
from engine.control.holds import WHOLE_ENGINE, Node, resume
from engine.errors import (
    BackupNotGood,
    Cancelled,
    DatabaseNewer,
    FolderInUse,
    FolderNotUsable,
    InvalidValue,
    NotFound,
    StaleEpoch,
    WrongState,
)
from engine.files import replace_file
from engine.scheduling.claims import claim_tasks
from engine.states import NodeKind
from engine.storage import Storage, swap
from engine.storage.connections import DATABASE_FILE
from engine.storage.journal import verify_journal
from engine.storage.schema import Migration, shipped_migrations
from tests.backup.conftest import House, alter, row, rows
from tests.ledger import LEASE, PERSON, Ledger
from tests.storage.support import digest


async def _state(ledger: Ledger, order: str) -> tuple[str, str, str]:
    """The states of an order, of its latest task, and of that one's latest request."""
    row_of_order = await ledger.one("SELECT state FROM work_order WHERE id = ?", order)
    return (
        row_of_order["state"],
        (await ledger.task_of(order))["state"],
        (await ledger.approval_of(order))["state"],
    )


# ------------------------------------------------------------------------------------ nothing comes twice


async def test_b096_what_ran_after_the_backup_does_not_run_again(house: House) -> None:
    """Back up with A pending, approve and run A, restore: nothing runs, and A's effect is told."""
    made = house.take()
    ran = await house.ledger.run(house.waiting)
    await house.close()
    report = house.restore(made.path)
    (effect,) = report.comparison.effects
    assert (effect.attempt_id, effect.work_order_id, effect.argv) == (
        ran,
        house.waiting,
        ("python", "fix.py"),
    )
    assert house.waiting in report.aftermath.asked
    ledger = await house.reopen()
    assert await _state(ledger, house.waiting) == ("DECISION_NEEDED", "READY", "WITHDRAWN")
    order = await ledger.one("SELECT state_reason FROM work_order WHERE id = ?", house.waiting)
    assert "started after the backup" in order["state_reason"]
    assert await ledger.claim(10) == ()
    hold = await ledger.one("SELECT kind, reason FROM hold WHERE released_at IS NULL")
    assert hold["kind"] == "RESTORE"
    assert "Attempts started after it: 1" in hold["reason"]
    await ledger.write(acknowledge_restore, PERSON, "looked at it")
    assert await ledger.claim(10) == (), "even without the hold no approval is left"
    done = await ledger.one("SELECT detail FROM journal WHERE kind = 'restore.done'")
    assert json.loads(done["detail"])["effects_after"] == [ran]


async def test_e82_what_ran_in_data_that_was_set_aside_is_remembered_by_every_later_restore(
    house: House,
) -> None:
    """Restored, run, undone, restored again: the run is in none of both data, and its effect is in the world."""
    made = house.take()
    await house.close()
    house.restore(made.path)
    ledger = await house.reopen()
    await ledger.write(acknowledge_restore, PERSON, "looked")
    await ledger.ask(house.waiting)
    await ledger.run(house.waiting)
    await house.close()
    undone = undo_restore(house.folder, actor=PERSON, clock=house.clock)
    assert house.waiting in undone.aftermath.asked
    assert (await _state(await house.reopen(), house.waiting))[0] == "DECISION_NEEDED"
    await house.close()
    for _ in range(2):
        report = house.restore(made.path)
        assert report.comparison.doubtful == (2,)
        assert house.waiting in report.aftermath.asked, (
            "it may have taken effect, whatever was restored since"
        )


async def test_e82_what_was_given_up_here_and_ran_there_is_remembered(house: House) -> None:
    """Cancelled in the data that comes back, it is no order to ask about; an older backup knows it as ready."""
    made = house.take()
    await house.ledger.write(cancel, Node(NodeKind.WORK_ORDER, house.waiting), PERSON, "not needed")
    await house.close()
    house.restore(made.path)
    ledger = await house.reopen()
    await ledger.write(acknowledge_restore, PERSON, "looked")
    await ledger.ask(house.waiting)
    await ledger.run(house.waiting)
    await house.close()
    undo_restore(house.folder, actor=PERSON, clock=house.clock)
    report = house.restore(made.path)
    assert report.comparison.doubtful == (2,)
    assert house.waiting in report.aftermath.asked


async def test_e82_what_is_known_not_to_have_run_is_asked_afresh(house: House) -> None:
    """Its approval is void like any other, and its order goes on to a new request."""
    await house.ledger.approve(house.waiting)
    made = house.take()
    await house.close()
    report = house.restore(made.path)
    assert house.waiting not in report.aftermath.asked
    ledger = await house.reopen()
    assert await _state(ledger, house.waiting) == ("ACTIVE", "READY", "WITHDRAWN")
    assert (await ledger.task_of(house.waiting))["approval_id"] is None


async def test_e82_on_another_machine_nothing_is_known_so_a_person_decides(
    house: House, tmp_path: Path
) -> None:
    made = house.take()
    report = house.restore(made.path, tmp_path / "elsewhere")
    assert report.rollback is None
    assert not report.comparison.has_present
    assert house.waiting in report.aftermath.asked


@pytest.mark.parametrize("until", ["DISPATCH_AUTHORIZED", "DELIVERED", "ACKNOWLEDGED", "RUNNING"])
async def test_e82_in_flight_at_backup_time_is_unknown(house: House, until: str) -> None:
    """Even an attempt that was only authorised: it may have been delivered a moment later."""
    await house.ledger.approve(house.waiting)
    (claim,) = await house.ledger.claim()
    admission = await house.ledger.admit(claim)
    if until != "DISPATCH_AUTHORIZED":
        await house.ledger.start(admission)
        await house.ledger.write(_set_state, admission.attempt_id, until)
    made = house.take()
    await house.close()
    report = house.restore(made.path)
    assert report.aftermath.unknown == (admission.attempt_id,)
    ledger = await house.reopen()
    attempt = await ledger.one("SELECT * FROM attempt WHERE id = ?", admission.attempt_id)
    assert (attempt["state"], attempt["reason_code"]) == ("UNKNOWN", "restored")
    assert (await ledger.task_of(house.waiting))["state"] == "UNKNOWN"
    frozen = await ledger.all(
        "SELECT DISTINCT state FROM exposure WHERE attempt_id = ?", admission.attempt_id
    )
    assert [one["state"] for one in frozen] == ["FROZEN"]
    assert (await ledger.read(verify_journal)).sound


def _set_state(tx, attempt_id: str, state: str, *, now: int) -> None:
    tx.run("UPDATE attempt SET state = ? WHERE id = ?", (state, attempt_id))


async def test_e82_a_claim_of_the_backup_is_released(house: House) -> None:
    await house.ledger.approve(house.waiting)
    await house.ledger.claim()
    made = house.take()
    await house.close()
    house.restore(made.path)
    ledger = await house.reopen()
    assert await ledger.all("SELECT id FROM claim WHERE state = 'LIVE'") == []
    assert await _state(ledger, house.waiting) == ("ACTIVE", "READY", "WITHDRAWN")


async def test_e82_the_fate_of_what_was_in_flight_is_told(house: House) -> None:
    await house.ledger.approve(house.waiting)
    (claim,) = await house.ledger.claim()
    admission = await house.ledger.admit(claim)
    made = house.take()
    await house.ledger.start(admission)
    await house.close()
    report = house.restore(made.path)
    reason = row(house.folder / DATABASE_FILE, "SELECT reason FROM attempt WHERE state = 'UNKNOWN'")["reason"]
    assert "set aside it is RUNNING" in reason
    assert [effect.attempt_id for effect in report.comparison.effects] == [admission.attempt_id]


async def test_e82_one_look_at_a_step_covers_no_validation_after_a_restore(house: House) -> None:
    """The approval is used up, its cover is not; who says that the step took effect approves nothing by that."""
    await house.ledger.approve(house.waiting, covers=True)
    (claim,) = await house.ledger.claim()
    await house.ledger.start(await house.ledger.admit(claim))
    made = house.take()
    await house.close()
    (unknown,) = house.restore(made.path).aftermath.unknown
    ledger = await house.reopen()
    await ledger.write(acknowledge_restore, PERSON, "looked")
    await ledger.reconcile(unknown, Finding.TOOK_EFFECT, "it is there", 5, 5)
    task = await ledger.task_of(house.waiting)
    assert (task["purpose"], task["state"], task["approval_id"]) == ("VALIDATE", "READY", None)
    assert await ledger.claim(10) == ()


async def test_e82_a_new_epoch_above_both(house: House) -> None:
    made = house.take()
    for _ in range(5):
        old = await house.ledger.take_over()
    await house.close()
    report = house.restore(made.path)
    assert report.aftermath.epoch == old + 1
    ledger = await house.reopen()
    assert ledger.epoch == old + 2
    with pytest.raises(StaleEpoch):
        await ledger.write(claim_tasks, "w", old, 1, LEASE)


async def test_e82_the_higher_high_water_and_a_distrust_are_kept(house: House) -> None:
    """A restore does not make a distrusted clock right, nor lets time go back."""

    def store(tx, high_water: int, *, now: int) -> None:
        store_reading(tx, house.ledger.epoch, Reading(now, 5, 5, "boot-1"), high_water, now=now)

    await house.ledger.write(store, house.clock.now())
    made = house.take()
    later = house.clock.now() + 500_000

    def distrust(tx, *, now: int) -> None:
        store(tx, later, now=now)
        tx.run("UPDATE clock_state SET distrusted_since = ?", (now,))

    await house.ledger.write(distrust)
    await house.close()
    report = house.restore(made.path)
    assert report.aftermath.high_water == later
    database = house.folder / DATABASE_FILE
    clock = row(database, "SELECT high_water, distrusted_since FROM clock_state")
    assert clock["high_water"] == later
    assert clock["distrusted_since"] is not None
    assert {one["kind"] for one in rows(database, "SELECT kind FROM hold")} == {"RESTORE", "CLOCK"}


async def test_numbers_that_were_given_out_stay_given_out(house: House) -> None:
    """WO-3 of the data that was set aside is never another work order."""
    made = house.take()
    await house.ledger.submit("/three")
    await house.close()
    house.restore(made.path)
    ledger = await house.reopen()
    fourth = await ledger.submit("/four")
    assert (await ledger.one("SELECT number FROM work_order WHERE id = ?", fourth))["number"] == 4


async def test_e82_the_hold_ends_only_by_a_person_who_looked(house: House) -> None:
    made = house.take()
    await house.close()
    house.restore(made.path)
    ledger = await house.reopen()
    assert await ledger.write(resume, WHOLE_ENGINE, PERSON, "go on") == ()
    with pytest.raises(InvalidValue, match="reason"):
        await ledger.write(acknowledge_restore, PERSON, " ")
    await ledger.write(acknowledge_restore, PERSON, "I compared both lists")
    released = await ledger.one("SELECT released_by, release_reason FROM hold WHERE kind = 'RESTORE'")
    assert released == {"released_by": "ada", "release_reason": "I compared both lists"}
    with pytest.raises(WrongState):
        await ledger.write(acknowledge_restore, PERSON, "again")


# --------------------------------------------------------------------------------------- what comes back


async def test_e82_the_data_is_that_of_the_backup_and_undo_brings_the_other_back(house: House) -> None:
    made = house.take()
    third = await house.ledger.submit("/three", title="Third")
    before = await house.ledger.one("SELECT sequence, hash FROM journal_head")
    await house.close()
    report = house.restore(made.path)
    assert report.comparison.rows_lost == before["sequence"] - made.journal_sequence
    assert [(order.number, order.is_new) for order in report.comparison.orders] == [(3, True)]
    assert report.rollback is not None
    database = house.folder / DATABASE_FILE
    assert rows(database, "SELECT title FROM work_order ORDER BY number") == [
        {"title": "First"},
        {"title": "Second"},
    ]
    kept = row(database, "SELECT hash FROM journal WHERE sequence = ?", made.journal_sequence)
    assert kept["hash"] == made.journal_hash
    house.clock.advance(1)
    undone = undo_restore(house.folder, actor=PERSON, clock=house.clock)
    assert undone.source == report.rollback
    assert undone.kind is CopyKind.ROLLBACK
    assert undone.comparison.rows_of_copy == before["sequence"] - made.journal_sequence
    ledger = await house.reopen()
    stored = await ledger.one("SELECT hash FROM journal WHERE sequence = ?", before["sequence"])
    assert stored["hash"] == before["hash"]
    assert (await _state(ledger, third))[2] == "WITHDRAWN", "undoing approves nothing either"
    assert (await ledger.one("SELECT kind FROM hold WHERE released_at IS NULL"))["kind"] == "RESTORE"
    assert (await ledger.read(verify_journal)).sound
    assert len([one for one in list_copies(house.folder) if one.kind is CopyKind.ROLLBACK]) == 2


async def test_there_is_nothing_to_undo_without_a_restore(house: House) -> None:
    await house.close()
    with pytest.raises(NotFound, match="bring back"):
        undo_restore(house.folder, actor=PERSON, clock=house.clock)


async def test_p11_an_old_log_beside_the_database_is_never_replayed(house: House, tmp_path: Path) -> None:
    """B-089: the present data has a log that was never checkpointed; it goes aside with its database."""
    made = house.take()
    await house.ledger.submit("/three", title="Only in the log")
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for name in (DATABASE_FILE, f"{DATABASE_FILE}-wal", "secret.key"):
        shutil.copy(house.folder / name, crashed / name)
    assert (crashed / f"{DATABASE_FILE}-wal").stat().st_size > 0
    report = house.restore(made.path, crashed)
    assert [order.title for order in report.comparison.orders] == ["Only in the log"]
    assert len(rows(crashed / DATABASE_FILE, "SELECT id FROM work_order")) == 2
    assert report.rollback is not None
    assert (report.rollback / f"{DATABASE_FILE}-wal").stat().st_size > 0
    undo_restore(crashed, actor=PERSON, clock=house.clock)
    titles = rows(crashed / DATABASE_FILE, "SELECT title FROM work_order ORDER BY number DESC")
    assert titles[0]["title"] == "Only in the log"


@pytest.fixture
def read_only() -> Callable[[Path], None]:
    def protect(path: Path) -> None:
        for one in (*path.rglob("*"), path):
            one.chmod(stat.S_IREAD | (stat.S_IEXEC if one.is_dir() else 0))

    return protect


async def test_b091_from_a_write_protected_backup(
    house: House, tmp_path: Path, read_only: Callable[[Path], None]
) -> None:
    made = house.take()
    read_only(made.path)
    before = digest(made.path)
    target = tmp_path / "elsewhere"
    house.restore(made.path, target)
    ledger = await Ledger.open(target, house.clock)
    await ledger.close()
    assert digest(made.path) == before
    assert {path.name for path in made.path.iterdir()} == {
        "manifest.json",
        DATABASE_FILE,
        "secret.key",
        "blobs",
    }
    for one in (made.path, *made.path.rglob("*")):
        one.chmod(0o700)


async def test_kept_files_come_back_too(house: House, tmp_path: Path) -> None:
    """Missing and altered ones are brought in from the backup; what the present refers to stays."""
    made = house.take()
    paths = [house.folder / "blobs" / blob.sha256[:2] / blob.sha256 for blob in house.blobs]
    contents = [path.read_bytes() for path in paths]
    paths[0].unlink()
    paths[1].write_bytes(b"altered")
    await house.close()
    assert house.restore(made.path).lacking == ()
    assert [path.read_bytes() for path in paths] == contents
    target = tmp_path / "elsewhere"
    house.restore(made.path, target)
    for blob in house.blobs:
        assert (target / "blobs" / blob.sha256[:2] / blob.sha256).exists()
    assert (target / "secret.key").read_bytes() == (house.folder / "secret.key").read_bytes()


@pytest.mark.parametrize("schema", range(1, len(shipped_migrations())))
async def test_b092_b095_an_older_schema_is_brought_up_to_date_in_the_stage(
    tmp_path: Path, clock: ManualClock, schema: int
) -> None:
    """Its version is read from the backup itself; what newer steps added is named."""
    steps = shipped_migrations()
    old = tmp_path / "old"
    storage = await Storage.open(old, clock=clock, migrations=steps[:schema])
    await storage.close()
    made = take_backup(old, tmp_path / "backups", now=clock.now())
    assert made.schema == schema
    target = tmp_path / "fresh"
    report = restore(target, made.path, actor=PERSON, clock=clock)
    assert report.contents.schema == len(steps)
    assert report.comparison.new_schema == tuple(step.name for step in steps[schema:])
    ledger = await Ledger.open(target, clock)
    assert ledger.storage.migration_backup is None
    order = await ledger.submit()
    assert (await _state(ledger, order))[1] == "READY"
    await ledger.close()


async def test_b094_a_newer_schema_is_refused_with_what_can_be_opened(
    house: House, tmp_path: Path, clock: ManualClock
) -> None:
    usable = house.take()
    steps = shipped_migrations()
    newer = Migration(steps[-1].version + 1, "later", "CREATE TABLE later (id INTEGER PRIMARY KEY) STRICT;")
    place = tmp_path / "newer"
    storage = await Storage.open(place, clock=clock, migrations=(*steps, newer))
    await storage.close()
    made = take_backup(place, house.place, now=clock.now())
    await house.close()
    before = digest(house.folder)
    with pytest.raises(DatabaseNewer, match=usable.path.name) as refused:
        house.restore(made.path)
    assert refused.value.facts["usable"] == (str(usable.path),)
    assert digest(house.folder) == before


async def test_a_lone_database_file_is_restored_with_the_kept_files_that_are_there(
    house: House, clock: ManualClock
) -> None:
    """The copy that is made before a migration (E-15)."""
    made = house.take()
    lone = house.folder / "backups" / "before-schema-009.sqlite"
    lone.parent.mkdir(exist_ok=True)
    shutil.copy(made.path / DATABASE_FILE, lone)
    await house.close()
    (copy,) = list_copies(house.folder)
    assert (copy.kind, copy.problem) == (CopyKind.DATABASE, "")
    report = house.restore(lone)
    assert report.lacking == ()
    assert len(rows(house.folder / DATABASE_FILE, "SELECT id FROM work_order")) == 2


# -------------------------------------------------------------------------------------- refusals and faults


async def test_a_folder_that_is_open_is_refused(house: House) -> None:
    made = house.take()
    with pytest.raises(FolderInUse):
        house.restore(made.path)
    assert not (house.folder / swap.STAGE_FOLDER).exists()


async def test_a_bad_backup_changes_nothing(house: House) -> None:
    made = house.take()
    await house.close()
    before = digest(house.folder)
    with (made.path / DATABASE_FILE).open("r+b") as file:
        file.seek(5_000)
        file.write(b"flip")
    with pytest.raises(BackupNotGood):
        house.restore(made.path)
    assert digest(house.folder) == before
    with pytest.raises(NotFound):
        house.restore(house.folder / "nothing")


async def test_a_backup_that_changes_after_it_was_verified_is_not_used(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.backup import restoring

    made = house.take()
    await house.close()
    before = digest(house.folder)
    verify = restoring.verify_backup

    def verify_then_alter(path: Path, watch):
        found = verify(path, watch)
        alter(path / DATABASE_FILE, "UPDATE work_order SET title = 'Other'")
        return found

    monkeypatch.setattr(restoring, "verify_backup", verify_then_alter)
    with pytest.raises(BackupNotGood, match="changed while it was read"):
        house.restore(made.path)
    assert digest(house.folder) == before


@pytest.mark.parametrize("how", ["header", "middle", "empty", "foreign"])
async def test_a_damaged_present_is_set_aside_as_it_is(house: House, how: str) -> None:
    """What cannot be read cannot tell what happened since: a person decides about everything."""
    made = house.take()
    await house.close()
    database = house.folder / DATABASE_FILE
    if how == "empty":
        database.write_bytes(b"")
    elif how == "foreign":
        database.write_bytes(b"no database at all" * 1_000)
    else:
        with database.open("r+b") as file:
            file.seek(0 if how == "header" else 4_096)
            file.write(b"\xff" * 40_000)
    damaged = database.read_bytes()
    report = house.restore(made.path)
    assert report.comparison.why_unread
    assert house.waiting in report.aftermath.asked
    assert report.rollback is not None
    assert (report.rollback / DATABASE_FILE).read_bytes() == damaged
    with pytest.raises(BackupNotGood, match="is not good"):
        undo_restore(house.folder, actor=PERSON, clock=house.clock)
    await house.reopen()


async def test_a_cancelled_restore_changes_nothing(house: House) -> None:
    from engine.backup import Stage, Watch

    made = house.take()
    await house.close()
    before = digest(house.folder)
    for stage in (Stage.DIGESTS, Stage.INTEGRITY, Stage.JOURNAL, Stage.PREPARE, Stage.BLOBS):
        watch = Watch()
        watch._tell = lambda progress, watch=watch, stage=stage: (
            watch.cancel() if progress.stage is stage else None
        )
        with pytest.raises(Cancelled):
            house.restore(made.path, watch=watch)
        assert digest(house.folder) == before


async def test_p17_a_held_database_is_put_back(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows a scanner may hold the file; then everything is as it was, and may be tried again."""
    made = house.take()
    await house.close()
    before = digest(house.folder)

    def held(source: Path, target: Path, **options: Any) -> None:
        if target.parent.parent.name == swap.ASIDE_FOLDER and source.name == "secret.key":
            raise PermissionError(13, "The process cannot access the file", str(source))
        replace_file(source, target, **options)

    with monkeypatch.context() as patch:
        patch.setattr(swap, "replace_file", held)
        with pytest.raises(FolderNotUsable, match=r"secret\.key cannot be moved"):
            house.restore(made.path)
    assert digest(house.folder) == before
    house.restore(made.path)


class Holder:
    """Another program with files open, as Windows knows it: they cannot be renamed or removed meanwhile.

    ``places`` are ends of the paths that it holds; each is let go after ``times`` tries, None: never.
    """

    def __init__(self, places: tuple[str, ...], times: int | None) -> None:
        self.places = places
        self.times = times
        self.tries = 0

    def install(self, patch: pytest.MonkeyPatch) -> None:
        replace, unlink = Path.replace, Path.unlink

        def held_replace(path: Path, target: Path) -> Path:
            self.look_at(path)
            return replace(path, target)

        def held_unlink(path: Path, missing_ok: bool = False) -> None:
            self.look_at(path)
            unlink(path, missing_ok)

        patch.setattr(files, "WINDOWS", True)
        patch.setattr(files, "REPLACE_PAUSE_SECONDS", 0)
        patch.setattr(Path, "replace", held_replace)
        patch.setattr(Path, "unlink", held_unlink)

    def look_at(self, path: Path) -> None:
        if path.exists() and path.as_posix().endswith(self.places):
            self.tries += 1
            if self.times is None or self.tries <= self.times:
                raise PermissionError(13, "The process cannot access the file", str(path))


IN_PLACE = (f"/data/{DATABASE_FILE}", "/data/secret.key")
STAGED = (f"/{swap.STAGE_FOLDER}/{DATABASE_FILE}", f"/{swap.STAGE_FOLDER}/secret.key")


@pytest.mark.parametrize("place", [*IN_PLACE, *STAGED, f"/data/{swap.MARKER_FILE}"])
async def test_p17_a_file_that_is_held_for_seconds_is_waited_for(
    house: House, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """A sharing violation passes: scanners and indexers let go."""
    made = house.take()
    await house.ledger.submit("/three", title="Third")
    await house.close()
    holder = Holder((place,), files.PATIENT_ATTEMPTS - 1)
    with monkeypatch.context() as patch:
        holder.install(patch)
        house.restore(made.path)
    assert holder.tries == files.PATIENT_ATTEMPTS
    ledger = await house.reopen()
    assert {one["title"] for one in await ledger.all("SELECT title FROM work_order")} == {"First", "Second"}


@pytest.mark.parametrize("place", [*IN_PLACE, *STAGED])
async def test_p17_a_file_that_stays_held_leaves_the_old_or_the_new(
    house: House, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """What is held in its place stays there; once the old is aside, the next opening goes on to the new."""
    made = house.take()
    await house.ledger.submit("/three", title="Third")
    await house.close()
    before = digest(house.folder)
    with monkeypatch.context() as patch:
        Holder((place,), None).install(patch)
        with pytest.raises(FolderNotUsable, match="cannot be"):
            house.restore(made.path)
        if place in STAGED:
            with pytest.raises(FolderNotUsable, match="cannot be put in its place"):
                await Storage.open(house.folder, clock=house.clock)
    if place in IN_PLACE:
        assert digest(house.folder) == before
    ledger = await house.reopen()
    titles = {one["title"] for one in await ledger.all("SELECT title FROM work_order")}
    assert titles == ({"First", "Second", "Third"} if place in IN_PLACE else {"First", "Second"})
    assert (await ledger.read(verify_journal)).sound
