"""Creating wakes: repeats first, then budgets, then the row; all in one transaction (S-30, S-55)."""

from __future__ import annotations

from engine.durations import format_duration
from engine.errors import InvalidValue
from engine.ids import new_id
from engine.instants import LATEST, Instant, format_instant
from engine.wakes.errors import Reason, WakeRefused
from engine.wakes.recurrence import Every, Rule
from engine.wakes.requests import Request
from engine.wakes.series import SeriesRules, rule_text
from engine.wakes.settings import Budgets, WakeSettings
from engine.wakes.steps import record_step
from engine.wakes.store import Transaction, WakeStore
from engine.wakes.times import HOUR_MS
from engine.wakes.values import Booked, NewWake, Origin, Series, SeriesState, Trigger, Wake, WakeState


class Creating:
    """The rules of creation over a store. `create` is a transaction function."""

    def __init__(
        self, store: WakeStore, series: SeriesRules, budgets: Budgets, settings: WakeSettings
    ) -> None:
        self._store = store
        self._series = series
        self._budgets = budgets
        self._settings = settings

    def create(self, tx: Transaction, request: Request, *, now: Instant) -> Booked:
        """Store what was asked for, once; `WakeRefused` names the budget that says no.

        A repeat under the same key is answered from the stored row, whatever the budgets say now.
        """
        repeated = self._repeat(tx, request, now)
        if repeated is not None:
            return repeated
        if request.coalesce and request.lane is not None:
            pending = self._store.wakes.pending_alike(
                tx, request.workspace, request.lane, request.kind, request.trigger
            )
            if pending is not None:
                return booked(pending, coalesced=True)
        rule = self._rule(request, now)
        wake = self._one(tx, request, now) if rule is None else self._recurring(tx, request, rule, now)
        self._store.boundary(tx, "wake.create")
        return booked(wake)

    def create_approval(
        self, tx: Transaction, request: Request, reissue: bool, *, now: Instant
    ) -> tuple[Booked, bool]:
        """Store a requested approval; also tells whether the request's token is the one that counts now.

        With ``reissue`` the repeat of an unanswered approval gets that token, which voids the former (S-43).
        """
        assert request.token_digest is not None
        made = self.create(tx, request, now=now)
        if not made.repeat:
            return made, True
        return made, reissue and self._store.wakes.set_token(tx, made.id, request.token_digest)

    # Repeats

    def _repeat(self, tx: Transaction, request: Request, now: Instant) -> Booked | None:
        if request.key is None:
            return None
        since = now - self._settings.key_window_ms
        found = self._store.wakes.by_key(tx, request.workspace, request.key, since)
        series = self._store.series.by_key(tx, request.workspace, request.key, since)
        if found is not None and (series is None or found[0].created_at >= series.created_at):
            self._require_same(request, found[1])
            return booked(found[0], repeat=True)
        if series is None:
            return None
        self._require_same(request, series.fingerprint)
        last = self._store.series.last_occurrence(tx, series.id)
        if last is None:
            return Booked(series.id, series.id, _STATES[series.state], None, None, repeat=True)
        return booked(last, repeat=True)

    def _require_same(self, request: Request, fingerprint: str | None) -> None:
        if fingerprint != request.fingerprint:
            raise WakeRefused(
                Reason.KEY_CONFLICT,
                f"The key {request.key!r} was used for a different request.",
                do="Use another key for another request.",
            )

    # Budgets and rows

    def _one(self, tx: Transaction, request: Request, now: Instant) -> Wake:
        due_at = request.due_at if request.delay is None else now + request.delay
        expires_at = request.expires_at if request.expires_in is None else now + request.expires_in
        for name, instant in (("due time", due_at), ("deadline", expires_at)):
            if instant is not None and instant > LATEST:
                raise InvalidValue(f"The {name} is after the year 9999.", do="Give an earlier one.")
        if expires_at is not None and expires_at <= max(now, now if due_at is None else due_at):
            raise InvalidValue(
                f"The deadline {format_instant(expires_at)} is not later than the due time and than now.",
                means="Such a wake could only expire.",
                do="Give a later deadline.",
            )
        if request.refuse_past and due_at is not None and due_at < now:
            raise WakeRefused(
                Reason.PAST,
                f"{format_instant(due_at)} is in the past; it is {format_instant(now)} now.",
                do="Give a moment to come.",
                now=now,
            )
        self._require_budget(tx, request, now)
        for name, instant in (("due time", due_at), ("deadline", expires_at)):
            if instant is not None and instant - now > self._budgets.horizon_ms:
                raise self._horizon(name, self._budgets.horizon_ms)
        if request.origin is Origin.SINK and due_at is not None:
            least = self._budgets.sink_interval_ms
            if due_at - now < least:
                raise WakeRefused(
                    Reason.MIN_INTERVAL,
                    f"A wake made by a sink is due {format_duration(least)} later at the earliest.",
                    do="Give a later time.",
                    limit=least,
                )
        wake = self._store.wakes.insert(
            tx,
            NewWake(
                id=new_id(now),
                workspace=request.workspace,
                session=request.session,
                trigger=request.trigger,
                kind=request.kind,
                lane=request.lane,
                intent=request.intent,
                due_at=due_at,
                expires_at=expires_at,
                depth=request.depth,
                origin=request.origin,
                created_by=request.actor,
                created_at=now,
                event_key=request.event_key,
                token_digest=request.token_digest,
                idempotency_key=request.key,
                fingerprint=request.fingerprint,
            ),
        )
        record_step(self._store, tx, "created", wake, now, actor=request.actor, kind=wake.kind, due_at=due_at)
        return self._with_retained(tx, request, wake, now)

    def _with_retained(self, tx: Transaction, request: Request, wake: Wake, now: Instant) -> Wake:
        """Give a new watch the first kept event that its session has not seen (S-26)."""
        if wake.trigger is not Trigger.ON_EVENT:
            return wake
        assert wake.event_key is not None
        after = request.after
        if after is None:
            after = self._store.events.last_seen(tx, wake.workspace, wake.event_key, wake.session)
        event = self._store.events.retained(tx, wake.workspace, wake.event_key, after, now)
        if event is None or event.payload is None:
            return wake
        accepted = self._store.queue.accept_retained(tx, wake.id, event.payload, event.position, now)
        assert accepted is not None, "it was made in this transaction"
        self._store.events.set_accepted(tx, event.position, event.accepted + 1)
        record_step(
            self._store,
            tx,
            "accepted",
            accepted,
            now,
            before=WakeState.PENDING,
            why="the event was kept",
            position=event.position,
        )
        return accepted

    def _rule(self, request: Request, now: Instant) -> Rule | None:
        if request.every is not None:
            return Every(request.every, now if request.start is None else request.start)
        return request.rule

    def _recurring(self, tx: Transaction, request: Request, rule: Rule, now: Instant) -> Wake:
        booked_to = now if request.start is None else max(now, request.start - 1)
        first = rule.after(booked_to)
        if first is None or (request.until is not None and first > request.until):
            raise InvalidValue(
                "The series would have no occurrence.", do="Look at its rule, start and until."
            )
        self._require_budget(tx, request, now)
        if first - now > self._budgets.series_period_ms:
            raise self._horizon("first occurrence", self._budgets.series_period_ms)
        if request.expires_in is not None and request.expires_in > self._budgets.horizon_ms:
            raise self._horizon("deadline", self._budgets.horizon_ms)
        least = self._budgets.series_interval_ms
        if rule.shortest_period() < least:
            raise WakeRefused(
                Reason.MIN_INTERVAL,
                f"Occurrences of a series are {format_duration(least)} apart at the least.",
                do="Give a longer period.",
                limit=least,
            )
        most = self._budgets.lane_creations_per_hour
        if rule.count(first - 1, first - 1 + HOUR_MS) > most:
            raise self._lane_rate(most)
        series = Series(
            id=new_id(now),
            workspace=request.workspace,
            session=request.session,
            kind=request.kind,
            lane=request.lane,
            intent=request.intent,
            rule=rule_text(rule),
            catch_up=request.catch_up,
            catch_up_most=request.catch_up_most,
            grace_ms=request.grace_ms,
            until=request.until,
            count=request.count,
            expires_in=request.expires_in,
            state=SeriesState.ACTIVE,
            error=None,
            booked_to=booked_to,
            booked=0,
            skipped=0,
            depth=request.depth,
            idempotency_key=request.key,
            fingerprint=request.fingerprint,
            created_by=request.actor,
            created_at=now,
            ended_at=None,
        )
        self._store.series.insert(tx, series)
        self._store.record(
            tx, "created", "series", series.id, request.actor, now, {"rule": str(rule), "kind": series.kind}
        )
        return self._series.book(tx, series, first, now, origin=request.origin)

    def _require_budget(self, tx: Transaction, request: Request, now: Instant) -> None:
        budgets, wakes = self._budgets, self._store.wakes
        if request.depth > budgets.depth:
            raise WakeRefused(
                Reason.DEPTH,
                f"A wake may be {budgets.depth} deep; this one would be the {request.depth}th made by another.",
                do="Let a person or a schedule begin anew.",
                limit=budgets.depth,
            )
        if wakes.count_live(tx, request.workspace, budgets.live) >= budgets.live:
            raise WakeRefused(
                Reason.MAX_LIVE,
                f"{budgets.live} wakes of this workspace are pending or firing already.",
                do="Cancel some, or wait until some have fired.",
                limit=budgets.live,
            )
        since = now - HOUR_MS
        if request.origin is Origin.CALLER:
            most = budgets.creations_per_hour
            if wakes.count_by_callers(tx, request.workspace, since, most) >= most:
                raise WakeRefused(
                    Reason.RATE,
                    f"{most} wakes were made in this workspace within an hour.",
                    do="Wait a while.",
                    limit=most,
                )
            return
        most = budgets.lane_creations_per_hour
        made = wakes.count_by_system(tx, request.workspace, request.lane, request.kind, since, most)
        if made >= most:
            raise self._lane_rate(most)

    def _lane_rate(self, most: int) -> WakeRefused:
        return WakeRefused(
            Reason.LANE_RATE,
            f"Sinks and series may make {most} wakes an hour in one lane.",
            do="Look for a sink that reschedules itself, or give a longer period.",
            limit=most,
        )

    def _horizon(self, what: str, limit: int) -> WakeRefused:
        return WakeRefused(
            Reason.HORIZON,
            f"The {what} is more than {format_duration(limit)} ahead.",
            do="Give an earlier one.",
            limit=limit,
        )


def booked(wake: Wake, *, repeat: bool = False, coalesced: bool = False) -> Booked:
    """The answer to a creation, from the stored row."""
    return Booked(wake.id, wake.series, wake.state, wake.due_at, wake.expires_at, repeat, coalesced)


_STATES = {
    SeriesState.ACTIVE: WakeState.PENDING,
    SeriesState.PAUSED: WakeState.PENDING,
    SeriesState.BROKEN: WakeState.PENDING,
    SeriesState.ENDED: WakeState.FIRED,
    SeriesState.CANCELLED: WakeState.CANCELLED,
}
