"""Firing: when, in which order, how often; leases, failures, dead letters, kinds without a sink."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from engine.clock import ManualClock
from engine.errors import InvalidValue, NotFound, Unauthorized, WrongState
from engine.wakes import (
    NO_LIMIT,
    CalledOff,
    CancelResult,
    NoticeKind,
    ResolveResult,
    Trigger,
    Waiting,
    WakeSettings,
    WakeState,
    external,
    in_transaction,
)
from tests.conformance.world import ADA, BOB, DAY, HOUR, MINUTE, SECOND, Recorder, World, eventually

W: dict[str, Any] = {"workspace": "w", "actor": ADA}
LEASE = 30 * SECOND


def set_meta(tx: Any, wake: Any) -> None:
    """An in-transaction effect that would fail if it happened twice."""
    tx.run("INSERT INTO meta (key, value) VALUES (?, 'once')", (wake.id,))


async def test_never_early_and_at_equality(world: World) -> None:
    alarm = world.make()
    booked = await world.book(alarm, in_="1m")
    world.clock.advance(MINUTE - 1)
    assert (await alarm.run_due()).fired == 0
    assert await world.state(booked.id) is WakeState.PENDING
    world.clock.advance(1)
    assert (await alarm.run_due()).fired == 1
    assert (await alarm.run_due()).fired == 0
    assert await world.state(booked.id) is WakeState.FIRED


async def test_after_downtime_late_and_never_lost(world: World) -> None:
    alarm = world.make()
    booked = await world.book(alarm, in_="1m")
    world.clock.advance(30 * DAY)
    await alarm.run_due()
    assert [wake.late_ms for wake in world.turn.entered] == [30 * DAY - MINUTE]
    assert await world.state(booked.id) is WakeState.FIRED


async def test_a_fired_wake_stays_fired_when_the_clock_goes_back(world: World) -> None:
    alarm = world.make()
    first = await world.book(alarm)
    second = await world.book(alarm, in_="1m")
    await alarm.run_due()
    world.clock.step_wall(-HOUR)
    await alarm.run_due()
    assert await world.state(first.id) is WakeState.FIRED
    world.clock.step_wall(HOUR + MINUTE)
    await alarm.run_due()
    assert world.turn.ids == [first.id, second.id]


async def test_s50_due_order_then_creation_order(world: World) -> None:
    alarm = world.make(settings=WakeSettings(concurrency=1, clean_up_every_ms=None))
    late, middle, early = [await world.book(alarm, in_=f"{seconds}s") for seconds in (30, 20, 10)]
    world.clock.advance(30 * SECOND)
    same = [await world.book(alarm) for _ in range(10)]
    await alarm.run_due()
    assert world.turn.ids == [early.id, middle.id, late.id, *(booked.id for booked in same)]


async def test_s50_the_batch_itself_is_started_in_due_order(world: World) -> None:
    alarm = world.make()
    late, middle, early = [await world.book(alarm, in_=f"{seconds}s") for seconds in (30, 20, 10)]
    world.clock.advance(30 * SECOND)
    await alarm.run_due()
    assert world.turn.ids == [early.id, middle.id, late.id]


async def test_an_in_transaction_sink_takes_effect_with_its_fired_exactly_once(world: World) -> None:
    alarm = world.make(sinks={"meta": in_transaction(set_meta)})
    booked = [await world.book(alarm, kind="meta") for _ in range(20)]
    assert (await alarm.run_due()).fired == 20
    assert await world.count("SELECT count(*) FROM meta WHERE value = 'once'") == 20
    assert {await world.state(one.id) for one in booked} == {WakeState.FIRED}


async def test_an_in_transaction_sink_that_raises_leaves_nothing(world: World) -> None:
    fail = True

    def sink(tx: Any, wake: Any, *, now: int) -> None:
        set_meta(tx, wake)
        assert now == world.clock.now()
        if fail:
            raise ZeroDivisionError("half way")

    alarm = world.make(sinks={"meta": in_transaction(sink)})
    booked = await world.book(alarm, kind="meta")
    assert (await alarm.run_due()).failed == 1
    assert await world.count("SELECT count(*) FROM meta WHERE value = 'once'") == 0
    found = await world.wake(booked.id)
    assert (found.state, found.last_error) == (WakeState.PENDING, "ZeroDivisionError: half way")
    fail = False
    world.clock.advance(MINUTE)
    await alarm.run_due()
    assert await world.count("SELECT count(*) FROM meta WHERE value = 'once'") == 1


async def test_an_in_transaction_sink_may_book_wakes_one_deeper(world: World) -> None:
    alarm = world.make()

    def sink(tx: Any, wake: Any, *, now: int) -> None:
        alarm.create_in(tx, alarm.schedule_request(**W, at=now), now=now)

    alarm.register("parent", in_transaction(sink))
    await world.book(alarm, kind="parent")
    await alarm.run_due()
    assert [wake.depth for wake in world.turn.entered] == [1]


async def test_an_async_function_is_no_in_transaction_sink() -> None:
    async def sink(tx: Any, wake: Any) -> None: ...

    with pytest.raises(InvalidValue, match="plain function"):
        in_transaction(sink)


# --------------------------------------------------------------------------------- failures and dead letters


async def test_s04_a_failing_wake_hurts_nobody_else_and_dies_after_its_attempts(world: World) -> None:
    alarm = world.make()
    bad = Recorder()
    bad.always = ValueError("no")
    alarm.register("bad", external(bad))
    poisoned = await world.book(alarm, kind="bad", lane="L")
    behind = await world.book(alarm, lane="L")
    others = [await world.book(alarm) for _ in range(2)]
    report = await alarm.run_due()
    assert (report.fired, report.failed) == (2, 1)
    assert world.turn.ids == [one.id for one in others]
    found = await world.wake(poisoned.id)
    assert (found.state, found.attempts, found.last_error) == (WakeState.PENDING, 1, "ValueError: no")
    for _ in range(40):
        world.clock.advance(15 * MINUTE)
        await alarm.run_due()
    assert await world.state(poisoned.id) is WakeState.DEAD
    assert len(bad.entered) == 10
    assert world.turn.ids[2:] == [behind.id], "its lane goes on"
    assert [notice.wake_id for notice in world.notices if notice.kind is NoticeKind.DEAD] == [poisoned.id]
    bad.always = None
    with pytest.raises(Unauthorized):
        await alarm.release(poisoned.id, BOB, "mended")
    with pytest.raises(InvalidValue, match="reason"):
        await alarm.release(poisoned.id, ADA, " ")
    released = await alarm.release(poisoned.id, ADA, "mended")
    assert (released.state, released.attempts) == (WakeState.PENDING, 0)
    await alarm.run_due()
    assert len(bad.left) == 1
    assert await world.state(poisoned.id) is WakeState.FIRED
    assert (await alarm.history(poisoned.id))[-3].why == "mended"


async def test_a_dead_wake_can_be_dropped_and_nothing_else_can(world: World) -> None:
    alarm = world.make()
    world.turn.always = ValueError("no")
    alarm.register("session_turn", external(world.turn, max_attempts=1))
    booked = await world.book(alarm)
    with pytest.raises(WrongState):
        await alarm.drop(booked.id, ADA, "why")
    await alarm.run_due()
    assert await world.state(booked.id) is WakeState.DEAD
    assert await alarm.cancel(booked.id, ADA) is CancelResult.NOT_PENDING
    with pytest.raises(Unauthorized):
        await alarm.drop(booked.id, BOB, "why")
    assert (await alarm.drop(booked.id, ADA, "not needed")).state is WakeState.CANCELLED
    with pytest.raises(WrongState):
        await alarm.release(booked.id, ADA, "why")
    with pytest.raises(NotFound):
        await alarm.release("nothing", ADA, "why")


async def test_backoff_doubles_to_its_longest_with_jitter_below(world: World) -> None:
    waits: list[int] = []
    shares = iter([0.0, 0.5, 1.0] + [0.0] * 10)
    alarm = world.make(
        settings=WakeSettings(backoff_ms=1_000, longest_backoff_ms=8_000, clean_up_every_ms=None),
        jitter=lambda: next(shares),
    )
    world.turn.always = ValueError("no")
    booked = await world.book(alarm)
    for _ in range(9):
        await alarm.run_due()
        found = await world.wake(booked.id)
        assert found.not_before is not None
        waits.append(found.not_before - world.clock.now())
        world.clock.advance(waits[-1] - 1)
        assert (await alarm.run_due()).claimed == 0, "not before its time"
        world.clock.advance(1)
    assert waits == [1_000, 1_500, 2_000, 8_000, 8_000, 8_000, 8_000, 8_000, 8_000]


async def test_s25_a_lane_can_be_told_to_stop_at_a_failure(world: World) -> None:
    alarm = world.make()
    world.turn.errors = [ValueError("no")]
    alarm.register("session_turn", external(world.turn, max_attempts=1))
    with pytest.raises(Unauthorized):
        await alarm.set_lane("w", "L", BOB, stop_on_failure=True)
    await alarm.set_lane("w", "L", ADA, stop_on_failure=True)
    dead, second, third = [await world.book(alarm, lane="L") for _ in range(3)]
    elsewhere = await world.book(alarm, lane="L", workspace="v")
    await alarm.run_due()
    assert world.turn.ids == [dead.id, elsewhere.id]
    (row,) = await alarm.lanes("w")
    assert (row.stopped_by, row.waiting, row.stop_on_failure) == (dead.id, 2, True)
    late = await world.book(alarm, lane="L")
    await alarm.run_due()
    assert len(world.turn.entered) == 2
    await alarm.release(dead.id, ADA, "mended")
    await alarm.run_due()
    assert world.turn.ids[2:] == [dead.id, second.id, third.id, late.id]


async def test_s25_stop_can_be_lifted_and_a_drop_lifts_it_too(world: World) -> None:
    alarm = world.make()
    alarm.register("session_turn", external(world.turn, max_attempts=1))
    await alarm.set_lane("w", "L", ADA, stop_on_failure=True)
    for lift in ("drop", "lane"):
        world.turn.errors = [ValueError("no")]
        dead, behind = [await world.book(alarm, lane="L") for _ in range(2)]
        await alarm.run_due()
        assert await world.state(behind.id) is WakeState.PENDING
        if lift == "drop":
            await alarm.drop(dead.id, ADA, "not needed")
        else:
            await alarm.set_lane("w", "L", ADA, stop_on_failure=False)
        await alarm.run_due()
        assert await world.state(behind.id) is WakeState.FIRED


# --------------------------------------------------------------------------------------- kinds without a sink


async def test_s20_an_unknown_kind_is_set_aside_and_stops_nothing(world: World) -> None:
    alarm = world.make()
    gone = await alarm.watch(**W, event_key="k", kind="gone", expires_in="1s")
    unknown = await world.book(alarm, kind="gone", lane="L")
    world.clock.advance(2 * SECOND)
    known = [await world.book(alarm, lane="L" if number == 0 else None) for number in range(10)]
    report = await alarm.run_due()
    assert (report.fired, report.set_aside) == (10, 2)
    assert sorted(world.turn.ids) == sorted(one.id for one in known)
    for one in (gone, unknown):
        found = await world.wake(one.id)
        assert (found.state, found.waiting, found.attempts) == (WakeState.PENDING, Waiting.NO_SINK, 0)
    assert {notice.kind for notice in world.notices} == {NoticeKind.NO_SINK}
    assert "no sink for gone" in world.notices[0].text
    assert (await alarm.run_due()).set_aside == 0
    assert (await alarm.metrics()).gauges.waiting == {"no_sink": 2}
    late = Recorder()
    alarm.register("gone", external(late))
    await alarm.run_due()
    assert sorted((wake.id, wake.expired) for wake in late.entered) == sorted(
        [(gone.id, True), (unknown.id, False)]
    )
    assert await world.state(gone.id) is WakeState.EXPIRED


async def test_many_unknown_kinds_before_a_known_one_do_not_starve_it(world: World) -> None:
    alarm = world.make()
    for number in range(250):
        await world.book(alarm, kind="gone", at=world.clock.now() - 1_000 + number)
    known = await world.book(alarm)
    await alarm.run_due()
    assert world.turn.ids == [known.id]
    assert await world.count("SELECT count(*) FROM wake WHERE waiting = 'no_sink'") == 250


async def test_two_runners_with_different_sinks_share_a_store(world: World) -> None:
    other = Recorder()
    a = world.make("a")
    b = world.make("b", sinks={"other": external(other)})
    for _ in range(5):
        await world.book(a)
        await world.book(a, kind="other")
    for alarm in (a, b, a, b):
        await alarm.run_due()
    assert (len(world.turn.entered), len(other.entered)) == (5, 5)


# ------------------------------------------------------------------------------------ claims of several runners


async def test_s06_racing_runners_never_drive_a_wake_twice(world: World) -> None:
    alarms = [world.make(f"runner {number}") for number in range(4)]
    for number in range(200):
        await world.book(alarms[0], lane=f"lane {number % 7}" if number % 2 else None)
    for _ in range(3):
        await asyncio.gather(*(alarm.run_due() for alarm in alarms))
    doubled = {wake_id: number for wake_id, number in Counter(world.turn.ids).items() if number > 1}
    assert not doubled
    assert len(world.turn.entered) == 200
    assert {wake.attempts for wake in world.turn.entered} == {1}


async def test_s14_only_what_can_be_started_is_claimed(world: World) -> None:
    settings = WakeSettings(concurrency=2, clean_up_every_ms=None)
    a, b = world.make("a", settings=settings), world.make("b", settings=settings)
    world.turn.parking = True
    booked = [await world.book(a) for _ in range(5)]
    async with world.passing(a):
        await world.turn.arrivals(2)
        states = [await world.state(one.id) for one in booked]
        assert states == [WakeState.FIRING] * 2 + [WakeState.PENDING] * 3
        async with world.passing(b):
            await world.turn.arrivals(4)
            await world.advance(LEASE, step=5 * SECOND)
            assert len(world.turn.entered) == 4
    await eventually(lambda: not a.running)
    await a.run_due()
    assert Counter(world.turn.ids).most_common(1)[0][1] == 1
    assert len(world.turn.left) == 5


async def test_s14_a_claim_that_grew_old_before_its_sink_could_start_is_looked_at_again(world: World) -> None:
    a, b = world.make("a"), world.make("b")
    await a.run_due()
    booked = await world.book(a)
    write = world.store.write
    stalled = False

    async def stalling(function: Any, *arguments: Any, **options: Any) -> Any:
        nonlocal stalled
        done = await write(function, *arguments, **options)
        if getattr(function, "__name__", "") == "round" and getattr(done, "taken", ()) and not stalled:
            # The machine stands still for longer than the lease, between the claim and the start of its sink.
            stalled = True
            world.clock.advance(LEASE)
            await b.run_due()
            await b.run_due()
        return done

    world.store.write = stalling  # type: ignore[method-assign]
    await a.run_due()
    await eventually(lambda: [notice.kind for notice in world.notices] == [NoticeKind.LOST])
    assert [(wake.id, wake.claim, wake.holder) for wake in world.turn.entered] == [(booked.id, 2, "b")]


async def test_s15_a_running_sinks_lease_is_renewed(world: World) -> None:
    a = world.make("a", sinks={"session_turn": external(world.turn, time_limit=NO_LIMIT)})
    b = world.make("b")
    world.turn.parking = True
    booked = await world.book(a)
    async with world.passing(a):
        await world.turn.arrivals()
        for _ in range(10):
            await world.advance(LEASE, step=5 * SECOND)
            assert (await b.run_due()).lapsed == 0
        assert len(world.turn.entered) == 1
        assert a.running == (booked.id,)
    assert await world.state(booked.id) is WakeState.FIRED


class Stalling:
    """A store whose writes by one runner can be held, as if its process had stalled."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.open = asyncio.Event()
        self.open.set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def write(self, *arguments: Any, **options: Any) -> Any:
        await self.open.wait()
        return await self._store.write(*arguments, **options)


