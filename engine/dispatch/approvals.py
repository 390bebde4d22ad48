"""Approvals: a person's decision about one exact plan, known by its seal (E-40 to E-42b).

An approval authorises nothing until admission. It expires, survives restart, can be withdrawn before admission
and is consumed by one admission. Whatever would run must still have the seal that was decided on.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from engine.actors import ENGINE, Actor, ActorKind
from engine.dispatch.differences import Difference
from engine.dispatch.expiry_notices import book_notice, cancel_notice
from engine.errors import InvalidValue, NotFound, Refused, WrongState
from engine.ids import new_id
from engine.instants import Instant, add_duration, format_instant, require_batch
from engine.scheduling.gates import time_is_trusted
from engine.scheduling.lanes import arm_lane
from engine.scheduling.tasks import task_row, touch_work_order
from engine.scheduling.transition import APPROVAL, WORK_ORDER, transition
from engine.states import ApprovalState, TaskState, WorkOrderState
from engine.storage import Rx, Subject, Tx, require_epoch

LONGEST_REASON = 4_000

DECIDED = (ApprovalState.APPROVED, ApprovalState.REJECTED, ApprovalState.CONSUMED)


@dataclass(frozen=True, slots=True)
class Sealed:
    """A plan as canonical JSON text with its seal, and the same of the validation that one look may cover."""

    plan: str
    seal: str
    validation_plan: str | None = None
    validation_seal: str | None = None


def approval_row(rx: Rx, approval_id: str) -> sqlite3.Row:
    """The row of a request for approval; `NotFound` if there is none."""
    row = rx.one("SELECT * FROM approval WHERE id = ?", (approval_id,))
    if row is None:
        raise NotFound(f"Approval {approval_id} does not exist.", do="Look at the inbox again.")
    return row


def ask_approval(
    tx: Tx,
    task_id: str,
    sealed: Sealed,
    actor: Actor,
    life_ms: int,
    *,
    now: Instant,
    previous_id: str | None = None,
    differences: Sequence[Difference] = (),
) -> str:
    """Put a READY or WAITING task's plan into the inbox; a work order that waited for this becomes ACTIVE.

    `WrongState` if the task already has an open request.
    """
    task = task_row(tx, task_id)
    if task["state"] not in (TaskState.READY, TaskState.WAITING):
        raise WrongState(
            f"The task is {task['state']}; approval is asked for tasks that are ready or waiting.",
            do="Look at the work order for its present stage.",
            found=task["state"],
        )
    open_one = tx.one(
        "SELECT id, state FROM approval WHERE task_id = ? AND state IN ('PENDING', 'APPROVED')", (task_id,)
    )
    if open_one is not None:
        raise WrongState(
            f"The task already has a request that is {open_one['state']}.",
            do="Decide or withdraw that one first.",
            found=open_one["state"],
            approval=open_one["id"],
        )
    order = tx.one("SELECT state FROM work_order WHERE id = ?", (task["work_order_id"],))
    assert order is not None
    if order["state"] == WorkOrderState.DECISION_NEEDED:
        transition(tx, WORK_ORDER, task["work_order_id"], WorkOrderState.ACTIVE, state_reason="")
    expires_at = add_duration(now, life_ms, "approval life")
    approval_id = _insert(tx, task, sealed, actor, expires_at, now, previous_id, differences)
    tx.journal(
        "approval.asked",
        Subject("approval", approval_id),
        actor,
        now,
        work_order_id=task["work_order_id"],
        detail={
            "task": task_id,
            "seal": sealed.seal,
            "validation_seal": sealed.validation_seal,
            "previous": previous_id,
            "changed": [difference.field for difference in differences],
        },
    )
    book_notice(tx, approval_id, expires_at, now=now)
    touch_work_order(tx, task["work_order_id"], now)
    return approval_id


def approve(
    tx: Tx,
    approval_id: str,
    actor: Actor,
    seal: str,
    *,
    covers_validation: bool = False,
    look_ms: int | None = None,
    reason: str = "",
    now: Instant,
) -> sqlite3.Row:
    """Approve exactly the plan whose ``seal`` the person saw; a second decision gives the first one back (E-42)."""
    row = approval_row(tx, approval_id)
    if row["state"] in DECIDED:
        return row
    _require_open(tx, row, now)
    if row["seal"] != seal:
        raise Refused(
            "What was shown is not what is asked for now.",
            means="The request changed while you looked; nothing was approved.",
            do="Look at the card again.",
            shown=seal,
            asked=row["seal"],
        )
    if covers_validation and row["validation_seal"] is None:
        raise InvalidValue("This step has no validation of its own to cover.", do="Approve the step alone.")
    row = transition(
        tx,
        APPROVAL,
        approval_id,
        ApprovalState.APPROVED,
        decided_by=actor.name,
        decided_at=now,
        decision_reason=reason,
        look_ms=look_ms,
        covers_validation=int(covers_validation),
    )
    task = task_row(tx, row["task_id"])
    tx.run("UPDATE task SET approval_id = ? WHERE id = ?", (approval_id, task["id"]))
    _journal_decision(tx, row, actor, now, reason)
    cancel_notice(tx, approval_id, "the request was approved", now=now)
    arm_lane(tx, task["lane"], now)
    tx.boundary("approval")
    return row


def approve_alike(
    tx: Tx, approval_ids: Sequence[str], actor: Actor, seal: str, *, look_ms: int | None = None, now: Instant
) -> tuple[str, ...]:
    """Approve several requests of one exact seal, all or none (B-010)."""
    for approval_id in approval_ids:
        row = approval_row(tx, approval_id)
        _require_open(tx, row, now)
        approve(tx, approval_id, actor, seal, look_ms=look_ms, now=now)
    return tuple(approval_ids)


def reject(tx: Tx, approval_id: str, actor: Actor, reason: str, *, now: Instant) -> sqlite3.Row:
    """Reject a request with a reason; the work order then needs a decision. A second decision gives the first."""
    row = approval_row(tx, approval_id)
    if row["state"] in DECIDED:
        return row
    _require_open(tx, row, now)
    require_reason(reason, "reject")
    row = transition(
        tx,
        APPROVAL,
        approval_id,
        ApprovalState.REJECTED,
        decided_by=actor.name,
        decided_at=now,
        decision_reason=reason,
        ended_at=now,
    )
    _journal_decision(tx, row, actor, now, reason)
    cancel_notice(tx, approval_id, "the request was rejected", now=now)
    _need_decision(tx, row, f"The request was rejected by {actor.name}: {reason}", now)
    return row


def withdraw(tx: Tx, approval_id: str, actor: Actor, reason: str, *, now: Instant) -> sqlite3.Row:
    """Take back a request or an approval that no admission has consumed yet."""
    row = approval_row(tx, approval_id)
    if row["state"] == ApprovalState.WITHDRAWN:
        return row
    row = end_approval(tx, row, ApprovalState.WITHDRAWN, actor, reason, now)
    _need_decision(tx, row, f"The approval was withdrawn by {actor.name}.", now)
    return row


def expire_approvals(tx: Tx, epoch: int, limit: int = 100, *, now: Instant) -> tuple[str, ...]:
    """End at most ``limit`` requests and approvals whose time has come, equality included; return their ids.

    A claimed task's approval is left to admission, which refuses by the instant itself.
    """
    require_epoch(tx, epoch)
    require_batch(limit)
    if not time_is_trusted(tx):
        return ()
    rows = tx.all(
        """SELECT * FROM approval WHERE state IN ('PENDING', 'APPROVED') AND expires_at <= ?
             AND NOT EXISTS (SELECT 1 FROM task WHERE task.id = approval.task_id AND task.state = 'CLAIMED')
           ORDER BY expires_at, id LIMIT ?""",
        (now, limit),
    )
    for row in rows:
        end_approval(tx, row, ApprovalState.EXPIRED, ENGINE, "its time ended", now)
        if _by_grant(tx, row):
            # Only the standing grant has ended; the engine asks again, and now a person looks.
            continue
        _need_decision(
            tx, row, f"The request for approval expired at {format_instant(row['expires_at'])}.", now
        )
    return tuple(row["id"] for row in rows)


def mark_changed(
    tx: Tx,
    approval: sqlite3.Row,
    sealed: Sealed,
    differences: Sequence[Difference],
    life_ms: int,
    *,
    now: Instant,
) -> str:
    """Return a request to the queue because what would run has changed (E-41); returns the new request's id."""
    end_approval(
        tx,
        approval,
        ApprovalState.CHANGED,
        ENGINE,
        "what would run has changed",
        now,
        detail={
            "approved": approval["seal"],
            "now": sealed.seal,
            "differences": [[item.field, item.approved, item.now] for item in differences],
        },
    )
    asked_by = Actor(ActorKind(approval["asked_by_kind"]), approval["asked_by"])
    return ask_approval(
        tx,
        approval["task_id"],
        sealed,
        asked_by,
        life_ms,
        now=now,
        previous_id=approval["id"],
        differences=differences,
    )


