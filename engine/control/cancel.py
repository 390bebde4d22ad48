"""Cancel: nothing of it starts any more, and what runs is stopped, honestly (E-71)."""

from __future__ import annotations

import sqlite3

from engine.actors import Actor
from engine.control.holds import Node, remember_key, require_node, was_done
from engine.dispatch.approvals import end_approval, require_reason
from engine.dispatch.delivery import attempt_row, void_attempt
from engine.errors import WrongState
from engine.instants import Instant
from engine.scheduling.claims import end_claim
from engine.scheduling.tasks import move_task, task_row
from engine.states import ApprovalState, AttemptState, ClaimState, NodeKind, TaskState, WorkOrderState
from engine.storage import Subject, Tx
from engine.validation.workflow import finish_cancelling, move_work_order

_ORDERS_BELOW = {
    NodeKind.ENGINE: "? <> ''",
    NodeKind.SCOPE: "scope_id IN (SELECT scope_id FROM scope_path WHERE ancestor_id = ?)",
    NodeKind.WORK_ORDER: "id = ?",
}


def cancel(
    tx: Tx, node: Node, actor: Actor, reason: str, key: str | None = None, *, now: Instant
) -> tuple[str, ...]:
    """Cancel everything below a node; return the ids of attempts that run and have to be stopped.

    Undispatched tasks end CANCELLED with claims released and approvals withdrawn, in one transaction. A work
    order with something in flight is CANCELLING until that has ended. Repeating it changes nothing.
    """
    require_node(tx, node)
    require_reason(reason, "cancel")
    if was_done(tx, key, "cancel", node):
        return ()
    remember_key(tx, key, "cancel", node.id, now)
    if node.kind is NodeKind.TASK:
        return _cancel_one_task(tx, node.id, actor, reason, now)
    running: list[str] = []
    orders = tx.all(
        f"""SELECT * FROM work_order WHERE ended_at IS NULL AND state <> 'CANCELLING'
            AND {_ORDERS_BELOW[node.kind]} ORDER BY number""",
        (node.id,),
    )
    if node.kind is NodeKind.WORK_ORDER and not orders:
        order = tx.one("SELECT state FROM work_order WHERE id = ?", (node.id,))
        assert order is not None
        if order["state"] in (WorkOrderState.CANCELLED, WorkOrderState.CANCELLING):
            return ()
        raise WrongState(
            f"The work order is {order['state']} and cannot be cancelled.",
            do="It has ended; submit a new one if there is more to do.",
            found=order["state"],
        )
    for order in orders:
        running += _cancel_order(tx, order, actor, reason, now)
    return tuple(running)


def request_stop(tx: Tx, attempt_id: str, actor: Actor, reason: str, *, now: Instant) -> bool:
    """Note that a person wants a running attempt stopped; False if it has ended already.

    What has been stopped is UNKNOWN: a kill proves nothing. One that was never delivered is VOIDED here.
    """
    attempt = attempt_row(tx, attempt_id)
    if attempt["state"] == AttemptState.DISPATCH_AUTHORIZED:
        void_attempt(tx, attempt, f"Stopped by {actor.name} before it was delivered.", now)
        move_work_order(
            tx,
            attempt["work_order_id"],
            WorkOrderState.DECISION_NEEDED,
            f"Stopped by {actor.name}: {reason}",
            actor,
            now,
        )
        return False
    if attempt["state"] not in (AttemptState.DELIVERED, AttemptState.ACKNOWLEDGED, AttemptState.RUNNING):
        return False
    if attempt["stop_requested_at"] is None:
        tx.run("UPDATE attempt SET stop_requested_at = ? WHERE id = ?", (now, attempt_id))
        tx.journal(
            "attempt.stop_requested",
            Subject("attempt", attempt_id),
            actor,
            now,
            work_order_id=attempt["work_order_id"],
            detail={"reason": reason},
        )
    return True


