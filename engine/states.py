"""The words for states, and the tables of legal transitions. Anything not in a table is refused (E-21)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar


class Purpose(StrEnum):
    """What a task is for."""

    IMPLEMENT = "IMPLEMENT"
    VALIDATE = "VALIDATE"
    CORRECT = "CORRECT"
    HANDOFF = "HANDOFF"


class Partition(StrEnum):
    """The two partitions of a scope's budget; only HANDOFF attempts draw on HANDOFF (E-44)."""

    EXECUTION = "EXECUTION"
    HANDOFF = "HANDOFF"


class WorkOrderState(StrEnum):
    """Where a work order stands."""

    ACTIVE = "ACTIVE"
    AWAITING_ACCEPTANCE = "AWAITING_ACCEPTANCE"
    DECISION_NEEDED = "DECISION_NEEDED"
    CANCELLING = "CANCELLING"
    ACCEPTED = "ACCEPTED"
    REJECTED = "REJECTED"
    CANCELLED = "CANCELLED"


class TaskState(StrEnum):
    """Where a task stands (E-21)."""

    WAITING = "WAITING"
    READY = "READY"
    CLAIMED = "CLAIMED"
    DISPATCHED = "DISPATCHED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    UNKNOWN = "UNKNOWN"
    CANCELLED = "CANCELLED"


class ClaimState(StrEnum):
    """Where a claim stands: at most one is LIVE per task."""

    LIVE = "LIVE"
    CONSUMED = "CONSUMED"
    RELEASED = "RELEASED"
    EXPIRED = "EXPIRED"


class ApprovalState(StrEnum):
    """Where a request for approval stands. CHANGED: what would run is no longer what was asked (E-41)."""

    PENDING = "PENDING"
    APPROVED = "APPROVED"
    REJECTED = "REJECTED"
    WITHDRAWN = "WITHDRAWN"
    EXPIRED = "EXPIRED"
    CHANGED = "CHANGED"
    CONSUMED = "CONSUMED"


class GrantState(StrEnum):
    """Where a standing grant stands (E-42a). VOID: by drift, a restore, or a distrusted clock."""

    LIVE = "LIVE"
    USED_UP = "USED_UP"
    EXPIRED = "EXPIRED"
    REVOKED = "REVOKED"
    VOID = "VOID"


class AttemptState(StrEnum):
    """Where an authorised execution stands. EXECUTED: a definite outcome was observed, not yet settled."""

    DISPATCH_AUTHORIZED = "DISPATCH_AUTHORIZED"
    DELIVERED = "DELIVERED"
    ACKNOWLEDGED = "ACKNOWLEDGED"
    RUNNING = "RUNNING"
    EXECUTED = "EXECUTED"
    SETTLED = "SETTLED"
    UNKNOWN = "UNKNOWN"
    VOIDED = "VOIDED"


class Outcome(StrEnum):
    """What was observed of an execution (E-54). It is not a validation (E-60)."""

    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    UNKNOWN = "UNKNOWN"


class Verdict(StrEnum):
    """The outcome of a validation (E-60)."""

    PASSED = "PASSED"
    FAILED = "FAILED"
    UNKNOWN = "UNKNOWN"


class ExposureState(StrEnum):
    """What an attempt's exposure in a scope is: reserved, frozen by UNKNOWN, spent, or released."""

    RESERVED = "RESERVED"
    FROZEN = "FROZEN"
    SPENT = "SPENT"
    RELEASED = "RELEASED"


class HoldKind(StrEnum):
    """Why nothing new may start below a node. A PAUSE ends by resume; a HOLD by an answer to its reason."""

    PAUSE = "PAUSE"
    HOLD = "HOLD"
    CLOCK = "CLOCK"
    RESTORE = "RESTORE"
    OVERRUN = "OVERRUN"


class NodeKind(StrEnum):
    """What a hold or a control command acts on (E-70)."""

    ENGINE = "ENGINE"
    SCOPE = "SCOPE"
    WORK_ORDER = "WORK_ORDER"
    TASK = "TASK"


_W, _T, _A, _P, _C = WorkOrderState, TaskState, AttemptState, ApprovalState, ClaimState
_G = GrantState

