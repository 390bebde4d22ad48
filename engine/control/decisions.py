"""A person's decisions about a work order: accept, reject, one more correction, validate again, reconcile."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from enum import StrEnum

from engine.actors import Actor
from engine.control.cancel import cancel, cancel_task
from engine.control.holds import Node
from engine.control.proofs import KeptProof
from engine.dispatch.approvals import LONGEST_REASON, Sealed, require_reason
from engine.dispatch.budgets import move_exposure
from engine.dispatch.delivery import attempt_row
from engine.dispatch.work_orders import create_work_order, spec_of, work_order_row
from engine.errors import InvalidValue, WrongState
from engine.ids import new_id
from engine.instants import Instant
from engine.scheduling.tasks import move_task
from engine.scheduling.transition import ATTEMPT, transition
from engine.states import (
    AttemptState,
    ExposureState,
    NodeKind,
    Outcome,
    Purpose,
    TaskState,
    Verdict,
    WorkOrderState,
)
from engine.storage import Rx, Subject, Tx
from engine.validation.handoffs import hand_over, take_up_by_person
from engine.validation.settlement import require_actual, settle
from engine.validation.workflow import (
    last_result,
    move_work_order,
    start_correction,
    start_validation,
    validation_of,
)
from engine.work_order import ValidatedBy, WorkOrderSpec


class Finding(StrEnum):
    """What a person found out about an UNKNOWN (E-72)."""

    TOOK_EFFECT = "took_effect"
    DID_NOT = "did_not"
    STILL_UNKNOWN = "still_unknown"


ENDING = frozenset({Finding.TOOK_EFFECT, Finding.DID_NOT})
"""The findings that end an UNKNOWN; each needs proof."""


_PROVES_NOTHING = "A validation that gave no result proves nothing about the work."
_IT_RAN = "The attempt ran and its validation is UNKNOWN; it cannot be said not to have happened."


def accept(tx: Tx, work_order_id: str, actor: Actor, reason: str = "", *, now: Instant) -> sqlite3.Row:
    """Accept validated work; accepting again returns the same."""
    order = work_order_row(tx, work_order_id)
    if order["state"] == WorkOrderState.ACCEPTED:
        return order
    if order["state"] != WorkOrderState.AWAITING_ACCEPTANCE:
        raise WrongState(
            f"WO-{order['number']} is {order['state']}; only work whose validation has passed can be accepted.",
            means="Nothing was changed.",
            do="Look at the work order for what it waits for.",
            found=order["state"],
        )
    order = move_work_order(tx, work_order_id, WorkOrderState.ACCEPTED, reason, actor, now)
    take_up_by_person(tx, work_order_id, actor, now)
    _record(tx, order, "accepted", actor, reason, now)
    tx.boundary("acceptance")
    return order


def reject_work(tx: Tx, work_order_id: str, actor: Actor, reason: str, *, now: Instant) -> sqlite3.Row:
    """Reject the work of an order that awaits acceptance or a decision; the reason is required."""
    order = work_order_row(tx, work_order_id)
    if order["state"] == WorkOrderState.REJECTED:
        return order
    require_reason(reason, "reject the work")
    for attempt in tx.all(
        "SELECT * FROM attempt WHERE work_order_id = ? AND state = 'EXECUTED'", (work_order_id,)
    ):
        settle(tx, attempt, actor, now)
    order = move_work_order(tx, work_order_id, WorkOrderState.REJECTED, reason, actor, now)
    for task in tx.all(
        "SELECT * FROM task WHERE work_order_id = ? AND state IN ('WAITING', 'READY', 'CLAIMED')",
        (work_order_id,),
    ):
        cancel_task(tx, task, actor, "work rejected", now)
    _record(tx, order, "rejected", actor, reason, now)
    return order


def allow_correction(tx: Tx, work_order_id: str, actor: Actor, reason: str, *, now: Instant) -> str:
    """Allow one more correction after the rule was exhausted (E-63); return the new task's id."""
    require_reason(reason, "allow one more correction")
    order = work_order_row(tx, work_order_id)
    validation = validation_of(tx, last_result(tx, work_order_id)["id"])
    if (
        order["state"] != WorkOrderState.DECISION_NEEDED
        or validation is None
        or validation["outcome"] != Verdict.FAILED
        or _unfinished_task(tx, work_order_id) is not None
    ):
        raise WrongState(
            f"The work order is {order['state']}; a correction follows a failed validation with nothing after it.",
            do="Look at the work order for what it needs.",
            found=order["state"],
        )
    tx.run("UPDATE work_order SET corrections_allowed = corrections_made + 1 WHERE id = ?", (work_order_id,))
    order = move_work_order(tx, work_order_id, WorkOrderState.ACTIVE, "", actor, now)
    _record(tx, order, "correction_allowed", actor, reason, now)
    return start_correction(tx, order, validation, actor, now)


