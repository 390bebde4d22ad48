"""Read of one UNKNOWN: the certain facts in order, what is frozen by it, and by which exits it can end (E-72)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engine.control.decisions import Finding, exits
from engine.instants import Instant, parse_instant
from engine.states import AttemptState, ExposureState, Partition
from engine.storage import Rx
from engine.views.evidence import evidence
from engine.views.values import AttemptRow, DecisionRow, EvidenceView
from engine.views.work_orders import decisions_of


@dataclass(frozen=True, slots=True)
class CertainFact:
    """One thing that is certain, with its time."""

    at: Instant
    sentence: str


@dataclass(frozen=True, slots=True)
class ScopeExposure:
    """What of an attempt counts in one scope, and as what."""

    scope_id: str
    name: str
    partition: Partition
    state: ExposureState
    cost: int
    active_ms: int


@dataclass(frozen=True, slots=True)
class Exit:
    """One way to end the UNKNOWN; ``why_not`` says why it is closed, "" if it is open."""

    finding: Finding
    why_not: str


@dataclass(frozen=True, slots=True)
class UnknownView:
    """Everything that is known of one attempt that is or was UNKNOWN.

    ``certain`` is in order of time, its last one is the last certain fact. ``exposure`` goes from the root down.
    ``reported_cost`` and ``measured_ms`` are what was reported and measured, None where nothing was.
    ``lane_locked``: processes of this attempt were alive when last looked at. ``notes`` are the decisions about it
    so far, oldest first.
    """

    attempt: AttemptRow
    certain: tuple[CertainFact, ...]
    exposure: tuple[ScopeExposure, ...]
    reported_cost: int | None
    measured_ms: int | None
    lane_locked: bool
    exits: tuple[Exit, ...]
    notes: tuple[DecisionRow, ...]
    evidence: EvidenceView

    @property
    def is_open(self) -> bool:
        """Whether it still waits for a decision."""
        return self.attempt.state is AttemptState.UNKNOWN


def unknown(rx: Rx, attempt_id: str, run_folder: Path, blob_path: Callable[[str], Path]) -> UnknownView:
    """Read one; `NotFound` if there is no such attempt."""
    seen = evidence(rx, attempt_id, run_folder, blob_path)
    row = rx.one("SELECT * FROM attempt WHERE id = ?", (attempt_id,))
    assert row is not None
    locked = rx.one("SELECT 1 FROM lane_lock WHERE attempt_id = ?", (attempt_id,))
    measured = seen.evidence is not None
    return UnknownView(
        attempt=seen.attempt,
        certain=_certain(rx, row, seen),
        exposure=_exposure(rx, attempt_id),
        reported_cost=row["actual_cost"] if measured else None,
        measured_ms=row["actual_active_ms"] if measured else None,
        lane_locked=locked is not None,
        exits=tuple(Exit(finding, why_not) for finding, why_not in exits(rx, row)),
        notes=tuple(one for one in decisions_of(rx, row["work_order_id"]) if one.attempt_id == attempt_id),
        evidence=seen,
    )


def _exposure(rx: Rx, attempt_id: str) -> tuple[ScopeExposure, ...]:
    rows = rx.all(
        """SELECT exposure.*, scope.name FROM exposure JOIN scope ON scope.id = exposure.scope_id
           JOIN attempt ON attempt.id = exposure.attempt_id
           JOIN scope_path AS path ON path.scope_id = attempt.scope_id AND path.ancestor_id = exposure.scope_id
           WHERE exposure.attempt_id = ? ORDER BY path.distance DESC""",
        (attempt_id,),
    )
    return tuple(
        ScopeExposure(
            row["scope_id"],
            row["name"],
            Partition(row["partition"]),
            ExposureState(row["state"]),
            row["cost"],
            row["active_ms"],
        )
        for row in rows
    )


def _certain(rx: Rx, attempt: sqlite3.Row, seen: EvidenceView) -> tuple[CertainFact, ...]:
    approval = rx.one("SELECT * FROM approval WHERE id = ?", (attempt["approval_id"],))
    delivery = rx.one("SELECT * FROM delivery WHERE attempt_id = ?", (attempt["id"],))
    found: list[tuple[Instant | None, str]] = []
    if approval is not None:
        found.append((approval["decided_at"], f"{approval['decided_by']} approved exactly this command."))
    found.append((attempt["authorized_at"], "It was authorised, and its exposure reserved in every scope."))
    if delivery is not None:
        found.append((delivery["delivered_at"], f"Worker {delivery['worker_id']} took it."))
        found.append((delivery["acknowledged_at"], "The worker acknowledged it; it was about to be started."))
        found.append((delivery["started_at"], f"Process {delivery['process_pid']} was started."))
    found.append((attempt["stop_requested_at"], f"{_who_stopped(rx, attempt['id'])} asked to stop it."))
    found += _observed(seen)
    facts = [CertainFact(at, sentence) for at, sentence in found if at is not None]
    return tuple(sorted(facts, key=lambda fact: fact.at))


def _observed(seen: EvidenceView) -> list[tuple[Instant | None, str]]:
    record = seen.evidence
    if record is None or "finished_at" not in record:
        return []
    at = parse_instant(record["finished_at"])
    if record.get("exit_code") is not None:
        end = f"Its process ended with exit code {record['exit_code']}."
    elif record.get("signal") is not None:
        end = f"Its process was ended by signal {record['signal']}."
    elif record.get("ended_by") == "lost":
        return [(seen.recorded_at, "The worker recorded that it had lost sight of it.")]
    else:
        end = "Its process was seen to have ended; no exit code was seen."
    left = len((record.get("tree") or {}).get("survived", ()))
    return [(at, end if not left else f"{end} {left} of what it started still lived.")]


def _who_stopped(rx: Rx, attempt_id: str) -> str:
    row = rx.one(
        """SELECT actor_name FROM journal WHERE subject_kind = 'attempt' AND subject_id = ?
           AND kind = 'attempt.stop_requested' LIMIT 1""",
        (attempt_id,),
    )
    return str(row["actor_name"]) if row is not None else "A person"
