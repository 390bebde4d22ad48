"""Taking a backup while the engine works (E-80).

The database is copied in one step on a reading connection of its own: beside a writer, many small steps would
begin again with every commit and never end. The copy is one consistent moment and is left in a journal mode
that needs no files beside it, so that it can be read from a write-protected place. Then come the kept files it
refers to. All of it is written under a temporary name and renamed when whole.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from engine.backup.contents import open_copy, read_contents, referenced_blobs
from engine.backup.manifest import MANIFEST_FILE, FileEntry, Lacking, Manifest, render
from engine.backup.watch import Stage, Watch
from engine.dispatch.planning import SECRET_KEY_FILE
from engine.errors import DiskFault, DiskFull, FolderNotUsable, PraxisError
from engine.files import flush_folder, replace_file
from engine.instants import Instant, format_instant
from engine.storage.connections import DATABASE_FILE, connect, connect_reader, damaged, storage_error
from engine.storage.transaction import Rx
from engine.version import VERSION

BLOB_FOLDER = "blobs"
NAME_PREFIX = "praxis-"
UNFINISHED = ".unfinished"
SPARE_BYTES = 16 * 1024 * 1024
"""Room that must be left on the disk beside what is going to be written."""

_PIECE = 1 << 20
_GROWTH_SECONDS = 0.1
_FLUSH_SECONDS = 0.005
"""What the copy grows in this time is on the disk in about as much, so a commit waits that long at most for it."""


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished backup: where it is and what it holds. It is not verified by having been made."""

    path: Path
    made_at: Instant
    size: int
    files: int
    schema: int
    journal_sequence: int
    journal_hash: str
    lacking: tuple[str, ...]


def take_backup(folder: Path, place: Path, *, now: Instant, watch: Watch | None = None) -> Backup:
    """Back up the data folder ``folder`` into a new folder below ``place``; give what was made.

    Blocks; call it in a thread. The engine may work meanwhile: its writer is not locked out. `Cancelled` when
    ``watch`` says so (at the latest when the database is copied), a `StorageError` when it cannot be done; either
    way nothing of it is left. Kept files that are lost already do not prevent it; they are named in the manifest.
    """
    watch = watch or Watch()
    source = folder / DATABASE_FILE
    moment = _compact(now)
    try:
        _make_place(place)
        mark = f"{UNFINISHED}-{_instance(source)}"
        # One process owns this data, so what bears its mark is of a backup that was killed.
        for left in place.glob(f"*{mark}"):
            shutil.rmtree(left, ignore_errors=True)
        unfinished = place / f"{NAME_PREFIX}{moment}{mark}"
        unfinished.mkdir(mode=0o700)
        try:
            made = _fill(folder, source, unfinished, now, watch)
            target = _publish(unfinished, place, moment)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
    except (sqlite3.Error, OSError) as error:
        raise _fault(error, place, source) from error
    return Backup(
        target,
        now,
        made.size,
        len(made.files),
        made.schema_version,
        made.journal_sequence,
        made.journal_hash,
        tuple(item.sha256 for item in made.lacking),
    )


def copy_hashed(
    source: BinaryIO, target: Path, watch: Watch, stage: Stage, done: int, total: int
) -> FileEntry:
    """Copy a stream to a new file, flushed; its size and digest (the path is left to the caller)."""
    digest = hashlib.sha256()
    size = 0
    with target.open("xb") as file:
        while piece := source.read(_PIECE):
            watch.at(stage, done + size, total)
            digest.update(piece)
            file.write(piece)
            size += len(piece)
        file.flush()
        os.fsync(file.fileno())
    return FileEntry.model_construct(path="", size=size, sha256=digest.hexdigest())


def require_room(place: Path, wanted: int) -> None:
    """Raise `DiskFull` if ``wanted`` bytes and a little more do not fit on the disk of ``place``."""
    free = shutil.disk_usage(place).free
    if free < wanted + SPARE_BYTES:
        raise DiskFull(
            f"There is not enough room in {place}: {wanted // 1_000_000 + 17} MB are needed, "
            f"{free // 1_000_000} MB are free.",
            means="Nothing was changed.",
            do="Make room, or choose another place.",
            needed=wanted + SPARE_BYTES,
            free=free,
        )


def _fill(folder: Path, source: Path, target: Path, now: Instant, watch: Watch) -> Manifest:
    database = target / DATABASE_FILE
    with closing(connect_reader(source)) as origin:
        size = _size_of(origin)
        require_room(target, size)
        with _growth(database, size, watch), closing(connect(database, "rwc")) as copy:
            watch.look()
            origin.backup(copy)
            watch.look()
            copy.execute("PRAGMA journal_mode = DELETE").fetchall()
    watch.look()
    with closing(open_copy(database)) as copy:
        rx = Rx(copy)
        contents = read_contents(rx)
        blobs = referenced_blobs(rx)
    files, lacking = _copy_blobs(folder / BLOB_FOLDER, target / BLOB_FOLDER, blobs, watch)
    files.append(_entry(database, watch))
    key = folder / SECRET_KEY_FILE
    if key.exists():
        with key.open("rb") as stream:
            entry = copy_hashed(stream, target / SECRET_KEY_FILE, watch, Stage.BLOBS, 0, 0)
        files.append(FileEntry(path=SECRET_KEY_FILE, size=entry.size, sha256=entry.sha256))
    manifest = Manifest(
        program=VERSION,
        made_at=format_instant(now),
        instance_id=contents.instance_id,
        schema_version=contents.schema,
        epoch=contents.epoch,
        high_water=None if contents.high_water is None else format_instant(contents.high_water),
        journal_sequence=contents.journal_sequence,
        journal_hash=contents.journal_hash,
        counts=dict(contents.counts),
        files=sorted(files, key=lambda entry: entry.path),
        lacking=lacking,
    )
    with (target / MANIFEST_FILE).open("xb") as file:
        file.write(render(manifest))
        file.flush()
        os.fsync(file.fileno())
    return manifest


