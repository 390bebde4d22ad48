"""Creating: exactly one time form, repeats, budgets; a refusal stores nothing."""

from __future__ import annotations

import asyncio
import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from engine.errors import InvalidValue
from engine.instants import LATEST, format_instant
from engine.wakes import AlarmClock, Budgets, Reason, SeriesState, WakeRefused, WakeState, external
from engine.wakes.values import Origin
from tests.conformance.world import ADA, DAY, HOUR, MINUTE, QUIET, SECOND, World

W: dict[str, Any] = {"workspace": "w", "actor": ADA}


async def test_absolute_and_relative_times_become_the_same_instants(world: World) -> None:
    alarm, now = world.make(), world.clock.now()
    aware = datetime.fromtimestamp(now / 1000, UTC).astimezone(timezone(timedelta(hours=2)))
    for asked in ({"at": now}, {"at": format_instant(now)}, {"at": aware}):
        assert (await world.book(alarm, **asked)).due_at == now
    for text, length in (("3d", 3 * DAY), ("12h", 12 * HOUR), ("90s", 90 * SECOND), ("1h30m", 90 * MINUTE)):
        assert (await world.book(alarm, in_=text)).due_at == now + length
    assert (await world.book(alarm, in_=250)).due_at == now + 250


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"at": 0, "in_": "1h"},
        {"at": 0, "cron": "* * * * *"},
        {"cron": "* * * * *", "every": "1h"},
        {"at": math.nan},
        {"at": math.inf},
        {"at": 1.0},
        {"at": True},
        {"at": "tomorrow 9"},
        {"at": "2026-09-10T00:00:00Z"},
        {"at": "2026-09-10T00:00:00.000+00:00"},
        {"at": datetime(2026, 9, 10)},
        {"at": LATEST + 1},
        {"in_": "0s"},
        {"in_": "-1h"},
        {"in_": "1.5h"},
        {"in_": ""},
        {"in_": "h"},
        {"in_": math.nan},
        {"in_": math.inf},
        {"in_": True},
        {"in_": 0},
        {"in_": "9999999999d"},
        {"every": "0s"},
        {"cron": ""},
        {"cron": "* * * *"},
        {"cron": "0 0 31 2 *"},
        {"cron": "0 0 1 1 *", "zone": "Mars/Olympus"},
        {"at": 0, "zone": "UTC"},
        {"in_": "1h", "until": LATEST},
        {"every": "1h", "expires_at": LATEST},
        {"every": "1h", "count": 0},
        {"every": "1h", "catch_up": "sometimes"},
        {"in_": "2h", "expires_in": "1h"},
        {"in_": "2h", "expires_in": "2h"},
        {"at": 5_000, "expires_at": 5_000},
        {"in_": "1h", "expires_in": "2h", "expires_at": LATEST},
        {"in_": "1h", "coalesce": True},
        {"in_": "1h", "intent": math.nan},
        {"in_": "1h", "intent": {"a": [math.inf]}},
        {"in_": "1h", "intent": {1: 2}},
        {"in_": "1h", "intent": object()},
        {"in_": "1h", "intent": "x" * 300_000},
        {"in_": "1h", "workspace": ""},
        {"in_": "1h", "lane": "a\nb"},
        {"in_": "1h", "session": 7},
        {"in_": "1h", "key": ""},
        {"in_": "1h", "actor": "ada"},
    ],
    ids=str,
)
async def test_s37_malformed_and_conflicting_requests_store_nothing(
    world: World, asked: dict[str, Any]
) -> None:
    # No budget at all: what is malformed is refused as such before any budget is looked at.
    alarm = world.make(budgets=Budgets(live=0, creations_per_hour=0, horizon_ms=0))
    with pytest.raises(InvalidValue):
        await alarm.schedule(**{**W, **asked})
    assert await world.count() == 0
    assert await world.count("SELECT count(*) FROM wake_series") == 0


