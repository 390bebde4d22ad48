"""The alarm clock as one object: creating, answering, firing, steering, looking."""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Unpack

from engine.actors import ENGINE, Actor
from engine.clock import Clock
from engine.errors import InvalidValue
from engine.instants import Instant, require_batch
from engine.wakes import recurrence, requests
from engine.wakes.answers import Answers
from engine.wakes.cleaning import CLEAN_UP_KIND, OWN_WORKSPACE, Cleaned, clean_up
from engine.wakes.creating import Creating
from engine.wakes.driver import Driver, TimerDriver
from engine.wakes.firing import Firing
from engine.wakes.metrics import Metrics, MetricsSnapshot
from engine.wakes.notices import Listener, guarded, log_notice
from engine.wakes.policy import About, Authorize, require
from engine.wakes.receipts import Check, Effect, Policy, Receipts
from engine.wakes.recurrence import Every, Occurrence, Rule, preview, rule_from_json
from engine.wakes.requests import Asked, Request, ScheduleAsked, WatchAsked
from engine.wakes.runner import PassReport, Runner
from engine.wakes.scheduler import Scheduler
from engine.wakes.series import SeriesRules, rule_text
from engine.wakes.settings import DEFAULT_BUDGETS, DEFAULT_SETTINGS, Budgets, WakeSettings
from engine.wakes.sinks import Sink, external
from engine.wakes.store import Transaction, WakeStore
from engine.wakes.times import Duration, TimeText, absolute, duration
from engine.wakes.values import (
    SERIES_LIVE,
    Booked,
    CancelResult,
    CatchUp,
    Delivery,
    DocketRow,
    IssuedApproval,
    Json,
    LaneRow,
    Receipt,
    Resolution,
    Series,
    SeriesState,
    Step,
    Wake,
    WakeState,
    WakeSummary,
)

_RELEVANT = {
    f"wake.{event}"
    for event in (
        "created",
        "accepted",
        "released",
        "failed",
        "given_back",
        "decided",
        "cancelled",
        "dropped",
    )
}
"""Steps after which something may be due that was not before."""

_log = logging.getLogger(__name__)


