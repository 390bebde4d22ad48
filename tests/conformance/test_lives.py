"""Whole lives: random histories and real time, with what must hold whatever happens."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.clock import SystemClock
from engine.wakes import CancelResult, Wake, WakeSettings, WakeState, external, in_transaction
from tests.conformance.stores import OpenStore
from tests.conformance.world import ADA, MINUTE, QUIET, SECOND, World, eventually

W: dict[str, Any] = {"workspace": "w", "actor": ADA}


class Life:
    """Random doings over three runners, and what was seen of them."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.pick = random.Random(seed)
        self.entered: dict[str, int] = {}
        self.succeeded: dict[str, int] = {}
        self.in_lane: set[str] = set()
        self.problems: list[str] = []
        sinks = {"turn": external(self.turn), "counted": in_transaction(self.counted)}
        settings = WakeSettings(concurrency=3, max_attempts=4, clean_up_every_ms=None)
        self.alarms = [world.make(f"r{n}", sinks=sinks, settings=settings) for n in range(3)]
        self.booked: dict[str, int | None] = {}
        self.cancelled: set[str] = set()
        self.tokens: list[str] = []
        self.series: list[str] = []

    async def turn(self, wake: Wake) -> None:
        """An external sink that looks at what it may rely on, and fails now and then."""
        lane = f"{wake.workspace}/{wake.lane}"
        if wake.lane is not None and lane in self.in_lane:
            self.problems.append(f"two at once in {lane}")
        if wake.due_at is None or wake.due_at > self.world.clock.now():
            self.problems.append(f"{wake.id} is early")
        if wake.expired != (
            wake.expires_at is not None
            and wake.admitted_at is not None
            and (wake.admitted_at >= wake.expires_at)
        ):
            self.problems.append(f"{wake.id} is wrong about its deadline")
        self.in_lane.add(lane)
        self.entered[wake.id] = self.entered.get(wake.id, 0) + 1
        for _ in range(self.pick.randrange(3)):
            await asyncio.sleep(0)
        self.in_lane.discard(lane)
        if self.pick.random() < 0.2:
            raise ValueError("now and then")
        self.succeeded[wake.id] = self.succeeded.get(wake.id, 0) + 1

    def counted(self, tx: Any, wake: Wake) -> None:
        """An in-transaction sink that would fail if it took effect twice."""
        tx.run("INSERT INTO meta (key, value) VALUES (?, 'life')", (f"life {wake.id}",))
        if self.pick.random() < 0.2:
            raise ValueError("now and then")

    async def step(self) -> None:
        """Do one thing."""
        pick, alarm = self.pick, self.pick.choice(self.alarms)
        asked: dict[str, Any] = {
            **W,
            "lane": pick.choice((None, "a", "b")),
            "kind": pick.choice(("turn", "turn", "counted")),
        }
        match pick.choice(
            (
                "book",
                "book",
                "watch",
                "approve",
                "series",
                "deliver",
                "resolve",
                "cancel",
                "run",
                "run",
                "time",
            )
        ):
            case "book":
                options = {"expires_in": "5s"} if pick.random() < 0.3 else {}
                booked = await alarm.schedule(**asked, in_=pick.randrange(1, 4_000), **options)
                self.booked[booked.id] = booked.due_at
            case "watch":
                booked = await alarm.watch(
                    **asked, event_key=pick.choice("xy"), expires_in=pick.choice(("2s", "1m"))
                )
                self.booked[booked.id] = None
            case "approve":
                issued = await alarm.request_approval(**asked, expires_in=pick.choice(("2s", "1m")))
                self.tokens.append(issued.token or "")
                self.booked[issued.booked.id] = None
            case "series" if len(self.series) < 3:
                booked = await alarm.schedule(
                    **asked,
                    every=pick.randrange(1_000, 5_000),
                    catch_up=pick.choice(("all", "latest", "none")),
                )
                self.series.append(booked.series or "")
            case "deliver":
                await alarm.deliver_event("w", pick.choice("xy"), pick.randrange(9))
            case "resolve" if self.tokens:
                await alarm.resolve(pick.choice(self.tokens), pick.randrange(9), ADA)
            case "cancel" if self.booked:
                wake_id = pick.choice(list(self.booked))
                if await alarm.cancel(wake_id, ADA) is CancelResult.OK:
                    self.cancelled.add(wake_id)
            case "run":
                await asyncio.gather(*(one.run_due() for one in self.alarms))
            case _:
                self.world.clock.advance(pick.choice((1, 50, 700, 3_000, 20_000)))

    async def end(self) -> None:
        """Let everything that can end come to its end."""
        for series in self.series:
            await self.alarms[0].cancel_series(series, ADA)
        for _ in range(25):
            self.world.clock.advance(MINUTE)
            await asyncio.gather(*(one.run_due() for one in self.alarms))


