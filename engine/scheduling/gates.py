"""The gates between a READY task and a claim (E-23), each a question asked of one snapshot."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from engine.errors import NotFound
from engine.instants import Instant, format_instant
from engine.states import ApprovalState, HoldKind, NodeKind, TaskState, WorkOrderState
from engine.storage import Rx, Tx

HOLDS_ABOVE_TASK = """
    SELECT hold.* FROM hold WHERE released_at IS NULL AND (
      (node_kind = 'ENGINE') OR
      (node_kind = 'TASK' AND node_id = :task) OR
      (node_kind = 'WORK_ORDER' AND node_id = :work_order) OR
      (node_kind = 'SCOPE' AND node_id IN (SELECT ancestor_id FROM scope_path WHERE scope_id = :scope)))
    ORDER BY placed_at, id"""

WITHOUT_HEADROOM = """
    SELECT scope.id, scope.name, scope.kind, part.*, path.distance
    FROM scope_path AS path
    JOIN scope ON scope.id = path.ancestor_id
    JOIN scope_partition AS part ON part.scope_id = path.ancestor_id AND part.partition = :partition
    WHERE path.scope_id = :scope AND (
      part.reserved_cost + part.frozen_cost + part.spent_cost + :cost > part.cost_limit OR
      part.reserved_ms + part.frozen_ms + part.spent_ms + :active_ms > part.active_ms_limit)
    ORDER BY path.distance LIMIT 1"""


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate of a task: whether it is open, and why, in words a person understands."""

    name: str
    open: bool
    why: str


def holds_above(rx: Rx, task: sqlite3.Row) -> list[sqlite3.Row]:
    """Active holds on the path from the engine down to this task, oldest first."""
    return rx.all(
        HOLDS_ABOVE_TASK,
        {"task": task["id"], "work_order": task["work_order_id"], "scope": task["scope_id"]},
    )


def time_is_trusted(tx: Tx) -> bool:
    """Whether anything may be judged by the operation's instant: no CLOCK hold, and no jump just seen (E-32)."""
    return tx.time_trusted and not clock_is_held(tx)


def clock_is_held(rx: Rx) -> bool:
    """Whether the engine is held since its clock is distrusted: nothing has expired by it then (E-32)."""
    return any(hold["kind"] == HoldKind.CLOCK for hold in engine_holds(rx))


def awaits_a_look(rx: Rx) -> bool:
    """Whether the data was restored and no person has looked since; nothing fires before (E-85)."""
    return any(hold["kind"] == HoldKind.RESTORE for hold in engine_holds(rx))


def engine_holds(rx: Rx) -> list[sqlite3.Row]:
    """Active holds on the whole engine, oldest first."""
    return rx.all(
        "SELECT * FROM hold WHERE released_at IS NULL AND node_kind = 'ENGINE' ORDER BY placed_at, id"
    )


def scope_without_headroom(rx: Rx, task: sqlite3.Row) -> sqlite3.Row | None:
    """The nearest ancestor scope that cannot take this task's maximum exposure, or None."""
    return rx.one(
        WITHOUT_HEADROOM,
        {
            "scope": task["scope_id"],
            "partition": task["partition"],
            "cost": task["max_cost"],
            "active_ms": task["max_active_ms"],
        },
    )


def headroom_sentence(scope: sqlite3.Row, cost: int, active_ms: int) -> str:
    """Say which scope lacks what, in units and seconds."""
    cost_left = scope["cost_limit"] - scope["reserved_cost"] - scope["frozen_cost"] - scope["spent_cost"]
    ms_left = scope["active_ms_limit"] - scope["reserved_ms"] - scope["frozen_ms"] - scope["spent_ms"]
    if cost > cost_left:
        return f"“{scope['name']}” has {cost_left} unit{'' if cost_left == 1 else 's'} left, this needs up to {cost}."
    return f"“{scope['name']}” has {ms_left // 1000} s of active time left, this needs up to {active_ms // 1000} s."


def explain(rx: Rx, task_id: str, now: Instant) -> tuple[Gate, ...]:
    """All gates of a task, each with open or closed and why (E-23). `NotFound` for an unknown task."""
    task = rx.one("SELECT * FROM task WHERE id = ?", (task_id,))
    if task is None:
        raise NotFound(f"Task {task_id} does not exist.", do="Look at the work order for its tasks.")
    return (
        _schedule_gate(task),
        _approval_gate(rx, task, now),
        _policy_gate(rx, task),
        _hold_gate(rx, task),
        _clock_gate(rx),
        _resource_gate(rx, task),
        _lane_gate(rx, task),
        _worker_gate(rx),
    )


def _schedule_gate(task: sqlite3.Row) -> Gate:
    state = task["state"]
    if state == TaskState.WAITING:
        return Gate("schedule", False, f"Waits until {format_instant(task['due_at'])}.")
    if state == TaskState.READY:
        return Gate("schedule", True, "Ready.")
    return Gate("schedule", False, f"The task is {state}.")