@pytest.mark.parametrize(
    "error", [None, CalledOff("not wanted"), ValueError("no")], ids=["fires", "calls off", "fails"]
)
async def test_s16_a_runner_that_lost_its_claim_changes_nothing(
    world: World, error: Exception | None
) -> None:
    stalling = Stalling(world.store)
    world.store = stalling  # type: ignore[assignment]
    a = world.make("a")
    world.store = stalling._store
    b = world.make("b")
    world.turn.parking, world.turn.always = True, error
    booked = await world.book(b)
    async with world.passing(a):
        await world.turn.arrivals()
        stalling.open.clear()
        await world.advance(LEASE + 1, step=5 * SECOND)
        second = Recorder()
        second.parking = True
        b.register("session_turn", external(second))
        taking_over = asyncio.create_task(b.run_due())
        await second.arrivals()
        assert (second.entered[0].claim, second.entered[0].attempts) == (2, 2)
        world.turn.release()
        stalling.open.set()
        await eventually(lambda: any(notice.kind is NoticeKind.LOST for notice in world.notices))
        found = await world.wake(booked.id)
        assert (found.state, found.holder, found.claim) == (WakeState.FIRING, "b", 2)
        second.release()
        await taking_over
    found = await world.wake(booked.id)
    assert (found.state, found.attempts) == (WakeState.FIRED, 2)
    assert (await world.events(b, booked.id)).count("lost") == 1
    assert sum(notice.kind is NoticeKind.LOST for notice in world.notices) == 1


