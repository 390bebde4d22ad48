"""A cancelled caller leaves its operation committed whole or not at all (E-12, P2)."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.actors import ENGINE
from engine.clock import ManualClock
from engine.storage import ChangeSet, Rx, Storage, Subject, Tx
from engine.storage.journal import verify_journal
from tests.storage.conftest import OpenStorage
from tests.storage.support import SCHEMA, Boundaries, Gate, busy, journalled, names, note, stand, turns

PARTS = 3


def in_transaction(storage: Storage) -> bool:
    return storage._writer._database.in_transaction


async def test_cancelled_while_it_waits_for_room(open_storage: OpenStorage) -> None:
    storage = await open_storage(background_limit=1)
    gate, first = await busy(storage)
    waiting = asyncio.create_task(storage.write(note, "a"))
    await turns()
    waiting.cancel()
    await turns()
    gate.open()
    await first
    assert waiting.cancelled()
    assert await storage.write(note, "b", wait=False) == "b", "its room is free again"
    assert await storage.read(names) == ["b"]


async def test_cancelled_while_it_waits_in_the_queue_it_never_runs(open_storage: OpenStorage) -> None:
    storage = await open_storage(background_limit=2)
    gate, first = await busy(storage)
    waiting = asyncio.create_task(storage.write(note, "a"))
    await turns()
    waiting.cancel()
    await turns()
    gate.open()
    await first
    assert await storage.write(note, "b") == "b"
    assert await storage.read(journalled) == ["b"]
    assert storage.health().waiting_background == 0


async def test_cancelled_while_it_runs_it_is_committed_whole(storage: Storage) -> None:
    gate = Gate()
    task = asyncio.create_task(storage.write(stand, gate, "a"))
    await gate.arrival()
    task.cancel()
    await turns()
    assert task.cancelled()
    gate.open()
    assert await storage.write(note, "b") == "b"
    assert await storage.read(journalled) == ["a", "b"]
    assert not in_transaction(storage)


@pytest.mark.parametrize("point", ["before_commit", "after_commit"])
async def test_cancelled_around_the_commit_it_is_committed_whole(
    open_storage: OpenStorage, point: str
) -> None:
    boundaries = Boundaries()
    gate = boundaries.gates[point] = Gate()
    storage = await open_storage(boundary=boundaries)
    seen: list[ChangeSet] = []
    storage.subscribe(seen.append)
    task = asyncio.create_task(storage.write(note, "a"))
    await gate.arrival()
    task.cancel()
    await turns()
    gate.open()
    assert await storage.write(note, "b") == "b"
    assert task.cancelled()
    assert await storage.read(names) == ["a", "b"]
    assert [change.subject_id for changes in seen for change in changes.changes] == ["a", "b"]


async def test_cancelled_and_failing_it_leaves_nothing_and_no_complaint(storage: Storage) -> None:
    gate = Gate()

    def stand_and_fail(tx: Tx, *, now: int) -> None:
        note(tx, "a", now=now)
        gate.pass_through()
        raise ZeroDivisionError

    task = asyncio.create_task(storage.write(stand_and_fail))
    await gate.arrival()
    task.cancel()
    await turns()
    gate.open()
    assert await storage.write(note, "b") == "b"
    assert await storage.read(names) == ["b"]


# -------------------------------------------------------------------------------------------------------- property


@dataclass(frozen=True)
class Call:
    """One call: when it starts and is cancelled, in loop turns; whether it fails, and at which part."""

    start: int
    cancel: int | None
    fails_at: int | None
    control: bool


calls = st.lists(
    st.builds(
        Call,
        start=st.integers(0, 30),
        cancel=st.none() | st.integers(0, 60),
        fails_at=st.none() | st.integers(0, PARTS - 1),
        control=st.booleans(),
    ),
    min_size=1,
    max_size=40,
)


def parts(tx: Tx, name: str, fails_at: int | None, *, now: int) -> str:
    for part in range(PARTS):
        if part == fails_at:
            raise ZeroDivisionError
        tx.run("INSERT INTO note (name, part) VALUES (?, ?)", (f"{name}-{part}", part))
        tx.journal("note.added", Subject("note", name), ENGINE, now, detail={"part": part})
    return name


def whole(rx: Rx) -> dict[str, int]:
    rows = rx.all("SELECT substr(name, 1, length(name) - 2) AS call, count(*) AS n FROM note GROUP BY 1")
    return {row["call"]: row["n"] for row in rows}


@given(calls=calls)
def test_e12_every_operation_is_whole_or_absent_whoever_is_cancelled(calls: list[Call]) -> None:
    async def run(folder: Path) -> None:
        storage = await Storage.open(folder, clock=ManualClock(), migrations=SCHEMA, background_limit=3)
        try:
            told: list[str] = []
            storage.subscribe(lambda changes: told.extend(change.subject_id for change in changes.changes))

            async def call(number: int, one: Call) -> str:
                await turns(one.start)
                return await storage.write(parts, f"{number}", one.fails_at, control=one.control)

            tasks = [asyncio.create_task(call(number, one)) for number, one in enumerate(calls)]
            for turn in range(62):
                for task, one in zip(tasks, calls, strict=True):
                    if one.cancel == turn:
                        task.cancel()
                await turns(1)
            results = await asyncio.gather(*tasks, return_exceptions=True)
            await storage.write(parts, "last", None)
            present = await storage.read(whole)
            assert set(present.values()) == {PARTS}, "nothing is committed in part"
            for number, (one, result) in enumerate(zip(calls, results, strict=True)):
                if isinstance(result, str):
                    assert f"{number}" in present
                if one.fails_at is not None:
                    assert f"{number}" not in present
            assert told == await storage.read(journalled)
            assert (await storage.read(verify_journal)).sound
            assert not in_transaction(storage)
            health = storage.health()
            assert (health.waiting_control, health.waiting_background) == (0, 0)
            assert storage._room._value == 3, "all room was given back"
        finally:
            await storage.close()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder)))
