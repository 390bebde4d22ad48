"""Real kills at each boundary: a step is there whole or not at all, and a retry carries on without doubling."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.clock import ManualClock
from engine.wakes import OutcomeUnknown, ResolveResult, WakeState
from tests.conformance.dying import TOKEN, Log, W, make
from tests.conformance.stores import STORES
from tests.conformance.world import ADA, HOUR, World
from tests.stored_journal import verify_stored_journal

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.crash


def die(folder: Path, scenario: str, point: str, number: int = 1) -> None:
    """Run a scenario in a process of its own until it has killed itself at a point."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.conformance.dying", str(folder), scenario, point, str(number)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode not in (0, 1), done.stderr
    assert done.stdout.split() == ["armed"], done.stdout + done.stderr


async def carry_on(folder: Path, clock: ManualClock) -> AsyncIterator[World]:
    """Open the folder that a killed process left, a second later."""
    clock.advance(1_000)
    async with STORES["sqlite"](folder, clock) as store:
        world = World(store, clock)
        yield world
        report = await verify_stored_journal(store.storage)  # type: ignore[attr-defined]
        assert report.sound, report.problems


async def effects(world: World) -> list[str]:
    """How often each in-transaction effect happened."""
    return await world.store.read(
        lambda rx: [row["value"] for row in rx.all("SELECT value FROM meta WHERE key LIKE 'effect %'")]
    )


@pytest.mark.parametrize("point", ["wake.create", "before_commit", "after_commit"])
async def test_creating(new_folder: Path, clock: ManualClock, point: str) -> None:
    die(new_folder, "create", point)
    async for world in carry_on(new_folder, clock):
        alarm = make(world, new_folder)
        assert await world.count() == int(point == "after_commit")
        clock.step_wall(-1_000)
        again = await alarm.schedule(**W, at=world.clock.now(), key="k")
        assert again.repeat == (point == "after_commit")
        assert await world.count() == 1


@pytest.mark.parametrize(
    ("point", "number", "runs"),
    [
        ("wake.claim", 2, 1),
        ("before_commit", 2, 1),
        ("after_commit", 2, 1),
        ("wake.fire", 1, 2),
        ("before_commit", 3, 2),
        ("after_commit", 3, 1),
    ],
)
async def test_firing_an_external_sink(
    new_folder: Path, clock: ManualClock, point: str, number: int, runs: int
) -> None:
    # The first round compares the clocks, the second claims, then the sink runs and its end is recorded.
    die(new_folder, "fire", point, number)
    async for world in carry_on(new_folder, clock):
        alarm = make(world, new_folder)
        await alarm.recover()
        await alarm.run_due()
        (wake,) = await alarm.list_wakes("w")
        assert wake.state is WakeState.FIRED
        assert len(Log(new_folder).lines()) == runs
        assert (await alarm.run_due()).claimed == 0


@pytest.mark.parametrize(
    ("point", "number"),
    [
        ("wake.claim", 2),
        ("after_commit", 2),
        ("wake.effect", 1),
        ("wake.fire", 1),
        ("before_commit", 3),
        ("after_commit", 3),
    ],
)
async def test_an_in_transaction_effect_happens_exactly_once(
    new_folder: Path, clock: ManualClock, point: str, number: int
) -> None:
    die(new_folder, "effect", point, number)
    async for world in carry_on(new_folder, clock):
        alarm = make(world, new_folder)
        done = point == "after_commit" and number == 3
        assert await effects(world) == (["1"] if done else [])
        await alarm.recover()
        await alarm.run_due()
        assert await effects(world) == ["1"]
        (wake,) = await alarm.list_wakes("w")
        assert wake.state is WakeState.FIRED


@pytest.mark.parametrize(
    ("point", "number"),
    [("wake.claim", 2), ("after_commit", 2), ("wake.effect", 1), ("before_commit", 3), ("after_commit", 3)],
)
async def test_s19_a_series_neither_dies_nor_books_twice(
    new_folder: Path, clock: ManualClock, point: str, number: int
) -> None:
    die(new_folder, "series", point, number)
    clock.advance(HOUR)
    async for world in carry_on(new_folder, clock):
        alarm = make(world, new_folder)
        await alarm.recover()
        await alarm.run_due()
        assert await effects(world) == ["1"]
        wakes = await alarm.list_wakes("w")
        assert [wake.state for wake in wakes] == [WakeState.FIRED, WakeState.PENDING]
        first, second = (wake.due_at for wake in wakes)
        assert first is not None
        assert second == first + HOUR


