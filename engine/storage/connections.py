"""How the database file is opened: settings that durability depends on, set and read back; named faults.

The live file is opened by SQLite alone, never with plain file calls: closing such a handle would drop the
locks that this process holds on the file (E-16a).
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path

import psutil

from engine.errors import (
    DatabaseDamaged,
    DatabaseLocked,
    DatabaseMisconfigured,
    DatabaseReadOnly,
    DiskFault,
    DiskFull,
    FolderNotUsable,
    NotADatabase,
    PraxisError,
    StorageClosed,
    StorageError,
)

DATABASE_FILE = "praxis.sqlite"
LOCK_WAIT_MS = 5_000
"""How long a statement waits for a lock that another program holds."""

LOG_SIZE_LIMIT = 64 * 1024 * 1024
"""To how many bytes the write-ahead log is cut back after it had to grow beyond."""

PAGES_PER_CHECKPOINT = 1000
"""How long the log grows, in pages, before a commit writes it back."""

_FULL = 2
_WRITER_SETTINGS: Mapping[str, str | int] = {
    "journal_mode": "wal",
    "synchronous": _FULL,
    "foreign_keys": 1,
    "wal_autocheckpoint": PAGES_PER_CHECKPOINT,
    "journal_size_limit": LOG_SIZE_LIMIT,
}
_READER_SETTINGS: Mapping[str, str | int] = {
    "synchronous": _FULL,
    "foreign_keys": 1,
    "wal_autocheckpoint": 0,
    "query_only": 1,
}


def connect_writer(path: Path, *, lock_wait_ms: int = LOCK_WAIT_MS) -> sqlite3.Connection:
    """Open the one connection that writes and checkpoints; the file must exist."""
    database = connect(path, "rw", lock_wait_ms=lock_wait_ms)
    return _configured(database, path, _WRITER_SETTINGS)


def connect_reader(path: Path) -> sqlite3.Connection:
    """Open a connection that reads only and never checkpoints; a writer must have opened the file before."""
    database = _configured(connect(path, "ro"), path, _READER_SETTINGS)
    mode = _setting(database, "journal_mode")
    if mode != "wal":
        database.close()
        raise _does_not_hold(path, "journal_mode", "wal", mode)
    return database


def connect(
    path: Path, mode: str, *, immutable: bool = False, lock_wait_ms: int = LOCK_WAIT_MS
) -> sqlite3.Connection:
    """Open ``path`` with explicit transactions and named rows; ``mode`` is as in SQLite's file URIs.

    ``immutable`` reads the file alone: no locks, no log, no files beside it.
    """
    database = sqlite3.connect(
        f"{path.as_uri()}?mode={mode}&immutable={int(immutable)}",
        uri=True,
        timeout=lock_wait_ms / 1000,
        isolation_level=None,
        cached_statements=512,
    )
    database.row_factory = sqlite3.Row
    return database


def storage_error(error: BaseException, path: Path) -> PraxisError | None:
    """Give the typed error for what SQLite or the system says about the file; None for another matter."""
    if isinstance(error, PraxisError):
        return error
    if isinstance(error, sqlite3.Error):
        return _database_error(error, path)
    if isinstance(error, OSError):
        return _system_error(error, path)
    return None


def deliverable(error: BaseException, path: Path) -> Exception:
    """Give the error for who asked for a transaction: faults of storage by name, others as they are.

    What a future cannot hold, or what would end the event loop, is wrapped.
    """
    named = _database_error(error, path) if isinstance(error, sqlite3.Error) else None
    if named is None and isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    answer = named or StorageError(
        f"An operation ended with {type(error).__name__}: {error}.", means="Nothing of it was kept."
    )
    answer.__cause__ = error
    return answer


def closed_error() -> StorageClosed:
    """Say that the storage is closed."""
    return StorageClosed("The storage is closed.", means="Nothing was changed.", do="Open the folder again.")


def holders(path: Path) -> list[str]:
    """Name the other processes that have the file open, as far as the system tells."""
    found: list[str] = []
    if os.name == "nt":
        return found  # it would take Windows many seconds to say so of all processes
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and any(Path(file.path) == path for file in process.open_files()):
                found.append(f"{process.name()} (process {process.pid})")
        except (psutil.Error, OSError):
            continue
    return found


def _configured(
    database: sqlite3.Connection, path: Path, settings: Mapping[str, str | int]
) -> sqlite3.Connection:
    try:
        for name, wanted in settings.items():
            database.execute(f"PRAGMA {name} = {wanted}").fetchall()
            found = _setting(database, name)
            if found != wanted:
                raise _does_not_hold(path, name, wanted, found)
    except BaseException:
        database.close()
        raise
    return database


def _setting(database: sqlite3.Connection, name: str) -> object:
    return database.execute(f"PRAGMA {name}").fetchone()[0]


def _does_not_hold(path: Path, name: str, wanted: object, found: object) -> DatabaseMisconfigured:
    return DatabaseMisconfigured(
        f"The setting {name} = {wanted} does not hold for {path}; it is {found}.",
        means="Without it, what was confirmed could be lost in a power failure.",
        do="Move the data folder to a local disk, or use a Python with an ordinary SQLite.",
        setting=name,
        wanted=wanted,
        found=found,
    )


def _database_error(error: sqlite3.Error, path: Path) -> PraxisError | None:
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_FULL:
            return _disk_full(path)
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return _locked(path)
        case sqlite3.SQLITE_READONLY:
            return read_only(path)
        case sqlite3.SQLITE_NOTADB:
            return NotADatabase(
                f"The file {path} is not a database.",
                means="It was left as it is.",
                do="Restore a backup, or move the file away to start with an empty database.",
                path=str(path),
            )
        case sqlite3.SQLITE_CORRUPT:
            return damaged(path, str(error))
        case sqlite3.SQLITE_CANTOPEN if path.exists() and not os.access(path, os.R_OK):
            return FolderNotUsable(
                f"The database {path} cannot be read: this user has no right to it.",
                means="Nothing was changed.",
                do="Give yourself the right to read and write the file, or choose another folder with --data.",
                path=str(path),
            )
        case sqlite3.SQLITE_IOERR | sqlite3.SQLITE_CANTOPEN:
            return _disk_fault(path, str(error))
    return None


def damaged(path: Path, finding: str) -> DatabaseDamaged:
    """Say that the file is damaged; ``finding`` is what was found."""
    return DatabaseDamaged(
        f"The database {path} is damaged: {finding}.",
        means="It was left as it is; part of what it holds may be lost.",
        do="Restore the newest backup. Keep the damaged file: it may still be of use.",
        path=str(path),
        finding=finding,
    )


def read_only(path: Path) -> DatabaseReadOnly:
    """Say that the file is write-protected."""
    return DatabaseReadOnly(
        f"The database {path} cannot be written to.",
        means="Nothing was changed.",
        do="Give yourself the right to write to the file and its folder, or choose another folder.",
        path=str(path),
    )


def _locked(path: Path) -> DatabaseLocked:
    found = holders(path)
    by = " and ".join(found) if found else "another program"
    return DatabaseLocked(
        f"The database {path} is locked by {by}.",
        means="It was waited for, then given up. Nothing was changed.",
        do="Close what has the file open, then try again.",
        path=str(path),
        holders=tuple(found),
    )


def _system_error(error: OSError, path: Path) -> PraxisError:
    if error.errno == errno.ENOSPC:
        return _disk_full(path)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.ENOENT):
        finding = "it is no folder" if path.parent.exists() and not path.parent.is_dir() else error.strerror
        return FolderNotUsable(
            f"The data folder {path.parent} cannot be used: {finding}.",
            means="Nothing was changed.",
            do="Choose a folder that you may write to, with --data.",
            folder=str(path.parent),
        )
    return _disk_fault(path, error.strerror or str(error))


def _disk_full(path: Path) -> DiskFull:
    return DiskFull(
        f"There is no room left for the database {path}.",
        means="What was asked did not happen. Everything before it is kept.",
        do="Free some space on the disk, then try again.",
        path=str(path),
    )


def _disk_fault(path: Path, finding: str) -> DiskFault:
    return DiskFault(
        f"The disk reported an error for the database {path}: {finding}.",
        means="What was asked did not happen.",
        do="Look at the disk's health and free space, then start again.",
        path=str(path),
        finding=finding,
    )
