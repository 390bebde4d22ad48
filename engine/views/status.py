"""Read of the engine's state in counts and holds: the foot line and the rail."""

from __future__ import annotations

from dataclasses import dataclass

from engine.backup.proof import last_proof
from engine.backup.schedule import read_last_run
from engine.instants import Instant
from engine.storage import Rx
from engine.views.journal import last_sequence
from engine.views.values import HoldRow
from engine.views.work_orders import active_holds


@dataclass(frozen=True, slots=True)
class Counts:
    """What one snapshot says of the work as a whole."""

    holds: tuple[HoldRow, ...]
    pending_approvals: int
    open_work_orders: int
    running: int
    unknown: int
    awaiting_decision: int
    last_sequence: int
    proven_backup_at: Instant | None
    backup_error: str
    undecided: int
    dead_wakes: int


def counts(rx: Rx) -> Counts:
    """Count what waits, runs and needs a person, each from a partial index."""

    def count(sql: str) -> int:
        row = rx.one(f"SELECT count(*) AS n FROM {sql}")
        return int(row["n"]) if row else 0

    return Counts(
        holds=active_holds(rx),
        pending_approvals=count("approval WHERE state = 'PENDING'"),
        open_work_orders=count("work_order WHERE ended_at IS NULL"),
        running=count(
            "attempt WHERE state IN ('DISPATCH_AUTHORIZED', 'DELIVERED', 'ACKNOWLEDGED', 'RUNNING')"
        ),
        unknown=count("attempt WHERE state = 'UNKNOWN'"),
        awaiting_decision=count(
            "work_order WHERE ended_at IS NULL AND state IN ('AWAITING_ACCEPTANCE', 'DECISION_NEEDED')"
        ),
        last_sequence=last_sequence(rx),
        proven_backup_at=None if (proof := last_proof(rx)) is None else proof.made_at,
        backup_error="" if (run := read_last_run(rx)) is None else run.error,
        undecided=count("wake_docket WHERE decided_at IS NULL"),
        dead_wakes=count("wake WHERE state = 'dead'"),
    )
