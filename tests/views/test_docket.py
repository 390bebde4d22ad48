"""The docket: what came due or lapsed while nothing ran is listed, after a restore before it fires (E-85)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from engine.actors import Actor
from engine.backup.restoring import restore
from engine.clock import ManualClock
from engine.control.downtime import QuietKind
from engine.engine import Engine
from engine.errors import InvalidValue, NotFound, Unauthorized, WrongState
from engine.scheduling.claims import claim_tasks
from engine.scheduling.wakeups import TASK_WAKE_UP
from engine.states import HoldKind, TaskState
from engine.views.schedules import SUBMIT_KIND
from engine.wakes import CatchUp, Wake, external

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000


@asynccontextmanager
async def opened(folder: Path, clock: ManualClock) -> AsyncIterator[Engine]:
    engine = await Engine.open(folder, clock=clock, automatic=False)
    try:
        yield engine
    finally:
        await engine.close()


async def number(engine: Engine) -> int:
    """How many work orders there are."""
    return len(await engine.work_orders())


async def test_nothing_is_in_it_while_the_engine_runs(
    folder: Path, clock: ManualClock, actor: Actor, work_order: Callable[..., Any]
) -> None:
    """What fires in time, what is seen to expire, a restart within a minute, and a command alone are no downtime."""
    async with opened(folder, clock) as engine:
        await engine.submit(work_order(approval_life_ms=2 * MINUTE), actor)
        await engine.schedules.add(work_order(), actor, every="1m")
        for _ in range(6):
            await engine.reconcile_once()
            clock.advance(MINUTE - SECOND)
        await engine.reconcile_once()
        docket = await engine.docket()
        assert (docket.quiet, docket.empty, docket.held_by) == (None, True, None)
    clock.advance(MINUTE - 2 * SECOND)
    async with opened(folder, clock) as engine:
        await engine.reconcile_once()
        assert (await engine.docket()).quiet is None
        last = clock.now()
    clock.advance(HOUR)
    async with opened(folder, clock) as engine:
        await engine.reconcile_once(fire=False)
        assert (await engine.docket()).quiet is None
    clock.advance(HOUR)
    async with opened(folder, clock) as engine:
        await engine.reconcile_once()
        quiet = (await engine.docket()).quiet
        assert quiet is not None
        assert (quiet.kind, quiet.began_at, quiet.ended_at) == (QuietKind.DOWNTIME, last, clock.now())


async def test_after_downtime_it_lists_what_was_missed_and_a_person_decides(
    folder: Path,
    clock: ManualClock,
    actor: Actor,
    agent: Actor,
    workspace: Path,
    work_order: Callable[..., Any],
) -> None:
    """Nine days: missed and to be asked for, fired late, lapsed, expired; and nothing of the kind "ask" starts."""
    begin = clock.now()
    async with opened(folder, clock) as engine:
        asks = await engine.schedules.add(work_order(title="Asks"), actor, every="1d", catch_up=CatchUp.ASK)
        latest = await engine.schedules.add(work_order(title="Latest"), actor, every="2d")
        waits = await engine.submit(work_order(title="Waits", due_at=begin + DAY), actor)
        claimed = await engine.submit(work_order(title="Claimed", approval_life_ms=30 * DAY), actor)
        (card,) = [one for one in await engine.approvals.inbox() if one.work_order_id == claimed.id]
        await engine.approvals.approve(card.approval_id, actor, seal=card.seal)
        await engine.reconcile_once()
        (worker,) = await engine._storage.read(lambda rx: rx.all("SELECT id FROM worker"))
        assert await engine._storage.write(claim_tasks, worker["id"], engine.epoch, 1, MINUTE)
    clock.advance(9 * DAY + HOUR)
    async with opened(folder, clock) as engine:
        orders = await number(engine)
        await engine.reconcile_once()
        docket = await engine.docket()
        assert docket.quiet is not None
        assert (docket.quiet.began_at, docket.quiet.ended_at) == (begin, clock.now())
        (undecided,) = docket.undecided
        assert (undecided.series, undecided.title, undecided.missed) == (asks.id, "Asks", 9)
        assert (undecided.first_missed_at, undecided.last_missed_at) == (begin + DAY, begin + 9 * DAY)
        late = {item.title: item for item in docket.late}
        assert set(late) == {"Waits", "Latest"}
        assert docket.late_count == 2
        assert (late["Waits"].kind, late["Waits"].number) == (TASK_WAKE_UP, waits.number)
        assert (late["Waits"].late_ms, late["Waits"].missed) == (8 * DAY + HOUR, 0)
        assert (late["Latest"].kind, late["Latest"].series) == (SUBMIT_KIND, latest.id)
        assert (late["Latest"].due_at, late["Latest"].missed) == (begin + 8 * DAY, 3)
        assert [(item.what, item.number) for item in docket.lapsed] == [("claim", claimed.number)]
        assert [(item.number, item.expired_at) for item in docket.expired] == [(waits.number, begin + DAY)]
        assert docket.would_fire == ()
        assert await number(engine) == orders + 1
        assert (await engine.status()).undecided == 1

        for wrong, error in ((agent, Unauthorized), (actor, InvalidValue)):
            with pytest.raises(error):
                await engine.decide_missed(undecided.id, CatchUp.ASK, wrong, reason="?")
        with pytest.raises(NotFound):
            await engine.decide_missed("none", CatchUp.ALL, actor, reason="?")
        await engine.decide_missed(undecided.id, CatchUp.LATEST, actor, reason="one will do")
        with pytest.raises(WrongState):
            await engine.decide_missed(undecided.id, CatchUp.ALL, actor, reason="more")
        await engine.reconcile_once()
        assert await number(engine) == orders + 2
        assert (await engine.docket()).undecided == ()


@pytest.mark.parametrize(("choice", "made"), [(CatchUp.ALL, 4), (CatchUp.LATEST, 1), (CatchUp.NONE, 0)])
async def test_each_decision_does_what_it_says(
    folder: Path,
    clock: ManualClock,
    actor: Actor,
    work_order: Callable[..., Any],
    choice: CatchUp,
    made: int,
) -> None:
    async with opened(folder, clock) as engine:
        await engine.schedules.add(work_order(), actor, every="1d", catch_up=CatchUp.ASK)
        await engine.reconcile_once()
    clock.advance(4 * DAY + HOUR)
    async with opened(folder, clock) as engine:
        for _ in range(3):
            await engine.reconcile_once()
        assert await number(engine) == 0
        (undecided,) = (await engine.docket()).undecided
        await engine.decide_missed(undecided.id, choice, actor, reason="decided")
        for _ in range(3):
            await engine.reconcile_once()
        assert await number(engine) == made


async def test_sleep_is_a_quiet_time_too(
    folder: Path, clock: ManualClock, actor: Actor, work_order: Callable[..., Any]
) -> None:
    async with opened(folder, clock) as engine:
        await engine.submit(work_order(due_at=clock.now() + HOUR), actor)
        await engine.reconcile_once()
        begin = clock.now()
        clock.suspend(8 * HOUR)
        await engine.reconcile_once()
        docket = await engine.docket()
        assert docket.quiet is not None
        assert (docket.quiet.kind, docket.quiet.began_at) == (QuietKind.SLEEP, begin)
        assert [item.late_ms for item in docket.late] == [7 * HOUR]


async def test_a_follow_up_is_named_by_its_title(folder: Path, clock: ManualClock, agent: Actor) -> None:
    async with opened(folder, clock) as engine:
        booked = {"message": "Look at the run again", "when": "+1h"}
        await engine.followups.use_tool("schedule_followup", booked, agent, session="main", call_id="1")
        await engine.reconcile_once()
        clock.step_wall(2 * HOUR)
        await engine.reconcile_once()
        docket = await engine.docket()
        assert [item.title for item in docket.would_fire] == ["Look at the run again"]


async def test_by_a_distrusted_clock_it_lists_what_would_fire(
    folder: Path, clock: ManualClock, actor: Actor, work_order: Callable[..., Any]
) -> None:
    async with opened(folder, clock) as engine:
        order = await engine.submit(work_order(title="Waits", due_at=clock.now() + HOUR), actor)
        await engine.reconcile_once()
        clock.step_wall(2 * HOUR)
        await engine.reconcile_once()
        docket = await engine.docket()
        assert docket.held_by is HoldKind.CLOCK
        assert [(item.number, item.late_ms) for item in docket.would_fire] == [(order.number, HOUR)]
        assert docket.quiet is None
        for _ in range(6):
            clock.advance(MINUTE)
            await engine.reconcile_once()
        await engine.clock_trust.restore(actor, "the clock was set right")
        await engine.reconcile_once()
        docket = await engine.docket()
        assert (docket.held_by, docket.would_fire) == (None, ())
        assert docket.quiet is not None
        assert (docket.quiet.kind, docket.quiet.ended_at) == (QuietKind.DOWNTIME, clock.now())
        assert [(item.number, item.late_ms) for item in docket.late] == [(order.number, HOUR + 6 * MINUTE)]


async def test_after_a_restore_it_lists_what_would_fire_before_it_fires(
    folder: Path, clock: ManualClock, actor: Actor, work_order: Callable[..., Any]
) -> None:
    """The copy is nine days old: what it has due is listed, nothing fires, and a person can take out what must not."""
    begin = clock.now()
    async with opened(folder, clock) as engine:
        daily = await engine.schedules.add(work_order(title="Daily"), actor, every="1d")
        other = await engine.schedules.add(work_order(title="Other"), actor, every="1d")
        waits = await engine.submit(work_order(title="Waits", due_at=begin + DAY), actor)
        await engine.wakes.watch(workspace="w", actor=actor, kind="bell", event_key="never")
        await engine.wakes.watch(workspace="w", actor=actor, kind="bell", event_key="ci", never_expires=True)
        await engine.reconcile_once()
        made = await engine.backups.back_up(actor)
    clock.advance(9 * DAY + HOUR)
    restore(folder, made.path, actor=actor, reason="the disk broke", clock=clock)
    async with opened(folder, clock) as engine:
        rung: list[str] = []

        async def ring(wake: Wake) -> None:
            rung.append(wake.id)

        engine.wakes.register("bell", external(ring))
        await engine.wakes.deliver_event("w", "ci")
        for _ in range(3):
            await engine.reconcile_once()
        docket = await engine.docket()
        assert docket.quiet is not None
        assert (docket.quiet.kind, docket.quiet.began_at) == (QuietKind.RESTORE, begin)
        assert docket.held_by is HoldKind.RESTORE
        would = {item.title or item.kind: item for item in docket.would_fire}
        assert set(would) == {"Daily", "Other", "Waits", "bell"}
        assert docket.would_fire_count == 5
        assert would["bell"].due_at in (begin + 7 * DAY, clock.now())
        assert (would["Daily"].due_at, would["Daily"].missed, would["Daily"].catch_up) == (
            begin + DAY,
            8,
            CatchUp.LATEST,
        )
        assert would["Waits"].number == waits.number
        assert (await number(engine), rung) == (1, [])

        await engine.schedules.cancel(other.id, actor, reason="not on this machine")
        soon = await engine.submit(work_order(title="Soon", due_at=clock.now() + HOUR), actor)
        clock.advance(2 * HOUR)
        await engine.reconcile_once()
        await engine.acknowledge_restore(actor, "looked at it")
        await engine.reconcile_once()
        docket = await engine.docket()
        assert (docket.held_by, docket.would_fire) == (None, ())
        assert {item.title or item.kind for item in docket.late} == {"Daily", "Waits", "Soon", "bell"}
        assert docket.quiet is not None
        assert docket.quiet.ended_at == clock.now()
        assert soon.number in {item.number for item in docket.late}
        assert len(rung) == 2
        assert await number(engine) == 3
        (task,) = (await engine.work_order(waits.id)).tasks
        assert task.state is TaskState.READY
        assert (await engine.schedules.show(daily.id)).row.submitted == 1


async def test_lists_are_cut_and_counts_are_not(
    folder: Path, clock: ManualClock, actor: Actor, work_order: Callable[..., Any]
) -> None:
    async with opened(folder, clock) as engine:
        for minute in range(5):
            await engine.submit(work_order(due_at=clock.now() + HOUR + minute), actor)
        await engine.reconcile_once()
    clock.advance(DAY)
    async with opened(folder, clock) as engine:
        await engine.reconcile_once()
        docket = await engine.docket(limit=2)
        assert (len(docket.late), docket.late_count, len(docket.expired)) == (2, 5, 2)
        with pytest.raises(InvalidValue):
            await engine.docket(limit=0)


async def test_wakes_that_were_being_driven_are_among_what_lapsed(
    folder: Path, clock: ManualClock, actor: Actor
) -> None:
    async with opened(folder, clock) as engine:
        await engine.wakes.schedule(workspace="w", actor=actor, kind="bell", in_="1s")
        await engine.reconcile_once()
        clock.advance(SECOND)

        def drive(tx: Any, *, now: int) -> None:
            tx.run(
                """UPDATE wake SET state = 'firing', armed_at = NULL, lease_until = ?, holder = 'engine',
                     claim = 1, attempts = 1 WHERE kind = 'bell'""",
                (now + 1,),
            )

        await engine._storage.write(drive)
    clock.advance(HOUR)
    async with opened(folder, clock) as engine:
        engine.wakes.register("bell", external(lambda wake: _nothing()))
        await engine.reconcile_once()
        assert [(item.what, item.title) for item in (await engine.docket()).lapsed] == [("wake", "bell")]


async def _nothing() -> None:
    return None
