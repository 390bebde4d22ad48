"""The values of the alarm clock: a wake, a series, and what callers are answered.

A wake goes ``pending → firing → fired``; other ends are ``expired``, ``cancelled`` and ``dead``. It goes back
from firing to pending when its sink fails or its lease lapses, and from dead to pending when a person releases
it. Every step is one compare-and-set, so of racing fire, expire and cancel exactly one wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from engine.actors import Actor
from engine.instants import Instant

Json: TypeAlias = Any
"""A JSON value: what callers hand over as intent, payload or answer."""


class Trigger(StrEnum):
    """What makes a wake fire: a time, a delivered event, or a person's answer."""

    AT = "at"
    ON_EVENT = "on_event"
    ON_APPROVAL = "on_approval"


class WakeState(StrEnum):
    """Where a wake stands."""

    PENDING = "pending"
    FIRING = "firing"
    FIRED = "fired"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    DEAD = "dead"


LIVE = (WakeState.PENDING, WakeState.FIRING)
OPEN = (*LIVE, WakeState.DEAD)
"""The states in which something is still to come: of itself, or because a person decides."""


class Waiting(StrEnum):
    """Why a pending wake is set aside: its kind has no sink, or a person is to decide."""

    NO_SINK = "no_sink"
    DOCKET = "docket"


class Origin(StrEnum):
    """Who made a wake: a caller, a running sink, or its series. Only callers use up the creation rate."""

    CALLER = "caller"
    SINK = "sink"
    SERIES = "series"


class CatchUp(StrEnum):
    """What becomes of occurrences that were missed: each in turn, the newest, none, or ask a person."""

    ALL = "all"
    LATEST = "latest"
    NONE = "none"
    ASK = "ask"


class SeriesState(StrEnum):
    """Where a series stands. BROKEN: its next time cannot be reckoned or booked; it can be resumed."""

    ACTIVE = "active"
    PAUSED = "paused"
    BROKEN = "broken"
    ENDED = "ended"
    CANCELLED = "cancelled"


SERIES_LIVE = (SeriesState.ACTIVE, SeriesState.PAUSED, SeriesState.BROKEN)


@dataclass(frozen=True, slots=True)
class Wake:
    """One durable wake, as its sink and its readers see it. Instants are epoch milliseconds, UTC.

    ``order`` is the strictly rising number of its creation. ``intent`` is what its creator handed over,
    ``result`` the event's payload or the approver's answer (by ``answered_by``); both are the same at every
    drive. ``due_at`` is the scheduled time; of an event or approval the time at which it was accepted.
    ``expired`` marks the notice that the deadline ``expires_at`` passed; ``missed`` counts the occurrences
    that this one stands for beside itself, ``late_ms`` how late the first drive was. ``admitted_at`` is when
    the wake was first claimed, answered or expired: from then on its deadline no longer matters.
    ``armed_at`` is set on the one wake of an idle lane that may be claimed next, from that instant on.
    ``claim`` names the present or last drive and only grows: hand it to outside systems as a fence.
    """

    order: int
    id: str
    workspace: str
    session: str | None
    trigger: Trigger
    kind: str
    lane: str | None
    intent: Json
    result: Json
    expired: bool
    event_key: str | None
    position: int | None
    answered_by: Actor | None
    due_at: Instant | None
    expires_at: Instant | None
    state: WakeState
    waiting: Waiting | None
    admitted_at: Instant | None
    armed_at: Instant | None
    lease_until: Instant | None
    holder: str | None
    claim: int
    attempts: int
    not_before: Instant | None
    late_ms: int | None
    missed: int
    last_error: str | None
    recurrence: str | None
    series: str | None
    idempotency_key: str | None
    depth: int
    origin: Origin
    created_by: Actor
    created_at: Instant
    ended_at: Instant | None


@dataclass(frozen=True, slots=True)
class WakeSummary:
    """A wake in a list: where it stands, without what was handed over, answered or delivered.

    ``title`` is the text that its intent has under this name, if it is an object that has one.
    """

    order: int
    id: str
    workspace: str
    session: str | None
    trigger: Trigger
    kind: str
    title: str | None
    lane: str | None
    event_key: str | None
    state: WakeState
    waiting: Waiting | None
    expired: bool
    due_at: Instant | None
    expires_at: Instant | None
    armed_at: Instant | None
    attempts: int
    late_ms: int | None
    missed: int
    last_error: str | None
    recurrence: str | None
    series: str | None
    created_by: Actor
    created_at: Instant
    ended_at: Instant | None


