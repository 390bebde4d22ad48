"""Reads of the clock: what it says, what it is trusted to say, and what was ever wrong with it (E-30 to E-33)."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from engine.clock_watch import SAMPLES_WANTED, AnomalyKind, Reading, WatchedClock
from engine.control.clock_trust import anomaly_sentence
from engine.errors import NotFound
from engine.instants import Instant, require_batch
from engine.states import Purpose
from engine.storage import Rx
from engine.views.journal import journal
from engine.views.values import JournalRow

MOST_TOUCHED = 50
"""How many of each sort are named of what an anomaly touched."""

AROUND = 8
"""How many rows of the journal before and after a finding are shown with it."""


@dataclass(frozen=True, slots=True)
class AnomalyRow:
    """One finding with both of its readings. ``size_ms`` is how far the clocks parted, or the time slept."""

    id: str
    kind: AnomalyKind
    sentence: str
    size_ms: int
    wall_before: Instant
    wall_after: Instant
    elapsed_before_ms: int
    elapsed_after_ms: int
    same_boot: bool
    sequence: int


@dataclass(frozen=True, slots=True)
class ClockView:
    """The clocks now, and the readings of this process so far.

    ``distrusted_since`` is None while trusted; ``samples`` of ``samples_wanted`` consistent readings were taken
    since the last fault. ``reason`` is why the clock is distrusted.
    """

    reading: Reading
    high_water: Instant
    tolerance_ms: int
    trusted: bool
    distrusted_since: Instant | None
    reason: str
    samples: int
    samples_wanted: int
    history: tuple[Reading, ...]

    @property
    def below_high_water_ms(self) -> int:
        """How far wall time is below the high water, 0 if it is not."""
        return max(0, self.high_water - self.reading.now)

    @property
    def can_be_trusted(self) -> bool:
        """Whether enough consistent samples were taken for a person to confirm."""
        return self.samples >= self.samples_wanted


@dataclass(frozen=True, slots=True)
class TouchedRow:
    """One thing that was live when an anomaly was found, or that only the jump made due."""

    kind: str
    id: str
    work_order_id: str
    number: int
    title: str
    purpose: Purpose
    at: Instant


@dataclass(frozen=True, slots=True)
class Touched:
    """What one anomaly touched. Nothing of it was changed by the anomaly itself, but for the hold it placed.

    ``claims`` were live, ``approvals`` waited, ``running`` ran; ``due`` are tasks whose time lies between both
    readings: the jump alone would have fired them. Each list names at most `MOST_TOUCHED`. ``journal`` are the
    rows around the finding.
    """

    claims: tuple[TouchedRow, ...]
    approvals: tuple[TouchedRow, ...]
    running: tuple[TouchedRow, ...]
    due: tuple[TouchedRow, ...]
    journal: tuple[JournalRow, ...]


def clock_view(rx: Rx, clock: WatchedClock) -> ClockView:
    """The clock as it is now, with what is stored of its trust."""
    stored = rx.one("SELECT distrusted_since FROM clock_state WHERE id = 1")
    hold = rx.one(
        "SELECT reason FROM hold WHERE node_kind = 'ENGINE' AND kind = 'CLOCK' AND released_at IS NULL"
    )
    return ClockView(
        reading=clock.last,
        high_water=clock.high_water,
        tolerance_ms=clock.tolerance_ms,
        trusted=clock.trusted,
        distrusted_since=stored["distrusted_since"] if stored is not None else None,
        reason=hold["reason"] if hold is not None else "",
        samples=clock.consistent_samples,
        samples_wanted=SAMPLES_WANTED,
        history=clock.history(),
    )


def clock_anomalies(rx: Rx, after: str | None, limit: int) -> tuple[AnomalyRow, ...]:
    """Findings, newest first, at most ``limit`` after the one with the id ``after``."""
    require_batch(limit)
    last = _anomaly(rx, after)["sequence"] if after is not None else None
    rows = rx.all(
        """SELECT * FROM clock_anomaly WHERE (:last IS NULL OR sequence < :last)
           ORDER BY sequence DESC LIMIT :limit""",
        {"last": last, "limit": limit},
    )
    return tuple(_row(row) for row in rows)


def clock_touched(rx: Rx, anomaly_id: str) -> Touched:
    """What one finding touched; `NotFound` if there is none of this id."""
    row = _anomaly(rx, anomaly_id)
    before, after = row["wall_before"], row["wall_after"]
    earlier, later = min(before, after), max(before, after)
    return Touched(
        claims=_touched(
            rx,
            """SELECT 'claim' AS kind, claim.id AS id, claim.task_id AS task_id, claim.claimed_at AS at FROM claim
               WHERE claimed_at <= ? AND (ended_at IS NULL OR ended_at >= ?)""",
            (before, before),
        ),
        approvals=_touched(
            rx,
            """SELECT 'approval' AS kind, approval.id AS id, approval.task_id AS task_id, asked_at AS at
               FROM approval WHERE asked_at <= ?
               AND (coalesce(decided_at, ended_at) IS NULL OR coalesce(decided_at, ended_at) >= ?)""",
            (before, before),
        ),
        running=_touched(
            rx,
            """SELECT 'attempt' AS kind, attempt.id AS id, attempt.task_id AS task_id, authorized_at AS at
               FROM attempt WHERE authorized_at <= ? AND (ended_at IS NULL OR ended_at >= ?)""",
            (before, before),
        ),
        due=_touched(
            rx,
            """SELECT 'task' AS kind, task.id AS id, task.id AS task_id, task.due_at AS at
               FROM task WHERE due_at > ? AND due_at <= ?""",
            (earlier, later),
        ),
        journal=journal(rx, row["sequence"] - AROUND, row["sequence"] + AROUND, 2 * AROUND, None),
    )


def _anomaly(rx: Rx, anomaly_id: str) -> sqlite3.Row:
    row = rx.one("SELECT * FROM clock_anomaly WHERE id = ?", (anomaly_id,))
    if row is None:
        raise NotFound(f"There is no clock anomaly {anomaly_id}.", do="Look at the list of anomalies.")
    return row


def _row(row: sqlite3.Row) -> AnomalyRow:
    kind = AnomalyKind(row["kind"])
    return AnomalyRow(
        id=row["id"],
        kind=kind,
        sentence=anomaly_sentence(kind, row["size_ms"]),
        size_ms=row["size_ms"],
        wall_before=row["wall_before"],
        wall_after=row["wall_after"],
        elapsed_before_ms=row["elapsed_before_ms"],
        elapsed_after_ms=row["elapsed_after_ms"],
        same_boot=row["boot_before"] == row["boot_after"],
        sequence=row["sequence"],
    )


def _touched(rx: Rx, subjects: str, values: Sequence[object]) -> tuple[TouchedRow, ...]:
    rows = rx.all(
        f"""SELECT subject.*, work_order.id AS work_order_id, work_order.number, work_order.title, task.purpose
            FROM ({subjects}) AS subject JOIN task ON task.id = subject.task_id
            JOIN work_order ON work_order.id = task.work_order_id ORDER BY subject.at, subject.id
            LIMIT {MOST_TOUCHED}""",
        values,
    )
    return tuple(
        TouchedRow(
            row["kind"],
            row["id"],
            row["work_order_id"],
            row["number"],
            row["title"],
            Purpose(row["purpose"]),
            row["at"],
        )
        for row in rows
    )
