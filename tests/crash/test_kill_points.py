"""A real kill before and after each commit of the straight path, then a restart (E-22, E-25, E-51, §12).

What each point leaves, in the words of engine.md:

===============  ====================================  ====================================
point            killed before its commit              killed after its commit
===============  ====================================  ====================================
approval         asked, undecided                      approved, goes on
claim            approved, goes on                     claim abandoned and requeued, goes on
admission        claim abandoned, goes on              VOIDED, new approval
delivery         VOIDED, new approval                  UNKNOWN, nothing had run
acknowledgement  UNKNOWN, nothing had run              UNKNOWN, nothing had run
start            UNKNOWN, nothing had run              UNKNOWN, nothing had run
evidence         UNKNOWN, it had run                   EXECUTED, goes on
validation       UNKNOWN (the validation)              awaiting acceptance
acceptance       awaiting acceptance                   accepted
===============  ====================================  ====================================

The lines in the workspace's counter files prove that nothing ran twice without a recorded decision.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from engine.control.decisions import Finding
from engine.engine import Engine
from engine.states import AttemptState, Purpose, WorkOrderState
from engine.storage import Rx
from tests.crash.child import KILL, PERSON, drive
from tests.ledger import SEEN

ROOT = Path(__file__).parents[2]

POINTS = [
    # point, when, implemented so far, UNKNOWN attempts after the restart, VOIDED attempts after the restart
    ("approval", "before_commit", 0, 0, 0),
    ("approval", "after_commit", 0, 0, 0),
    ("claim", "before_commit", 0, 0, 0),
    ("claim", "after_commit", 0, 0, 0),
    ("admission", "before_commit", 0, 0, 0),
    ("admission", "after_commit", 0, 0, 1),
    ("delivery", "before_commit", 0, 0, 1),
    ("delivery", "after_commit", 0, 1, 0),
    ("acknowledgement", "before_commit", 0, 1, 0),
    ("acknowledgement", "after_commit", 0, 1, 0),
    ("start", "before_commit", 0, 1, 0),
    ("start", "after_commit", 0, 1, 0),
    ("evidence", "before_commit", 1, 1, 0),
    ("evidence", "after_commit", 1, 0, 0),
    ("validation", "before_commit", 1, 1, 0),
    ("validation", "after_commit", 1, 0, 0),
    ("acceptance", "before_commit", 1, 0, 0),
    ("acceptance", "after_commit", 1, 0, 0),
]


def lines(file: Path) -> int:
    return file.read_text().count("ran\n") if file.exists() else 0


def kill_child_at(folder: Path, workspace: Path, point: str, when: str) -> None:
    """Run the child until it has killed itself; none of its processes is left then."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.crash.child", str(folder), str(workspace), point, when], cwd=ROOT
    )
    tree = psutil.Process(child.pid)
    seen: set[psutil.Process] = set()
    while child.poll() is None:
        try:
            seen.update(tree.children(recursive=True))
        except psutil.NoSuchProcess:
            break
        if sys.platform == "win32":
            time.sleep(0.2)  # there each look opens every process, and the child would wait for us
    killed = KILL if sys.platform == "win32" else -KILL
    assert child.wait(60) == killed, f"{point} was never reached"
    _, alive = psutil.wait_procs(seen, timeout=10)
    assert not alive, "the killed engine's processes must not outlive it (B-050)"


def _books(rx: Rx) -> list[str]:
    """The scopes whose counters are not the sums over the exposures of their attempts."""
    wrong = []
    for state, column in (("RESERVED", "reserved"), ("FROZEN", "frozen"), ("SPENT", "spent")):
        rows = rx.all(
            f"""SELECT scope_id FROM scope_partition AS part WHERE {column}_cost <>
                  (SELECT coalesce(sum(cost), 0) FROM exposure WHERE exposure.scope_id = part.scope_id
                   AND exposure.partition = part.partition AND exposure.state = ?)""",
            (state,),
        )
        wrong += [f"{row['scope_id']} {column}" for row in rows]
    return wrong


@pytest.mark.crash
@pytest.mark.parametrize(
    ("point", "when", "implemented", "unknown", "voided"), POINTS, ids=[f"{p}-{w}" for p, w, *_ in POINTS]
)
async def test_killed_and_restarted(
    folder: Path, workspace: Path, point: str, when: str, implemented: int, unknown: int, voided: int
) -> None:
    await asyncio.to_thread(kill_child_at, folder, workspace, point, when)
    counter = workspace / "implemented"
    assert lines(counter) == implemented
    engine = await Engine.open(folder, automatic=False)
    try:
        await engine.reconcile_once()
        attempts = await engine.attempts()
        assert sum(item.state is AttemptState.UNKNOWN for item in attempts) == unknown
        assert sum(item.state is AttemptState.VOIDED for item in attempts) == voided
        assert (await engine.verify_journal()).sound
        assert await engine._storage.read(_books) == []
        if unknown:
            assert await engine.approvals.inbox() == (), (
                "nothing is asked for, nothing runs, before a person has decided"
            )
            assert await engine.work_once() == 0
    finally:
        await engine.close()
    await finish(folder, ran=implemented == 1)
    assert lines(counter) == 1, "the step ran once"
    decided_again = point == "validation" and when == "before_commit"
    assert lines(workspace / "validated") == (2 if decided_again else 1)


async def finish(folder: Path, *, ran: bool) -> None:
    """Decide what is UNKNOWN by what the counter file says, and drive the work order to its acceptance."""
    engine = await Engine.open(folder)
    try:
        async with asyncio.timeout(60):
            while True:
                await drive(engine)
                (order,) = await engine.work_orders()
                if order.state is WorkOrderState.ACCEPTED:
                    break
                (lost,) = await engine.attempts(states=(AttemptState.UNKNOWN,))
                took_effect = ran and lost.purpose is Purpose.IMPLEMENT
                await engine.unknowns.reconcile(
                    lost.id,
                    Finding.TOOK_EFFECT if took_effect else Finding.DID_NOT,
                    PERSON,
                    reason="Looked at the counter file.",
                    proof=SEEN,
                )
        assert (await engine.verify_journal()).sound
        assert await engine._storage.read(_books) == []
    finally:
        await engine.close()
