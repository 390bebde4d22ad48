"""Receipts: one effect, one recorded result; what nobody can know is a matter of policy."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.errors import InvalidValue, NotFound, Unauthorized, WrongState
from engine.wakes import EffectDidNotHappen, Happened, OutcomeUnknown, Policy, ReceiptState, WaitOver
from tests.conformance.world import ADA, BOB, DAY, SECOND, World, eventually

LEASE = 30 * SECOND


class Effect:
    """An effect that counts its runs and can park or raise."""

    def __init__(self, *errors: BaseException) -> None:
        self.runs = 0
        self.errors = list(errors)
        self.open = asyncio.Event()
        self.open.set()

    async def __call__(self) -> Any:
        self.runs += 1
        number = self.runs
        await self.open.wait()
        if self.errors:
            raise self.errors.pop(0)
        return {"run": number}


def park(effect: Effect) -> Effect:
    effect.open.clear()
    return effect


async def test_the_recorded_result_is_given_ever_after(world: World) -> None:
    effect = Effect()
    for alarm in (world.make("a"), world.make("b")):
        assert await alarm.once("s", "k", effect, workspace="w") == {"run": 1}
    assert effect.runs == 1
    assert await world.make("c").once("s", "other", effect, workspace="w") == {"run": 2}


async def test_concurrent_callers_wait_for_the_same_result(world: World) -> None:
    alarm, effect = world.make(), park(Effect())
    calls = [asyncio.create_task(alarm.once("s", "k", effect, workspace="w")) for _ in range(5)]
    await eventually(lambda: effect.runs)
    await world.settle()
    effect.open.set()
    assert await asyncio.gather(*calls) == [{"run": 1}] * 5


async def test_s44_keys_are_tuples_that_cannot_meet(world: World) -> None:
    alarm, effect = world.make(), Effect()
    for workspace, session, key in (
        ("w", "a::b", "c"),
        ("w", "a", "b::c"),
        ("v", "a", "b::c"),
        ("w", "a:", "b"),
        ("w", "a", ":b"),
    ):
        await alarm.once(session, key, effect, workspace=workspace)
    assert effect.runs == 5


async def test_s52_an_error_frees_the_key_at_once(world: World) -> None:
    alarm, effect = world.make(), Effect(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        await alarm.once("s", "k", effect, workspace="w")
    assert await alarm.once("s", "k", effect, workspace="w") == {"run": 2}


async def test_s52_waiting_has_a_limit_by_the_same_clock_and_can_be_cancelled(world: World) -> None:
    alarm, effect = world.make(), park(Effect())
    holder = asyncio.create_task(alarm.once("s", "k", effect, workspace="w"))
    await eventually(lambda: effect.runs)
    waiting = asyncio.create_task(alarm.once("s", "k", effect, workspace="w", wait_limit="2s"))
    other = asyncio.create_task(alarm.once("s", "k", effect, workspace="w"))
    await world.advance(1_999, step=250)
    assert not waiting.done()
    await world.advance(500, step=250)
    with pytest.raises(WaitOver):
        await waiting
    other.cancel()
    with pytest.raises(asyncio.CancelledError):
        await other
    effect.open.set()
    assert await holder == {"run": 1}


async def test_s17_at_least_once_renews_while_its_process_lives(world: World) -> None:
    a, b, effect = world.make("a"), world.make("b"), park(Effect())
    first = asyncio.create_task(a.once("s", "k", effect, workspace="w"))
    await eventually(lambda: effect.runs)
    second = asyncio.create_task(b.once("s", "k", effect, workspace="w"))
    await world.advance(3 * LEASE, step=250)
    assert effect.runs == 1
    effect.open.set()
    await world.advance(SECOND, step=250)
    assert await asyncio.gather(first, second) == [{"run": 1}] * 2


async def abandon(world: World, policy: Policy = Policy.AT_LEAST_ONCE) -> Effect:
    """Leave a receipt running as a killed process would."""
    effect = Effect()
    store = world.store

    def claim(tx: Any, *, now: int) -> None:
        store.receipts.claim(tx, "w", "s", "k", "dead", now + LEASE, now)

    await store.write(claim)
    return effect


async def test_s17_at_least_once_runs_again_after_a_lapse(world: World) -> None:
    effect = await abandon(world)
    alarm = world.make()
    waiting = asyncio.create_task(alarm.once("s", "k", effect, workspace="w"))
    await world.advance(LEASE - 250, step=250)
    assert not waiting.done()
    await world.advance(500, step=250)
    assert await waiting == {"run": 1}


async def test_s17_at_most_once_is_unknown_after_a_lapse_until_a_person_decides(world: World) -> None:
    effect = await abandon(world)
    alarm = world.make()
    world.clock.advance(LEASE)
    for policy in ("at_most_once", "at_most_once", "at_least_once"):
        with pytest.raises(OutcomeUnknown):
            await alarm.once("s", "k", effect, workspace="w", policy=policy)
    assert effect.runs == 0
    (receipt,) = await alarm.unknown_receipts("w")
    assert (receipt.session, receipt.key, receipt.state) == ("s", "k", ReceiptState.UNKNOWN)
    with pytest.raises(Unauthorized):
        await alarm.settle_receipt("w", "s", "k", BOB, "looked", happened=True)
    with pytest.raises(InvalidValue, match="reason"):
        await alarm.settle_receipt("w", "s", "k", ADA, "", happened=True)
    with pytest.raises(NotFound):
        await alarm.settle_receipt("w", "s", "other", ADA, "looked", happened=True)
    await alarm.settle_receipt("w", "s", "k", ADA, "I see it there", happened=True, result=7)
    assert await alarm.once("s", "k", effect, workspace="w", policy="at_most_once") == 7
    with pytest.raises(WrongState):
        await alarm.settle_receipt("w", "s", "k", ADA, "again", happened=False)
    assert effect.runs == 0


async def test_an_effect_that_did_not_happen_may_run_again(world: World) -> None:
    effect = await abandon(world)
    alarm = world.make()
    world.clock.advance(LEASE)
    with pytest.raises(OutcomeUnknown):
        await alarm.once("s", "k", effect, workspace="w", policy="at_most_once")
    await alarm.settle_receipt("w", "s", "k", ADA, "it is not there", happened=False)
    assert await alarm.once("s", "k", effect, workspace="w", policy="at_most_once") == {"run": 1}


@pytest.mark.parametrize(
    ("found", "outcome"),
    [(Happened(9), 9), (False, {"run": 1}), (None, OutcomeUnknown), (True, OutcomeUnknown)],
)
async def test_a_check_can_find_out_what_happened(world: World, found: Any, outcome: Any) -> None:
    effect = await abandon(world)
    alarm = world.make()
    world.clock.advance(LEASE)

    async def check() -> Any:
        return found

    call = alarm.once("s", "k", effect, workspace="w", policy="at_most_once", check=check)
    if outcome is OutcomeUnknown:
        with pytest.raises(OutcomeUnknown):
            await call
    else:
        assert await call == outcome
        assert await alarm.once("s", "k", effect, workspace="w") == outcome


async def test_a_check_is_not_asked_about_a_first_run(world: World) -> None:
    async def check() -> Any:
        raise AssertionError

    assert await world.make().once("s", "k", Effect(), workspace="w", policy="at_most_once", check=check)


async def test_at_most_once_an_error_is_unknown_unless_the_effect_provably_did_not_happen(
    world: World,
) -> None:
    alarm = world.make()
    provably = Effect(EffectDidNotHappen("refused"))
    with pytest.raises(EffectDidNotHappen):
        await alarm.once("s", "a", provably, workspace="w", policy="at_most_once")
    assert await alarm.once("s", "a", provably, workspace="w", policy="at_most_once") == {"run": 2}
    vaguely = Effect(TimeoutError("no answer"))
    with pytest.raises(OutcomeUnknown) as unknown:
        await alarm.once("s", "b", vaguely, workspace="w", policy="at_most_once")
    assert isinstance(unknown.value.__cause__, TimeoutError)
    with pytest.raises(OutcomeUnknown):
        await alarm.once("s", "b", vaguely, workspace="w", policy="at_most_once")
    assert vaguely.runs == 1


@pytest.mark.parametrize("policy", list(Policy))
async def test_cancelling_the_caller_while_the_effect_runs(world: World, policy: Policy) -> None:
    alarm, effect = world.make(), park(Effect())
    call = asyncio.create_task(alarm.once("s", "k", effect, workspace="w", policy=policy))
    await eventually(lambda: effect.runs)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    effect.open.set()
    if policy is Policy.AT_LEAST_ONCE:
        assert await alarm.once("s", "k", effect, workspace="w") == {"run": 2}
    else:
        with pytest.raises(OutcomeUnknown):
            await alarm.once("s", "k", effect, workspace="w", policy=policy)


async def test_a_claimer_that_lost_its_claim_writes_nothing_and_gives_the_recorded_result(
    world: World,
) -> None:
    a, effect = world.make("a"), park(Effect())
    store = world.store
    call = asyncio.create_task(a.once("s", "k", effect, workspace="w"))
    await eventually(lambda: effect.runs)

    def take_over(tx: Any, *, now: int) -> None:
        receipt = store.receipts.claim(tx, "w", "s", "k", "b", now + LEASE, now)
        assert receipt.claim == 2
        assert store.receipts.settle(tx, "w", "s", "k", 2, ReceiptState.DONE, '"the other\'s"', now)

    await store.write(take_over)
    effect.open.set()
    assert await call == "the other's"
    assert await a.once("s", "k", effect, workspace="w") == "the other's"


async def test_a_recorded_result_is_never_taken_or_overwritten(world: World) -> None:
    alarm, store = world.make(), world.store
    await alarm.once("s", "k", Effect(), workspace="w")

    def claim(tx: Any, *, now: int) -> None:
        store.receipts.claim(tx, "w", "s", "k", "thief", now + LEASE, now)

    def settle(tx: Any, *, now: int) -> bool:
        return store.receipts.settle(tx, "w", "s", "k", 1, ReceiptState.DONE, '"other"', now)

    with pytest.raises(LookupError):
        await store.write(claim)
    assert await store.write(settle) is False
    assert await alarm.once("s", "k", Effect(), workspace="w") == {"run": 1}


async def test_a_restarted_holder_does_not_wait_for_its_own_lease(world: World) -> None:
    store = world.store

    def claim(tx: Any, *, now: int) -> None:
        store.receipts.claim(tx, "w", "s", "k", "me", now + LEASE, now)

    await store.write(claim)
    alarm, effect = world.make("me"), Effect()
    await alarm.recover()
    assert await alarm.once("s", "k", effect, workspace="w") == {"run": 1}


async def test_a_result_that_is_not_json_is_told_and_the_effect_does_not_run_again(world: World) -> None:
    alarm = world.make()
    runs = []

    async def effect() -> object:
        runs.append(1)
        return object()

    with pytest.raises(InvalidValue, match="not JSON"):
        await alarm.once("s", "k", effect, workspace="w")
    assert await alarm.once("s", "k", effect, workspace="w") is None
    assert len(runs) == 1
    with pytest.raises(InvalidValue, match="policy"):
        await alarm.once("s", "k", effect, workspace="w", policy="perhaps")


async def test_s49_receipts_have_a_retention_of_their_own_and_running_ones_stay(world: World) -> None:
    await abandon(world)
    alarm, effect = world.make(), Effect()
    await alarm.once("s", "old", effect, workspace="w")
    world.clock.advance(30 * DAY)
    await alarm.once("s", "new", effect, workspace="w")
    world.clock.advance(1)
    assert (await alarm.clean_up()).receipts == 1
    assert await alarm.once("s", "new", effect, workspace="w") == {"run": 2}
    assert await alarm.once("s", "old", effect, workspace="w") == {"run": 3}
    assert await world.count("SELECT count(*) FROM wake_receipt WHERE state = 'running'") == 1
