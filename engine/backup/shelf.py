"""The copies that there are: backups, sets that a restore put aside, and copies from before a migration."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from engine.backup.contents import open_copy, require_ours
from engine.backup.manifest import MANIFEST_FILE, read_manifest
from engine.backup.taking import UNFINISHED
from engine.errors import DatabaseNewer, InvalidValue, NotFound, PraxisError
from engine.instants import Instant, parse_instant
from engine.storage.connections import DATABASE_FILE
from engine.storage.opening import BACKUP_FOLDER
from engine.storage.schema import shipped_migrations
from engine.storage.swap import ASIDE_FOLDER, NOTE_FILE


class CopyKind(StrEnum):
    """Where a copy comes from. DATABASE is a lone file, as is made before a migration: it has no kept files."""

    BACKUP = "BACKUP"
    ROLLBACK = "ROLLBACK"
    DATABASE = "DATABASE"


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy as a quick look shows it; nothing of it was verified. ``problem`` says why it cannot be opened.

    ``schema`` and ``made_at`` are None where they cannot be read; ``size`` is in bytes.
    """

    path: Path
    kind: CopyKind
    made_at: Instant | None
    schema: int | None
    instance_id: str
    size: int
    journal_sequence: int | None
    problem: str = ""

    @property
    def database(self) -> Path:
        """The database file in it."""
        return self.path if self.kind is CopyKind.DATABASE else self.path / DATABASE_FILE


def list_copies(folder: Path, places: Iterable[Path] = ()) -> tuple[Copy, ...]:
    """Give every copy of a data folder, newest first, those in further ``places`` too. Blocks; changes nothing."""
    found: dict[Path, Copy] = {}
    for place in (folder / BACKUP_FOLDER, folder / ASIDE_FOLDER, *places):
        for path in _candidates(place):
            with suppress(NotFound, OSError):
                found[path] = look_at_copy(path)
    return tuple(sorted(found.values(), key=lambda copy: (copy.made_at or 0, copy.path.name), reverse=True))


def look_at_copy(path: Path) -> Copy:
    """Say what is at ``path``; `NotFound` if it is no copy at all."""
    path = path.absolute()
    if (path / MANIFEST_FILE).is_file():
        return _backup(path)
    if path.is_file() and path.suffix == ".sqlite":
        return _look_inside(path, CopyKind.DATABASE, path)
    if path.is_dir() and (path / NOTE_FILE).is_file():
        return _look_inside(path, CopyKind.ROLLBACK, path / DATABASE_FILE)
    raise NotFound(
        f"There is no backup at {path}.",
        do="Choose a backup's folder: the one that holds manifest.json.",
        path=str(path),
    )


def openable(copies: Iterable[Copy]) -> tuple[Copy, ...]:
    """Those of the copies that this version of the program can open, as far as a quick look shows."""
    return tuple(copy for copy in copies if not copy.problem)


def _candidates(place: Path) -> Iterator[Path]:
    with suppress(OSError):
        yield from (path for path in place.iterdir() if UNFINISHED not in path.name)


def _backup(path: Path) -> Copy:
    size = _size(path)
    try:
        manifest = read_manifest(path)
    except PraxisError as error:
        return Copy(path, CopyKind.BACKUP, None, None, "", size, None, error.what)
    known = len(shipped_migrations())
    problem = ""
    if manifest.schema_version > known:
        problem = f"It has schema {manifest.schema_version}; this version knows up to {known}."
    return Copy(
        path,
        CopyKind.BACKUP,
        manifest.instant,
        manifest.schema_version,
        manifest.instance_id,
        size,
        manifest.journal_sequence,
        problem,
    )


def _look_inside(path: Path, kind: CopyKind, database: Path) -> Copy:
    """Read what a copy without a manifest says of itself from its database (B-094)."""
    made_at = _noted(path / NOTE_FILE) if kind is CopyKind.ROLLBACK else None
    size = _size(path)
    try:
        with closing(open_copy(database)) as opened:
            try:
                schema = require_ours(opened, database, shipped_migrations())
            except DatabaseNewer as error:
                found = error.facts["found"]
                return Copy(
                    path, kind, made_at, found if isinstance(found, int) else None, "", size, None, error.what
                )
            head = opened.execute("SELECT sequence FROM journal_head WHERE id = 1").fetchone()
            instance = opened.execute("SELECT value FROM meta WHERE key = 'instance_id'").fetchone()
            latest = opened.execute("SELECT max(at) FROM journal").fetchone()[0]
    except (PraxisError, sqlite3.Error, OSError) as error:
        return Copy(path, kind, made_at, None, "", size, None, f"It cannot be opened: {error}")
    return Copy(
        path,
        kind,
        latest if made_at is None else made_at,
        schema,
        "" if instance is None else str(instance[0]),
        size,
        None if head is None else int(head[0]),
    )


def _noted(note: Path) -> Instant | None:
    try:
        return parse_instant(json.loads(note.read_bytes())["made_at"])
    except (OSError, ValueError, KeyError, TypeError, InvalidValue):
        return None


def _size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(item.stat().st_size for item in path.rglob("*") if item.is_file())
