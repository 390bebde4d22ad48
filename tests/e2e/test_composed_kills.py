"""The composed workflow in a real repository, killed at its boundaries one after another (E-53, E-73, E-74, §12).

Approval → implementation → validation that fails → correction → validation that passes → acceptance. Each child goes on
where the one before was killed. In between a person decides what is UNKNOWN by what stands in the workspace. In the
end it is as if nothing had been killed, and each effect happened once.

``OUTCOMES_KILLS=all`` kills at every boundary of every stage, before and after its commit.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from engine.control.decisions import Finding
from engine.engine import Engine
from engine.interfaces.scratch import create_example_repository
from engine.interfaces.work_order_file import read_work_order
from engine.states import AttemptState, Purpose, WorkOrderState
from engine.storage import Rx
from engine.workspace.repository import find_git
from tests.crash.child import PERSON
from tests.e2e.support import step
from tests.ledger import SEEN

ROOT = Path(__file__).parents[2]
BEFORE, AFTER = "before_commit", "after_commit"

SHORT = [
    ("approval", AFTER),
    ("admission", AFTER),  # the implementation: VOIDED
    ("start", AFTER),  # UNKNOWN, nothing had run
    ("evidence", BEFORE),  # UNKNOWN, it had run
    ("delivery", AFTER),  # its validation: UNKNOWN
    ("handoff", BEFORE),  # the validation ran, and neither its end nor the correction is there
    ("handoff", AFTER),  # FAILED; correction and accepted handoff are there
    ("claim", AFTER),  # the correction
    ("acknowledgement", AFTER),
    ("evidence", AFTER),
    ("validation", BEFORE),  # its validation
    ("validation", AFTER),
    ("acceptance", BEFORE),
    ("acceptance", AFTER),
]
_STAGE = [
    (point, when)
    for point in ("claim", "admission", "approval", "delivery", "acknowledgement", "start")
    for when in (BEFORE, AFTER)
]
ALL = [
    *_STAGE,
    ("evidence", BEFORE),
    *_STAGE,
    ("evidence", BEFORE),
    ("handoff", BEFORE),
    ("handoff", AFTER),
    *_STAGE,
    ("handoff", BEFORE),
    *_STAGE,
    ("validation", BEFORE),
    ("validation", AFTER),
    ("acceptance", BEFORE),
    ("acceptance", AFTER),
]
KILLS = ALL if os.environ.get("OUTCOMES_KILLS") == "all" else SHORT


def make_repository(folder: Path) -> None:
    """The example, whose scripts leave a line for each time they run, in a folder that git ignores."""
    git = find_git(os.environ)
    if git is None:
        pytest.skip("needs git")
    create_example_repository(folder, git=git)
    for script, words in (
        ("apply_fix.py", "'implement' if '--only-positive' in sys.argv else 'correct'"),
        ("run_tests.py", "'validate'"),
    ):
        path = folder / "tools" / script
        note = (
            "Path('reports').mkdir(exist_ok=True)\n"
            f"with open('reports/ran', 'a') as ran:\n    print({words}, file=ran)\n"
        )
        head, marker, rest = path.read_text().partition("from pathlib import Path\n")
        assert marker
        if script == "run_tests.py":
            imports, marker2, rest2 = rest.partition("\n\n\n")
            path.write_text(f"{head}{marker}{imports}\n\n{note}{marker2}{rest2}")
        else:
            path.write_text(f"{head}{marker}\n{note}{rest}")
    subprocess.run(
        [git, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qam", "count"], cwd=folder, check=True
    )


def ran(folder: Path, what: str) -> int:
    counts = folder / "reports" / "ran"
    return counts.read_text().split().count(what) if counts.exists() else 0


def kill_child(folder: Path, repository: Path, point: str, when: str) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.e2e.composed_child", str(folder), str(repository), point, when],
        cwd=ROOT,
    )
    tree = psutil.Process(child.pid)
    seen: set[psutil.Process] = set()
    while child.poll() is None:
        try:
            seen.update(tree.children(recursive=True))
        except psutil.NoSuchProcess:
            break
    assert child.wait(60) == -signal.SIGKILL, f"{point} was never reached"
    _, alive = psutil.wait_procs(seen, timeout=10)
    assert not alive, "the processes of a killed engine must not outlive it (B-050)"


async def decide_unknown(engine: Engine, repository: Path) -> None:
    """What a careful person does after each restart: look, and say what happened."""
    for lost in await engine.attempts(states=(AttemptState.UNKNOWN,)):
        assert await engine.approvals.inbox() == ()
        assert await engine.work_once() == 0, "nothing runs before a person has decided (E-51)"
        happened = lost.purpose is not Purpose.VALIDATE and ran(repository, lost.purpose.lower()) > 0
        finding = Finding.TOOK_EFFECT if happened else Finding.DID_NOT
        await engine.unknowns.reconcile(lost.id, finding, PERSON, reason="Looked at reports/ran.", proof=SEEN)


def essence(rx: Rx) -> dict[str, Any]:
    """What must be the same however often it was killed."""
    return {
        "order": rx.all("SELECT state, corrections_made, corrections_allowed FROM work_order"),
        "tasks": rx.all("SELECT ordinal, purpose, state FROM task ORDER BY ordinal"),
        "results": rx.all(
            """SELECT task.ordinal, attempt.outcome, attempt.state FROM attempt JOIN task ON task.id = attempt.task_id
               WHERE attempt.state NOT IN ('VOIDED') ORDER BY task.ordinal"""
        ),
        "validations": rx.all(
            """SELECT task.ordinal, validation.outcome, validation.judged_by FROM validation
               JOIN task ON task.id = validation.task_id ORDER BY task.ordinal"""
        ),
        "handoffs": rx.all(
            """SELECT source.ordinal, target.ordinal, handoff.accepted_at IS NOT NULL FROM handoff
               JOIN task AS source ON source.id = handoff.from_task_id
               LEFT JOIN task AS target ON target.id = handoff.to_task_id ORDER BY 1, 2"""
        ),
        "open": rx.all(
            """SELECT sum(reserved_cost), sum(frozen_cost), sum(reserved_ms), sum(frozen_ms) FROM scope_partition"""
        ),
    }


async def read_essence(engine: Engine) -> dict[str, list[tuple[Any, ...]]]:
    found = await engine._storage.read(essence)
    return {name: [tuple(row) for row in rows] for name, rows in found.items()}


async def test_the_composed_workflow_runs_whole_in_a_real_repository(folder: Path, tmp_path: Path) -> None:
    """E-74: the first implementation fails its validation, a correction mends it, a person accepts."""
    final = await undisturbed(folder, tmp_path / "repository")
    assert final["order"] == [("ACCEPTED", 1, 1)]
    assert [(purpose, state) for _, purpose, state in final["tasks"]] == [
        ("IMPLEMENT", "SUCCEEDED"),
        ("VALIDATE", "FAILED"),
        ("CORRECT", "SUCCEEDED"),
        ("VALIDATE", "SUCCEEDED"),
    ]
    assert final["validations"] == [(1, "FAILED", "command"), (3, "PASSED", "command")]
    assert final["handoffs"] == [(1, 2, 1), (2, 3, 1), (3, 4, 1), (4, None, 1)]
    assert final["open"] == [(0, 0, 0, 0)]


async def undisturbed(folder: Path, repository: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Run it without any kill."""
    await asyncio.to_thread(make_repository, repository)
    engine = await Engine.open(folder, automatic=False)
    try:
        order = read_work_order(repository / "work-order-with-correction.toml")
        row = await engine.submit(order, PERSON)
        for _ in range(4):
            await step(engine, covers=True)
        await engine.accept(row.id, PERSON, "both ran")
        return await read_essence(engine)
    finally:
        await engine.close()