@pytest.mark.parametrize("kind", ["toString", "__proto__", "", "a b", "A", "x" * 201, "a..b", 7, None])
async def test_s41_kind_names_are_restricted(world: World, kind: Any) -> None:
    with pytest.raises(InvalidValue, match="kind"):
        await world.book(world.make(), kind=kind)


async def test_s41_a_kind_that_every_object_has_waits_like_any_unknown_kind(world: World) -> None:
    alarm = world.make()
    booked = await world.book(alarm, kind="constructor")
    report = await alarm.run_due()
    assert (report.fired, report.set_aside) == (0, 1)
    assert await world.state(booked.id) is WakeState.PENDING


async def test_a_deadline_must_be_later_than_now(world: World) -> None:
    alarm = world.make()
    with pytest.raises(InvalidValue, match="not later"):
        await alarm.watch(**W, event_key="k", expires_at=world.clock.now())
    with pytest.raises(InvalidValue, match="one deadline"):
        await alarm.request_approval(**W)
    with pytest.raises(InvalidValue, match="one deadline"):
        await alarm.request_approval(**W, expires_in="1h", expires_at=LATEST)
    with pytest.raises(InvalidValue, match="Several"):
        await alarm.watch(**W, event_key="k", expires_in="1h", never_expires=True)
    assert await world.count() == 0


async def test_without_a_policy_there_is_no_alarm_clock(world: World) -> None:
    with pytest.raises(InvalidValue, match="policy"):
        AlarmClock(world.store, clock=world.clock, authorize=None)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        AlarmClock(world.store, clock=world.clock)  # type: ignore[call-arg]


# ------------------------------------------------------------------------------------------------ repeats


async def test_s01_a_request_key_answers_within_its_window_and_independently_of_clean_up(
    world: World,
) -> None:
    alarm = world.make()
    first = await world.book(alarm, key="R", at=world.clock.now())
    again = await world.book(alarm, key="R", at=first.due_at)
    assert (again.id, again.repeat, again.state) == (first.id, True, WakeState.PENDING)
    await alarm.run_due()
    world.clock.advance(2 * HOUR)
    await alarm.clean_up("1ms")
    late = await world.book(alarm, key="R", at=first.due_at)
    assert (late.id, late.repeat, late.state) == (first.id, True, WakeState.FIRED)
    assert await world.count() == 1
    world.clock.advance(DAY - 2 * HOUR)
    assert (await world.book(alarm, key="R", at=first.due_at)).repeat, "the window's last millisecond"
    world.clock.advance(1)
    fresh = await world.book(alarm, key="R", at=first.due_at)
    assert fresh.id != first.id
    assert not fresh.repeat


async def test_a_key_is_unique_among_live_wakes_however_old(world: World) -> None:
    alarm = world.make()
    first = await alarm.watch(**W, event_key="k", key="K", never_expires=True)
    world.clock.advance(30 * DAY)
    again = await alarm.watch(**W, event_key="k", key="K", never_expires=True)
    assert (again.id, again.repeat) == (first.id, True)


async def test_a_key_belongs_to_its_workspace(world: World) -> None:
    alarm = world.make()
    first = await world.book(alarm, key="K", in_="1h")
    other = await world.book(alarm, key="K", in_="1h", workspace="v")
    assert first.id != other.id


async def test_s01_coalescing_keeps_at_most_one_pending_in_a_lane(world: World) -> None:
    alarm = world.make()
    first = await world.book(alarm, lane="L", coalesce=True)
    second = await world.book(alarm, lane="L", coalesce=True, in_="5m")
    assert (second.id, second.coalesced, second.due_at) == (first.id, True, first.due_at)
    assert not (await world.book(alarm, lane="M", coalesce=True)).coalesced
    await alarm.run_due()
    third = await world.book(alarm, lane="L", coalesce=True)
    assert third.id != first.id
    assert not third.coalesced


