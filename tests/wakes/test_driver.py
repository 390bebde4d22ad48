"""The timer: armed for the next obligation and nothing else; a hint for later is dropped, one for earlier is not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from engine.clock import ManualClock
from engine.wakes import TimerDriver
from tests.conformance.world import HOUR, MINUTE, SECOND, eventually


class Obligations:
    """What there is to do next, and how often it was asked for and fired."""

    def __init__(self, at: int | None) -> None:
        self.at = at
        self.looks = 0
        self.fired = 0
        self.error: Exception | None = None

    async def next(self) -> int | None:
        self.looks += 1
        if self.error is not None:
            raise self.error
        return self.at

    def fire(self) -> None:
        self.fired += 1


@pytest.fixture
async def driver(clock: ManualClock) -> AsyncIterator[TimerDriver]:
    """A driver that is stopped after the test."""
    driver = TimerDriver(clock)
    yield driver
    await driver.stop()


async def turns() -> None:
    """Let the driver get to where it waits."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_only_an_earlier_hint_makes_it_look_again(driver: TimerDriver, clock: ManualClock) -> None:
    todo = Obligations(clock.now() + HOUR)
    driver.start(todo.next, todo.fire)
    await turns()
    for later in (clock.now() + HOUR, clock.now() + 2 * HOUR):
        driver.nudge("L", later)
        await turns()
    assert todo.looks == 1
    todo.at = clock.now() + MINUTE
    driver.nudge("L", todo.at)
    await turns()
    assert todo.looks == 2
    driver.nudge(None, None)
    await turns()
    assert todo.looks == 3
    assert not todo.fired


async def test_it_fires_at_the_instant_and_once_until_it_is_told_of_a_pass(
    driver: TimerDriver, clock: ManualClock
) -> None:
    todo = Obligations(clock.now() + 3 * SECOND)
    driver.start(todo.next, todo.fire)
    for _ in range(29):
        await turns()
        clock.advance(100)
    await turns()
    assert not todo.fired
    clock.advance(100)
    await turns()
    assert todo.fired == 1
    clock.advance(500)
    await turns()
    assert todo.fired == 1
    todo.at = None
    driver.nudge(None, None)
    await turns()
    clock.advance(HOUR)
    await turns()
    assert todo.fired == 1


async def test_a_store_that_fails_leaves_it_waiting_for_the_next_hint(
    driver: TimerDriver, clock: ManualClock
) -> None:
    todo = Obligations(clock.now())
    todo.error = OSError("gone")
    driver.start(todo.next, todo.fire)
    await turns()
    assert (todo.looks, todo.fired) == (1, 0)
    todo.error = None
    driver.nudge(None, None)
    await eventually(lambda: todo.fired == 1)


async def test_stopping_twice_and_hints_after_it_are_harmless(clock: ManualClock) -> None:
    driver = TimerDriver(clock)
    await driver.stop()
    todo = Obligations(None)
    driver.start(todo.next, todo.fire)
    await driver.stop()
    await driver.stop()
    driver.nudge("L", 0)
    assert todo.looks <= 1
