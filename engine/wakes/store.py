"""The store port: what a place for wakes must offer. The conformance suite in ``tests/conformance`` says how.

A store runs whole functions as transactions: ``await store.write(function, *arguments)`` calls
``function(tx, *arguments, now=…)`` and answers after the commit; ``now`` is the store's clock and nobody
else's. Inside, the rules of the alarm clock work on rows through the five groups below, whose methods are
plain synchronous functions of ``tx``. A rule is therefore written once for every store, a sink's effect and
its ``fired`` commit together, and a store for several machines has one place, ``Queue.claim``, to lock rows.

What a transaction is, is the store's affair; the rules only hand it on. For the SQLite store it is
``engine.storage.Tx``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from engine.actors import Actor
from engine.instants import LATEST, Instant
from engine.wakes.values import (
    CatchUp,
    DocketRow,
    Gauges,
    LaneRow,
    NewWake,
    Receipt,
    ReceiptState,
    Series,
    SeriesState,
    Step,
    Trigger,
    Waiting,
    Wake,
    WakeState,
    WakeSummary,
)

R = TypeVar("R")

Transaction: TypeAlias = Any
"""A store's own transaction: reads and writes that commit together, or a snapshot that is only read."""

Trusted: TypeAlias = Callable[[Transaction], bool]
"""Whether the instant that a transaction was given may be judged by, as its store and the host see it."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What a claim took, in the order (due time, creation), and whom it set aside for want of a sink."""

    taken: tuple[Wake, ...]
    set_aside: tuple[Wake, ...]


class WakeRows(Protocol):
    """Wakes as rows: making, finding, listing, removing."""

    def insert(self, tx: Transaction, new: NewWake) -> Wake:
        """Insert a pending wake and arm it or its lane; any constraint it breaks is an error."""

    def get(self, tx: Transaction, wake_id: str) -> Wake | None:
        """The wake with this id."""

    def by_token(self, tx: Transaction, token_digest: str) -> Wake | None:
        """The approval whose present token has this digest."""

    def by_key(
        self, tx: Transaction, workspace: str, key: str, since: Instant
    ) -> tuple[Wake, str | None] | None:
        """The newest wake under a request key that is live or was created at ``since`` or later."""

    def pending_alike(
        self, tx: Transaction, workspace: str, lane: str, kind: str, trigger: Trigger
    ) -> Wake | None:
        """The first pending wake of this lane, kind and trigger."""

    def count_live(self, tx: Transaction, workspace: str, most: int) -> int:
        """How many wakes of a workspace are pending or firing; counting stops at ``most``."""

    def count_by_callers(self, tx: Transaction, workspace: str, since: Instant, most: int) -> int:
        """How many wakes callers made after ``since``; counting stops at ``most``."""

    def count_by_system(
        self, tx: Transaction, workspace: str, lane: str | None, kind: str, since: Instant, most: int
    ) -> int:
        """How many wakes sinks and series made after ``since`` in a lane, or of a kind without one."""

    def set_token(self, tx: Transaction, wake_id: str, token_digest: str) -> bool:
        """Give an unanswered approval another token; whether it was still unanswered."""

    def list(
        self,
        tx: Transaction,
        workspace: str | None,
        session: str | None,
        states: Collection[WakeState],
        after: tuple[Instant, int] | None,
        limit: int,
        *,
        text: str = "",
        due_before: Instant | None = None,
    ) -> tuple[WakeSummary, ...]:
        """A page of wakes by due time, then creation; see `place` for ``after``. No states: all of them.

        ``text`` stands anywhere in what names a wake: title, kind, workspace, session, lane, event key, id, error.
        """

    def list_ended(
        self,
        tx: Transaction,
        workspace: str | None,
        text: str,
        after: tuple[Instant, int] | None,
        limit: int,
    ) -> tuple[WakeSummary, ...]:
        """A page of fired, expired and cancelled wakes, the latest end first; see `end_place` for ``after``."""

    def delete_ended(
        self, tx: Transaction, before: Instant, created_before: Instant, keyed_before: Instant, limit: int
    ) -> int:
        """Remove wakes that ended before an instant, except recent ones that budgets or keys still need."""

    def gauges(self, tx: Transaction, now: Instant) -> Gauges:
        """Counts for the metrics."""


