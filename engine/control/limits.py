"""A person's changes to the tree of budgets: limits, and projects that are made beforehand or not needed any more.

Limits bind what starts from now on; nothing that runs is stopped by them and nothing that was spent is undone.
So a limit below what a scope counts already is no mistake of arithmetic but a decision that nothing new starts
there, and it has to be said as one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from engine.actors import Actor
from engine.dispatch.approvals import require_reason
from engine.dispatch.budgets import create_scope, limits_of, set_limits
from engine.dispatch.soundness import LARGEST_AMOUNT, LONGEST_LINE
from engine.errors import InvalidValue, NotFound, Refused, WrongState
from engine.instants import Instant
from engine.states import Partition
from engine.storage import Rx, Subject, Tx
from engine.work_order import BudgetLimits


def change_limits(
    tx: Tx,
    scope_id: str,
    limits: BudgetLimits,
    actor: Actor,
    reason: str,
    seen: BudgetLimits | None = None,
    below_use: bool = False,
    *,
    now: Instant,
) -> None:
    """Change a scope's limits in both partitions, with a reason that is kept.

    ``seen`` are the limits the person looked at; others by now are a `WrongState`. A limit below what is spent,
    reserved and frozen there is `Refused` unless ``below_use`` says that it is meant. A work order that has ended
    keeps the limits it ended with.
    """
    require_reason(reason, "change limits")
    require_limits(limits)
    scope = scope_row(tx, scope_id)
    ended = tx.one("SELECT number FROM work_order WHERE scope_id = ? AND ended_at IS NOT NULL", (scope_id,))
    if ended is not None:
        raise WrongState(
            f"WO-{ended['number']} has ended.",
            means="Nothing of it can start, so its limits bind nothing. Nothing was changed.",
            do="Change the limits of its project if others are to have more or less.",
        )
    present = limits_of(tx, scope_id)
    if seen is not None and seen != present:
        raise WrongState(
            f"The limits of “{scope['name']}” were changed while you looked.",
            means="Nothing was changed by you.",
            do="Look at the present limits, then change them again.",
            limits=_as_list(present),
        )
    below = sentences_below_use(scope["name"], partition_rows(tx, scope_id), limits)
    if below and not below_use:
        raise Refused(
            " ".join(below),
            means="It would stop everything new there, and nothing that runs. Nothing was changed.",
            do="Give at least what is counted already, or say that a limit below it is meant.",
            scope=scope["name"],
            scope_id=scope_id,
        )
    set_limits(tx, scope_id, limits, actor, reason, now=now)


def create_project(
    tx: Tx, name: str, limits: BudgetLimits, actor: Actor, reason: str, *, now: Instant
) -> str:
    """Make a project's scope before its first work order, with limits of its own; returns its id.

    Without this the first work order that names a project makes it, with the limits of the root.
    """
    require_reason(reason, "make a project")
    require_limits(limits)
    if not name.strip() or name != name.strip() or not name.isprintable() or len(name) > LONGEST_LINE:
        raise InvalidValue(
            f"The name of a project is one line of 1 to {LONGEST_LINE} visible characters.",
            do="Give another name, without blanks at its ends.",
        )
    root = tx.one("SELECT id FROM scope WHERE kind = 'ROOT'")
    assert root is not None
    if tx.one("SELECT 1 FROM scope WHERE parent_id = ? AND name = ?", (root["id"], name)) is not None:
        raise WrongState(f"There is a project “{name}” already.", do="Change its limits instead.")
    return create_scope(tx, root["id"], "PROJECT", name, limits, actor, now, reason)


def remove_project(tx: Tx, scope_id: str, actor: Actor, reason: str, *, now: Instant) -> None:
    """Take away a project that nothing was ever asked for in; `WrongState` for any other scope.

    What was spent in a scope stays counted for good, so a scope with a history is never removed.
    """
    require_reason(reason, "remove a project")
    scope = scope_row(tx, scope_id)
    if scope["kind"] != "PROJECT":
        raise WrongState(
            f"“{scope['name']}” is no project; it stays with what was asked for in it.",
            do="Remove only projects without work orders.",
        )
    orders = tx.one("SELECT count(*) AS n FROM scope WHERE parent_id = ?", (scope_id,))
    assert orders is not None
    if orders["n"]:
        raise WrongState(
            f"“{scope['name']}” has {_count(orders['n'], 'work order', 'work orders')}; what they used stays counted.",
            means="Nothing was removed.",
            do="To let nothing more start in it, set its limits to 0 or hold it.",
        )
    held = tx.one(
        "SELECT 1 FROM hold WHERE node_kind = 'SCOPE' AND node_id = ? AND released_at IS NULL", (scope_id,)
    )
    if held is not None:
        raise WrongState(f"“{scope['name']}” is held.", do="Resume it first, then remove it.")
    for table in ("scope_partition", "scope_path"):
        tx.run(f"DELETE FROM {table} WHERE scope_id = ?", (scope_id,))
    tx.run("DELETE FROM scope WHERE id = ?", (scope_id,))
    tx.journal(
        "scope.removed",
        Subject("scope", scope_id),
        actor,
        now,
        detail={"kind": "PROJECT", "name": scope["name"], "reason": reason},
    )


def scope_row(rx: Rx, scope_id: str) -> sqlite3.Row:
    """The row of a scope; `NotFound` if there is none."""
    row = rx.one("SELECT * FROM scope WHERE id = ?", (scope_id,))
    if row is None:
        raise NotFound(f"Scope {scope_id} does not exist.", do="Look at the budgets for its name.")
    return row


def partition_rows(rx: Rx, scope_id: str) -> list[sqlite3.Row]:
    """The counters and limits of a scope, EXECUTION first."""
    return rx.all("SELECT * FROM scope_partition WHERE scope_id = ? ORDER BY partition", (scope_id,))


_LIMIT_WORDS = {
    "execution_cost": "cost",
    "execution_active_ms": "active time",
    "handoff_cost": "cost for handoffs",
    "handoff_active_ms": "active time for handoffs",
}


def require_limits(limits: BudgetLimits) -> None:
    """Raise `InvalidValue` unless every limit is a whole number that a counter can still add up."""
    for name, what in _LIMIT_WORDS.items():
        value = getattr(limits, name)
        if type(value) is not int or not 0 <= value <= LARGEST_AMOUNT:
            raise InvalidValue(
                f"A limit of {what} is a whole number from 0 to {LARGEST_AMOUNT:,}, not {value!r}.",
                means="Nothing was changed.",
                do="Give whole milliseconds." if name.endswith("_ms") else "Give whole units.",
                field=name,
            )


def sentences_below_use(name: str, rows: Sequence[sqlite3.Row], limits: BudgetLimits) -> tuple[str, ...]:
    """A sentence for each limit that lies below what the scope counts already; equal to it is not below."""
    said = []
    for row in rows:
        handoff = row["partition"] == Partition.HANDOFF
        where = " for handoffs" if handoff else ""
        cost = limits.handoff_cost if handoff else limits.execution_cost
        active_ms = limits.handoff_active_ms if handoff else limits.execution_active_ms
        used = row["spent_cost"] + row["reserved_cost"] + row["frozen_cost"]
        used_ms = row["spent_ms"] + row["reserved_ms"] + row["frozen_ms"]
        if cost < used:
            said.append(f"“{name}” counts {used} units{where} already, more than {cost}.")
        if active_ms < used_ms:
            said.append(
                f"“{name}” counts {used_ms} ms of active time{where} already, more than {active_ms} ms."
            )
    return tuple(said)


def _as_list(limits: BudgetLimits) -> list[int]:
    return [getattr(limits, name) for name in BudgetLimits.__dataclass_fields__]


def _count(value: int, one: str, many: str) -> str:
    return f"{value} {one if value == 1 else many}"
