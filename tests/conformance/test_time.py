"""A distrusted clock fires nothing by time, judges no lease and no deadline; events and answers go on (E-32)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from engine.clock import ManualClock
from engine.wakes import OutcomeUnknown, WakeState
from tests.conformance.stores import OpenStore
from tests.conformance.world import ADA, DAY, HOUR, MINUTE, SECOND, World, eventually

W: dict[str, Any] = {"workspace": "w", "actor": ADA}


class Trust:
    """Whether the time is trusted, for the test to say."""

    def __init__(self) -> None:
        self.trusted = True

    def __call__(self) -> bool:
        return self.trusted


@pytest.fixture
def trust() -> Trust:
    return Trust()


@pytest.fixture(params=["store", "runner"])
async def doubtful(
    request: pytest.FixtureRequest, open_store: OpenStore, new_folder: Path, clock: ManualClock, trust: Trust
) -> AsyncIterator[tuple[World, Any]]:
    """A world whose clock can be distrusted by its store, or by a callable of the runner."""
    options = {"time_trusted": trust} if request.param == "store" else {}
    async with open_store(new_folder, clock, **options) as store:
        world = World(store, clock)
        alarm = world.make(**({} if request.param == "store" else {"time_trusted": trust}))
        yield world, alarm
        await world.close()


async def test_nothing_fires_or_expires_by_a_distrusted_clock(
    doubtful: tuple[World, Any], trust: Trust
) -> None:
    world, alarm = doubtful
    timed = await world.book(alarm)
    watch = await alarm.watch(**W, event_key="k", expires_in="1m")
    series = await world.book(alarm, every="1m")
    trust.trusted = False
    world.clock.step_wall(365 * DAY)
    report = await alarm.run_due()
    assert (report.claimed, report.expired, report.by_time) == (0, 0, False)
    for one in (timed, watch, series):
        assert await world.state(one.id) is WakeState.PENDING
    world.clock.step_wall(-365 * DAY)
    trust.trusted = True
    await alarm.run_due()
    assert world.turn.ids == [timed.id]


async def test_events_and_answers_go_on_by_a_distrusted_clock(
    doubtful: tuple[World, Any], trust: Trust
) -> None:
    world, alarm = doubtful
    watch = await alarm.watch(**W, event_key="k", lane="L")
    issued = await alarm.request_approval(**W, expires_in="1m")
    await world.book(alarm, lane="L", at=world.clock.now() - 1)
    trust.trusted = False
    world.clock.step_wall(-2 * DAY)
    assert (await alarm.deliver_event("w", "k", 1)).accepted == 1
    await alarm.run_due()
    assert world.turn.ids == [watch.id], "it passes the timed wake of its lane, which may not fire"
    world.clock.step_wall(365 * DAY)
    assert (await alarm.resolve(issued.token or "", "yes", ADA)).ok, "no deadline is judged by such a clock"
    await alarm.run_due()
    assert world.turn.ids == [watch.id, issued.booked.id]
    world.clock.step_wall(-363 * DAY)
    trust.trusted = True
    await alarm.run_due()
    assert len(world.turn.ids) == 3
    assert world.turn.most_at_once == 1


async def test_no_lease_is_judged_by_a_distrusted_clock(doubtful: tuple[World, Any], trust: Trust) -> None:
    world, alarm = doubtful
    other = world.make("other", time_trusted=trust)
    world.turn.parking = True
    booked = await world.book(alarm)
    async with world.passing(alarm):
        await world.turn.arrivals()
        trust.trusted = False
        world.clock.step_wall(HOUR)
        assert (await other.run_due()).lapsed == 0
        assert (await world.wake(booked.id)).lease_until is not None
        world.clock.step_wall(-HOUR)
    assert await world.state(booked.id) is WakeState.FIRED, "what runs goes on, and is recorded"


async def test_no_receipt_is_judged_by_a_distrusted_clock(doubtful: tuple[World, Any], trust: Trust) -> None:
    world, alarm = doubtful
    runs: list[int] = []

    async def effect() -> int:
        runs.append(1)
        return 1

    def claim(tx: Any, *, now: int) -> None:
        world.store.receipts.claim(tx, "w", "s", "k", "dead", now + 30 * SECOND, now)

    await world.store.write(claim)
    trust.trusted = False
    world.clock.step_wall(HOUR)
    call = asyncio.create_task(alarm.once("s", "k", effect, workspace="w", policy="at_most_once"))
    await world.advance(SECOND, step=250)
    assert not call.done()
    trust.trusted = True
    await world.advance(SECOND, step=250)
    with pytest.raises(OutcomeUnknown):
        await call
    assert not runs


async def test_b077_a_timer_does_not_oversleep_when_the_clock_is_set_back_and_forth(world: World) -> None:
    alarm = world.make()
    booked = await world.book(alarm, in_="10s")
    await alarm.start()
    await world.advance(2 * SECOND)
    world.clock.step_wall(-DAY)
    await world.advance(MINUTE)
    assert await world.state(booked.id) is WakeState.PENDING
    world.clock.step_wall(DAY)
    await world.until(lambda: world.turn.left, most=3)


async def test_b073_a_machine_that_slept_fires_once_soon_after_and_says_how_late(world: World) -> None:
    alarm = world.make()
    await world.book(alarm, in_="10m")
    await alarm.start()
    await world.advance(SECOND)
    world.clock.suspend(30 * MINUTE)
    await world.settle()
    await eventually(lambda: world.turn.left)
    (wake,) = world.turn.left
    assert wake.late_ms is not None
    assert 20 * MINUTE <= wake.late_ms <= 20 * MINUTE + 2 * SECOND


async def test_b074_an_every_minute_rule_does_not_burst_after_a_night(world: World) -> None:
    alarm = world.make()
    await world.book(alarm, every="1m")
    await alarm.start()
    await world.settle()
    world.clock.suspend(8 * HOUR)
    await world.settle()
    await eventually(lambda: world.turn.left)
    await world.advance(5 * SECOND)
    assert [wake.missed for wake in world.turn.left] == [479]
