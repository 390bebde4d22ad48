"""Keep the present schema as a fixture, with work in every state: run before adding a migration.

``python -m tests.backup.keep_schema`` writes ``tests/backup/schemas/NNN.sqlite.gz``. Versions 6 and later were made so
by the program of their day; 1 to 5 were never in anybody's hands and hold the same work as 6, as far as they can.
"""

from __future__ import annotations

import asyncio
import gzip
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from engine.clock import ManualClock
from engine.control import decisions
from engine.states import Outcome
from engine.storage.connections import DATABASE_FILE
from engine.storage.schema import shipped_migrations
from tests.ledger import PERSON, Ledger

SCHEMAS = Path(__file__).parent / "schemas"
MADE_AT = 1_788_998_400_000


async def fill(folder: Path) -> None:
    """Seven work orders: accepted, UNKNOWN, to be corrected, in flight, approved, pending, and one that waits."""
    clock = ManualClock(MADE_AT)
    ledger = await Ledger.open(folder, clock)
    done = await ledger.submit("/done", title="Accepted")
    for _ in range(2):
        await ledger.run(done)
        clock.advance(1_000)
    await ledger.write(decisions.accept, done, PERSON, "good")
    await ledger.run(await ledger.submit("/unknown", title="Unknown"), Outcome.UNKNOWN)
    failed = await ledger.submit("/failed", title="Corrected", corrections=1)
    await ledger.run(failed)
    await ledger.run(failed, Outcome.FAILED)
    await ledger.approve(await ledger.submit("/flight", title="In flight"))
    (claim,) = await ledger.claim()
    await ledger.start(await ledger.admit(claim))
    await ledger.approve(await ledger.submit("/approved", title="Approved"))
    await ledger.submit("/waiting", title="Pending")
    await ledger.submit("/later", title="Later", due_at=MADE_AT + 86_400_000)
    await ledger.close()


def keep(version: int, database: Path) -> Path:
    """Pack a database as one self-contained file."""
    SCHEMAS.mkdir(exist_ok=True)
    packed = SCHEMAS / f"{version:03d}.sqlite.gz"
    whole = database.with_name("whole.sqlite")
    with closing(sqlite3.connect(database, isolation_level=None)) as opened:
        opened.execute("PRAGMA journal_mode = DELETE").fetchall()
        opened.execute("VACUUM INTO ?", (str(whole),))
    with whole.open("rb") as source, gzip.GzipFile(packed, "wb", mtime=0) as target:
        shutil.copyfileobj(source, target)
    return packed


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(fill(Path(place) / "data"))
        print(keep(len(shipped_migrations()), Path(place) / "data" / DATABASE_FILE))