async def test_p19_a_late_claim_is_refused_by_its_number_in_exactly_the_state_it_expects(
    world: World,
) -> None:
    alarm = world.make()
    booked = await world.book(alarm)
    store = world.store

    def claim(tx: Any, *, now: int) -> Any:
        (wake,) = store.queue.claim(tx, {"session_turn"}, "x", now + LEASE, 1, by_time=True, now=now).taken
        return wake

    def back(tx: Any, wake: Any, *, now: int) -> Any:
        return store.queue.retry(tx, wake.id, wake.claim, "lapsed", now)

    first = await store.write(claim)
    await store.write(back, first)
    second = await store.write(claim)
    assert (first.claim, second.claim) == (1, 2)

    def stale(tx: Any, *, now: int) -> list[object]:
        queue = store.queue
        return [
            queue.finish(tx, booked.id, first.claim, now),
            queue.retry(tx, booked.id, first.claim, "late", now),
            queue.bury(tx, booked.id, first.claim, "late", now),
            queue.call_off(tx, booked.id, first.claim, now),
            queue.give_back(tx, booked.id, first.claim),
            queue.renew(tx, booked.id, first.claim, now + HOUR),
        ]

    assert await store.write(stale) == [None, None, None, None, None, False]
    assert await world.wake(booked.id) == second


