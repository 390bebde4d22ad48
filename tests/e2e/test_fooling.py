"""Trying to make something else run than what was approved (E-40a, E-41, E-52; B-019 to B-022).

Each case approves a plan while the engine is paused, changes the world, and lets go. Nothing may run; the request is
back in the queue and says what differs. Where prevention is not possible, what ran must not count as done.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest

from engine.actors import Actor
from engine.control.holds import WHOLE_ENGINE
from engine.engine import Engine
from engine.errors import PraxisError
from engine.settings import EngineSettings
from engine.states import AttemptState, Outcome, WorkOrderState
from engine.views.values import ApprovalCard
from engine.work_order import BudgetLimits, CommandSpec, Secret, WorkOrderSpec
from tests.e2e.swap_rounds import swapped_attempts
from tests.e2e.test_engine import until

QUIET = MappingProxyType({"PYTHONDONTWRITEBYTECODE": "1"})
RAN = "ran"


@dataclass
class Desk:
    """An engine with one approved request, held back until `let_go`."""

    engine: Engine
    workspace: Path
    person: Actor

    async def approve(self, spec: WorkOrderSpec, *, covers: bool = False) -> ApprovalCard:
        await self.engine.pause(WHOLE_ENGINE, self.person)
        await self.engine.submit(spec, self.person)
        (row,) = await self.engine.approvals.inbox()
        return await self.engine.approvals.approve(
            row.approval_id, self.person, seal=row.seal, covers_validation=covers
        )

    async def let_go(self) -> None:
        await self.engine.resume(WHOLE_ENGINE, self.person)

    async def refused(self, *fields: str) -> ApprovalCard:
        """Let go, and see that nothing ran and that the request is back with these differences."""
        await self.let_go()

        async def asked() -> bool:
            return bool(await self.engine.approvals.inbox())

        await until(self.engine, asked)
        (row,) = await self.engine.approvals.inbox()
        card = await self.engine.approvals.card(row.approval_id)
        assert row.changed
        found = {line.field for line in card.differences}
        assert found >= set(fields), found
        assert await self.engine.attempts() == ()
        assert not (self.workspace / RAN).exists()
        kinds = [line.kind for line in await self.engine.journal(limit=1000)]
        assert "approval.changed" in kinds
        assert "attempt.dispatch_authorized" not in kinds
        return card

    async def unplannable(self, *words: str) -> None:
        """Let go, and see that nothing ran and that the work order says why it cannot."""
        await self.let_go()

        async def decision_needed() -> bool:
            (order,) = await self.engine.work_orders()
            return order.state is WorkOrderState.DECISION_NEEDED

        await until(self.engine, decision_needed)
        (order,) = await self.engine.work_orders()
        assert all(word in order.why for word in words), order.why
        assert await self.engine.attempts() == ()
        assert not (self.workspace / RAN).exists()


@pytest.fixture
async def desk(folder: Path, workspace: Path, actor: Actor) -> AsyncIterator[Desk]:
    engine = await Engine.open(folder, settings=EngineSettings(grace_ms=300))
    yield Desk(engine, workspace, actor)
    await engine.close()


@pytest.fixture
def order(work_order: Callable[..., WorkOrderSpec]) -> Callable[..., WorkOrderSpec]:
    def make(*argv: str, **fields: object) -> WorkOrderSpec:
        command = CommandSpec(
            argv or (sys.executable, "task.py"),
            **{"environment": QUIET, "max_cost": 1, "time_limit_ms": 30_000, **fields},  # type: ignore[arg-type]
        )
        return work_order(implementation=command, limits=BudgetLimits(1_000, 6_000_000))

    return make


Make = Callable[..., WorkOrderSpec]


def script(path: Path, text: str = f"open({RAN!r}, 'w')") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


async def test_b019_the_script_is_edited(desk: Desk, order: Make) -> None:
    task = script(desk.workspace / "task.py")
    await desk.approve(order())
    task.write_text(task.read_text() + "  # and more")
    await desk.refused("input task.py")


async def test_a_declared_input_is_edited(desk: Desk, order: Make) -> None:
    script(desk.workspace / "task.py")
    data = script(desk.workspace / "data" / "rows.csv", "1,2")
    await desk.approve(order(inputs=("data/rows.csv",)))
    data.write_text("1,3")
    await desk.refused("input data/rows.csv")


async def test_another_program_comes_first_on_path(
    desk: Desk, order: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P33: the plan holds the one file that was resolved, and the order of PATH."""
    first, second = tmp_path / "first", tmp_path / "second"
    for place, text in ((first, f"#!/bin/sh\ntouch {RAN}\n"), (second, f"#!/bin/sh\ntouch {RAN}\n")):
        tool = script(place / "praxis-tool", text)
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{second}{os.pathsep}{os.environ['PATH']}")
    await desk.approve(order("praxis-tool"))
    monkeypatch.setenv("PATH", f"{first}{os.pathsep}{os.environ['PATH']}")
    await desk.refused("program", "environment PATH")


