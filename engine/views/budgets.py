"""Reads of the budgets: the tree of scopes with both partitions, and what draws on a scope now (E-44, E-61)."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from engine.actors import Actor, ActorKind
from engine.control.limits import scope_row
from engine.errors import NotFound
from engine.instants import Instant, require_batch
from engine.scheduling.gates import headroom_sentence, scope_without_headroom
from engine.states import AttemptState, ExposureState, Partition, Purpose, WorkOrderState
from engine.storage import Rx
from engine.work_order import BudgetLimits

ROOT_NAMES = ("root", "everything")
PROJECT_PREFIX = "project:"

MOST_SHOWN = 200
"""So many draws, waiting tasks and changes of limits are read with one scope; the numbers count all."""


@dataclass(frozen=True, slots=True)
class PartitionBudget:
    """One partition of a scope: cost in units, active time in ms. What is free is negative if limits were lowered.

    Spent is settled; reserved is what runs now may still use; frozen is held by UNKNOWN until somebody decides.
    """

    partition: Partition
    cost_limit: int
    spent_cost: int
    reserved_cost: int
    frozen_cost: int
    active_ms_limit: int
    spent_ms: int
    reserved_ms: int
    frozen_ms: int

    @property
    def used_cost(self) -> int:
        """What counts against the cost limit."""
        return self.spent_cost + self.reserved_cost + self.frozen_cost

    @property
    def used_ms(self) -> int:
        """What counts against the limit of active time."""
        return self.spent_ms + self.reserved_ms + self.frozen_ms

    @property
    def free_cost(self) -> int:
        """What new work may still reserve."""
        return self.cost_limit - self.used_cost

    @property
    def free_ms(self) -> int:
        """The active time that new work may still reserve."""
        return self.active_ms_limit - self.used_ms


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """One scope as the tree lists it.

    ``title``, ``number`` and ``state`` are those of its work order, if it is one's. ``children`` counts the scopes
    right below; ``held`` says that a hold lies on the scope itself.
    """

    id: str
    parent_id: str | None
    kind: str
    name: str
    title: str
    work_order_id: str | None
    number: int | None
    state: WorkOrderState | None
    execution: PartitionBudget
    handoff: PartitionBudget
    children: int
    held: bool
    created_at: Instant

    @property
    def limits(self) -> BudgetLimits:
        """The limits in both partitions."""
        return BudgetLimits(
            self.execution.cost_limit,
            self.execution.active_ms_limit,
            self.handoff.cost_limit,
            self.handoff.active_ms_limit,
        )

    @property
    def partitions(self) -> tuple[PartitionBudget, PartitionBudget]:
        """Both partitions."""
        return self.execution, self.handoff


@dataclass(frozen=True, slots=True)
class Draw:
    """One attempt that holds part of a scope's budget now: reserved while it may use it, or frozen by UNKNOWN."""

    attempt_id: str
    work_order_id: str
    number: int
    title: str
    purpose: Purpose
    state: AttemptState
    exposure: ExposureState
    partition: Partition
    cost: int
    active_ms: int
    authorized_at: Instant


@dataclass(frozen=True, slots=True)
class WaitingForRoom:
    """A step below a scope that would start if some scope above it had the headroom; ``why`` names that scope."""

    task_id: str
    work_order_id: str
    number: int
    title: str
    purpose: Purpose
    partition: Partition
    cost: int
    active_ms: int
    why: str


@dataclass(frozen=True, slots=True)
class LimitChange:
    """One change of a scope's limits as the journal has it; ``before`` is None for those it was made with."""

    sequence: int
    at: Instant
    actor: Actor
    reason: str
    before: BudgetLimits | None
    after: BudgetLimits


@dataclass(frozen=True, slots=True)
class ScopeView:
    """A scope with all above it (root first, itself last), what draws on it, what waits for room, and its past."""

    row: ScopeRow
    path: tuple[ScopeRow, ...]
    draws: tuple[Draw, ...]
    drawing: int
    waiting: tuple[WaitingForRoom, ...]
    history: tuple[LimitChange, ...]


_SCOPE = """
    SELECT scope.*, work_order.id AS work_order_id, work_order.number, work_order.title, work_order.state,
      (SELECT count(*) FROM scope AS child WHERE child.parent_id = scope.id) AS children,
      EXISTS (SELECT 1 FROM hold WHERE node_kind = 'SCOPE' AND node_id = scope.id AND released_at IS NULL) AS held
    FROM scope LEFT JOIN work_order ON work_order.scope_id = scope.id"""


