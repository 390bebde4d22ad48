"""Lanes: of one lane never two at once, whatever the trigger; strictly in order; none blocks another."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from engine.wakes import WakeSettings, WakeState, external
from engine.wakes.values import NewWake, Origin, Trigger, Wake
from tests.conformance.world import ADA, HOUR, MINUTE, SECOND, Recorder, World, eventually

W: dict[str, Any] = {"workspace": "w", "actor": ADA}


async def test_one_claim_takes_the_earliest_of_each_lane(world: World) -> None:
    alarm = world.make()
    world.turn.parking = True
    now = world.clock.now()
    second = await world.book(alarm, lane="L", at=now - 1)
    first = await world.book(alarm, lane="L", at=now - 2)
    other = await world.book(alarm, lane="M", at=now)
    async with world.passing(alarm):
        await world.turn.arrivals(2)
        assert set(world.turn.ids) == {first.id, other.id}
    await alarm.run_due()
    assert world.turn.ids[-1] == second.id


async def test_an_earlier_wake_takes_the_head_of_an_idle_lane(world: World) -> None:
    alarm = world.make()
    late = await world.book(alarm, lane="L", in_="1h")
    early = await world.book(alarm, lane="L", in_="1m")
    assert (await world.wake(late.id)).armed_at is None
    assert (await world.wake(early.id)).armed_at == early.due_at
    world.clock.advance(MINUTE)
    await alarm.run_due()
    assert world.turn.ids == [early.id]
    assert (await world.wake(late.id)).armed_at == late.due_at


async def test_strictly_first_in_first_out_within_a_millisecond(world: World) -> None:
    alarm = world.make()
    booked = [await world.book(alarm, lane="L") for _ in range(30)]
    await alarm.run_due()
    assert world.turn.ids == [one.id for one in booked]


async def test_cancelling_the_head_arms_the_next(world: World) -> None:
    alarm = world.make()
    first, second = [await world.book(alarm, lane="L", in_=f"{minutes}m") for minutes in (1, 2)]
    await alarm.cancel(first.id, ADA)
    assert (await world.wake(second.id)).armed_at == second.due_at


async def test_a_retry_stays_the_head_of_its_lane(world: World) -> None:
    alarm = world.make()
    world.turn.errors = [ValueError("no")]
    first, second = [await world.book(alarm, lane="L") for _ in range(2)]
    await alarm.run_due()
    await alarm.run_due()
    assert world.turn.ids == [first.id]
    world.clock.advance(MINUTE)
    await alarm.run_due()
    assert world.turn.ids == [first.id, first.id, second.id]


async def test_s18_lanes_belong_to_their_workspace(world: World) -> None:
    alarm = world.make()
    world.turn.parking = True
    await world.book(alarm, lane="main")
    async with world.passing(alarm):
        await world.turn.arrivals()
        elsewhere = await world.book(alarm, lane="main", workspace="v")
        other = asyncio.create_task(alarm.run_due())
        await world.turn.arrivals(2)
        assert world.turn.ids[1] == elsewhere.id
    await other


@pytest.mark.parametrize("trigger", ["event", "approval"])
async def test_s03_events_and_answers_queue_behind_their_busy_lane(world: World, trigger: str) -> None:
    alarm = world.make()
    first, then = Recorder(), Recorder()
    first.parking = True
    alarm.register("first", external(first))
    alarm.register("then", external(then))
    await world.book(alarm, kind="first", lane="L")
    if trigger == "event":
        waiting = await alarm.watch(**W, kind="then", lane="L", event_key="k")
    else:
        issued = await alarm.request_approval(**W, kind="then", lane="L", expires_in="1h")
        waiting = issued.booked
    passing = asyncio.create_task(alarm.run_due())
    await first.arrivals()
    if trigger == "event":
        assert (await alarm.deliver_event("w", "k", {"n": 1})).accepted == 1
    else:
        assert (await alarm.resolve(issued.token or "", {"n": 1}, ADA)).ok
    second = asyncio.create_task(alarm.run_due())
    await world.settle()
    assert not then.entered
    first.release()
    await eventually(lambda: then.left)
    await asyncio.gather(passing, second)
    assert [wake.result for wake in then.entered] == [{"n": 1}]
    assert await world.state(waiting.id) is WakeState.FIRED


async def test_s03_a_firing_event_holds_its_lane_for_timed_wakes(world: World) -> None:
    alarm = world.make()
    world.turn.parking = True
    await alarm.watch(**W, lane="L", event_key="k")
    await alarm.deliver_event("w", "k")
    async with world.passing(alarm):
        await world.turn.arrivals()
        await world.book(alarm, lane="L")
        await world.settle()
        assert len(world.turn.entered) == 1
    await alarm.run_due()
    assert world.turn.most_at_once == 1
    assert len(world.turn.left) == 2


async def test_s03_never_two_of_a_lane_with_a_crash_and_two_runners(world: World) -> None:
    a, b = world.make("a"), world.make("b")
    store = world.store
    first = await world.book(a, lane="L")
    watch = await a.watch(**W, lane="L", event_key="k")

    def claim(tx: Any, *, now: int) -> None:
        store.queue.claim(tx, {"session_turn"}, "dead", now + 30_000, 1, by_time=True, now=now)

    await store.write(claim)
    await a.deliver_event("w", "k")
    await asyncio.gather(a.run_due(), b.run_due())
    assert not world.turn.entered, "the lane is held by the claim of the dead runner"
    world.clock.advance(30 * SECOND)
    for _ in range(3):
        await asyncio.gather(a.run_due(), b.run_due())
    assert world.turn.ids == [first.id, watch.id]
    assert world.turn.most_at_once == 1


async def test_events_are_delivered_in_the_order_of_their_acceptance(world: World) -> None:
    alarm = world.make()
    watches = [await alarm.watch(**W, lane="L", event_key=f"k{number}") for number in range(5)]
    order = [3, 0, 4, 1, 2]
    for number in order:
        await alarm.deliver_event("w", f"k{number}")
        world.clock.advance(1)
    await alarm.run_due()
    assert world.turn.ids == [watches[number].id for number in order]


async def test_lanes_show_what_waits_and_what_fires(world: World) -> None:
    alarm = world.make()
    world.turn.parking = True
    first = await world.book(alarm, lane="L")
    for _ in range(2):
        await world.book(alarm, lane="L", in_="1h")
    async with world.passing(alarm):
        await world.turn.arrivals()
        (row,) = await alarm.lanes()
        assert (row.workspace, row.lane, row.waiting, row.firing) == ("w", "L", 2, first.id)
        assert await alarm.lanes("v") == ()
    assert (await alarm.metrics()).gauges.lanes == {("w", "L"): 2}


async def test_many_lanes_with_several_runners_never_overlap(world: World) -> None:
    settings = WakeSettings(concurrency=8, clean_up_every_ms=None)
    at_once: dict[str, int] = {}
    order: dict[str, list[str]] = {}
    overlaps: list[str] = []

    async def sink(wake: Wake) -> None:
        lane = wake.lane or ""
        at_once[lane] = at_once.get(lane, 0) + 1
        if at_once[lane] > 1:
            overlaps.append(lane)
        order.setdefault(lane, []).append(wake.id)
        await asyncio.sleep(0)
        at_once[lane] -= 1

    alarms = [
        world.make(f"r{number}", settings=settings, sinks={"session_turn": external(sink)})
        for number in range(3)
    ]
    booked: dict[str, list[str]] = {}
    for number in range(90):
        lane = f"lane {number % 6}"
        booked.setdefault(lane, []).append((await world.book(alarms[0], lane=lane)).id)
    for _ in range(4):
        await asyncio.gather(*(alarm.run_due() for alarm in alarms))
    assert not overlaps
    assert order == booked


# ------------------------------------------------------------------------------- against the rule in words


class Model:
    """The lane rule in words, over plain rows."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}

    def heads(self, now: int, limit: int) -> list[str]:
        """What a claim must take: the earliest pending row of each lane that has nothing firing, if it is due."""
        busy = {row["lane"] for row in self.rows.values() if row["state"] == "firing" and row["lane"]}
        picked: list[tuple[int, int, str]] = []
        lanes: set[str] = set()
        for name, row in sorted(self.rows.items(), key=lambda item: (item[1]["at"], item[1]["seq"])):
            if row["state"] != "pending" or row["at"] is None:
                continue
            if row["lane"]:
                if row["lane"] in busy or row["lane"] in lanes:
                    continue
                lanes.add(row["lane"])
            armed = max(row["at"], row["not_before"])
            if armed <= now:
                picked.append((armed, row["seq"], name))
        return [name for _, _, name in sorted(picked)[:limit]]