class Queue(Protocol):
    """Wakes on their way: arming, claiming, and every compare-and-set out of a state.

    Each step gives the row as it is after it, or None if the row was not as demanded, and re-arms the lane.
    What was begun, decided or released carries a ``not_before``; a claimed wake without one is claimed for the
    first time.
    """

    def claim(
        self,
        tx: Transaction,
        kinds: Collection[str],
        holder: str,
        lease_until: Instant,
        limit: int,
        *,
        by_time: bool,
        now: Instant,
    ) -> Claims:
        """Take at most ``limit`` armed wakes whose time has come: firing, with a lease, one claim further.

        In the order of their time, of one millisecond expiry notices last, then in that of their creation. An
        unadmitted wake whose deadline has passed is taken as expired. Kinds that are not among ``kinds`` are
        set aside. Without ``by_time`` only accepted events and answers are taken, whatever ``now`` is.
        """

    def renew(self, tx: Transaction, wake_id: str, claim: int, lease_until: Instant) -> bool:
        """Lengthen the lease of a claim; False if the claim is no longer the one. Never shortens it."""

    def finish(self, tx: Transaction, wake_id: str, claim: int, now: Instant) -> Wake | None:
        """From firing under this claim to fired, or expired if it was the notice of that."""

    def retry(
        self, tx: Transaction, wake_id: str, claim: int, error: str, not_before: Instant
    ) -> Wake | None:
        """From firing under this claim back to pending, not to be claimed before an instant."""

    def bury(self, tx: Transaction, wake_id: str, claim: int, error: str, now: Instant) -> Wake | None:
        """From firing under this claim to dead; stops the lane if it was told to."""

    def call_off(self, tx: Transaction, wake_id: str, claim: int, now: Instant) -> Wake | None:
        """From firing under this claim to cancelled."""

    def give_back(self, tx: Transaction, wake_id: str, claim: int) -> Wake | None:
        """From firing under this claim back to pending, without using up an attempt."""

    def lapsed(
        self, tx: Transaction, holder: str | None, running: Collection[str], limit: int, now: Instant
    ) -> tuple[Wake, ...]:
        """Firing wakes, not among ``running``, whose lease has ended, or that ``holder`` held."""

    def expire(self, tx: Transaction, limit: int, now: Instant) -> tuple[Wake, ...]:
        """Admit pending wakes whose deadline has come as expired: their notice queues from now on."""

    def accept_event(
        self,
        tx: Transaction,
        workspace: str,
        key: str,
        payload: str,
        position: int,
        now: Instant,
        *,
        judge: bool,
    ) -> tuple[Wake, ...]:
        """Store an event with every pending watch of it and queue them; ``judge``: only before the deadline."""

    def accept_retained(
        self, tx: Transaction, wake_id: str, payload: str, position: int, now: Instant
    ) -> Wake | None:
        """Store a retained event with one pending watch and queue it."""

    def accept_answer(
        self, tx: Transaction, wake_id: str, answer: str, actor: Actor, now: Instant, *, judge: bool
    ) -> Wake | None:
        """Store an answer with a pending approval and queue it; ``judge``: only before its deadline."""

    def cancel(self, tx: Transaction, wake_id: str, now: Instant) -> Wake | None:
        """From pending, with nothing accepted, to cancelled."""

    def release(self, tx: Transaction, wake_id: str) -> Wake | None:
        """From dead back to pending with its attempts forgiven; its lane goes on."""

    def drop(self, tx: Transaction, wake_id: str, now: Instant) -> Wake | None:
        """From dead to cancelled; its lane goes on."""

    def move(
        self,
        tx: Transaction,
        wake_id: str,
        due_at: Instant,
        expires_at: Instant | None,
        missed: int,
        now: Instant,
    ) -> Wake:
        """Move a claimed occurrence to a later grid point; it stays claimed."""

    def put_back(self, tx: Transaction, wake_id: str, waiting: Waiting | None) -> Wake:
        """From firing back to pending as if it had never been claimed, set aside if ``waiting`` says so."""

    def take_from_docket(self, tx: Transaction, wake_id: str, missed: int, now: Instant) -> Wake | None:
        """Let an occurrence that a person decided about queue from now on, standing for so many others."""

    def readmit(self, tx: Transaction, kinds: Collection[str], limit: int) -> tuple[Wake, ...]:
        """Let wakes queue again that were set aside for want of a sink of these kinds."""

    def next_obligation(self, tx: Transaction, running: Collection[str], *, claims: bool) -> Instant | None:
        """The earliest instant at which something is to be done: due, deadline, or lease end of others.

        ``claims``: whether a due wake could be claimed at all.
        """

    def set_lane(self, tx: Transaction, workspace: str, lane: str, *, stop_on_failure: bool) -> None:
        """Tell a lane whether it stops when a wake of it dies; not stopping lets it go on."""

    def lanes(self, tx: Transaction, workspace: str | None, limit: int) -> tuple[LaneRow, ...]:
        """Lanes that have something waiting or firing, or are stopped."""


