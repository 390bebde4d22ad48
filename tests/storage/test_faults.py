"""A full disk, failing statements, a damaged page, a lock from outside, while the storage is open (E-12, P7)."""

from __future__ import annotations

import asyncio
import sqlite3

import pytest

from engine.errors import DatabaseDamaged, DatabaseLocked, DiskFull
from engine.storage import Storage, Tx, opening
from engine.storage.journal import verify_journal
from tests.storage.conftest import OpenStorage
from tests.storage.support import busy, journalled, names, note, sequences, turns

PAGE = 4096


def limit_pages(tx: Tx, spare: int, *, now: int) -> None:
    """Let the database grow by ``spare`` pages only: to SQLite the disk is full beyond."""
    row = tx.one("PRAGMA page_count")
    assert row is not None
    tx.all(f"PRAGMA max_page_count = {row[0] + spare}")


async def test_e12_a_full_disk_tells_nobody_success_for_what_is_not_there(storage: Storage) -> None:
    await storage.write(note, "before")
    await storage.write(limit_pages, 3)
    gate, first = await busy(storage)
    tasks = {
        name: asyncio.create_task(storage.write(note, name, size))
        for name, size in (("a", 0), ("b", 0), ("big", 20 * PAGE), ("c", 0), ("huge", 90 * PAGE), ("d", 0))
    }
    await turns()
    gate.open()
    await first
    results = dict(zip(tasks, await asyncio.gather(*tasks.values(), return_exceptions=True), strict=True))
    assert {name for name, result in results.items() if isinstance(result, DiskFull)} == {"big", "huge"}
    assert await storage.read(names) == ["a", "b", "before", "c", "d"], "siblings were run again, each alone"
    assert await storage.read(journalled) == ["before", "a", "b", "c", "d"]
    assert await storage.read(sequences) == [1, 2, 3, 4, 5]
    assert (await storage.read(verify_journal)).sound


async def test_e12_with_no_room_at_all_everyone_gets_the_error_until_there_is_room(storage: Storage) -> None:
    await storage.write(limit_pages, 0)
    tasks = [asyncio.create_task(storage.write(note, name, 2 * PAGE)) for name in "abc"]
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results] == [DiskFull] * 3
    assert "room" in str(results[0])
    assert await storage.read(names) == []
    await storage.write(limit_pages, 100)
    assert await storage.write(note, "d", 2 * PAGE) == "d"
    assert await storage.read(sequences) == [1]


async def test_a_failing_statement_is_its_operations_error_alone(storage: Storage) -> None:
    def add_trigger(tx: Tx, *, now: int) -> None:
        tx.run(
            "CREATE TEMP TRIGGER refuse BEFORE INSERT ON journal WHEN NEW.subject_id = 'b' "
            "BEGIN SELECT RAISE(ABORT, 'injected'); END"
        )

    await storage.write(add_trigger)
    results = await asyncio.gather(*(storage.write(note, name) for name in "abc"), return_exceptions=True)
    assert [type(result) for result in results] == [str, sqlite3.IntegrityError, str]
    assert await storage.read(names) == ["a", "c"]
    assert await storage.read(sequences) == [1, 2]


async def test_a_statement_that_rolls_everything_back_hurts_no_sibling(storage: Storage) -> None:
    def add_trigger(tx: Tx, *, now: int) -> None:
        tx.run(
            "CREATE TEMP TRIGGER refuse BEFORE INSERT ON journal WHEN NEW.subject_id = 'b' "
            "BEGIN SELECT RAISE(ROLLBACK, 'injected'); END"
        )

    await storage.write(add_trigger)
    gate, first = await busy(storage)
    tasks = [asyncio.create_task(storage.write(note, name)) for name in "abc"]
    await turns()
    gate.open()
    results = await asyncio.gather(first, *tasks, return_exceptions=True)
    assert [type(result) for result in results] == [type(None), str, sqlite3.IntegrityError, str]
    assert await storage.read(journalled) == ["a", "c"]
    assert (await storage.read(verify_journal)).sound


async def test_a_failing_commit_of_the_journal_head_fails_the_group(storage: Storage) -> None:
    def break_head(tx: Tx, *, now: int) -> None:
        tx.run(
            "CREATE TEMP TRIGGER broken BEFORE UPDATE ON journal_head BEGIN SELECT RAISE(FAIL, 'injected'); END"
        )

    def mend_head(tx: Tx, *, now: int) -> None:
        tx.run("DROP TRIGGER broken")

    await storage.write(break_head)
    results = await asyncio.gather(*(storage.write(note, name) for name in "ab"), return_exceptions=True)
    assert [type(result) for result in results] == [sqlite3.IntegrityError] * 2
    assert await storage.read(names) == []
    await storage.write(mend_head)
    assert await storage.write(note, "c") == "c"
    assert (await storage.read(verify_journal)).sound


async def test_a_lock_from_outside_is_waited_for_then_named(
    open_storage: OpenStorage,
) -> None:
    storage = await open_storage(lock_wait_ms=50)
    connection = sqlite3.connect(storage.path, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        results = await asyncio.gather(*(storage.write(note, name) for name in "ab"), return_exceptions=True)
        assert [type(result) for result in results] == [DatabaseLocked] * 2
        assert await storage.read(names) == [], "reading goes on"
        connection.execute("ROLLBACK")
        assert await storage.write(note, "c") == "c"
    finally:
        connection.close()


async def test_a_damaged_page_met_at_work_is_called_damage(
    open_storage: OpenStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = await open_storage()
    for number in range(20):
        await storage.write(note, f"{number}", PAGE)
    await storage.close()
    path = storage.path
    content = bytearray(path.read_bytes())
    look = sqlite3.connect(path)
    root = look.execute("SELECT rootpage FROM sqlite_master WHERE name = 'note'").fetchone()[0]
    look.close()
    start = (root - 1) * PAGE
    content[start : start + PAGE] = b"\xff" * PAGE
    path.write_bytes(content)
    monkeypatch.setattr(opening, "CHECK_AT_MOST_BYTES", 0)
    storage = await open_storage()
    with pytest.raises(DatabaseDamaged):
        await storage.read(lambda rx: rx.all("SELECT max(part) FROM note"))
    with pytest.raises(DatabaseDamaged):
        await storage.write(note, "x")
