"""A disk that fails for a while, or for good, at every step of an attempt: nothing is lost, run twice or stuck."""

from __future__ import annotations

import asyncio
import logging
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.settings import EngineSettings
from engine.states import AttemptState, TaskState, WorkOrderState
from engine.work_order import WorkOrderSpec
from tests.e2e.support import AGENT, PERSON, approve_all, until

LOST = r"A step cannot be recorded yet|pass did not complete|Claiming did not work"


class FullDisk:
    """A boundary at which the commit that contains a point fails: once, or that and every later one (E-13)."""

    def __init__(self, point: str, *, for_good: bool = False) -> None:
        self._point = point
        self._for_good = for_good
        self._failed = self._reached = False

    def __call__(self, name: str) -> None:
        if name == self._point:
            self._reached = True
        elif name == "before_commit" and (self._for_good if self._failed else self._reached):
            self._failed = True
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        elif name == "after_commit":
            self._reached = False


async def ended(engine: Engine, order: str) -> WorkOrderState:
    async def reached() -> bool:
        row = await engine.work_order_row(order)
        unknown = await engine.attempts(states=(AttemptState.UNKNOWN,))
        return bool(unknown) or (row is not None and row.state is not WorkOrderState.ACTIVE)

    await until(reached)
    row = await engine.work_order_row(order)
    assert row is not None
    return row.state


@pytest.mark.parametrize(
    "point", ["claim", "admission", "delivery", "acknowledgement", "start", "evidence", "validation"]
)
async def test_a_commit_that_fails_once_is_made_again(
    folder: Path,
    workspace: Path,
    work_order: Callable[..., WorkOrderSpec],
    caplog: pytest.LogCaptureFixture,
    expected_log: Callable[..., AbstractContextManager[list[logging.LogRecord]]],
    point: str,
) -> None:
    """E-12, B-017: a full disk for a moment loses no attempt and runs nothing twice."""
    expected = expected_log(LOST, logging.ERROR) if point != "start" else caplog.at_level(logging.ERROR)
    with expected:
        engine = await Engine.open(folder, boundary=FullDisk(point))
        try:
            order = await engine.submit(work_order("open('ran', 'a').write('x')"), AGENT)
            await approve_all(engine, covers=True)
            assert await ended(engine, order.id) is WorkOrderState.AWAITING_ACCEPTANCE
            assert (workspace / "ran").read_text() == "x"
            assert len(await engine.attempts()) == 2
        finally:
            await engine.close()


async def test_closing_ends_while_nothing_can_be_written(
    folder: Path,
    work_order: Callable[..., WorkOrderSpec],
    expected_log: Callable[..., AbstractContextManager[list[logging.LogRecord]]],
) -> None:
    """E-51: what cannot be recorded before the end is judged by the next start, as UNKNOWN, never again run."""
    with expected_log(f"{LOST}|could not be taken further|was lost by its worker", logging.ERROR) as seen:
        engine = await Engine.open(folder, boundary=FullDisk("evidence", for_good=True))
        await engine.submit(work_order(), AGENT)
        await approve_all(engine)
        async with asyncio.timeout(20):
            while not seen:
                await asyncio.sleep(0.01)
        await engine.close()
    engine = await Engine.open(folder, automatic=False)
    await engine.reconcile_once()
    (attempt,) = await engine.attempts()
    assert (attempt.state, attempt.reason_code) == (AttemptState.UNKNOWN, "console_lost")
    await engine.close()


@pytest.fixture
async def engine(folder: Path) -> AsyncIterator[Engine]:
    opened = await Engine.open(folder, settings=EngineSettings(grace_ms=300))
    yield opened
    await opened.close()


async def test_a_run_folder_that_cannot_be_made_starts_nothing(
    engine: Engine, work_order: Callable[..., WorkOrderSpec], workspace: Path
) -> None:
    """E-54: it provably never started, so it is FAILED and costs nothing; UNKNOWN would be untrue."""
    (engine.folder / "runs").write_text("a file in its place")
    order = await engine.submit(work_order("open('ran', 'w')"), AGENT)
    await approve_all(engine)
    assert await ended(engine, order.id) is WorkOrderState.DECISION_NEEDED
    (attempt,) = await engine.attempts()
    assert (attempt.state, attempt.reason_code) == (AttemptState.SETTLED, "not_started_output_file")
    assert attempt.actual_cost == 0
    assert not (workspace / "ran").exists()


async def test_a_workspace_that_is_gone_afterwards_leaves_its_evidence(
    engine: Engine, work_order: Callable[..., WorkOrderSpec]
) -> None:
    """E-52, E-55: UNKNOWN with the exit code, the output and the reason, not a run that was lost from sight."""
    await engine.submit(
        work_order("import os, shutil; print('so long', flush=True); shutil.rmtree(os.getcwd())"), AGENT
    )
    await approve_all(engine)

    async def unknown() -> bool:
        return bool(await engine.attempts(states=(AttemptState.UNKNOWN,)))

    await until(unknown)
    (attempt,) = await engine.attempts()
    assert attempt.reason_code == "workspace_lost"
    assert "exit code 0" in attempt.reason
    view = await engine.evidence.of(attempt.id)
    assert view.evidence is not None
    assert view.evidence["exit_code"] == 0
    assert view.stdout_file is not None
    assert Path(view.stdout_file).read_bytes().strip() == b"so long"


async def test_evidence_that_cannot_be_kept_says_what_was_seen(
    engine: Engine,
    work_order: Callable[..., WorkOrderSpec],
    expected_log: Callable[..., AbstractContextManager[list[logging.LogRecord]]],
) -> None:
    """E-55, E-64: UNKNOWN, with the observed end in the reason and the output left where it was written."""
    (engine.folder / "blobs").write_text("a file in its place")
    with expected_log("could not be kept", logging.ERROR):
        await engine.submit(work_order("print('seen')"), AGENT)
        await approve_all(engine)

        async def unknown() -> bool:
            return bool(await engine.attempts(states=(AttemptState.UNKNOWN,)))

        await until(unknown)
    (attempt,) = await engine.attempts()
    assert attempt.reason_code == "evidence_lost"
    assert attempt.reason.startswith("The command ended with exit code 0.")
    assert (engine.folder / "runs" / attempt.id / "stdout").read_bytes().strip() == b"seen"


async def test_withdrawn_and_gone_while_it_is_looked_at_leaves_no_claim(
    folder: Path, work_order: Callable[..., WorkOrderSpec], workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E-42, E-24: an approval withdrawn while its plan is made again gives the task back at once."""
    engine = await Engine.open(folder, automatic=False)
    try:
        await engine.submit(work_order(), AGENT)
        (row,) = await engine.approvals.inbox()
        await engine.approvals.approve(row.approval_id, PERSON, seal=row.seal)
        loop = asyncio.get_running_loop()
        plan = engine._planner.plan

        def withdrawn_meanwhile(step: object) -> object:
            asyncio.run_coroutine_threadsafe(
                engine.approvals.withdraw(row.approval_id, PERSON, "no"), loop
            ).result()
            shutil.rmtree(workspace)
            return plan(step)  # type: ignore[arg-type]

        monkeypatch.setattr(engine._planner, "plan", withdrawn_meanwhile)
        assert await engine.work_once() == 1
        (task,) = (await engine.work_order("WO-1")).tasks
        assert task.state is TaskState.READY
        assert await engine.attempts() == ()
    finally:
        await engine.close()
