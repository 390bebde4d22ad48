"""A process that dies at a boundary: ``python -m tests.conformance.dying FOLDER SCENARIO POINT NUMBER``.

It runs a scenario over a store and kills itself when the named point is reached for the given time. Before it
does what is to be interrupted it prints ``armed``. The scenarios are carried on by ``test_crash.py``.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from engine.clock import ManualClock
from engine.wakes import CalledOff, external, in_transaction
from tests.conformance.stores import STORES
from tests.conformance.world import ADA, HOUR, World

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
TOKEN = "a token that both processes know"


def count_effect(tx: Any, wake: Any) -> None:
    """An in-transaction effect that counts how often it happened."""
    tx.run(
        """INSERT INTO meta (key, value) VALUES (?, '1')
           ON CONFLICT (key) DO UPDATE SET value = CAST(CAST(meta.value AS INTEGER) + 1 AS TEXT)""",
        (f"effect {wake.id}",),
    )


class Log:
    """An external effect: a line in a file, flushed to the disk."""

    def __init__(self, folder: Path) -> None:
        self._path = folder.parent / "effects.log"

    async def __call__(self, wake: Any) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{wake.id} {wake.attempts} {wake.result!r}\n")
            file.flush()
            os.fsync(file.fileno())

    def lines(self) -> list[str]:
        """What was logged."""
        return self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else []


def make(world: World, folder: Path) -> Any:
    """The alarm clock that both processes use."""
    return world.make(
        "me",
        sinks={"session_turn": external(Log(folder)), "counted": in_transaction(count_effect)},
        make_token=lambda: TOKEN,
    )


W: dict[str, Any] = {"workspace": "w", "actor": ADA}
Scenario = Callable[[World, Any, Callable[[], None]], Awaitable[object]]


async def create(world: World, alarm: Any, armed: Callable[[], None]) -> None:
    armed()
    await alarm.schedule(**W, at=world.clock.now(), key="k")


async def fire(world: World, alarm: Any, armed: Callable[[], None]) -> None:
    await alarm.schedule(**W, at=world.clock.now(), key="k", lane="L")
    armed()
    await alarm.run_due()


async def effect(world: World, alarm: Any, armed: Callable[[], None]) -> None:
    await alarm.schedule(**W, at=world.clock.now(), key="k", kind="counted", lane="L")
    armed()
    await alarm.run_due()


async def series(world: World, alarm: Any, armed: Callable[[], None]) -> None:
    await alarm.schedule(**W, every="1h", key="k", kind="counted", lane="L")
    world.clock.advance(HOUR)
    armed()
    await alarm.run_due()


async def deliver(world: World, alarm: Any, armed: Callable[[], None]) -> None:
    for number in range(3):
        await alarm.watch(**W, event_key="e", key=f"k{number}")
    armed()
    await alarm.deliver_event("w", "e", {"n": 1}, delivery_id="d")
    await alarm.run_due()


async def resolve(world: World, alarm: Any, armed: Callable[[], None]) -> None:
    await alarm.request_approval(**W, expires_in="1h", key="k")
    armed()
    await alarm.resolve(TOKEN, "yes", ADA)
    await alarm.run_due()


async def cancel(world: World, alarm: Any, armed: Callable[[], None]) -> None:
    booked = await alarm.schedule(**W, every="1h", key="k", kind="counted")
    armed()
    await alarm.cancel(booked.id, ADA)


async def fail(world: World, alarm: Any, armed: Callable[[], None]) -> None:
    async def bad(wake: Any) -> None:
        raise ValueError("no")

    alarm.register("session_turn", external(bad, max_attempts=1))
    await alarm.schedule(**W, at=world.clock.now(), key="k")
    armed()
    await alarm.run_due()


async def call_off(world: World, alarm: Any, armed: Callable[[], None]) -> None:
    async def not_wanted(wake: Any) -> None:
        raise CalledOff("not wanted")

    alarm.register("session_turn", external(not_wanted))
    await alarm.schedule(**W, every="1h")
    world.clock.advance(HOUR)
    armed()
    await alarm.run_due()


async def release(world: World, alarm: Any, armed: Callable[[], None]) -> None:
    await fail(world, alarm, lambda: None)
    (wake,) = await alarm.list_wakes("w")
    armed()
    await alarm.release(wake.id, ADA, "mended")


async def once(world: World, alarm: Any, armed: Callable[[], None]) -> None:
    async def leave_a_line() -> int:
        path = world.store.storage.folder.parent / "once.log"  # type: ignore[attr-defined]
        with path.open("a", encoding="utf-8") as file:
            file.write("ran\n")
        return 7

    armed()
    await alarm.once("s", "k", leave_a_line, workspace="w", policy="at_most_once")


SCENARIOS: dict[str, Scenario] = {
    scenario.__name__: scenario
    for scenario in (create, fire, effect, series, deliver, resolve, cancel, fail, call_off, release, once)
}


async def main(folder: Path, scenario: str, point: str, number: int) -> None:
    """Run a scenario until it kills this process."""
    left = number
    is_armed = False

    def boundary(name: str) -> None:
        nonlocal left
        if is_armed and name == point:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), KILL)

    def armed() -> None:
        nonlocal is_armed
        is_armed = True
        print("armed", flush=True)

    clock = ManualClock()
    async with STORES["sqlite"](folder, clock, boundary=boundary) as store:
        world = World(store, clock)
        await SCENARIOS[scenario](world, make(world, folder), armed)
    print("survived", flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])))
