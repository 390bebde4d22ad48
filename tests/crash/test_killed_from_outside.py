"""A console that something else kills: while its command runs, and at moments nobody chose (E-51, E-54, B-052)."""

from __future__ import annotations

import asyncio
import contextlib
import random
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psutil
import pytest

from engine.control.decisions import Finding
from engine.engine import Engine
from engine.states import AttemptState, WorkOrderState
from engine.storage import Rx
from tests.crash.child import PERSON, drive, spec
from tests.crash.test_kill_points import ROOT, _books, finish, lines
from tests.ledger import SEEN

SECONDS = 30


@contextlib.contextmanager
def console(folder: Path, workspace: Path, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    """A child with an engine that works; it is gone afterwards."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.crash.child", str(folder), str(workspace), "no such point", "", *more],
        cwd=ROOT,
    )
    try:
        yield child
    finally:
        child.kill()
        child.wait()


@contextlib.asynccontextmanager
async def reopened(folder: Path) -> AsyncIterator[Engine]:
    """The engine after the kill, which has judged what it found and does nothing by itself."""
    engine = await Engine.open(folder, automatic=False)
    try:
        await engine.reconcile_once()
        assert (await engine.verify_journal()).sound
        assert await engine._storage.read(_books) == []
        yield engine
    finally:
        await engine.close()


async def exists(file: Path) -> None:
    """Wait for another process; there is nothing of it to listen to."""
    async with asyncio.timeout(SECONDS):
        while not file.exists():
            await asyncio.sleep(0.01)


def frozen(rx: Rx) -> list[tuple[int, int]]:
    """What is frozen in each scope on the way to the root: cost and active time."""
    return [
        (row["frozen_cost"], row["frozen_ms"])
        for row in rx.all("SELECT frozen_cost, frozen_ms FROM scope_partition WHERE partition = 'EXECUTION'")
    ]


@pytest.mark.crash
async def test_b052_killed_while_a_command_runs(folder: Path, workspace: Path) -> None:
    """The tree ends with the console; the attempt is UNKNOWN with all it could have used; a person goes on."""
    with console(folder, workspace, "slow") as child:
        await exists(workspace / "pids")
        tree = [psutil.Process(int(pid)) for pid in (workspace / "pids").read_text().split()]
        child.kill()
        child.wait()
    _, alive = psutil.wait_procs(tree, timeout=10)
    assert not alive, "not even the one that had left the session outlives the console"
    assert not (workspace / "too late").exists()

    async with reopened(folder) as engine:
        (lost,) = await engine.attempts()
        assert (lost.state, lost.reason_code) == (AttemptState.UNKNOWN, "console_lost")
        assert "fail" not in lost.reason.lower()
        assert await engine._storage.read(frozen) == [(5, 90_000)] * 3
        view = await engine.evidence.of(lost.id)
        assert view.stdout_file is not None
        assert Path(view.stdout_file).read_bytes().splitlines() == [b"half of it"], (
            "what it had written is still shown"
        )
        assert await engine.approvals.inbox() == ()
        assert await engine.work_once() == 0
        await engine.unknowns.reconcile(
            lost.id, Finding.DID_NOT, PERSON, reason="It had done half and was undone.", proof=SEEN
        )
        await engine.reconcile_once()
        assert len(await engine.approvals.inbox()) == 1, "it needs a new approval"
        assert await engine.work_once() == 0
        assert await engine._storage.read(frozen) == [(0, 0)] * 3
    assert lines(workspace / "implemented") == 1

    engine = await Engine.open(folder)
    try:
        async with asyncio.timeout(SECONDS):
            await drive(engine)
        (order,) = await engine.work_orders()
        assert order.state is WorkOrderState.ACCEPTED
    finally:
        await engine.close()
    assert lines(workspace / "implemented") == 2, "once more, by a person's word"


@pytest.mark.crash
@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.75])
async def test_killed_at_a_moment_nobody_chose(folder: Path, workspace: Path, share: float) -> None:
    """Wherever it was, the restarted engine can say what it knows, and the work comes to its end once."""
    moment = random.uniform(share, share + 0.25)
    with console(folder, workspace) as child, contextlib.suppress(subprocess.TimeoutExpired):
        await asyncio.to_thread(child.wait, moment)
    ran = lines(workspace / "implemented")
    assert ran <= 1
    async with reopened(folder) as engine:
        attempts = await engine.attempts()
        assert ran <= len(attempts)
        if await engine.attempts(states=(AttemptState.UNKNOWN,)):
            assert await engine.work_once() == 0
        await engine.submit(spec(workspace), PERSON, key="the one")
    await finish(folder, ran=ran == 1)
    assert lines(workspace / "implemented") == 1, f"killed after {moment:.3f} s"