async def test_lease_equality_is_lapsed_and_a_lapse_counts_as_an_attempt(world: World) -> None:
    alarm = world.make()
    booked = await world.book(alarm)
    store = world.store

    def claim(tx: Any, *, now: int) -> None:
        store.queue.claim(tx, {"session_turn"}, "gone", now + LEASE, 1, by_time=True, now=now)

    await store.write(claim)
    world.clock.advance(LEASE - 1)
    assert (await alarm.run_due()).lapsed == 0
    world.clock.advance(1)
    assert (await alarm.run_due()).lapsed == 1
    assert [(wake.attempts, wake.claim) for wake in world.turn.entered] == [(2, 2)]
    assert await world.events(alarm, booked.id) == ["created", "lapsed", "claimed", "fired"]


async def test_a_wake_whose_runner_dies_each_time_is_dead_in_the_end(world: World) -> None:
    alarm = world.make()
    booked = await world.book(alarm)
    store = world.store

    def claim(tx: Any, *, now: int) -> None:
        store.queue.claim(tx, {"session_turn"}, "gone", now + LEASE, 1, by_time=True, now=now)

    def lapse(tx: Any, *, now: int) -> None:
        for wake in store.queue.lapsed(tx, "gone", (), 10, now):
            store.queue.retry(tx, wake.id, wake.claim, "gone", now)

    for _ in range(9):
        await store.write(claim)
        await store.write(lapse)
    await store.write(claim)
    world.clock.advance(LEASE)
    assert (await alarm.run_due()).dead == 1
    assert await world.state(booked.id) is WakeState.DEAD