class SeriesRows(Protocol):
    """Series and the docket as rows."""

    def insert(self, tx: Transaction, series: Series) -> None:
        """Insert a series."""

    def get(self, tx: Transaction, series_id: str) -> Series | None:
        """The series with this id."""

    def by_key(self, tx: Transaction, workspace: str, key: str, since: Instant) -> Series | None:
        """The newest series under a request key that lives or was created at ``since`` or later."""

    def save(self, tx: Transaction, series: Series) -> None:
        """Write back everything of a series that can change."""

    def live_occurrence(self, tx: Transaction, series_id: str) -> Wake | None:
        """The newest pending or firing wake of a series that is not in the docket."""

    def last_occurrence(self, tx: Transaction, series_id: str) -> Wake | None:
        """The newest wake of a series, whatever its state."""

    def docketed(self, tx: Transaction, series_id: str) -> tuple[Wake, ...]:
        """The wakes of a series that are in the docket."""

    def broken(self, tx: Transaction, limit: int) -> tuple[Series, ...]:
        """Broken series."""

    def list(
        self,
        tx: Transaction,
        workspace: str | None,
        states: Collection[SeriesState],
        after: str | None,
        limit: int,
    ) -> tuple[Series, ...]:
        """A page of series, oldest first, after the one with the id ``after``; without a workspace, of all."""

    def open_docket(self, tx: Transaction, row: DocketRow) -> None:
        """Put missed occurrences into the docket."""

    def docket(self, tx: Transaction, workspace: str | None, limit: int) -> tuple[DocketRow, ...]:
        """What waits for a decision, oldest first."""

    def docket_row(self, tx: Transaction, docket_id: str) -> DocketRow | None:
        """One docket row, decided or not."""

    def decide_docket(
        self, tx: Transaction, wake_id: str, decision: CatchUp, actor: Actor, reason: str, now: Instant
    ) -> bool:
        """Record the decision on the open row of a wake; False if there is none."""

    def delete_ended(self, tx: Transaction, before: Instant, keyed_before: Instant, limit: int) -> int:
        """Remove series that ended before an instant and have no wakes left, with their docket rows."""


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """A delivered event as it is stored; ``payload`` is kept only while it is retained."""

    position: int
    event_key: str
    payload: str | None
    retained_until: Instant | None
    accepted: int