def replan(
    tx: Tx,
    work_order_id: str,
    spec: WorkOrderSpec,
    lane: str,
    sealed: Sealed,
    actor: Actor,
    reason: str,
    key: str | None,
    *,
    now: Instant,
) -> tuple[str, tuple[str, ...]]:
    """End a work order and make another in its place, in one commit (E-63).

    What awaits a person is rejected, anything else is cancelled as `cancel` does. Returns the new work order's id,
    and the attempts that run and have to be stopped. A repeat with the same ``key`` changes nothing.
    """
    known = tx.one("SELECT id FROM work_order WHERE request_key = ?", (key,)) if key is not None else None
    if known is not None:
        return str(known["id"]), ()
    require_reason(reason, "replan")
    order = work_order_row(tx, work_order_id)
    if "replan" not in possible(tx, order):
        raise WrongState(
            f"The work order is {order['state']} and cannot be replanned.",
            do="Submit a new work order instead.",
            found=order["state"],
        )
    replacement = create_work_order(tx, spec, lane, sealed, actor, key, now=now)
    number = work_order_row(tx, replacement)["number"]
    _record(tx, order, "replanned", actor, reason, now, detail={"work_order": replacement, "number": number})
    why = f"Replanned as WO-{number}: {reason}"[:LONGEST_REASON]
    if order["state"] in (WorkOrderState.AWAITING_ACCEPTANCE, WorkOrderState.DECISION_NEEDED):
        reject_work(tx, work_order_id, actor, why, now=now)
        return replacement, ()
    return replacement, cancel(tx, Node(NodeKind.WORK_ORDER, work_order_id), actor, why, now=now)


def validate_again(tx: Tx, work_order_id: str, actor: Actor, reason: str, *, now: Instant) -> str:
    """Make a new VALIDATE task for a result that was executed but not judged; return its id."""
    require_reason(reason, "validate again")
    order = work_order_row(tx, work_order_id)
    attempt = last_result(tx, work_order_id)
    if (
        order["state"] != WorkOrderState.DECISION_NEEDED
        or attempt["state"] != AttemptState.EXECUTED
        or spec_of(order).validation.by is not ValidatedBy.COMMAND
        or _unfinished_task(tx, work_order_id) is not None
    ):
        raise WrongState(
            "There is no executed result that waits for a validation by a command.",
            do="Look at the work order for what it needs.",
            found=order["state"],
        )
    order = move_work_order(tx, work_order_id, WorkOrderState.ACTIVE, "", actor, now)
    _record(tx, order, "validate_again", actor, reason, now)
    return start_validation(tx, attempt, actor, now)


def reconcile(
    tx: Tx,
    attempt_id: str,
    finding: Finding,
    actor: Actor,
    reason: str,
    cost: int | None = None,
    active_ms: int | None = None,
    proof: Sequence[KeptProof] = (),
    *,
    now: Instant,
) -> sqlite3.Row:
    """End an UNKNOWN by a person's recorded decision; nothing else does (E-72).

    TOOK_EFFECT: the attempt counts as executed with the given actual use and goes on to validation. DID_NOT: its
    exposure is released and the task is READY behind a new approval. STILL_UNKNOWN: a note; nothing moves.
    ``proof`` names kept blobs; the decision and the journal refer to them and to the evidence by digest. Raises
    `InvalidValue` if a finding that ends the UNKNOWN comes without any.
    """
    require_reason(reason, "reconcile")
    require_proof(finding, [one for one in proof if one.size])
    require_actual("cost", cost)
    require_actual("active_ms", active_ms)
    attempt = attempt_row(tx, attempt_id)
    if attempt["state"] != AttemptState.UNKNOWN:
        raise WrongState(
            f"The attempt is {attempt['state']}; only an UNKNOWN is reconciled.",
            do="Look at the attempt again; it may have been decided meanwhile.",
            found=attempt["state"],
        )
    order = work_order_row(tx, attempt["work_order_id"])
    evidence = tx.one("SELECT id, sha256 FROM evidence WHERE attempt_id = ?", (attempt_id,))
    _record(
        tx,
        order,
        f"reconciled.{finding}",
        actor,
        reason,
        now,
        attempt_id=attempt_id,
        detail={
            "evidence": evidence["id"] if evidence else None,
            "sha256": evidence["sha256"] if evidence else None,
            "proof": [{"name": one.name, "sha256": one.sha256, "size": one.size} for one in proof],
        },
        proof=proof,
    )
    if finding is Finding.TOOK_EFFECT:
        _took_effect(tx, attempt, order, actor, reason, cost, active_ms, now)
    elif finding is Finding.DID_NOT:
        _did_not(tx, attempt, order, actor, reason, now)
    return attempt_row(tx, attempt_id)