def grant_covered(tx: Tx, approval: sqlite3.Row, task: sqlite3.Row, life_ms: int, *, now: Instant) -> str:
    """Approve a validation task by the look that covered it together with its step (E-42b)."""
    sealed = Sealed(approval["validation_plan"], approval["validation_seal"])
    return _grant(tx, approval, task, sealed, "approved together with its step", life_ms, now)


def grant_correction(
    tx: Tx, approval_id: str, task_id: str, sealed: Sealed, life_ms: int, *, now: Instant
) -> str | None:
    """Approve a correction by the earlier approval of its command, as the work order's rule allows (E-62).

    It covers the validation that follows exactly if that approval covered the very same one. None, and nothing
    is done, if the task or the approval has moved on since they were compared.
    """
    approval, task = approval_row(tx, approval_id), task_row(tx, task_id)
    asked = tx.one("SELECT 1 FROM approval WHERE task_id = ?", (task_id,))
    order = tx.one("SELECT state FROM work_order WHERE id = ?", (task["work_order_id"],))
    if (
        task["state"] != TaskState.READY
        or asked is not None
        or order is None
        or order["state"] != WorkOrderState.ACTIVE
        or approval["state"] != ApprovalState.CONSUMED
        or now >= approval["expires_at"]
    ):
        return None
    covers = approval["covers_validation"] and approval["validation_seal"] == sealed.validation_seal
    reason = "its command was approved before, and the rule asks for no new approval"
    return _grant(tx, approval, task, sealed, reason, life_ms, now, covers_validation=int(bool(covers)))


