"""Opening a data folder: place, owner, then the file itself: made, refused, or brought up to date (E-15).

A refusal changes nothing. A new database is made under a temporary name and renamed when whole, so that an
empty or unfinished file in its place is never one of ours and never silently started over.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from engine.clock import Clock
from engine.errors import DatabaseMisconfigured, MigrationFailed, NotADatabase
from engine.files import replace_file
from engine.ids import new_id
from engine.instants import Instant, format_instant
from engine.storage.connections import (
    DATABASE_FILE,
    connect,
    connect_writer,
    damaged,
    read_only,
    storage_error,
)
from engine.storage.folder_place import FolderPlace, Surroundings, judge_place
from engine.storage.owner_lock import Owner, OwnerLock
from engine.storage.schema import APPLICATION_ID, Migration, applied, migrate, require_known
from engine.storage.swap import finish_swap
from engine.storage.transaction import Rx

T = TypeVar("T")

OLDEST_SQLITE = (3, 38, 0)
BACKUP_FOLDER = "backups"
CHECK_AT_MOST_BYTES = 256 * 1024 * 1024
"""Up to this size a database is checked page by page whenever it is opened (about a second a gigabyte)."""


@dataclass(frozen=True, slots=True)
class OpenFolder:
    """An owned data folder and the connection that writes to its database.

    ``migration_backup`` is the copy that was made before an older schema was brought up to date.
    """

    folder: Path
    path: Path
    database: sqlite3.Connection
    owner: Owner
    place: FolderPlace
    instance_id: str
    migration_backup: Path | None


@contextmanager
def open_folder(
    folder: Path,
    *,
    program: str,
    clock: Clock,
    migrations: Sequence[Migration],
    surroundings: Surroundings,
    lock_wait_ms: int,
) -> Iterator[OpenFolder]:
    """Own ``folder`` and open its database for writing, making both if they are missing.

    Raises the `StorageError` that says what is wrong; then nothing was changed.
    """
    folder = folder.resolve()
    path = folder / DATABASE_FILE
    place = judge_place(folder, surroundings)
    with ExitStack() as stack:
        try:
            _require_sqlite(path)
            folder.mkdir(parents=True, exist_ok=True)
            now = clock.now()
            owner = Owner.this_process(program, now)
            stack.callback(OwnerLock.take(folder, owner).release)
            finish_swap(folder)
            backup = _make_ready(path, migrations, now, lock_wait_ms)
            database = stack.enter_context(closing(connect_writer(path, lock_wait_ms=lock_wait_ms)))
            instance_id = _try_to_write(path, database)
        except (sqlite3.Error, OSError) as error:
            raise storage_error(error, path) or error from error
        yield OpenFolder(folder, path, database, owner, place, instance_id, backup)


def inspect_database(path: Path, migrations: Sequence[Migration]) -> None:
    """Raise the `StorageError` that speaks against a database that nobody owns now; it is only read."""
    try:
        with closing(_connect_unowned(path)) as database:
            _inspect(path, database, migrations)
        if not os.access(path, os.W_OK):
            raise read_only(path)
    except (sqlite3.Error, OSError) as error:
        raise storage_error(error, path) or error from error


def read_unowned(path: Path, function: Callable[[Rx], T]) -> T:
    """Run a read over one snapshot of a database that nobody owns now; a `StorageError` says what is wrong."""
    try:
        with closing(_connect_unowned(path)) as database:
            database.execute("BEGIN")
            rx = Rx(database)
            try:
                return function(rx)
            finally:
                rx.end()
                database.execute("ROLLBACK")
    except (sqlite3.Error, OSError) as error:
        raise storage_error(error, path) or error from error


def _connect_unowned(path: Path) -> sqlite3.Connection:
    """Open a file that nobody has open, without leaving anything beside it where that can be."""
    log = path.with_name(f"{path.name}-wal")
    log_is_there = log.exists() and log.stat().st_size > 0
    return connect(path, "ro", immutable=not log_is_there)


def _require_sqlite(path: Path) -> None:
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise DatabaseMisconfigured(
            f"This Python has SQLite {sqlite3.sqlite_version}, which is too old for {path}.",
            do=f"Use a Python with SQLite {'.'.join(map(str, OLDEST_SQLITE))} or newer.",
        )


def _try_to_write(path: Path, database: sqlite3.Connection) -> str:
    """Find out whether the file can be locked and written, undo it, and give the database's identity.

    Only a change shows it: on a write-protected file SQLite takes BEGIN IMMEDIATE for a wish to read.
    """
    database.execute("BEGIN IMMEDIATE")
    try:
        rows = database.execute(
            "UPDATE meta SET value = value WHERE key = 'instance_id' RETURNING value"
        ).fetchall()
    finally:
        database.execute("ROLLBACK")
    if not rows:
        raise damaged(path, "it has lost its identity")
    return str(rows[0][0])


def _make_ready(path: Path, migrations: Sequence[Migration], now: Instant, lock_wait_ms: int) -> Path | None:
    """Make a missing database, refuse one that cannot be used, and bring an older one up to date."""
    log = path.with_name(f"{path.name}-wal")
    log_is_there = log.exists() and log.stat().st_size > 0
    if not path.exists():
        if log_is_there:
            raise damaged(path, f"the file is missing while its log {log.name} is still there")
        _create(path, migrations, now)
        return None
    with closing(connect(path, "ro", immutable=not log_is_there, lock_wait_ms=lock_wait_ms)) as database:
        version = _inspect(path, database, migrations)
    if not os.access(path, os.W_OK):
        raise read_only(path)
    if version == len(migrations):
        return None
    return _migrate(path, version, migrations, now, lock_wait_ms)


def _create(path: Path, migrations: Sequence[Migration], now: Instant) -> None:
    unfinished = path.with_name(f"{path.name}.new")
    _remove(unfinished)
    try:
        with closing(connect(unfinished, "rwc")) as database:
            # Lets retention give space back in small steps; it can be chosen only before the first table.
            database.execute("PRAGMA auto_vacuum = INCREMENTAL")
            database.execute("PRAGMA synchronous = FULL")
            database.execute("BEGIN IMMEDIATE")
            database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            migrate(database, migrations, now)
            database.execute("INSERT INTO meta (key, value) VALUES ('instance_id', ?)", (new_id(now),))
            database.execute("COMMIT")
        replace_file(unfinished, path)
    except BaseException:
        _remove(unfinished)
        raise


def _inspect(path: Path, database: sqlite3.Connection, migrations: Sequence[Migration]) -> int:
    """Give the schema version of a database that can be used, or raise what speaks against it."""
    size = path.stat().st_size
    if size == 0 or database.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise NotADatabase(
            f"The file {path} is {'empty' if size == 0 else 'a database of another program'}.",
            means="It was left as it is.",
            do="Restore a backup, or move the file away to start with an empty database.",
            path=str(path),
        )
    if size <= CHECK_AT_MOST_BYTES:
        _require_sound(path, database, "quick_check")
    if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_migration'").fetchone() is None:
        raise damaged(path, "it has no record of its schema")
    version = require_known(database, path, migrations, otherwise="choose another folder with --data")
    if version < len(migrations) and size > CHECK_AT_MOST_BYTES:
        _require_sound(path, database, "quick_check")
    return version


def _require_sound(path: Path, database: sqlite3.Connection, check: str) -> None:
    finding = database.execute(f"PRAGMA {check}(1)").fetchone()[0]
    if finding != "ok":
        raise damaged(path, str(finding).replace("\n", " ").strip("* "))


def _back_up(path: Path, found: int, wanted: int, now: Instant) -> Path:
    """Copy the database in one step, check the copy, and give its path."""
    folder = path.parent / BACKUP_FOLDER
    folder.mkdir(exist_ok=True)
    moment = format_instant(now).translate({ord("-"): None, ord(":"): None, ord("."): None})
    target = folder / f"before-schema-{wanted:03d}-{moment}.sqlite"
    unfinished = target.with_name(f"{target.name}.new")
    _remove(unfinished)
    try:
        with closing(connect(path, "ro")) as source, closing(connect(unfinished, "rwc")) as copy:
            source.backup(copy)
            # One self-contained file: it can be read from anywhere, even write-protected.
            copy.execute("PRAGMA journal_mode = DELETE").fetchall()
            _require_sound(path, copy, "integrity_check")
            if len(applied(copy)) != found:
                raise damaged(path, "its copy does not have the same schema")
        replace_file(unfinished, target)
    except BaseException:
        _remove(unfinished)
        raise
    return target


def _migrate(
    path: Path, found: int, migrations: Sequence[Migration], now: Instant, lock_wait_ms: int
) -> Path:
    """Bring schema ``found`` up to date behind a backup, with everybody else locked out of both."""
    with closing(connect(path, "rw", lock_wait_ms=lock_wait_ms)) as database:
        database.execute("PRAGMA synchronous = FULL")
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute("BEGIN IMMEDIATE")
        try:
            backup = _back_up(path, found, len(migrations), now)
            try:
                migrate(database, migrations, now)
                database.execute("COMMIT")
            except BaseException:
                _remove(backup)
                raise
        except BaseException as error:
            if database.in_transaction:
                database.execute("ROLLBACK")
            if not isinstance(error, sqlite3.Error | ValueError):
                raise
            raise storage_error(error, path) or MigrationFailed(
                f"The database {path} could not be brought up to date: {error}.",
                means="It is as it was.",
                do="Start the version that you had before, and report this.",
                path=str(path),
            ) from error
    return backup


def _remove(path: Path) -> None:
    for suffix in ("", "-journal", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
