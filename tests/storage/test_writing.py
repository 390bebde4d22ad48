"""Operations, groups, the queue and its bounds (E-10 to E-12), change sets."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from engine.actors import Actor
from engine.clock import ManualClock
from engine.errors import InvalidValue, QueueFull, StorageClosed, StorageError
from engine.storage import ChangeSet, Storage, Subject, Tx
from engine.storage.writer import MOST_IN_A_GROUP
from tests.storage.conftest import OpenStorage
from tests.storage.support import (
    Boundaries,
    Gate,
    busy,
    journalled,
    names,
    note,
    note_then_fail,
    reply_to_nothing,
    sequences,
    stand,
    turns,
)


async def test_e10_an_operation_gives_its_value_and_its_rows_are_read_back(storage: Storage) -> None:
    assert await storage.write(note, "a") == "a"
    assert await storage.read(names) == ["a"]


async def test_e10_an_operation_gets_the_instant_at_which_it_runs(
    storage: Storage, clock: ManualClock
) -> None:
    def instant(tx: Tx, *, now: int) -> int:
        return now

    gate, first = await busy(storage)
    second = asyncio.create_task(storage.write(instant))
    await turns()
    clock.advance(1_234)
    gate.open()
    await first
    assert await second == clock.now()


async def test_e10_returning_rows_are_all_read_inside(storage: Storage) -> None:
    def add_and_tell(tx: Tx, *, now: int) -> tuple[list[str], int]:
        rows = tx.all("INSERT INTO note (name) VALUES ('a'), ('b'), ('c') RETURNING name")
        changed = tx.run("UPDATE note SET part = 1 WHERE name <> 'a' RETURNING name")
        return [row["name"] for row in rows], changed

    assert await storage.write(add_and_tell) == (["a", "b", "c"], 2)
    assert await storage.read(names) == ["a", "b", "c"]


async def test_one_gives_a_row_or_none_and_refuses_several(storage: Storage) -> None:
    def look(tx: Tx, *, now: int) -> None:
        assert tx.one("SELECT name FROM note") is None
        note(tx, "a", now=now)
        row = tx.one("SELECT name FROM note")
        assert row is not None
        assert row["name"] == "a"
        note(tx, "b", now=now)
        with pytest.raises(LookupError, match="2 rows"):
            tx.one("SELECT name FROM note")

    await storage.write(look)


@pytest.mark.parametrize(
    "sql",
    ["COMMIT", " rollback", "begin immediate", "SAVEPOINT x", "RELEASE operation", "END", "VACUUM",
     "ATTACH 'x' AS y", "DETACH y"],
)  # fmt: skip
async def test_an_operation_cannot_control_its_transaction(storage: Storage, sql: str) -> None:
    def misbehave(tx: Tx, *, now: int) -> None:
        note(tx, "a", now=now)
        tx.run(sql)

    with pytest.raises(ValueError, match="must not control"):
        await storage.write(misbehave)
    assert await storage.read(names) == []


async def test_a_transaction_object_that_was_kept_is_dead(storage: Storage) -> None:
    kept: list[Tx] = []

    def keep(tx: Tx, *, now: int) -> None:
        kept.append(tx)

    await storage.write(keep)
    with pytest.raises(RuntimeError, match="over"):
        kept[0].all("SELECT 1")


async def test_e12_an_error_rolls_back_its_operation_alone(storage: Storage) -> None:
    gate, first = await busy(storage)
    tasks = [
        asyncio.create_task(storage.write(function, name))
        for name, function in (("a", note), ("b", note_then_fail), ("c", note))
    ]
    await turns()
    gate.open()
    await first
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results] == [str, ZeroDivisionError, str]
    assert await storage.read(names) == ["a", "c"]
    assert await storage.read(journalled) == ["a", "c"]
    assert await storage.read(sequences) == [1, 2]
    assert storage.health().commits == 1


@pytest.mark.parametrize(
    ("operations", "groups"),
    [(MOST_IN_A_GROUP - 1, 1), (MOST_IN_A_GROUP, 1), (MOST_IN_A_GROUP + 1, 2), (2 * MOST_IN_A_GROUP + 1, 3)],
)
async def test_e12_a_group_holds_at_most_64_operations(
    open_storage: OpenStorage, operations: int, groups: int
) -> None:
    boundaries = Boundaries()
    storage = await open_storage(boundary=boundaries)
    gate, first = await busy(storage)
    rest = [asyncio.create_task(storage.write(note, f"{number:03}")) for number in range(operations - 1)]
    await turns()
    gate.open()
    await asyncio.gather(first, *rest)
    assert boundaries.points == ["before_commit", "after_commit"] * groups
    assert len(await storage.read(names)) == operations - 1


async def test_e12_a_group_comes_back_in_one_loop_callback(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, first = await busy(storage)
    rest = [asyncio.create_task(storage.write(note, f"{number}")) for number in range(20)]
    await turns()
    loop = asyncio.get_running_loop()
    told: list[Callable[..., Any]] = []
    threadsafe = loop.call_soon_threadsafe

    def count(callback: Callable[..., Any], *arguments: Any, **options: Any) -> asyncio.Handle:
        told.append(callback)
        return threadsafe(callback, *arguments, **options)

    monkeypatch.setattr(loop, "call_soon_threadsafe", count)
    gate.open()
    await asyncio.gather(first, *rest)
    assert told == [storage._settle]


async def test_e12_nobody_is_answered_before_the_commit(open_storage: OpenStorage) -> None:
    boundaries = Boundaries()
    gate = boundaries.gates["before_commit"] = Gate()
    storage = await open_storage(boundary=boundaries)
    task = asyncio.create_task(storage.write(note, "a"))
    await gate.arrival()
    await turns()
    assert not task.done()
    assert await storage.read(names) == [], "a reader sees only what is committed, and never waits"
    gate.open()
    assert await task == "a"
    assert await storage.read(names) == ["a"]


async def test_e12_a_failed_commit_fails_every_caller(open_storage: OpenStorage) -> None:
    boundaries = Boundaries()
    storage = await open_storage(boundary=boundaries)
    gate, first = await busy(storage)
    boundaries.errors["before_commit"] = OSError("the disk went away")
    rest = [asyncio.create_task(storage.write(note, name)) for name in "ab"]
    await turns()
    gate.open()
    results = await asyncio.gather(first, *rest, return_exceptions=True)
    assert [str(result) for result in results] == ["the disk went away"] * 3
    assert len({id(result) for result in results}) == 3, "each caller has an error of its own to raise"
    assert await storage.read(names) == []
    assert await storage.write(note, "c") == "c"
    assert await storage.read(sequences) == [1], "the journal goes on where it stands"


async def test_e12_a_deferred_constraint_hurts_only_who_broke_it(storage: Storage) -> None:
    gate, first = await busy(storage)
    good = asyncio.create_task(storage.write(note, "a"))
    bad = asyncio.create_task(storage.write(reply_to_nothing))
    other = asyncio.create_task(storage.write(note, "b"))
    await turns()
    gate.open()
    results = await asyncio.gather(first, good, bad, other, return_exceptions=True)
    assert [type(result).__name__ for result in results] == ["NoneType", "str", "IntegrityError", "str"]
    assert await storage.read(names) == ["a", "b"]
    assert await storage.read(sequences) == [1, 2]


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), StopIteration(1)]
)
async def test_what_a_future_cannot_hold_reaches_the_caller_as_a_storage_error(
    storage: Storage, error: BaseException
) -> None:
    def misbehave(tx: Tx, *, now: int) -> None:
        note(tx, "a", now=now)
        raise error

    with pytest.raises(StorageError, match=type(error).__name__) as caught:
        await storage.write(misbehave)
    assert caught.value.__cause__ is error
    assert await storage.read(names) == []
    assert await storage.write(note, "b") == "b", "the writer goes on"


async def test_an_error_after_the_commit_takes_nothing_back(
    open_storage: OpenStorage, expected_log: Callable[..., Any]
) -> None:
    boundaries = Boundaries()
    storage = await open_storage(boundary=boundaries)
    boundaries.errors["after_commit"] = SystemExit(1)
    with expected_log("boundary after_commit", logging.ERROR):
        assert await storage.write(note, "a") == "a"


# --------------------------------------------------------------------------------------------- control and bounds


async def test_e11_control_overtakes_waiting_background(storage: Storage) -> None:
    seen: list[ChangeSet] = []
    storage.subscribe(seen.append)
    gate = Gate()
    first = asyncio.create_task(storage.write(stand, gate, "first"))
    await gate.arrival()
    background = [asyncio.create_task(storage.write(note, f"background {number}")) for number in range(3)]
    await turns()
    control = asyncio.create_task(storage.write(note, "control", control=True))
    await turns()
    gate.open()
    await asyncio.gather(first, control, *background)
    assert await storage.read(journalled) == [
        "first", "control", "background 0", "background 1", "background 2",
    ]  # fmt: skip
    assert [[change.subject_id for change in changes.changes] for changes in seen] == [
        ["first", "control"],
        ["background 0", "background 1", "background 2"],
    ], "a group commits as soon as its control operation has run"


async def test_e11_the_background_queue_takes_exactly_its_limit(open_storage: OpenStorage) -> None:
    storage = await open_storage(background_limit=4)
    gate, first = await busy(storage)
    rest = [asyncio.create_task(storage.write(note, name, wait=False)) for name in "abc"]
    await turns()
    assert storage.health().waiting_background == 4
    with pytest.raises(QueueFull) as caught:
        await storage.write(note, "d", wait=False)
    assert caught.value.facts == {"limit": 4}
    gate.open()
    await asyncio.gather(first, *rest)
    assert await storage.write(note, "e", wait=False) == "e"
    assert await storage.read(names) == ["a", "b", "c", "e"]


@pytest.mark.parametrize("limit", [0, -1, 1.5, True])
async def test_e03_a_background_limit_is_a_positive_whole_number(
    open_storage: OpenStorage, limit: object
) -> None:
    with pytest.raises(InvalidValue, match="background_limit"):
        await open_storage(background_limit=limit)


async def test_e11_with_a_full_queue_background_waits_and_control_does_not(open_storage: OpenStorage) -> None:
    storage = await open_storage(background_limit=1)
    gate, first = await busy(storage)
    waiting = asyncio.create_task(storage.write(note, "background"))
    await turns()
    control = [
        asyncio.create_task(storage.write(note, f"control {number}", control=True)) for number in range(70)
    ]
    await turns()
    health = storage.health()
    assert (health.waiting_control, health.waiting_background) == (70, 1)
    gate.open()
    await asyncio.gather(first, *control)
    assert await waiting == "background"
    assert (await storage.read(journalled))[-1] == "background"
    health = storage.health()
    assert (health.waiting_control, health.waiting_background) == (0, 0)


async def test_e11_who_waits_for_room_is_served_in_order(open_storage: OpenStorage) -> None:
    storage = await open_storage(background_limit=2)
    gate, first = await busy(storage)
    tasks = [asyncio.create_task(storage.write(note, f"{number:02}")) for number in range(20)]
    await turns()
    gate.open()
    await asyncio.gather(first, *tasks)
    assert await storage.read(journalled) == [f"{number:02}" for number in range(20)]


async def test_health_tells_latency_commits_and_log_size(storage: Storage) -> None:
    before = storage.health()
    assert (before.commits, before.latency_ms.p50) == (0, 0.0)
    for name in "abc":
        await storage.write(note, name)
    after = storage.health()
    assert after.commits == 3
    assert 0 < after.latency_ms.p50 <= after.latency_ms.p95
    assert after.log_bytes > 0


# ---------------------------------------------------------------------------------------------------- change sets


async def test_a_change_set_tells_all_of_a_commit_after_the_answers(storage: Storage, actor: Actor) -> None:
    def three(tx: Tx, *, now: int) -> None:
        tx.journal("order.made", Subject("work_order", "W"), actor, now, work_order_id="W")
        tx.journal("task.made", Subject("task", "T"), actor, now, work_order_id="W", detail={"n": 1})
        tx.journal("hold.placed", Subject("engine", "engine"), actor, now)

    seen: list[ChangeSet] = []
    answered: list[bool] = []

    def listen(changes: ChangeSet) -> None:
        seen.append(changes)
        answered.append(task._fut_waiter.done())  # type: ignore[attr-defined]

    storage.subscribe(listen)
    task = asyncio.create_task(storage.write(three))
    await task
    assert answered == [True]
    [changes] = seen
    assert (changes.first_sequence, changes.last_sequence) == (1, 3)
    assert [(c.kind, c.subject_kind, c.subject_id, c.work_order_id) for c in changes.changes] == [
        ("order.made", "work_order", "W", "W"),
        ("task.made", "task", "T", "W"),
        ("hold.placed", "engine", "engine", None),
    ]


async def test_change_sets_hold_only_what_was_committed_and_leave_no_gap(storage: Storage) -> None:
    seen: list[ChangeSet] = []
    storage.subscribe(seen.append)
    tasks = [
        asyncio.create_task(storage.write(note_then_fail if number % 3 == 0 else note, f"{number}"))
        for number in range(200)
    ]
    await asyncio.gather(*tasks, return_exceptions=True)
    told = [change.subject_id for changes in seen for change in changes.changes]
    assert told == await storage.read(journalled)
    expected = 1
    for changes in seen:
        assert changes.first_sequence == expected
        assert changes.last_sequence == expected + len(changes.changes) - 1
        expected = changes.last_sequence + 1


async def test_a_subscriber_that_fails_hurts_nobody_and_one_that_ended_hears_nothing(
    storage: Storage, expected_log: Callable[..., Any]
) -> None:
    heard: list[str] = []

    def fail(changes: ChangeSet) -> None:
        raise ZeroDivisionError

    storage.subscribe(fail)
    end = storage.subscribe(lambda _: heard.append("one"))
    storage.subscribe(lambda _: heard.append("two"))
    with expected_log("subscriber", logging.ERROR):
        assert await storage.write(note, "a") == "a"
    end()
    end()
    with expected_log("subscriber", logging.ERROR):
        assert await storage.write(note, "b") == "b"
    assert heard == ["one", "two", "two"]


async def test_a_commit_without_journal_rows_tells_nobody(storage: Storage) -> None:
    seen: list[ChangeSet] = []
    storage.subscribe(seen.append)
    await storage.write(lambda tx, *, now: tx.run("INSERT INTO note (name) VALUES ('a')"))
    assert seen == []


# --------------------------------------------------------------------------------------------------------- closing


async def test_close_answers_everything_that_waits_and_refuses_the_rest(open_storage: OpenStorage) -> None:
    storage = await open_storage(background_limit=3)
    gate, first = await busy(storage)
    taken = [asyncio.create_task(storage.write(note, name)) for name in "ab"]
    control = asyncio.create_task(storage.write(note, "control", control=True))
    without_room = [asyncio.create_task(storage.write(note, name)) for name in "xyz"]
    await turns()
    closing = asyncio.create_task(storage.close())
    await turns()
    for late in (storage.write(note, "late"), storage.write(note, "late", control=True), storage.read(names)):
        with pytest.raises(StorageClosed):
            await late
    gate.open()
    assert await asyncio.gather(first, *taken, control) == [None, "a", "b", "control"]
    results = await asyncio.gather(*without_room, return_exceptions=True)
    assert [type(result) for result in results] == [StorageClosed] * 3
    await closing
    again = await open_storage()
    assert await again.read(names) == ["a", "b", "control"]


async def test_close_under_load_leaves_every_operation_whole_and_truly_answered(
    open_storage: OpenStorage,
) -> None:
    storage = await open_storage(background_limit=100)
    done: list[str] = []

    async def client(number: int) -> None:
        for turn in range(1_000):
            try:
                done.append(await storage.write(note, f"{number}-{turn}", control=number % 4 == 0))
                await storage.read(names)
            except StorageClosed:
                return

    clients = [asyncio.create_task(client(number)) for number in range(8)]
    while len(done) < 40:
        await asyncio.sleep(0)
    await storage.close()
    await asyncio.gather(*clients)
    again = await open_storage()
    assert await again.read(names) == sorted(done)


async def test_close_twice_and_close_cancelled_close_once(open_storage: OpenStorage) -> None:
    storage = await open_storage()
    gate, first = await busy(storage)
    cancelled = asyncio.create_task(storage.close())
    other = asyncio.create_task(storage.close())
    await turns()
    cancelled.cancel()
    await turns()
    gate.open()
    await other
    await first
    await storage.close()
    assert cancelled.cancelled()
    assert await (await open_storage()).read(names) == []


async def test_closing_leaves_one_file_and_no_owner(open_storage: OpenStorage) -> None:
    storage = await open_storage()
    await storage.write(note, "a")
    await storage.close()
    assert sorted(path.name for path in storage.folder.iterdir()) == ["owner.lock", "praxis.sqlite"]