@pytest.mark.crash
@pytest.mark.timeout(600)
async def test_killed_at_its_boundaries_it_ends_in_the_same_state(folder: Path, tmp_path: Path) -> None:
    plain = tmp_path / "undisturbed"
    plain.mkdir()
    expected = await undisturbed(plain, tmp_path / "other")
    repository = tmp_path / "repository"
    await asyncio.to_thread(make_repository, repository)
    again = 0
    for point, when in KILLS:
        before = ran(repository, "validate")
        await asyncio.to_thread(kill_child, folder, repository, point, when)
        engine = await Engine.open(folder, automatic=False)
        try:
            await engine.reconcile_once()
            assert (await engine.verify_journal()).sound, (point, when)
            validated = ran(repository, "validate")
            lost = await engine.attempts(states=(AttemptState.UNKNOWN,))
            again += any(one.purpose is Purpose.VALIDATE for one in lost) and validated > before
            await decide_unknown(engine, repository)
        finally:
            await engine.close()
    engine = await Engine.open(folder, automatic=False)
    try:
        (order,) = await engine.work_orders()
        assert order.state is WorkOrderState.ACCEPTED
        found = await read_essence(engine)
        assert (await engine.verify_journal()).sound
    finally:
        await engine.close()
    assert found == expected
    assert ran(repository, "implement") == 1, "the implementation ran once"
    assert ran(repository, "correct") == 1, "the correction ran once"
    assert ran(repository, "validate") == 2 + again, "a validation ran again only by a recorded decision"
    assert (repository / "rounding.py").read_text() == (tmp_path / "other" / "rounding.py").read_text()
