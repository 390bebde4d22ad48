"""Events and approvals: accepted durably at once, delivered in turn; who may answer and cancel."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from engine.actors import Actor
from engine.errors import InvalidValue
from engine.instants import format_instant
from engine.wakes import About, AlarmClock, CancelResult, ResolveResult, Trigger, WakeRefused, WakeState
from tests.conformance.world import ADA, AGENT, BOB, DAY, HOUR, MINUTE, SECOND, World

W: dict[str, Any] = {"workspace": "w", "actor": ADA}


async def approval(alarm: AlarmClock, **asked: Any) -> tuple[str, str]:
    """Request an approval; gives wake id and token."""
    issued = await alarm.request_approval(**{**W, "expires_in": "1h", **asked})
    assert issued.token is not None
    return issued.booked.id, issued.token


# ----------------------------------------------------------------------------------------------------- events


async def test_an_event_fires_every_watch_of_its_workspace_and_key_and_no_other(world: World) -> None:
    alarm = world.make()
    watched = [await alarm.watch(**W, event_key="k") for _ in range(3)]
    await alarm.watch(**W, event_key="other")
    await alarm.watch(workspace="v", actor=ADA, event_key="k")
    delivery = await alarm.deliver_event("w", "k", {"run": 7})
    assert (delivery.accepted, delivery.watched) == (3, True)
    await alarm.run_due()
    assert world.turn.ids == [one.id for one in watched]
    assert [(wake.result, wake.trigger, wake.expired) for wake in world.turn.entered] == [
        ({"run": 7}, Trigger.ON_EVENT, False)
    ] * 3
    assert (await alarm.deliver_event("w", "k")).accepted == 0, "a watch is one-shot"


async def test_an_event_that_nobody_watches_says_so(world: World) -> None:
    delivery = await world.make().deliver_event("w", "k")
    assert (delivery.accepted, delivery.watched, delivery.retained_until) == (0, False, None)


async def test_s28_delivery_is_accepted_at_once_and_driven_in_isolation(world: World) -> None:
    alarm = world.make()
    watches = [await alarm.watch(**W, event_key="k") for _ in range(3)]
    world.turn.errors = [ValueError("w1")]
    world.turn.parking = True
    began = time.perf_counter()
    delivery = await alarm.deliver_event("w", "k", {"n": 1})
    assert delivery.accepted == 3
    assert time.perf_counter() - began < 1, "it waits for no sink"
    async with world.passing(alarm):
        await world.turn.arrivals(3)
    states = [await world.state(one.id) for one in watches]
    assert sorted(states) == [WakeState.FIRED, WakeState.FIRED, WakeState.PENDING]
    world.clock.advance(MINUTE)
    await alarm.run_due()
    assert world.turn.entered[3].result == {"n": 1}, "the retry has the same payload"


async def test_s26_an_event_can_be_kept_for_who_watches_late(world: World) -> None:
    alarm = world.make()
    delivery = await alarm.deliver_event("w", "k", {"n": 1}, retain="10m")
    assert delivery.retained_until == world.clock.now() + 10 * MINUTE
    world.clock.advance(10 * MINUTE - 1)
    await alarm.watch(**W, event_key="k", session="s")
    await alarm.watch(**W, event_key="k", session="t")
    await alarm.run_due()
    assert [(wake.result, wake.position) for wake in world.turn.entered] == [
        ({"n": 1}, delivery.position)
    ] * 2
    world.clock.advance(1)
    late = await alarm.watch(**W, event_key="k", session="u")
    await alarm.run_due()
    assert await world.state(late.id) is WakeState.PENDING


async def test_s26_watching_again_does_not_get_the_same_event_again(world: World) -> None:
    alarm = world.make()
    for number in range(3):
        await alarm.deliver_event("w", "k", number, retain="10m")

    async def again(wake: Any) -> None:
        await alarm.watch(**W, event_key="k", session="s")

    world.turn.action = again
    await alarm.watch(**W, event_key="k", session="s")
    for _ in range(5):
        await alarm.run_due()
    assert [wake.result for wake in world.turn.entered] == [0, 1, 2]


async def test_s26_a_watch_can_ask_for_anything_after_a_position(world: World) -> None:
    alarm = world.make()
    positions = [(await alarm.deliver_event("w", "k", number, retain="10m")).position for number in range(3)]
    assert positions == sorted(positions)
    await alarm.watch(**W, event_key="k", after=positions[0])
    await alarm.watch(**W, event_key="k", after=0)
    await alarm.watch(**W, event_key="k", after=positions[2])
    await alarm.run_due()
    assert sorted(wake.result for wake in world.turn.entered) == [0, 1]
    with pytest.raises(InvalidValue):
        await alarm.watch(**W, event_key="k", after=-1)


async def test_s27_a_repeated_delivery_fires_nothing(world: World) -> None:
    alarm = world.make()
    await alarm.watch(**W, event_key="k")

    async def again(wake: Any) -> None:
        await alarm.watch(**W, event_key="k")

    world.turn.action = again
    first = await alarm.deliver_event("w", "k", delivery_id="d1")
    await alarm.run_due()
    repeat = await alarm.deliver_event("w", "k", delivery_id="d1")
    assert (repeat.accepted, repeat.position, repeat.repeat) == (first.accepted, first.position, True)
    await alarm.run_due()
    assert len(world.turn.entered) == 1
    assert not (await alarm.deliver_event("w", "k", delivery_id="d2")).repeat
    assert (await alarm.deliver_event("v", "k", delivery_id="d1")).repeat is False, (
        "ids belong to a workspace"
    )
    await alarm.run_due()
    assert len(world.turn.entered) == 2
    with pytest.raises(WakeRefused):
        await alarm.deliver_event("w", "other", delivery_id="d1")


async def test_an_event_at_the_deadline_is_too_late(world: World) -> None:
    alarm = world.make()
    await alarm.watch(**W, event_key="k", expires_in="1m")
    world.clock.advance(MINUTE)
    assert (await alarm.deliver_event("w", "k")).accepted == 0
    await alarm.run_due()
    assert [wake.expired for wake in world.turn.entered] == [True]


@pytest.mark.parametrize(
    "payload", [float("nan"), object(), {1: 2}, "x" * 300_000], ids=["nan", "object", "key", "large"]
)
async def test_a_payload_that_is_not_json_is_refused(world: World, payload: Any) -> None:
    alarm = world.make()
    watch = await alarm.watch(**W, event_key="k")
    with pytest.raises(InvalidValue):
        await alarm.deliver_event("w", "k", payload)
    with pytest.raises(InvalidValue):
        await alarm.deliver_event("w", "k", retain="0s")
    assert (await world.wake(watch.id)).admitted_at is None


async def test_payloads_come_back_as_they_were(world: World) -> None:
    alarm = world.make()
    payload = {"text": "äß🙂\u2028\ud800", "list": [1, 2.5, None, True, {}], "": ""}
    await alarm.watch(**W, event_key="k", intent=payload)
    await alarm.deliver_event("w", "k", payload)
    await alarm.run_due()
    assert [(wake.intent, wake.result) for wake in world.turn.entered] == [(payload, payload)]


# -------------------------------------------------------------------------------------------------- approvals


async def test_an_answer_is_delivered_once_to_the_sink(world: World) -> None:
    alarm = world.make()
    wake_id, token = await approval(alarm, intent={"prompt": "go?"}, session="s")
    resolution = await alarm.resolve(token, {"yes": True}, ADA)
    assert (resolution.ok, resolution.delivered, resolution.wake_id) == (True, False, wake_id)
    await alarm.run_due()
    (wake,) = world.turn.entered
    assert (wake.result, wake.answered_by, wake.intent) == ({"yes": True}, ADA, {"prompt": "go?"})
    again = await alarm.resolve(token, {"yes": False}, ADA)
    assert (again.result, again.delivered) == (ResolveResult.ALREADY_RESOLVED, True)
    assert (again.answered_by, again.answered_at) == (ADA, resolution.answered_at)


async def test_s33_an_accepted_answer_does_not_look_like_a_failure(world: World) -> None:
    alarm = world.make()
    _, token = await approval(alarm)
    world.turn.errors = [ValueError("no")]
    assert (await alarm.resolve(token, "yes", ADA)).ok
    await alarm.run_due()
    second = await alarm.resolve(token, "no", ADA)
    assert (second.result, second.delivered, second.answered_by) == (
        ResolveResult.ALREADY_RESOLVED,
        False,
        ADA,
    )
    world.clock.advance(DAY)
    await alarm.run_due()
    assert [wake.result for wake in world.turn.left] == ["yes"], "delivered however late"


async def test_the_deadline_is_judged_to_the_millisecond_and_equality_is_too_late(world: World) -> None:
    alarm = world.make()
    _, in_time = await approval(alarm, expires_in="1m")
    _, late = await approval(alarm, expires_in="1m")
    world.clock.advance(MINUTE - 1)
    assert (await alarm.resolve(in_time, "yes", ADA)).ok
    world.clock.advance(1)
    assert (await alarm.resolve(late, "yes", ADA)).result is ResolveResult.TOO_LATE


async def test_s34_cancelled_expired_and_answered_differ_for_who_may_know(world: World) -> None:
    alarm = world.make()
    cancelled, cancelled_token = await approval(alarm)
    _, expired_token = await approval(alarm, expires_in="1m")
    _, fired_token = await approval(alarm)
    _, open_token = await approval(alarm)
    await alarm.cancel(cancelled, ADA)
    await alarm.resolve(fired_token, "yes", ADA)
    world.clock.advance(MINUTE)
    await alarm.run_due()
    tokens = [cancelled_token, expired_token, fired_token, open_token, "unknown"]
    for stranger in (BOB, AGENT):
        answers = {await alarm.resolve(token, "no", stranger) for token in tokens}
        (only,) = answers
        assert (only.result, only.wake_id, only.answered_by) == (ResolveResult.UNAUTHORIZED, None, None)
    results = [(await alarm.resolve(token, "no", ADA)).result for token in tokens]
    assert results == [
        ResolveResult.CANCELLED,
        ResolveResult.TOO_LATE,
        ResolveResult.ALREADY_RESOLVED,
        ResolveResult.OK,
        ResolveResult.NOT_FOUND,
    ], "an unauthorised try left it open to the right person"


async def test_anything_but_true_is_no(world: World) -> None:
    asked: list[tuple[Actor, str, About | None]] = []

    def vague(actor: Actor, right: str, about: About | None) -> Any:
        asked.append((actor, right, about))
        return 1

    alarm = world.make(authorize=vague)
    wake_id, token = await approval(alarm, session="s", kind="turn")
    assert (await alarm.resolve(token, "yes", ADA)).result is ResolveResult.UNAUTHORIZED
    assert await alarm.cancel(wake_id, ADA) is CancelResult.UNAUTHORIZED
    assert asked[0] == (ADA, "resolve", About("w", "s", "turn", Trigger.ON_APPROVAL, ADA))
    assert await world.state(wake_id) is WakeState.PENDING


async def test_s43_only_a_digest_of_the_token_is_stored(world: World) -> None:
    alarm = world.make()
    wake_id, token = await approval(alarm, key="k")
    await alarm.list_wakes("w")
    found = await world.wake(wake_id)
    assert token not in repr(found)
    assert token not in repr(await alarm.list_wakes("w"))
    assert token not in repr(await alarm.history(wake_id))
    rows = await world.store.read(
        lambda rx: (
            repr([tuple(row) for row in rx.all("SELECT * FROM wake")])
            + repr([tuple(row) for row in rx.all("SELECT * FROM journal")])
        )
    )
    assert token not in rows
    repeat = await alarm.request_approval(**W, expires_in="1h", key="k")
    assert (repeat.token, repeat.booked.id, repeat.booked.repeat) == (None, wake_id, True)
    again = await alarm.request_approval(**W, expires_in="1h", key="k", reissue=True)
    assert again.booked.id == wake_id
    assert again.token is not None
    assert (await alarm.resolve(token, "yes", ADA)).result is ResolveResult.NOT_FOUND
    assert (await alarm.resolve(again.token, "yes", ADA)).ok
    late = await alarm.request_approval(**W, expires_in="1h", key="k", reissue=True)
    assert late.token is None, "it was answered; no token opens it again"


async def test_answers_racing_are_decided_once(world: World) -> None:
    alarm = world.make()
    for _ in range(10):
        _, token = await approval(alarm)
        results = await asyncio.gather(*(alarm.resolve(token, number, ADA) for number in range(8)))
        assert sum(one.ok for one in results) == 1
    await alarm.run_due()
    assert len(world.turn.entered) == 10


async def test_a_token_that_is_not_text_is_refused(world: World) -> None:
    with pytest.raises(InvalidValue):
        await world.make().resolve(7, "yes", ADA)  # type: ignore[arg-type]
    odd = await world.make("b").resolve("\ud800", "yes", ADA)
    assert odd.result is ResolveResult.NOT_FOUND


# ------------------------------------------------------------------------------------------------- cancelling


async def test_cancel_is_for_the_owner_session_or_whom_the_policy_accepts(world: World) -> None:
    alarm = world.make()
    booked = await world.book(alarm, in_="1h", session="s")
    assert await alarm.cancel(booked.id, BOB) is CancelResult.UNAUTHORIZED
    assert await alarm.cancel(booked.id, BOB, workspace="v", session="s") is CancelResult.UNAUTHORIZED
    assert await alarm.cancel(booked.id, BOB, workspace="w", session="t") is CancelResult.UNAUTHORIZED
    assert await alarm.cancel("nothing", ADA) is CancelResult.NOT_FOUND
    assert await alarm.cancel(booked.id, BOB, workspace="w", session="s") is CancelResult.OK
    assert await alarm.cancel(booked.id, ADA) is CancelResult.NOT_PENDING
    assert await alarm.cancel(booked.id, BOB) is CancelResult.UNAUTHORIZED, (
        "the right is asked before the state"
    )
    nobodys = await world.book(alarm, in_="1h")
    assert await alarm.cancel(nobodys.id, BOB, workspace="w", session=None) is CancelResult.UNAUTHORIZED


async def test_what_was_accepted_or_fires_cannot_be_cancelled(world: World) -> None:
    alarm = world.make()
    world.turn.parking = True
    firing = await world.book(alarm, lane="L")
    wake_id, token = await approval(alarm, lane="L")
    async with world.passing(alarm):
        await world.turn.arrivals()
        await alarm.resolve(token, "yes", ADA)
        assert await alarm.cancel(firing.id, ADA) is CancelResult.NOT_PENDING
        assert await alarm.cancel(wake_id, ADA) is CancelResult.NOT_PENDING
    await alarm.run_due()
    assert await world.state(wake_id) is WakeState.FIRED


async def test_a_wake_that_waits_for_its_retry_can_be_cancelled(world: World) -> None:
    alarm = world.make()
    world.turn.errors = [ValueError("no")]
    booked = await world.book(alarm)
    await alarm.run_due()
    assert await alarm.cancel(booked.id, ADA, reason="enough") is CancelResult.OK
    world.clock.advance(HOUR)
    await alarm.run_due()
    assert len(world.turn.entered) == 1
    assert (await alarm.history(booked.id))[-1].why == "enough"


async def test_of_racing_answer_expiry_and_cancel_exactly_one_wins(world: World) -> None:
    alarm = world.make()
    for _ in range(20):
        wake_id, token = await approval(alarm, expires_in="1m")
        world.clock.advance(MINUTE - 1)
        before = len(world.turn.entered)
        answer, cancelled = await asyncio.gather(alarm.resolve(token, "yes", ADA), alarm.cancel(wake_id, ADA))
        world.clock.advance(SECOND)
        await alarm.run_due()
        assert answer.ok != (cancelled is CancelResult.OK)
        assert len(world.turn.entered) - before == int(answer.ok)


async def test_the_answers_text_names_the_stored_deadline(world: World) -> None:
    alarm = world.make()
    issued = await alarm.request_approval(**W, expires_in="1h")
    assert issued.booked.expires_at is not None
    assert format_instant(issued.booked.expires_at) == format_instant(world.clock.now() + HOUR)
