"""What must be true of the ledger after every step, whatever was done to it (engine.md §12).

`install_watch` adds triggers that write down what a step's end no longer shows: every change of state, and under
which holds a dispatch was authorised. `Snapshot` is the whole ledger in one read; `check` knows the rules.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.control.decisions import possible
from engine.scheduling.gates import holds_above, scope_without_headroom
from engine.scheduling.transition import APPROVAL, ATTEMPT, CLAIM, TASK, WORK_ORDER
from engine.storage import Rx, Tx

Row = dict[str, Any]

MACHINES = {machine.table: machine for machine in (WORK_ORDER, TASK, CLAIM, APPROVAL, ATTEMPT)}
LEGAL = {
    table: {str(state): {str(one) for one in targets} for state, targets in machine.transitions.items()}
    for table, machine in MACHINES.items()
}
IN_FLIGHT = ("DISPATCH_AUTHORIZED", "DELIVERED", "ACKNOWLEDGED", "RUNNING")
OPEN_TASK = ("WAITING", "READY", "CLAIMED", "DISPATCHED")
ENDED_ORDER = ("ACCEPTED", "REJECTED", "CANCELLED")
EXPOSURE_OF = {
    **dict.fromkeys((*IN_FLIGHT, "EXECUTED"), "RESERVED"),
    "UNKNOWN": "FROZEN",
    "SETTLED": "SPENT",
    "VOIDED": "RELEASED",
}
_TABLES = (
    *(
        "work_order",
        "task",
        "claim",
        "approval",
        "attempt",
        "exposure",
        "scope",
        "scope_path",
        "scope_partition",
    ),
    *(
        "hold",
        "lane_lock",
        "intent",
        "delivery",
        "evidence",
        "validation",
        "decision",
        "worker",
        "journal_head",
    ),
    *("watched_step", "watched_dispatch"),
)


def install_watch(tx: Tx, *, now: int) -> None:
    """Add the tables and triggers of the watch; once for a data folder."""
    tx.run("CREATE TABLE watched_step (machine TEXT, id TEXT, was TEXT, became TEXT)")
    tx.run("CREATE TABLE watched_dispatch (attempt TEXT, holds INTEGER, locks INTEGER, approved INTEGER)")
    for table in MACHINES:
        tx.run(
            f"""CREATE TRIGGER watch_{table} AFTER UPDATE OF state ON {table} WHEN old.state <> new.state BEGIN
                  INSERT INTO watched_step VALUES ('{table}', new.id, old.state, new.state); END"""
        )
    tx.run(
        """CREATE TRIGGER watch_dispatch AFTER INSERT ON attempt BEGIN
             INSERT INTO watched_dispatch VALUES (new.id,
               (SELECT count(*) FROM hold WHERE released_at IS NULL AND (node_kind = 'ENGINE'
                 OR node_kind = 'TASK' AND node_id = new.task_id
                 OR node_kind = 'WORK_ORDER' AND node_id = new.work_order_id
                 OR node_kind = 'SCOPE' AND node_id IN
                   (SELECT ancestor_id FROM scope_path WHERE scope_id = new.scope_id))),
               (SELECT count(*) FROM lane_lock JOIN task ON task.lane = lane_lock.lane WHERE task.id = new.task_id),
               (SELECT count(*) FROM approval WHERE id = new.approval_id AND state = 'APPROVED'
                 AND seal = new.seal AND expires_at > new.authorized_at)); END"""
    )


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The ledger at one moment: every table's rows in the order of their making, and what was asked of it."""

    tables: Mapping[str, list[Row]]
    held: frozenset[str]
    short: frozenset[str]
    can: Mapping[str, tuple[str, ...]]
    restored: frozenset[str]

    def __getitem__(self, table: str) -> list[Row]:
        return self.tables[table]

    def by_id(self, table: str) -> dict[str, Row]:
        return {row["id"]: row for row in self.tables[table]}


def read_snapshot(rx: Rx) -> Snapshot:
    """Read all of it; ``held`` and ``short`` are the tasks below a hold, and without headroom, as asked now.

    ``restored`` are the attempts that were in flight in a copy which was restored.
    """
    tasks = rx.all("SELECT * FROM task ORDER BY rowid")
    return Snapshot(
        {
            table: [dict(row) for row in rx.all(f"SELECT * FROM {table} ORDER BY rowid")]
            for table in _TABLES
            if table not in ("scope_path", "scope_partition", "exposure")
        }
        | {
            table: [dict(row) for row in rx.all(f"SELECT * FROM {table} ORDER BY 1, 2")]
            for table in ("scope_path", "scope_partition", "exposure")
        },
        frozenset(
            row["id"] for row in tasks if any(hold["node_kind"] != "ENGINE" for hold in holds_above(rx, row))
        ),
        frozenset(row["id"] for row in tasks if scope_without_headroom(rx, row) is not None),
        {row["id"]: possible(rx, row) for row in rx.all("SELECT * FROM work_order")},
        frozenset(
            attempt
            for row in rx.all("SELECT detail FROM journal WHERE kind = 'restore.done'")
            for attempt in json.loads(row["detail"])["unknown"]
        ),
    )


