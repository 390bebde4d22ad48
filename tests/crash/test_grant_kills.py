"""A real kill before and after the commit of a grant and of its use: never half of either, never counted twice.

GRANT_KILLS=1 tries the giving itself as well.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from types import MappingProxyType

import pytest

from engine.engine import Engine
from engine.states import ApprovalState, GrantState
from engine.work_order import BudgetLimits, CommandSpec, ValidatedBy, ValidationSpec, WorkOrderSpec
from tests.crash.child import KILL, PERSON, KillAt

ROOT = Path(__file__).parents[2]
HOUR = 3_600_000


def spec(workspace: Path) -> WorkOrderSpec:
    command = CommandSpec((sys.executable, "-c", "print('ran')"), environment=MappingProxyType({}))
    return WorkOrderSpec(
        "Say ran",
        str(workspace),
        command,
        ValidationSpec("it says so", ValidatedBy.PERSON),
        BudgetLimits(100, 3_600_000),
    )


async def give(engine: Engine, workspace: Path) -> None:
    await engine.submit(spec(workspace), PERSON)
    (row,) = await engine.approvals.inbox()
    await engine.grants.give(
        row.approval_id, PERSON, seal=row.seal, ends_at=engine.clock.now() + HOUR, uses=2, any_state=True
    )


async def child(folder: Path, workspace: Path, point: str, when: str) -> None:
    """Kill this process at the grant, or at its second use."""
    if point == "grant_use":
        engine = await Engine.open(folder, automatic=False)
        await give(engine, workspace)
        await engine.close()
    engine = await Engine.open(folder, automatic=False, boundary=KillAt(point, when))
    if point == "grant":
        await give(engine, workspace)
    await engine.submit(spec(workspace), PERSON)


@pytest.mark.crash
@pytest.mark.parametrize("when", ["before_commit", "after_commit"])
@pytest.mark.parametrize("point", ["grant_use"] + ["grant"] * bool(os.environ.get("GRANT_KILLS")))
async def test_e42a_a_kill_leaves_a_grant_and_its_use_whole_or_not_at_all(
    folder: Path, workspace: Path, point: str, when: str
) -> None:
    arguments = [
        sys.executable,
        "-m",
        "tests.crash.test_grant_kills",
        str(folder),
        str(workspace),
        point,
        when,
    ]
    killed = await asyncio.to_thread(subprocess.run, arguments, cwd=ROOT, timeout=60)
    assert killed.returncode == (KILL if sys.platform == "win32" else -KILL)
    engine = await Engine.open(folder, automatic=False)
    try:
        grants = await engine.grants.listed()
        orders = await engine.work_orders()
        committed = when == "after_commit"
        if point == "grant":
            assert len(grants) == committed
            assert len(await engine.approvals.inbox()) == (not committed)
            return
        (grant,) = grants
        assert (grant.uses, len(orders)) == ((2, 2) if committed else (1, 1))
        assert grant.state is (GrantState.USED_UP if committed else GrantState.LIVE)
        for _ in range(2):
            await engine.submit(spec(workspace), PERSON)
        view = await engine.grants.grant(grant.id)
        assert [use.ordinal for use in view.uses] == [1, 2]
        assert [use.approval_state for use in view.uses] == [ApprovalState.APPROVED] * 2
        assert len(await engine.approvals.inbox()) == (2 if committed else 1)
        assert (await engine.verify_journal()).sound
    finally:
        await engine.close()


if __name__ == "__main__":
    asyncio.run(child(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]))
