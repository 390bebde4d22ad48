"""Restoring a closed data folder from a copy, and undoing that (E-82).

Everything is made ready in a stage beside the present data: the copy is verified, brought to this version's
schema, made safe (see `engine.backup.aftermath`) and checked again. Only then are the file sets exchanged, by
renames that a kill cannot tear apart (see `engine.storage.swap`). What was there is kept as a rollback copy. Kept
files are only ever added: they are named by their content, so both sets of data may refer to them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from engine.actors import Actor
from engine.backup.aftermath import Aftermath, make_safe
from engine.backup.comparing import Comparison, Present, look_at_both, open_present, read_present
from engine.backup.contents import (
    Contents,
    checkpoint_key_in,
    open_copy,
    read_contents,
    referenced_blobs,
    require_ours,
    unsound,
)
from engine.backup.manifest import Manifest
from engine.backup.shelf import Copy, CopyKind, list_copies, look_at_copy, openable
from engine.backup.taking import BLOB_FOLDER, require_room
from engine.backup.verifying import verify_backup
from engine.backup.watch import Stage, Watch
from engine.clock import Clock
from engine.dispatch.planning import SECRET_KEY_BYTES, SECRET_KEY_FILE
from engine.errors import (
    BackupNotGood,
    DatabaseNewer,
    DiskFault,
    MigrationFailed,
    NotFound,
    StorageError,
)
from engine.execution.blobs import BlobState, BlobStore
from engine.instants import Instant, format_instant
from engine.storage.checkpoints import CheckpointKey
from engine.storage.connections import DATABASE_FILE, connect, storage_error
from engine.storage.folder_place import judge_place, these_surroundings
from engine.storage.owner_lock import Owner, OwnerLock
from engine.storage.schema import migrate, shipped_migrations
from engine.storage.swap import (
    ASIDE_FOLDER,
    MARKER_FILE,
    NOTE_FILE,
    Reached,
    drop_stage,
    empty_stage,
    finish_swap,
    swap_in,
)
from engine.storage.transaction import Rx, Tx
from engine.storage.writer import stored_chain

_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """What a restore did. ``rollback`` is where the data from before is, None if there was none.

    ``lacking`` are kept files that the data refers to and nobody has.
    """

    source: Path
    kind: CopyKind
    made_at: Instant | None
    contents: Contents
    comparison: Comparison
    aftermath: Aftermath
    rollback: Path | None
    lacking: tuple[str, ...]


def restore(
    folder: Path,
    source: Path,
    *,
    actor: Actor,
    reason: str = "",
    clock: Clock,
    watch: Watch | None = None,
    program: str = "praxis",
    reached: Reached = lambda _: None,
) -> RestoreReport:
    """Restore the closed data folder ``folder`` from the copy at ``source``; it is held when it is opened next.

    Blocks; call it in a thread. The folder may be empty or missing. Raises `FolderInUse` while anybody has it,
    `BackupNotGood`, `DatabaseNewer` (with the copies that this version can open), `DiskFull`, `Cancelled`, and then
    has changed nothing. ``reached`` is for tests.
    """
    watch = watch or Watch()
    folder = folder.resolve()
    now = clock.now()
    try:
        judge_place(folder, these_surroundings())
        folder.mkdir(parents=True, exist_ok=True)
        owner = Owner.this_process(program, now)
        with ExitStack() as stack:
            stack.callback(OwnerLock.take(folder, owner).release)
            # Nothing is begun over a restore that was interrupted.
            finish_swap(folder)
            try:
                return _restore(folder, source, actor, reason, owner, now, watch, reached)
            except BaseException:
                if not (folder / MARKER_FILE).exists():
                    drop_stage(folder)
                raise
    except (sqlite3.Error, OSError) as error:
        raise storage_error(error, folder / DATABASE_FILE) or DiskFault(
            f"The restore of {folder} went wrong: {error}.",
            means="Opening the folder finishes or undoes it.",
            do="Check the disk, then start again.",
        ) from error


def undo_restore(
    folder: Path,
    *,
    actor: Actor,
    reason: str = "",
    clock: Clock,
    watch: Watch | None = None,
    program: str = "praxis",
    rollback: Path | None = None,
) -> RestoreReport:
    """Bring back what the newest restore put aside, or the set at ``rollback``; otherwise as `restore`.

    The same rules hold: the data comes back held, with nothing approved, for the world has moved on again. What
    was in place until now becomes a rollback copy in turn. `NotFound` if no restore put anything aside.
    """
    if rollback is None:
        kept = [copy for copy in list_copies(folder) if copy.kind is CopyKind.ROLLBACK]
        if not kept:
            raise NotFound(
                f"There is nothing in {folder / ASIDE_FOLDER} to bring back.",
                means="No restore was made in this data folder, or what it put aside was removed.",
                do="Choose a backup instead.",
            )
        rollback = kept[0].path
    return restore(folder, rollback, actor=actor, reason=reason, clock=clock, watch=watch, program=program)


def _restore(
    folder: Path,
    source: Path,
    actor: Actor,
    reason: str,
    owner: Owner,
    now: Instant,
    watch: Watch,
    reached: Reached,
) -> RestoreReport:
    copy = look_at_copy(source)
    _require_not_newer(folder, copy)
    if copy.problem and copy.kind is not CopyKind.BACKUP:
        raise _not_good(copy, copy.problem)
    manifest = _verified(copy, watch)
    stage = empty_stage(folder)
    require_room(folder, 2 * copy.database.stat().st_size)
    database = stage / DATABASE_FILE
    _stage_database(copy, manifest, database, watch)
    _stage_key(copy, manifest, stage)
    with closing(open_copy(database)) as staged:
        require_ours(staged, copy.database, shipped_migrations())
        if manifest is None:
            _require_sound(staged, copy, watch, _key_for(stage))
        present, comparison = _look_at_present(folder, staged)
        blobs = referenced_blobs(Rx(staged))
    aftermath, contents = _prepare(database, copy, present, comparison, actor, reason, owner, now, watch)
    lacking = _fill_in_blobs(folder, copy, blobs, watch)
    watch.at(Stage.SWAP)
    has_present = (folder / DATABASE_FILE).exists()
    aside = _free_name(folder / ASIDE_FOLDER, now)
    note = {
        "made_at": format_instant(now),
        "because": f"restored from {copy.path}",
        "actor": actor.name,
        "reason": reason,
        "could_be_read": present is not None,
    }
    rollback = swap_in(folder, aside, note, reached)
    if [path.name for path in rollback.iterdir()] == [NOTE_FILE]:
        shutil.rmtree(rollback, ignore_errors=True)
    return RestoreReport(
        copy.path,
        copy.kind,
        copy.made_at,
        contents,
        comparison,
        aftermath,
        rollback if has_present else None,
        lacking,
    )


def _require_not_newer(folder: Path, copy: Copy) -> None:
    known = len(shipped_migrations())
    if copy.schema is None or copy.schema <= known:
        return
    usable = openable(list_copies(folder, [copy.path.parent]))
    raise DatabaseNewer(
        f"The copy {copy.path.name} has schema {copy.schema}; this version knows up to {known}.",
        means="A newer version of the program wrote it. Nothing was changed.",
        do="Use the newer version, or restore one of those that this version can open: "
        + (", ".join(one.path.name for one in usable[:10]) or "there is none here")
        + ".",
        path=str(copy.path),
        found=copy.schema,
        known=known,
        usable=tuple(str(one.path) for one in usable),
    )


def _verified(copy: Copy, watch: Watch) -> Manifest | None:
    """Verify a backup whole. A copy without a manifest is checked when it is staged."""
    if copy.kind is not CopyKind.BACKUP:
        return None
    return verify_backup(copy.path, watch).require_restorable()


def _stage_database(copy: Copy, manifest: Manifest | None, target: Path, watch: Watch) -> None:
    """Copy the database into the stage and fold its log into it, so that it is one self-contained file."""
    entry = None if manifest is None else manifest.file(DATABASE_FILE)
    for suffix in ("",) if entry is not None else ("", "-wal"):
        source = copy.database.with_name(copy.database.name + suffix)
        if suffix and not source.exists():
            continue
        digest = _copy_file(source, target.with_name(target.name + suffix), watch)
        if entry is not None and digest != entry.sha256:
            raise BackupNotGood(
                f"The database of {copy.path.name} changed while it was read.",
                means="It is not what was verified. Nothing was changed.",
                do="Copy the backup to a local disk, then restore that.",
            )
    try:
        with closing(connect(target, "rw")) as staged:
            staged.execute("PRAGMA synchronous = FULL")
            staged.execute("PRAGMA journal_mode = DELETE").fetchall()
    except sqlite3.DatabaseError as error:
        raise _not_good(copy, f"its database cannot be read: {error}.") from error


def _stage_key(copy: Copy, manifest: Manifest | None, stage: Path) -> None:
    key = copy.path / SECRET_KEY_FILE
    has_key = key.exists() if manifest is None else manifest.file(SECRET_KEY_FILE) is not None
    if copy.kind is CopyKind.DATABASE or not has_key:
        return
    content = key.read_bytes()
    entry = None if manifest is None else manifest.file(SECRET_KEY_FILE)
    if len(content) != SECRET_KEY_BYTES or (
        entry is not None and hashlib.sha256(content).hexdigest() != entry.sha256
    ):
        raise BackupNotGood(
            f"The key in {copy.path.name} is not whole.",
            means="Nothing was changed.",
            do="Choose another copy.",
        )
    descriptor = os.open(
        stage / SECRET_KEY_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600
    )
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _require_sound(staged: sqlite3.Connection, copy: Copy, watch: Watch, key: CheckpointKey | None) -> None:
    problems, _ = unsound(staged, copy.database.name, watch, key)
    if problems:
        raise _not_good(copy, *(one.text for one in problems))


def _not_good(copy: Copy, *problems: str) -> BackupNotGood:
    return BackupNotGood(
        f"The copy {copy.path.name} is not good: {problems[0]}",
        means="Nothing was changed, and the copy was left as it is.",
        do="Choose another one.",
        path=str(copy.path),
        problems=problems,
    )


def _look_at_present(folder: Path, staged: sqlite3.Connection) -> tuple[Present | None, Comparison]:
    database, why = open_present(folder)
    if database is None:
        return None, look_at_both(None, staged, why)
    with closing(database):
        try:
            return read_present(database, staged), look_at_both(database, staged, "")
        except (sqlite3.Error, StorageError) as error:
            # Damaged where a first look did not reach: then nothing is taken from it.
            return None, look_at_both(None, staged, str(error))


def _prepare(
    path: Path,
    copy: Copy,
    present: Present | None,
    comparison: Comparison,
    actor: Actor,
    reason: str,
    owner: Owner,
    now: Instant,
    watch: Watch,
) -> tuple[Aftermath, Contents]:
    """Bring the staged database up to date and make it safe, in one transaction each; check the result."""
    watch.at(Stage.PREPARE)
    with closing(connect(path, "rw")) as database:
        database.execute("PRAGMA synchronous = FULL")
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute("BEGIN IMMEDIATE")
        before = read_contents(Rx(database))
        try:
            migrate(database, shipped_migrations(), now)
        except ValueError as error:
            raise MigrationFailed(
                f"The copy {copy.path.name} could not be brought up to date: {error}.",
                means="Nothing was changed.",
                do="Restore it with the version that made it, and report this.",
            ) from error
        database.execute("COMMIT")
        database.execute("PRAGMA foreign_keys = ON")
        database.execute("BEGIN IMMEDIATE")
        tx = Tx(database, stored_chain(Rx(database)))
        origin = {
            "source": str(copy.path),
            "made_at": None if copy.made_at is None else format_instant(copy.made_at),
            "reason": reason,
            "schema": before.schema,
            "journal": [before.journal_sequence, before.journal_hash],
            "effects_after": [effect.attempt_id for effect in comparison.effects],
        }
        made = "an unknown time" if copy.made_at is None else format_instant(copy.made_at)
        sentence = f"Restored from {copy.path.name}, made at {made}."
        if comparison.effect_count:
            sentence += f" Attempts started after it: {comparison.effect_count}."
        aftermath = make_safe(tx, present, origin, sentence, actor, owner, now=now)
        database.execute(
            "UPDATE journal_head SET sequence = ?, hash = ? WHERE id = 1", (tx.chain.sequence, tx.chain.hash)
        )
        contents = read_contents(tx)
        tx.end()
        database.execute("COMMIT")
        _require_sound(database, copy, watch, _key_for(path.parent))
    return aftermath, contents


def _key_for(stage: Path) -> CheckpointKey | None:
    """The key that the staged data will live with: its own, or that of the data folder around the stage."""
    return checkpoint_key_in(stage) or checkpoint_key_in(stage.parent)


def _fill_in_blobs(folder: Path, copy: Copy, blobs: dict[str, int], watch: Watch) -> tuple[str, ...]:
    """Bring in the kept files that the data folder has not or not truly; give those that nobody has."""
    store = BlobStore(folder / BLOB_FOLDER)
    lacking = []
    done, total = 0, sum(blobs.values())
    for digest, size in blobs.items():
        watch.at(Stage.BLOBS, done, total)
        if store.verify(digest) is not BlobState.TRUE:
            kept = copy.path / BLOB_FOLDER / digest[:2] / digest
            if copy.kind is CopyKind.BACKUP and kept.exists():
                require_room(folder, size)
                with kept.open("rb", buffering=0) as stream:
                    found = store.put_stream(stream)
                if found.sha256 != digest:
                    raise BackupNotGood(
                        f"The kept file {digest[:12]}… of {copy.path.name} changed while it was read.",
                        means="Nothing was changed.",
                        do="Copy the backup to a local disk, then restore that.",
                    )
            else:
                lacking.append(digest)
        done += size
    return tuple(lacking)


def _copy_file(source: Path, target: Path, watch: Watch) -> str:
    digest = hashlib.sha256()
    total, done = source.stat().st_size, 0
    with source.open("rb", buffering=0) as read, target.open("xb") as written:
        while piece := read.read(_PIECE):
            watch.at(Stage.PREPARE, done, total)
            digest.update(piece)
            written.write(piece)
            done += len(piece)
        written.flush()
        os.fsync(written.fileno())
    return digest.hexdigest()


def _free_name(folder: Path, now: Instant) -> str:
    name = format_instant(now).translate({ord("-"): None, ord(":"): None, ord("."): None})
    found, number = name, 2
    while (folder / found).exists():
        found = f"{name}-{number}"
        number += 1
    return found
