"""The composed workflow: what follows from each outcome, in the transaction that records it (E-60 to E-64, E-74).

approval → implementation → validation → correction → validation → acceptance by a person. Each step is made by the
commit that ends the one before, so a kill at any boundary leaves either the old step or the next one.
"""

from __future__ import annotations

import sqlite3

from engine.actors import ENGINE, Actor, ActorKind
from engine.dispatch.approvals import grant_covered
from engine.dispatch.delivery import attempt_row, mark_unknown
from engine.dispatch.grants import life_left, still_in_force
from engine.dispatch.restores import given_before_restore
from engine.dispatch.work_orders import spec_of, work_order_row
from engine.errors import InvalidValue, NotFound, WrongState
from engine.execution.record import Observation, record_observation
from engine.ids import new_id
from engine.instants import Instant, require_batch
from engine.scheduling.tasks import TaskSource, create_task, move_task, task_row
from engine.scheduling.transition import WORK_ORDER, transition
from engine.states import AttemptState, Outcome, Purpose, TaskState, Verdict, WorkOrderState
from engine.storage import Rx, Subject, Tx, require_epoch
from engine.validation.handoffs import hand_over, take_up
from engine.validation.settlement import require_actual, settle
from engine.work_order import ValidatedBy


def conclude_execution(
    tx: Tx, delivery_id: str, worker_id: str, epoch: int, observation: Observation, *, now: Instant
) -> None:
    """Record what was observed and take the workflow's next step in the same transaction."""
    attempt = record_observation(tx, delivery_id, worker_id, epoch, observation, now=now)
    tx.boundary("evidence")
    if attempt["state"] == AttemptState.EXECUTED:
        hand_over(tx, attempt, now)
        if attempt["purpose"] == Purpose.VALIDATE:
            _after_validation_run(tx, attempt, now)
        else:
            _after_implementation_run(tx, attempt, now)
    elif attempt["state"] == AttemptState.VOIDED:
        _after_stopped_first(tx, attempt, now)
    finish_cancelling(tx, attempt["work_order_id"], now)


def record_validation(
    tx: Tx,
    attempt_id: str,
    verdict: Verdict,
    *,
    judged_by: str,
    actor: Actor,
    now: Instant,
    validating_attempt_id: str | None = None,
    cost: int | None = None,
    reason: str = "",
) -> sqlite3.Row:
    """Judge one attempt against its criteria; recording again returns the durable first result (E-60).

    PASSED and FAILED settle the attempt and move the work order on; UNKNOWN freezes its exposure (E-64).
    """
    first = validation_of(tx, attempt_id)
    if first is not None:
        return first
    attempt = attempt_row(tx, attempt_id)
    order = work_order_row(tx, attempt["work_order_id"])
    evidence = tx.one("SELECT id FROM evidence WHERE attempt_id = ?", (validating_attempt_id or attempt_id,))
    if attempt["state"] != AttemptState.EXECUTED:
        raise WrongState(
            f"The attempt is {attempt['state']}; only an executed attempt can be judged.",
            do="Wait until it has run, or reconcile it if it is UNKNOWN.",
            found=attempt["state"],
        )
    exhausted = verdict is Verdict.FAILED and order["corrections_made"] >= order["corrections_allowed"]
    if verdict is Verdict.UNKNOWN:
        mark_unknown(
            tx, attempt, "validation_unknown", reason or "The validation gave no clear answer.", actor, now
        )
    else:
        attempt = settle(
            tx, attempt, actor, now, cost=cost, source="person" if cost is not None else "reported"
        )
    validation_id = new_id(now)
    row = tx.one(
        """INSERT INTO validation(id, attempt_id, task_id, work_order_id, outcome, judged_by, criteria, evidence_id,
             validating_attempt_id, actual_cost, actual_active_ms, correction_exhausted, reason, actor_kind, actor,
             recorded_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING *""",
        (
            validation_id,
            attempt_id,
            attempt["task_id"],
            order["id"],
            verdict,
            judged_by,
            spec_of(order).validation.criteria,
            evidence["id"] if evidence is not None else None,
            validating_attempt_id,
            attempt["actual_cost"] if verdict is not Verdict.UNKNOWN else None,
            attempt["actual_active_ms"] if verdict is not Verdict.UNKNOWN else None,
            int(exhausted),
            reason,
            actor.kind,
            actor.name,
            now,
        ),
    )
    assert row is not None
    tx.journal(
        "validation.recorded",
        Subject("validation", validation_id),
        actor,
        now,
        work_order_id=order["id"],
        detail={
            "attempt": attempt_id,
            "outcome": verdict,
            "judged_by": judged_by,
            "evidence": row["evidence_id"],
            "correction_exhausted": exhausted,
            "reason": reason,
        },
    )
    tx.boundary("validation")
    if order["state"] == WorkOrderState.CANCELLING:
        return row
    if verdict is Verdict.PASSED:
        move_work_order(
            tx,
            order["id"],
            WorkOrderState.AWAITING_ACCEPTANCE,
            "Validation passed; accept or reject the work.",
            ENGINE,
            now,
        )
    elif verdict is Verdict.FAILED and exhausted:
        move_work_order(
            tx,
            order["id"],
            WorkOrderState.DECISION_NEEDED,
            _exhausted_sentence(judged_by, reason),
            ENGINE,
            now,
        )
    elif verdict is Verdict.FAILED:
        start_correction(tx, order, row, ENGINE, now)
    return row