async def test_s29_a_restarted_runner_takes_back_what_it_held_and_others_wait(world: World) -> None:
    alarm = world.make("me")
    booked = await world.book(alarm)
    store = world.store

    def claim(tx: Any, *, now: int) -> None:
        store.queue.claim(tx, {"session_turn"}, "me", now + LEASE, 1, by_time=True, now=now)

    await store.write(claim)
    world.clock.advance(SECOND)
    other = world.make("other")
    await other.recover()
    assert (await other.run_due()).claimed == 0
    again = world.make("me")
    assert await again.recover() == 1
    assert (await again.run_due()).fired == 1
    assert world.turn.entered[0].id == booked.id


async def test_recovery_leaves_alone_what_runs_in_this_life(world: World) -> None:
    alarm = world.make("me")
    world.turn.parking = True
    await world.book(alarm)
    async with world.passing(alarm):
        await world.turn.arrivals()
        assert await alarm.recover() == 0
    assert len(world.turn.entered) == 1


async def test_s51_a_runner_whose_clock_is_apart_claims_nothing_and_says_so(world: World) -> None:
    a = world.make("a")
    ahead = ManualClock(world.clock.now() + 40 * SECOND)
    b = world.make("b", clock=ahead)
    world.turn.parking = True
    await world.book(a)
    due_later = await world.book(a, in_="40s")
    async with world.passing(a):
        await world.turn.arrivals()
        world.clock.advance(5 * SECOND)
        ahead.advance(5 * SECOND)
        for _ in range(3):
            report = await b.run_due()
            assert (report.claimed, report.lapsed) == (0, 0)
    assert await world.state(due_later.id) is WakeState.PENDING
    assert [notice.kind for notice in world.notices] == [NoticeKind.CLOCK_APART]
    ahead.step_wall(-40 * SECOND)
    world.clock.advance(35 * SECOND)
    ahead.advance(35 * SECOND)
    await b.run_due()
    await b.run_due()
    assert await world.state(due_later.id) is WakeState.FIRED


