"""Schedules: work orders that are submitted again and again, each occurrence once (E-27).

A schedule is a series of the alarm clock. At each occurrence its work order is submitted by whoever made the
schedule, and asks for approval like any other; nothing runs because of a schedule alone. The occurrence's own due
time is part of the key under which it is submitted, so it makes one work order however often it is tried.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Protocol

from engine.actors import Actor
from engine.dispatch.approvals import require_reason
from engine.dispatch.work_orders import create_work_order
from engine.errors import InvalidValue, WrongState
from engine.instants import Instant, format_instant
from engine.policy import Authorize
from engine.storage import Rx, Storage, Tx
from engine.views import schedules as schedules_view
from engine.views.schedules import KEY_PREFIX, SCHEDULES, SUBMIT_KIND, ScheduleRow, ScheduleView
from engine.wakes import AlarmClock, CalledOff, CancelResult, CatchUp, Occurrence, SeriesState, Wake, external
from engine.wakes.recurrence import Every
from engine.wakes.recurrence import cron as cron_rule
from engine.wakes.times import duration
from engine.work_order import WorkOrderSpec, work_order_from_json

SHORTEST_MS = 60_000
"""A schedule occurs at most once a minute: each occurrence is a question to a person."""

MOST_PREVIEWED = 1_000


class Submit(Protocol):
    """How a work order is submitted."""

    def __call__(
        self, create: Callable[..., str], spec: WorkOrderSpec, actor: Actor, key: str | None
    ) -> Awaitable[object]:
        """Plan and seal it, then have ``create`` save it under a key in one transaction."""
        ...


class Schedules:
    """The schedules of one open data folder. Times are instants, durations text such as ``1h30m``.

    ``cron`` are five fields, read in ``zone`` (an IANA name, UTC without it); ``every`` is a fixed UTC grid, from
    ``start`` on or from now. ``until`` is the last moment of an occurrence, ``count`` the number of them.
    ``catch_up`` says what becomes of occurrences that were missed: all of them (the newest ``catch_up_most``), the
    latest, none, or ask: they wait in the docket for a person.
    """

    def __init__(
        self,
        storage: Storage,
        wakes: AlarmClock,
        check: Callable[[WorkOrderSpec], Awaitable[object]],
        submit: Submit,
        authorize: Authorize,
    ) -> None:
        self._storage = storage
        self._wakes = wakes
        self._check = check
        self._submit = submit
        self._authorize = authorize
        wakes.register(SUBMIT_KIND, external(self._fire))

    async def add(
        self,
        spec: WorkOrderSpec,
        actor: Actor,
        *,
        cron: str | None = None,
        zone: str | None = None,
        every: str | None = None,
        start: Instant | None = None,
        until: Instant | None = None,
        count: int | None = None,
        catch_up: CatchUp = CatchUp.LATEST,
        catch_up_most: int | None = None,
        grace: str | None = None,
        key: str | None = None,
    ) -> ScheduleRow:
        """Submit a work order at each time of a rule, from now on.

        It is planned once here, so that one which could never be submitted is refused at once. A repeat under the
        same ``key`` gives the first schedule.
        """
        self._authorize(actor, "schedule")
        intent = await self._intent(spec)
        _require_rule(cron, zone, every)
        booked = await self._wakes.schedule(
            workspace=SCHEDULES,
            actor=actor,
            kind=SUBMIT_KIND,
            intent=intent,
            cron=cron,
            zone=zone,
            every=every,
            start=start,
            until=until,
            count=count,
            catch_up=catch_up,
            catch_up_most=catch_up_most,
            grace=grace,
            key=key,
        )
        assert booked.series is not None
        return (await self.show(booked.series)).row

    async def listed(
        self, *, ended: bool = False, after: str | None = None, limit: int = 200
    ) -> tuple[ScheduleRow, ...]:
        """Schedules, oldest first, after the one with the id ``after``; those that ended only if asked for."""
        return await self._storage.read(schedules_view.schedules, ended, after, limit)

    async def show(self, schedule_id: str) -> ScheduleView:
        """One schedule with its work order."""
        return await self._storage.read(schedules_view.schedule, schedule_id)

    async def preview(self, schedule_id: str, *, number: int = 10) -> tuple[Occurrence, ...]:
        """Its coming occurrences, local and UTC, with a mark on days whose clocks change."""
        await self.show(schedule_id)
        return await self._wakes.preview(schedule_id, _number(number))

    async def preview_rule(
        self,
        *,
        cron: str | None = None,
        zone: str | None = None,
        every: str | None = None,
        start: Instant | None = None,
        until: Instant | None = None,
        number: int = 10,
    ) -> tuple[Occurrence, ...]:
        """The occurrences that a schedule would have, before it is made."""
        _require_rule(cron, zone, every)
        return self._wakes.preview_rule(
            cron=cron, zone=zone, every=every, start=start, until=until, number=_number(number)
        )

    async def pause(self, schedule_id: str, actor: Actor, *, reason: str) -> ScheduleRow:
        """Let it rest until it is resumed; what would have come meanwhile does not come later."""
        await self._to_steer(schedule_id, actor, reason, "pause a schedule")
        await self._wakes.pause_series(schedule_id, actor, reason)
        return (await self.show(schedule_id)).row

    async def resume(self, schedule_id: str, actor: Actor, *, reason: str) -> ScheduleRow:
        """Go on with a paused schedule from now, or with a broken one from where it broke."""
        await self._to_steer(schedule_id, actor, reason, "resume a schedule")
        await self._wakes.resume_series(schedule_id, actor, reason)
        return (await self.show(schedule_id)).row

    async def change(
        self,
        schedule_id: str,
        actor: Actor,
        *,
        reason: str,
        spec: WorkOrderSpec | None = None,
        cron: str | None = None,
        zone: str | None = None,
        every: str | None = None,
        start: Instant | None = None,
        until: Instant | None = None,
        count: int | None = None,
        no_end: bool = False,
        catch_up: CatchUp | None = None,
    ) -> ScheduleRow:
        """Give it another work order, rule, end or catching up; what is not named stays. It goes on from now.

        ``no_end`` takes away the ends that it had; one that is given beside it takes their place.
        """
        await self._to_steer(schedule_id, actor, reason, "change a schedule")
        if cron is not None or every is not None:
            _require_rule(cron, zone, every)
        await self._wakes.change_series(
            schedule_id,
            actor,
            cron=cron,
            zone=zone,
            every=every,
            start=start,
            intent=... if spec is None else await self._intent(spec),
            until=until,
            count=count,
            no_end=no_end,
            catch_up=catch_up,
            reason=reason,
        )
        return (await self.show(schedule_id)).row

    async def cancel(self, schedule_id: str, actor: Actor, *, reason: str) -> ScheduleRow:
        """End it for good, with what of it waits in the docket. Work orders that it submitted stay."""
        before = await self._to_steer(schedule_id, actor, reason, "cancel a schedule")
        if await self._wakes.cancel_series(schedule_id, actor, reason=reason) is not CancelResult.OK:
            raise WrongState(
                f"The schedule is {before.state}.", means="Nothing was changed.", found=before.state
            )
        return (await self.show(schedule_id)).row

    async def _to_steer(self, schedule_id: str, actor: Actor, reason: str, what: str) -> ScheduleRow:
        self._authorize(actor, "schedule")
        require_reason(reason, what)
        return (await self.show(schedule_id)).row

    async def _intent(self, spec: WorkOrderSpec) -> dict[str, object]:
        if spec.due_at is not None:
            raise InvalidValue(
                "A work order of a schedule has no due time of its own.",
                means="Its occurrences give the times.",
                do="Leave due_at out.",
                field="due_at",
            )
        await self._check(spec)
        return {"title": spec.title, "work_order": spec.to_json()}

    async def _fire(self, wake: Wake) -> None:
        """Submit the work order of an occurrence, as often as it takes: its key makes it one.

        A schedule that is cancelled or paused meanwhile submits nothing any more, not even what is planned already:
        the occurrence is called off.
        """
        assert wake.due_at is not None
        key = f"{KEY_PREFIX}{wake.series or wake.id}:{format_instant(wake.due_at)}"
        await self._storage.read(self._require_wanted, wake, key)
        order = work_order_from_json(wake.intent["work_order"])
        await self._submit(partial(self._create_if_wanted, wake, key), order, wake.created_by, key)

    def _create_if_wanted(self, wake: Wake, key: str, tx: Tx, *arguments: Any, now: Instant) -> str:
        self._require_wanted(tx, wake, key)
        return create_work_order(tx, *arguments, now=now)

    def _require_wanted(self, rx: Rx, wake: Wake, key: str) -> None:
        """Raise `CalledOff` for an occurrence whose schedule rests or has ended and that made no work order yet.

        What a person let go on goes on while its schedule is paused: a missed one, or a dead one that was released.
        """
        series = None if wake.series is None else self._wakes.series_in(rx, wake.series)
        if series is None or series.state not in (SeriesState.CANCELLED, SeriesState.PAUSED):
            return
        if series.state is SeriesState.PAUSED:
            released = wake.attempts == 1 and wake.last_error is not None
            if released or schedules_view.was_decided(rx, wake):
                return
        if not schedules_view.was_submitted(rx, key):
            raise CalledOff(f"the schedule was {series.state}")


def _require_rule(cron: str | None, zone: str | None, every: str | None) -> None:
    """Refuse what is no rule, and one that occurs more often than schedules may."""
    if (cron is None) == (every is None):
        raise InvalidValue(
            "A schedule needs one rule.", do="Give a fixed period (--every 1d) or a cron line (--cron)."
        )
    if cron is not None:
        shortest = cron_rule(cron, zone or "UTC").shortest_period()
    else:
        shortest = Every(duration(every, "every"), 0).shortest_period()
    if shortest < SHORTEST_MS:
        raise InvalidValue(
            "A schedule occurs at most once a minute.", do="Give a period of a minute or more.", field="every"
        )


def _number(number: int) -> int:
    if number > MOST_PREVIEWED:
        raise InvalidValue(f"At most {MOST_PREVIEWED} occurrences are listed.", do="Ask for fewer.")
    return number
