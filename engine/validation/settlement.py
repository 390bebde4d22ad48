"""Settlement: replacing an attempt's reserved exposure by its actual use (E-61)."""

from __future__ import annotations

import sqlite3

from engine.actors import ENGINE, Actor
from engine.dispatch.budgets import move_exposure
from engine.dispatch.soundness import LARGEST_AMOUNT
from engine.errors import InvalidValue
from engine.ids import new_id
from engine.instants import Instant
from engine.scheduling.lanes import block_below
from engine.scheduling.transition import ATTEMPT, transition
from engine.states import AttemptState, ExposureState, HoldKind, NodeKind
from engine.storage import Subject, Tx


def require_actual(name: str, value: object) -> None:
    """Refuse an actual use, given by a person, that is no amount; None stands for none given."""
    if value is not None and (type(value) is not int or not 0 <= value <= LARGEST_AMOUNT):
        raise InvalidValue(
            f"{name} {value!r} is not a whole number from 0 to {LARGEST_AMOUNT}.",
            means="Nothing was decided.",
            do="Give what was used.",
            field=name,
        )


def settle(
    tx: Tx,
    attempt: sqlite3.Row,
    actor: Actor,
    now: Instant,
    *,
    cost: int | None = None,
    source: str = "reported",
) -> sqlite3.Row:
    """Settle an EXECUTED attempt in every ancestor scope; return its new row.

    The cost is ``cost`` if given, else what the command reported; with neither, the whole reservation counts
    (B-100: unknown is never zero), except where provably nothing started. An actual above the authorised maximum
    is recorded as it is, marked overrun, and puts an OVERRUN hold on the work order's scope.
    """
    active_ms = attempt["actual_active_ms"] or 0
    if cost is None and attempt["cost_source"] == "never_started":
        cost, active_ms, source = 0, 0, "never_started"
    elif cost is None and attempt["actual_cost"] is not None:
        cost, source = attempt["actual_cost"], attempt["cost_source"] or source
    elif cost is None:
        cost, source = attempt["max_cost"], "assumed_maximum"
    overrun = cost > attempt["max_cost"] or active_ms > attempt["max_active_ms"]
    move_exposure(tx, attempt["id"], ExposureState.SPENT, now, cost=cost, active_ms=active_ms)
    row = transition(
        tx,
        ATTEMPT,
        attempt["id"],
        AttemptState.SETTLED,
        actual_cost=cost,
        actual_active_ms=active_ms,
        cost_source=source,
        overrun=int(overrun),
        settled_at=now,
    )
    tx.journal(
        "attempt.settled",
        Subject("attempt", attempt["id"]),
        actor,
        now,
        work_order_id=attempt["work_order_id"],
        detail={
            "reserved": [attempt["max_cost"], attempt["max_active_ms"]],
            "actual": [cost, active_ms],
            "cost_source": source,
            "overrun": overrun,
        },
    )
    if overrun:
        _hold_overrun(tx, row, now)
    return row


def _hold_overrun(tx: Tx, attempt: sqlite3.Row, now: Instant) -> None:
    reason = (
        f"An attempt used {attempt['actual_cost']} units and {attempt['actual_active_ms']} ms; "
        f"{attempt['max_cost']} units and {attempt['max_active_ms']} ms were authorised."
    )
    hold_id = new_id(now)
    made = tx.run(
        """INSERT INTO hold(id, node_kind, node_id, kind, reason, actor_kind, actor, placed_at)
           VALUES (?, 'SCOPE', ?, 'OVERRUN', ?, ?, ?, ?) ON CONFLICT DO NOTHING""",
        (hold_id, attempt["scope_id"], reason, ENGINE.kind, ENGINE.name, now),
    )
    if made:
        tx.journal(
            "hold.placed",
            Subject("hold", hold_id),
            ENGINE,
            now,
            work_order_id=attempt["work_order_id"],
            detail={
                "kind": HoldKind.OVERRUN,
                "node": [NodeKind.SCOPE, attempt["scope_id"]],
                "reason": reason,
                "attempt": attempt["id"],
            },
        )
        block_below(tx, NodeKind.SCOPE, attempt["scope_id"], now)
