"""Delivery: carrying an authorised attempt to its worker, once (E-50), and what a restart makes of it (E-51)."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from engine.actors import ENGINE, Actor, ActorKind
from engine.dispatch.budgets import move_exposure
from engine.errors import Fenced, NotFound, WrongState
from engine.ids import new_id
from engine.instants import Instant, require_batch
from engine.scheduling.tasks import move_task, task_row
from engine.scheduling.transition import ATTEMPT, transition
from engine.states import AttemptState, ExposureState, Outcome, TaskState
from engine.storage import Rx, Subject, Tx, require_epoch


@dataclass(frozen=True, slots=True)
class Delivery:
    """The single record of the worker that took an intent."""

    id: str
    attempt_id: str


def deliver(tx: Tx, intent_id: str, worker_id: str, epoch: int, *, now: Instant) -> Delivery:
    """Take an intent: only its own worker, only under its epoch, only while DISPATCH_AUTHORIZED, once."""
    require_epoch(tx, epoch)
    intent = tx.one("SELECT * FROM intent WHERE id = ?", (intent_id,))
    if intent is None:
        raise NotFound(f"Intent {intent_id} does not exist.", do="Claim a task first.")
    if intent["worker_id"] != worker_id or intent["epoch"] != epoch:
        raise Fenced(
            f"The intent is for worker {intent['worker_id']} under epoch {intent['epoch']}.",
            do="Claim a task of your own.",
        )
    attempt = _step(tx, intent["attempt_id"], AttemptState.DELIVERED, worker_id, now)
    delivery_id = new_id(now)
    tx.run(
        """INSERT INTO delivery(id, intent_id, attempt_id, worker_id, epoch, delivered_at)
           VALUES (?, ?, ?, ?, ?, ?)""",
        (delivery_id, intent_id, attempt["id"], worker_id, epoch, now),
    )
    tx.boundary("delivery")
    return Delivery(delivery_id, attempt["id"])


def acknowledge(tx: Tx, delivery_id: str, worker_id: str, epoch: int, *, now: Instant) -> None:
    """Commit that the worker has the attempt and is about to start it (before any process starts)."""
    delivery = own_delivery(tx, delivery_id, worker_id, epoch)
    _step(tx, delivery["attempt_id"], AttemptState.ACKNOWLEDGED, worker_id, now)
    tx.run("UPDATE delivery SET acknowledged_at = ? WHERE id = ?", (now, delivery_id))
    tx.boundary("acknowledgement")


def record_started(
    tx: Tx, delivery_id: str, worker_id: str, epoch: int, pid: int, started: str, boot: str, *, now: Instant
) -> None:
    """Commit the identity of the started process: pid, its start time, and the boot (E-54)."""
    delivery = own_delivery(tx, delivery_id, worker_id, epoch)
    _step(tx, delivery["attempt_id"], AttemptState.RUNNING, worker_id, now)
    tx.run(
        """UPDATE delivery SET started_at = ?, process_pid = ?, process_started = ?, process_boot = ?
           WHERE id = ?""",
        (now, pid, started, boot, delivery_id),
    )
    tx.boundary("start")


def own_delivery(tx: Tx, delivery_id: str, worker_id: str, epoch: int) -> sqlite3.Row:
    """The row of a delivery that this worker took under this, the current, epoch; a typed refusal otherwise."""
    require_epoch(tx, epoch)
    delivery = tx.one("SELECT * FROM delivery WHERE id = ?", (delivery_id,))
    if delivery is None:
        raise NotFound(f"Delivery {delivery_id} does not exist.", do="Take the intent first.")
    if delivery["worker_id"] != worker_id or delivery["epoch"] != epoch:
        raise Fenced(
            f"The delivery belongs to worker {delivery['worker_id']} under epoch {delivery['epoch']}.",
            do="Stop; another worker or coordinator has taken over.",
        )
    return delivery


def settle_abandoned_attempts(tx: Tx, epoch: int, limit: int = 100, *, now: Instant) -> tuple[str, ...]:
    """Judge at most ``limit`` attempts that an earlier epoch left in flight (E-51); return their ids.

    Never delivered: VOIDED, provably not started, exposure released, the task READY behind a new approval.
    Delivered, acknowledged or running: UNKNOWN with its exposure kept.
    """
    require_epoch(tx, epoch)
    require_batch(limit)
    rows = tx.all(
        """SELECT * FROM attempt WHERE epoch < ? AND state IN
             ('DISPATCH_AUTHORIZED', 'DELIVERED', 'ACKNOWLEDGED', 'RUNNING') ORDER BY epoch, id LIMIT ?""",
        (epoch, limit),
    )
    for attempt in rows:
        if attempt["state"] == AttemptState.DISPATCH_AUTHORIZED:
            void_attempt(tx, attempt, "The console ended before it was delivered; nothing was started.", now)
        else:
            mark_unknown(
                tx,
                attempt,
                "console_lost",
                "The console ended while this attempt was in its hands; whether it took effect is not known.",
                ENGINE,
                now,
            )
    return tuple(row["id"] for row in rows)


def void_attempt(tx: Tx, attempt: sqlite3.Row, reason: str, now: Instant) -> None:
    """End an attempt that provably started nothing: exposure released, task READY behind a new approval."""
    transition(
        tx, ATTEMPT, attempt["id"], AttemptState.VOIDED, reason_code="voided", reason=reason, ended_at=now
    )
    move_exposure(tx, attempt["id"], ExposureState.RELEASED, now)
    _journal(tx, attempt, "attempt.voided", ENGINE, now, {"reason": reason})
    move_task(
        tx,
        attempt["task_id"],
        TaskState.READY,
        actor=ENGINE,
        now=now,
        reason=reason,
        approval_id=None,
        ready_at=now,
    )


def mark_unknown(
    tx: Tx, attempt: sqlite3.Row, reason_code: str, reason: str, actor: Actor, now: Instant
) -> None:
    """Say that the engine cannot truthfully tell whether the effect happened; exposure is frozen whole."""
    transition(
        tx,
        ATTEMPT,
        attempt["id"],
        AttemptState.UNKNOWN,
        outcome=Outcome.UNKNOWN,
        reason_code=reason_code,
        reason=reason,
        ended_at=now,
    )
    move_exposure(tx, attempt["id"], ExposureState.FROZEN, now)
    _journal(tx, attempt, "attempt.unknown", actor, now, {"reason_code": reason_code, "reason": reason})
    # A task that ended before its validation turned out UNKNOWN keeps the end that was observed.
    if task_row(tx, attempt["task_id"])["state"] == TaskState.DISPATCHED:
        move_task(tx, attempt["task_id"], TaskState.UNKNOWN, actor=actor, now=now, reason=reason)


def attempt_row(rx: Rx, attempt_id: str) -> sqlite3.Row:
    """The row of an attempt; `NotFound` if there is none."""
    row = rx.one("SELECT * FROM attempt WHERE id = ?", (attempt_id,))
    if row is None:
        raise NotFound(f"Attempt {attempt_id} does not exist.", do="Look at the work order for its attempts.")
    return row


def _step(tx: Tx, attempt_id: str, to: AttemptState, worker_id: str, now: Instant) -> sqlite3.Row:
    try:
        attempt = transition(tx, ATTEMPT, attempt_id, to)
    except WrongState as error:
        raise WrongState(
            f"The attempt is {error.facts['found']} and cannot become {to}.",
            means="It was delivered before, or its authority has ended.",
            do="Do not start anything for it.",
            found=error.facts["found"],
        ) from None
    _journal(tx, attempt, f"attempt.{to.lower()}", Actor(ActorKind.WORKER, worker_id), now, {})
    return attempt


def _journal(
    tx: Tx, attempt: sqlite3.Row, kind: str, actor: Actor, now: Instant, detail: dict[str, object]
) -> None:
    tx.journal(
        kind,
        Subject("attempt", attempt["id"]),
        actor,
        now,
        work_order_id=attempt["work_order_id"],
        detail=detail,
    )
