"""What the alarm clock refuses, and what a runner or a claimer is told when it is no longer the one."""

from __future__ import annotations

from enum import StrEnum

from engine.errors import Fenced, PraxisError, Refused


class Reason(StrEnum):
    """Why a creation was refused: the budget or rule that said no."""

    MAX_LIVE = "max_live"
    RATE = "rate"
    HORIZON = "horizon"
    DEPTH = "depth"
    MIN_INTERVAL = "min_interval"
    LANE_RATE = "lane_rate"
    PAST = "past"
    KEY_CONFLICT = "key_conflict"


class WakeRefused(Refused):
    """A wake was not created; ``reason`` names the budget or rule, and nothing was stored."""

    code = "wake_refused"

    def __init__(self, reason: Reason, what: str, *, do: str = "", **facts: object) -> None:
        super().__init__(what, means="Nothing was stored.", do=do, reason=reason.value, **facts)
        self.reason = reason


class LostClaim(Fenced):
    """A runner finished a wake, or a claimer a receipt, that somebody else has claimed meanwhile."""

    code = "lost_claim"


class TimeLimitReached(PraxisError):
    """A sink ran longer than its kind may; it was told to stop, and the wake is tried again."""

    code = "time_limit"


class OutcomeUnknown(PraxisError):
    """An at-most-once effect was begun and nobody can say whether it happened; a person decides."""

    code = "outcome_unknown"
    exit_code = 4


class WaitOver(PraxisError):
    """Another caller still runs the effect of this receipt, and the time to wait for it is over."""

    code = "wait_over"


class CalledOff(Exception):
    """Raised by a sink that found that its wake is wanted no more and did nothing: it ends cancelled, not fired."""


class EffectDidNotHappen(Exception):
    """Raised by an effect that provably did nothing, so that even an at-most-once receipt is free again."""