WORK_ORDER_TRANSITIONS: Mapping[WorkOrderState, frozenset[WorkOrderState]] = {
    _W.ACTIVE: frozenset({_W.AWAITING_ACCEPTANCE, _W.DECISION_NEEDED, _W.CANCELLING, _W.CANCELLED}),
    _W.AWAITING_ACCEPTANCE: frozenset({_W.ACCEPTED, _W.REJECTED, _W.ACTIVE, _W.CANCELLED}),
    _W.DECISION_NEEDED: frozenset({_W.ACTIVE, _W.REJECTED, _W.CANCELLING, _W.CANCELLED}),
    _W.CANCELLING: frozenset({_W.CANCELLED}),
    _W.ACCEPTED: frozenset(),
    _W.REJECTED: frozenset(),
    _W.CANCELLED: frozenset(),
}

TASK_TRANSITIONS: Mapping[TaskState, frozenset[TaskState]] = {
    _T.WAITING: frozenset({_T.READY, _T.CANCELLED}),
    _T.READY: frozenset({_T.CLAIMED, _T.CANCELLED}),
    _T.CLAIMED: frozenset({_T.READY, _T.DISPATCHED, _T.CANCELLED}),
    _T.DISPATCHED: frozenset({_T.READY, _T.SUCCEEDED, _T.FAILED, _T.UNKNOWN, _T.CANCELLED}),
    _T.UNKNOWN: frozenset({_T.READY, _T.SUCCEEDED, _T.CANCELLED}),
    _T.SUCCEEDED: frozenset(),
    _T.FAILED: frozenset(),
    _T.CANCELLED: frozenset(),
}

CLAIM_TRANSITIONS: Mapping[ClaimState, frozenset[ClaimState]] = {
    _C.LIVE: frozenset({_C.CONSUMED, _C.RELEASED, _C.EXPIRED}),
    _C.CONSUMED: frozenset(),
    _C.RELEASED: frozenset(),
    _C.EXPIRED: frozenset(),
}

APPROVAL_TRANSITIONS: Mapping[ApprovalState, frozenset[ApprovalState]] = {
    _P.PENDING: frozenset({_P.APPROVED, _P.REJECTED, _P.WITHDRAWN, _P.EXPIRED, _P.CHANGED}),
    _P.APPROVED: frozenset({_P.CONSUMED, _P.WITHDRAWN, _P.EXPIRED, _P.CHANGED}),
    _P.REJECTED: frozenset(),
    _P.WITHDRAWN: frozenset(),
    _P.EXPIRED: frozenset(),
    _P.CHANGED: frozenset(),
    _P.CONSUMED: frozenset(),
}

GRANT_TRANSITIONS: Mapping[GrantState, frozenset[GrantState]] = {
    _G.LIVE: frozenset({_G.USED_UP, _G.EXPIRED, _G.REVOKED, _G.VOID}),
    # What a used-up grant approved and nothing has used yet can still be taken back.
    _G.USED_UP: frozenset({_G.REVOKED, _G.VOID}),
    _G.EXPIRED: frozenset(),
    _G.REVOKED: frozenset(),
    _G.VOID: frozenset(),
}

ATTEMPT_TRANSITIONS: Mapping[AttemptState, frozenset[AttemptState]] = {
    _A.DISPATCH_AUTHORIZED: frozenset(
        {_A.DELIVERED, _A.VOIDED, _A.UNKNOWN}
    ),  # UNKNOWN: after a restore (E-82)
    _A.DELIVERED: frozenset({_A.ACKNOWLEDGED, _A.UNKNOWN}),
    # VOIDED: stopped while its program was still parked, so that nothing had begun (E-54, E-71)
    _A.ACKNOWLEDGED: frozenset({_A.RUNNING, _A.EXECUTED, _A.UNKNOWN, _A.VOIDED}),
    _A.RUNNING: frozenset({_A.EXECUTED, _A.UNKNOWN, _A.VOIDED}),
    _A.EXECUTED: frozenset({_A.SETTLED, _A.UNKNOWN}),
    _A.UNKNOWN: frozenset({_A.EXECUTED, _A.VOIDED}),
    _A.SETTLED: frozenset(),
    _A.VOIDED: frozenset(),
}

S = TypeVar("S", bound=StrEnum)


def sources(table: Mapping[S, frozenset[S]], target: S) -> tuple[S, ...]:
    """All states from which ``target`` may be reached: what a guarded UPDATE may find."""
    return tuple(state for state, targets in table.items() if target in targets)
