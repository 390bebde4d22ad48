"""Scopes, limits and draws in words and as bars. No widget is made here."""

from __future__ import annotations

from collections.abc import Sequence

from app.panels.inbox.row_text import one_line
from app.panels.words import actor_words, order_name
from app.theme import state_word
from app.widgets import Budget, Times, duration_text, number
from engine.states import Partition
from engine.views.budgets import LimitChange, PartitionBudget, ScopeRow
from engine.work_order import BudgetLimits

SCOPE_KINDS = {"ROOT": "The whole budget", "PROJECT": "Project", "WORK_ORDER": "Work order"}


def scope_title(row: ScopeRow) -> str:
    """What the tree calls a scope: a work order by number and title, a project by its name."""
    if row.number is not None:
        return f"{order_name(row.number)} · {one_line(row.title)}"
    return one_line(row.name)


def scope_line(row: ScopeRow) -> str:
    """What a scope is, in a line: its kind, how much is below it, and how its work order stands."""
    parts = [SCOPE_KINDS[row.kind]]
    if row.state is not None:
        parts.append(state_word(row.state))
    if row.kind == "PROJECT":
        parts.append(f"{number(row.children)} {'work order' if row.children == 1 else 'work orders'}")
    if row.kind == "ROOT":
        parts.append(f"{number(row.children)} {'project' if row.children == 1 else 'projects'}")
    if row.held:
        parts.append("held")
    return " · ".join(parts)


def partition_of(row: ScopeRow, partition: Partition) -> PartitionBudget:
    """One partition of a scope."""
    return row.handoff if partition is Partition.HANDOFF else row.execution


def cost_budget(row: ScopeRow, partition: Partition) -> Budget:
    """The cost of a scope as a bar."""
    part = partition_of(row, partition)
    return Budget(short_name(row), part.cost_limit, part.spent_cost, part.reserved_cost, part.frozen_cost)


def time_budget(row: ScopeRow, partition: Partition) -> Budget:
    """The active time of a scope as a bar, in whole seconds; parts are rounded up, the limit down."""
    part = partition_of(row, partition)
    return Budget(
        short_name(row),
        part.active_ms_limit // 1000,
        *(-(-value // 1000) for value in (part.spent_ms, part.reserved_ms, part.frozen_ms)),
    )


def short_name(row: ScopeRow) -> str:
    """The name of a scope beside its bar."""
    return one_line(row.name)


def free_cost_words(part: PartitionBudget) -> str:
    """What is free of the cost: "270", "12 over"."""
    return number(part.free_cost) if part.free_cost >= 0 else f"{number(-part.free_cost)} over"


def free_time_words(part: PartitionBudget) -> str:
    """What is free of the active time."""
    return duration_text(part.free_ms) if part.free_ms >= 0 else f"{duration_text(-part.free_ms)} over"


def limits_words(limits: BudgetLimits) -> str:
    """All four limits in a line."""
    return (
        f"{number(limits.execution_cost)} units and {duration_text(limits.execution_active_ms)}; for handoffs "
        f"{number(limits.handoff_cost)} and {duration_text(limits.handoff_active_ms)}"
    )


def change_words(change: LimitChange) -> str:
    """What a change of limits changed: only the limits that differ, each with both values."""
    if change.before is None:
        return f"made with {limits_words(change.after)}"
    before, after = change.before, change.after
    parts = [
        f"{name} {said(old)} → {said(new)}"
        for name, old, new, said in (
            ("cost", before.execution_cost, after.execution_cost, number),
            ("time", before.execution_active_ms, after.execution_active_ms, duration_text),
            ("handoff cost", before.handoff_cost, after.handoff_cost, number),
            ("handoff time", before.handoff_active_ms, after.handoff_active_ms, duration_text),
        )
        if old != new
    ]
    return ", ".join(parts) or "no limit differs"


def describe_scope(row: ScopeRow) -> str:
    """A scope for a screen reader: what it is and every number of both partitions."""
    said = [f"{scope_title(row)}. {scope_line(row)}"]
    for part in row.partitions:
        name = "handoffs" if part.partition is Partition.HANDOFF else "execution"
        said.append(
            f"{name}: cost {free_cost_words(part)} of {number(part.cost_limit)} free, {number(part.spent_cost)} "
            f"spent, {number(part.reserved_cost)} reserved, {number(part.frozen_cost)} frozen by UNKNOWN; "
            f"active time {free_time_words(part)} of {duration_text(part.active_ms_limit)} free"
        )
    return ". ".join(said)


def describe_change(change: LimitChange, times: Times) -> str:
    """A change of limits for a screen reader."""
    reason = f" Reason: {one_line(change.reason)}" if change.reason else ""
    return f"{change_words(change)}, by {actor_words(change.actor)} {times.stamp(change.at)}.{reason}"


def spare_words(path: Sequence[ScopeRow], partition: Partition) -> str:
    """What a new dispatch in the last scope of the path can take at most, and which scope says so."""
    parts = [(row, partition_of(row, partition)) for row in path]
    cost_row, cost = min(parts, key=lambda pair: pair[1].free_cost)
    time_row, active = min(parts, key=lambda pair: pair[1].free_ms)
    what = "handoff" if partition is Partition.HANDOFF else "step"
    if cost.free_cost < 0 or active.free_ms <= 0:
        row = cost_row if cost.free_cost < 0 else time_row
        return f"No {what} can start here now: “{short_name(row)}” has nothing left."
    return (
        f"A {what} that starts here now can take at most {number(cost.free_cost)} units "
        f"(“{short_name(cost_row)}” binds) and {duration_text(active.free_ms)} of active time "
        f"(“{short_name(time_row)}” binds)."
    )
