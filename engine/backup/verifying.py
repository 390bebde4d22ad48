"""Verifying a backup: every byte, every reference, the journal's chain (E-81).

A backup is good only if nothing at all is wrong with it. One that lacks kept files which were lost before it
was made can still be restored: there is none that has them.
"""

from __future__ import annotations

import hashlib
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from engine.backup.contents import (
    Contents,
    Problem,
    Wrong,
    checkpoint_key_in,
    has_table,
    open_copy,
    read_contents,
    referenced_blobs,
    unsound,
)
from engine.backup.manifest import MANIFEST_FILE, FileEntry, Manifest, read_manifest
from engine.backup.taking import BLOB_FOLDER
from engine.backup.watch import Stage, Watch
from engine.errors import BackupNotGood, PraxisError
from engine.instants import format_instant
from engine.storage.connections import DATABASE_FILE
from engine.storage.journal import JournalReport
from engine.storage.transaction import Rx

_PIECE = 1 << 20
_MOST_NAMED = 100


@dataclass(frozen=True, slots=True)
class Verification:
    """What a look at the whole backup found. ``contents`` is None if the database cannot be read."""

    path: Path
    manifest: Manifest | None
    contents: Contents | None
    problems: tuple[Problem, ...]
    problem_count: int

    @property
    def good(self) -> bool:
        """Whether nothing is wrong with it."""
        return self.problem_count == 0

    @property
    def restorable(self) -> bool:
        """Whether it can be restored: it is good, but for kept files that were lost before it was made."""
        return self.manifest is not None and all(one.kind is Wrong.LACKING for one in self.problems)

    def require_restorable(self) -> Manifest:
        """Give the manifest, or raise `BackupNotGood` with what is wrong."""
        if self.manifest is None or not self.restorable:
            raise BackupNotGood(
                f"The backup {self.path.name} is not good: {self.problems[0].text}",
                means=f"{_things(self.problem_count)} with it. Nothing was changed.",
                do="Choose another backup.",
                path=str(self.path),
                problems=tuple(one.text for one in self.problems),
            )
        return self.manifest


def verify_backup(path: Path, watch: Watch | None = None) -> Verification:
    """Read a whole backup and say what is wrong with it. Blocks; call it in a thread. Changes nothing."""
    watch = watch or Watch()
    try:
        manifest = read_manifest(path)
    except BackupNotGood as error:
        return _result(path, None, None, [Problem(Wrong.MANIFEST, MANIFEST_FILE, error.what)])
    problems = list(_wrong_files(path, manifest, watch))
    contents = None
    if not any(one.file == DATABASE_FILE for one in problems):
        contents, found = _look_into(path, manifest, watch)
        problems += found
    problems += [
        Problem(
            Wrong.LACKING,
            f"{BLOB_FOLDER}/{item.sha256[:2]}/{item.sha256}",
            f"The kept file {item.sha256[:12]}… was {item.state} already when the backup was made.",
        )
        for item in manifest.lacking
    ]
    return _result(path, manifest, contents, problems)


def _result(
    path: Path, manifest: Manifest | None, contents: Contents | None, problems: list[Problem]
) -> Verification:
    # What prevents a restore first, so that a cut-off list never hides it.
    problems.sort(key=lambda one: one.kind is Wrong.LACKING)
    return Verification(path, manifest, contents, tuple(problems[:_MOST_NAMED]), len(problems))


def _wrong_files(path: Path, manifest: Manifest, watch: Watch) -> Iterator[Problem]:
    """Compare every file with its entry; name what is missing, altered, or does not belong there."""
    total, done = manifest.size, 0
    known = {entry.path for entry in manifest.files}
    if DATABASE_FILE not in known:
        yield Problem(Wrong.FILE_MISSING, DATABASE_FILE, "The manifest names no database.")
    for entry in manifest.files:
        yield from _wrong_file(path, entry, watch, done, total)
        done += entry.size
    for found in sorted(path.rglob("*")):
        name = found.relative_to(path).as_posix()
        is_folder = found.is_dir() and not found.is_symlink()
        if not is_folder and name not in known and name != MANIFEST_FILE:
            yield Problem(Wrong.FILE_EXTRA, name, f"The file {name} does not belong to the backup.")