def check(now: Snapshot) -> None:
    """Assert every rule."""
    _exposure(now)
    _transitions(now)
    _dispatches(now)
    _tasks(now)
    _lanes(now)
    _approvals(now)
    _orders(now)
    _validations(now)


def _exposure(now: Snapshot) -> None:
    """Counters are sums; what an attempt has exposed follows from its state."""
    sums: Counter[tuple[str, str, str]] = Counter()
    attempts = now.by_id("attempt")
    for row in now["exposure"]:
        key = row["scope_id"], row["partition"], row["state"].lower()
        sums[*key[:2], f"{key[2]}_cost"] += row["cost"]
        sums[*key[:2], f"{key[2]}_ms"] += row["active_ms"]
        state = attempts[row["attempt_id"]]["state"]
        assert row["state"] == EXPOSURE_OF[state], f"exposure {row['state']} of an attempt that is {state}"
    for part in now["scope_partition"]:
        for column in ("reserved_cost", "reserved_ms", "frozen_cost", "frozen_ms", "spent_cost", "spent_ms"):
            assert part[column] == sums[part["scope_id"], part["partition"], column], column
    depth = Counter(row["scope_id"] for row in now["scope_path"])
    count = Counter(row["attempt_id"] for row in now["exposure"])
    for attempt in attempts.values():
        assert count[attempt["id"]] == depth[attempt["scope_id"]]


def _transitions(now: Snapshot) -> None:
    """Every step is in the table (E-21); an UNKNOWN ends by a decision only (E-72)."""
    decided = Counter(
        row["attempt_id"]
        for row in now["decision"]
        if row["kind"] in ("reconciled.took_effect", "reconciled.did_not")
    )
    ended: Counter[str] = Counter()
    for step in now["watched_step"]:
        table = LEGAL[step["machine"]]
        assert step["became"] in table[step["was"]], (
            f"{step['machine']}: {step['was']} became {step['became']}"
        )
        if (step["machine"], step["was"]) == ("attempt", "UNKNOWN"):
            ended[step["id"]] += 1
    for attempt, times in ended.items():
        assert times <= decided[attempt], "an UNKNOWN ended without a decision"


def _dispatches(now: Snapshot) -> None:
    """Authorised under no hold, no lock, a granted approval (E-43); delivered at most once (E-50)."""
    for row in now["watched_dispatch"]:
        assert (row["holds"], row["locks"], row["approved"]) == (0, 0, 1)
    intents = Counter(row["attempt_id"] for row in now["intent"])
    deliveries = Counter(row["intent_id"] for row in now["delivery"])
    assert all(times == 1 for times in deliveries.values())
    delivered = {row["attempt_id"] for row in now["delivery"]}
    evidence = {row["attempt_id"] for row in now["evidence"]}
    for attempt in now["attempt"]:
        assert intents[attempt["id"]] == 1
        if attempt["state"] == "DISPATCH_AUTHORIZED":
            assert attempt["id"] not in delivered
        elif attempt["state"] != "VOIDED" and attempt["id"] not in now.restored:
            assert attempt["id"] in delivered
        if attempt["state"] in IN_FLIGHT:
            assert attempt["id"] not in evidence


def _tasks(now: Snapshot) -> None:
    """One live claim for what is CLAIMED, one attempt in flight for what is DISPATCHED, none otherwise."""
    live = Counter(row["task_id"] for row in now["claim"] if row["state"] == "LIVE")
    flying = Counter(row["task_id"] for row in now["attempt"] if row["state"] in IN_FLIGHT)
    unknown = {row["task_id"] for row in now["attempt"] if row["state"] == "UNKNOWN"}
    for task in now["task"]:
        assert live[task["id"]] == (task["state"] == "CLAIMED"), f"{live[task['id']]} claims: {task['state']}"
        assert flying[task["id"]] == (task["state"] == "DISPATCHED"), f"in flight: {task['state']}"
        if task["state"] == "UNKNOWN":
            assert task["id"] in unknown
        if task["state"] in OPEN_TASK:
            assert task["id"] not in unknown


