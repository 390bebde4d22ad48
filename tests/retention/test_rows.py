"""Which journal rows go, and that everything that reads the journal stays true (E-84, E-16)."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from pathlib import Path

import pytest

from engine.actors import ENGINE
from engine.backup import restore, take_backup, verify_backup
from engine.backup.comparing import compare
from engine.backup.contents import Wrong
from engine.backup.manifest import MANIFEST_FILE, read_manifest, render
from engine.backup.shelf import look_at_copy
from engine.control import decisions
from engine.dispatch.planning import read_secret_key
from engine.dispatch.restores import given_before_restore
from engine.errors import DatabaseDamaged
from engine.interfaces.receipts import check_receipt, make_receipt
from engine.retention import RetentionSettings
from engine.retention.settings import DAY_MS, HOUR_MS
from engine.storage import Subject, Tx
from engine.storage.connections import DATABASE_FILE
from engine.views.receipt import receipt
from tests.backup.conftest import alter
from tests.ledger import PERSON
from tests.retention.conftest import SETTINGS, Attic


async def sequences(attic: Attic) -> list[int]:
    return [
        row["sequence"] for row in await attic.ledger.all("SELECT sequence FROM journal ORDER BY sequence")
    ]


async def backup(attic: Attic) -> Path:
    attic.clock.advance(1_000)
    place = attic.folder / "backups"
    return take_backup(attic.folder, place, now=attic.clock.now()).path


async def test_e84_old_rows_go_with_their_work_and_the_chain_holds(attic: Attic) -> None:
    for number in range(10):
        await attic.finished(f"old-{number}")
    attic.age(31)
    await attic.finished("young")
    count = len(await sequences(attic))
    seen = await attic.retention.preview(SETTINGS)
    done = await attic.run()
    assert done.rows > 10 * 15
    assert seen.rows.going == done.rows
    assert seen.rows.old > seen.rows.going
    report = await attic.verify()
    assert report.sound, report.problems
    assert report.compacted == done.rows
    assert report.unconfirmed == 0
    assert len(await sequences(attic)) < count - done.rows + 20
    (young,) = await attic.orders()
    entries = await attic.ledger.read(receipt, young)
    # The seals of these plans are made up; everything else must hold.
    found = check_receipt(make_receipt(entries))
    assert [one.text for one in found.problems if "sealed" not in one.text] == []
    assert found.journal_rows > 20
    again = await attic.run()
    assert again.rows == 0


async def test_e84_statements_are_compacted_in_their_turn(attic: Attic) -> None:
    """Run after run the journal does not grow by what tells of the runs before."""
    sizes = []
    for _ in range(6):
        for number in range(3):
            await attic.finished(f"{number}")
        attic.age(31)
        await attic.run()
        sizes.append(len(await sequences(attic)))
    assert (await attic.verify()).sound
    assert len(set(sizes[1:])) == 1, sizes
    checkpoints = await attic.ledger.all("SELECT * FROM journal_checkpoint")
    assert len(checkpoints) < 8


async def test_e84_rows_of_what_is_there_stay(attic: Attic) -> None:
    """An open order keeps its whole story, and so does a scope."""
    waiting = await attic.ledger.submit("/waiting")
    await attic.finished("old")
    attic.age(400)
    before = await attic.ledger.all("SELECT * FROM journal WHERE work_order_id = ?", waiting)
    await attic.run()
    assert await attic.ledger.all("SELECT * FROM journal WHERE work_order_id = ?", waiting) == before
    assert await attic.ledger.all("SELECT 1 FROM journal WHERE kind = 'scope.created'")
    assert (await attic.verify()).sound


async def test_e82_approvals_from_before_a_restore_stay_so(attic: Attic) -> None:
    """What tells their order in the journal is never compacted."""
    order = await attic.ledger.submit("/work")
    await attic.ledger.approve(order)
    approval = (await attic.ledger.approval_of(order))["id"]
    made = await backup(attic)
    await attic.close()
    restore(attic.folder, made, actor=PERSON, reason="test", clock=attic.clock)
    fresh = await Attic.open(attic.folder, attic.clock)
    attic.ledger = fresh.ledger
    assert await fresh.ledger.read(given_before_restore, approval)
    await fresh.ledger.write(lambda tx, now: tx.run("UPDATE hold SET released_at = ?", (now,)))
    fresh.age(400)
    await fresh.run()
    assert await fresh.ledger.read(given_before_restore, approval)
    assert (await fresh.verify()).sound


async def test_e84_backups_of_a_compacted_journal_are_good_and_name_a_false_checkpoint(attic: Attic) -> None:
    for number in range(4):
        await attic.finished(f"old-{number}")
    attic.age(31)
    assert (await attic.run()).rows
    made = await backup(attic)
    found = verify_backup(made)
    assert found.good, found.problems
    # Somebody who can write the manifest too alters a checkpoint.
    alter(made / DATABASE_FILE, "UPDATE journal_checkpoint SET hash = previous")
    _seal_again(made)
    found = verify_backup(made)
    assert not found.good
    assert {one.kind for one in found.problems} == {Wrong.JOURNAL}
    assert any("checkpoint for rows" in one.text for one in found.problems)


def _seal_again(made: Path) -> None:
    manifest = read_manifest(made)
    content = (made / DATABASE_FILE).read_bytes()
    files = [
        entry.model_copy(update={"size": len(content), "sha256": hashlib.sha256(content).hexdigest()})
        if entry.path == DATABASE_FILE
        else entry
        for entry in manifest.files
    ]
    (made / MANIFEST_FILE).write_bytes(render(manifest.model_copy(update={"files": files})))


async def test_e84_a_copy_without_its_key_is_restored_and_said_unconfirmed(
    attic: Attic, tmp_path: Path
) -> None:
    """On another machine, from a lone database: the chain proves the checkpoints, the signature cannot."""
    await attic.finished("old")
    attic.age(31)
    await attic.run()
    made = await backup(attic)
    lone = tmp_path / "lone.sqlite"
    shutil.copy(made / DATABASE_FILE, lone)
    other = tmp_path / "other"
    restore(other, lone, actor=PERSON, reason="moved", clock=attic.clock)
    read_secret_key(other)
    moved = await Attic.open(other, attic.clock)
    report = await moved.verify()
    await moved.close()
    assert report.sound, report.problems
    assert report.unconfirmed >= 1


async def test_e82_comparing_finds_where_histories_part_behind_a_checkpoint(attic: Attic) -> None:
    """The rows that copies of this data end with are kept for that."""
    await attic.finished("first")
    made = await backup(attic)
    head = look_at_copy(made).journal_sequence
    attic.age(31)
    await attic.finished("second")
    attic.age(31)
    last = await attic.finished("last")
    assert (await attic.run()).rows
    assert head in await sequences(attic)
    found = compare(attic.folder, made / DATABASE_FILE)
    assert found.common_sequence == head
    assert [order.work_order_id for order in found.orders] == [last]
    # A copy of which nobody knew: the comparison errs on the side of more.
    shutil.move(made, attic.folder.parent / "elsewhere")
    await attic.run()
    assert head not in await sequences(attic)
    found = compare(attic.folder, attic.folder.parent / "elsewhere" / DATABASE_FILE)
    assert found.common_sequence < head
    assert [order.work_order_id for order in found.orders] == [last]


async def test_e82_removed_work_comes_back_for_a_person_to_decide(attic: Attic) -> None:
    """B-096: an old backup knows it as waiting; it ran, ended and was removed since. It is not asked for again."""
    order = await attic.ledger.submit("/work", title="Ran since")
    fresh = await attic.ledger.submit("/fresh", title="Never ran")
    made = await backup(attic)
    await attic.ledger.run(order)
    await attic.ledger.run(order)
    await attic.ledger.write(decisions.accept, order, PERSON, "good")
    attic.age(31)
    assert (await attic.run()).orders == 1
    await attic.close()
    report = restore(attic.folder, made, actor=PERSON, reason="test", clock=attic.clock)
    assert report.aftermath.asked == (order,)
    assert report.comparison.removed_count == 1
    again = await Attic.open(attic.folder, attic.clock)
    attic.ledger = again.ledger
    states = {row["id"]: row["state"] for row in await again.ledger.all("SELECT id, state FROM work_order")}
    assert states == {order: "DECISION_NEEDED", fresh: "ACTIVE"}
    assert (await again.verify()).sound


async def test_e84_a_journal_that_is_not_sound_is_left_alone(attic: Attic) -> None:
    await attic.finished("old")
    attic.age(31)
    outsider = sqlite3.connect(attic.ledger.storage.path, isolation_level=None)
    outsider.execute("UPDATE journal SET actor_name = 'mallory' WHERE sequence = 9")
    outsider.close()
    before = await sequences(attic)
    with pytest.raises(DatabaseDamaged, match="not sound at row 9"):
        await attic.run(RetentionSettings(30 * DAY_MS, 30 * DAY_MS, HOUR_MS))
    assert set(before) <= set(await sequences(attic))


async def test_a_row_from_a_clock_that_was_ahead_holds_nothing_up(attic: Attic) -> None:
    await attic.finished("old")

    def ahead(tx: Tx, *, now: int) -> None:
        tx.journal("note", Subject("note", "1"), ENGINE, now + 9_000 * DAY_MS)

    await attic.ledger.write(ahead)
    await attic.finished("old too")
    attic.age(31)
    done = await attic.run()
    assert done.rows > 40
    assert (await attic.verify()).sound
