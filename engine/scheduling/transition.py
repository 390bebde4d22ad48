"""One guarded change of state: UPDATE … WHERE state IN (legal sources) RETURNING, or a typed miss (E-21)."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from engine.errors import NotFound, WrongState
from engine.states import (
    APPROVAL_TRANSITIONS,
    ATTEMPT_TRANSITIONS,
    CLAIM_TRANSITIONS,
    GRANT_TRANSITIONS,
    TASK_TRANSITIONS,
    WORK_ORDER_TRANSITIONS,
    ApprovalState,
    AttemptState,
    ClaimState,
    GrantState,
    TaskState,
    WorkOrderState,
    sources,
)
from engine.storage import Tx

S = TypeVar("S", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Machine(Generic[S]):
    """One table with a ``state`` column, the word for its rows, and its legal transitions."""

    table: str
    word: str
    transitions: Mapping[S, frozenset[S]]


WORK_ORDER: Machine[WorkOrderState] = Machine("work_order", "Work order", WORK_ORDER_TRANSITIONS)
TASK: Machine[TaskState] = Machine("task", "Task", TASK_TRANSITIONS)
CLAIM: Machine[ClaimState] = Machine("claim", "Claim", CLAIM_TRANSITIONS)
APPROVAL: Machine[ApprovalState] = Machine("approval", "Approval", APPROVAL_TRANSITIONS)
ATTEMPT: Machine[AttemptState] = Machine("attempt", "Attempt", ATTEMPT_TRANSITIONS)
GRANT: Machine[GrantState] = Machine("standing_grant", "Grant", GRANT_TRANSITIONS)


def transition(tx: Tx, machine: Machine[S], identity: str, to: S, **values: object) -> sqlite3.Row:
    """Move one row to state ``to``, setting ``values`` in the same statement; return the new row.

    Raises `NotFound` if there is no such row and `WrongState` (``found``) if its state does not allow it.
    """
    legal = sources(machine.transitions, to)
    columns = "".join(f", {name} = ?" for name in values)
    row = tx.one(
        f"UPDATE {machine.table} SET state = ?{columns} WHERE id = ? AND state IN ({_marks(legal)}) RETURNING *",
        (to, *values.values(), identity, *legal),
    )
    if row is not None:
        return row
    found = tx.one(f"SELECT state FROM {machine.table} WHERE id = ?", (identity,))
    if found is None:
        raise NotFound(f"{machine.word} {identity} does not exist.", do="Look at the list again.")
    raise WrongState(
        f"{machine.word} is {found['state']} and cannot become {to}.",
        do="Look at its present state; it may have been decided meanwhile.",
        found=found["state"],
        wanted=to.value,
    )


def _marks(values: tuple[object, ...]) -> str:
    return ", ".join("?" for _ in values)