async def test_a_runner_whose_clock_is_behind_claims_nothing_either(world: World) -> None:
    behind = ManualClock(world.clock.now() - 40 * SECOND)
    b = world.make("b", clock=behind)
    await world.book(b)
    assert (await b.run_due()).claimed == 0
    assert (await b.run_due()).claimed == 0
    assert await b.run_due() == await b.run_due()


# --------------------------------------------------------------------------------------- time limits, hanging


async def test_a_time_limit_ends_a_sink_and_counts_as_a_failure(world: World) -> None:
    alarm = world.make(sinks={"session_turn": external(world.turn, time_limit="20s")})
    world.turn.parking = True
    booked = await world.book(alarm)
    async with world.passing(alarm):
        await world.turn.arrivals()
        await world.advance(19 * SECOND)
        assert alarm.running == (booked.id,)
        await world.advance(2 * SECOND)
        await eventually(lambda: not alarm.running)
    found = await world.wake(booked.id)
    assert found.state is WakeState.PENDING
    assert found.last_error is not None
    assert "longer than 20000 ms" in found.last_error


async def test_a_sink_that_does_not_stop_when_told_keeps_its_lane_and_is_reported(world: World) -> None:
    let_go = asyncio.Event()

    async def stubborn(wake: Any) -> None:
        world.turn.entered.append(wake)
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue

    alarm = world.make(sinks={"session_turn": external(stubborn, time_limit="10s")})
    first = await world.book(alarm, lane="L")
    second = await world.book(alarm, lane="L")
    async with world.passing(alarm):
        await world.turn.arrivals()
        await world.advance(40 * SECOND)
        assert [notice.kind for notice in world.notices] == [NoticeKind.STUCK]
        assert first.id in world.notices[0].text
        assert await world.state(first.id) is WakeState.FIRING, "never two of a lane at once"
        let_go.set()
        await eventually(lambda: not alarm.running)
    await alarm.run_due()
    assert world.turn.ids == [first.id, second.id]
    assert await world.state(first.id) is WakeState.FIRED


async def test_s23_a_hung_sink_stops_neither_other_wakes_nor_a_stop(world: World) -> None:
    hung = Recorder()
    hung.parking = True
    alarm = world.make()
    alarm.register("hung", external(hung))
    stuck = await world.book(alarm, kind="hung")
    for number in range(10):
        await world.book(alarm, in_=f"{6 * (number + 1)}s")
    await alarm.start()
    await hung.arrivals()
    for _ in range(60):
        await world.advance(SECOND)
    await eventually(lambda: len(world.turn.left) == 10)
    stopping = asyncio.create_task(alarm.stop("2s"))
    await world.settle()
    assert not stopping.done()
    await world.advance(2 * SECOND)
    assert [wake.id for wake in await stopping] == [stuck.id]
    found = await world.wake(stuck.id)
    assert (found.state, found.attempts) == (WakeState.PENDING, 0), "given back, and not counted"


async def test_a_stop_waits_for_what_runs(world: World) -> None:
    alarm = world.make()
    world.turn.parking = True
    booked = await world.book(alarm)
    await alarm.start()
    await world.turn.arrivals()
    stopping = asyncio.create_task(alarm.stop())
    await world.settle()
    assert not stopping.done()
    world.turn.release()
    assert await stopping == ()
    assert await world.state(booked.id) is WakeState.FIRED


async def test_concurrency_is_bounded_and_one_slow_sink_delays_nobody(world: World) -> None:
    alarm = world.make(settings=WakeSettings(concurrency=3, clean_up_every_ms=None))
    slow = Recorder()
    slow.parking = True
    alarm.register("slow", external(slow))
    await world.book(alarm, kind="slow", at=world.clock.now() - 1)
    for _ in range(20):
        await world.book(alarm)
    task = asyncio.create_task(alarm.run_due())
    await eventually(lambda: len(world.turn.left) == 20)
    assert world.turn.most_at_once <= 2
    slow.release()
    assert (await task).fired == 21


