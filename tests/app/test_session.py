"""The session: tasks that are not forgotten, changes told at most 20 times a second, status kept current."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from app.session import CHANGES_INTERVAL_MS, WHOLE_ENGINE, Changes, Selection, Session
from engine.errors import Refused, StorageError
from engine.states import NodeKind
from tests.app.conftest import until
from tests.app.fake_engine import FakeEngine, status


async def test_an_error_meant_for_a_person_is_told(session: Session) -> None:
    told: list[object] = []
    session.failed.connect(told.append)

    async def refuse() -> None:
        raise Refused("No.")

    task = session.spawn(refuse(), "refuse")
    await until(task.done)
    await asyncio.sleep(0)
    assert [str(error) for error in told] == ["No."]


async def test_a_fault_of_the_program_goes_to_the_loops_handler(session: Session) -> None:
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))

    async def fail() -> None:
        raise ZeroDivisionError

    session.spawn(fail(), "divide")
    await until(lambda: told)
    assert isinstance(told[0]["exception"], ZeroDivisionError)
    assert "divide" in told[0]["message"]


async def test_tasks_are_kept_until_they_end(session: Session) -> None:
    """A task that nothing refers to is not collected half way."""
    import gc

    done = asyncio.Event()

    async def wait() -> None:
        await asyncio.sleep(0.01)
        done.set()

    session.spawn(wait(), "wait")
    gc.collect()
    await done.wait()


async def test_closing_cancels_and_awaits_what_was_spawned(fake: FakeEngine, session: Session) -> None:
    ended: list[str] = []

    async def wait_for_ever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("ended")

    session.start()
    session.spawn(wait_for_ever(), "wait")
    await asyncio.sleep(0)
    await session.close()
    assert ended == ["ended"]
    assert fake.listeners == []
    late = session.spawn(wait_for_ever(), "too late")
    await until(late.done)
    assert late.cancelled()


async def test_settled_waits_for_everything(session: Session) -> None:
    async def chain(depth: int) -> None:
        await asyncio.sleep(0)
        if depth:
            session.spawn(chain(depth - 1), "chain")

    session.spawn(chain(5), "chain")
    assert await session.settled()
    session.spawn(asyncio.sleep(60), "long")
    assert not await session.settled(at_most=0.01)


# --------------------------------------------------------------------------------------------- selection


async def test_selecting(session: Session) -> None:
    seen: list[Selection] = []
    session.selection_changed.connect(seen.append)
    chosen = Selection(NodeKind.WORK_ORDER, "id", "WO-118 · payments-api")
    session.select(chosen)
    session.select(chosen)
    session.select(None)
    assert seen == [chosen, WHOLE_ENGINE]


async def test_navigation_is_told(session: Session, qtbot: QtBot) -> None:
    with qtbot.waitSignal(session.navigated) as told:
        session.open_page("evidence", "attempt-1")
    assert told.args == ["evidence", "attempt-1"]


# ----------------------------------------------------------------------------------------------- changes


async def test_changes_are_put_together(fake: FakeEngine, session: Session) -> None:
    told: list[Changes] = []
    session.changed.connect(told.append)
    session.start()
    fake.tell(("task.ready", "task", "t1", "w1"), last_sequence=5)
    assert [changes.last_sequence for changes in told] == [5], "the first is told at once"
    fake.tell(("task.claimed", "task", "t1", "w1"), last_sequence=6)
    fake.tell(("hold.placed", "hold", "h1", None), ("task.ready", "task", "t2", "w2"), last_sequence=8)
    assert len(told) == 1
    await until(lambda: len(told) == 2)
    together = told[1]
    assert together.subjects == {("task", "t1"), ("hold", "h1"), ("task", "t2")}
    assert together.kinds == {"task.claimed", "hold.placed", "task.ready"}
    assert together.work_orders == {"w1", "w2"}
    assert together.last_sequence == 8
    assert together.touches("hold", "attempt")
    assert not together.touches("approval")
    assert together.ids("task") == {"t1", "t2"}


async def test_views_hear_of_changes_at_most_20_times_a_second(fake: FakeEngine, session: Session) -> None:
    told: list[float] = []
    session.changed.connect(lambda _: told.append(time.perf_counter()))
    session.start()
    stop_at = time.perf_counter() + 0.5
    count = 0
    while time.perf_counter() < stop_at:
        count += 1
        fake.tell(("task.ready", "task", str(count), "w"), last_sequence=count)
        await asyncio.sleep(0.001)
    gaps = [later - earlier for earlier, later in pairwise(told)]
    assert count > 50
    assert 3 <= len(told) <= 11
    assert min(gaps) >= CHANGES_INTERVAL_MS / 1000 - 0.002


async def test_nothing_is_told_after_closing(fake: FakeEngine, session: Session) -> None:
    told: list[Changes] = []
    session.changed.connect(told.append)
    session.start()
    fake.tell(("task.ready", "task", "t1", "w1"))
    fake.tell(("task.ready", "task", "t2", "w1"))
    await session.close()
    await asyncio.sleep(CHANGES_INTERVAL_MS / 1000 * 2)
    assert len(told) == 1


# ------------------------------------------------------------------------------------------------ status


async def test_the_status_is_read_at_the_start_and_told_when_it_differs(
    fake: FakeEngine, session: Session
) -> None:
    told: list[object] = []
    session.status_changed.connect(told.append)
    session.start()
    await session.settled()
    session.refresh_status()
    await session.settled()
    assert told == [status()]
    assert session.status == status()
    fake.said = status(running=1)
    fake.tell(("attempt.started", "attempt", "a", "w"))
    await session.settled()
    assert told == [status(), status(running=1)]


async def test_many_refreshes_become_one_more_read(fake: FakeEngine, session: Session) -> None:
    for _ in range(50):
        session.refresh_status()
    await until(lambda: fake.reads == 1)
    for _ in range(50):
        session.refresh_status()
    await session.settled()
    assert fake.reads == 2


async def test_trouble_with_the_database_becomes_a_strip_and_goes_again(
    fake: FakeEngine, session: Session
) -> None:
    fake.error = StorageError("The disk is full.", means="Nothing can be saved.", do="Make room.")
    session.refresh_status()
    await session.settled()
    (shown,) = session.alerts.shown()
    assert (shown.what, shown.means) == ("The disk is full.", "Nothing can be saved. Make room.")
    fake.error = None
    session.refresh_status()
    await session.settled()
    assert session.alerts.shown() == ()


@pytest.mark.parametrize("error", [Refused("No."), ValueError("odd")])
async def test_other_errors_of_reading_the_status_are_not_hidden(
    fake: FakeEngine, session: Session, error: Exception
) -> None:
    told: list[object] = []
    session.failed.connect(told.append)
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["exception"]))
    fake.error = error
    session.refresh_status()
    await until(lambda: told)
    assert told == [error]
    fake.error = None
    session.refresh_status()
    await session.settled()
    assert session.status is not None
