"""Budgets: the tree of scopes and the exposure of attempts in it (E-43, E-44, E-61).

Exposure climbs: an attempt reserves its maximum in its scope and in every ancestor, in one partition. The
counters of a scope always equal the sum over the exposures recorded for it; admission never lets them pass the
limit. Afterwards exposure is frozen by UNKNOWN, spent by settlement, or released if nothing was started.
"""

from __future__ import annotations

import sqlite3

from engine.actors import ENGINE, Actor
from engine.errors import GateClosed, InvalidValue, NotFound
from engine.ids import new_id
from engine.instants import Instant
from engine.scheduling.gates import headroom_sentence, scope_without_headroom
from engine.scheduling.lanes import unblock_resources
from engine.states import ExposureState, Partition
from engine.storage import Rx, Subject, Tx
from engine.work_order import BudgetLimits

_COUNTERS = {
    ExposureState.RESERVED: ("reserved_cost", "reserved_ms"),
    ExposureState.FROZEN: ("frozen_cost", "frozen_ms"),
    ExposureState.SPENT: ("spent_cost", "spent_ms"),
}


def root_scope(tx: Tx, limits: BudgetLimits, *, now: Instant) -> str:
    """The id of the root scope, made with these limits if the folder is new."""
    row = tx.one("SELECT id FROM scope WHERE kind = 'ROOT'")
    return str(row["id"]) if row else create_scope(tx, None, "ROOT", "everything", limits, ENGINE, now)


def project_scope(tx: Tx, name: str, actor: Actor, now: Instant) -> str:
    """The id of a project's scope under the root; a new one starts with the root's own limits."""
    root = tx.one("SELECT id FROM scope WHERE kind = 'ROOT'")
    assert root is not None
    row = tx.one("SELECT id FROM scope WHERE parent_id = ? AND name = ?", (root["id"], name))
    if row is not None:
        return str(row["id"])
    return create_scope(tx, root["id"], "PROJECT", name, limits_of(tx, root["id"]), actor, now)


def create_scope(
    tx: Tx,
    parent_id: str | None,
    kind: str,
    name: str,
    limits: BudgetLimits,
    actor: Actor,
    now: Instant,
    reason: str = "",
) -> str:
    """Add a scope below ``parent_id`` with its path and both partitions; a ``reason`` is kept in the journal."""
    _require_limits(limits)
    scope_id = new_id(now)
    tx.run(
        "INSERT INTO scope(id, parent_id, kind, name, created_at) VALUES (?, ?, ?, ?, ?)",
        (scope_id, parent_id, kind, name, now),
    )
    tx.run("INSERT INTO scope_path(scope_id, ancestor_id, distance) VALUES (?, ?, 0)", (scope_id, scope_id))
    tx.run(
        """INSERT INTO scope_path(scope_id, ancestor_id, distance)
           SELECT ?, ancestor_id, distance + 1 FROM scope_path WHERE scope_id = ?""",
        (scope_id, parent_id),
    )
    for partition, cost, active_ms in (
        (Partition.EXECUTION, limits.execution_cost, limits.execution_active_ms),
        (Partition.HANDOFF, limits.handoff_cost, limits.handoff_active_ms),
    ):
        tx.run(
            """INSERT INTO scope_partition(scope_id, partition, cost_limit, active_ms_limit)
               VALUES (?, ?, ?, ?)""",
            (scope_id, partition, cost, active_ms),
        )
    tx.journal(
        "scope.created",
        Subject("scope", scope_id),
        actor,
        now,
        detail={
            "kind": kind,
            "name": name,
            "execution": [limits.execution_cost, limits.execution_active_ms],
            "handoff": [limits.handoff_cost, limits.handoff_active_ms],
            **({"reason": reason} if reason else {}),
        },
    )
    return scope_id


def limits_of(rx: Rx, scope_id: str) -> BudgetLimits:
    """The limits of a scope in both partitions."""
    rows = {
        row["partition"]: row
        for row in rx.all(
            "SELECT partition, cost_limit, active_ms_limit FROM scope_partition WHERE scope_id = ?",
            (scope_id,),
        )
    }
    if not rows:
        raise NotFound(f"Scope {scope_id} does not exist.", do="Look at the budgets for its name.")
    execution, handoff = rows[Partition.EXECUTION], rows[Partition.HANDOFF]
    return BudgetLimits(
        execution["cost_limit"],
        execution["active_ms_limit"],
        handoff["cost_limit"],
        handoff["active_ms_limit"],
    )


