"""Kept files and run folders that nothing refers to any more (E-84).

What refers to a kept file: any column of a digest in this database, in the sets that restores put aside, and in the
copies from before a new schema. Backups hold copies of their own. A file goes only after a grace time since it was
first seen without a reference, and that time begins anew when the same content is kept again.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from engine.actors import Actor
from engine.backup.contents import open_copy
from engine.backup.shelf import CopyKind, list_copies
from engine.backup.taking import BLOB_FOLDER
from engine.errors import DatabaseDamaged, PraxisError
from engine.execution.blobs import BlobStore
from engine.instants import Instant
from engine.retention.settings import SUBJECT
from engine.retention.work import require_may_judge
from engine.storage import Rx, Tx

MOST_IN_A_BATCH = 100
RUNS_FOLDER = "runs"

_DIGEST = re.compile(r"[0-9a-f]{64}")
_RUN = re.compile(r"[0-9A-Z]{26}")


@dataclass(frozen=True, slots=True)
class LooseFile:
    """A file below ``blobs`` or a folder below ``runs`` without a reference: its name, digest ("" for a run), bytes.

    ``since`` is when that was first seen, None if it was not seen before.
    """

    name: str
    digest: str
    bytes: int
    since: Instant | None = None


def digests_named(rx: Rx) -> set[str]:
    """Every digest that a database names anywhere: in columns that are called ``sha256`` or end so."""
    columns = rx.all(
        """SELECT m.name AS "table", c.name AS "column" FROM sqlite_master AS m
           JOIN pragma_table_info(m.name) AS c
           WHERE m.type = 'table' AND (c.name = 'sha256' OR c.name LIKE '%\\_sha256' ESCAPE '\\')
             AND m.name <> 'schema_migration'"""
    )
    found: set[str] = set()
    for column in columns:
        rows = rx.all(
            f"SELECT DISTINCT {column['column']} AS digest FROM {column['table']}"
            f" WHERE {column['column']} IS NOT NULL"
        )
        found.update(row["digest"] for row in rows)
    return found


def digests_of_copies(folder: Path) -> set[str]:
    """Every digest that is named by a copy which has no kept files of its own. Blocks.

    `DatabaseDamaged` if one of them cannot be read: then nobody knows what it needs, and nothing may go.
    """
    found: set[str] = set()
    for copy in list_copies(folder):
        if copy.kind is CopyKind.BACKUP or not copy.database.exists():
            continue
        try:
            with closing(open_copy(copy.database)) as database:
                found |= digests_named(Rx(database))
        except (sqlite3.Error, OSError, PraxisError) as error:
            raise DatabaseDamaged(
                f"The copy {copy.path.name} cannot be read, so what it needs is not known: {error}.",
                means="No kept file was removed.",
                do="Restore or remove that copy, then try again.",
                path=str(copy.path),
            ) from error
    return found


def runs_needed(rx: Rx) -> set[str]:
    """Attempts whose run folder is still of use: in flight, or without a record of what was observed."""
    rows = rx.all(
        """SELECT attempt.id FROM attempt LEFT JOIN evidence ON evidence.attempt_id = attempt.id
           WHERE evidence.id IS NULL AND attempt.state <> 'VOIDED'
              OR attempt.state IN ('DISPATCH_AUTHORIZED', 'DELIVERED', 'ACKNOWLEDGED', 'RUNNING')"""
    )
    return {row["id"] for row in rows}


def known_loose(rx: Rx) -> dict[str, Instant]:
    """What was seen without a reference before, and since when."""
    return {row["name"]: row["since"] for row in rx.all("SELECT name, since FROM loose_file")}


def files_present(folder: Path) -> tuple[LooseFile, ...]:
    """Every kept file and every run folder of a data folder, as if nothing referred to it. Blocks."""
    found: list[LooseFile] = []
    store, runs = folder / BLOB_FOLDER, folder / RUNS_FOLDER
    for path in sorted(store.glob("??/*")) if store.is_dir() else ():
        # What stands beside a file as found altered belongs to it.
        digest = path.name.partition(".")[0]
        if _DIGEST.fullmatch(digest) and path.is_file():
            found.append(LooseFile(path.name, digest, path.stat().st_size))
    for path in sorted(runs.iterdir()) if runs.is_dir() else ():
        if _RUN.fullmatch(path.name) and path.is_dir():
            found.append(LooseFile(path.name, "", _size_of(path)))
    return tuple(found)


def note_loose(tx: Tx, new: Sequence[str], gone: Sequence[str], *, now: Instant) -> None:
    """Remember which files have lost their last reference now, and forget those that are needed again or gone."""
    for name in gone:
        tx.run("DELETE FROM loose_file WHERE name = ?", (name,))
    for name in new:
        tx.run("INSERT INTO loose_file(name, since) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", (name, now))


def release_files(
    tx: Tx, files: Sequence[LooseFile], grace_ms: int, actor: Actor, *, now: Instant
) -> tuple[LooseFile, ...]:
    """Give those of ``files`` that are to be removed now, and journal that they are.

    They have been without a reference for ``grace_ms``, and evidence and proofs do not name them now either.
    """
    require_may_judge(tx)
    going = []
    for one in files:
        row = tx.one("SELECT since FROM loose_file WHERE name = ?", (one.name,))
        needed = one.digest and tx.one(
            """SELECT 1 FROM evidence_blob WHERE sha256 = :digest
               UNION SELECT 1 FROM decision_proof WHERE sha256 = :digest""",
            {"digest": one.digest},
        )
        if row is not None and row["since"] <= now - grace_ms and not needed:
            tx.run("DELETE FROM loose_file WHERE name = ?", (one.name,))
            going.append(one)
    if going:
        detail = {"bytes": sum(one.bytes for one in going), "names": [one.name for one in going]}
        tx.journal("retention.files_removed", SUBJECT, actor, now, detail=detail)
    tx.boundary("retention.files")
    return tuple(going)


def remove_files(folder: Path, blobs: BlobStore, files: Iterable[LooseFile]) -> tuple[int, int]:
    """Remove files that were released; give how many went, and their bytes. Blocks.

    A content that was kept again meanwhile stays: whoever did that is about to refer to it.
    """
    count = removed = 0
    for one in files:
        if one.digest:
            gone = False
            with suppress(OSError):  # somebody reads it on Windows: it is loose again, and goes another time
                gone = blobs.discard(one.name)
        else:
            shutil.rmtree(folder / RUNS_FOLDER / one.name, ignore_errors=True)
            gone = not (folder / RUNS_FOLDER / one.name).exists()
        count, removed = count + gone, removed + one.bytes * gone
    return count, removed


def _size_of(folder: Path) -> int:
    """The bytes of a folder in which a command may be writing, and which may be going away."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                size += (Path(place) / name).lstat().st_size
    return size
