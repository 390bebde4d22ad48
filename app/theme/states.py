"""How each state looks: its word, its tone and its shape. UNKNOWN is violet everywhere, never a failure.

A tick is kept for what was judged: passed, accepted, approved. An execution that merely ended well gets a dot
(E-60: a worker's success is not a validation).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.theme.tokens import Tone
from engine.states import (
    ApprovalState,
    AttemptState,
    ClaimState,
    ExposureState,
    GrantState,
    HoldKind,
    Outcome,
    TaskState,
    Verdict,
    WorkOrderState,
)


class Shape(StrEnum):
    """The small figure beside a word; `app.theme.draw_shape` paints it."""

    DOT = "dot"
    RING = "ring"
    HALF = "half"
    PLAY = "play"
    PAUSE = "pause"
    SQUARE = "square"
    CHECK = "check"
    CROSS = "cross"
    DASH = "dash"
    DIAMOND = "diamond"
    TRIANGLE = "triangle"
    CLOCK = "clock"


@dataclass(frozen=True, slots=True)
class Look:
    """What a state shows: word, tone and shape together."""

    word: str
    tone: Tone
    shape: Shape


def state_word(state: StrEnum | str) -> str:
    """The word of a state as people read it: ``AWAITING_ACCEPTANCE`` is "awaiting acceptance".

    UNKNOWN stays in capitals, so that it is never read as an ordinary word.
    """
    text = str(state)
    return text if text == "UNKNOWN" else text.replace("_", " ").lower()


_LOOKS: Mapping[type[StrEnum], Mapping[str, tuple[Tone, Shape]]] = {
    WorkOrderState: {
        WorkOrderState.ACTIVE: (Tone.LIVE, Shape.DOT),
        WorkOrderState.AWAITING_ACCEPTANCE: (Tone.WARN, Shape.RING),
        WorkOrderState.DECISION_NEEDED: (Tone.WARN, Shape.TRIANGLE),
        WorkOrderState.CANCELLING: (Tone.WARN, Shape.HALF),
        WorkOrderState.ACCEPTED: (Tone.OK, Shape.CHECK),
        WorkOrderState.REJECTED: (Tone.BAD, Shape.CROSS),
        WorkOrderState.CANCELLED: (Tone.NEUTRAL, Shape.DASH),
    },
    TaskState: {
        TaskState.WAITING: (Tone.NEUTRAL, Shape.CLOCK),
        TaskState.READY: (Tone.NEUTRAL, Shape.RING),
        TaskState.CLAIMED: (Tone.LIVE, Shape.HALF),
        TaskState.DISPATCHED: (Tone.LIVE, Shape.PLAY),
        TaskState.SUCCEEDED: (Tone.OK, Shape.DOT),
        TaskState.FAILED: (Tone.BAD, Shape.CROSS),
        TaskState.UNKNOWN: (Tone.UNKNOWN, Shape.DIAMOND),
        TaskState.CANCELLED: (Tone.NEUTRAL, Shape.DASH),
    },
    ClaimState: {
        ClaimState.LIVE: (Tone.LIVE, Shape.HALF),
        ClaimState.CONSUMED: (Tone.NEUTRAL, Shape.SQUARE),
        ClaimState.RELEASED: (Tone.NEUTRAL, Shape.DASH),
        ClaimState.EXPIRED: (Tone.WARN, Shape.CLOCK),
    },
    ApprovalState: {
        ApprovalState.PENDING: (Tone.WARN, Shape.RING),
        ApprovalState.APPROVED: (Tone.OK, Shape.CHECK),
        ApprovalState.REJECTED: (Tone.BAD, Shape.CROSS),
        ApprovalState.WITHDRAWN: (Tone.NEUTRAL, Shape.DASH),
        ApprovalState.EXPIRED: (Tone.WARN, Shape.CLOCK),
        ApprovalState.CHANGED: (Tone.BAD, Shape.TRIANGLE),
        ApprovalState.CONSUMED: (Tone.NEUTRAL, Shape.SQUARE),
    },
    GrantState: {
        GrantState.LIVE: (Tone.LIVE, Shape.HALF),
        GrantState.USED_UP: (Tone.NEUTRAL, Shape.SQUARE),
        GrantState.EXPIRED: (Tone.WARN, Shape.CLOCK),
        GrantState.REVOKED: (Tone.NEUTRAL, Shape.DASH),
        GrantState.VOID: (Tone.BAD, Shape.TRIANGLE),
    },
    AttemptState: {
        AttemptState.DISPATCH_AUTHORIZED: (Tone.LIVE, Shape.RING),
        AttemptState.DELIVERED: (Tone.LIVE, Shape.HALF),
        AttemptState.ACKNOWLEDGED: (Tone.LIVE, Shape.HALF),
        AttemptState.RUNNING: (Tone.LIVE, Shape.PLAY),
        AttemptState.EXECUTED: (Tone.LIVE, Shape.SQUARE),
        AttemptState.SETTLED: (Tone.NEUTRAL, Shape.SQUARE),
        AttemptState.UNKNOWN: (Tone.UNKNOWN, Shape.DIAMOND),
        AttemptState.VOIDED: (Tone.NEUTRAL, Shape.DASH),
    },
    Outcome: {
        Outcome.SUCCEEDED: (Tone.OK, Shape.DOT),
        Outcome.FAILED: (Tone.BAD, Shape.CROSS),
        Outcome.UNKNOWN: (Tone.UNKNOWN, Shape.DIAMOND),
    },
    Verdict: {
        Verdict.PASSED: (Tone.OK, Shape.CHECK),
        Verdict.FAILED: (Tone.BAD, Shape.CROSS),
        Verdict.UNKNOWN: (Tone.UNKNOWN, Shape.DIAMOND),
    },
    ExposureState: {
        ExposureState.RESERVED: (Tone.LIVE, Shape.RING),
        ExposureState.FROZEN: (Tone.UNKNOWN, Shape.DIAMOND),
        ExposureState.SPENT: (Tone.NEUTRAL, Shape.SQUARE),
        ExposureState.RELEASED: (Tone.NEUTRAL, Shape.DASH),
    },
    HoldKind: {
        HoldKind.PAUSE: (Tone.WARN, Shape.PAUSE),
        HoldKind.HOLD: (Tone.WARN, Shape.SQUARE),
        HoldKind.CLOCK: (Tone.BAD, Shape.CLOCK),
        HoldKind.RESTORE: (Tone.WARN, Shape.TRIANGLE),
        HoldKind.OVERRUN: (Tone.BAD, Shape.TRIANGLE),
    },
}


def look_of(state: StrEnum) -> Look:
    """The look of a state of one of the engine's state enumerations; `KeyError` for anything else."""
    tone, shape = _LOOKS[type(state)][state]
    return Look(state_word(state), tone, shape)