async def test_coalescing_while_the_lane_fires_books_one_more(world: World) -> None:
    alarm = world.make()
    world.turn.parking = True
    first = await world.book(alarm, lane="L", coalesce=True)
    async with world.passing(alarm):
        await world.turn.arrivals()
        second = await world.book(alarm, lane="L", coalesce=True)
        third = await world.book(alarm, lane="L", coalesce=True)
        assert second.id != first.id
        assert third.id == second.id
    assert world.turn.ids == [first.id, second.id]


async def test_s30_a_repeat_is_answered_before_budgets_are_looked_at(world: World) -> None:
    alarm = world.make(budgets=Budgets(live=1, creations_per_hour=1))
    first = await world.book(alarm, key="k", in_="1h")
    again = await world.book(alarm, key="k", in_="1h")
    assert (again.id, again.repeat) == (first.id, True)
    with pytest.raises(WakeRefused):
        await world.book(alarm, key="another", in_="1h")


async def test_s30_a_repeat_is_answered_after_its_deadline_too(world: World) -> None:
    alarm = world.make()
    deadline = world.clock.now() + HOUR
    first = await alarm.request_approval(**W, expires_at=deadline, key="k")
    world.clock.advance(2 * HOUR)
    assert (await alarm.request_approval(**W, expires_at=deadline, key="k")).booked.id == first.booked.id


@pytest.mark.parametrize(
    "other",
    [{"in_": "2h"}, {"intent": 2}, {"kind": "other"}, {"lane": "M"}, {"every": "1h", "in_": None}],
    ids=str,
)
async def test_s31_the_same_key_with_other_content_is_refused(world: World, other: dict[str, Any]) -> None:
    alarm = world.make()
    await world.book(alarm, key="k", in_="1h", intent=1)
    with pytest.raises(WakeRefused) as refusal:
        await world.book(alarm, **{"key": "k", "in_": "1h", "intent": 1, **other})
    assert refusal.value.reason is Reason.KEY_CONFLICT
    with pytest.raises(WakeRefused):
        await alarm.request_approval(**W, expires_in="1h", key="k")
    assert await world.count() == 1


async def test_a_repeated_relative_time_is_the_same_request(world: World) -> None:
    alarm = world.make()
    first = await world.book(alarm, key="k", in_="1h")
    world.clock.advance(10 * MINUTE)
    again = await world.book(alarm, key="k", in_="1h")
    assert (again.id, again.due_at) == (first.id, first.due_at)


async def test_the_repeat_of_a_series_gives_the_series(world: World) -> None:
    alarm = world.make()
    first = await world.book(alarm, every="1h", key="k")
    again = await world.book(alarm, every="1h", key="k")
    assert (again.id, again.series, again.repeat) == (first.id, first.series, True)
    world.clock.advance(2 * DAY)
    await alarm.run_due()
    much_later = await world.book(alarm, every="1h", key="k")
    assert (much_later.series, much_later.repeat) == (first.series, True)
    assert len(await alarm.list_series("w")) == 1
    with pytest.raises(WakeRefused, match="different request"):
        await world.book(alarm, every="2h", key="k")


# ------------------------------------------------------------------------------------------------ budgets


async def refused(world: World, alarm: AlarmClock, reason: Reason, **asked: Any) -> None:
    before = await world.count()
    with pytest.raises(WakeRefused) as refusal:
        await world.book(alarm, **asked)
    assert refusal.value.reason is reason
    assert refusal.value.facts["reason"] == reason.value
    assert await world.count() == before


async def test_live_budget_counts_each_workspace_for_itself_and_frees(world: World) -> None:
    alarm = world.make(budgets=Budgets(live=2))
    await world.book(alarm)
    await world.book(alarm, in_="1h")
    await refused(world, alarm, Reason.MAX_LIVE, in_="1h")
    await world.book(alarm, workspace="v")
    await alarm.run_due()
    await world.book(alarm, in_="1h")


