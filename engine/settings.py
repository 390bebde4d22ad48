"""The engine's settings: sizes of batches, leases and slots, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass

from engine.clock_watch import DEFAULT_TOLERANCE_MS
from engine.errors import InvalidValue
from engine.instants import require_batch, require_duration
from engine.work_order import BudgetLimits

HOUR_MS = 3_600_000

ROOT_LIMITS = BudgetLimits(1_000, 24 * HOUR_MS, 100, 2 * HOUR_MS)
"""A thousand units and a day of active time, and a tenth of it for handoffs."""


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """How much one agent or script may ask for: work orders that have not ended, and new ones within an hour.

    Without them a program that runs wild buries what a person has to look at. 0 means none.
    """

    open: int = 100
    per_hour: int = 240

    def __post_init__(self) -> None:
        for name in ("open", "per_hour"):
            value = getattr(self, name)
            if type(value) is not int or value < 0:
                raise InvalidValue(f"{name} is {value!r}.", do="Give a whole number, zero or more.")


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How the engine is set. Durations are milliseconds; batches are rows of one transaction (E-26).

    ``slots`` is how many attempts may run at once, each in its own workspace. ``grace_ms`` is the time between
    asking a process to end and killing it; ``clock_tolerance_ms`` how far wall and elapsed time may
    part between two looks; ``expiry_notice_ms`` how long before its end a request for approval is noticed.
    ``root_limits`` are given to the root scope of a new data folder; ``request_limits`` hold for each agent and script.
    """

    lease_ms: int = 60_000
    recovery_batch: int = 100
    wakeup_batch: int = 100
    slots: int = 4
    grace_ms: int = 5_000
    clock_tolerance_ms: int = DEFAULT_TOLERANCE_MS
    expiry_notice_ms: int = 10 * 60_000
    root_limits: BudgetLimits = ROOT_LIMITS
    request_limits: RequestLimits = RequestLimits()

    def __post_init__(self) -> None:
        require_duration(self.lease_ms, "lease_ms")
        require_duration(self.grace_ms, "grace_ms")
        require_duration(self.clock_tolerance_ms, "clock_tolerance_ms")
        require_duration(self.expiry_notice_ms, "expiry_notice_ms")
        require_batch(self.recovery_batch, "recovery_batch")
        require_batch(self.wakeup_batch, "wakeup_batch")
        require_batch(self.slots, "slots")


DEFAULT_SETTINGS = EngineSettings()
"""What an engine is set to unless it is told otherwise."""
