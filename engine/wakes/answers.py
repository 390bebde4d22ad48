"""What wakes wait for besides time: delivered events and answers; and cancelling.

An event or an answer is accepted durably at once and delivered in its lane's turn: it is stored with the wake,
which is due from then on. Acceptance and delivery are told apart (S-28, S-33).
"""

from __future__ import annotations

from engine.actors import Actor
from engine.errors import NotFound, WrongState
from engine.instants import Instant
from engine.wakes.errors import Reason, WakeRefused
from engine.wakes.policy import Authorize, about, is_allowed, owns, require
from engine.wakes.series import SeriesRules
from engine.wakes.steps import record_step
from engine.wakes.store import Transaction, Trusted, WakeStore
from engine.wakes.values import (
    CancelResult,
    CatchUp,
    Delivery,
    Resolution,
    ResolveResult,
    Trigger,
    Waiting,
    Wake,
    WakeState,
)


class Answers:
    """The rules of events, approvals, cancelling and dead letters. Public methods are transaction functions."""

    def __init__(self, store: WakeStore, series: SeriesRules, authorize: Authorize, trusted: Trusted) -> None:
        self._store = store
        self._series = series
        self._authorize = authorize
        self._trusted = trusted

    def deliver(
        self,
        tx: Transaction,
        workspace: str,
        key: str,
        payload: str,
        delivery_id: str | None,
        retain_ms: int | None,
        *,
        now: Instant,
    ) -> Delivery:
        """Store an event with every pending watch of it, in one go; a repeated delivery changes nothing."""
        if delivery_id is not None:
            known = self._store.events.by_delivery(tx, workspace, delivery_id)
            if known is not None:
                if known.event_key != key:
                    raise WakeRefused(
                        Reason.KEY_CONFLICT,
                        f"The delivery {delivery_id!r} was one of another event.",
                        do="Give each delivery an id of its own.",
                    )
                return Delivery(known.accepted, known.position, known.retained_until, repeat=True)
        retained_until = None if retain_ms is None else now + retain_ms
        position = self._store.events.insert(
            tx, workspace, key, delivery_id, None if retain_ms is None else payload, retained_until, now
        )
        accepted = self._store.queue.accept_event(
            tx, workspace, key, payload, position, now, judge=self._trusted(tx)
        )
        for wake in accepted:
            record_step(
                self._store,
                tx,
                "accepted",
                wake,
                now,
                before=WakeState.PENDING,
                why="event",
                position=position,
            )
        if accepted:
            self._store.events.set_accepted(tx, position, len(accepted))
        self._store.boundary(tx, "wake.deliver")
        return Delivery(len(accepted), position, retained_until)

    def resolve(
        self, tx: Transaction, token_digest: str, answer: str, actor: Actor, *, now: Instant
    ) -> Resolution:
        """Accept an answer once. Who may not answer learns nothing but that; the approval stays open (S-34)."""
        wake = self._store.wakes.by_token(tx, token_digest)
        if not is_allowed(self._authorize, actor, "resolve", None if wake is None else about(wake)):
            return Resolution(ResolveResult.UNAUTHORIZED)
        if wake is None:
            return Resolution(ResolveResult.NOT_FOUND)
        return self._accept(tx, wake, answer, actor, now)

    def answer(self, tx: Transaction, wake_id: str, answer: str, actor: Actor, *, now: Instant) -> Resolution:
        """As `resolve`, for one who sees the wake and needs no token to name it. The policy decides all the same."""
        wake = self._store.wakes.get(tx, wake_id)
        if wake is not None and wake.trigger is not Trigger.ON_APPROVAL:
            wake = None
        if not is_allowed(self._authorize, actor, "resolve", None if wake is None else about(wake)):
            return Resolution(ResolveResult.UNAUTHORIZED)
        if wake is None:
            return Resolution(ResolveResult.NOT_FOUND)
        return self._accept(tx, wake, answer, actor, now)

    def _accept(self, tx: Transaction, wake: Wake, answer: str, actor: Actor, now: Instant) -> Resolution:
        accepted = self._store.queue.accept_answer(tx, wake.id, answer, actor, now, judge=self._trusted(tx))
        if accepted is None:
            return _no_longer(wake)
        record_step(
            self._store, tx, "accepted", accepted, now, before=WakeState.PENDING, actor=actor, why="answer"
        )
        self._store.boundary(tx, "wake.resolve")
        return Resolution(ResolveResult.OK, wake.id, False, actor, now)

    def cancel(
        self,
        tx: Transaction,
        wake_id: str,
        actor: Actor,
        workspace: str | None,
        session: str | None,
        reason: str,
        *,
        now: Instant,
    ) -> CancelResult:
        """Cancel a pending wake: for its own session, or whom the policy accepts, which is asked first."""
        wake = self._store.wakes.get(tx, wake_id)
        if wake is None:
            return CancelResult.NOT_FOUND
        if not owns(wake, workspace, session) and not is_allowed(
            self._authorize, actor, "cancel", about(wake)
        ):
            return CancelResult.UNAUTHORIZED
        cancelled = self._store.queue.cancel(tx, wake_id, now)
        if cancelled is None:
            return CancelResult.NOT_PENDING
        record_step(
            self._store, tx, "cancelled", cancelled, now, before=WakeState.PENDING, actor=actor, why=reason
        )
        if wake.waiting is Waiting.DOCKET:
            self._store.series.decide_docket(tx, wake_id, CatchUp.NONE, actor, reason or "cancelled", now)
        self._series.ensure_next(tx, cancelled.series, now)
        self._store.boundary(tx, "wake.cancel")
        return CancelResult.OK

    def release(self, tx: Transaction, wake_id: str, actor: Actor, reason: str, *, now: Instant) -> Wake:
        """Let a dead wake be tried again, with its attempts forgiven."""
        wake = self._dead(tx, wake_id)
        require(self._authorize, actor, "release", about(wake))
        released = self._store.queue.release(tx, wake_id)
        return self._ended(tx, "released", wake, released, actor, reason, now)

    def drop(self, tx: Transaction, wake_id: str, actor: Actor, reason: str, *, now: Instant) -> Wake:
        """Give a dead wake up for good."""
        wake = self._dead(tx, wake_id)
        require(self._authorize, actor, "drop", about(wake))
        dropped = self._store.queue.drop(tx, wake_id, now)
        return self._ended(tx, "dropped", wake, dropped, actor, reason, now)

    def _dead(self, tx: Transaction, wake_id: str) -> Wake:
        wake = self._store.wakes.get(tx, wake_id)
        if wake is None:
            raise NotFound(f"There is no wake {wake_id}.", do="Look at the list of dead wakes again.")
        return wake

    def _ended(
        self,
        tx: Transaction,
        event: str,
        wake: Wake,
        after: Wake | None,
        actor: Actor,
        reason: str,
        now: Instant,
    ) -> Wake:
        if after is None:
            raise WrongState(
                f"The wake is {wake.state} and not dead.", means="Nothing was changed.", found=wake.state
            )
        record_step(self._store, tx, event, after, now, before=WakeState.DEAD, actor=actor, why=reason)
        self._store.boundary(tx, f"wake.{event}")
        return after


def _no_longer(wake: Wake) -> Resolution:
    """Why an approval took no answer, for one who may hear it."""
    if wake.answered_by is not None:
        return Resolution(
            ResolveResult.ALREADY_RESOLVED,
            wake.id,
            wake.state is WakeState.FIRED,
            wake.answered_by,
            wake.admitted_at,
        )
    if wake.state is WakeState.CANCELLED:
        return Resolution(ResolveResult.CANCELLED, wake.id)
    return Resolution(ResolveResult.TOO_LATE, wake.id)