def _grant(
    tx: Tx,
    approval: sqlite3.Row,
    task: sqlite3.Row,
    sealed: Sealed,
    reason: str,
    life_ms: int,
    now: Instant,
    **values: object,
) -> str:
    asked_by = Actor(ActorKind(approval["asked_by_kind"]), approval["asked_by"])
    approval_id = _insert(tx, task, sealed, asked_by, add_duration(now, life_ms, "approval life"), now)
    row = transition(
        tx,
        APPROVAL,
        approval_id,
        ApprovalState.APPROVED,
        decided_by=approval["decided_by"],
        decided_at=approval["decided_at"],
        decision_reason=reason,
        covered_by=approval["id"],
        **values,
    )
    tx.run("UPDATE task SET approval_id = ? WHERE id = ?", (approval_id, task["id"]))
    tx.journal(
        "approval.covered",
        Subject("approval", approval_id),
        ENGINE,
        now,
        work_order_id=task["work_order_id"],
        detail={"task": task["id"], "seal": row["seal"], "covered_by": approval["id"]},
    )
    arm_lane(tx, task["lane"], now)
    return approval_id


def consume(tx: Tx, approval: sqlite3.Row, attempt_id: str, *, now: Instant) -> None:
    """Use an approval up for one admission."""
    transition(tx, APPROVAL, approval["id"], ApprovalState.CONSUMED, ended_at=now)
    tx.journal(
        "approval.consumed",
        Subject("approval", approval["id"]),
        ENGINE,
        now,
        work_order_id=approval["work_order_id"],
        detail={"attempt": attempt_id, "seal": approval["seal"]},
    )


def end_approval(
    tx: Tx,
    approval: sqlite3.Row,
    to: ApprovalState,
    actor: Actor,
    reason: str,
    now: Instant,
    detail: dict[str, object] | None = None,
) -> sqlite3.Row:
    """End an open request, take it from its task, and let the lane's next task come forward."""
    if to is ApprovalState.WITHDRAWN and approval["state"] not in (
        ApprovalState.PENDING,
        ApprovalState.APPROVED,
    ):
        raise WrongState(
            f"The approval is {approval['state']} and can no longer be withdrawn.",
            means="An admission has used it." if approval["state"] == ApprovalState.CONSUMED else "",
            do="Stop the attempt instead, if it runs.",
            found=approval["state"],
        )
    row = transition(tx, APPROVAL, approval["id"], to, ended_at=now)
    task = task_row(tx, row["task_id"])
    tx.run("UPDATE task SET approval_id = NULL, armed_at = NULL WHERE id = ?", (task["id"],))
    tx.journal(
        f"approval.{to.lower()}",
        Subject("approval", row["id"]),
        actor,
        now,
        work_order_id=row["work_order_id"],
        detail={"task": row["task_id"], "reason": reason, **(detail or {})},
    )
    cancel_notice(tx, row["id"], f"the request is {to}", now=now)
    touch_work_order(tx, row["work_order_id"], now)
    arm_lane(tx, task["lane"], now)
    return row