@pytest.mark.parametrize(
    ("point", "number"), [("wake.deliver", 1), ("before_commit", 1), ("after_commit", 1), ("after_commit", 3)]
)
async def test_delivering_an_event(new_folder: Path, clock: ManualClock, point: str, number: int) -> None:
    die(new_folder, "deliver", point, number)
    async for world in carry_on(new_folder, clock):
        alarm = make(world, new_folder)
        delivery = await alarm.deliver_event("w", "e", {"n": 1}, delivery_id="d")
        assert (delivery.accepted, delivery.repeat) == (3, point == "after_commit")
        await alarm.recover()
        await alarm.run_due()
        assert {wake.state for wake in await alarm.list_wakes("w")} == {WakeState.FIRED}
        payloads = {line.split(" ", 2)[2] for line in Log(new_folder).lines()}
        assert payloads == {"{'n': 1}"}


@pytest.mark.parametrize(
    ("point", "number"), [("wake.resolve", 1), ("before_commit", 1), ("after_commit", 1), ("after_commit", 3)]
)
async def test_an_answer_survives_with_its_content(
    new_folder: Path, clock: ManualClock, point: str, number: int
) -> None:
    die(new_folder, "resolve", point, number)
    async for world in carry_on(new_folder, clock):
        alarm = make(world, new_folder)
        again = await alarm.resolve(TOKEN, "no", ADA)
        kept = point == "after_commit"
        assert again.result is (ResolveResult.ALREADY_RESOLVED if kept else ResolveResult.OK)
        await alarm.recover()
        await alarm.run_due()
        (line,) = {line.split(" ", 2)[2] for line in Log(new_folder).lines()}
        assert line == ("'yes'" if kept else "'no'")


@pytest.mark.parametrize("point", ["wake.cancel", "before_commit", "after_commit"])
async def test_cancelling_an_occurrence_books_its_successor_or_nothing(
    new_folder: Path, clock: ManualClock, point: str
) -> None:
    die(new_folder, "cancel", point)
    async for world in carry_on(new_folder, clock):
        states = [wake.state for wake in await make(world, new_folder).list_wakes("w")]
        if point == "after_commit":
            assert states == [WakeState.CANCELLED, WakeState.PENDING]
        else:
            assert states == [WakeState.PENDING]


@pytest.mark.parametrize("point", ["wake.call_off", "after_commit"])
async def test_an_occurrence_is_called_off_with_its_successor_or_not_at_all(
    new_folder: Path, clock: ManualClock, point: str
) -> None:
    # The first round compares the clocks, the second claims, then the sink says that it is not wanted.
    die(new_folder, "call_off", point, 1 if point == "wake.call_off" else 3)
    async for world in carry_on(new_folder, clock):
        states = [wake.state for wake in await make(world, new_folder).list_wakes("w")]
        if point == "after_commit":
            assert states == [WakeState.CANCELLED, WakeState.PENDING]
        else:
            assert states == [WakeState.FIRING]


@pytest.mark.parametrize(("scenario", "point"), [("fail", "wake.fail"), ("release", "wake.released")])
async def test_dying_and_releasing(new_folder: Path, clock: ManualClock, scenario: str, point: str) -> None:
    die(new_folder, scenario, point)
    async for world in carry_on(new_folder, clock):
        (wake,) = await make(world, new_folder).list_wakes("w")
        assert wake.state is (WakeState.FIRING if scenario == "fail" else WakeState.DEAD)


@pytest.mark.parametrize(
    ("point", "number", "runs"),
    [("receipt.claim", 1, 0), ("after_commit", 1, 0), ("receipt.settle", 1, 1), ("after_commit", 2, 1)],
)
async def test_s17_an_at_most_once_effect_never_runs_twice(
    new_folder: Path, clock: ManualClock, point: str, number: int, runs: int
) -> None:
    die(new_folder, "once", point, number)
    log = new_folder.parent / "once.log"
    assert (log.exists(), runs) in ((False, 0), (True, 1))
    async for world in carry_on(new_folder, clock):
        alarm = make(world, new_folder)
        await alarm.recover()

        async def again() -> int:
            nonlocal runs
            runs += 1
            return 8

        if (point, number) == ("receipt.claim", 1):
            assert await alarm.once("s", "k", again, workspace="w", policy="at_most_once") == 8
        elif (point, number) == ("after_commit", 2):
            assert await alarm.once("s", "k", again, workspace="w", policy="at_most_once") == 7
        else:
            with pytest.raises(OutcomeUnknown):
                await alarm.once("s", "k", again, workspace="w", policy="at_most_once")
        assert runs <= 1
