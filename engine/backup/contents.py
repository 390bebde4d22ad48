"""What a database holds, in figures, and whether it is sound: read from a copy that nobody writes to."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from engine.backup.watch import Stage, Watch
from engine.dispatch.planning import SECRET_KEY_FILE
from engine.errors import NotADatabase, StorageError
from engine.instants import Instant
from engine.storage.checkpoints import CheckpointKey
from engine.storage.connections import DATABASE_FILE, connect, damaged
from engine.storage.epochs import current_epoch
from engine.storage.journal import JournalReport, verify_journal
from engine.storage.schema import APPLICATION_ID, Migration, require_known
from engine.storage.transaction import Rx

_MOST_FINDINGS = 20
_ROWS_PER_LOOK = 5_000

_COUNTED = {
    "work_orders": "work_order",
    "open_work_orders": "work_order WHERE ended_at IS NULL",
    "tasks": "task",
    "approvals": "approval",
    "attempts": "attempt",
    "evidence": "evidence",
    "journal_rows": "journal",
}


class Wrong(StrEnum):
    """What can be wrong with a backup. LACKING: a kept file was lost before the backup was made."""

    MANIFEST = "MANIFEST"
    FILE_MISSING = "FILE_MISSING"
    FILE_ALTERED = "FILE_ALTERED"
    FILE_EXTRA = "FILE_EXTRA"
    DATABASE = "DATABASE"
    JOURNAL = "JOURNAL"
    BLOB_MISSING = "BLOB_MISSING"
    BLOB_EXTRA = "BLOB_EXTRA"
    LACKING = "LACKING"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: of which kind, with which file, in a sentence."""

    kind: Wrong
    file: str
    text: str


@dataclass(frozen=True, slots=True)
class Contents:
    """The figures of a database. ``counts`` has a name for each table that this schema knows."""

    schema: int
    instance_id: str
    epoch: int
    high_water: Instant | None
    journal_sequence: int
    journal_hash: str
    counts: Mapping[str, int]


def open_copy(path: Path) -> sqlite3.Connection:
    """Open a database that nobody writes to, for reading; its log beside it is read along if it has one."""
    log = path.with_name(f"{path.name}-wal")
    return connect(path, "ro", immutable=not (log.exists() and log.stat().st_size > 0))


def checkpoint_key_in(folder: Path) -> CheckpointKey | None:
    """What signs checkpoints of the data or the backup in ``folder``, or None if its key is not there."""
    try:
        return CheckpointKey.of((folder / SECRET_KEY_FILE).read_bytes())
    except OSError:
        return None


def has_table(rx: Rx, name: str) -> bool:
    """Whether the schema has this table; an older one may not."""
    return rx.one("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)) is not None


def require_ours(database: sqlite3.Connection, path: Path, migrations: Sequence[Migration]) -> int:
    """Give the schema version of a database of ours that this version can open; else say what it is."""
    if database.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise NotADatabase(
            f"The file {path} is a database of another program.",
            means="It cannot be restored.",
            do="Choose another backup.",
            path=str(path),
        )
    if not has_table(Rx(database), "schema_migration"):
        raise damaged(path, "it has no record of its schema")
    return require_known(database, path, migrations, otherwise="choose another backup")


def read_contents(rx: Rx) -> Contents:
    """Read the figures of a database of any schema version of ours; `DatabaseDamaged` if it has lost them."""
    head = rx.one("SELECT sequence, hash FROM journal_head WHERE id = 1")
    instance = rx.one("SELECT value FROM meta WHERE key = 'instance_id'")
    steps = rx.one("SELECT count(*) AS version FROM schema_migration")
    if head is None or instance is None or steps is None:
        raise damaged(Path(DATABASE_FILE), "it has lost its identity or the head of its journal")
    water = (
        rx.one("SELECT high_water FROM clock_state WHERE id = 1") if has_table(rx, "clock_state") else None
    )
    counts = {}
    for name, where in _COUNTED.items():
        if has_table(rx, where.split()[0]):
            row = rx.one(f"SELECT count(*) AS n FROM {where}")
            counts[name] = int(row["n"]) if row else 0
    return Contents(
        int(steps["version"]),
        str(instance["value"]),
        current_epoch(rx),
        None if water is None else int(water["high_water"]),
        int(head["sequence"]),
        str(head["hash"]),
        counts,
    )


def referenced_blobs(rx: Rx) -> dict[str, int]:
    """Every kept file that the database refers to, of evidence or as proof of a decision: digest and size."""
    found: dict[str, int] = {}
    for table in ("evidence_blob", "decision_proof"):
        if has_table(rx, table):
            rows = rx.all(f"SELECT sha256, max(size) AS size FROM {table} GROUP BY sha256")
            found |= {row["sha256"]: row["size"] for row in rows}
    return dict(sorted(found.items()))


def unsound(
    database: sqlite3.Connection, name: str, watch: Watch, key: CheckpointKey | None = None
) -> tuple[list[Problem], JournalReport]:
    """Check pages, references and the chain of the journal; give what is wrong, and how far the journal goes.

    ``key`` is what checkpoints of the journal were signed with; without it only the chain proves them.
    """
    problems: list[Problem] = []
    report = JournalReport()
    try:
        watch.at(Stage.INTEGRITY)
        with watch.interrupts(database):
            found = [str(row[0]) for row in database.execute(f"PRAGMA integrity_check({_MOST_FINDINGS})")]
            problems += [
                Problem(Wrong.DATABASE, name, f"The database is damaged: {text}.")
                for text in found
                if text != "ok"
            ]
            broken = database.execute("PRAGMA foreign_key_check").fetchmany(_MOST_FINDINGS)
            problems += [
                Problem(Wrong.DATABASE, name, f"A row of {row[0]} refers to nothing in {row[2]}.")
                for row in broken
            ]
        rx = Rx(database)
        head = rx.one("SELECT sequence FROM journal_head WHERE id = 1")
        total = 0 if head is None else int(head["sequence"])
        while not report.finished:
            watch.at(Stage.JOURNAL, report.rows, total)
            report = verify_journal(rx, report, at_most=_ROWS_PER_LOOK, key=key)
    except sqlite3.Error as error:
        problems.append(Problem(Wrong.DATABASE, name, f"The database cannot be read: {error}."))
    except StorageError as error:
        problems.append(Problem(Wrong.DATABASE, name, error.what))
    problems += [Problem(Wrong.JOURNAL, name, one.text) for one in report.problems[:_MOST_FINDINGS]]
    return problems, report