async def test_the_program_file_is_replaced(desk: Desk, order: Make, tmp_path: Path) -> None:
    tool = script(tmp_path / "bin" / "tool", "#!/bin/sh\nexit 0\n")
    tool.chmod(0o755)
    await desk.approve(order(str(tool)))
    tool.write_text(f"#!/bin/sh\ntouch {RAN}\n")
    await desk.refused("program sha256")


async def test_p33_a_decoy_in_the_current_folder_is_never_taken(
    desk: Desk, order: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoy = script(desk.workspace / "praxis-no-such-tool", f"#!/bin/sh\ntouch {RAN}\n")
    decoy.chmod(0o755)
    monkeypatch.chdir(desk.workspace)
    with pytest.raises(PraxisError, match="praxis-no-such-tool"):
        await desk.engine.submit(order("praxis-no-such-tool"), desk.person)
    assert not (desk.workspace / RAN).exists()


async def test_the_environment_changes(desk: Desk, order: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    script(desk.workspace / "task.py")
    monkeypatch.setenv("LANG", "C")
    await desk.approve(order())
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    await desk.refused("environment LANG")


async def test_a_secret_changes_and_is_shown_nowhere(
    desk: Desk, order: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E-40a: sealed by a digest over the real value, never stored in clear."""
    script(desk.workspace / "task.py")
    monkeypatch.setenv("ISSUE_TOKEN", "first-secret-value")
    await desk.approve(order(environment=MappingProxyType({"TOKEN": Secret("ISSUE_TOKEN"), **QUIET})))
    monkeypatch.setenv("ISSUE_TOKEN", "other-secret-value")
    card = await desk.refused("environment TOKEN")
    shown = repr(card) + repr(await desk.engine.journal(limit=1000))
    assert "first-secret-value" not in shown
    assert "other-secret-value" not in shown


async def test_the_working_folder_becomes_a_link_out(desk: Desk, order: Make, tmp_path: Path) -> None:
    """E-52: containment is asked again, by identity."""
    inside, outside = desk.workspace / "tools", tmp_path / "outside"
    script(inside / "task.py")
    script(outside / "task.py")
    await desk.approve(order(folder="tools"))
    shutil.rmtree(inside)
    inside.symlink_to(outside, target_is_directory=True)
    await desk.unplannable("tools")
    assert not (outside / RAN).exists()


async def test_an_input_becomes_a_link_out(desk: Desk, order: Make, tmp_path: Path) -> None:
    script(desk.workspace / "task.py")
    data = script(desk.workspace / "data.txt", "same")
    outside = script(tmp_path / "data.txt", "same")
    await desk.approve(order(inputs=("data.txt",)))
    data.unlink()
    data.symlink_to(outside)
    await desk.unplannable("data.txt")


async def test_the_workspace_itself_becomes_a_link(desk: Desk, order: Make, tmp_path: Path) -> None:
    """The root may not be a link that moved: its identity is sealed."""
    script(desk.workspace / "task.py")
    other = tmp_path / "other"
    shutil.copytree(desk.workspace, other)
    await desk.approve(order())
    shutil.rmtree(desk.workspace)
    desk.workspace.symlink_to(other, target_is_directory=True)
    await desk.let_go()

    async def back() -> bool:
        (row,) = await desk.engine.work_orders()
        return bool(await desk.engine.approvals.inbox()) or row.state is WorkOrderState.DECISION_NEEDED

    await until(desk.engine, back)
    assert await desk.engine.attempts() == ()
    assert not (other / RAN).exists()


async def test_an_artifact_that_is_a_link_out_is_not_kept(desk: Desk, order: Make, tmp_path: Path) -> None:
    """E-52: artifacts must resolve inside the workspace, checked after the run."""
    secret = script(tmp_path / "secret.txt", "not for you")
    script(desk.workspace / "task.py", f"import os; os.symlink({str(secret)!r}, 'report.txt')")
    await desk.approve(order(artifacts=("report.txt",)))
    await desk.let_go()
    view = await concluded(desk)
    assert view.evidence is not None
    assert view.evidence["artifacts"] == []
    assert [item["path"] for item in view.evidence["artifact_problems"]] == ["report.txt"]


async def test_b022_argv_reaches_the_program_byte_for_byte(desk: Desk, order: Make) -> None:
    hostile = (
        'say "hi"', "100% %USERPROFILE% !x!", "a&b|c<d>e^f", "back\\", "back\\\\ ", "", "🙂 größe", "two\nlines",
        "$(touch ran)", "`touch ran`", "; touch ran", "*", "~", "-rf", "tab\there", "\u202eevil", "  ",
    )  # fmt: skip
    script(
        desk.workspace / "echo.py",
        "import json, os, sys; print(json.dumps([os.fsencode(a).hex() for a in sys.argv[1:]]))",
    )
    await desk.approve(order(sys.executable, "echo.py", *hostile))
    await desk.let_go()
    view = await concluded(desk)
    assert view.stdout_file is not None
    seen = json.loads(Path(view.stdout_file).read_text())
    assert [bytes.fromhex(item) for item in seen] == [os.fsencode(item) for item in hostile]
    assert view.evidence is not None
    assert tuple(view.evidence["argv"][2:]) == hostile
    assert not (desk.workspace / RAN).exists()


async def test_b020_swapped_while_it_starts_is_never_taken_for_done(desk: Desk, order: Make) -> None:
    """A thread swaps the script all the time; whatever other content ran, its attempt is not SUCCEEDED.

    Planning, admission and start all meet the swapping thread.
    """
    task = desk.workspace / "task.py"
    good = "print('sealed')"
    script(task, good)
    spare, other = desk.workspace.parent / "spare.py", desk.workspace.parent / "other.py"
    await desk.approve(order())
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for text in ("print('other')", good):
                fresh = spare if text == good else other
                fresh.write_text(text)
                fresh.replace(task)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        await desk.let_go()
        for _ in range(12):
            await settled(desk)
            for row in await desk.engine.approvals.inbox():
                await desk.engine.approvals.approve(row.approval_id, desk.person, seal=row.seal)
    finally:
        stop.set()
        thread.join()
    await settled(desk)
    for attempt in await desk.engine.attempts():
        view = await desk.engine.evidence.of(attempt.id)
        output = Path(view.stdout_file).read_text() if view.stdout_file else ""
        sealed_good = good_seal(view.plan, good)
        if attempt.outcome is Outcome.SUCCEEDED:
            assert ("sealed" in output) == sealed_good, "what ran is what that approval had sealed"


async def test_b020_swapped_after_its_admission(tmp_path: Path) -> None:
    """Once at a random moment of each of many attempts; ``python -m tests.e2e.swap_rounds`` is the whole of it."""
    counts = await swapped_attempts(60, 7, tmp_path)
    assert counts.total() == 60
    assert set(counts) <= {"clean", "refused", "flagged, approved ran", "flagged, other ran"}
    assert counts["refused"] >= 5, "some swaps came before the start"


def good_seal(plan: object, good: str) -> bool:
    (item,) = [item for item in plan["inputs"] if item["path"] == "task.py"]  # type: ignore[index]
    return bool(item["sha256"] == hashlib.sha256(good.encode()).hexdigest())


async def settled(desk: Desk) -> None:
    """Wait until nothing is running and nothing approved waits to run."""

    async def quiet() -> bool:
        (order,) = await desk.engine.work_orders()
        status = await desk.engine.status()
        waits = (
            bool(await desk.engine.approvals.inbox())
            or order.state is not WorkOrderState.ACTIVE
            or status.unknown
        )
        return bool(waits) and status.running == 0

    await until(desk.engine, quiet)


async def concluded(desk: Desk):
    ended = (AttemptState.EXECUTED, AttemptState.SETTLED, AttemptState.UNKNOWN)

    async def over() -> bool:
        return bool(await desk.engine.attempts(states=ended))

    await until(desk.engine, over)
    attempt = (await desk.engine.attempts())[-1]
    return await desk.engine.evidence.of(attempt.id)