class AlarmClock:
    """Durable wakes over one store. It belongs to the running event loop.

    Without `start` nothing happens by itself: the host calls `run_due`. ``holder`` names this runner among all
    that share the store; a runner that comes back under the same name takes back what it held, so no two may
    live under one name. ``authorize`` decides who may do what; there is no implicit yes. ``time_trusted``
    says, beside the store, whether time may be judged by; it is asked within transactions, on their thread.
    """

    def __init__(
        self,
        store: WakeStore,
        *,
        clock: Clock,
        authorize: Authorize,
        sinks: Mapping[str, Sink] | None = None,
        settings: WakeSettings = DEFAULT_SETTINGS,
        budgets: Budgets = DEFAULT_BUDGETS,
        holder: str = "runner",
        driver: Driver | None = None,
        notify: Listener = log_notice,
        time_trusted: Callable[[], bool] = lambda: True,
        jitter: Callable[[], float] = random.random,
        make_token: Callable[[], str] = lambda: secrets.token_urlsafe(32),
    ) -> None:
        if not callable(authorize):
            raise InvalidValue(
                "An alarm clock needs a policy.",
                means="Nobody may do anything unless the policy says so.",
                do="Give authorize, a function of actor, right and subject that answers True for a yes.",
            )
        self._store = store
        self._clock = clock
        self._settings = settings
        self._authorize = authorize
        self._make_token = make_token
        self._holder = requests.require_name(holder, "holder")

        def trusted(tx: Transaction) -> bool:
            return store.time_trusted(tx) and time_trusted()

        self._series = SeriesRules(store, budgets, authorize)
        self._creating = Creating(store, self._series, budgets, settings)
        self._answers = Answers(store, self._series, authorize, trusted)
        self._firing = Firing(store, self._series, settings, trusted)
        self._receipts = Receipts(store, clock, settings, self._holder, authorize, trusted)
        self._metrics = Metrics()
        self._runner = Runner(
            store,
            self._firing,
            clock,
            settings,
            self._holder,
            self._metrics,
            guarded(notify),
            jitter,
            self._look_again,
        )
        self._driver: Driver = driver or TimerDriver(clock)
        self._scheduler = Scheduler(clock, settings.sweep_ms, self.recover, self.run_due, self._look_again)
        self._switching = asyncio.Lock()
        self._unsubscribe: Callable[[], None] | None = None
        self.register(CLEAN_UP_KIND, external(self._clean_up_sink))
        for kind, sink in (sinks or {}).items():
            self.register(kind, sink)

    # ------------------------------------------------------------------------------------------- creating

    async def schedule(self, **asked: Unpack[ScheduleAsked]) -> Booked:
        """Book a wake at a time (``at``, ``in_``), or a series of them (``cron`` with ``zone``, ``every``).

        Raises `InvalidValue` for what is malformed, before anything is looked at, and `WakeRefused` for what a
        budget forbids; either way nothing is stored.
        """
        return await self.create(self.schedule_request(**asked))

    async def watch(self, **asked: Unpack[WatchAsked]) -> Booked:
        """Book a wake for the next event of a key, or for a kept one that this session has not seen."""
        return await self.create(self.watch_request(**asked))

    async def request_approval(self, *, reissue: bool = False, **asked: Unpack[Asked]) -> IssuedApproval:
        """Book a wake for a person's answer, with a deadline; gives the token, which is shown this once.

        A repeat under the same key gives no token, unless ``reissue`` asks for a new one, which voids the old.
        """
        token = self._make_token()
        request = requests.approval(token=token, **asked)
        booked, issued = await self._store.write(self._creating.create_approval, request, reissue)
        self._created(request, booked)
        return IssuedApproval(booked, token if issued else None)

    def schedule_request(self, **asked: Unpack[ScheduleAsked]) -> Request:
        """Check what `schedule` would be asked, for `create_in`."""
        return requests.schedule(self._settings, **asked)

    def watch_request(self, **asked: Unpack[WatchAsked]) -> Request:
        """Check what `watch` would be asked, for `create_in`."""
        return requests.watch(self._settings, **asked)

    def create_in(self, tx: Transaction, request: Request, *, now: Instant) -> Booked:
        """Book a wake within a transaction of the host, or of an in-transaction sink: both commit, or neither."""
        return self._creating.create(tx, request, now=now)

    async def create(self, request: Request) -> Booked:
        """Book what a checked request asks for."""
        booked = await self._store.write(self._creating.create, request)
        self._created(request, booked)
        return booked

    # ------------------------------------------------------------------------------- events, answers, ends

    async def deliver_event(
        self,
        workspace: str,
        key: str,
        payload: Json = None,
        *,
        delivery_id: str | None = None,
        retain: Duration | None = None,
    ) -> Delivery:
        """Fire every pending watch of this workspace and key; answers when all have accepted, before any runs.

        A repeated ``delivery_id`` gives the first outcome and fires nothing. ``retain`` keeps the event for
        watches that come late.
        """
        text = requests.json_text(payload, "payload")
        return await self._store.write(
            self._answers.deliver,
            requests.require_name(workspace, "workspace"),
            requests.require_name(key, "key"),
            text,
            requests.optional_name(delivery_id, "delivery_id"),
            None if retain is None else duration(retain, "retain"),
        )

    async def resolve(self, token: str, answer: Json, actor: Actor) -> Resolution:
        """Answer an approval. Accepted means durable; it is delivered in its lane's turn, however late."""
        if not isinstance(token, str):
            raise InvalidValue("The token is not text.", do="Give the token as it was issued.")
        text = requests.json_text(answer, "answer")
        digest = requests.token_digest(token)
        return await self._store.write(self._answers.resolve, digest, text, actor, control=True)

    async def answer(self, wake_id: str, answer: Json, actor: Actor) -> Resolution:
        """As `resolve`, by the id of the wake: for a person who sees it, and whom the policy lets answer."""
        text = requests.json_text(answer, "answer")
        return await self._store.write(self._answers.answer, wake_id, text, actor, control=True)

    async def cancel(
        self,
        wake_id: str,
        actor: Actor,
        *,
        workspace: str | None = None,
        session: str | None = None,
        reason: str = "",
    ) -> CancelResult:
        """Cancel a pending wake. ``workspace`` and ``session`` are the caller's own, as its host knows them.

        Of a series only this occurrence is cancelled.
        """
        return await self._store.write(
            self._answers.cancel, wake_id, actor, workspace, session, reason, control=True
        )

    async def release(self, wake_id: str, actor: Actor, reason: str) -> Wake:
        """Let a dead wake be tried again; raises `WrongState` unless it is dead."""
        return await self._store.write(self._answers.release, wake_id, actor, _reason(reason), control=True)

    async def drop(self, wake_id: str, actor: Actor, reason: str) -> Wake:
        """Give a dead wake up; raises `WrongState` unless it is dead."""
        return await self._store.write(self._answers.drop, wake_id, actor, _reason(reason), control=True)

    # ------------------------------------------------------------------------------------------- series

    async def cancel_series(
        self,
        series_id: str,
        actor: Actor,
        *,
        workspace: str | None = None,
        session: str | None = None,
        reason: str = "",
    ) -> CancelResult:
        """End a series for good; an occurrence that fires just now ends, and no other is booked."""
        return await self._store.write(
            self._series.cancel, series_id, actor, workspace, session, reason, control=True
        )

    async def pause_series(self, series_id: str, actor: Actor, reason: str = "") -> Series:
        """Let a series rest until `resume_series`."""
        return await self._store.write(self._series.pause, series_id, actor, reason, control=True)

    async def resume_series(self, series_id: str, actor: Actor, reason: str = "") -> Series:
        """Go on with a paused series, from now, or with a broken one, from where it broke."""
        return await self._store.write(self._series.resume, series_id, actor, reason, control=True)

    async def change_series(
        self,
        series_id: str,
        actor: Actor,
        *,
        cron: str | None = None,
        zone: str | None = None,
        every: Duration | None = None,
        start: TimeText | None = None,
        intent: Json = ...,
        until: TimeText | None = None,
        count: int | None = None,
        no_end: bool = False,
        catch_up: CatchUp | str | None = None,
        reason: str = "",
    ) -> Series:
        """Give a series another rule, intent, end or policy; what is not named stays. Grids begin anew at now.

        ``no_end`` takes away ``until`` and ``count``, unless one of them is given anew.
        """
        changes: dict[str, object] = {"until": None, "count": None} if no_end else {}
        if cron is not None or every is not None:
            if (cron is None) == (every is None):
                raise InvalidValue("cron and every were given together.", do="Give one rule.")
            changes["rule"] = rule_text(self._rule(cron, zone, every, start))
        elif zone is not None or start is not None:
            raise InvalidValue("zone and start belong to a rule.", do="Give cron or every with them.")
        if intent is not ...:
            changes["intent"] = requests.json_text(intent, "intent")
        if until is not None:
            changes["until"] = absolute(until, "until")
        if count is not None:
            changes["count"] = require_batch(count, "count")
        if catch_up is not None:
            if catch_up not in list(CatchUp):
                raise InvalidValue(f"catch_up {catch_up!r} is not a policy.")
            changes["catch_up"] = CatchUp(catch_up)
        return await self._store.write(self._series.change, series_id, changes, actor, reason, control=True)

    async def series(self, series_id: str) -> Series | None:
        """One series."""
        return await self._store.read(self._store.series.get, series_id)

    def series_in(self, tx: Transaction, series_id: str) -> Series | None:
        """One series as it is in a transaction of the caller's own (with a store that shares its database)."""
        return self._store.series.get(tx, series_id)

    async def list_series(
        self,
        workspace: str | None = None,
        *,
        states: Collection[SeriesState] = (),
        after: str | None = None,
        limit: int = 100,
    ) -> tuple[Series, ...]:
        """A page of the series of a workspace or of all, oldest first, after the one with the id ``after``."""
        return await self._store.read(
            self._store.series.list, workspace, tuple(states), after, require_batch(limit)
        )

    async def preview(self, series_id: str, number: int = 10) -> tuple[Occurrence, ...]:
        """The coming occurrences of a series, with local time, UTC and a mark on days whose clocks change."""
        series = await self.series(series_id)
        if series is None:
            return ()
        after = max(self._clock.now(), series.booked_to)
        most, booked = require_batch(number), series.booked
        last = await self._store.read(self._store.series.live_occurrence, series_id)
        if last is not None and last.state is WakeState.PENDING and last.due_at is not None:
            after, booked = last.due_at - 1, booked - 1
        if series.count is not None:
            most = min(most, series.count - booked)
        return preview(rule_from_json(series.rule), after, most, series.until) if most > 0 else ()

    def preview_rule(
        self,
        *,
        cron: str | None = None,
        zone: str | None = None,
        every: Duration | None = None,
        start: TimeText | None = None,
        until: TimeText | None = None,
        number: int = 10,
    ) -> tuple[Occurrence, ...]:
        """The occurrences that a series would have, before it is made."""
        if (cron is None) == (every is None):
            raise InvalidValue("A preview needs one rule.", do="Give cron or every.")
        rule = self._rule(cron, zone, every, start)
        now = self._clock.now()
        after = now if start is None else max(now, absolute(start, "start") - 1)
        end = None if until is None else absolute(until, "until")
        return preview(rule, after, require_batch(number), end)

    async def docket(self, workspace: str | None = None, *, limit: int = 100) -> tuple[DocketRow, ...]:
        """Missed occurrences that wait for a person, oldest first."""
        return await self._store.read(self._store.series.docket, workspace, require_batch(limit))

    async def decide(self, docket_id: str, choice: CatchUp | str, actor: Actor, reason: str) -> DocketRow:
        """Decide about missed occurrences: fire ``all`` of them, the ``latest`` or ``none``."""
        if choice not in list(CatchUp):
            raise InvalidValue(f"{choice!r} is not a decision.", do="Choose all, latest or none.")
        return await self._store.write(
            self._series.decide, docket_id, CatchUp(choice), actor, _reason(reason), control=True
        )

    # ------------------------------------------------------------------------------------------- looking

    async def get(self, wake_id: str) -> Wake | None:
        """One wake, whole."""
        return await self._store.read(self._store.wakes.get, wake_id)

    async def list_wakes(
        self,
        workspace: str | None = None,
        *,
        session: str | None = None,
        states: Collection[WakeState] = (),
        text: str = "",
        due_before: Instant | None = None,
        after: tuple[Instant, int] | None = None,
        limit: int = 100,
    ) -> tuple[WakeSummary, ...]:
        """A page of wakes by due time, after `engine.wakes.store.place` of the last one seen.

        Without a workspace, of all of them. ``text`` stands anywhere in what names a wake or in its error.
        """

        def look(tx: Transaction) -> tuple[WakeSummary, ...]:
            return self._store.wakes.list(
                tx, workspace, session, tuple(states), after, limit, text=text, due_before=due_before
            )

        require_batch(limit)
        return await self._store.read(look)

    async def list_ended(
        self,
        workspace: str | None = None,
        *,
        text: str = "",
        after: tuple[Instant, int] | None = None,
        limit: int = 100,
    ) -> tuple[WakeSummary, ...]:
        """A page of ended wakes, the latest end first, after `engine.wakes.store.end_place` of the last one seen."""
        return await self._store.read(
            self._store.wakes.list_ended, workspace, text, after, require_batch(limit)
        )

    async def history(self, wake_id: str, *, limit: int = 1_000) -> tuple[Step, ...]:
        """What happened to a wake, oldest first; it outlives the wake's row."""
        return await self._store.read(self._store.history, "wake", wake_id, limit)

    async def series_history(self, series_id: str, *, limit: int = 1_000) -> tuple[Step, ...]:
        """What happened to a series itself, oldest first; its occurrences have histories of their own."""
        return await self._store.read(self._store.history, "series", series_id, limit)

    async def lanes(self, workspace: str | None = None, *, limit: int = 100) -> tuple[LaneRow, ...]:
        """Lanes in which something waits or fires, or that are stopped."""
        return await self._store.read(self._store.queue.lanes, workspace, require_batch(limit))

    async def set_lane(self, workspace: str, lane: str, actor: Actor, *, stop_on_failure: bool) -> None:
        """Say whether a lane stops when a wake of it dies, until that wake is released or dropped."""

        def change(tx: Transaction, *, now: Instant) -> None:
            require(self._authorize, actor, "steer", About(workspace))
            self._store.queue.set_lane(tx, workspace, lane, stop_on_failure=stop_on_failure)
            detail = {"stop_on_failure": stop_on_failure}
            self._store.record(tx, "set", "lane", f"{workspace}/{lane}", actor, now, detail)

        requests.require_name(workspace, "workspace")
        requests.require_name(lane, "lane")
        await self._store.write(change, control=True)
        self._look_again()

    async def metrics(self) -> MetricsSnapshot:
        """All figures: counters since this object was made, and counts over the store."""
        now = self._clock.now()
        return self._metrics.snapshot(await self._store.read(self._store.wakes.gauges, now))

    # ------------------------------------------------------------------------------------------- receipts

    async def once(
        self,
        session: str,
        key: str,
        effect: Effect,
        *,
        workspace: str,
        policy: Policy | str = Policy.AT_LEAST_ONCE,
        wait_limit: Duration | None = None,
        check: Check | None = None,
    ) -> Json:
        """Run an effect once for this workspace, session and key, and give its recorded result ever after.

        Concurrent callers wait for the same result, at most ``wait_limit`` (then `WaitOver`). An error of the
        effect frees the key. If a process dies within the effect, the policy counts: AT_LEAST_ONCE runs it
        again; AT_MOST_ONCE raises `OutcomeUnknown`, now and later, unless ``check`` finds out what happened.
        Under AT_MOST_ONCE an error leaves the outcome unknown too, unless it is `EffectDidNotHappen`.
        """
        identity = (
            requests.require_name(workspace, "workspace"),
            requests.require_name(session, "session"),
            requests.require_name(key, "key"),
        )
        limit = None if wait_limit is None else duration(wait_limit, "wait_limit")
        if policy not in list(Policy):
            raise InvalidValue(f"{policy!r} is not a policy.", do=f"Give one of {', '.join(Policy)}.")
        return await self._receipts.once(identity, effect, Policy(policy), limit, check)

    async def unknown_receipts(self, workspace: str, *, limit: int = 100) -> tuple[Receipt, ...]:
        """Effects of which nobody can say whether they happened, oldest first."""
        return await self._store.read(self._store.receipts.unknown, workspace, require_batch(limit))

    async def settle_receipt(
        self,
        workspace: str,
        session: str,
        key: str,
        actor: Actor,
        reason: str,
        *,
        happened: bool,
        result: Json = None,
    ) -> Receipt:
        """Record a person's finding about an unknown effect; one that did not happen may run again."""
        return await self._receipts.settle(
            (workspace, session, key), actor, _reason(reason), happened=happened, result=result
        )

    # ------------------------------------------------------------------------------------------- running

    def register(self, kind: str, sink: Sink) -> None:
        """Say what firing does for a kind; wakes of it that were set aside queue again at the next pass."""
        if not isinstance(sink, Sink):
            raise InvalidValue(
                f"The sink of {kind!r} is not a sink.", do="Make it with in_transaction or external."
            )
        self._runner.sinks[requests.require_kind(kind)] = sink
        self._look_again()

    @property
    def running(self) -> tuple[str, ...]:
        """The ids of the wakes whose sinks run just now."""
        return self._runner.running

    async def run_due(self, limit: int | None = None) -> PassReport:
        """One bounded pass: expire what is overdue, re-drive what lapsed, claim and drive what is due.

        Lanes are drained until they are empty or the pass's time slice or limit is used up; a sink that takes
        longer goes on in the background, and keeps nobody else waiting.
        """
        most = self._settings.pass_limit if limit is None else require_batch(limit)
        return await self._runner.run_pass(most)

    async def recover(self) -> int:
        """Take back what this holder drove before its process ended; gives how many wakes that were.

        Broken series are tried again, and the clean-up is booked. `start` does it first.
        """
        taken = 0
        while True:
            back = await self._store.write(self._firing.take_back, self._runner.wanted(0))
            taken += len(back)
            if len(back) < self._settings.batch:
                break

        def tidy(tx: Transaction, *, now: Instant) -> None:
            self._store.receipts.lapse(tx, self._holder, now)
            self._series.mend(tx, self._settings.batch, now=now)
            self._book_clean_up(tx, now)

        await self._store.write(tidy)
        return taken

    async def start(self) -> None:
        """Begin to fire by itself: recovery, then a pass whenever something is due, and every second."""
        async with self._switching:
            if self._scheduler.is_running:
                return
            self._runner.begin()
            self._unsubscribe = self._store.subscribe(self._heard)
            self._driver.start(self._runner.next_obligation, self._fire)
            await self._scheduler.start()

    async def stop(self, limit: Duration | None = None) -> tuple[Wake, ...]:
        """Fire nothing more, and wait for what runs, by default half a minute.

        What still runs then is told to stop and goes back to its lane; gives those wakes.
        """
        most = self._settings.stop_ms if limit is None else duration(limit, "limit")
        async with self._switching:
            if self._unsubscribe is not None:
                self._unsubscribe()
                self._unsubscribe = None
            await self._driver.stop()
            self._runner.begin_stop()
            await self._scheduler.stop()
            left = await self._runner.finish(most)
            self._runner.begin()
            return left

    async def clean_up(self, retention: Duration | None = None) -> Cleaned:
        """Remove what ended longer ago than its retention, in bounded bites."""
        return await clean_up(
            self._store, self._settings, None if retention is None else duration(retention, "retention")
        )

    # ------------------------------------------------------------------------------------------- within

    async def _clean_up_sink(self, wake: Wake) -> None:
        await clean_up(self._store, self._settings)

    def _book_clean_up(self, tx: Transaction, now: Instant) -> None:
        """See to it that the clean-up is booked as the settings say, or not at all."""
        every = self._settings.clean_up_every_ms
        live = self._store.series.list(tx, OWN_WORKSPACE, SERIES_LIVE, None, self._settings.batch)
        present = next((series for series in live if series.kind == CLEAN_UP_KIND), None)
        if every is None:
            if present is not None:
                self._series.end(tx, present, ENGINE, "switched off", now)
            return
        rule = rule_text(Every(every, now))
        if present is None:
            creating = Creating(self._store, self._series, Budgets(), self._settings)
            request = requests.schedule(
                self._settings,
                workspace=OWN_WORKSPACE,
                actor=ENGINE,
                every=every,
                kind=CLEAN_UP_KIND,
            )
            creating.create(tx, request, now=now)
        elif rule_from_json(present.rule).shortest_period() != every:
            self._store.series.save(tx, replace(present, rule=rule))

    def _rule(
        self, expression: str | None, zone: str | None, every: Duration | None, start: TimeText | None
    ) -> Rule:
        if expression is not None:
            return recurrence.cron(expression, "UTC" if zone is None else zone)
        if zone is not None:
            raise InvalidValue("zone has no meaning with every.", do="It is a grid in UTC.")
        anchor = self._clock.now() if start is None else absolute(start, "start")
        return Every(duration(every, "every"), anchor)

    def _created(self, request: Request, booked: Booked) -> None:
        if not booked.repeat and not booked.coalesced:
            self._metrics.count(request.kind, "created")
            self._hint(request.lane, booked.due_at)

    def _hint(self, lane: str | None, at: Instant | None) -> None:
        """Tell the driver; whatever comes of it, what was stored stays stored."""
        try:
            self._driver.nudge(lane, at)
        except Exception:
            _log.exception("The driver raised an error at a hint; the sweep goes on.")

    def _look_again(self) -> None:
        self._runner.nudge()
        self._hint(None, None)

    def _fire(self) -> None:
        self._runner.nudge()
        self._scheduler.wake()

    def _heard(self, events: Sequence[str]) -> None:
        if not _RELEVANT.isdisjoint(events):
            self._hint(None, None)


def _reason(reason: str) -> str:
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidValue("A reason is needed.", do="Say why, in a few words.")
    return reason
