"""Schedules through the engine: each occurrence asks once, at the time that the grid says, whatever happened (E-27)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.actors import Actor
from engine.clock import ManualClock
from engine.engine import Engine
from engine.errors import InvalidValue, InvalidWorkOrder, NotFound, Unauthorized, WrongState
from engine.instants import format_instant, parse_instant
from engine.schedules import Schedules
from engine.settings import EngineSettings
from engine.states import WorkOrderState
from engine.storage import Rx
from engine.views.schedules import SCHEDULES
from engine.wakes import CatchUp, Mark, SeriesState, WakeState, WakeSummary
from engine.wakes.recurrence import cron

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


@pytest.fixture
async def engine(folder: Path, clock: ManualClock) -> AsyncIterator[Engine]:
    opened = await Engine.open(folder, clock=clock, automatic=False)
    yield opened
    await opened.close()


async def until(engine: Engine, clock: ManualClock, instant: int, step: int = HOUR) -> None:
    """Let time pass in steps, with one pass of the engine at each."""
    await engine.reconcile_once()
    while clock.now() < instant:
        clock.advance(min(step, instant - clock.now()))
        await engine.reconcile_once()


async def submitted(engine: Engine) -> list[str]:
    """The occurrences that made a work order, in order."""

    def keys(rx: Rx) -> list[str]:
        rows = rx.all("SELECT request_key FROM work_order WHERE request_key IS NOT NULL ORDER BY number")
        return [row["request_key"].partition(":")[2].partition(":")[2] for row in rows]

    return await engine._storage.read(keys)


async def occurrences(engine: Engine) -> list[WakeSummary]:
    """The occurrences of schedules, in the order of their due times; those to come are not among them."""
    found = await engine.wakes.list_wakes(SCHEDULES)
    return [wake for wake in found if wake.due_at is not None and wake.due_at <= engine.clock.now()]


async def test_each_occurrence_asks_for_approval_in_the_name_of_who_made_the_schedule(
    engine: Engine, clock: ManualClock, actor: Actor, work_order: Callable[..., Any]
) -> None:
    row = await engine.schedules.add(work_order(title="Nightly"), actor, every="1h")
    assert (row.title, row.rule, row.next_at) == ("Nightly", "every 1h", clock.now() + HOUR)
    assert await engine.approvals.inbox() == ()
    await until(engine, clock, clock.now() + 3 * HOUR, HOUR)
    inbox = await engine.approvals.inbox()
    assert len(inbox) == 3
    assert {one.title for one in inbox} == {"Nightly"}
    orders = await engine.work_orders()
    assert {order.state for order in orders} == {WorkOrderState.ACTIVE}
    assert {order.requested_by for order in orders} == {actor}
    (row,) = await engine.schedules.listed()
    assert (row.submitted, row.last_number, row.failing) == (3, max(one.number for one in orders), 0)


async def test_an_occurrence_that_is_tried_again_makes_no_second_work_order(
    engine: Engine, clock: ManualClock, actor: Actor, work_order: Callable[..., Any], caplog: Any
) -> None:
    """It was submitted, and its process died before that was noted: the key of the occurrence makes it one."""
    await engine.schedules.add(work_order(), actor, every="1d")
    real = engine.schedules._submit

    async def submit_and_die(*given: Any, **named: Any) -> None:
        await real(*given, **named)
        raise OSError("the process died here")

    engine.schedules._submit = submit_and_die
    clock.advance(DAY)
    with caplog.at_level("WARNING"):
        await until(engine, clock, clock.now())
    assert len(await submitted(engine)) == 1
    assert (await engine.schedules.listed())[0].failing == 1
    engine.schedules._submit = real
    await until(engine, clock, clock.now() + MINUTE)
    assert len(await submitted(engine)) == 1
    assert (await engine.schedules.listed())[0].failing == 0


@pytest.mark.parametrize("steer", [Schedules.cancel, Schedules.pause])
async def test_an_occurrence_that_failed_while_its_schedule_was_steered_submits_nothing_later(
    engine: Engine,
    clock: ManualClock,
    actor: Actor,
    work_order: Callable[..., Any],
    caplog: Any,
    steer: Callable[..., Any],
) -> None:
    row = await engine.schedules.add(work_order(), actor, every="1h")
    real, begun, steered = engine.schedules._submit, asyncio.Event(), asyncio.Event()

    async def fail_late(*given: Any, **named: Any) -> None:
        begun.set()
        await steered.wait()
        raise OSError("the workspace is away")

    engine.schedules._submit = fail_late
    clock.advance(HOUR)
    with caplog.at_level("WARNING"):
        firing = asyncio.create_task(engine.reconcile_once())
        await asyncio.wait_for(begun.wait(), 10)
        await steer(engine.schedules, row.id, actor, reason="no more")
        steered.set()
        await firing
    engine.schedules._submit = real
    await until(engine, clock, clock.now() + 2 * HOUR, 10 * MINUTE)
    assert await submitted(engine) == []


@pytest.mark.parametrize(
    ("steer", "why"),
    [
        (Schedules.cancel, "the schedule was cancelled"),
        (Schedules.pause, "the schedule was paused"),
    ],
)
async def test_a_schedule_that_is_steered_while_its_work_order_is_sealed_makes_none(
    engine: Engine,
    clock: ManualClock,
    actor: Actor,
    work_order: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    steer: Callable[..., Any],
    why: str,
) -> None:
    """E-27: whether it is still wanted is looked at in the transaction that would save it."""
    row = await engine.schedules.add(work_order(), actor, every="1h", count=2)
    real, begun, steered = engine._planner.plan, threading.Event(), threading.Event()

    def plan_late(*given: Any, **named: Any) -> Any:
        begun.set()
        assert steered.wait(10)
        return real(*given, **named)

    monkeypatch.setattr(engine._planner, "plan", plan_late)
    clock.advance(HOUR)
    firing = asyncio.create_task(engine.reconcile_once())
    assert await asyncio.to_thread(begun.wait, 10)
    await steer(engine.schedules, row.id, actor, reason="no more")
    steered.set()
    await firing
    assert await submitted(engine) == []
    (wake,) = await occurrences(engine)
    assert wake.state is WakeState.CANCELLED
    assert (await engine.wakes.history(wake.id))[-1].why == why
    assert (await engine.schedules.show(row.id)).row.submitted == 0, "what was not submitted is not counted"
    if steer is Schedules.pause:
        await engine.schedules.resume(row.id, actor, reason="again")
        await until(engine, clock, clock.now() + 4 * HOUR)
        assert len(await submitted(engine)) == 2, "what was called off is none of the two"


async def test_what_was_submitted_before_its_schedule_was_paused_is_noted_as_submitted(
    engine: Engine, clock: ManualClock, actor: Actor, work_order: Callable[..., Any], caplog: Any
) -> None:
    row = await engine.schedules.add(work_order(), actor, every="1h")
    real = engine.schedules._submit

    async def submit_and_die(*given: Any, **named: Any) -> None:
        await real(*given, **named)
        raise OSError("the process died here")

    engine.schedules._submit = submit_and_die
    clock.advance(HOUR)
    with caplog.at_level("WARNING"):
        await engine.reconcile_once()
    engine.schedules._submit = real
    await engine.schedules.pause(row.id, actor, reason="not now")
    await until(engine, clock, clock.now() + 10 * MINUTE, MINUTE)
    assert [wake.state for wake in await occurrences(engine)] == [WakeState.FIRED]
    assert len(await submitted(engine)) == 1


async def test_what_a_person_lets_go_on_is_submitted_while_its_schedule_is_paused(
    engine: Engine, clock: ManualClock, actor: Actor, work_order: Callable[..., Any], caplog: Any
) -> None:
    """A pause withdraws what waits for its time, not what a person decides in the docket or releases after it."""
    row = await engine.schedules.add(work_order(), actor, every="1d", catch_up=CatchUp.ASK, grace="1h")
    clock.advance(2 * DAY + 2 * HOUR)
    await engine.reconcile_once()
    await engine.schedules.pause(row.id, actor, reason="not now")
    (missed,) = (await engine.docket()).undecided
    await engine.decide_missed(missed.id, CatchUp.ALL, actor, reason="all of it")
    await until(engine, clock, clock.now() + MINUTE, MINUTE)
    assert len(await submitted(engine)) == 2

    other = await engine.schedules.add(work_order(), actor, every="1d", catch_up=CatchUp.LATEST)
    real = engine.schedules._submit

    async def away(*given: Any, **named: Any) -> None:
        raise OSError("the workspace is away")

    engine.schedules._submit = away
    with caplog.at_level("WARNING"):
        await until(engine, clock, clock.now() + DAY + 12 * HOUR, HOUR)
    (dead,) = [wake for wake in await occurrences(engine) if wake.state is WakeState.DEAD]
    await engine.schedules.pause(other.id, actor, reason="not now")
    engine.schedules._submit = real
    await engine.wakes.release(dead.id, actor, reason="it is back")
    await engine.reconcile_once()
    assert len(await submitted(engine)) == 3


async def test_days_on_which_the_clocks_change(
    engine: Engine, clock: ManualClock, actor: Actor, work_order: Callable[..., Any]
) -> None:
    """02:30 in Berlin: twice on 25 October 2026, fired the first time; not at all on 28 March 2027, fired at 03:00."""
    spec, rule = work_order(), {"cron": "30 2 * * *", "zone": "Europe/Berlin"}
    marks = {one.local[:16]: one.mark for one in await engine.schedules.preview_rule(**rule, number=250)}
    assert marks["2026-10-25T02:30"] is Mark.FIRST_OF_TWO
    assert marks["2027-03-28T03:00"] is Mark.MOVED
    for day, expected in (
        ("2026-10-24T12:00:00.000Z", ["2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"]),
        ("2027-03-27T12:00:00.000Z", ["2027-03-28T01:00:00.000Z", "2027-03-29T00:30:00.000Z"]),
    ):
        clock.advance(parse_instant(day) - clock.now())
        await engine.reconcile_once()
        before = await submitted(engine)
        row = await engine.schedules.add(spec, actor, **rule)
        assert [one.utc for one in await engine.schedules.preview(row.id, number=2)] == expected
        await until(engine, clock, clock.now() + 2 * DAY, 30 * MINUTE)
        assert (await submitted(engine))[len(before) :] == expected
        await engine.schedules.cancel(row.id, actor, reason="seen")


@pytest.mark.parametrize(
    ("catch_up", "made", "skipped", "undecided"),
    [
        (CatchUp.ALL, 9, 0, 0),
        (CatchUp.LATEST, 1, 8, 0),
        (CatchUp.NONE, 0, 9, 0),
        (CatchUp.ASK, 0, 8, 9),
    ],
)
async def test_after_downtime_the_policy_of_the_schedule_holds(
    folder: Path,
    clock: ManualClock,
    actor: Actor,
    work_order: Callable[..., Any],
    catch_up: CatchUp,
    made: int,
    skipped: int,
    undecided: int,
) -> None:
    """Nine days down over a daily schedule, and an hour more; the tenth comes as the grid says."""
    engine = await Engine.open(folder, clock=clock, automatic=False)
    begin = clock.now()
    await engine.schedules.add(work_order(), actor, every="1d", catch_up=catch_up)
    await engine.close()
    clock.advance(9 * DAY + HOUR)
    engine = await Engine.open(folder, clock=clock, automatic=False)
    try:
        await engine.reconcile_once()
        assert len(await submitted(engine)) == made
        (row,) = await engine.schedules.listed()
        assert (row.skipped, row.undecided, row.next_at) == (skipped, undecided, begin + 10 * DAY)
        await until(engine, clock, begin + 10 * DAY)
        assert (await submitted(engine))[made:] == [format_instant(begin + 10 * DAY)]
    finally:
        await engine.close()


async def test_a_year_of_downtime_drains_in_bounded_passes_across_restarts(
    folder: Path, clock: ManualClock, actor: Actor, work_order: Callable[..., Any]
) -> None:
    """A daily schedule that wants all of it: one by one, in order, at most a batch a pass, none twice."""
    settings = EngineSettings(wakeup_batch=40)
    engine = await Engine.open(folder, clock=clock, automatic=False, settings=settings)
    begin = clock.now()
    await engine.schedules.add(work_order(), actor, every="1d", catch_up=CatchUp.ALL, catch_up_most=1_000)
    await engine.close()
    clock.reboot("boot-2")
    clock.advance(365 * DAY)
    sizes = []
    while not sizes or sizes[-1]:
        engine = await Engine.open(folder, clock=clock, automatic=False, settings=settings)
        for _ in range(3):
            before = len(await submitted(engine))
            await engine.reconcile_once()
            sizes.append(len(await submitted(engine)) - before)
        made = await submitted(engine)
        await engine.close()
    assert max(sizes) == 40
    assert made == [format_instant(begin + day * DAY) for day in range(1, 366)]


async def test_a_schedule_can_rest_go_on_change_and_end(
    engine: Engine, clock: ManualClock, actor: Actor, work_order: Callable[..., Any]
) -> None:
    begin = clock.now()
    row = await engine.schedules.add(work_order(), actor, every="1d", count=50)
    rests = await engine.schedules.pause(row.id, actor, reason="holidays")
    assert (rests.state, rests.next_at) == (SeriesState.PAUSED, None)
    await until(engine, clock, begin + 3 * DAY + HOUR, DAY)
    assert await submitted(engine) == []
    goes_on = await engine.schedules.resume(row.id, actor, reason="back")
    assert goes_on.next_at == begin + 4 * DAY
    changed = await engine.schedules.change(
        row.id,
        actor,
        reason="earlier, and another title",
        spec=work_order(title="Weekly"),
        cron="0 6 * * MON",
        zone="Europe/Berlin",
        catch_up=CatchUp.ASK,
    )
    assert (changed.title, changed.catch_up) == ("Weekly", CatchUp.ASK)
    assert changed.next_at == cron("0 6 * * MON", "Europe/Berlin").after(clock.now())
    await until(engine, clock, begin + 10 * DAY, HOUR)
    assert [order.title for order in await engine.work_orders()] == ["Weekly"]
    ended = await engine.schedules.cancel(row.id, actor, reason="enough")
    assert (ended.state, ended.next_at) == (SeriesState.CANCELLED, None)
    assert await engine.schedules.listed() == ()
    assert [one.id for one in await engine.schedules.listed(ended=True)] == [row.id]
    with pytest.raises(WrongState):
        await engine.schedules.cancel(row.id, actor, reason="again")
    await until(engine, clock, begin + 30 * DAY, DAY)
    assert len(await submitted(engine)) == 1


async def test_what_is_no_schedule_is_refused(
    engine: Engine, clock: ManualClock, actor: Actor, agent: Actor, work_order: Callable[..., Any]
) -> None:
    spec = work_order()
    for wrong in (
        {},
        {"every": "1d", "cron": "0 6 * * *"},
        {"every": "59s"},
        {"every": "0d"},
        {"cron": "61 * * * *"},
        {"cron": "0 6 * * *", "zone": "Mars/Base"},
        {"every": "1d", "count": 0},
        {"every": "1d", "until": clock.now() - 1},
        {"every": "1d", "zone": "UTC"},
    ):
        with pytest.raises(InvalidValue):
            await engine.schedules.add(spec, actor, **wrong)
    with pytest.raises(InvalidValue, match="no due time"):
        await engine.schedules.add(replace(spec, due_at=clock.now()), actor, every="1d")
    with pytest.raises(InvalidWorkOrder):
        await engine.schedules.add(replace(spec, title=""), actor, every="1d")
    with pytest.raises(Unauthorized):
        await engine.schedules.add(spec, agent, every="1d")
    row = await engine.schedules.add(spec, actor, every="1d", key="k")
    assert (await engine.schedules.add(spec, actor, every="1d", key="k")).id == row.id
    for call in (engine.schedules.pause, engine.schedules.resume, engine.schedules.cancel):
        with pytest.raises(Unauthorized):
            await call(row.id, agent, reason="mine")
        with pytest.raises(InvalidValue):
            await call(row.id, actor, reason=" ")
        with pytest.raises(NotFound):
            await call("01K00000000000000000000000", actor, reason="none")
    await engine.reconcile_once()
    (own,) = [one for one in await engine.wakes.list_series() if one.id != row.id]
    with pytest.raises(NotFound):
        await engine.schedules.show(own.id)
    assert len(await engine.schedules.listed()) == 1


async def test_one_that_can_no_longer_be_planned_is_shown_and_the_next_goes_on(
    engine: Engine,
    clock: ManualClock,
    actor: Actor,
    workspace: Path,
    work_order: Callable[..., Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its folder is gone for a day: that occurrence is a dead letter, and the day after it is as ever."""
    row = await engine.schedules.add(work_order(), actor, every="1d")
    other = workspace.with_name("elsewhere")
    workspace.rename(other)
    begin = clock.now()
    with caplog.at_level("WARNING"):
        await until(engine, clock, begin + DAY + 12 * HOUR, HOUR)
        (row,) = await engine.schedules.listed()
    assert (row.failing, row.state, row.next_at) == (1, SeriesState.ACTIVE, begin + 2 * DAY)
    assert await submitted(engine) == []
    other.rename(workspace)
    await until(engine, clock, begin + 2 * DAY)
    assert await submitted(engine) == [format_instant(begin + 2 * DAY)]
    (dead,) = [one for one in await engine.wakes.list_wakes("schedules") if one.state == "dead"]
    await engine.wakes.release(dead.id, actor, "the folder is back")
    await asyncio.sleep(0)
    await engine.reconcile_once()
    assert len(await submitted(engine)) == 2