@pytest.mark.parametrize("seed", range(12))
async def test_random_histories_agree_with_the_lane_rule(world: World, seed: int) -> None:
    await world.store.write(_history, world.store, seed, 160)


def _history(tx: Any, store: Any, seed: int, steps: int, *, now: int) -> None:
    pick = random.Random(seed)
    model = Model()
    for step in range(steps):
        now += pick.randrange(3)
        match pick.choice(
            ("insert", "insert", "insert", "event", "claim", "finish", "cancel", "retry", "bury")
        ):
            case "insert":
                name, lane, at = f"w{step}", pick.choice((None, "a", "b", "c")), now + pick.randrange(-9, 9)
                _insert(tx, store, name, lane, at, now)
                model.rows[name] = {"lane": lane, "at": at, "state": "pending", "seq": step, "not_before": 0}
            case "event":
                name, lane = f"w{step}", pick.choice((None, "a", "b"))
                _insert(tx, store, name, lane, None, now, event=name)
                store.queue.accept_event(tx, "w", name, "null", step, now, judge=True)
                model.rows[name] = {"lane": lane, "at": now, "state": "pending", "seq": step, "not_before": 0}
            case "claim":
                limit = pick.choice((1, 2, 100))
                expected = model.heads(now, limit)
                claims = store.queue.claim(tx, {"k"}, "r", now + HOUR, limit, by_time=True, now=now)
                assert sorted(wake.id for wake in claims.taken) == sorted(expected), (seed, step)
                assert [wake.id for wake in claims.taken] == sorted(
                    expected, key=lambda name: (model.rows[name]["at"], model.rows[name]["seq"])
                )
                for name in expected:
                    model.rows[name]["state"] = "firing"
            case ("finish" | "retry" | "bury") as end:
                firing = [name for name, row in model.rows.items() if row["state"] == "firing"]
                if firing:
                    name = pick.choice(firing)
                    claim = store.wakes.get(tx, name).claim
                    if end == "finish":
                        assert store.queue.finish(tx, name, claim, now)
                        model.rows[name]["state"] = "fired"
                    elif end == "bury":
                        assert store.queue.bury(tx, name, claim, "no", now)
                        model.rows[name]["state"] = "dead"
                    else:
                        back = now + pick.randrange(6)
                        assert store.queue.retry(tx, name, claim, "no", back)
                        model.rows[name] |= {"state": "pending", "not_before": back}
            case "cancel":
                names = [name for name, row in model.rows.items() if row["state"] == "pending"]
                if names:
                    name = pick.choice(names)
                    if store.queue.cancel(tx, name, now) is not None:
                        model.rows[name]["state"] = "cancelled"


def _insert(
    tx: Any, store: Any, name: str, lane: str | None, at: int | None, now: int, event: str | None = None
) -> None:
    store.wakes.insert(
        tx,
        NewWake(
            id=name,
            workspace="w",
            session=None,
            trigger=Trigger.ON_EVENT if event else Trigger.AT,
            kind="k",
            lane=lane,
            intent="null",
            due_at=at,
            expires_at=None,
            depth=0,
            origin=Origin.CALLER,
            created_by=ADA,
            created_at=now,
            event_key=event,
        ),
    )
