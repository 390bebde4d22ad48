"""Looking at a data folder that nobody has open writes nothing, unless something was left to judge (E-51)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engine.clock import ManualClock
from engine.engine import Engine
from engine.errors import StaleEpoch
from tests.conftest import python_command
from tests.e2e.support import AGENT, PERSON, approve_all
from tests.interfaces.conftest import Praxis, approve


def facts(folder: Path) -> tuple[int, int]:
    """The newest row of the journal, and the epoch."""
    with closing(sqlite3.connect(folder / "praxis.sqlite")) as database:
        (sequence,) = database.execute("SELECT sequence FROM journal_head").fetchone()
        (epoch,) = database.execute("SELECT max(epoch) FROM journal").fetchone()
    return sequence, epoch


def test_commands_that_look_take_no_epoch_and_write_no_row(
    praxis: Praxis, order_file: Callable[..., str], folder: Path, tmp_path: Path
) -> None:
    praxis("submit", order_file())
    approve(praxis, "WO-1")
    praxis("submit", order_file(title="Other"))
    praxis("agent", "add", "codex")
    before = facts(folder)
    said = {}
    for arguments in (
        ("list",),
        ("inbox",),
        ("show", "WO-1"),
        ("show", "WO-2/1"),
        ("explain", "WO-1"),
        ("journal", "verify"),
        ("journal", "export"),
        ("receipt", "WO-1", "-o", str(tmp_path / "receipt")),
        ("budget", "list"),
        ("agent", "list"),
        ("agent", "questions"),
        ("docket", "list"),
        ("wakes", "list"),
        ("schedule", "list"),
        ("grant", "list"),
        ("retention", "preview"),
        ("metrics",),
    ):
        said[arguments] = praxis(*arguments, "--json").out
        assert facts(folder) == before, arguments
    assert '"number": 1' in said[("list",)]
    praxis("inbox", "--as-agent", "codex", ok=False)
    assert "rights.refused" in praxis("journal", "export").out
    assert facts(folder)[1] == before[1] + 1
    praxis("pause", "engine", "--reason", "r")
    assert facts(folder)[1] == before[1] + 2


Leave = Callable[[Engine, ManualClock, Any], Any]


async def _expired(engine: Engine, clock: ManualClock, order: Any) -> None:
    await engine.submit(order(), AGENT)
    clock.advance(40 * 86_400_000)


async def _clock_went_back(engine: Engine, clock: ManualClock, _order: Any) -> None:
    clock.step_wall(-86_400_000)


@pytest.mark.parametrize("leave", [_expired, _clock_went_back], ids=lambda one: one.__name__)
async def test_what_was_left_is_judged_first_also_by_who_only_looks(
    folder: Path, clock: ManualClock, work_order: Any, leave: Leave
) -> None:
    engine = await Engine.open(folder, clock=clock, automatic=False)
    await engine.close()
    engine = await Engine.open(folder, clock=clock, automatic=False, reading=True)
    assert not engine.begun
    await engine.close()
    engine = await Engine.open(folder, clock=clock, automatic=False)
    if leave is not _clock_went_back:
        await leave(engine, clock, work_order)
    await engine.close()
    if leave is _clock_went_back:
        await leave(engine, clock, work_order)
    engine = await Engine.open(folder, clock=clock, automatic=False, reading=True)
    assert engine.begun
    await engine.close()


async def test_who_only_looks_can_change_nothing(folder: Path, clock: ManualClock, work_order: Any) -> None:
    engine = await Engine.open(folder, clock=clock, automatic=False)
    await engine.submit(work_order(implementation=python_command("print(1)")), AGENT)
    await engine.close()
    engine = await Engine.open(folder, clock=clock, automatic=False, reading=True)
    assert not engine.begun
    row = (await engine.approvals.inbox())[0]
    for change in (
        lambda: approve_all(engine),
        lambda: engine.approvals.reject(row.approval_id, PERSON, "no"),
        lambda: engine.agents.add("x", PERSON),
    ):
        with pytest.raises(StaleEpoch):
            await change()
    assert len(await engine.approvals.inbox()) == 1
    await engine.close()