class EventRows(Protocol):
    """Delivered events as rows."""

    def by_delivery(self, tx: Transaction, workspace: str, delivery_id: str) -> StoredEvent | None:
        """The event that was delivered under this id."""

    def insert(
        self,
        tx: Transaction,
        workspace: str,
        key: str,
        delivery_id: str | None,
        payload: str | None,
        retained_until: Instant | None,
        now: Instant,
    ) -> int:
        """Store an event that nobody has accepted yet; gives its position, which only grows."""

    def set_accepted(self, tx: Transaction, position: int, accepted: int) -> None:
        """Note how many watches accepted an event."""

    def last_seen(self, tx: Transaction, workspace: str, key: str, session: str | None) -> int:
        """The position of the last event of this key that fired a watch of this session; 0 if none did."""

    def retained(
        self, tx: Transaction, workspace: str, key: str, after: int, now: Instant
    ) -> StoredEvent | None:
        """The first event of this key after a position that is still retained."""

    def delete_old(self, tx: Transaction, before: Instant, now: Instant, limit: int) -> int:
        """Remove events delivered before an instant and no longer retained."""


class ReceiptRows(Protocol):
    """Receipts as rows. Each key is (workspace, session, key), three columns and never glued together."""

    def get(self, tx: Transaction, workspace: str, session: str, key: str) -> Receipt | None:
        """The receipt under this key."""

    def claim(
        self,
        tx: Transaction,
        workspace: str,
        session: str,
        key: str,
        holder: str,
        lease_until: Instant,
        now: Instant,
    ) -> Receipt:
        """Claim the key, new, free or lapsed: running under the next claim number."""

    def renew(
        self, tx: Transaction, workspace: str, session: str, key: str, claim: int, lease_until: Instant
    ) -> bool:
        """Lengthen the lease of a running claim; False if it is no longer the one."""

    def settle(
        self,
        tx: Transaction,
        workspace: str,
        session: str,
        key: str,
        claim: int,
        state: ReceiptState,
        result: str | None,
        now: Instant,
    ) -> bool:
        """End a claim that is running or unknown; False if it is no longer the one. Never changes a result."""

    def lapse(self, tx: Transaction, holder: str, now: Instant) -> int:
        """End the leases of everything a holder left running when its process died."""

    def unknown(self, tx: Transaction, workspace: str, limit: int) -> tuple[Receipt, ...]:
        """Receipts whose outcome nobody knows, oldest first."""

    def delete_ended(self, tx: Transaction, before: Instant, limit: int) -> int:
        """Remove receipts that ended before an instant; running and unknown ones stay."""


class WakeStore(Protocol):
    """A place for wakes. Rules run in `write`; the groups give them the rows."""

    name: str
    wakes: WakeRows
    queue: Queue
    series: SeriesRows
    events: EventRows
    receipts: ReceiptRows

    async def write(self, function: Callable[..., R], *arguments: object, control: bool = False) -> R:
        """Run ``function(tx, *arguments, now=…)`` as one transaction and give its value after the commit.

        ``control`` marks what a person pressed; it goes before other work. If the caller is cancelled, the
        transaction is committed whole or not at all.
        """

    async def read(self, function: Callable[..., R], *arguments: object) -> R:
        """Run ``function(tx, *arguments)`` over one snapshot."""

    def time_trusted(self, tx: Transaction) -> bool:
        """Whether the instant that this transaction was given may be judged by."""

    def record(
        self,
        tx: Transaction,
        event: str,
        kind: str,
        identity: str,
        actor: Actor,
        now: Instant,
        detail: Mapping[str, object],
    ) -> None:
        """Append one step to the history of a wake, series, docket row or receipt, in this transaction."""

    def history(self, tx: Transaction, kind: str, identity: str, limit: int) -> tuple[Step, ...]:
        """The recorded steps of one identity, oldest first."""

    def boundary(self, tx: Transaction, name: str) -> None:
        """Tell an injected test boundary, if there is one, that a named point is reached."""

    def subscribe(self, listener: Callable[[Sequence[str]], None]) -> Callable[[], None]:
        """Call ``listener`` with the recorded events of each commit; gives how to end it. A hint, no promise."""


def place(wake: WakeSummary | Wake) -> tuple[Instant, int]:
    """Where a wake stands in a list, those without a due time last: what a next page is asked with."""
    return (LATEST if wake.due_at is None else wake.due_at, wake.order)


def end_place(wake: WakeSummary) -> tuple[Instant, int]:
    """Where an ended wake stands in the list of ended ones."""
    return (0 if wake.ended_at is None else wake.ended_at, wake.order)