def require_reason(reason: str, what: str) -> None:
    """Refuse an empty or over-long reason where one is required."""
    if not reason.strip():
        raise InvalidValue(
            f"To {what}, give a reason.", do="Say in a few words why; it is kept in the journal."
        )
    if len(reason) > LONGEST_REASON:
        raise InvalidValue("The reason is longer than 4,000 characters.", do="Shorten it.")


def _insert(
    tx: Tx,
    task: sqlite3.Row,
    sealed: Sealed,
    actor: Actor,
    expires_at: Instant,
    now: Instant,
    previous_id: str | None = None,
    differences: Sequence[Difference] = (),
) -> str:
    approval_id = new_id(now)
    asked = tx.one("SELECT count(*) AS times FROM approval WHERE task_id = ?", (task["id"],))
    assert asked is not None
    tx.run(
        """INSERT INTO approval(id, task_id, work_order_id, ordinal, state, plan, seal, validation_plan,
             validation_seal, previous_id, differences, asked_by_kind, asked_by, asked_at, expires_at)
           VALUES (?, ?, ?, ?, 'PENDING', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            approval_id,
            task["id"],
            task["work_order_id"],
            asked["times"] + 1,
            sealed.plan,
            sealed.seal,
            sealed.validation_plan,
            sealed.validation_seal,
            previous_id,
            json.dumps([[item.field, item.approved, item.now] for item in differences]),
            actor.kind,
            actor.name,
            now,
            expires_at,
        ),
    )
    return approval_id


def _require_open(tx: Tx, row: sqlite3.Row, now: Instant) -> None:
    # By a distrusted clock nothing is judged; admission asks again once it is trusted.
    if row["state"] == ApprovalState.PENDING and time_is_trusted(tx) and now >= row["expires_at"]:
        raise WrongState(
            f"The request expired at {format_instant(row['expires_at'])}.",
            means="Nothing was decided and nothing runs.",
            do="Ask again; the plan is then sealed afresh.",
            found=ApprovalState.EXPIRED,
        )
    if row["state"] != ApprovalState.PENDING:
        raise WrongState(
            f"The request is {row['state']} and can no longer be decided.",
            means="Nothing was decided and nothing runs.",
            do="Ask again; the plan is then sealed afresh.",
            found=row["state"],
        )


def _by_grant(tx: Tx, approval: sqlite3.Row) -> bool:
    """Whether an approval, or the one that covered it, was given by a standing grant."""
    return (
        approval["state"] == ApprovalState.APPROVED
        and tx.one(
            "SELECT 1 FROM grant_use WHERE approval_id IN (?, ?)", (approval["id"], approval["covered_by"])
        )
        is not None
    )


def _need_decision(tx: Tx, approval: sqlite3.Row, reason: str, now: Instant) -> None:
    order = tx.one("SELECT state FROM work_order WHERE id = ?", (approval["work_order_id"],))
    if order is not None and order["state"] == WorkOrderState.ACTIVE:
        transition(
            tx,
            WORK_ORDER,
            approval["work_order_id"],
            WorkOrderState.DECISION_NEEDED,
            state_reason=reason,
            changed_at=now,
        )


def _journal_decision(tx: Tx, row: sqlite3.Row, actor: Actor, now: Instant, reason: str) -> None:
    tx.journal(
        f"approval.{row['state'].lower()}",
        Subject("approval", row["id"]),
        actor,
        now,
        work_order_id=row["work_order_id"],
        detail={
            "task": row["task_id"],
            "seal": row["seal"],
            "covers_validation": bool(row["covers_validation"]),
            "reason": reason,
            "look_ms": row["look_ms"],
        },
    )
    touch_work_order(tx, row["work_order_id"], now)