def _exhausted_sentence(judged_by: str, reason: str) -> str:
    what = f"The step itself failed: {reason}" if judged_by == "execution" else "Validation failed."
    return f"{what} No correction is left."


def validation_of(rx: Rx, attempt_id: str) -> sqlite3.Row | None:
    """The validation recorded for an attempt, or None."""
    return rx.one("SELECT * FROM validation WHERE attempt_id = ?", (attempt_id,))


def validate_by_person(
    tx: Tx,
    attempt_id: str,
    verdict: Verdict,
    actor: Actor,
    reason: str,
    cost: int | None = None,
    *,
    now: Instant,
) -> sqlite3.Row:
    """A person's judgement of an executed attempt whose work order is judged by a person."""
    attempt = attempt_row(tx, attempt_id)
    order = work_order_row(tx, attempt["work_order_id"])
    first = validation_of(tx, attempt_id)
    if first is not None:
        return first
    spec = spec_of(order)
    if spec.validation.by is not ValidatedBy.PERSON:
        raise WrongState(
            "This work order is judged by its validation command.", do="Wait for the command's result."
        )
    if not reason.strip():
        raise InvalidValue("A judgement needs a reason.", do="Say what you looked at.")
    require_actual("cost", cost)
    if order["state"] == WorkOrderState.DECISION_NEEDED:
        move_work_order(tx, order["id"], WorkOrderState.ACTIVE, "", actor, now)
    return record_validation(
        tx, attempt_id, verdict, judged_by="person", actor=actor, now=now, cost=cost, reason=reason
    )


def start_correction(tx: Tx, order: sqlite3.Row, validation: sqlite3.Row, actor: Actor, now: Instant) -> str:
    """Make one CORRECT task that refers to what failed; it passes the same gates as any other (E-62).

    It takes up what the stage that found the fault handed over.
    """
    spec = spec_of(order)
    tx.run("UPDATE work_order SET corrections_made = corrections_made + 1 WHERE id = ?", (order["id"],))
    task_id = create_task(
        tx,
        order,
        Purpose.CORRECT,
        spec.correction.command or spec.implementation,
        actor=actor,
        now=now,
        source=TaskSource(validation["task_id"], validation["attempt_id"], validation["id"]),
    )
    judged_by = validation["validating_attempt_id"] or validation["attempt_id"]
    take_up(tx, attempt_row(tx, judged_by), task_id, now)
    return task_id


def start_validation(tx: Tx, attempt: sqlite3.Row, actor: Actor, now: Instant) -> str:
    """Make the VALIDATE task of an executed attempt, approved already if one look covered both (E-42b)."""
    order = work_order_row(tx, attempt["work_order_id"])
    spec = spec_of(order)
    assert spec.validation.command is not None
    task_id = create_task(
        tx,
        order,
        Purpose.VALIDATE,
        spec.validation.command,
        actor=actor,
        now=now,
        source=TaskSource(attempt["task_id"], attempt["id"]),
    )
    take_up(tx, attempt, task_id, now)
    approval = tx.one("SELECT * FROM approval WHERE id = ?", (attempt["approval_id"],))
    if (
        approval is not None
        and approval["covers_validation"]
        and not given_before_restore(tx, approval["id"])
        and still_in_force(tx, approval["id"], now)
    ):
        life_ms = life_left(tx, approval["id"], spec.approval_life_ms, now)
        grant_covered(tx, approval, task_row(tx, task_id), life_ms, now=now)
    return task_id


def last_result(rx: Rx, work_order_id: str) -> sqlite3.Row:
    """The newest attempt of a work order that implements or corrects; `NotFound` if there is none."""
    row = rx.one(
        """SELECT attempt.* FROM attempt JOIN task ON task.id = attempt.task_id
           WHERE attempt.work_order_id = ? AND attempt.purpose IN ('IMPLEMENT', 'CORRECT')
           ORDER BY task.ordinal DESC, attempt.ordinal DESC LIMIT 1""",
        (work_order_id,),
    )
    if row is None:
        raise NotFound("The work order has no attempt yet.", do="Approve its implementation first.")
    return row


