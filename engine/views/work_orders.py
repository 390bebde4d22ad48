"""Reads of work orders: the list, one story, tasks and attempts."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from typing import Literal, TypeAlias

from engine.actors import Actor
from engine.control.decisions import possible
from engine.dispatch.work_orders import work_order_row
from engine.errors import InvalidValue, NotFound
from engine.instants import Instant, require_batch
from engine.scheduling.gates import explain
from engine.states import (
    ApprovalState,
    AttemptState,
    HoldKind,
    NodeKind,
    Outcome,
    Partition,
    Purpose,
    TaskState,
    Verdict,
    WorkOrderState,
)
from engine.storage import Rx
from engine.views.grants import given_by
from engine.views.handoffs import handoffs
from engine.views.inbox import budget_lines
from engine.views.journal import journal_of_work_order
from engine.views.rows import actor_of
from engine.views.values import (
    AttemptRow,
    DecisionRow,
    HoldRow,
    ProofRef,
    TaskRow,
    ValidationRow,
    WorkOrderRow,
    WorkOrderStory,
)

Asked: TypeAlias = Literal["work_order", "task", "attempt", "approval"]
"""What belongs to a work order, and so to who asked for it."""

STORY_JOURNAL_ROWS = 200
_UNDECIDED = "UNKNOWN: a person has to decide whether it took effect."

_ORDERS = """
    SELECT work_order.*, part.spent_cost, part.reserved_cost + part.frozen_cost AS held_cost, part.cost_limit,
      task.id AS task_id, task.purpose AS task_purpose, task.state AS task_state,
      EXISTS (SELECT 1 FROM attempt WHERE attempt.work_order_id = work_order.id AND attempt.state = 'UNKNOWN')
        AS unknown
    FROM work_order
    JOIN scope_partition AS part ON part.scope_id = work_order.scope_id AND part.partition = 'EXECUTION'
    LEFT JOIN task ON task.work_order_id = work_order.id AND task.ordinal =
      (SELECT max(ordinal) FROM task AS newest WHERE newest.work_order_id = work_order.id)"""

_ATTEMPTS = """
    SELECT attempt.*, work_order.number, work_order.title, work_order.workspace, approval.plan,
      delivery.started_at, delivery.process_pid, evidence.id AS evidence_id,
      CASE WHEN attempt.reason_code = 'decided_by_person' THEN
        (SELECT actor FROM decision WHERE decision.attempt_id = attempt.id
           AND decision.kind IN ('reconciled.took_effect', 'reconciled.did_not')
         ORDER BY decision.decided_at DESC, decision.id DESC LIMIT 1) END AS decided_by
    FROM attempt JOIN work_order ON work_order.id = attempt.work_order_id
    JOIN approval ON approval.id = attempt.approval_id
    LEFT JOIN delivery ON delivery.attempt_id = attempt.id
    LEFT JOIN evidence ON evidence.attempt_id = attempt.id"""


def work_orders(
    rx: Rx,
    after: str | None,
    limit: int,
    text: str,
    states: Sequence[WorkOrderState],
    now: Instant,
    requested_by: Actor | None = None,
) -> tuple[WorkOrderRow, ...]:
    """Work orders, newest change first, at most ``limit`` after the id ``after``, matching all that is given."""
    require_batch(limit)
    where = ["1 = 1"]
    values: list[object] = []
    if after is not None:
        last = work_order_row(rx, after)
        where.append("(work_order.changed_at, work_order.id) < (?, ?)")
        values += [last["changed_at"], last["id"]]
    if states:
        where.append(f"work_order.state IN ({', '.join('?' for _ in states)})")
        values += list(states)
    if requested_by is not None:
        where.append("work_order.requested_by_kind = ? AND work_order.requested_by = ?")
        values += [requested_by.kind, requested_by.name]
    if text.strip():
        where.append(
            """(lower(work_order.title) LIKE ? ESCAPE '!' OR lower(work_order.workspace) LIKE ? ESCAPE '!'
                OR lower(work_order.project) LIKE ? ESCAPE '!' OR ('wo-' || work_order.number) LIKE ? ESCAPE '!')"""
        )
        pattern = f"%{_escape(text.strip().lower())}%"
        values += [pattern] * 4
    rows = rx.all(
        f"""{_ORDERS} WHERE {" AND ".join(where)}
            ORDER BY work_order.changed_at DESC, work_order.id DESC LIMIT ?""",
        (*values, limit),
    )
    return tuple(_order(rx, row, now) for row in rows)


def work_order(rx: Rx, work_order_id: str, now: Instant) -> WorkOrderRow | None:
    """One work order as lists show it, or None."""
    row = rx.one(f"{_ORDERS} WHERE work_order.id = ?", (work_order_id,))
    return _order(rx, row, now) if row is not None else None


def work_order_id(rx: Rx, name: str) -> str:
    """The id behind ``WO-118``, ``118`` or an id; `NotFound` names what was asked for."""
    match = re.fullmatch(r"(?:WO-)?(\d{1,15})", name.strip(), re.IGNORECASE | re.ASCII)
    if match is not None:
        row = rx.one("SELECT id FROM work_order WHERE number = ?", (int(match.group(1)),))
    else:
        row = rx.one("SELECT id FROM work_order WHERE id = ?", (name.strip().upper(),))
    if row is None and match is not None and int(match.group(1)) <= _numbers_given_out(rx):
        raise NotFound(
            f"WO-{int(match.group(1))} is not there any more.",
            means="Retention has removed it after its end, or a restore brought back data from before it was made.",
            do="A backup from its time has it; after a restore, so has what that set aside: praxis backups",
        )
    if row is None:
        raise NotFound(f"There is no work order {name}.", do="Look at the list; names are like WO-118.")
    return str(row["id"])


def _numbers_given_out(rx: Rx) -> int:
    row = rx.one("SELECT value FROM counter WHERE name = 'work_order'")
    return 0 if row is None else int(row["value"])


def asked_by(rx: Rx, kind: Asked, name: str) -> Actor | None:
    """Who asked for the work order to which something belongs; None if there is no such thing.

    A work order is named as `work_order_id` takes it, a task, attempt or approval by its id.
    """
    try:
        identity = work_order_id(rx, name) if kind == "work_order" else _order_of(rx, kind, name)
    except NotFound:
        return None
    return actor_of(work_order_row(rx, identity), "requested_by")


def _order_of(rx: Rx, kind: Asked, identity: str) -> str:
    row = rx.one(f"SELECT work_order_id FROM {kind} WHERE id = ?", (identity,))
    if row is None:
        raise NotFound(f"There is no {kind} {identity}.", do="Look at the list.")
    return str(row["work_order_id"])


def story(rx: Rx, name: str, now: Instant) -> WorkOrderStory:
    """One work order from request to acceptance."""
    identity = work_order_id(rx, name)
    row = work_order_row(rx, identity)
    spec = json.loads(row["spec"])
    shown = work_order(rx, identity, now)
    assert shown is not None
    tasks = rx.all("SELECT * FROM task WHERE work_order_id = ? ORDER BY ordinal", (identity,))
    made = attempts_of(rx, identity)
    return WorkOrderStory(
        row=shown,
        reason=spec["reason"],
        criteria=spec["validation"]["criteria"],
        spec=spec,
        state_reason=row["state_reason"],
        corrections_made=row["corrections_made"],
        corrections_allowed=row["corrections_allowed"],
        tasks=tuple(
            _task(rx, task, [item for item in made if item.task_id == task["id"]], now) for task in tasks
        ),
        validations=tuple(
            _validation(item)
            for item in rx.all(
                "SELECT * FROM validation WHERE work_order_id = ? ORDER BY recorded_at, id", (identity,)
            )
        ),
        decisions=decisions_of(rx, identity),
        holds=holds_of(rx, identity, row["scope_id"]),
        budget=budget_lines(rx, row["scope_id"], Partition.EXECUTION, 0, 0),
        journal=journal_of_work_order(rx, identity, STORY_JOURNAL_ROWS),
        can=possible(rx, row),
        handoffs=handoffs(rx, identity),
    )


def decisions_of(rx: Rx, work_order_id: str) -> tuple[DecisionRow, ...]:
    """The decisions of people about a work order and its attempts, oldest first, each with its proof."""
    proofs: dict[str, list[ProofRef]] = {}
    for item in rx.all(
        """SELECT decision_proof.* FROM decision_proof JOIN decision ON decision.id = decision_proof.decision_id
           WHERE decision.work_order_id = ? ORDER BY decision_proof.decision_id, decision_proof.ordinal""",
        (work_order_id,),
    ):
        proofs.setdefault(item["decision_id"], []).append(
            ProofRef(item["name"], item["sha256"], item["size"])
        )
    return tuple(
        DecisionRow(
            item["kind"],
            item["attempt_id"],
            actor_of(item, "actor"),
            item["reason"],
            item["decided_at"],
            tuple(proofs.get(item["id"], ())),
        )
        for item in rx.all(
            "SELECT * FROM decision WHERE work_order_id = ? ORDER BY decided_at, id", (work_order_id,)
        )
    )


def attempts(rx: Rx, after: str | None, limit: int, states: Sequence[AttemptState]) -> tuple[AttemptRow, ...]:
    """Attempts, newest first, at most ``limit`` after the attempt id ``after``."""
    require_batch(limit)
    where = ["1 = 1"]
    values: list[object] = []
    if after is not None:
        last = attempt(rx, after)
        where.append("(attempt.authorized_at, attempt.id) < (?, ?)")
        values += [last.authorized_at, last.id]
    if states:
        where.append(f"attempt.state IN ({', '.join('?' for _ in states)})")
        values += list(states)
    rows = rx.all(
        f"""{_ATTEMPTS} WHERE {" AND ".join(where)}
            ORDER BY attempt.authorized_at DESC, attempt.id DESC LIMIT ?""",
        (*values, limit),
    )
    return tuple(_attempt(row) for row in rows)


def attempts_of(rx: Rx, work_order_id: str) -> tuple[AttemptRow, ...]:
    """All attempts of a work order, oldest first."""
    rows = rx.all(
        f"""{_ATTEMPTS} JOIN task ON task.id = attempt.task_id
            WHERE attempt.work_order_id = ? ORDER BY task.ordinal, attempt.ordinal""",
        (work_order_id,),
    )
    return tuple(_attempt(row) for row in rows)


def attempt(rx: Rx, attempt_id: str) -> AttemptRow:
    """One attempt; `NotFound` if there is none."""
    row = rx.one(f"{_ATTEMPTS} WHERE attempt.id = ?", (attempt_id,))
    if row is None:
        raise NotFound(f"There is no attempt {attempt_id}.", do="Look at the work order for its attempts.")
    return _attempt(row)


def validation_for(rx: Rx, attempt_id: str) -> ValidationRow | None:
    """The validation that judged an attempt, or that this validating attempt recorded; None if there is none."""
    row = rx.one(
        "SELECT * FROM validation WHERE attempt_id = ? OR validating_attempt_id = ? ORDER BY recorded_at LIMIT 1",
        (attempt_id, attempt_id),
    )
    return _validation(row) if row is not None else None


def holds_of(rx: Rx, work_order_id: str, scope_id: str) -> tuple[HoldRow, ...]:
    """Active holds on the path from the engine to a work order, and on its tasks."""
    rows = rx.all(
        """SELECT * FROM hold WHERE released_at IS NULL AND (node_kind = 'ENGINE'
             OR (node_kind = 'WORK_ORDER' AND node_id = ?)
             OR (node_kind = 'SCOPE' AND node_id IN (SELECT ancestor_id FROM scope_path WHERE scope_id = ?))
             OR (node_kind = 'TASK' AND node_id IN (SELECT id FROM task WHERE work_order_id = ?)))
           ORDER BY placed_at, id""",
        (work_order_id, scope_id, work_order_id),
    )
    return tuple(hold_row(rx, row) for row in rows)


def active_holds(rx: Rx) -> tuple[HoldRow, ...]:
    """All active holds, oldest first."""
    rows = rx.all("SELECT * FROM hold WHERE released_at IS NULL ORDER BY placed_at, id LIMIT 1000")
    return tuple(hold_row(rx, row) for row in rows)


def holds_by_id(rx: Rx, ids: Sequence[str]) -> tuple[HoldRow, ...]:
    """The named holds, active or lifted."""
    found = (rx.one("SELECT * FROM hold WHERE id = ?", (identity,)) for identity in ids)
    return tuple(hold_row(rx, row) for row in found if row is not None)


def hold_row(rx: Rx, row: sqlite3.Row) -> HoldRow:
    """A hold with the name of its node in words."""
    kind = NodeKind(row["node_kind"])
    name = {
        NodeKind.ENGINE: None,
        NodeKind.SCOPE: "SELECT name AS name FROM scope WHERE id = ?",
        NodeKind.WORK_ORDER: "SELECT 'WO-' || number || ' ' || title AS name FROM work_order WHERE id = ?",
        NodeKind.TASK: """SELECT 'WO-' || work_order.number || ' ' || lower(task.purpose) AS name FROM task
                          JOIN work_order ON work_order.id = task.work_order_id WHERE task.id = ?""",
    }[kind]
    found = rx.one(name, (row["node_id"],)) if name else None
    return HoldRow(
        id=row["id"],
        node_kind=kind,
        node_id=row["node_id"],
        node_name=found["name"] if found else "engine",
        kind=HoldKind(row["kind"]),
        reason=row["reason"],
        actor=actor_of(row, "actor"),
        placed_at=row["placed_at"],
    )


def why_waiting(rx: Rx, task_id: str, state: str, now: Instant) -> str:
    """Why a task is not running, in words; "" if it runs or has ended."""
    if state not in (TaskState.WAITING, TaskState.READY, TaskState.CLAIMED):
        return ""
    if state == TaskState.CLAIMED:
        return "Claimed by a worker; about to be admitted."
    closed = [gate for gate in explain(rx, task_id, now) if not gate.open]
    return closed[0].why if closed else "About to be claimed."


def _order(rx: Rx, row: sqlite3.Row, now: Instant) -> WorkOrderRow:
    return WorkOrderRow(
        id=row["id"],
        number=row["number"],
        title=row["title"],
        project=row["project"],
        workspace=row["workspace"],
        state=WorkOrderState(row["state"]),
        purpose=Purpose(row["task_purpose"]) if row["task_purpose"] else None,
        task_state=TaskState(row["task_state"]) if row["task_state"] else None,
        why=_order_why(rx, row, now),
        requested_by=actor_of(row, "requested_by"),
        created_at=row["created_at"],
        changed_at=row["changed_at"],
        ended_at=row["ended_at"],
        spent_cost=row["spent_cost"],
        held_cost=row["held_cost"],
        cost_limit=row["cost_limit"],
    )


def _order_why(rx: Rx, row: sqlite3.Row, now: Instant) -> str:
    if row["state"] != WorkOrderState.ACTIVE:
        undecided = row["unknown"] and row["ended_at"] is not None
        return " · ".join(filter(None, (row["state_reason"], _UNDECIDED if undecided else "")))
    if row["task_state"] == TaskState.DISPATCHED:
        return f"Running: {row['task_purpose'].lower()}."
    if row["unknown"]:
        return _UNDECIDED
    return why_waiting(rx, row["task_id"], row["task_state"], now)


def _task(rx: Rx, row: sqlite3.Row, made: list[AttemptRow], now: Instant) -> TaskRow:
    approval = rx.one(
        "SELECT id, state FROM approval WHERE task_id = ? ORDER BY ordinal DESC LIMIT 1",
        (row["id"],),
    )
    return TaskRow(
        id=row["id"],
        work_order_id=row["work_order_id"],
        ordinal=row["ordinal"],
        purpose=Purpose(row["purpose"]),
        state=TaskState(row["state"]),
        why=why_waiting(rx, row["id"], row["state"], now),
        argv=tuple(json.loads(row["command"])["argv"]),
        due_at=row["due_at"],
        ready_at=row["ready_at"],
        created_at=row["created_at"],
        changed_at=row["changed_at"],
        approval_id=approval["id"] if approval else None,
        approval_state=ApprovalState(approval["state"]) if approval else None,
        source_attempt_id=row["source_attempt_id"],
        attempts=tuple(made),
        grant=given_by(rx, approval["id"]) if approval else None,
    )


def _attempt(row: sqlite3.Row) -> AttemptRow:
    argv = json.loads(row["plan"]).get("argv")
    if not isinstance(argv, list):
        raise InvalidValue(f"The plan of attempt {row['id']} has no argv.", do="Verify the journal.")
    return AttemptRow(
        id=row["id"],
        task_id=row["task_id"],
        work_order_id=row["work_order_id"],
        number=row["number"],
        title=row["title"],
        ordinal=row["ordinal"],
        purpose=Purpose(row["purpose"]),
        state=AttemptState(row["state"]),
        outcome=Outcome(row["outcome"]) if row["outcome"] else None,
        reason_code=row["reason_code"],
        reason=row["reason"],
        argv=tuple(argv),
        workspace=row["workspace"],
        authorized_at=row["authorized_at"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        settled_at=row["settled_at"],
        stop_requested_at=row["stop_requested_at"],
        process_pid=row["process_pid"],
        max_cost=row["max_cost"],
        max_active_ms=row["max_active_ms"],
        actual_cost=row["actual_cost"],
        actual_active_ms=row["actual_active_ms"],
        cost_source=row["cost_source"],
        overrun=bool(row["overrun"]),
        seal=row["seal"],
        approval_id=row["approval_id"],
        evidence_id=row["evidence_id"],
        decided_by=row["decided_by"],
    )


def _validation(row: sqlite3.Row) -> ValidationRow:
    return ValidationRow(
        id=row["id"],
        attempt_id=row["attempt_id"],
        outcome=Verdict(row["outcome"]),
        judged_by=row["judged_by"],
        criteria=row["criteria"],
        evidence_id=row["evidence_id"],
        validating_attempt_id=row["validating_attempt_id"],
        actual_cost=row["actual_cost"],
        actual_active_ms=row["actual_active_ms"],
        correction_exhausted=bool(row["correction_exhausted"]),
        reason=row["reason"],
        actor=actor_of(row, "actor"),
        recorded_at=row["recorded_at"],
    )


def _escape(text: str) -> str:
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
