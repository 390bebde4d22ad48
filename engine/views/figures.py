"""Read of what can be counted: states, what waits, holds, budgets; for monitoring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from engine.instants import Instant
from engine.states import ApprovalState, AttemptState, HoldKind, Partition, TaskState, WorkOrderState
from engine.storage import Rx
from engine.views.journal import last_sequence
from engine.views.wake_figures import WakeFigures


@dataclass(frozen=True, slots=True)
class ScopeFigures:
    """The budget of one scope in one partition: costs in units, times in milliseconds."""

    name: str
    kind: str
    partition: Partition
    cost_limit: int
    cost_reserved: int
    cost_frozen: int
    cost_spent: int
    active_ms_limit: int
    active_ms_reserved: int
    active_ms_frozen: int
    active_ms_spent: int


@dataclass(frozen=True, slots=True)
class Counted:
    """What one snapshot of the database says. Every state is there, with 0 where nothing is in it.

    ``oldest_request_ms`` is how long the oldest pending request for approval waits, 0 if none does. ``scopes`` are
    the root and the projects, root first.
    """

    work_orders: Mapping[str, int]
    tasks: Mapping[str, int]
    attempts: Mapping[str, int]
    approvals: Mapping[str, int]
    holds: Mapping[str, int]
    oldest_request_ms: int
    scopes: tuple[ScopeFigures, ...]
    last_sequence: int


@dataclass(frozen=True, slots=True)
class Figures:
    """What the engine can say of itself in numbers, at the instant ``at``.

    ``latency_p50_ms`` and ``latency_p95_ms`` are of recent groups of changes, from begin to commit. ``commits`` are
    those since the owner opened the folder, ``log_bytes`` is the size of the write-ahead log, ``wakes`` are the
    alarm clock's.
    """

    at: Instant
    version: str
    epoch: int
    counted: Counted
    waiting_control: int
    waiting_background: int
    latency_p50_ms: float
    latency_p95_ms: float
    commits: int
    log_bytes: int
    clock_trusted: bool
    superseded: bool
    recovery_failing: bool
    wakes: WakeFigures = field(default_factory=WakeFigures)


def counted(rx: Rx, now: Instant) -> Counted:
    """Count everything in one snapshot."""
    oldest = rx.one("SELECT min(asked_at) AS at FROM approval WHERE state = 'PENDING'")
    asked_at = oldest["at"] if oldest is not None else None
    return Counted(
        work_orders=_by_state(rx, "work_order", WorkOrderState, WorkOrderState.ACCEPTED),
        tasks=_by_state(rx, "task", TaskState, TaskState.SUCCEEDED),
        attempts=_by_state(rx, "attempt", AttemptState, AttemptState.SETTLED),
        approvals=_by_state(rx, "approval", ApprovalState, ApprovalState.CONSUMED),
        holds=_holds(rx),
        oldest_request_ms=max(0, now - asked_at) if asked_at is not None else 0,
        scopes=_scopes(rx),
        last_sequence=last_sequence(rx),
    )


def _by_state(rx: Rx, table: str, states: type[StrEnum], usual: StrEnum) -> dict[str, int]:
    """Count the rows of a table in each state, without reading all of them.

    Nearly all come to the same ``usual`` end; the others have an index, and the usual ones are the rest.
    """
    found = _counts(
        rx,
        f"""SELECT state AS word, count(*) AS n FROM {table} INDEXED BY {table}_unusual
            WHERE state <> '{usual}' GROUP BY state""",
    )
    total = rx.one(f"SELECT count(*) AS n FROM {table}")
    assert total is not None
    found[usual] = total["n"] - sum(found.values())
    return {state.value: found.get(state.value, 0) for state in states}


def _holds(rx: Rx) -> dict[str, int]:
    found = _counts(
        rx, "SELECT kind AS word, count(*) AS n FROM hold WHERE released_at IS NULL GROUP BY kind"
    )
    return {kind.value: found.get(kind.value, 0) for kind in HoldKind}


def _counts(rx: Rx, sql: str) -> dict[str, int]:
    return {row["word"]: row["n"] for row in rx.all(sql)}


def _scopes(rx: Rx) -> tuple[ScopeFigures, ...]:
    rows = rx.all(
        """SELECT scope.name, scope.kind, part.* FROM scope
           JOIN scope_partition AS part ON part.scope_id = scope.id
           WHERE scope.kind IN ('ROOT', 'PROJECT')
           ORDER BY CASE scope.kind WHEN 'ROOT' THEN 0 ELSE 1 END, scope.name, part.partition"""
    )
    return tuple(
        ScopeFigures(
            name=row["name"],
            kind=row["kind"],
            partition=Partition(row["partition"]),
            cost_limit=row["cost_limit"],
            cost_reserved=row["reserved_cost"],
            cost_frozen=row["frozen_cost"],
            cost_spent=row["spent_cost"],
            active_ms_limit=row["active_ms_limit"],
            active_ms_reserved=row["reserved_ms"],
            active_ms_frozen=row["frozen_ms"],
            active_ms_spent=row["spent_ms"],
        )
        for row in rows
    )