async def test_a_pass_is_bounded_by_its_limit_and_its_time_slice(world: World) -> None:
    alarm = world.make()
    for _ in range(10):
        await world.book(alarm)
    report = await alarm.run_due(4)
    assert (report.claimed, report.fired) == (4, 4)
    world.turn.parking = True
    task = asyncio.create_task(alarm.run_due())
    await world.turn.arrivals(10)
    await world.advance(SECOND)
    report = await task
    assert (report.claimed, report.fired, report.running) == (6, 0, 6)
    with pytest.raises(InvalidValue):
        await alarm.run_due(0)
    world.turn.release()
    await eventually(lambda: not alarm.running)


async def test_b083_time_slept_counts_towards_no_time_limit(world: World) -> None:
    alarm = world.make(sinks={"session_turn": external(world.turn, time_limit="1m")})
    world.turn.parking = True
    world.clock.suspend(HOUR)
    booked = await world.book(alarm)
    async with world.passing(alarm):
        await world.turn.arrivals()
        await world.advance(30 * SECOND)
        world.clock.suspend(8 * HOUR)
        await world.settle()
        await world.advance(20 * SECOND)
        assert alarm.running == (booked.id,)
        await world.advance(11 * SECOND)
        await eventually(lambda: not alarm.running)
    assert await world.state(booked.id) is WakeState.PENDING
    assert len(world.turn.entered) == 1


async def test_what_a_cancelled_pass_has_claimed_is_driven_all_the_same(world: World) -> None:
    alarm = world.make()
    await alarm.run_due()
    for _ in range(20):
        booked = await world.book(alarm)
        task = asyncio.create_task(alarm.run_due())
        for _ in range(3):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await world.settle()
        await eventually(lambda: not alarm.running)
        assert await world.state(booked.id) in (WakeState.FIRED, WakeState.PENDING)
    await alarm.run_due()
    assert len(world.turn.entered) == 20


async def test_a_stop_ends_a_pass_that_waits_at_its_limit(world: World) -> None:
    alarm = world.make()
    world.turn.parking = True
    await world.book(alarm)
    task = asyncio.create_task(alarm.run_due(1))
    await world.turn.arrivals()
    stopping = asyncio.create_task(alarm.stop())
    assert (await task).running == 1
    world.turn.release()
    await stopping


async def test_s24_a_lane_is_drained_within_a_pass(world: World) -> None:
    alarm = world.make()
    booked = [await world.book(alarm, lane="L") for _ in range(100)]
    assert (await alarm.run_due()).fired == 100
    assert world.turn.ids == [one.id for one in booked]
    assert world.turn.most_at_once == 1


async def test_s54_a_mass_of_overdue_deadlines_does_not_delay_what_is_due(world: World) -> None:
    alarm = world.make(settings=WakeSettings(expiry_batch=100, clean_up_every_ms=None))
    deadline = world.clock.now() + SECOND
    asked = [alarm.watch_request(**W, event_key=f"k {number}", expires_at=deadline) for number in range(400)]
    asked += [alarm.schedule_request(**W, at=world.clock.now(), expires_at=deadline) for _ in range(400)]

    def make(tx: Any, *, now: int) -> None:
        for request in asked:
            alarm.create_in(tx, request, now=now)

    await world.store.write(make)
    world.clock.advance(2 * SECOND)
    due = await world.book(alarm)
    report = await alarm.run_due()
    assert report.expired == 800
    assert world.turn.ids.index(due.id) <= 8 * 16, (
        "while each round admits a hundred, only its slots are taken"
    )
    assert sum(wake.expired for wake in world.turn.entered) == 800


# ------------------------------------------------------------------------------------------ expiry notices


async def test_s22_the_expiry_notice_is_delivered_like_a_fire(world: World) -> None:
    alarm = world.make()
    issued = await alarm.request_approval(**W, expires_in="1m", intent={"ask": 1}, lane="L")
    world.turn.errors = [ValueError("not yet")]
    world.clock.advance(MINUTE)
    await alarm.run_due()
    assert await world.state(issued.booked.id) is WakeState.PENDING
    assert (await alarm.resolve(issued.token or "", "late", ADA)).result is ResolveResult.TOO_LATE
    assert await alarm.cancel(issued.booked.id, ADA) is CancelResult.NOT_PENDING
    world.clock.advance(MINUTE)
    await alarm.run_due()
    assert await world.state(issued.booked.id) is WakeState.EXPIRED
    assert len(world.turn.entered) == 2
    assert len(world.turn.left) == 1


