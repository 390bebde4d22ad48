"""Admission: the one transaction that commits DISPATCH_AUTHORIZED (E-43).

Everything is asked again inside it; failing any check commits nothing and says which.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from engine.actors import ENGINE, Actor, ActorKind
from engine.dispatch.approvals import Sealed, approval_row, consume, end_approval, mark_changed
from engine.dispatch.budgets import reserve
from engine.dispatch.differences import Difference
from engine.dispatch.grants import answer, require_in_force
from engine.errors import Drifted, GateClosed
from engine.ids import new_id
from engine.instants import Instant, format_instant
from engine.scheduling.claims import end_claim, live_claim
from engine.scheduling.gates import holds_above
from engine.scheduling.tasks import move_task, task_row
from engine.scheduling.transition import WORK_ORDER, transition
from engine.states import ApprovalState, ClaimState, TaskState, WorkOrderState
from engine.storage import Subject, Tx


@dataclass(frozen=True, slots=True)
class Admission:
    """What an admission committed: the attempt and the durable order to run it."""

    attempt_id: str
    intent_id: str
    task_id: str
    work_order_id: str


def admit(
    tx: Tx, claim_id: str, worker_id: str, epoch: int, observed_seal: str, *, now: Instant
) -> Admission:
    """Authorise one attempt, or refuse and change nothing.

    ``observed_seal`` is the seal of what would run, taken just now by the worker. Checks: claim live and of this
    epoch and worker, approval granted and unexpired, seal equal, work order active, no hold, clock trusted, and
    headroom in every ancestor scope of the right partition. Commits together: attempt, reservations, intent,
    claim CONSUMED, approval CONSUMED, task DISPATCHED.
    """
    claim = live_claim(tx, claim_id, worker_id, epoch, now)
    task = task_row(tx, claim["task_id"])
    if task["approval_id"] is None:
        raise GateClosed("The task has no approval.", do="Ask for approval again.", gate="approval")
    approval = approval_row(tx, task["approval_id"])
    if approval["state"] != ApprovalState.APPROVED:
        raise GateClosed(
            f"The approval is {approval['state']}.", do="Ask for approval again.", gate="approval"
        )
    if now >= approval["expires_at"]:
        raise GateClosed(
            f"The approval expired at {format_instant(approval['expires_at'])}.",
            do="Ask for approval again.",
            gate="approval",
        )
    require_in_force(tx, approval["id"], now)
    if approval["seal"] != observed_seal:
        raise Drifted(
            "What would run now is not what was approved.",
            means="Nothing ran.",
            do="Look at the differences and decide again.",
            approved=approval["seal"],
            now=observed_seal,
        )
    order = tx.one("SELECT state FROM work_order WHERE id = ?", (task["work_order_id"],))
    if order is None or order["state"] != WorkOrderState.ACTIVE:
        raise GateClosed("The work order is no longer active.", do="Look at the work order.", gate="policy")
    for hold in holds_above(tx, task):
        raise GateClosed(
            f"{hold['kind']} by {hold['actor']}: {hold['reason']}",
            do="Resume first.",
            gate="clock" if hold["kind"] == "CLOCK" else "hold",
            hold=hold["id"],
        )
    attempt_id, intent_id = new_id(now), new_id(now)
    last = tx.one("SELECT count(*) AS made FROM attempt WHERE task_id = ?", (task["id"],))
    assert last is not None
    tx.run(
        """INSERT INTO attempt(id, task_id, work_order_id, ordinal, purpose, claim_id, approval_id, seal, worker_id,
             epoch, scope_id, partition, state, max_cost, max_active_ms, authorized_at)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'DISPATCH_AUTHORIZED', ?, ?, ?)""",
        (
            attempt_id,
            task["id"],
            task["work_order_id"],
            last["made"] + 1,
            task["purpose"],
            claim_id,
            approval["id"],
            approval["seal"],
            worker_id,
            epoch,
            task["scope_id"],
            task["partition"],
            task["max_cost"],
            task["max_active_ms"],
            now,
        ),
    )
    reserve(tx, attempt_id, task)
    tx.run(
        "INSERT INTO intent(id, attempt_id, worker_id, epoch, created_at) VALUES (?, ?, ?, ?, ?)",
        (intent_id, attempt_id, worker_id, epoch, now),
    )
    worker = Actor(ActorKind.WORKER, worker_id)
    end_claim(tx, claim, ClaimState.CONSUMED, worker, "admitted", now)
    consume(tx, approval, attempt_id, now=now)
    move_task(tx, task["id"], TaskState.DISPATCHED, actor=worker, now=now)
    tx.journal(
        "attempt.dispatch_authorized",
        Subject("attempt", attempt_id),
        worker,
        now,
        work_order_id=task["work_order_id"],
        detail={
            "task": task["id"],
            "approval": approval["id"],
            "seal": approval["seal"],
            "max_cost": task["max_cost"],
            "max_active_ms": task["max_active_ms"],
            "intent": intent_id,
        },
    )
    tx.boundary("admission")
    return Admission(attempt_id, intent_id, task["id"], task["work_order_id"])


def refuse_drifted(
    tx: Tx,
    claim_id: str,
    worker_id: str,
    epoch: int,
    sealed: Sealed,
    differences: Sequence[Difference],
    life_ms: int,
    *,
    now: Instant,
) -> str | None:
    """Give a claimed task back because what would run has changed: the approval is void, a new request asked.

    Returns the new request's id, None if the approval had ended meanwhile: then the task only goes back. Claim
    release, requeue, the end of the approval and the new request commit together, with both seals in the
    journal (E-41, B-019).
    """
    claim = live_claim(tx, claim_id, worker_id, epoch, now)
    task = task_row(tx, claim["task_id"])
    if task["approval_id"] is None:
        _give_back(tx, claim, now)
        return None
    approval = approval_row(tx, task["approval_id"])
    end_claim(tx, claim, ClaimState.RELEASED, ENGINE, "what would run has changed", now)
    move_task(
        tx,
        task["id"],
        TaskState.READY,
        actor=ENGINE,
        now=now,
        reason="changed since approved",
        approval_id=None,
    )
    asked = mark_changed(tx, approval, sealed, differences, life_ms, now=now)
    answer(tx, asked, now=now)
    return asked


def refuse_unplannable(
    tx: Tx, claim_id: str, worker_id: str, epoch: int, reason: str, *, now: Instant
) -> None:
    """Give a claimed task back because it can no longer be planned (program gone, workspace gone …).

    The approval is void and the work order needs a person's decision; if the approval had ended meanwhile, the
    task only goes back.
    """
    claim = live_claim(tx, claim_id, worker_id, epoch, now)
    task = task_row(tx, claim["task_id"])
    if task["approval_id"] is None:
        _give_back(tx, claim, now)
        return
    approval = approval_row(tx, task["approval_id"])
    end_claim(tx, claim, ClaimState.RELEASED, ENGINE, reason, now)
    move_task(tx, task["id"], TaskState.READY, actor=ENGINE, now=now, reason=reason, approval_id=None)
    end_approval(tx, approval, ApprovalState.CHANGED, ENGINE, reason, now)
    transition(
        tx,
        WORK_ORDER,
        task["work_order_id"],
        WorkOrderState.DECISION_NEEDED,
        state_reason=reason,
        changed_at=now,
    )


def _give_back(tx: Tx, claim: sqlite3.Row, now: Instant) -> None:
    """Requeue a task whose approval ended, withdrawn say, between its claim and now."""
    why = "its approval has ended"
    end_claim(tx, claim, ClaimState.RELEASED, ENGINE, why, now)
    move_task(tx, claim["task_id"], TaskState.READY, actor=ENGINE, now=now, reason=why)