def _copy_blobs(
    store: Path, target: Path, blobs: dict[str, int], watch: Watch
) -> tuple[list[FileEntry], list[Lacking]]:
    total = sum(blobs.values())
    require_room(target.parent, total)
    files: list[FileEntry] = []
    lacking: list[Lacking] = []
    done = 0
    for digest, size in blobs.items():
        watch.at(Stage.BLOBS, done, total)
        path = target / digest[:2] / digest
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with (store / digest[:2] / digest).open("rb") as stream:
                entry = copy_hashed(stream, path, watch, Stage.BLOBS, done, total)
        except FileNotFoundError:
            lacking.append(Lacking(sha256=digest, state="missing"))
            continue
        if entry.sha256 == digest:
            files.append(
                FileEntry(path=f"{BLOB_FOLDER}/{digest[:2]}/{digest}", size=entry.size, sha256=digest)
            )
        else:
            path.unlink()
            lacking.append(Lacking(sha256=digest, state="altered"))
        done += size
    for folder in {(target / digest[:2]) for digest in blobs}:
        flush_folder(folder)
        with suppress(OSError):
            folder.rmdir()  # only if everything that belonged there is lacking
    return files, lacking


def _entry(path: Path, watch: Watch) -> FileEntry:
    digest = hashlib.sha256()
    size = path.stat().st_size
    done = 0
    with path.open("rb+") as file:
        os.fsync(file.fileno())
        while piece := file.read(_PIECE):
            watch.at(Stage.DIGESTS, done, size)
            digest.update(piece)
            done += len(piece)
    return FileEntry(path=path.name, size=size, sha256=digest.hexdigest())


def _publish(unfinished: Path, place: Path, moment: str) -> Path:
    """Give the whole backup its name; a second one of the same millisecond gets a number."""
    flush_folder(unfinished)
    target = place / f"{NAME_PREFIX}{moment}"
    number = 2
    while target.exists():
        target = place / f"{NAME_PREFIX}{moment}-{number}"
        number += 1
    replace_file(unfinished, target)
    return target


@contextmanager
def _growth(path: Path, total: int, watch: Watch) -> Iterator[None]:
    """Tell how the file grows: while SQLite copies in one step, nothing else shows how far it is.

    What has grown is flushed bit by bit where the system lets one: a single flush of it all at the end would make the
    engine's own commits wait for as long as that takes.
    """
    ended = threading.Event()
    flush = getattr(os, "fdatasync", None)
    pause = _GROWTH_SECONDS if flush is None else _FLUSH_SECONDS

    def tell() -> None:
        with ExitStack() as stack:
            copy: int | None = None
            while not ended.wait(pause):
                with suppress(OSError):
                    watch.say(Stage.DATABASE, min(path.stat().st_size, total), total)
                    if flush is None:
                        continue
                    if copy is None:
                        copy = os.open(path, os.O_RDONLY)
                        stack.callback(os.close, copy)
                    flush(copy)

    thread = threading.Thread(target=tell, name="praxis-backup-growth", daemon=True)
    watch.at(Stage.DATABASE, 0, total)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _instance(path: Path) -> str:
    with closing(connect_reader(path)) as database:
        row = database.execute("SELECT value FROM meta WHERE key = 'instance_id'").fetchone()
    if row is None:
        raise damaged(path, "it has lost its identity")
    return str(row[0])


def _size_of(database: sqlite3.Connection) -> int:
    pages = database.execute("PRAGMA page_count").fetchone()[0]
    return int(pages * database.execute("PRAGMA page_size").fetchone()[0])


def _compact(instant: Instant) -> str:
    return format_instant(instant).translate({ord("-"): None, ord(":"): None, ord("."): None})


def _make_place(place: Path) -> None:
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_there(error, place) from error


def _not_there(error: OSError, place: Path) -> FolderNotUsable:
    why = "it is a file" if place.is_file() else error.strerror or str(error)
    return FolderNotUsable(
        f"The backup cannot be written to “{place}”: {why}.",
        means="No backup was made.",
        do="Choose a folder that you may write to.",
        folder=str(place),
    )


def _fault(error: Exception, place: Path, source: Path) -> PraxisError:
    if isinstance(error, OSError):
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return DiskFull(
                f"There was not enough room in {place}.",
                means="No backup was made, and nothing half-made is left.",
                do="Make room, or choose another place.",
            )
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
            return _not_there(error, place)
    return storage_error(error, source) or DiskFault(
        f"The backup to {place} went wrong: {error}.", means="No backup was made.", do="Check the disk."
    )
