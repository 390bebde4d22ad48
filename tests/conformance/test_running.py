"""Running by itself: promptly by a driver that may fail, surely by a sweep; start and stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from engine.clock import ManualClock
from engine.errors import StorageError
from engine.wakes import NoticeKind, WakeState, external
from tests.conformance.world import ADA, HOUR, MINUTE, SECOND, Recorder, World, eventually

W: dict[str, Any] = {"workspace": "w", "actor": ADA}


class DeafDriver:
    """A driver that drops everything, or raises at every hint."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.hints: list[tuple[str | None, int | None]] = []

    def start(self, next_obligation: Any, fire: Any) -> None: ...

    def nudge(self, lane: str | None, at: int | None) -> None:
        self.hints.append((lane, at))
        if self.error is not None:
            raise self.error

    async def stop(self) -> None: ...


async def test_s12_the_sweep_finds_what_no_hint_told_of(world: World) -> None:
    driver = DeafDriver()
    alarm = world.make(driver=driver)
    await alarm.start()
    await world.settle()
    booked = [await world.book(alarm, lane=f"lane {number}") for number in range(20)]
    assert not world.turn.entered
    await world.until(lambda: len(world.turn.left) == 20, most=3)
    assert sorted(world.turn.ids) == sorted(one.id for one in booked)
    assert ("lane 7", booked[7].due_at) in driver.hints


async def test_a_driver_that_raises_breaks_no_create(world: World, expected_log: Callable[..., Any]) -> None:
    with expected_log("The driver raised an error"):
        alarm = world.make(driver=DeafDriver(RuntimeError("broken")))
        booked = await world.book(alarm)
        assert await world.state(booked.id) is WakeState.PENDING
        await alarm.run_due()
    assert await world.state(booked.id) is WakeState.FIRED


async def test_a_due_wake_fires_at_its_millisecond_without_polling(world: World) -> None:
    alarm = world.make()
    await alarm.start()
    await world.settle()
    booked = await world.book(alarm, in_=250)
    await world.settle()
    world.clock.advance(249)
    await world.settle()
    assert not world.turn.entered
    world.clock.advance(1)
    await eventually(lambda: world.turn.left)
    assert (await world.wake(booked.id)).late_ms == 0


async def test_the_timer_is_armed_for_deadlines_retries_and_lapses_too(world: World) -> None:
    alarm = world.make()
    store = world.store
    await alarm.start()
    await world.settle()

    async def exactly(milliseconds: int, number: int) -> None:
        await world.settle()
        await asyncio.sleep(0.02)
        world.clock.advance(milliseconds)
        await eventually(lambda: len(world.turn.entered) == number, f"{number} after {milliseconds}")

    await alarm.watch(**W, event_key="k", expires_in=300)
    await exactly(300, 1)
    world.turn.errors = [ValueError("no")]
    await world.book(alarm)
    await exactly(1, 2)
    await exactly(900, 2)
    await exactly(900, 2)
    await exactly(199, 3)

    def claim(tx: Any, *, now: int) -> None:
        alarm.create_in(tx, alarm.schedule_request(**W, at=now), now=now)
        store.queue.claim(tx, {"session_turn"}, "dead", now + 400, 1, by_time=True, now=now)

    await store.write(claim)
    await exactly(400, 4)


async def test_a_wake_booked_in_the_hosts_transaction_fires_promptly(world: World) -> None:
    alarm = world.make()
    await alarm.start()
    await world.settle()

    def book(tx: Any, *, now: int) -> None:
        alarm.create_in(tx, alarm.schedule_request(**W, at=now), now=now)

    await world.store.write(book)
    await eventually(lambda: world.turn.left)


async def test_events_and_answers_fire_promptly(world: World) -> None:
    alarm = world.make()
    await alarm.start()
    await alarm.watch(**W, event_key="k")
    await alarm.deliver_event("w", "k")
    await eventually(lambda: len(world.turn.left) == 1)
    issued = await alarm.request_approval(**W, expires_in="1h")
    await alarm.resolve(issued.token or "", "yes", ADA)
    await eventually(lambda: len(world.turn.left) == 2)


async def test_a_slow_sink_delays_nobody_who_becomes_due_meanwhile(world: World) -> None:
    alarm = world.make()
    slow = Recorder()
    slow.parking = True
    alarm.register("slow", external(slow))
    await alarm.start()
    await world.book(alarm, kind="slow", lane="L")
    await slow.arrivals()
    await world.book(alarm)
    await eventually(lambda: world.turn.left)
    behind = await world.book(alarm, lane="L")
    slow.release()
    await eventually(lambda: behind.id in world.turn.ids)


