"""What a test of the alarm clock stands in: one store, a clock that moves when told, sinks that park and record."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from engine.actors import Actor, ActorKind
from engine.clock import Clock, ManualClock
from engine.wakes import AlarmClock, Booked, Budgets, Notice, PassReport, WakeSettings, external
from engine.wakes.store import WakeStore
from engine.wakes.values import Wake, WakeState

ADA = Actor(ActorKind.PERSON, "ada")
BOB = Actor(ActorKind.PERSON, "bob")
AGENT = Actor(ActorKind.AGENT, "codex")
WAIT_SECONDS = 10.0

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000

PLENTY = Budgets(live=10**9, creations_per_hour=10**9)
QUIET = WakeSettings(clean_up_every_ms=None)
"""Settings of most tests: the clean-up's own wake would stand among theirs."""


async def eventually(check: Callable[[], object], what: str = "") -> None:
    """Let the loop and the writer thread go on until something holds, which must come soon."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not (found := check()) or (asyncio.iscoroutine(found) and not await found):
        assert time.monotonic() < deadline, what or "it never came about"
        await asyncio.sleep(0.001)


class Recorder:
    """An external sink that records what it was handed, and can park, raise, or do something."""

    def __init__(self) -> None:
        self.entered: list[Wake] = []
        self.left: list[Wake] = []
        self.at_once = 0
        self.most_at_once = 0
        self.parking = False
        self.errors: list[BaseException] = []
        self.always: BaseException | None = None
        self.action: Callable[[Wake], Awaitable[object]] | None = None
        self._open = asyncio.Event()

    async def __call__(self, wake: Wake) -> None:
        self.entered.append(wake)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self.parking:
                await self._open.wait()
            if self.action is not None:
                await self.action(wake)
            if self.errors:
                raise self.errors.pop(0)
            if self.always is not None:
                raise self.always
            self.left.append(wake)
        finally:
            self.at_once -= 1

    @property
    def ids(self) -> list[str]:
        """The ids in the order in which their sinks were entered."""
        return [wake.id for wake in self.entered]

    async def arrivals(self, number: int = 1) -> None:
        """Wait until so many sinks were entered."""
        await eventually(lambda: len(self.entered) >= number, f"{len(self.entered)} of {number} came")

    def release(self) -> None:
        """Let whoever is parked go on, and park nobody else."""
        self.parking = False
        self._open.set()


class World:
    """A store with alarm clocks over it."""

    def __init__(self, store: WakeStore, clock: ManualClock) -> None:
        self.store = store
        self.clock = clock
        self.notices: list[Notice] = []
        self.turn = Recorder()
        self.alarms: list[AlarmClock] = []

    def make(self, holder: str = "runner", *, clock: Clock | None = None, **options: Any) -> AlarmClock:
        """Make an alarm clock; its ``session_turn`` is `turn` unless ``sinks`` says otherwise."""
        options.setdefault("sinks", {"session_turn": external(self.turn)})
        options.setdefault("authorize", lambda actor, right, about: actor == ADA)
        options.setdefault("settings", QUIET)
        options.setdefault("budgets", PLENTY)
        options.setdefault("notify", self.notices.append)
        options.setdefault("jitter", lambda: 0.0)
        alarm = AlarmClock(self.store, clock=clock or self.clock, holder=holder, **options)
        self.alarms.append(alarm)
        return alarm

    async def close(self) -> None:
        """Stop all alarm clocks; what a failed test has left parked is cancelled."""
        self.turn.release()
        for alarm in self.alarms:
            stopping = asyncio.create_task(alarm.stop("1s"))
            while not stopping.done():
                self.clock.advance(SECOND)
                await asyncio.wait({stopping}, timeout=0.01)
            await stopping

    async def book(self, alarm: AlarmClock, **asked: Any) -> Booked:
        """Schedule a wake that is due now, unless ``asked`` says otherwise."""
        if not {"at", "in_", "cron", "every"} & set(asked):
            asked["at"] = self.clock.now()
        return await alarm.schedule(**{"workspace": "w", "actor": ADA, **asked})

    async def state(self, wake_id: str) -> WakeState:
        """The state of a wake."""
        return (await self.wake(wake_id)).state

    async def wake(self, wake_id: str) -> Wake:
        """A wake that exists."""
        found = await self.store.read(self.store.wakes.get, wake_id)
        assert found is not None
        return found

    async def count(self, sql: str = "SELECT count(*) FROM wake", *values: object) -> int:
        """A number from the store's tables, where it has tables."""
        return int(await self.store.read(lambda rx: rx.one(sql, values)[0]))

    async def events(self, alarm: AlarmClock, wake_id: str) -> list[str]:
        """The names of the steps in a wake's history."""
        return [step.event for step in await alarm.history(wake_id)]

    @asynccontextmanager
    async def passing(self, *alarms: AlarmClock) -> AsyncIterator[list[asyncio.Task[PassReport]]]:
        """Run a pass of each in the background; at the end, sinks are released and the passes awaited."""
        tasks = [asyncio.create_task(alarm.run_due()) for alarm in alarms]
        try:
            yield tasks
        finally:
            self.turn.release()
            await asyncio.gather(*tasks)
            await eventually(lambda: not any(alarm.running for alarm in alarms))

    async def settle(self) -> None:
        """Let everything that is under way and can go on come to where it waits."""
        for _ in range(5):
            await self.store.write(_nothing)
            await asyncio.sleep(0)

    async def advance(self, milliseconds: int, step: int = SECOND) -> None:
        """Let time pass in steps, with everything that it wakes."""
        left = milliseconds
        while left > 0:
            self.clock.advance(min(step, left))
            left -= step
            await self.settle()

    async def until(self, check: Callable[[], object], *, step: int = SECOND, most: int = 10) -> None:
        """Let time pass, step by step, until something holds; each step is given a moment to have its effect.

        What waits may begin to wait only after time has passed, so how many steps it takes is not the same always.
        """
        for _ in range(most):
            deadline = time.monotonic() + 0.25
            while time.monotonic() < deadline:
                found = check()
                if found and not (asyncio.iscoroutine(found) and not await found):
                    return
                await asyncio.sleep(0.001)
            self.clock.advance(step)
        await eventually(check)


def _nothing(tx: Any, *, now: int) -> None:
    """A transaction that changes nothing."""
