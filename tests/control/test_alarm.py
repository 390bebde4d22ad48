"""The engine's alarm clock: owned by the engine, under its epoch, its policy, its clock and its holds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from engine.actors import Actor, ActorKind
from engine.clock import ManualClock
from engine.control.holds import WHOLE_ENGINE, place_hold
from engine.engine import Engine
from engine.errors import StaleEpoch, StorageClosed, Unauthorized
from engine.states import HoldKind
from engine.storage import Tx, take_epoch
from engine.storage.owner_lock import Owner
from engine.wakes import CancelResult, Wake, WakeState, external

SECOND, HOUR = 1_000, 3_600_000


@asynccontextmanager
async def opened(folder: Path, clock: ManualClock | None, **options: object) -> AsyncIterator[Engine]:
    engine = await Engine.open(folder, clock=clock, **options)  # type: ignore[arg-type]
    try:
        yield engine
    finally:
        await engine.close()


def rings(engine: Engine) -> list[str]:
    """Register a sink of kind ``bell`` and give the list that it fills with the ids it ran for."""
    rung: list[str] = []

    async def ring(wake: Wake) -> None:
        rung.append(wake.id)

    engine.wakes.register("bell", external(ring))
    return rung


async def test_an_automatic_engine_fires_by_itself_and_promptly(folder: Path, actor: Actor) -> None:
    async with opened(folder, None) as engine:
        rung = asyncio.Event()

        async def ring(wake: Wake) -> None:
            rung.set()

        engine.wakes.register("bell", external(ring))
        await engine.wakes.schedule(workspace="w", actor=actor, kind="bell", in_="20ms")
        await asyncio.wait_for(rung.wait(), 10)


async def test_otherwise_one_bounded_pass_fires_what_is_due_and_a_command_fires_nothing(
    folder: Path, clock: ManualClock, actor: Actor
) -> None:
    async with opened(folder, clock, automatic=False) as engine:
        rung = rings(engine)
        booked = await engine.wakes.schedule(workspace="w", actor=actor, kind="bell", in_="1s")
        await engine.reconcile_once()
        clock.advance(SECOND)
        await engine.reconcile_once(fire=False)
        assert rung == []
        await engine.reconcile_once()
        assert rung == [booked.id]


async def test_e20_a_superseded_engine_fires_nothing_and_says_so(
    folder: Path, clock: ManualClock, actor: Actor
) -> None:
    def take(tx: Tx, *, now: int) -> int:
        return take_epoch(tx, Owner(4242, "another console", "here", now), now)

    async with opened(folder, clock, automatic=False) as engine:
        rung = rings(engine)
        booked = await engine.wakes.schedule(workspace="w", actor=actor, kind="bell", in_="1s")
        clock.advance(SECOND)
        await engine._storage.write(take)
        with pytest.raises(StaleEpoch):
            await engine.wakes.run_due()
        with pytest.raises(StaleEpoch):
            await engine.wakes.cancel(booked.id, actor)
        assert (rung, (await engine.status()).superseded) == ([], True)
        # One that repeats its passes ends without a word in the log.
        await engine.wakes.start()
        await engine.wakes.stop()
    async with opened(folder, clock, automatic=False) as engine:
        rung = rings(engine)
        await engine.reconcile_once()
        assert rung == [booked.id]


async def test_e32_by_a_distrusted_clock_only_events_fire(
    folder: Path, clock: ManualClock, actor: Actor
) -> None:
    async with opened(folder, clock, automatic=False) as engine:
        rung = rings(engine)
        await engine.wakes.schedule(workspace="w", actor=actor, kind="bell", in_="1s")
        watch = await engine.wakes.watch(workspace="w", actor=actor, kind="bell", event_key="ci")
        clock.step_wall(HOUR)
        await engine.wakes.deliver_event("w", "ci")
        await engine.reconcile_once()
        assert rung == [watch.id]


async def test_e85_after_a_restore_nothing_fires_until_a_person_has_looked(
    folder: Path, clock: ManualClock, actor: Actor
) -> None:
    """Neither by time nor by an event, and no deadline passes meanwhile that nobody could meet."""

    def restored(tx: Tx, *, now: int) -> None:
        place_hold(tx, WHOLE_ENGINE, HoldKind.RESTORE, "restored from a copy", actor, now=now)

    async with opened(folder, clock, automatic=False) as engine:
        rung = rings(engine)
        timed = await engine.wakes.schedule(workspace="w", actor=actor, kind="bell", in_="1s")
        watch = await engine.wakes.watch(workspace="w", actor=actor, kind="bell", event_key="ci")
        short = await engine.wakes.watch(
            workspace="w", actor=actor, kind="bell", event_key="never", expires_in="1s"
        )
        await engine._write(restored)
        clock.advance(HOUR)
        await engine.wakes.deliver_event("w", "ci")
        for _ in range(3):
            await engine.reconcile_once()
        assert rung == []
        waiting = await engine.wakes.get(short.id)
        assert waiting is not None
        assert (waiting.state, waiting.expired) == (WakeState.PENDING, False)
        await engine.acknowledge_restore(actor, "looked")
        await engine.reconcile_once()
        assert sorted(rung) == sorted((timed.id, watch.id, short.id))


async def test_a_person_may_everything_and_a_session_only_what_is_its_own(
    folder: Path, clock: ManualClock, actor: Actor, agent: Actor
) -> None:
    async with opened(folder, clock, automatic=False) as engine:
        mine = await engine.wakes.schedule(workspace="w", session="s", actor=agent, in_="1h")
        theirs = await engine.wakes.schedule(workspace="w", session="t", actor=agent, in_="1h")
        series = await engine.wakes.schedule(workspace="w", actor=actor, every="1h")
        assert series.series is not None
        for one in (agent, Actor(ActorKind.SCRIPT, "nightly"), Actor(ActorKind.ENGINE, "engine")):
            refused = await engine.wakes.cancel(theirs.id, one, workspace="w", session="s")
            assert refused is CancelResult.UNAUTHORIZED
            with pytest.raises(Unauthorized):
                await engine.wakes.pause_series(series.series, one)
        assert await engine.wakes.cancel(mine.id, agent, workspace="w", session="s") is CancelResult.OK
        assert await engine.wakes.cancel(theirs.id, actor) is CancelResult.OK


async def test_what_was_driven_when_the_engine_was_killed_is_taken_back_at_once(
    folder: Path, clock: ManualClock, actor: Actor
) -> None:
    """The next engine runs under the same name, so it need not wait for the lease to lapse."""
    engine = await Engine.open(folder, clock=clock, automatic=False)
    started, never = asyncio.Event(), asyncio.Event()

    async def park(wake: Wake) -> None:
        started.set()
        await never.wait()

    engine.wakes.register("bell", external(park))
    booked = await engine.wakes.schedule(workspace="w", actor=actor, kind="bell", in_="1s")
    clock.advance(SECOND)
    firing = asyncio.create_task(engine.wakes.run_due())
    await started.wait()
    # As after a kill: the storage is gone before anything of the drive can be recorded.
    await engine._storage.close()
    never.set()
    with pytest.raises(StorageClosed):
        await firing
    await engine.close()
    async with opened(folder, clock, automatic=False) as engine:
        rung = rings(engine)
        await engine.reconcile_once()
        assert rung == [booked.id]
