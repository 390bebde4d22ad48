"""Reads of the inbox: the queue, one sealed card, the quiet meter."""

from __future__ import annotations

import json
import sqlite3
from statistics import median

from engine.dispatch.approvals import approval_row
from engine.errors import InvalidValue
from engine.instants import Instant, require_batch
from engine.scheduling.gates import clock_is_held, explain
from engine.scheduling.tasks import task_row
from engine.states import ApprovalState, Partition, Purpose
from engine.storage import Rx
from engine.views.grants import given_by
from engine.views.rows import actor_of
from engine.views.values import ApprovalCard, BudgetLine, DifferenceLine, InboxRow, QuietMeter

HOUR_MS = 3_600_000

_ROWS = """
    SELECT approval.*, task.purpose, work_order.number, work_order.title, work_order.workspace,
      work_order.project,
      (SELECT count(*) FROM approval AS other WHERE other.seal = approval.seal AND other.state = 'PENDING') AS alike
    FROM approval JOIN task ON task.id = approval.task_id
    JOIN work_order ON work_order.id = approval.work_order_id"""


def inbox(rx: Rx, after: str | None, limit: int) -> tuple[InboxRow, ...]:
    """Pending requests, oldest first, at most ``limit`` after the approval id ``after``."""
    require_batch(limit)
    if after is None:
        rows = rx.all(
            f"{_ROWS} WHERE approval.state = 'PENDING' ORDER BY approval.asked_at, approval.id LIMIT ?",
            (limit,),
        )
    else:
        last = approval_row(rx, after)
        rows = rx.all(
            f"""{_ROWS} WHERE approval.state = 'PENDING' AND (approval.asked_at, approval.id) > (?, ?)
                ORDER BY approval.asked_at, approval.id LIMIT ?""",
            (last["asked_at"], last["id"], limit),
        )
    return tuple(_inbox_row(row) for row in rows)


def inbox_row(rx: Rx, approval_id: str) -> InboxRow | None:
    """One pending request as the queue lists it, or None if it is not pending."""
    row = rx.one(f"{_ROWS} WHERE approval.id = ? AND approval.state = 'PENDING'", (approval_id,))
    return _inbox_row(row) if row is not None else None


def approval_card(rx: Rx, approval_id: str, guarantee: str, now: Instant) -> ApprovalCard:
    """Everything about one request; ``guarantee`` is the platform's sentence about start checks."""
    row = rx.one(f"{_ROWS} WHERE approval.id = ?", (approval_id,)) or approval_row(rx, approval_id)
    task = task_row(rx, row["task_id"])
    order = rx.one("SELECT * FROM work_order WHERE id = ?", (row["work_order_id"],))
    assert order is not None
    state = ApprovalState(row["state"])
    is_open = state in (ApprovalState.PENDING, ApprovalState.APPROVED)
    if is_open and now >= row["expires_at"] and not clock_is_held(rx):
        state = ApprovalState.EXPIRED
    alike = rx.all(
        "SELECT id FROM approval WHERE seal = ? AND state = 'PENDING' ORDER BY asked_at, id", (row["seal"],)
    )
    return ApprovalCard(
        approval_id=row["id"],
        task_id=row["task_id"],
        work_order_id=row["work_order_id"],
        number=row["number"],
        title=row["title"],
        reason=json.loads(order["spec"])["reason"],
        purpose=Purpose(row["purpose"]),
        state=state,
        project=row["project"],
        workspace=row["workspace"],
        plan=json.loads(row["plan"]),
        seal=row["seal"],
        validation_plan=json.loads(row["validation_plan"]) if row["validation_plan"] else None,
        validation_seal=row["validation_seal"],
        covers_validation=bool(row["covers_validation"]),
        requested_by=actor_of(order, "requested_by"),
        asked_by=actor_of(row, "asked_by"),
        asked_at=row["asked_at"],
        expires_at=row["expires_at"],
        decided_by=row["decided_by"],
        decided_at=row["decided_at"],
        decision_reason=row["decision_reason"],
        ended_at=row["ended_at"],
        previous_id=row["previous_id"],
        differences=tuple(DifferenceLine(*item) for item in json.loads(row["differences"])),
        gates=explain(rx, row["task_id"], now),
        budget=budget_lines(
            rx, task["scope_id"], Partition(task["partition"]), task["max_cost"], task["max_active_ms"]
        ),
        alike=tuple(item["id"] for item in alike),
        guarantee=guarantee,
        grant=given_by(rx, row["id"]),
    )


def budget_lines(
    rx: Rx, scope_id: str, partition: Partition, cost: int, active_ms: int
) -> tuple[BudgetLine, ...]:
    """One line for each ancestor scope, root first, as it would be with this much asked on top."""
    rows = rx.all(
        """SELECT scope.id, scope.name, part.* FROM scope_path AS path
           JOIN scope ON scope.id = path.ancestor_id
           JOIN scope_partition AS part ON part.scope_id = path.ancestor_id AND part.partition = ?
           WHERE path.scope_id = ? ORDER BY path.distance DESC""",
        (partition, scope_id),
    )
    return tuple(
        BudgetLine(
            scope_id=row["scope_id"],
            name=row["name"],
            partition=partition,
            cost_limit=row["cost_limit"],
            spent_cost=row["spent_cost"],
            reserved_cost=row["reserved_cost"],
            frozen_cost=row["frozen_cost"],
            asked_cost=cost,
            active_ms_limit=row["active_ms_limit"],
            spent_ms=row["spent_ms"],
            reserved_ms=row["reserved_ms"],
            frozen_ms=row["frozen_ms"],
            asked_ms=active_ms,
        )
        for row in rows
    )


def quiet_meter(rx: Rx, now: Instant) -> QuietMeter:
    """Decisions of the last hour and their median look time."""
    rows = rx.all(
        """SELECT look_ms FROM approval
           WHERE decided_at > ? AND decided_at <= ? AND covered_by IS NULL
             AND id NOT IN (SELECT approval_id FROM grant_use)""",
        (now - HOUR_MS, now),
    )
    looks = [row["look_ms"] for row in rows if row["look_ms"] is not None]
    return QuietMeter(len(rows), round(median(looks)) if looks else None)


def _inbox_row(row: sqlite3.Row) -> InboxRow:
    plan = json.loads(row["plan"])
    argv = plan.get("argv")
    if not isinstance(argv, list):
        raise InvalidValue(f"The plan of approval {row['id']} has no argv.", do="Verify the journal.")
    return InboxRow(
        approval_id=row["id"],
        task_id=row["task_id"],
        work_order_id=row["work_order_id"],
        number=row["number"],
        title=row["title"],
        purpose=Purpose(row["purpose"]),
        argv=tuple(argv),
        workspace=row["workspace"],
        project=row["project"],
        asked_by=actor_of(row, "asked_by"),
        asked_at=row["asked_at"],
        expires_at=row["expires_at"],
        changed=row["previous_id"] is not None and row["differences"] != "[]",
        seal=row["seal"],
        alike=row["alike"],
    )
