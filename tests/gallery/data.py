"""The four kinds of data folder that a page is pictured with: empty, typical, full, and with things gone wrong."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from pathlib import Path

from app.screenshots import AGENT, PERSON, seed_what_ended
from engine.actors import Actor, ActorKind
from engine.backup.schedule import BackupSchedule
from engine.control.holds import WHOLE_ENGINE, Node
from engine.engine import Engine
from engine.states import NodeKind
from engine.work_order import BudgetLimits, CommandSpec, ValidatedBy, ValidationSpec, WorkOrderSpec

PROJECTS = (
    "payments",
    "handbook",
    "a project whose name somebody made much longer than any column could ever be wide",
    "größe-naïve-日本語",
)
OTHER_AGENT = Actor(ActorKind.AGENT, "codex-2")
MANY = 90
PATIENCE_SECONDS = 120.0


async def empty(engine: Engine, folder: Path) -> None:
    """Nothing at all."""


async def typical(engine: Engine, folder: Path) -> None:
    """A working day."""
    await seed_what_ended(engine, folder)


async def full(engine: Engine, folder: Path) -> None:
    """Far more of everything than fits: long words, many requests, many UNKNOWN, holds on several levels."""
    await seed_what_ended(engine, folder)
    for number in range(8):
        order = await engine.submit(_sure_to_overrun(folder, number), AGENT)
        await _approve(engine, order.id)
    await _until(engine, lambda: _unknowns(engine, 8))
    for number in range(MANY):
        await engine.submit(_much(folder, number), OTHER_AGENT)
    await engine.hold(
        Node(NodeKind.WORK_ORDER, (await engine.work_orders())[0].id), PERSON, reason="Ask Grace first. " * 12
    )
    await engine.pause(WHOLE_ENGINE, PERSON)


async def wrong(engine: Engine, folder: Path) -> None:
    """A folder to be damaged: a hold that wants an answer, a backup that cannot be made."""
    await seed_what_ended(engine, folder)
    place = folder / "backups are to go here"
    place.write_text("This is a file, not a folder.", encoding="utf-8")
    await engine.scheduled_backups.set(BackupSchedule(60_000, 3, str(place)), PERSON)
    await engine.hold(
        WHOLE_ENGINE, PERSON, reason="The disk of the build machine is full. Free some of it first."
    )


SEEDS: Mapping[str, Callable[[Engine, Path], Awaitable[None]]] = {
    "empty": empty,
    "typical": typical,
    "full": full,
    "error": wrong,
}


def damage(data: Path) -> None:
    """Take kept files away and change a row of the journal, as a broken disk or a curious hand would."""
    shutil.rmtree(data / "blobs")
    with closing(sqlite3.connect(data / "praxis.sqlite")) as database, database:
        database.execute("UPDATE journal SET actor_name = 'nobody' WHERE sequence = 12")


async def _approve(engine: Engine, order_id: str) -> None:
    (row,) = [row for row in await engine.approvals.inbox() if row.work_order_id == order_id]
    card = await engine.approvals.card(row.approval_id)
    await engine.approvals.approve(row.approval_id, PERSON, seal=card.seal)


async def _unknowns(engine: Engine, count: int) -> bool:
    return (await engine.status()).unknown >= count


async def _until(engine: Engine, reached: Callable[[], Awaitable[bool]]) -> None:
    changed = asyncio.Event()
    end = engine.subscribe(lambda _: changed.set())
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await reached():
                await changed.wait()
                changed.clear()
    finally:
        end()


def _sure_to_overrun(folder: Path, number: int) -> WorkOrderSpec:
    workspace = folder / f"slow {number}"
    workspace.mkdir()
    code = f"import time; print('moving batch {number}', flush=True); time.sleep(60)"
    return WorkOrderSpec(
        title=f"Move batch {number} and wait for the other side to say that it has come",
        workspace=str(workspace),
        implementation=CommandSpec((sys.executable, "-c", code), max_cost=3, time_limit_ms=400),
        validation=ValidationSpec("The other side has it.", ValidatedBy.PERSON),
        limits=BudgetLimits(10, 600_000),
        project=PROJECTS[number % len(PROJECTS)],
    )


def _much(folder: Path, number: int) -> WorkOrderSpec:
    workspace = folder / f"much {number}"
    workspace.mkdir()
    title = f"Task {number} of the long list"
    if number % 7 == 3:
        title += (
            " with a title that goes on and on, as titles do when a machine writes them and nobody reads them"
        )
    argv: tuple[str, ...] = (sys.executable, "-c", "print('done')", f"--batch={number}")
    if number % 5 == 1:
        argv += tuple(f"--option-{part}=a value of the usual length" for part in range(40))
    return WorkOrderSpec(
        title=title,
        workspace=str(workspace),
        implementation=CommandSpec(argv, max_cost=number % 30 + 1, time_limit_ms=600_000),
        validation=ValidationSpec("It says done.", ValidatedBy.PERSON),
        limits=BudgetLimits(40, 600_000),
        project=PROJECTS[number % len(PROJECTS)],
        reason="Because the list has it. " * (number % 9),
    )