def require_proof(
    finding: Finding,
    proof: Sequence[object],
    do: str = "Attach a file that shows it, or write down what you looked at and what was there.",
) -> None:
    """Raise `InvalidValue`, which says what to ``do``, for a finding that ends an UNKNOWN and comes without proof."""
    if finding in ENDING and not proof:
        raise InvalidValue("To end an UNKNOWN, show what you saw.", means="Nothing was decided.", do=do)


def exits(rx: Rx, attempt: sqlite3.Row) -> tuple[tuple[Finding, str], ...]:
    """The three exits of an UNKNOWN attempt, each with why it is closed, "" if it is open."""
    took_effect = did_not = ""
    if attempt["purpose"] == Purpose.VALIDATE:
        took_effect = _PROVES_NOTHING
    if validation_of(rx, attempt["id"]) is not None:
        did_not = _IT_RAN
    if attempt["state"] != AttemptState.UNKNOWN:
        took_effect = did_not = f"The attempt is {attempt['state']}; only an UNKNOWN is reconciled."
    still = took_effect if attempt["state"] != AttemptState.UNKNOWN else ""
    return (
        (Finding.TOOK_EFFECT, took_effect),
        (Finding.DID_NOT, did_not),
        (Finding.STILL_UNKNOWN, still),
    )


def possible(rx: Rx, order: sqlite3.Row) -> tuple[str, ...]:
    """The decisions that a person can take about a work order now."""
    state = order["state"]
    if order["ended_at"] is not None:
        return ()
    if state == WorkOrderState.CANCELLING:
        return ("hold", "pause", "resume")
    words = ["hold", "pause", "resume", "cancel", "replan"]
    if state == WorkOrderState.AWAITING_ACCEPTANCE:
        words += ["accept", "reject"]
    if state == WorkOrderState.DECISION_NEEDED:
        words.append("reject")
        attempt = rx.one(
            """SELECT attempt.*, validation.outcome AS verdict FROM attempt
               JOIN task ON task.id = attempt.task_id
               LEFT JOIN validation ON validation.attempt_id = attempt.id
               WHERE attempt.work_order_id = ? AND attempt.purpose IN ('IMPLEMENT', 'CORRECT')
               ORDER BY task.ordinal DESC, attempt.ordinal DESC LIMIT 1""",
            (order["id"],),
        )
        unfinished = _unfinished_task(rx, order["id"])
        if unfinished is not None:
            words += ["ask_again"] if unfinished["state"] in (TaskState.WAITING, TaskState.READY) else []
        elif attempt is not None and attempt["verdict"] == Verdict.FAILED:
            words.append("allow_correction")
        elif attempt is not None and attempt["state"] == AttemptState.EXECUTED:
            judged_by = json.loads(order["spec"])["validation"]["by"]
            words.append("validate" if judged_by == "person" else "validate_again")
    return tuple(words)


def _unfinished_task(rx: Rx, work_order_id: str) -> sqlite3.Row | None:
    """The task of a work order that has still to run or runs; there is never more than one."""
    return rx.one(
        """SELECT id, state FROM task WHERE work_order_id = ?
           AND state IN ('WAITING', 'READY', 'CLAIMED', 'DISPATCHED')""",
        (work_order_id,),
    )


