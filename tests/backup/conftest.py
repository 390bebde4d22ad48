"""Data folders with something in them, their backups, and what both hold."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from engine.backup import Backup, RestoreReport, restore, take_backup
from engine.clock import ManualClock
from engine.dispatch.planning import read_secret_key
from engine.execution.blobs import Blob, BlobStore
from engine.execution.record import KeptBlob
from engine.storage.connections import DATABASE_FILE, connect
from tests.ledger import PERSON, Ledger
from tests.storage.conftest import small_disk

__all__ = ["small_disk"]


@dataclass
class House:
    """An open data folder with two finished orders (one with kept files) and one that waits for approval."""

    folder: Path
    place: Path
    clock: ManualClock
    ledger: Ledger
    blobs: tuple[Blob, ...]
    done: str
    waiting: str

    def take(self) -> Backup:
        self.clock.advance(1_000)
        return take_backup(self.folder, self.place, now=self.clock.now())

    def restore(self, source: Path, folder: Path | None = None, **options: Any) -> RestoreReport:
        self.clock.advance(1_000)
        return restore(
            folder or self.folder, source, actor=PERSON, reason="test", clock=self.clock, **options
        )

    async def reopen(self) -> Ledger:
        """Open the folder again, as the next owner would."""
        self.ledger = await Ledger.open(self.folder, self.clock)
        return self.ledger

    async def close(self) -> None:
        await self.ledger.close()


@pytest.fixture
async def house(folder: Path, tmp_path: Path, clock: ManualClock) -> AsyncIterator[House]:
    read_secret_key(folder)
    ledger = await Ledger.open(folder, clock)
    store = BlobStore(folder / "blobs")
    blobs = (store.put_bytes(b"what was printed\n"), store.put_bytes(b"\0" * 5_000))
    done = await ledger.submit("/one", title="First")
    uses = tuple(
        KeptBlob(role, path, blob.sha256, blob.size)
        for role, path, blob in (("stdout", "", blobs[0]), ("artifact", "out.bin", blobs[1]))
    )
    await ledger.run(done, blobs=uses)
    waiting = await ledger.submit("/two", title="Second")
    made = House(folder, tmp_path / "backups", clock, ledger, blobs, done, waiting)
    yield made
    await made.close()


def rows(path: Path, sql: str, *values: object) -> list[dict[str, Any]]:
    """Read a database that nobody has open."""
    with closing(connect(path, "ro")) as database:
        return [dict(row) for row in database.execute(sql, values)]


def row(path: Path, sql: str, *values: object) -> dict[str, Any]:
    (found,) = rows(path, sql, *values)
    return found


def head(path: Path) -> tuple[int, str]:
    """The end of the journal of a database or of the one in a folder."""
    found = row(path if path.is_file() else path / DATABASE_FILE, "SELECT sequence, hash FROM journal_head")
    return found["sequence"], found["hash"]


def alter(path: Path, sql: str, *values: object) -> None:
    """Change a database as no program of ours would."""
    with closing(sqlite3.connect(path)) as database:
        database.execute(sql, values)
        database.commit()