async def test_a_kind_that_gets_its_sink_while_running_fires_at_the_next_pass(world: World) -> None:
    alarm = world.make()
    await alarm.start()
    await world.book(alarm, kind="gone")
    await eventually(lambda: world.notices)
    assert [notice.kind for notice in world.notices] == [NoticeKind.NO_SINK]
    late = Recorder()
    alarm.register("gone", external(late))
    await world.until(lambda: late.left, most=3)


async def test_what_cannot_be_acted_on_does_not_make_the_timer_spin(world: World) -> None:
    ahead = ManualClock(world.clock.now() + HOUR)
    alarm = world.make(clock=ahead)
    await world.book(alarm)
    await alarm.start()
    await eventually(lambda: world.notices)
    rounds = 0
    write = world.store.write

    async def counting(function: Any, *arguments: Any, **options: Any) -> Any:
        nonlocal rounds
        rounds += getattr(function, "__name__", "") == "round"
        return await write(function, *arguments, **options)

    world.store.write = counting  # type: ignore[method-assign]
    for _ in range(5):
        ahead.advance(SECOND)
        world.clock.advance(SECOND)
        await world.settle()
        await asyncio.sleep(0.02)
    assert 1 <= rounds <= 12
    assert not world.turn.entered


async def test_full_slots_do_not_make_the_timer_spin(world: World) -> None:
    from engine.wakes import WakeSettings

    alarm = world.make(settings=WakeSettings(concurrency=1, clean_up_every_ms=None))
    world.turn.parking = True
    for _ in range(3):
        await world.book(alarm)
    await alarm.start()
    await world.turn.arrivals()
    assert await alarm._runner.next_obligation() is None
    world.turn.release()
    await eventually(lambda: len(world.turn.left) == 3)


async def test_a_store_that_fails_is_tried_again_and_not_at_once(
    world: World, expected_log: Callable[..., Any]
) -> None:
    alarm = world.make()
    await world.book(alarm)
    write = world.store.write
    failures = 0

    async def failing(function: Any, *arguments: Any, **options: Any) -> Any:
        nonlocal failures
        if getattr(function, "__name__", "") == "round":
            failures += 1
            raise StorageError("The disk is full.")
        return await write(function, *arguments, **options)

    world.store.write = failing  # type: ignore[method-assign]
    with expected_log("did not complete"):
        await alarm.start()
        await eventually(lambda: failures)
        await world.settle()
        assert failures == 1
        world.store.write = write  # type: ignore[method-assign]
        await world.until(lambda: world.turn.left, most=3)


async def test_stop_and_start_again(world: World) -> None:
    alarm = world.make()
    await alarm.start()
    await alarm.start()
    await alarm.stop()
    await alarm.stop()
    booked = await world.book(alarm)
    await world.advance(3 * SECOND)
    assert await world.state(booked.id) is WakeState.PENDING
    await alarm.start()
    await eventually(lambda: world.turn.left)
    await alarm.stop()
    assert (await alarm.run_due()).claimed == 0


async def test_s56_a_start_waits_for_the_recovery_of_the_one_before(world: World) -> None:
    alarm = world.make()
    steps: list[str] = []
    gates: list[asyncio.Event] = []
    write = world.store.write

    async def watched(function: Any, *arguments: Any, **options: Any) -> Any:
        name = getattr(function, "__name__", "")
        if name == "take_back":
            gate = asyncio.Event()
            gates.append(gate)
            steps.append("recovery")
            await gate.wait()
            steps.append("recovered")
        elif name == "round":
            steps.append("pass")
        return await write(function, *arguments, **options)

    world.store.write = watched  # type: ignore[method-assign]
    await alarm.start()
    await eventually(lambda: len(gates) == 1)
    stopping = asyncio.create_task(alarm.stop())
    await world.settle()
    starting = asyncio.create_task(alarm.start())
    await world.settle()
    assert not stopping.done()
    assert not starting.done()
    gates[0].set()
    await stopping
    await starting
    await eventually(lambda: len(gates) == 2)
    await world.advance(3 * SECOND)
    assert steps == ["recovery", "recovered", "recovery"]
    gates[1].set()
    await eventually(lambda: "pass" in steps)


@pytest.mark.parametrize("times", [3])
async def test_passes_of_the_scheduler_never_overlap(world: World, times: int) -> None:
    alarm = world.make()
    at_once = most = passes = 0
    run = alarm._runner.run_pass

    async def counted(limit: int) -> Any:
        nonlocal at_once, most, passes
        at_once += 1
        most = max(most, at_once)
        passes += 1
        try:
            return await run(limit)
        finally:
            at_once -= 1

    alarm._runner.run_pass = counted  # type: ignore[method-assign]
    world.turn.parking = True
    await alarm.start()
    for _ in range(times):
        await world.book(alarm)
        await world.advance(MINUTE, step=10 * SECOND)
    assert most == 1
    assert passes >= times