def _took_effect(
    tx: Tx,
    attempt: sqlite3.Row,
    order: sqlite3.Row,
    actor: Actor,
    reason: str,
    cost: int | None,
    active_ms: int | None,
    now: Instant,
) -> None:
    if attempt["purpose"] == Purpose.VALIDATE:
        raise WrongState(
            _PROVES_NOTHING,
            do="Say that it did not take effect; it can then be approved and run again.",
            found=attempt["state"],
        )
    judged = validation_of(tx, attempt["id"])
    move_exposure(tx, attempt["id"], ExposureState.RESERVED, now)
    attempt = transition(
        tx,
        ATTEMPT,
        attempt["id"],
        AttemptState.EXECUTED,
        outcome=Outcome.SUCCEEDED,
        reason_code="decided_by_person",
        reason=_found(attempt, "took effect", actor, reason),
        actual_cost=cost if cost is not None else attempt["actual_cost"],
        cost_source="person" if cost is not None else attempt["cost_source"],
        actual_active_ms=active_ms
        if active_ms is not None
        else (attempt["actual_active_ms"] or attempt["max_active_ms"]),
    )
    _journal_attempt(tx, attempt, actor, reason, now)
    task = tx.one("SELECT state FROM task WHERE id = ?", (attempt["task_id"],))
    if task is not None and task["state"] == TaskState.UNKNOWN:
        move_task(tx, attempt["task_id"], TaskState.SUCCEEDED, actor=actor, now=now, reason=reason)
        hand_over(tx, attempt, now)
    if order["ended_at"] is not None or order["state"] == WorkOrderState.CANCELLING:
        settle(tx, attempt, actor, now, cost=cost, source="person" if cost is not None else "reported")
    elif judged is None:
        _start_validation_or_ask(tx, attempt, order, actor, now)
    else:
        settle(tx, attempt, actor, now, cost=cost, source="person" if cost is not None else "reported")
        move_work_order(
            tx,
            order["id"],
            WorkOrderState.DECISION_NEEDED,
            "The validation stays UNKNOWN; decide by hand.",
            actor,
            now,
        )


def _start_validation_or_ask(
    tx: Tx, attempt: sqlite3.Row, order: sqlite3.Row, actor: Actor, now: Instant
) -> None:
    """Go on to the validation that the work order asks for: its command, or a person."""
    if json.loads(order["spec"])["validation"]["by"] == "person":
        move_work_order(
            tx, order["id"], WorkOrderState.DECISION_NEEDED, "Judge the result by its criteria.", actor, now
        )
    else:
        start_validation(tx, attempt, actor, now)


def _did_not(
    tx: Tx, attempt: sqlite3.Row, order: sqlite3.Row, actor: Actor, reason: str, now: Instant
) -> None:
    if validation_of(tx, attempt["id"]) is not None:
        raise WrongState(
            _IT_RAN,
            do="Say that it took effect, or that it is still unknown.",
            found=attempt["state"],
        )
    move_exposure(tx, attempt["id"], ExposureState.RELEASED, now)
    attempt = transition(
        tx,
        ATTEMPT,
        attempt["id"],
        AttemptState.VOIDED,
        reason_code="decided_by_person",
        reason=_found(attempt, "did not take effect", actor, reason),
    )
    _journal_attempt(tx, attempt, actor, reason, now)
    gone = order["ended_at"] is not None or order["state"] == WorkOrderState.CANCELLING
    move_task(
        tx,
        attempt["task_id"],
        TaskState.CANCELLED if gone else TaskState.READY,
        actor=actor,
        now=now,
        reason=reason,
        approval_id=None,
        ready_at=now,
    )


def _found(attempt: sqlite3.Row, what: str, actor: Actor, reason: str) -> str:
    """What a person found, with what was known before: that is what it was decided on."""
    ended = "" if reason.rstrip().endswith((".", "!", "?")) else "."
    return f"It {what}, as {actor.name} found: {reason.rstrip()}{ended} Known before: {attempt['reason']}"


def _journal_attempt(tx: Tx, attempt: sqlite3.Row, actor: Actor, reason: str, now: Instant) -> None:
    tx.journal(
        "attempt.reconciled",
        Subject("attempt", attempt["id"]),
        actor,
        now,
        work_order_id=attempt["work_order_id"],
        detail={"state": attempt["state"], "reason": reason},
    )


def _record(
    tx: Tx,
    order: sqlite3.Row,
    kind: str,
    actor: Actor,
    reason: str,
    now: Instant,
    *,
    attempt_id: str | None = None,
    detail: dict[str, object] | None = None,
    proof: Sequence[KeptProof] = (),
) -> None:
    decision_id = new_id(now)
    tx.run(
        """INSERT INTO decision(id, work_order_id, attempt_id, kind, actor_kind, actor, reason, detail, decided_at)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            decision_id,
            order["id"],
            attempt_id,
            kind,
            actor.kind,
            actor.name,
            reason,
            json.dumps(detail or {}),
            now,
        ),
    )
    for ordinal, one in enumerate(proof, 1):
        tx.run(
            "INSERT INTO decision_proof(decision_id, ordinal, name, sha256, size) VALUES (?, ?, ?, ?, ?)",
            (decision_id, ordinal, one.name, one.sha256, one.size),
        )
    tx.journal(
        f"decision.{kind}",
        Subject("decision", decision_id),
        actor,
        now,
        work_order_id=order["id"],
        detail={"attempt": attempt_id, "reason": reason, **(detail or {})},
    )