def scopes(rx: Rx, parent_id: str | None, after: str | None, limit: int) -> tuple[ScopeRow, ...]:
    """The scopes right below ``parent_id``, newest first, at most ``limit`` after the scope ``after``.

    None gives the root.
    """
    require_batch(limit)
    if parent_id is None:
        return _rows(rx, rx.all(f"{_SCOPE} WHERE scope.kind = 'ROOT'"))
    below = "" if after is None else "AND scope.id < ?"
    values = (parent_id, limit) if after is None else (parent_id, after, limit)
    return _rows(
        rx, rx.all(f"{_SCOPE} WHERE scope.parent_id = ? {below} ORDER BY scope.id DESC LIMIT ?", values)
    )


def scopes_now(rx: Rx, ids: Sequence[str]) -> tuple[ScopeRow, ...]:
    """These scopes as they are now; those that are gone are left out."""
    marks = ", ".join("?" * len(ids))
    return _rows(rx, rx.all(f"{_SCOPE} WHERE scope.id IN ({marks})", tuple(ids)))


def find_scope(rx: Rx, name: str) -> str:
    """The id of the scope ``root``, ``project:NAME``, ``WO-118`` or an id; `NotFound` names what was asked for."""
    text = name.strip()
    match = re.fullmatch(r"(?:WO-)?(\d{1,15})", text, re.IGNORECASE | re.ASCII)
    if text.lower() in ROOT_NAMES:
        row = rx.one("SELECT id FROM scope WHERE kind = 'ROOT'")
    elif text.startswith(PROJECT_PREFIX):
        row = rx.one(
            "SELECT id FROM scope WHERE kind = 'PROJECT' AND name = ?", (text.removeprefix(PROJECT_PREFIX),)
        )
    elif match:
        row = rx.one("SELECT scope_id AS id FROM work_order WHERE number = ?", (int(match[1]),))
    else:
        row = rx.one("SELECT id FROM scope WHERE id = ?", (text,)) or rx.one(
            "SELECT scope_id AS id FROM work_order WHERE id = ?", (text,)
        )
    if row is None:
        raise NotFound(
            f"There is no budget {name}.",
            do="Write everything, project:NAME or WO-118; they are listed by: praxis budget list",
        )
    return str(row["id"])


def scope_view(rx: Rx, name: str) -> ScopeView:
    """One scope by its name or id, whole."""
    scope_id = find_scope(rx, name)
    path = _rows(
        rx,
        rx.all(
            f"""{_SCOPE} JOIN scope_path AS path ON path.ancestor_id = scope.id
                WHERE path.scope_id = ? ORDER BY path.distance DESC""",
            (scope_id,),
        ),
    )
    counted = rx.one(
        "SELECT count(*) AS n FROM exposure WHERE scope_id = ? AND state IN ('RESERVED', 'FROZEN')",
        (scope_id,),
    )
    assert counted is not None
    return ScopeView(
        path[-1], path, _draws(rx, scope_id), counted["n"], _waiting(rx, scope_id), _history(rx, scope_id)
    )


def limits_mean(path: Sequence[ScopeRow], limits: BudgetLimits) -> tuple[str, ...]:
    """What other limits of the last scope of ``path`` would mean for what starts from now on, in sentences."""
    own = path[-1]
    said: list[str] = []
    for part, cost, active_ms in (
        (own.execution, limits.execution_cost, limits.execution_active_ms),
        (own.handoff, limits.handoff_cost, limits.handoff_active_ms),
    ):
        what = "handoff" if part.partition is Partition.HANDOFF else "step"
        if cost < part.used_cost:
            said.append(
                f"{part.used_cost:,} units are counted already: no {what} that costs anything starts until "
                f"{part.used_cost - cost:,} of them are free again. What runs goes on."
            )
        elif cost == part.used_cost:
            said.append(f"Nothing is left: no {what} that costs anything starts.")
        if active_ms < part.used_ms:
            said.append(
                f"{part.used_ms // 1000:,} s of active time are counted already: no {what} starts until enough of "
                "it is free again. What runs goes on."
            )
        elif active_ms == part.used_ms:
            said.append(f"No active time is left: no {what} starts at all.")
        for above in path[:-1]:
            upper = above.handoff if part.partition is Partition.HANDOFF else above.execution
            if cost > upper.cost_limit or active_ms > upper.active_ms_limit:
                said.append(f"“{above.name}” above it allows less for a {what}, so that is what binds.")
    return tuple(dict.fromkeys(said))