@pytest.mark.parametrize("seed", range(6))
async def test_random_lives_keep_every_promise(world: World, seed: int) -> None:
    life = Life(world, seed)
    for _ in range(120):
        await life.step()
    await life.end()
    assert not life.problems
    ends: dict[WakeState, int] = {}
    for wake_id in life.booked:
        wake = await world.wake(wake_id)
        ends[wake.state] = ends.get(wake.state, 0) + 1
        assert wake.state not in (WakeState.PENDING, WakeState.FIRING), "nothing is forgotten"
        assert (wake.state is WakeState.CANCELLED) == (wake_id in life.cancelled)
        if wake.kind == "turn":
            done = wake.state in (WakeState.FIRED, WakeState.EXPIRED)
            assert life.succeeded.get(wake_id, 0) == int(done)
            assert life.entered.get(wake_id, 0) == wake.attempts
        steps = await world.events(life.alarms[0], wake_id)
        assert steps[0] == "created"
        assert steps.count("claimed") == wake.attempts
    counted = await world.count("SELECT count(*) FROM meta WHERE value = 'life'")
    fired = await world.count(
        "SELECT count(*) FROM wake WHERE kind = 'counted' AND state IN ('fired', 'expired')"
    )
    assert counted == fired
    assert await world.count("SELECT count(*) FROM wake WHERE series IS NOT NULL AND state = 'pending'") == 0
    assert {WakeState.FIRED, WakeState.EXPIRED} <= set(ends)


async def test_two_runners_in_real_time_fire_each_once_in_order_and_never_early(
    open_store: OpenStore, new_folder: Path
) -> None:
    clock = SystemClock()
    seen: list[Wake] = []
    early: list[Wake] = []

    async def sink(wake: Wake) -> None:
        seen.append(wake)
        if wake.due_at is None or clock.now() < wake.due_at:
            early.append(wake)
        await asyncio.sleep(0.001)

    async with open_store(new_folder, clock) as store:
        world = World(store, clock)  # type: ignore[arg-type]
        sinks = {"session_turn": external(sink)}
        alarms = [world.make(holder, sinks=sinks) for holder in ("a", "b")]
        for alarm in alarms:
            await alarm.start()
        due = clock.now() + 100
        booked = [
            await world.book(alarms[number % 2], lane=f"lane {number % 5}", at=due + number // 5)
            for number in range(100)
        ]
        await eventually(lambda: len(seen) >= 100)
        for alarm in alarms:
            assert await alarm.stop("10s") == ()
    assert not early
    assert sorted(wake.id for wake in seen) == sorted(one.id for one in booked)
    for lane in range(5):
        in_lane = [wake.id for wake in seen if wake.lane == f"lane {lane}"]
        assert in_lane == [one.id for number, one in enumerate(booked) if number % 5 == lane]


# ------------------------------------------------------------------------------------------ failing stores


async def test_an_end_that_cannot_be_recorded_is_tried_again(world: World) -> None:
    alarm = world.make()
    booked = await world.book(alarm)
    await world.store.write(
        lambda tx, *, now: tx.run(
            """CREATE TRIGGER broken BEFORE UPDATE OF state ON wake WHEN NEW.state = 'fired'
               BEGIN SELECT RAISE(ABORT, 'injected'); END"""
        )
    )
    assert (await alarm.run_due()).failed == 1
    found = await world.wake(booked.id)
    assert found.state is WakeState.PENDING
    assert found.last_error is not None
    assert "injected" in found.last_error
    await world.store.write(lambda tx, *, now: tx.run("DROP TRIGGER broken"))
    world.clock.advance(MINUTE)
    await alarm.run_due()
    assert await world.state(booked.id) is WakeState.FIRED


async def test_what_cannot_be_recorded_at_all_comes_back_when_its_lease_lapses(
    world: World, expected_log: Callable[..., Any]
) -> None:
    alarm = world.make()
    booked = await world.book(alarm)
    await world.store.write(
        lambda tx, *, now: tx.run(
            """CREATE TRIGGER broken BEFORE UPDATE OF state ON wake WHEN OLD.state = 'firing'
               BEGIN SELECT RAISE(ABORT, 'injected'); END"""
        )
    )
    with expected_log("could not be recorded"):
        await alarm.run_due()
        await eventually(lambda: not alarm.running)
    assert await world.state(booked.id) is WakeState.FIRING
    await world.store.write(lambda tx, *, now: tx.run("DROP TRIGGER broken"))
    world.clock.advance(30 * SECOND)
    await alarm.run_due()
    assert await world.state(booked.id) is WakeState.FIRED
    assert len(world.turn.entered) == 2


async def test_a_storage_that_is_closed_first_leaves_what_runs_to_its_lease(
    open_store: OpenStore, new_folder: Path, clock: Any
) -> None:
    async with open_store(new_folder, clock) as store:
        world = World(store, clock)
        alarm = world.make(settings=QUIET)
        world.turn.parking = True
        booked = await world.book(alarm)
        task = asyncio.create_task(alarm.run_due())
        await world.turn.arrivals()
    world.turn.release()
    await eventually(lambda: not alarm.running)
    with pytest.raises(Exception, match="closed"):
        await task
    async with open_store(new_folder, clock) as store:
        again = World(store, clock)
        alarm = again.make()
        assert await alarm.recover() == 1
        await alarm.run_due()
        assert again.turn.ids == [booked.id]