def _approval_gate(rx: Rx, task: sqlite3.Row, now: Instant) -> Gate:
    approval = rx.one("SELECT * FROM approval WHERE task_id = ? ORDER BY ordinal DESC LIMIT 1", (task["id"],))
    if approval is None:
        return Gate("approval", False, "Not asked for yet.")
    state = approval["state"]
    is_open = state in (ApprovalState.PENDING, ApprovalState.APPROVED)
    if is_open and now >= approval["expires_at"] and not clock_is_held(rx):
        return Gate("approval", False, f"The request expired at {format_instant(approval['expires_at'])}.")
    if state == ApprovalState.APPROVED:
        use = rx.one("SELECT 1 FROM grant_use WHERE approval_id = ?", (approval["id"],))
        how = f" {approval['decision_reason']}" if use is not None else f" by {approval['decided_by']}"
        return Gate("approval", True, f"Approved{how}.")
    sentences = {
        ApprovalState.PENDING: "Waits for a person's approval.",
        ApprovalState.REJECTED: f"Rejected by {approval['decided_by']}: {approval['decision_reason']}",
        ApprovalState.WITHDRAWN: "The approval was withdrawn.",
        ApprovalState.EXPIRED: f"The request expired at {format_instant(approval['expires_at'])}.",
        ApprovalState.CHANGED: "What would run has changed since it was asked.",
        ApprovalState.CONSUMED: "The approval was used by one attempt; another needs a new one.",
    }
    return Gate("approval", False, sentences[ApprovalState(state)])


def _policy_gate(rx: Rx, task: sqlite3.Row) -> Gate:
    order = rx.one("SELECT state, state_reason FROM work_order WHERE id = ?", (task["work_order_id"],))
    assert order is not None
    if order["state"] == WorkOrderState.ACTIVE:
        return Gate("policy", True, "The work order is active.")
    reason = f": {order['state_reason']}" if order["state_reason"] else "."
    return Gate("policy", False, f"The work order is {order['state']}{reason}")


def _hold_gate(rx: Rx, task: sqlite3.Row) -> Gate:
    holds = [hold for hold in holds_above(rx, task) if hold["kind"] != HoldKind.CLOCK]
    if not holds:
        return Gate("hold", True, "No hold on its path.")
    first = holds[0]
    reason = f": {first['reason']}" if first["reason"] else "."
    said = f"{_HELD_NODES[first['node_kind']]} is {_HELD[first['kind']]} by {first['actor']}{reason}"
    return Gate("hold", False, said)


_HELD_NODES = {
    NodeKind.ENGINE: "The engine",
    NodeKind.SCOPE: "A budget above it",
    NodeKind.WORK_ORDER: "The work order",
    NodeKind.TASK: "The task",
}
_HELD = {
    HoldKind.PAUSE: "paused",
    HoldKind.HOLD: "held",
    HoldKind.RESTORE: "held after a restore",
    HoldKind.OVERRUN: "held after an overrun",
}


def _clock_gate(rx: Rx) -> Gate:
    distrusted = [hold for hold in engine_holds(rx) if hold["kind"] == HoldKind.CLOCK]
    if distrusted:
        return Gate("clock", False, distrusted[0]["reason"])
    return Gate("clock", True, "The clock is trusted.")


def _resource_gate(rx: Rx, task: sqlite3.Row) -> Gate:
    scope = scope_without_headroom(rx, task)
    if scope is None:
        return Gate("resources", True, "Every scope above it has the headroom.")
    return Gate("resources", False, headroom_sentence(scope, task["max_cost"], task["max_active_ms"]))


def _lane_gate(rx: Rx, task: sqlite3.Row) -> Gate:
    lock = rx.one("SELECT survivors FROM lane_lock WHERE lane = ?", (task["lane"],))
    if lock is not None:
        return Gate("lane", False, f"Processes of an earlier attempt are still alive: {lock['survivors']}.")
    other = rx.one(
        """SELECT work_order.number, work_order.workspace FROM task
           JOIN work_order ON work_order.id = task.work_order_id
           WHERE task.lane = ? AND task.id <> ?
             AND (task.armed_at IS NOT NULL OR task.state IN ('CLAIMED', 'DISPATCHED'))""",
        (task["lane"], task["id"]),
    )
    if other is None:
        return Gate("lane", True, "Nothing else runs in its workspace.")
    return Gate("lane", False, f"Waits for WO-{other['number']} (workspace {other['workspace']}).")


def _worker_gate(rx: Rx) -> Gate:
    worker = rx.one(
        """SELECT worker.id, worker.slots,
             (SELECT count(*) FROM claim WHERE claim.worker_id = worker.id AND claim.state = 'LIVE') +
             (SELECT count(*) FROM attempt WHERE attempt.worker_id = worker.id AND attempt.state IN
               ('DISPATCH_AUTHORIZED', 'DELIVERED', 'ACKNOWLEDGED', 'RUNNING')) AS busy
           FROM worker WHERE worker.epoch = (SELECT max(epoch) FROM epoch) ORDER BY busy LIMIT 1"""
    )
    if worker is None:
        return Gate("worker", False, "No worker is registered; start the console or `praxis serve`.")
    if worker["busy"] >= worker["slots"]:
        return Gate("worker", False, f"All {worker['slots']} slots of worker {worker['id']} are busy.")
    return Gate("worker", True, f"Worker {worker['id']} has a free slot.")