async def test_s40_every_result_tells_its_trigger_intent_time_attempt_and_id(world: World) -> None:
    alarm = world.make()
    issued = await alarm.request_approval(**W, expires_in="1m", intent={"ask": 1}, session="s")
    world.clock.advance(HOUR)
    await alarm.run_due()
    (wake,) = world.turn.entered
    assert (wake.trigger, wake.expired, wake.intent) == (Trigger.ON_APPROVAL, True, {"ask": 1})
    assert (wake.id, wake.attempts, wake.session, wake.result) == (issued.booked.id, 1, "s", None)
    assert wake.due_at == world.clock.now()


async def test_a_deadline_guards_admission_not_delivery(world: World) -> None:
    alarm = world.make()
    world.turn.errors = [ValueError("not yet")]
    booked = await world.book(alarm, expires_in="10s")
    await alarm.run_due()
    world.clock.advance(HOUR)
    await alarm.run_due()
    assert await world.state(booked.id) is WakeState.FIRED
    assert [wake.expired for wake in world.turn.entered] == [False, False]


async def test_an_overdue_timed_wake_expires_instead_of_firing(world: World) -> None:
    alarm = world.make()
    booked = await world.book(alarm, in_="1m", expires_in="2m")
    world.clock.advance(2 * MINUTE)
    report = await alarm.run_due()
    assert (report.fired, report.expired) == (0, 1)
    assert await world.state(booked.id) is WakeState.EXPIRED
    assert [wake.expired for wake in world.turn.entered] == [True]


async def test_a_deadline_behind_a_busy_lane_still_holds(world: World) -> None:
    alarm = world.make()
    world.turn.parking = True
    await world.book(alarm, lane="L")
    behind = await world.book(alarm, lane="L", expires_in="10s")
    async with world.passing(alarm):
        await world.turn.arrivals()
        world.clock.advance(10 * SECOND)
        await alarm.run_due()
        assert (await world.wake(behind.id)).expired
        assert await world.state(behind.id) is WakeState.PENDING
    await alarm.run_due()
    assert await world.state(behind.id) is WakeState.EXPIRED


async def test_of_racing_fire_expire_and_cancel_exactly_one_wins(world: World) -> None:
    alarm = world.make()
    for _ in range(30):
        booked = await world.book(alarm, expires_in="1s", in_=1)
        world.clock.advance(SECOND)
        entered = len(world.turn.entered)
        _, cancelled, _ = await asyncio.gather(alarm.run_due(), alarm.cancel(booked.id, ADA), alarm.run_due())
        state = await world.state(booked.id)
        assert (state is WakeState.CANCELLED) == (cancelled is CancelResult.OK)
        assert (state is WakeState.EXPIRED) == (len(world.turn.entered) == entered + 1)
        assert state in (WakeState.CANCELLED, WakeState.EXPIRED)


@pytest.mark.parametrize("external_sink", [True, False])
async def test_a_sink_calls_off_what_is_wanted_no_more(world: World, external_sink: bool) -> None:
    def not_wanted(tx: Any, wake: Any) -> None:
        set_meta(tx, wake)
        raise CalledOff("the branch is gone")

    world.turn.always = CalledOff("the branch is gone")
    alarm = world.make(
        sinks={"session_turn": external(world.turn) if external_sink else in_transaction(not_wanted)}
    )
    booked = await world.book(alarm, lane="builds")
    behind = await world.book(alarm, lane="builds")
    report = await alarm.run_due()
    assert (report.claimed, report.fired, report.failed) == (2, 0, 0)
    for one in (booked, behind):
        wake = await world.wake(one.id)
        assert (wake.state, wake.lease_until, wake.last_error) == (WakeState.CANCELLED, None, None)
        last = (await alarm.history(one.id))[-1]
        assert (last.event, last.before, last.after) == ("cancelled", "firing", "cancelled")
        assert last.why == "the branch is gone"
        assert not await world.count("SELECT count(*) FROM meta WHERE key = ?", one.id)
    assert (await alarm.metrics()).counters["session_turn", "cancelled"] == 2
    world.clock.advance(DAY)
    assert (await alarm.run_due()).claimed == 0
