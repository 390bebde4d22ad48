"""What the storage tests share: a small schema, transaction functions, ways to park the writer, child processes."""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from engine.actors import ENGINE
from engine.storage import Rx, Storage, Subject, Tx
from engine.storage.schema import Migration, shipped_migrations

ROOT = Path(__file__).resolve().parents[2]
WAIT_SECONDS = 20.0

NOTES = Migration(
    2,
    "notes",
    """
    CREATE TABLE note (name TEXT PRIMARY KEY, part INTEGER NOT NULL DEFAULT 0, body BLOB) STRICT;
    CREATE TABLE reply (
      id   INTEGER PRIMARY KEY,
      note TEXT NOT NULL REFERENCES note(name) DEFERRABLE INITIALLY DEFERRED
    ) STRICT;
    """,
)
SCHEMA = (shipped_migrations()[0], NOTES)
"""The storage's own tables and two of the tests', whatever else the product ships."""


def note(tx: Tx, name: str, size: int = 0, *, now: int) -> str:
    """Add a note with its journal row."""
    tx.run("INSERT INTO note (name, body) VALUES (?, ?)", (name, b"x" * size))
    tx.journal("note.added", Subject("note", name), ENGINE, now, work_order_id="WO", detail={"size": size})
    return name


def note_then_fail(tx: Tx, name: str, *, now: int) -> None:
    """Add a note, then raise."""
    note(tx, name, now=now)
    raise ZeroDivisionError(name)


def reply_to_nothing(tx: Tx, *, now: int) -> None:
    """Break a constraint that SQLite looks at only when the group commits."""
    tx.run("INSERT INTO reply (note) VALUES ('nothing')")


def names(rx: Rx) -> list[str]:
    """Give the names of all notes, sorted."""
    return [row["name"] for row in rx.all("SELECT name FROM note ORDER BY name")]


def journalled(rx: Rx) -> list[str]:
    """Give the subjects of all journal rows, in their order."""
    return [row["subject_id"] for row in rx.all("SELECT subject_id FROM journal ORDER BY sequence")]


def sequences(rx: Rx) -> list[int]:
    """Give all journal sequences."""
    return [row["sequence"] for row in rx.all("SELECT sequence FROM journal ORDER BY sequence")]


class Gate:
    """A place where the writer thread waits until the test lets it go on."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._open = threading.Event()

    def pass_through(self) -> None:
        """Called on the writer thread."""
        self.reached.set()
        assert self._open.wait(WAIT_SECONDS), "nobody opened the gate"

    async def arrival(self) -> None:
        """Wait until the writer thread stands here."""
        assert await asyncio.to_thread(self.reached.wait, WAIT_SECONDS), "nobody came to the gate"

    def open(self) -> None:
        """Let the writer thread go on."""
        self._open.set()


def stand(tx: Tx, gate: Gate, name: str | None = None, *, now: int) -> None:
    """An operation that stops at the gate, then adds a note."""
    gate.pass_through()
    if name is not None:
        note(tx, name, now=now)


class Boundaries:
    """A boundary that records the points reached, parks at some and raises at others."""

    def __init__(self) -> None:
        self.points: list[str] = []
        self.gates: dict[str, Gate] = {}
        self.errors: dict[str, BaseException] = {}

    def __call__(self, name: str) -> None:
        self.points.append(name)
        if name in self.gates:
            self.gates.pop(name).pass_through()
        if name in self.errors:
            raise self.errors.pop(name)


async def turns(count: int = 3) -> None:
    """Let the loop turn, so that tasks get to where they wait."""
    for _ in range(count):
        await asyncio.sleep(0)


async def busy(storage: Storage) -> tuple[Gate, asyncio.Task[None]]:
    """Keep the writer in the middle of a background operation until the gate opens."""
    gate = Gate()
    task = asyncio.create_task(storage.write(stand, gate))
    await gate.arrival()
    return gate, task


def digest(folder: Path, *without: str) -> dict[str, str]:
    """Give the digest of every file of the database in a folder that nobody has open."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in {"owner.lock", *without}
    }


def python(code: str, *arguments: object, **options: Any) -> subprocess.Popen[str]:
    """Start a child process that can import the engine and these helpers."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