async def test_rate_counts_an_hour_of_callers_creations(world: World) -> None:
    alarm = world.make(budgets=Budgets(creations_per_hour=3))
    for _ in range(3):
        await world.book(alarm)
    await refused(world, alarm, Reason.RATE)
    await alarm.run_due()
    await refused(world, alarm, Reason.RATE)
    world.clock.advance(HOUR - 1)
    await alarm.clean_up("1ms")
    await refused(world, alarm, Reason.RATE)
    world.clock.advance(1)
    await world.book(alarm)


async def test_s38_horizon_of_due_times_and_deadlines_to_the_millisecond(world: World) -> None:
    alarm = world.make(budgets=Budgets())
    await world.book(alarm, in_=90 * DAY)
    await refused(world, alarm, Reason.HORIZON, in_=90 * DAY + 1)
    await alarm.watch(**W, event_key="k", expires_in=90 * DAY)
    with pytest.raises(WakeRefused) as refusal:
        await alarm.watch(**W, event_key="k", expires_in=90 * DAY + 1)
    assert refusal.value.reason is Reason.HORIZON
    watch = await alarm.watch(**W, event_key="k")
    assert watch.expires_at == world.clock.now() + 7 * DAY
    assert (await alarm.watch(**W, event_key="k", never_expires=True)).expires_at is None


async def test_s39_a_yearly_rule_can_start_any_day(world: World) -> None:
    alarm = world.make(budgets=Budgets())
    booked = await world.book(alarm, cron="0 0 1 1 *")
    assert booked.due_at is not None
    assert format_instant(booked.due_at) == "2027-01-01T00:00:00.000Z"
    strict = world.make("b", budgets=Budgets(series_period_ms=30 * DAY))
    await refused(world, strict, Reason.HORIZON, cron="0 0 1 1 *")


async def test_zero_means_zero(world: World) -> None:
    for budgets, reason in (
        (Budgets(live=0), Reason.MAX_LIVE),
        (Budgets(creations_per_hour=0), Reason.RATE),
        (Budgets(horizon_ms=0), Reason.HORIZON),
    ):
        await refused(world, world.make(budgets=budgets), reason, in_="1s")
    await world.book(world.make(budgets=Budgets(horizon_ms=0)))
    await refused(world, world.make(budgets=Budgets(lane_creations_per_hour=0)), Reason.LANE_RATE, every="1h")
    await world.book(world.make(budgets=Budgets(series_interval_ms=0)), every=1_000)
    with pytest.raises(InvalidValue):
        Budgets(live=-1)
    with pytest.raises(InvalidValue):
        Budgets(depth=True)


async def test_series_have_a_minimum_interval_and_a_rate(world: World) -> None:
    alarm = world.make(budgets=Budgets(series_interval_ms=MINUTE, lane_creations_per_hour=60))
    await refused(world, alarm, Reason.MIN_INTERVAL, every=MINUTE - 1)
    await world.book(alarm, every=MINUTE, lane="a")
    strict = world.make("b", budgets=Budgets(lane_creations_per_hour=59))
    await refused(world, strict, Reason.LANE_RATE, cron="* * * * *", lane="b")


async def test_s55_count_and_insert_are_one_transaction(world: World) -> None:
    alarm = world.make(budgets=Budgets(live=10))
    answers = await asyncio.gather(*(world.book(alarm) for _ in range(50)), return_exceptions=True)
    refusals = [answer for answer in answers if isinstance(answer, WakeRefused)]
    assert len(answers) - len(refusals) == 10
    assert {refusal.reason for refusal in refusals} == {Reason.MAX_LIVE}
    assert await world.count() == 10


async def test_s08_depth_follows_from_the_running_sink(world: World) -> None:
    alarm = world.make(budgets=Budgets())
    refusals: list[WakeRefused] = []

    async def again(wake: Any) -> None:
        try:
            await world.book(alarm)
        except WakeRefused as refusal:
            refusals.append(refusal)

    world.turn.action = again
    await world.book(alarm)
    for _ in range(3):
        await alarm.run_due()
    assert [wake.depth for wake in world.turn.entered] == [0, 1, 2, 3, 4, 5]
    assert [refusal.reason for refusal in refusals] == [Reason.DEPTH]
    assert [wake.origin for wake in world.turn.entered] == [Origin.CALLER, *[Origin.SINK] * 5]


