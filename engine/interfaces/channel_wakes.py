"""Asking for wakes and schedules through a door; see `engine.wakes.AlarmClock` and `engine.schedules.Schedules`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any

from engine.instants import Instant
from engine.views.schedules import ScheduleRow, ScheduleView
from engine.wakes import CancelResult, CatchUp, Occurrence, Step, Wake, WakeState, WakeSummary
from engine.work_order import WorkOrderSpec

Call = Callable[..., Awaitable[Any]]


class WakesClient:
    """The methods of the alarm clock for one actor; ``call`` asks the engine for one of the channel's table."""

    def __init__(self, call: Call) -> None:
        self._call = call

    async def list_wakes(
        self,
        workspace: str | None = None,
        *,
        states: Collection[WakeState] = (),
        text: str = "",
        after: tuple[Instant, int] | None = None,
        limit: int = 100,
    ) -> tuple[WakeSummary, ...]:
        """A page of wakes by due time."""
        result: tuple[WakeSummary, ...] = await self._call(
            "wakes.list_wakes", workspace=workspace, states=tuple(states), text=text, after=after, limit=limit
        )
        return result

    async def list_ended(
        self,
        workspace: str | None = None,
        *,
        text: str = "",
        after: tuple[Instant, int] | None = None,
        limit: int = 100,
    ) -> tuple[WakeSummary, ...]:
        """A page of ended wakes, the latest end first."""
        result: tuple[WakeSummary, ...] = await self._call(
            "wakes.list_ended", workspace=workspace, text=text, after=after, limit=limit
        )
        return result

    async def get(self, wake_id: str) -> Wake | None:
        """One wake, whole."""
        result: Wake | None = await self._call("wakes.get", wake_id=wake_id)
        return result

    async def history(self, wake_id: str, *, limit: int = 1_000) -> tuple[Step, ...]:
        """What happened to a wake, oldest first."""
        result: tuple[Step, ...] = await self._call("wakes.history", wake_id=wake_id, limit=limit)
        return result

    async def cancel(self, wake_id: str, *, reason: str) -> CancelResult:
        """Cancel a pending wake; of a series only this occurrence."""
        result: CancelResult = await self._call("wakes.cancel", wake_id=wake_id, reason=reason)
        return result

    async def release(self, wake_id: str, reason: str) -> Wake:
        """Let a dead wake be tried again."""
        result: Wake = await self._call("wakes.release", wake_id=wake_id, reason=reason)
        return result

    async def drop(self, wake_id: str, reason: str) -> Wake:
        """Give a dead wake up."""
        result: Wake = await self._call("wakes.drop", wake_id=wake_id, reason=reason)
        return result


class SchedulesClient:
    """The methods of the schedules for one actor; ``call`` asks the engine for one of the channel's table."""

    def __init__(self, call: Call) -> None:
        self._call = call

    async def add(
        self,
        spec: WorkOrderSpec,
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
        """Submit a work order at each time of a rule."""
        result: ScheduleRow = await self._call(
            "schedules.add",
            spec=spec,
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
        return result

    async def listed(
        self, *, ended: bool = False, after: str | None = None, limit: int = 200
    ) -> tuple[ScheduleRow, ...]:
        """Schedules, oldest first."""
        result: tuple[ScheduleRow, ...] = await self._call(
            "schedules.listed", ended=ended, after=after, limit=limit
        )
        return result

    async def show(self, schedule_id: str) -> ScheduleView:
        """One schedule with its work order."""
        result: ScheduleView = await self._call("schedules.show", schedule_id=schedule_id)
        return result

    async def preview(self, schedule_id: str, *, number: int = 10) -> tuple[Occurrence, ...]:
        """Its coming occurrences."""
        result: tuple[Occurrence, ...] = await self._call(
            "schedules.preview", schedule_id=schedule_id, number=number
        )
        return result

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
        """The occurrences that a schedule would have."""
        result: tuple[Occurrence, ...] = await self._call(
            "schedules.preview_rule",
            cron=cron,
            zone=zone,
            every=every,
            start=start,
            until=until,
            number=number,
        )
        return result

    async def pause(self, schedule_id: str, *, reason: str) -> ScheduleRow:
        """Let it rest."""
        result: ScheduleRow = await self._call("schedules.pause", schedule_id=schedule_id, reason=reason)
        return result

    async def resume(self, schedule_id: str, *, reason: str) -> ScheduleRow:
        """Go on with it."""
        result: ScheduleRow = await self._call("schedules.resume", schedule_id=schedule_id, reason=reason)
        return result

    async def change(
        self,
        schedule_id: str,
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
        """Give it another work order, rule, end or catching up."""
        result: ScheduleRow = await self._call(
            "schedules.change",
            schedule_id=schedule_id,
            reason=reason,
            spec=spec,
            cron=cron,
            zone=zone,
            every=every,
            start=start,
            until=until,
            count=count,
            no_end=no_end,
            catch_up=catch_up,
        )
        return result

    async def cancel(self, schedule_id: str, *, reason: str) -> ScheduleRow:
        """End it for good."""
        result: ScheduleRow = await self._call("schedules.cancel", schedule_id=schedule_id, reason=reason)
        return result
