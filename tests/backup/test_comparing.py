"""What a restore would lose, and what has happened since (E-82)."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from engine.backup import compare
from engine.instants import Instant
from engine.storage.connections import DATABASE_FILE, connect
from engine.storage.transaction import Subject, Tx
from tests.backup.conftest import House
from tests.ledger import PERSON, Ledger


async def test_comparing_finds_where_two_histories_part(house: House, tmp_path: Path) -> None:
    """After a restore both sides have rows that the other has not."""
    first = house.take()
    await house.ledger.run(house.waiting)
    second = house.take()
    await house.close()
    house.restore(first.path)
    await house.reopen()
    found = compare(house.folder, second.path / DATABASE_FILE)
    assert found.same_instance
    assert found.common_sequence == first.journal_sequence
    assert found.rows_of_copy == second.journal_sequence - first.journal_sequence
    assert found.rows_lost > 0
    assert found.effects == ()
    assert {one.actor for one in found.decisions} == {"ada"}


async def test_comparing_with_data_of_another_instance(house: House, tmp_path: Path) -> None:
    other = await Ledger.open(tmp_path / "other", house.clock)
    await other.submit(title="Theirs")
    await other.close()
    made = house.take()
    found = compare(tmp_path / "other", made.path / DATABASE_FILE)
    assert not found.same_instance
    assert found.common_sequence == 0
    assert [order.title for order in found.orders] == ["Theirs"]


async def test_comparing_reads_while_the_owner_writes_and_changes_nothing(house: House) -> None:
    made = house.take()
    await house.ledger.submit("/three", title="Third")
    found = compare(house.folder, made.path / DATABASE_FILE)
    assert [order.title for order in found.orders] == ["Third"]
    assert found.rows_of_copy == 0
    assert found.new_schema == ()
    with closing(connect(house.folder / DATABASE_FILE, "ro")) as database:
        assert database.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert (house.folder / f"{DATABASE_FILE}-wal").exists()


async def test_only_what_a_person_decided_counts_as_a_decision_that_is_lost(house: House) -> None:
    """E-82: a backup that was made or proven, and a work order that was handed in, decide nothing about work."""
    made = house.take()

    def keep(tx: Tx, kind: str, now: Instant) -> None:
        tx.journal(kind, Subject("backup", "one"), PERSON, now)

    for kind in ("backup.made", "backup.proven"):
        await house.ledger.write(keep, kind)
    await house.ledger.submit("/three", title="Third")
    before = compare(house.folder, made.path / DATABASE_FILE)
    assert before.rows_lost > 2
    assert (before.decisions, before.decision_count) == ((), 0)
    await house.ledger.run(house.waiting)
    after = compare(house.folder, made.path / DATABASE_FILE)
    assert [one.kind for one in after.decisions] == ["approval.approved"]
    assert after.decision_count == 1