def set_limits(
    tx: Tx, scope_id: str, limits: BudgetLimits, actor: Actor, reason: str, *, now: Instant
) -> None:
    """Change a scope's limits. A limit below present exposure is allowed: it only stops what is new."""
    _require_limits(limits)
    before = limits_of(tx, scope_id)
    for partition, cost, active_ms in (
        (Partition.EXECUTION, limits.execution_cost, limits.execution_active_ms),
        (Partition.HANDOFF, limits.handoff_cost, limits.handoff_active_ms),
    ):
        tx.run(
            "UPDATE scope_partition SET cost_limit = ?, active_ms_limit = ? WHERE scope_id = ? AND partition = ?",
            (cost, active_ms, scope_id, partition),
        )
    tx.journal(
        "scope.limits_changed",
        Subject("scope", scope_id),
        actor,
        now,
        detail={
            "reason": reason,
            "before": [
                before.execution_cost,
                before.execution_active_ms,
                before.handoff_cost,
                before.handoff_active_ms,
            ],
            "after": [
                limits.execution_cost,
                limits.execution_active_ms,
                limits.handoff_cost,
                limits.handoff_active_ms,
            ],
        },
    )
    unblock_resources(tx, now)


def reserve(tx: Tx, attempt_id: str, task: sqlite3.Row) -> None:
    """Reserve a task's maximum exposure in its scope and every ancestor, or raise `GateClosed` (scope named)."""
    short = scope_without_headroom(tx, task)
    if short is not None:
        raise GateClosed(
            headroom_sentence(short, task["max_cost"], task["max_active_ms"]),
            means="Nothing was reserved and nothing runs.",
            do=f"Raise the limit of “{short['name']}”, or wait until other work is settled.",
            gate="resources",
            scope=short["name"],
            scope_id=short["id"],
        )
    tx.run(
        """INSERT INTO exposure(attempt_id, scope_id, partition, state, cost, active_ms)
           SELECT ?, ancestor_id, ?, 'RESERVED', ?, ? FROM scope_path WHERE scope_id = ?""",
        (attempt_id, task["partition"], task["max_cost"], task["max_active_ms"], task["scope_id"]),
    )
    _count(tx, attempt_id, ExposureState.RESERVED, sign=1)


def move_exposure(
    tx: Tx,
    attempt_id: str,
    to: ExposureState,
    now: Instant,
    *,
    cost: int | None = None,
    active_ms: int | None = None,
) -> None:
    """Turn an attempt's exposure into ``to`` in every scope that carries it; amounts stay unless given.

    Freed headroom makes blocked tasks be looked at again.
    """
    row = tx.one("SELECT state FROM exposure WHERE attempt_id = ? LIMIT 1", (attempt_id,))
    if row is None:
        raise NotFound(f"Attempt {attempt_id} has no exposure.", do="Look at the attempt again.")
    _count(tx, attempt_id, ExposureState(row["state"]), sign=-1)
    tx.run(
        """UPDATE exposure SET state = ?, cost = coalesce(?, cost), active_ms = coalesce(?, active_ms)
           WHERE attempt_id = ?""",
        (to, cost, active_ms, attempt_id),
    )
    _count(tx, attempt_id, to, sign=1)
    if to in (ExposureState.SPENT, ExposureState.RELEASED):
        unblock_resources(tx, now)


def _count(tx: Tx, attempt_id: str, state: ExposureState, sign: int) -> None:
    """Add or take an attempt's exposure to or from the counters of ``state``; RELEASED is counted nowhere."""
    if state not in _COUNTERS:
        return
    cost, active_ms = _COUNTERS[state]
    operator = "+" if sign > 0 else "-"
    tx.run(
        f"""UPDATE scope_partition SET
              {cost} = {cost} {operator} (SELECT exposure.cost FROM exposure
                WHERE exposure.attempt_id = ? AND exposure.scope_id = scope_partition.scope_id),
              {active_ms} = {active_ms} {operator} (SELECT exposure.active_ms FROM exposure
                WHERE exposure.attempt_id = ? AND exposure.scope_id = scope_partition.scope_id)
            WHERE (scope_id, partition) IN (SELECT scope_id, partition FROM exposure WHERE attempt_id = ?)""",
        (attempt_id, attempt_id, attempt_id),
    )


def _require_limits(limits: BudgetLimits) -> None:
    for name in BudgetLimits.__dataclass_fields__:
        value = getattr(limits, name)
        if type(value) is not int or value < 0:
            raise InvalidValue(
                f"Limit {name} {value!r} is not a whole number of 0 or more.",
                do="Give whole units and milliseconds.",
            )