def _wrong_file(path: Path, entry: FileEntry, watch: Watch, done: int, total: int) -> Iterator[Problem]:
    file = path / entry.path
    watch.at(Stage.DIGESTS, done, total)
    try:
        if not stat.S_ISREG(file.lstat().st_mode):
            yield Problem(Wrong.FILE_ALTERED, entry.path, f"{entry.path} is not a plain file.")
            return
        digest = hashlib.sha256()
        size = 0
        with file.open("rb", buffering=0) as stream:
            while piece := stream.read(_PIECE):
                digest.update(piece)
                size += len(piece)
                watch.at(Stage.DIGESTS, done + size, total)
    except FileNotFoundError:
        yield Problem(Wrong.FILE_MISSING, entry.path, f"The file {entry.path} is missing.")
        return
    except OSError as error:
        yield Problem(Wrong.FILE_ALTERED, entry.path, f"{entry.path} cannot be read: {error.strerror}.")
        return
    if (size, digest.hexdigest()) != (entry.size, entry.sha256):
        yield Problem(
            Wrong.FILE_ALTERED, entry.path, f"The file {entry.path} is not the one that was written."
        )


def _look_into(path: Path, manifest: Manifest, watch: Watch) -> tuple[Contents | None, list[Problem]]:
    try:
        with closing(open_copy(path / DATABASE_FILE)) as database:
            rx = Rx(database)
            if not has_table(rx, "journal_head"):
                return None, [Problem(Wrong.DATABASE, DATABASE_FILE, "The database is none of ours.")]
            problems, report = unsound(database, DATABASE_FILE, watch, checkpoint_key_in(path))
            if problems:
                return None, problems
            contents = read_contents(rx)
            problems += _wrong_claims(manifest, contents, report)
            problems += _wrong_blobs(manifest, set(referenced_blobs(rx)))
            return contents, problems
    except (sqlite3.Error, OSError) as error:
        return None, [Problem(Wrong.DATABASE, DATABASE_FILE, f"The database cannot be read: {error}.")]
    except PraxisError as error:
        if error.code == "cancelled":
            raise
        return None, [Problem(Wrong.DATABASE, DATABASE_FILE, error.what)]


def _wrong_claims(manifest: Manifest, contents: Contents, report: JournalReport) -> Iterator[Problem]:
    """What the manifest says of the database against what the database says of itself."""
    water = None if contents.high_water is None else format_instant(contents.high_water)
    pairs = (
        ("schema version", manifest.schema_version, contents.schema),
        ("instance", manifest.instance_id, contents.instance_id),
        ("epoch", manifest.epoch, contents.epoch),
        ("high water", manifest.high_water, water),
        ("last row of the journal", manifest.journal_sequence, report.last_sequence),
        ("hash of the journal", manifest.journal_hash, report.last_hash),
        ("numbers of rows", manifest.counts, dict(contents.counts)),
    )
    for name, said, found in pairs:
        if said != found:
            yield Problem(
                Wrong.MANIFEST, MANIFEST_FILE, f"The {name} in the manifest is not that of the database."
            )


def _wrong_blobs(manifest: Manifest, wanted: set[str]) -> Iterator[Problem]:
    """Kept files that the database refers to and the backup has not, and the other way round."""
    prefix = f"{BLOB_FOLDER}/"
    held = {entry.path.rpartition("/")[2]: entry for entry in manifest.files if entry.path.startswith(prefix)}
    lacking = {item.sha256 for item in manifest.lacking}
    for digest in sorted(wanted - held.keys() - lacking):
        yield Problem(
            Wrong.BLOB_MISSING,
            f"{prefix}{digest[:2]}/{digest}",
            f"The kept file {digest[:12]}… is referred to and missing.",
        )
    for digest in sorted(held.keys() - wanted):
        yield Problem(Wrong.BLOB_EXTRA, held[digest].path, f"Nothing refers to the kept file {digest[:12]}….")
    for digest, entry in held.items():
        if digest != entry.sha256:
            yield Problem(
                Wrong.FILE_ALTERED,
                entry.path,
                f"The kept file {digest[:12]}… has another content than its name.",
            )


def _things(count: int) -> str:
    return "1 thing is wrong" if count == 1 else f"{count} things are wrong"