async def test_s08_depth_follows_tasks_and_threads_that_a_sink_starts(world: World) -> None:
    alarm = world.make()

    async def indirectly(wake: Any) -> None:
        if wake.depth == 0:
            await asyncio.create_task(world.book(alarm))
            loop = asyncio.get_running_loop()
            await asyncio.to_thread(
                lambda: asyncio.run_coroutine_threadsafe(world.book(alarm), loop).result(10)
            )

    world.turn.action = indirectly
    await world.book(alarm)
    await alarm.run_due()
    assert sorted(wake.depth for wake in world.turn.entered)[:2] == [0, 1]


async def test_a_sink_that_reschedules_itself_is_caught_by_the_rate_of_its_lane(world: World) -> None:
    alarm = world.make(budgets=Budgets(depth=10**6, lane_creations_per_hour=20, live=10**6))
    refusals: list[WakeRefused] = []

    async def again(wake: Any) -> None:
        try:
            await world.book(alarm, lane="L")
        except WakeRefused as refusal:
            refusals.append(refusal)

    world.turn.action = again
    await world.book(alarm, lane="L")
    await alarm.run_due()
    assert len(world.turn.entered) == 21
    assert [refusal.reason for refusal in refusals] == [Reason.LANE_RATE]


async def test_a_sinks_wakes_can_be_given_a_minimum_interval(world: World) -> None:
    alarm = world.make(budgets=Budgets(sink_interval_ms=MINUTE))
    refusals: list[WakeRefused] = []

    async def again(wake: Any) -> None:
        try:
            await world.book(alarm, in_=MINUTE - 1)
        except WakeRefused as refusal:
            refusals.append(refusal)
        await world.book(alarm, in_=MINUTE)

    world.turn.action = again
    await world.book(alarm)
    await alarm.run_due()
    assert [refusal.reason for refusal in refusals] == [Reason.MIN_INTERVAL]


async def test_s21_series_do_not_use_up_the_callers_rate(world: World) -> None:
    alarm = world.make(budgets=Budgets())
    for number in range(4):
        await world.book(alarm, every="1m", lane=f"lane {number}")
    for _ in range(61):
        world.clock.advance(MINUTE)
        await alarm.run_due()
    assert len(world.turn.entered) == 4 * 61
    await world.book(alarm)


async def test_s42_only_the_key_is_ever_tolerated_and_ids_can_be_read_back(world: World) -> None:
    alarm = world.make()
    with pytest.raises(InvalidValue):
        await world.book(alarm, workspace=None)
    for asked in ({}, {"every": "1h"}, {"key": "k"}):
        booked = await world.book(alarm, **asked)
        found = await alarm.get(booked.id)
        assert found is not None
        assert found.id == booked.id
    assert await alarm.get("nothing") is None


async def test_a_wake_can_be_booked_in_the_hosts_own_transaction(world: World) -> None:
    alarm = world.make()
    request = alarm.schedule_request(**W, in_="1s")

    def both(tx: Any, fail: bool, *, now: int) -> str:
        booked = alarm.create_in(tx, request, now=now)
        if fail:
            raise ZeroDivisionError
        return booked.id

    with pytest.raises(ZeroDivisionError):
        await world.store.write(both, True)
    assert await world.count() == 0
    wake_id = await world.store.write(both, False)
    assert (await world.wake(wake_id)).due_at == world.clock.now() + SECOND


async def test_series_states_survive_a_restart(world: World) -> None:
    alarm = world.make()
    booked = await world.book(alarm, every="1h")
    assert booked.series is not None
    await alarm.pause_series(booked.series, ADA, "later")
    found = await world.make("again", sinks={"session_turn": external(world.turn)}, settings=QUIET).series(
        booked.series
    )
    assert found is not None
    assert found.state is SeriesState.PAUSED