def move_work_order(
    tx: Tx,
    work_order_id: str,
    to: WorkOrderState,
    reason: str,
    actor: Actor,
    now: Instant,
    **values: object,
) -> sqlite3.Row:
    """Take one legal step of a work order and journal why."""
    ends = to in (WorkOrderState.ACCEPTED, WorkOrderState.REJECTED, WorkOrderState.CANCELLED)
    row = transition(
        tx,
        WORK_ORDER,
        work_order_id,
        to,
        state_reason=reason,
        changed_at=now,
        ended_at=now if ends else None,
        **values,
    )
    tx.journal(
        f"work_order.{to.lower()}",
        Subject("work_order", work_order_id),
        actor,
        now,
        work_order_id=work_order_id,
        detail={"reason": reason},
    )
    return row


def finish_cancelling(tx: Tx, work_order_id: str, now: Instant) -> None:
    """CANCELLING becomes CANCELLED once nothing of the work order is in flight (E-71)."""
    order = work_order_row(tx, work_order_id)
    if order["state"] != WorkOrderState.CANCELLING:
        return
    in_flight = tx.one(
        """SELECT 1 FROM attempt WHERE work_order_id = ? AND state IN
             ('DISPATCH_AUTHORIZED', 'DELIVERED', 'ACKNOWLEDGED', 'RUNNING') LIMIT 1""",
        (work_order_id,),
    )
    if in_flight is not None:
        return
    for attempt in tx.all(
        "SELECT * FROM attempt WHERE work_order_id = ? AND state = 'EXECUTED'", (work_order_id,)
    ):
        settle(tx, attempt, ENGINE, now)
    move_work_order(tx, work_order_id, WorkOrderState.CANCELLED, order["state_reason"], ENGINE, now)


def finish_cancelled_orders(tx: Tx, epoch: int, limit: int = 100, *, now: Instant) -> tuple[str, ...]:
    """Finish at most ``limit`` CANCELLING work orders of which nothing is in flight any more; return their ids.

    Needed after a restart, when what was in flight ended without its worker.
    """
    require_epoch(tx, epoch)
    require_batch(limit)
    rows = tx.all(
        """SELECT id FROM work_order WHERE state = 'CANCELLING' AND NOT EXISTS (
             SELECT 1 FROM attempt WHERE attempt.work_order_id = work_order.id AND attempt.state IN
               ('DISPATCH_AUTHORIZED', 'DELIVERED', 'ACKNOWLEDGED', 'RUNNING'))
           ORDER BY number LIMIT ?""",
        (limit,),
    )
    for row in rows:
        finish_cancelling(tx, row["id"], now)
    return tuple(row["id"] for row in rows)


def _after_stopped_first(tx: Tx, attempt: sqlite3.Row, now: Instant) -> None:
    """Nothing had begun: a cancelled order's task ends; a person's stop asks for a decision; else it is asked again."""
    order = work_order_row(tx, attempt["work_order_id"])
    if order["state"] == WorkOrderState.CANCELLING:
        move_task(
            tx, attempt["task_id"], TaskState.CANCELLED, actor=ENGINE, now=now, reason=order["state_reason"]
        )
    elif attempt["stop_requested_at"] is not None:
        move_work_order(
            tx, order["id"], WorkOrderState.DECISION_NEEDED, "It was stopped before it started.", ENGINE, now
        )


def _after_implementation_run(tx: Tx, attempt: sqlite3.Row, now: Instant) -> None:
    order = work_order_row(tx, attempt["work_order_id"])
    if order["state"] == WorkOrderState.CANCELLING:
        return
    if attempt["outcome"] == Outcome.FAILED:
        record_validation(
            tx,
            attempt["id"],
            Verdict.FAILED,
            judged_by="execution",
            actor=Actor(ActorKind.WORKER, attempt["worker_id"]),
            now=now,
            reason=attempt["reason"],
        )
    elif spec_of(order).validation.by is ValidatedBy.PERSON:
        move_work_order(
            tx, order["id"], WorkOrderState.DECISION_NEEDED, "Judge the result by its criteria.", ENGINE, now
        )
    else:
        start_validation(tx, attempt, ENGINE, now)


def _after_validation_run(tx: Tx, attempt: sqlite3.Row, now: Instant) -> None:
    """A validation command has run: settle its own attempt, then judge the attempt it looked at."""
    worker = Actor(ActorKind.WORKER, attempt["worker_id"])
    settled = settle(tx, attempt, worker, now)
    judged = task_row(tx, attempt["task_id"])["source_attempt_id"]
    order = work_order_row(tx, attempt["work_order_id"])
    if order["state"] == WorkOrderState.CANCELLING:
        return
    if settled["cost_source"] == "never_started":
        move_work_order(
            tx,
            order["id"],
            WorkOrderState.DECISION_NEEDED,
            f"The validation could not start: {attempt['reason']}",
            ENGINE,
            now,
        )
        return
    verdict = Verdict.PASSED if attempt["outcome"] == Outcome.SUCCEEDED else Verdict.FAILED
    record_validation(
        tx,
        judged,
        verdict,
        judged_by="command",
        actor=worker,
        now=now,
        validating_attempt_id=attempt["id"],
        reason=attempt["reason"],
    )
