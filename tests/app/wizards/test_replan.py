"""Replan: the dialog comes filled in from the old work order, and one press ends that one and asks for the new."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QPushButton, QWidget

from app.panels.work_orders.decisions import decide
from app.widgets import Question
from app.wizards.new_work_order import NewWorkOrderDialog
from app.wizards.work_order_form import WorkOrderForm
from engine.states import WorkOrderState
from engine.work_order import CommandSpec, CorrectionRule, Secret, ValidatedBy, ValidationSpec
from tests.app.conftest import until
from tests.app.panels.work_orders.console import Console, console, python

__all__ = ["console"]


def shown(kind: type[QWidget]) -> QWidget | None:
    return next(
        (one for one in QApplication.topLevelWidgets() if type(one) is kind and one.isVisible()), None
    )


def press(widget: QWidget, text: str) -> None:
    (found,) = [one for one in widget.findChildren(QPushButton) if one.text() == text and one.isVisible()]
    found.click()


async def test_replanning_from_the_story(console: Console) -> None:
    """E-63: exhausted → replan; nothing of the old one is lost on the way, and it ends with the submit."""
    identity = await console.finished("Mend it", check="raise SystemExit(1)")
    story = await console.story(identity)
    assert story.row.state is WorkOrderState.DECISION_NEEDED
    parent = QWidget()
    task = asyncio.ensure_future(decide(console.session, "replan", story, parent))
    await until(lambda: shown(Question))
    asked = shown(Question)
    asked.findChild(QPlainTextEdit).setPlainText("The check was wrong.")
    press(asked, "Fill in the new one…")
    await until(lambda: shown(NewWorkOrderDialog))
    dialog = shown(NewWorkOrderDialog)
    assert dialog.windowTitle() == "New work order in place of WO-1"
    spec, problems = dialog.form.read()
    assert problems == 0
    assert replace(spec, approval_life_ms=0) == replace(
        console.order("Mend it", check="raise SystemExit(1)"), approval_life_ms=0
    )
    assert (await console.story(identity)).row.state is WorkOrderState.DECISION_NEEDED
    press(dialog, "Submit")
    await until(task.done)
    await task
    assert (await console.story(identity)).row.state is WorkOrderState.REJECTED
    (waiting,) = await console.engine.approvals.inbox()
    assert waiting.number == 2
    parent.deleteLater()


async def test_going_back_changes_nothing(console: Console) -> None:
    identity = await console.finished("Mend it", check="raise SystemExit(1)")
    parent = QWidget()
    story = await console.story(identity)
    task = asyncio.ensure_future(decide(console.session, "replan", story, parent))
    await until(lambda: shown(Question))
    press(shown(Question), "Go back")
    await until(task.done)
    assert (await console.story(identity)).row.state is WorkOrderState.DECISION_NEEDED
    parent.deleteLater()


@pytest.mark.parametrize(
    "changes",
    [
        {"validation": ValidationSpec("it reads well", by=ValidatedBy.PERSON)},
        {
            "implementation": replace(
                python("x"),
                folder="sub",
                inputs=("a.py", "b"),
                artifacts=("out/*",),
                output_limit_bytes=3 << 20,
                environment={"TOKEN": Secret("MY_TOKEN"), "PLAIN": "yes"},
            ),
            "correction": CorrectionRule(
                2, reapproval_required=False, command=CommandSpec(("mend",), max_cost=2)
            ),
        },
    ],
)
async def test_the_form_says_again_what_it_was_filled_with(console: Console, changes: dict) -> None:
    """Whatever a work order says, filling the form and reading it gives the same work order."""
    spec = console.order("Mend it", **changes)
    form = WorkOrderForm(console.session.times)
    form.fill(spec)
    read, problems = form.read()
    assert problems == 0
    assert read == spec
    form.deleteLater()
