"""Read of what helps to find a fault: schema, counts, the shape of the journal; and nothing that people wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.instants import Instant
from engine.settings import EngineSettings
from engine.storage import Rx
from engine.storage.journal import verify_journal
from engine.views.figures import Figures

NEWEST_ROWS = 200
CHECKED_ROWS = 50_000
"""So many rows of the journal's chain are checked: about half a second; praxis journal verify checks all."""


@dataclass(frozen=True, slots=True)
class AppliedMigration:
    """One step of the schema, as it was applied."""

    version: int
    name: str
    sha256: str
    applied_at: Instant


@dataclass(frozen=True, slots=True)
class JournalShape:
    """One row of the journal without its detail and without the names in it."""

    sequence: int
    at: Instant
    epoch: int
    kind: str
    subject_kind: str
    subject_id: str
    actor_kind: str


@dataclass(frozen=True, slots=True)
class JournalCheck:
    """What a look at the chain found: of how many rows from its start, and the rows at which it does not hold."""

    rows: int
    to_the_end: bool
    compacted: int
    problem_count: int
    problem_rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StoredFacts:
    """What the database says of itself.

    ``rows`` are counts by table, ``settings`` what SQLite is set to, ``newest`` the last rows of the journal.
    """

    instance_id: str
    migrations: tuple[AppliedMigration, ...]
    rows: Mapping[str, int]
    settings: Mapping[str, str]
    last_sequence: int
    last_hash: str
    checked: JournalCheck
    newest: tuple[JournalShape, ...]


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What a running engine says of itself: its settings, its figures without names, and whether it works."""

    version: str
    epoch: int
    settings: EngineSettings
    work_orders: Mapping[str, int]
    tasks: Mapping[str, int]
    attempts: Mapping[str, int]
    approvals: Mapping[str, int]
    holds: Mapping[str, int]
    waiting_control: int
    waiting_background: int
    latency_p50_ms: float
    latency_p95_ms: float
    commits: int
    log_bytes: int
    clock_trusted: bool
    superseded: bool
    recovery_failing: bool


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """Both: what the engine says, and what its database says."""

    engine: EngineFacts
    stored: StoredFacts


def engine_facts(figures: Figures, settings: EngineSettings) -> EngineFacts:
    """Take from the figures what names nothing."""
    counted = figures.counted
    return EngineFacts(
        version=figures.version,
        epoch=figures.epoch,
        settings=settings,
        work_orders=counted.work_orders,
        tasks=counted.tasks,
        attempts=counted.attempts,
        approvals=counted.approvals,
        holds=counted.holds,
        waiting_control=figures.waiting_control,
        waiting_background=figures.waiting_background,
        latency_p50_ms=figures.latency_p50_ms,
        latency_p95_ms=figures.latency_p95_ms,
        commits=figures.commits,
        log_bytes=figures.log_bytes,
        clock_trusted=figures.clock_trusted,
        superseded=figures.superseded,
        recovery_failing=figures.recovery_failing,
    )


def stored_facts(rx: Rx) -> StoredFacts:
    """Gather it in one snapshot."""
    tables = rx.all(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name"
    )
    identity = rx.one("SELECT value FROM meta WHERE key = 'instance_id'")
    report = verify_journal(rx, at_most=CHECKED_ROWS)
    newest = rx.all("SELECT * FROM journal ORDER BY sequence DESC LIMIT ?", (NEWEST_ROWS,))
    return StoredFacts(
        instance_id=str(identity["value"]) if identity is not None else "",
        migrations=tuple(
            AppliedMigration(row["version"], row["name"], row["sha256"], row["applied_at"])
            for row in rx.all("SELECT * FROM schema_migration ORDER BY version")
        ),
        rows={row["name"]: _count(rx, f'"{row["name"]}"') for row in tables},
        settings={name: _setting(rx, name) for name in _SETTINGS},
        last_sequence=newest[0]["sequence"] if newest else 0,
        last_hash=newest[0]["hash"] if newest else "",
        checked=JournalCheck(
            report.rows,
            report.finished,
            report.compacted,
            report.problem_count,
            tuple(one.sequence for one in report.problems),
        ),
        newest=tuple(
            JournalShape(
                row["sequence"],
                row["at"],
                row["epoch"],
                row["kind"],
                row["subject_kind"],
                # Some subjects are named by people; an identity is 26 characters of one case.
                row["subject_id"] if len(row["subject_id"]) == 26 and row["subject_id"].isupper() else "",
                row["actor_kind"],
            )
            for row in reversed(newest)
        ),
    )


_SETTINGS = (
    "page_size",
    "page_count",
    "freelist_count",
    "journal_mode",
    "application_id",
    "user_version",
    "encoding",
)


def _count(rx: Rx, table: str) -> int:
    row = rx.one(f"SELECT count(*) AS n FROM {table}")
    assert row is not None
    return int(row["n"])


def _setting(rx: Rx, name: str) -> str:
    row = rx.one(f"PRAGMA {name}")
    return "" if row is None else str(row[0])
