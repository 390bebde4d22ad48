"""What a backup costs while the engine's writer works, and how long it takes beside a plain copy of the file.

A writer commits one journalled change after the other at a steady pace, first alone, then while backups are
taken. ``writer_p99_during_ms`` should stay below 25; ``time_over_plain_copy`` compares a whole backup (copied,
hashed, flushed) with copying and flushing the closed file. ``--size 1g`` measures a large database.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from time import perf_counter

from engine.actors import ENGINE
from engine.backup import take_backup, verify_backup
from engine.clock import SystemClock
from engine.storage import Storage, Subject, Tx
from engine.storage.connections import DATABASE_FILE
from tests.benchmarks.common import percentile, run

DEFAULT_MEGABYTES = 640
PACE_SECONDS = 0.002
ALONE_SECONDS = 4.0
BACKUPS = 4
_UNITS = {"m": 1, "g": 1024}


def megabytes(text: str) -> int:
    """Read a size such as 256m or 1g."""
    return int(text[:-1]) * _UNITS[text[-1].lower()]


def wanted_size(arguments: list[str]) -> int:
    """Take ``--size`` out of the arguments, so that the rest is what every benchmark has."""
    if "--size" not in arguments:
        return DEFAULT_MEGABYTES
    place = arguments.index("--size")
    text = arguments[place + 1]
    del arguments[place : place + 2]
    return megabytes(text)


def change(tx: Tx, number: int, *, now: int) -> None:
    """Change one row, and journal it."""
    tx.journal("bench.change", Subject("bench", str(number)), ENGINE, now, detail={"number": number})


def fill(path: Path, size: int) -> None:
    """Make the database about ``size`` megabytes large."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous = OFF")
        for step in range(size):
            database.execute("BEGIN")
            database.executemany(
                "INSERT INTO meta(key, value) VALUES (?, hex(randomblob(2000)))",
                [(f"{step} {number}",) for number in range(240)],
            )
            database.execute("COMMIT")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


class SteadyWriter:
    """Commits at a pace until it is told to end; ``waits`` are the seconds that each commit took."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._task = asyncio.create_task(self._repeat())
        self.waits: list[float] = []

    async def _repeat(self) -> None:
        number = 0
        while True:
            started = perf_counter()
            await self._storage.write(change, number)
            self.waits.append(perf_counter() - started)
            number += 1
            await asyncio.sleep(PACE_SECONDS)

    async def end(self) -> None:
        """Stop after the commit under way."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


def plain_copy(source: Path, target: Path) -> float:
    """Copy and flush a file as a file manager would; the seconds it took."""
    started = perf_counter()
    shutil.copyfile(source, target)
    with target.open("rb+") as file:
        os.fsync(file.fileno())
    taken = perf_counter() - started
    target.unlink()
    return taken


async def measure(folder: Path) -> dict[str, object]:
    """Build, copy plainly, write alone, write beside backups, verify the last one."""
    data, clock = folder / "data", SystemClock()
    await (await Storage.open(data, clock=clock, program="benchmark")).close()
    database = data / DATABASE_FILE
    fill(database, SIZE)
    plain = min(plain_copy(database, folder / "plain.sqlite") for _ in range(2))
    storage = await Storage.open(data, clock=clock, program="benchmark")
    try:
        writer = SteadyWriter(storage)
        await asyncio.sleep(ALONE_SECONDS)
        alone = len(writer.waits)
        taken = []
        log_peak = 0
        for number in range(BACKUPS):
            started = perf_counter()
            made = await asyncio.to_thread(take_backup, data, folder / f"backups {number}", now=clock.now())
            taken.append(perf_counter() - started)
            log_peak = max(log_peak, storage.health().log_bytes)
            if number < BACKUPS - 1:
                shutil.rmtree(made.path)
        await writer.end()
    finally:
        await storage.close()
    before, during = writer.waits[:alone], writer.waits[alone:]
    started = perf_counter()
    found = await asyncio.to_thread(verify_backup, made.path)
    verified = perf_counter() - started
    assert found.good, found.problems
    return {
        "size_mb": round(database.stat().st_size / 1e6),
        "writer_p50_before_ms": round(percentile(before, 0.5) * 1e3, 2),
        "writer_p50_during_ms": round(percentile(during, 0.5) * 1e3, 2),
        "writer_p99_before_ms": round(percentile(before, 0.99) * 1e3, 2),
        "writer_p99_during_ms": round(percentile(during, 0.99) * 1e3, 2),
        "writer_longest_during_ms": round(max(during) * 1e3, 1),
        "commits_during": len(during),
        "backup_seconds": round(min(taken), 2),
        "plain_copy_seconds": round(plain, 2),
        "time_over_plain_copy": round(min(taken) / plain, 2),
        "verify_seconds": round(verified, 2),
        "log_peak_mb": round(log_peak / 1e6, 1),
    }


SIZE = DEFAULT_MEGABYTES

if __name__ == "__main__":
    SIZE = wanted_size(sys.argv)
    run(measure, __doc__ or "")