def _rows(rx: Rx, found: Sequence[sqlite3.Row]) -> tuple[ScopeRow, ...]:
    if not found:
        return ()
    marks = ", ".join("?" * len(found))
    parts: dict[tuple[str, str], PartitionBudget] = {}
    for row in rx.all(
        f"SELECT * FROM scope_partition WHERE scope_id IN ({marks})", tuple(row["id"] for row in found)
    ):
        parts[row["scope_id"], row["partition"]] = PartitionBudget(
            partition=Partition(row["partition"]),
            cost_limit=row["cost_limit"],
            spent_cost=row["spent_cost"],
            reserved_cost=row["reserved_cost"],
            frozen_cost=row["frozen_cost"],
            active_ms_limit=row["active_ms_limit"],
            spent_ms=row["spent_ms"],
            reserved_ms=row["reserved_ms"],
            frozen_ms=row["frozen_ms"],
        )
    return tuple(
        ScopeRow(
            id=row["id"],
            parent_id=row["parent_id"],
            kind=row["kind"],
            name=row["name"],
            title=row["title"] or "",
            work_order_id=row["work_order_id"],
            number=row["number"],
            state=WorkOrderState(row["state"]) if row["state"] else None,
            execution=parts[row["id"], Partition.EXECUTION],
            handoff=parts[row["id"], Partition.HANDOFF],
            children=row["children"],
            held=bool(row["held"]),
            created_at=row["created_at"],
        )
        for row in found
    )


def _draws(rx: Rx, scope_id: str) -> tuple[Draw, ...]:
    rows = rx.all(
        """SELECT exposure.*, exposure.state AS exposure_state, attempt.work_order_id, attempt.purpose,
             attempt.state AS attempt_state, attempt.authorized_at, work_order.number, work_order.title
           FROM exposure JOIN attempt ON attempt.id = exposure.attempt_id
           JOIN work_order ON work_order.id = attempt.work_order_id
           WHERE exposure.scope_id = ? AND exposure.state IN ('RESERVED', 'FROZEN')
           ORDER BY exposure.attempt_id DESC LIMIT ?""",
        (scope_id, MOST_SHOWN),
    )
    return tuple(
        Draw(
            attempt_id=row["attempt_id"],
            work_order_id=row["work_order_id"],
            number=row["number"],
            title=row["title"],
            purpose=Purpose(row["purpose"]),
            state=AttemptState(row["attempt_state"]),
            exposure=ExposureState(row["exposure_state"]),
            partition=Partition(row["partition"]),
            cost=row["cost"],
            active_ms=row["active_ms"],
            authorized_at=row["authorized_at"],
        )
        for row in rows
    )


def _waiting(rx: Rx, scope_id: str) -> tuple[WaitingForRoom, ...]:
    rows = rx.all(
        """SELECT task.*, work_order.number, work_order.title FROM task
           JOIN work_order ON work_order.id = task.work_order_id
           WHERE task.blocked_by = 'RESOURCES'
             AND task.scope_id IN (SELECT scope_id FROM scope_path WHERE ancestor_id = ?)
           ORDER BY task.ready_at, task.id LIMIT ?""",
        (scope_id, MOST_SHOWN),
    )
    found = []
    for row in rows:
        short = scope_without_headroom(rx, row)
        why = "" if short is None else headroom_sentence(short, row["max_cost"], row["max_active_ms"])
        found.append(
            WaitingForRoom(
                task_id=row["id"],
                work_order_id=row["work_order_id"],
                number=row["number"],
                title=row["title"],
                purpose=Purpose(row["purpose"]),
                partition=Partition(row["partition"]),
                cost=row["max_cost"],
                active_ms=row["max_active_ms"],
                why=why,
            )
        )
    return tuple(found)


def _history(rx: Rx, scope_id: str) -> tuple[LimitChange, ...]:
    scope_row(rx, scope_id)
    rows = rx.all(
        """SELECT * FROM journal WHERE subject_kind = 'scope' AND subject_id = ?
             AND kind IN ('scope.created', 'scope.limits_changed') ORDER BY sequence DESC LIMIT ?""",
        (scope_id, MOST_SHOWN),
    )
    return tuple(_change(row) for row in rows)


def _change(row: sqlite3.Row) -> LimitChange:
    detail = json.loads(row["detail"])
    created = row["kind"] == "scope.created"
    return LimitChange(
        sequence=row["sequence"],
        at=row["at"],
        actor=Actor(ActorKind(row["actor_kind"]), row["actor_name"]),
        reason=detail.get("reason", ""),
        before=None if created else BudgetLimits(*detail["before"]),
        after=BudgetLimits(*detail["execution"], *detail["handoff"])
        if created
        else BudgetLimits(*detail["after"]),
    )
