"""What removing old work costs those who work meanwhile, and how much smaller the file gets (E-84, B-097).

A data folder is filled with old work orders, each with its evidence, a kept file and a hundred rows of the journal.
Then one retention run removes all of it, while a person's command is sent every few milliseconds. No command may
wait for a second: ``control_longest_ms`` is the judge. ``--orders 10000`` makes a million journal rows.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from time import perf_counter

from engine.actors import ENGINE
from engine.backup import take_backup, verify_backup
from engine.clock import ManualClock
from engine.retention import RetentionSettings
from engine.retention.belongings import BELONGINGS
from engine.retention.settings import DAY_MS, HOUR_MS
from engine.storage import Subject, Tx
from engine.storage.chain import JournalRow, row_hash
from engine.storage.connections import DATABASE_FILE
from tests.benchmarks.common import percentile, run
from tests.ledger import PERSON
from tests.retention.conftest import Attic
from tests.stored_journal import verify_stored_journal

START = 1_788_998_400_000
DEFAULT_ORDERS = 2_000
ROWS_AN_ORDER = 100
PACE_SECONDS = 0.005


def wanted_orders(arguments: list[str]) -> int:
    """Take ``--orders`` out of the arguments, so that the rest is what every benchmark has."""
    if "--orders" not in arguments:
        return DEFAULT_ORDERS
    place = arguments.index("--orders")
    count = int(arguments[place + 1])
    del arguments[place : place + 2]
    return count


def multiply(folder: Path, template: str, count: int) -> None:
    """Add ``count`` copies of a work order with all that belongs to it, a kept file and journal rows for each."""
    with closing(sqlite3.connect(folder / DATABASE_FILE, isolation_level=None)) as database:
        database.row_factory = sqlite3.Row
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA foreign_keys = OFF")
        tables = {
            one.table: database.execute(
                f"SELECT * FROM {one.table} WHERE {one.where.format(orders='?')}", (template,)
            ).fetchall()
            for one in BELONGINGS
        }
        known = {row["id"] for rows in tables.values() for row in rows if "id" in row.keys()}  # noqa: SIM118
        database.execute("BEGIN")
        for table, rows in tables.items():
            if rows:
                names = list(rows[0].keys())
                database.executemany(
                    f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
                    (copied(table, row, number, known) for number in range(1, count + 1) for row in rows),
                )
        (spent,) = database.execute(
            "SELECT spent_cost FROM scope_partition JOIN scope ON id = scope_id WHERE kind = 'ROOT' AND spent_cost > 0"
        ).fetchone()
        database.execute(
            """UPDATE scope_partition SET spent_cost = spent_cost * ?, spent_ms = spent_ms * ?
               WHERE scope_id IN (SELECT id FROM scope WHERE kind <> 'WORK_ORDER')""",
            (count + 1, count + 1),
        )
        assert spent
        write_journal(database, template, count)
        database.execute("COMMIT")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    # Else the first commit that is measured would wait for all of this to reach the disk.
    with (folder / DATABASE_FILE).open("rb+") as file:
        os.fsync(file.fileno())
    for number in range(1, count + 1):
        digest = f"{number:064x}"
        path = folder / "blobs" / digest[:2] / digest
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 2_000)


def copied(table: str, row: sqlite3.Row, number: int, known: set[str]) -> list[object]:
    """One row of a copy: its identities are its own, and so is its kept file."""
    values = []
    for name in row.keys():  # noqa: SIM118
        value = row[name]
        if value in known:
            value = renamed(value, number)
        elif (table, name) == ("work_order", "number"):
            value = 1_000 + number
        elif (table, name) == ("scope", "name"):
            value = f"WO-{1_000 + number}"
        elif (table, name) == ("evidence_blob", "sha256"):
            value = f"{number:064x}"
        values.append(value)
    return values


def renamed(identity: str, number: int) -> str:
    """The identity of a copy."""
    return f"{number:06d}{identity[6:]}"


def write_journal(database: sqlite3.Connection, template: str, count: int) -> None:
    """Go on with the chain of the journal, with rows for every copy."""
    sequence, digest = database.execute("SELECT sequence, hash FROM journal_head").fetchone()
    detail = json.dumps({"note": "n" * 120}, separators=(",", ":"))
    for number in range(1, count + 1):
        rows = []
        order = renamed(template, number)
        for _ in range(ROWS_AN_ORDER):
            sequence += 1
            row = JournalRow(
                sequence, START, 1, "engine", "engine", "task", order, order, "claim.renewed", detail
            )
            digest = row_hash(digest, row)
            rows.append((*(getattr(row, name) for name in JournalRow.__slots__), digest))
        database.executemany(f"INSERT INTO journal VALUES ({', '.join('?' * 11)})", rows)
    database.execute("UPDATE journal_head SET sequence = ?, hash = ?", (sequence, digest))


def change(tx: Tx, number: int, *, now: int) -> None:
    """Change one row, and journal it."""
    tx.journal("bench.change", Subject("bench", str(number)), ENGINE, now, detail={"number": number})


class Person:
    """Sends a command every few milliseconds; ``waits`` are the seconds until each was answered."""

    def __init__(self, attic: Attic) -> None:
        self._attic = attic
        self._task = asyncio.create_task(self._repeat())
        self.waits: list[float] = []

    async def _repeat(self) -> None:
        while True:
            started = perf_counter()
            await self._attic.ledger.storage.write(change, len(self.waits), control=True)
            self.waits.append(perf_counter() - started)
            await asyncio.sleep(PACE_SECONDS)

    async def end(self) -> None:
        """Stop after the command under way."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def measure(folder: Path) -> dict[str, object]:
    """Fill, look, remove beside a person, remove the kept files after their grace, verify everything."""
    data, clock = folder / "data", ManualClock(START)
    attic = await Attic.open(data, clock)
    template = await attic.finished("template")
    await attic.close()
    multiply(data, template, ORDERS)
    clock.advance(100 * DAY_MS)
    attic = await Attic.open(data, clock)
    person = Person(attic)
    try:
        await asyncio.sleep(2)
        alone = len(person.waits)
        settings = RetentionSettings(30 * DAY_MS, 30 * DAY_MS, HOUR_MS)
        started = perf_counter()
        seen = await attic.retention.preview(settings)
        looked = perf_counter() - started
        assert seen.orders == ORDERS + 1, seen
        before = _size(data)
        started = perf_counter()
        done = await attic.run(settings)
        took = perf_counter() - started
        clock.advance(HOUR_MS)
        started = perf_counter()
        files = await attic.retention.run(PERSON)
        took_files = perf_counter() - started
        await person.end()
        after = _size(data)
        report = await verify_stored_journal(attic.ledger.storage, key=attic.key)
        assert report.sound, report.problems
        backup = await asyncio.to_thread(take_backup, data, folder / "backups", now=clock.now())
        found = await asyncio.to_thread(verify_backup, backup.path)
        assert found.good, found.problems
    finally:
        await person.end()
        await attic.close()
    quiet, busy = person.waits[:alone], person.waits[alone:]
    return {
        "orders": done.orders,
        "journal_rows": done.rows,
        "files": files.files,
        "preview_seconds": round(looked, 2),
        "run_seconds": round(took, 1),
        "files_run_seconds": round(took_files, 1),
        "control_p99_before_ms": round(percentile(quiet, 0.99) * 1e3, 1),
        "control_p50_ms": round(percentile(busy, 0.5) * 1e3, 1),
        "control_p99_ms": round(percentile(busy, 0.99) * 1e3, 1),
        "control_longest_ms": round(max(busy) * 1e3, 1),
        "commands": len(busy),
        "database_before_mb": round(before / 1e6, 1),
        "database_after_mb": round(after / 1e6, 1),
    }


def _size(folder: Path) -> int:
    return (folder / DATABASE_FILE).stat().st_size


ORDERS = DEFAULT_ORDERS

if __name__ == "__main__":
    ORDERS = wanted_orders(sys.argv)
    run(measure, __doc__ or "")