@dataclass(frozen=True, slots=True)
class NewWake:
    """What a store inserts. ``due_at`` is None while an event or an answer is awaited."""

    id: str
    workspace: str
    session: str | None
    trigger: Trigger
    kind: str
    lane: str | None
    intent: str
    due_at: Instant | None
    expires_at: Instant | None
    depth: int
    origin: Origin
    created_by: Actor
    created_at: Instant
    event_key: str | None = None
    token_digest: str | None = None
    recurrence: str | None = None
    series: str | None = None
    not_before: Instant | None = None
    idempotency_key: str | None = None
    fingerprint: str | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """A recurring schedule: the pattern of its wakes and how far it has come.

    ``booked_to`` is the grid point up to which occurrences were booked or skipped; ``booked`` counts the first,
    ``skipped`` the second. ``expires_in`` is the deadline of each occurrence after its due time, in ms.
    ``rule`` and ``intent`` are JSON text. ``error`` says why a broken series is broken.
    """

    id: str
    workspace: str
    session: str | None
    kind: str
    lane: str | None
    intent: str
    rule: str
    catch_up: CatchUp
    catch_up_most: int
    grace_ms: int
    until: Instant | None
    count: int | None
    expires_in: int | None
    state: SeriesState
    error: str | None
    booked_to: Instant
    booked: int
    skipped: int
    depth: int
    idempotency_key: str | None
    fingerprint: str | None
    created_by: Actor
    created_at: Instant
    ended_at: Instant | None


@dataclass(frozen=True, slots=True)
class DocketRow:
    """Missed occurrences that a person is to decide about: how many, from when to when."""

    id: str
    wake_id: str
    series: str
    workspace: str
    first_missed: Instant
    last_missed: Instant
    missed: int
    opened_at: Instant
    decided_at: Instant | None
    decision: CatchUp | None
    decided_by: Actor | None
    reason: str


@dataclass(frozen=True, slots=True)
class Booked:
    """The answer to a creation, made from the stored row.

    ``repeat`` says that this request had been answered before, ``coalesced`` that a pending wake of the lane
    stands in for it; either way nothing new was stored. ``id`` is that of the wake, of a series' newest one;
    only if all wakes of a paused or broken series are gone, it is that of the series.
    """

    id: str
    series: str | None
    state: WakeState
    due_at: Instant | None
    expires_at: Instant | None
    repeat: bool = False
    coalesced: bool = False


@dataclass(frozen=True, slots=True)
class IssuedApproval:
    """A requested approval. ``token`` is shown this once; None in a repeat: it was issued already."""

    booked: Booked
    token: str | None


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of a delivered event: how many watches accepted it, and its position among all events.

    ``repeat`` marks the repeated delivery of an id; the rest is then the first outcome.
    """

    accepted: int
    position: int
    retained_until: Instant | None
    repeat: bool = False

    @property
    def watched(self) -> bool:
        """Whether anybody was watching."""
        return self.accepted > 0


class ResolveResult(StrEnum):
    """What became of an answer."""

    OK = "ok"
    NOT_FOUND = "not_found"
    TOO_LATE = "too_late"
    ALREADY_RESOLVED = "already_resolved"
    CANCELLED = "cancelled"
    UNAUTHORIZED = "unauthorized"


@dataclass(frozen=True, slots=True)
class Resolution:
    """The answer to an answer. An accepted one is durable; ``delivered`` says whether its sink has run.

    ``wake_id`` and who answered when are given to authorised callers only.
    """

    result: ResolveResult
    wake_id: str | None = None
    delivered: bool = False
    answered_by: Actor | None = None
    answered_at: Instant | None = None

    @property
    def ok(self) -> bool:
        """Whether the answer was accepted."""
        return self.result is ResolveResult.OK


class CancelResult(StrEnum):
    """What became of a cancellation."""

    OK = "ok"
    NOT_FOUND = "not_found"
    NOT_PENDING = "not_pending"
    UNAUTHORIZED = "unauthorized"


class ReceiptState(StrEnum):
    """Where a receipt stands. FREE: its effect raised, so that the key may be claimed anew."""

    RUNNING = "running"
    DONE = "done"
    FREE = "free"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Receipt:
    """One recorded or running effect of a session."""

    workspace: str
    session: str
    key: str
    state: ReceiptState
    claim: int
    holder: str
    lease_until: Instant | None
    result: Json
    created_at: Instant
    ended_at: Instant | None


@dataclass(frozen=True, slots=True)
class Step:
    """One entry of a wake's history: when, what, from which state to which, by whom, and why."""

    at: Instant
    event: str
    before: str | None
    after: str | None
    by: str
    why: str


@dataclass(frozen=True, slots=True)
class LaneRow:
    """A lane that has something to do, or is stopped: how many wait, which fires, and since when it stands."""

    workspace: str
    lane: str
    waiting: int
    firing: str | None
    stop_on_failure: bool
    stopped_by: str | None


@dataclass(frozen=True, slots=True)
class Gauges:
    """Counts over the store at one moment; ``oldest_overdue_ms`` is how late the latest armed wake is."""

    live: int
    dead: int
    waiting: dict[str, int]
    lanes: dict[tuple[str, str], int]
    oldest_overdue_ms: int