def _cancel_order(tx: Tx, order: sqlite3.Row, actor: Actor, reason: str, now: Instant) -> list[str]:
    for task in tx.all(
        "SELECT * FROM task WHERE work_order_id = ? AND state IN ('WAITING', 'READY', 'CLAIMED')",
        (order["id"],),
    ):
        cancel_task(tx, task, actor, reason, now)
    running: list[str] = []
    for attempt in tx.all(
        """SELECT * FROM attempt WHERE work_order_id = ? AND state IN
             ('DISPATCH_AUTHORIZED', 'DELIVERED', 'ACKNOWLEDGED', 'RUNNING')""",
        (order["id"],),
    ):
        if attempt["state"] == AttemptState.DISPATCH_AUTHORIZED:
            void_attempt(tx, attempt, "Cancelled before it was delivered; nothing was started.", now)
            move_task(tx, attempt["task_id"], TaskState.CANCELLED, actor=actor, now=now, reason=reason)
        elif request_stop(tx, attempt["id"], actor, reason, now=now):
            running.append(attempt["id"])
    if order["state"] == WorkOrderState.AWAITING_ACCEPTANCE:
        move_work_order(tx, order["id"], WorkOrderState.CANCELLED, reason, actor, now)
    else:
        move_work_order(tx, order["id"], WorkOrderState.CANCELLING, reason, actor, now)
        finish_cancelling(tx, order["id"], now)
    return running


def _cancel_one_task(tx: Tx, task_id: str, actor: Actor, reason: str, now: Instant) -> tuple[str, ...]:
    task = task_row(tx, task_id)
    if task["state"] == TaskState.CANCELLED:
        return ()
    if task["state"] == TaskState.DISPATCHED:
        attempt = tx.one("SELECT * FROM attempt WHERE task_id = ? ORDER BY ordinal DESC LIMIT 1", (task_id,))
        assert attempt is not None
        if attempt["state"] != AttemptState.DISPATCH_AUTHORIZED:
            return (attempt["id"],) if request_stop(tx, attempt["id"], actor, reason, now=now) else ()
        void_attempt(tx, attempt, "Cancelled before it was delivered; nothing was started.", now)
        task = task_row(tx, task_id)
    if task["state"] not in (TaskState.WAITING, TaskState.READY, TaskState.CLAIMED):
        raise WrongState(
            f"The task is {task['state']} and cannot be cancelled.",
            do="Say first whether it took effect."
            if task["state"] == TaskState.UNKNOWN
            else "It has ended; decide about the work order instead.",
            found=task["state"],
        )
    cancel_task(tx, task, actor, reason, now)
    order = tx.one("SELECT state FROM work_order WHERE id = ?", (task["work_order_id"],))
    if order is not None and order["state"] == WorkOrderState.ACTIVE:
        move_work_order(
            tx,
            task["work_order_id"],
            WorkOrderState.DECISION_NEEDED,
            f"Its task was cancelled: {reason}",
            actor,
            now,
        )
    return ()


def cancel_task(tx: Tx, task: sqlite3.Row, actor: Actor, reason: str, now: Instant) -> None:
    """End a task that is WAITING, READY or CLAIMED: claim released, request for approval withdrawn."""
    if task["state"] == TaskState.CLAIMED:
        claim = tx.one("SELECT * FROM claim WHERE task_id = ? AND state = 'LIVE'", (task["id"],))
        if claim is not None:
            end_claim(tx, claim, ClaimState.RELEASED, actor, reason, now)
    approval = tx.one(
        "SELECT * FROM approval WHERE task_id = ? AND state IN ('PENDING', 'APPROVED')", (task["id"],)
    )
    move_task(tx, task["id"], TaskState.CANCELLED, actor=actor, now=now, reason=reason)
    if approval is not None:
        end_approval(tx, approval, ApprovalState.WITHDRAWN, actor, reason, now)
