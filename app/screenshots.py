"""A data folder in the middle of a working day, for the pictures of the README: real work, really run."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from engine.actors import Actor, ActorKind
from engine.clock import ManualClock, SystemClock
from engine.control.holds import Node
from engine.engine import Engine
from engine.interfaces.scratch import create_example_repository, create_scratch_workspace
from engine.states import NodeKind
from engine.views.values import WorkOrderRow, WorkOrderStory
from engine.wakes import CatchUp
from engine.work_order import BudgetLimits, CommandSpec, ValidatedBy, ValidationSpec, WorkOrderSpec
from engine.workspace.repository import find_git

PERSON = Actor(ActorKind.PERSON, "ada")
AGENT = Actor(ActorKind.AGENT, "codex-1")
PATIENCE_SECONDS = 60
HOUR_MS = 3_600_000


async def seed(engine: Engine, folder: Path) -> None:
    """Fill an engine: accepted, waiting for acceptance, failed, UNKNOWN, changed, held, running and pending work.

    ``folder`` gets the workspaces. Everything that ran did run; nothing is made up.
    """
    await seed_what_ended(engine, folder)
    await start_long_work(engine, folder)


async def start_long_work(engine: Engine, folder: Path) -> None:
    """Start a command that goes on for two minutes; ``folder`` gets its workspace."""
    await _start(engine, _long(folder))


async def seed_evening_before(data: Path, folder: Path) -> None:
    """Make a data folder as it was left eleven hours ago, with schedules that came due while it was closed.

    ``folder`` gets the workspaces. The clock of that evening stands still; the pause that follows is one to the
    engine, which puts into the docket what was missed in it.
    """
    evening = ManualClock(SystemClock().now() - 11 * HOUR_MS, boot="the evening before")
    engine = await Engine.open(data, clock=evening, automatic=False)
    try:
        await engine.reconcile_once()
        schedules = engine.schedules
        await schedules.add(
            _scheduled(folder / "slow-tests", "Run the slow tests", "payments"),
            PERSON,
            every="3h",
            catch_up=CatchUp.ASK,
        )
        await schedules.add(
            _scheduled(folder / "nightly", "Build the handbook", "handbook"),
            PERSON,
            cron="30 * * * *",
            zone="Europe/Berlin",
            catch_up=CatchUp.ASK,
        )
        await schedules.add(
            _scheduled(folder / "links", "Look for broken links", "handbook"),
            PERSON,
            cron="30 2 * * SUN",
            zone="Europe/Berlin",
            catch_up=CatchUp.NONE,
        )
        reports = await schedules.add(
            _scheduled(folder / "reports", "Report of yesterday", "payments"),
            PERSON,
            cron="0 9 * * MON-FRI",
            zone="America/New_York",
            catch_up=CatchUp.NONE,
        )
        await schedules.pause(reports.id, PERSON, reason="Over the holidays.")
    finally:
        await engine.close()


def _scheduled(workspace: Path, title: str, project: str) -> WorkOrderSpec:
    """A harmless work order that a schedule submits."""
    workspace.mkdir(parents=True)
    command = CommandSpec((sys.executable, "-c", f"print({title!r})"), max_cost=3, time_limit_ms=600_000)
    return WorkOrderSpec(
        title=title,
        workspace=str(workspace),
        implementation=command,
        validation=ValidationSpec("A person reads what it printed.", by=ValidatedBy.PERSON),
        limits=BudgetLimits(6, 1_200_000),
        project=project,
    )


async def _book_for_later(engine: Engine, folder: Path) -> None:
    """Leave something to wait for: a work order with a time, an agent that follows up and one that watches."""
    notes = replace(
        _scheduled(folder / "notes", "Publish the release notes", "handbook"),
        due_at=engine.clock.now() + 14 * HOUR_MS,
    )
    await engine.submit(notes, AGENT)
    agent: dict[str, Any] = {"workspace": "payments-api", "session": "codex-1", "actor": AGENT}
    follow = {"title": "Look at the test run again"}
    await engine.wakes.schedule(**agent, in_="45m", lane="codex-1", intent=follow)
    await engine.wakes.watch(
        **agent, event_key="ci:passed:main", intent={"title": "Go on when the build is green"}
    )


async def seed_what_ended(engine: Engine, folder: Path) -> None:
    """Fill an engine as `seed` does, but leave nothing running."""
    repository = folder / "payments-api"
    git = find_git(os.environ)
    mend, with_correction = await asyncio.to_thread(create_example_repository, repository, git=git)
    works, fails, slow, flood, detached, edits, odd = await asyncio.to_thread(
        create_scratch_workspace, folder / "scratch"
    )
    accepted = await _run(engine, mend, "AWAITING_ACCEPTANCE")
    await engine.accept(accepted.id, PERSON, "Read the diff; the tests are the right ones.")
    await _run(engine, fails, "DECISION_NEEDED")
    await _run(engine, works, "AWAITING_ACCEPTANCE")
    await _run_to_unknown(engine, slow)
    await _run(engine, odd, "DECISION_NEEDED")
    await _run_to_change(engine, edits)
    held = await engine.submit(detached, AGENT)
    await engine.hold(Node(NodeKind.WORK_ORDER, held.id), PERSON, reason="Ask Grace first.")
    await engine.submit(with_correction, AGENT)
    await engine.submit(flood, AGENT)
    await engine.submit(_hostile(folder), AGENT)
    await _book_for_later(engine, folder)


async def _run(engine: Engine, spec: WorkOrderSpec, state: str) -> WorkOrderRow:
    """Submit, approve step and validation by one look, and wait until the order has come to ``state``."""
    order = await _start(engine, spec)
    await _until(engine, order, lambda story: story.row.state == state)
    return order


async def _start(engine: Engine, spec: WorkOrderSpec) -> WorkOrderRow:
    order = await engine.submit(spec, AGENT)
    (row,) = [row for row in await engine.approvals.inbox() if row.work_order_id == order.id]
    card = await engine.approvals.card(row.approval_id)
    await engine.approvals.approve(
        row.approval_id,
        PERSON,
        seal=card.seal,
        covers_validation=card.validation_seal is not None,
        look_ms=21_000 + 1_700 * order.number,
    )
    return order


async def _run_to_unknown(engine: Engine, spec: WorkOrderSpec) -> None:
    order = await _start(engine, spec)
    await _until(
        engine,
        order,
        lambda story: any(attempt.outcome == "UNKNOWN" for task in story.tasks for attempt in task.attempts),
    )


async def _run_to_change(engine: Engine, spec: WorkOrderSpec) -> None:
    order = await _start(engine, spec)
    await _until(engine, order, lambda story: story.tasks[-1].approval_state == "PENDING")


async def _until(engine: Engine, order: WorkOrderRow, reached: Callable[[WorkOrderStory], bool]) -> None:
    changed = asyncio.Event()
    end = engine.subscribe(lambda _: changed.set())
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not reached(await engine.work_order(order.id)):
                await changed.wait()
                changed.clear()
    finally:
        end()


def _hostile(folder: Path) -> WorkOrderSpec:
    """A command that tries to look harmless: hidden, turning and trailing characters, and a long argument."""
    workspace = folder / "handbook"
    workspace.mkdir()
    argv = (
        sys.executable,
        "-c",
        "print('publishing')",
        "--preview\u200b",
        "docs\u202egnp.exe",
        "a note with a line\nand a tab\there   ",
        "https://docs.example/preview?" + "&".join(f"page={number}" for number in range(90)),
    )
    return WorkOrderSpec(
        title="Publish docs preview",
        workspace=str(workspace),
        implementation=CommandSpec(
            argv, environment=MappingProxyType({"CHANNEL": "preview"}), max_cost=12, time_limit_ms=300_000
        ),
        validation=ValidationSpec(
            "The preview answers.",
            command=CommandSpec((sys.executable, "-c", "print('answers')"), max_cost=1),
        ),
        limits=BudgetLimits(60, 1_800_000),
        project="handbook",
        reason="The handbook changed this morning.",
    )


def _long(folder: Path) -> WorkOrderSpec:
    """A command that goes on for a while, printing what it does."""
    workspace = folder / "ledger"
    workspace.mkdir(parents=True)
    code = (
        "import time\n"
        "for batch in range(1, 600):\n"
        "    print(f'batch {batch:3d}: 250 rows moved, 0 left behind', flush=True)\n"
        "    time.sleep(0.2)\n"
    )
    (workspace / "move_rows.py").write_text(code, encoding="utf-8")
    return WorkOrderSpec(
        title="Move the ledger to the new form",
        workspace=str(workspace),
        implementation=CommandSpec((sys.executable, "move_rows.py"), max_cost=40, time_limit_ms=600_000),
        validation=ValidationSpec(
            "Every row was moved.",
            command=CommandSpec((sys.executable, "-c", "print('all there')"), max_cost=1),
        ),
        limits=BudgetLimits(90, 3_600_000),
        project="payments",
        reason="The old form ends with the quarter.",
    )
