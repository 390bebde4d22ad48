"""Reads: one snapshot in one hop, never in the writer's way, on connections that cannot write (E-10, P8)."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from typing import Any

import aiosqlite
import pytest

from engine.errors import DatabaseReadOnly, StorageError
from engine.storage import Rx, Storage
from engine.storage.connections import connect_reader, connect_writer
from engine.storage.readers import READERS
from tests.storage.conftest import OpenStorage
from tests.storage.support import Boundaries, Gate, busy, names, note, turns


async def test_a_read_takes_arguments_and_options(storage: Storage) -> None:
    def look(rx: Rx, first: int, *, second: int) -> int:
        row = rx.one("SELECT ? + ? AS n", (first, second))
        assert row is not None
        return int(row["n"])

    assert await storage.read(look, 1, second=2) == 3


async def test_a_read_sees_what_was_answered_and_not_what_is_under_way(open_storage: OpenStorage) -> None:
    boundaries = Boundaries()
    storage = await open_storage(boundary=boundaries)
    await storage.write(note, "a")
    gate = boundaries.gates["before_commit"] = Gate()
    task = asyncio.create_task(storage.write(note, "b"))
    await gate.arrival()
    assert await storage.read(names) == ["a"]
    gate.open()
    await task
    assert await storage.read(names) == ["a", "b"]


async def test_a_read_is_one_snapshot(storage: Storage) -> None:
    gate = Gate()

    def twice(rx: Rx) -> tuple[list[str], list[str]]:
        before = names(rx)
        gate.pass_through()
        return before, names(rx)

    task = asyncio.create_task(storage.read(twice))
    await gate.arrival()
    await storage.write(note, "a")
    gate.open()
    assert await task == ([], [])
    assert await storage.read(names) == ["a"]


async def test_reads_go_on_beside_each_other_and_further_ones_wait_their_turn(storage: Storage) -> None:
    gates = [Gate() for _ in range(READERS)]

    def stop(rx: Rx, gate: Gate) -> None:
        gate.pass_through()

    standing = [asyncio.create_task(storage.read(stop, gate)) for gate in gates]
    for gate in gates:
        await gate.arrival()
    late = asyncio.create_task(storage.read(names))
    await turns(10)
    assert not late.done()
    gates[1].open()
    assert await late == []
    for gate in gates:
        gate.open()
    await asyncio.gather(*standing)


async def test_a_read_cannot_write(storage: Storage) -> None:
    def write(rx: Rx) -> None:
        rx.all("INSERT INTO note (name) VALUES ('a')")

    with pytest.raises(DatabaseReadOnly):
        await storage.read(write)
    assert await storage.read(names) == []


async def test_an_error_in_a_read_is_the_callers_and_leaves_the_reader_usable(storage: Storage) -> None:
    def fail(rx: Rx) -> None:
        names(rx)
        raise ZeroDivisionError

    for _ in range(2 * READERS):
        with pytest.raises(ZeroDivisionError):
            await storage.read(fail)
    assert await storage.read(names) == []


@pytest.mark.parametrize("error", [SystemExit(3), StopIteration(1), asyncio.CancelledError()])
async def test_what_a_future_cannot_hold_is_wrapped(storage: Storage, error: BaseException) -> None:
    def misbehave(rx: Rx) -> None:
        raise error

    with pytest.raises(StorageError, match=type(error).__name__):
        await storage.read(misbehave)
    assert await storage.read(names) == []


async def test_a_cancelled_read_is_interrupted_and_its_reader_is_given_back(storage: Storage) -> None:
    begun = threading.Event()

    def for_ever(rx: Rx) -> Any:
        begun.set()
        return rx.all(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
        )

    for _ in range(READERS + 1):
        begun.clear()
        task = asyncio.create_task(storage.read(for_ever))
        assert await asyncio.to_thread(begun.wait, 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await storage.read(names) == []


async def test_p8_readers_keep_no_snapshot_so_the_log_is_checkpointed(storage: Storage) -> None:
    for number in range(60):
        await storage.write(note, f"{number}", 100_000)
        await storage.read(names)
    assert storage.health().log_bytes < 8_000_000, (
        "the log is used again instead of growing with every commit"
    )


async def test_the_settings_hold_on_every_connection(storage: Storage) -> None:
    def setting(database: sqlite3.Connection, name: str) -> Any:
        return database.execute(f"PRAGMA {name}").fetchone()[0]

    writer = connect_writer(storage.path)
    reader = connect_reader(storage.path)
    try:
        for database in (writer, reader):
            assert setting(database, "journal_mode") == "wal"
            assert setting(database, "synchronous") == 2
            assert setting(database, "foreign_keys") == 1
        assert setting(writer, "wal_autocheckpoint") == 1000
        assert setting(reader, "wal_autocheckpoint") == 0
        assert setting(reader, "query_only") == 1
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader.execute("CREATE TABLE x (a)")
    finally:
        reader.close()
        writer.close()


async def test_the_private_parts_of_aiosqlite_that_the_readers_use(tmp_path: Any) -> None:
    """Contract: ``Connection._execute`` runs a whole function on ``_thread``; ``_conn`` is the connection."""
    connection = aiosqlite.Connection(lambda: sqlite3.connect(tmp_path / "x.sqlite"), iter_chunk_size=64)
    assert isinstance(connection._thread, threading.Thread)
    assert not connection._thread.is_alive(), "it can still be made a daemon"
    await connection
    assert isinstance(connection._conn, sqlite3.Connection)
    assert await connection._execute(threading.current_thread) is connection._thread  # type: ignore[no-untyped-call]
    end = connection.stop()
    assert end is not None
    await end
    connection._thread.join(20)
    assert not connection._thread.is_alive()


async def test_reads_go_on_while_the_writer_is_busy(storage: Storage) -> None:
    gate, task = await busy(storage)
    assert await storage.read(names) == []
    gate.open()
    await task
