"""The correction rule: what an earlier approval covers, what it never does, and the ways on (E-62, E-63)."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.control.holds import Node
from engine.engine import Engine
from engine.errors import InvalidValue, WrongState
from engine.states import ApprovalState, NodeKind, Purpose, WorkOrderState
from engine.work_order import CommandSpec, CorrectionRule, ValidationSpec, WorkOrderSpec
from tests.conftest import python_command
from tests.e2e.support import PERSON, manual, spec, step

# Each run adds a line; the check wants three. So the second run of the same command mends it a bit more.
ADD = "open('lines', 'a').write('x\\n')"
WANT = "import sys; sys.exit(open('lines').read().count('x') < {})"


@pytest.fixture
async def engine(folder: Path) -> AsyncIterator[Engine]:
    opened = await manual(folder)
    yield opened
    await opened.close()


def order(workspace: Path, wanted: int, corrections: int, *, reapproval: bool = False) -> WorkOrderSpec:
    return spec(
        workspace,
        ADD,
        WANT.format(wanted),
        correction=CorrectionRule(corrections, reapproval_required=reapproval),
    )


async def approvals(engine: Engine, work_order: str) -> list[tuple[str, str | None, bool]]:
    """Purpose, who decided, and whether it was covered, in the order of asking."""

    def read(rx):
        return [
            (row["purpose"], row["decided_by"], row["covered_by"] is not None)
            for row in rx.all(
                """SELECT task.purpose, approval.* FROM approval JOIN task ON task.id = approval.task_id
                   WHERE approval.work_order_id = ? ORDER BY approval.asked_at, approval.id""",
                (work_order,),
            )
        ]

    return await engine._storage.read(read)


async def test_without_reapproval_one_look_carries_the_same_command_through(
    engine: Engine, workspace: Path
) -> None:
    """E-62: same argv, program, inputs and limits, workspace as the failed validation left it: no new question."""
    row = await engine.submit(order(workspace, 3, 2), PERSON)
    await step(engine, covers=True)
    for _ in range(5):
        assert await engine.approvals.inbox() == ()
        await step(engine)
    story = await engine.work_order(row.id)
    assert story.row.state is WorkOrderState.AWAITING_ACCEPTANCE
    assert [task.purpose for task in story.tasks] == [
        Purpose.IMPLEMENT,
        Purpose.VALIDATE,
        Purpose.CORRECT,
        Purpose.VALIDATE,
        Purpose.CORRECT,
        Purpose.VALIDATE,
    ]
    found = await approvals(engine, row.id)
    assert [covered for _, _, covered in found] == [False, True, True, True, True, True]
    assert {by for _, by, _ in found} == {"ada"}
    card = await engine.approvals.card(story.tasks[2].approval_id)
    assert card.plan["state"]["kind"] == "as_left_by_failed_validation"
    assert (await engine.verify_journal()).sound


async def test_a_step_approved_alone_covers_no_validation_of_its_correction(
    engine: Engine, workspace: Path
) -> None:
    """E-42b: never a wider one."""
    row = await engine.submit(order(workspace, 2, 1), PERSON)
    await step(engine)
    await step(engine)
    assert await engine.approvals.inbox() == ()
    await engine.work_once()
    await engine.reconcile_once()
    (waiting,) = await engine.approvals.inbox()
    assert waiting.purpose is Purpose.VALIDATE
    assert (await approvals(engine, row.id))[2] == ("CORRECT", "ada", True)


async def test_with_reapproval_every_correction_is_asked_for(engine: Engine, workspace: Path) -> None:
    await engine.submit(order(workspace, 2, 1, reapproval=True), PERSON)
    await step(engine, covers=True)
    await step(engine)
    (waiting,) = await engine.approvals.inbox()
    assert waiting.purpose is Purpose.CORRECT


async def test_a_correction_with_another_command_is_asked_for_once(engine: Engine, workspace: Path) -> None:
    """A command that nobody has approved is covered by nothing; afterwards its own approval covers it."""
    wanted = order(workspace, 3, 2)
    other = replace(wanted.correction, command=python_command(ADD + "; print('again')"))
    await engine.submit(replace(wanted, correction=other), PERSON)
    await step(engine, covers=True)
    await step(engine)
    (waiting,) = await engine.approvals.inbox()
    assert waiting.purpose is Purpose.CORRECT
    await step(engine, covers=True)
    await step(engine)
    assert await engine.approvals.inbox() == ()
    await step(engine)
    story = await engine.work_order("WO-1")
    assert [task.purpose for task in story.tasks].count(Purpose.CORRECT) == 2


async def test_a_workspace_that_others_changed_returns_the_correction_to_the_queue(
    engine: Engine, workspace: Path
) -> None:
    """E-41, B-029: drift before it is asked, and drift between the grant and the start."""
    row = await engine.submit(order(workspace, 2, 1), PERSON)
    await step(engine, covers=True)
    await engine.work_once()
    (workspace / "by-hand").write_text("mine")
    await engine.reconcile_once()
    (waiting,) = await engine.approvals.inbox()
    assert (waiting.purpose, waiting.changed) == (Purpose.CORRECT, False)
    await step(engine, covers=True)
    await step(engine)
    assert (await engine.work_order(row.id)).row.state is WorkOrderState.AWAITING_ACCEPTANCE


async def test_drift_after_the_cover_refuses_the_run_with_the_difference(
    engine: Engine, workspace: Path
) -> None:
    row = await engine.submit(order(workspace, 2, 1), PERSON)
    await step(engine, covers=True)
    await engine.work_once()
    await engine.reconcile_once()
    assert (await approvals(engine, row.id))[-1] == ("CORRECT", "ada", True)
    before = (workspace / "lines").read_text()
    (workspace / "by-hand").write_text("mine")
    await engine.work_once()
    (waiting,) = await engine.approvals.inbox()
    assert (waiting.purpose, waiting.changed) == (Purpose.CORRECT, True)
    card = await engine.approvals.card(waiting.approval_id)
    assert "kind of workspace state" in {line.field for line in card.differences}
    assert (workspace / "lines").read_text() == before
    assert (await engine.approvals.card(card.previous_id)).state is ApprovalState.CHANGED
    await engine.reconcile_once()
    assert len(await engine.approvals.inbox()) == 1


async def test_an_input_that_changed_is_never_covered(engine: Engine, workspace: Path) -> None:
    """E-40a: the inputs are in the seal; a check that edits the script has it asked for anew."""
    script = workspace / "fix.py"
    script.write_text("open('lines', 'a').write('x\\n')\n")
    check = python_command("import sys; open('fix.py', 'a').write('# edited\\n'); sys.exit(1)")
    wanted = replace(
        order(workspace, 2, 1),
        implementation=CommandSpec((sys.executable, "fix.py"), max_cost=1, time_limit_ms=30_000),
        validation=ValidationSpec("never", command=check),
    )
    await engine.submit(wanted, PERSON)
    await step(engine, covers=True)
    await engine.work_once()
    await engine.reconcile_once()
    (waiting,) = await engine.approvals.inbox()
    assert waiting.purpose is Purpose.CORRECT


async def exhausted(engine: Engine, workspace: Path) -> str:
    row = await engine.submit(order(workspace, 9, 0), PERSON)
    await step(engine, covers=True)
    await step(engine)
    story = await engine.work_order(row.id)
    assert story.row.state is WorkOrderState.DECISION_NEEDED
    assert story.validations[-1].correction_exhausted
    assert {"hold", "cancel", "replan", "allow_correction", "reject"} <= set(story.can)
    return row.id


async def test_exhausted_allow_one_more(engine: Engine, workspace: Path) -> None:
    """E-63: one more, and exactly one."""
    identity = await exhausted(engine, workspace)
    await engine.allow_correction(identity, PERSON, "once more")
    await step(engine, covers=True)
    await step(engine, covers=True)
    story = await engine.work_order(identity)
    assert story.row.state is WorkOrderState.DECISION_NEEDED
    assert (story.corrections_made, story.corrections_allowed) == (1, 1)


async def test_exhausted_hold_then_resume_then_cancel(engine: Engine, workspace: Path) -> None:
    identity = await exhausted(engine, workspace)
    node = Node(NodeKind.WORK_ORDER, identity)
    await engine.hold(node, PERSON, reason="ask Grace")
    await engine.allow_correction(identity, PERSON, "once more")
    await engine.reconcile_once()
    assert await engine.approvals.inbox() == ()
    assert await engine.work_once() == 0
    await engine.resume(node, PERSON, reason="she agrees")
    await engine.cancel(node, PERSON, reason="no longer wanted")
    assert (await engine.work_order(identity)).row.state is WorkOrderState.CANCELLED


async def test_exhausted_replan_puts_another_in_its_place_once(engine: Engine, workspace: Path) -> None:
    """E-63: old one ended and new one asked for in one commit; a repeat gives the first one back."""
    identity = await exhausted(engine, workspace)
    with pytest.raises(InvalidValue, match="give a reason"):
        await engine.replan(identity, order(workspace, 2, 0), PERSON, reason=" ")
    new = await engine.replan(identity, order(workspace, 2, 0), PERSON, reason="one is enough", key="k")
    again = await engine.replan(identity, order(workspace, 2, 0), PERSON, reason="one is enough", key="k")
    assert again.id == new.id
    old = await engine.work_order(identity)
    assert old.row.state is WorkOrderState.REJECTED
    assert old.row.why == "Replanned as WO-2: one is enough"
    assert [one.kind for one in old.decisions] == ["replanned", "rejected"]
    (waiting,) = await engine.approvals.inbox()
    assert waiting.work_order_id == new.id
    with pytest.raises(WrongState):
        await engine.replan(identity, order(workspace, 2, 0), PERSON, reason="again")


async def test_replanning_what_waits_cancels_it(engine: Engine, workspace: Path) -> None:
    row = await engine.submit(
        spec(workspace, validation=ValidationSpec("x", command=python_command(""))), PERSON
    )
    await engine.replan(row.id, spec(workspace), PERSON, reason="another way")
    assert (await engine.work_order(row.id)).row.state is WorkOrderState.CANCELLED
    (waiting,) = await engine.approvals.inbox()
    assert waiting.number == 2