def _lanes(now: Snapshot) -> None:
    """E-69: one at a time; the armed one is approved and under no hold; an idle lane arms what it can.

    Headroom is left out: others may use it up after the arming, and the claim asks again.
    """
    approvals, orders = now.by_id("approval"), now.by_id("work_order")
    locked = {row["lane"] for row in now["lane_lock"]}
    head = Counter(
        task["lane"]
        for task in now["task"]
        if task["armed_at"] is not None or task["state"] in ("CLAIMED", "DISPATCHED")
    )
    assert all(times == 1 for times in head.values())
    for task in now["task"]:
        if task["armed_at"] is not None:
            assert task["state"] == "READY"
            assert approvals[task["approval_id"]]["state"] == "APPROVED"
            assert approvals[task["approval_id"]]["task_id"] == task["id"]
            assert orders[task["work_order_id"]]["state"] == "ACTIVE"
            assert task["id"] not in now.held, "armed under a hold"
            assert task["lane"] not in locked, "armed in a locked lane"
        if task["blocked_by"] == "HOLD":
            assert task["id"] in now.held, "marked HOLD without a hold"
        if task["blocked_by"] == "RESOURCES":
            assert task["id"] in now.short, "marked RESOURCES with headroom"
        if (
            task["state"] == "READY"
            and task["approval_id"] is not None
            and task["blocked_by"] is None
            and task["lane"] not in locked
        ):
            assert head[task["lane"]] == 1, "an idle lane forgot a task whose gates are open"


def _approvals(now: Snapshot) -> None:
    tasks = now.by_id("task")
    used = {row["approval_id"] for row in now["attempt"]}
    for approval in now["approval"]:
        task = tasks[approval["task_id"]]
        if approval["state"] in ("PENDING", "APPROVED"):
            assert task["state"] in ("WAITING", "READY", "CLAIMED"), f"open request of a {task['state']} task"
        assert (approval["state"] == "CONSUMED") == (approval["id"] in used)
        if approval["state"] == "PENDING":
            assert task["approval_id"] is None
            assert task["state"] != "CLAIMED"


def _orders(now: Snapshot) -> None:
    """A work order's state says what its tasks and attempts say, and none is ever without a way on."""
    for order in now["work_order"]:
        tasks = [row for row in now["task"] if row["work_order_id"] == order["id"]]
        attempts = [row for row in now["attempt"] if row["work_order_id"] == order["id"]]
        open_tasks = [row["state"] for row in tasks if row["state"] in OPEN_TASK]
        states = Counter(row["state"] for row in attempts)
        state = order["state"]
        assert len(open_tasks) <= 1, f"{open_tasks} at once"
        assert order["corrections_made"] == sum(row["purpose"] == "CORRECT" for row in tasks)
        assert order["corrections_made"] <= order["corrections_allowed"]
        if state in ENDED_ORDER:
            assert open_tasks == [], f"{state} with {open_tasks}"
            assert states["EXECUTED"] == 0, f"{state} with an attempt that is not settled"
        elif state == "AWAITING_ACCEPTANCE":
            assert open_tasks == []
            assert states["EXECUTED"] == 0
            results = [row for row in attempts if row["purpose"] in ("IMPLEMENT", "CORRECT")]
            (verdict,) = [row for row in now["validation"] if row["attempt_id"] == results[-1]["id"]]
            assert verdict["outcome"] == "PASSED"
            assert {"accept", "reject"} <= set(now.can[order["id"]])
        elif state == "ACTIVE":
            assert open_tasks or states["UNKNOWN"], "ACTIVE with nothing that could move it"
        elif state == "DECISION_NEEDED":
            assert "reject" in now.can[order["id"]]
            assert not any(states[word] for word in IN_FLIGHT)
        else:
            assert open_tasks in ([], ["DISPATCHED"])


def _validations(now: Snapshot) -> None:
    """E-60, E-61: one for an attempt; a definite one has settled it; what used too much was marked and held."""
    attempts = now.by_id("attempt")
    held = {row["node_id"] for row in now["hold"] if row["kind"] == "OVERRUN"}
    for row in attempts.values():
        if row["state"] == "SETTLED":
            over = row["actual_cost"] > row["max_cost"] or row["actual_active_ms"] > row["max_active_ms"]
            assert row["overrun"] == over
            assert not over or row["scope_id"] in held
    assert all(times == 1 for times in Counter(row["attempt_id"] for row in now["validation"]).values())
    for row in now["validation"]:
        state = attempts[row["attempt_id"]]["state"]
        if row["outcome"] != "UNKNOWN":
            assert state == "SETTLED"
        else:
            assert state in ("UNKNOWN", "SETTLED")
