"""The budgets page over a real engine: the tree, one scope whole, and limits changed by a person (E-43, E-44)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QCheckBox, QLabel, QLineEdit, QPlainTextEdit, QPushButton

from app.panels.budgets.changing import LimitsDialog
from app.panels.budgets.page import BudgetsPage
from app.panels.budgets.tree import ScopeModel
from app.panels.budgets.words import spare_words
from app.session import Session
from app.settings import Settings
from app.theme import Theme
from app.widgets import Times, Zone
from engine.actors import Actor
from engine.clock import ManualClock
from engine.engine import Engine
from engine.states import AttemptState, Partition
from engine.work_order import BudgetLimits, WorkOrderSpec
from tests.app.conftest import until
from tests.app.shell.test_window import press, question


class Desk:
    """An engine, its session and the page, with a tester on the tree's model."""

    def __init__(self, engine: Engine, session: Session) -> None:
        self.engine = engine
        self.session = session
        self.opened: list[tuple[str, str]] = []
        session.navigated.connect(lambda page, subject: self.opened.append((page, subject)))
        self.page = BudgetsPage(session)
        self.tester = QAbstractItemModelTester(self.page._tree_model)
        self.page.resize(1100, 700)
        self.page.show()

    def said(self) -> str:
        return " ".join(label.text() for label in self.page.findChildren(QLabel) if label.isVisible())

    def names(self) -> list[str]:
        """The tree as it stands, each scope indented by how deep it lies."""
        model = self.page._tree_model
        return [
            "  " * len(_path(model, scope_id)) + str(model.data(model.find(scope_id)))
            for scope_id in model.loaded
        ]


def _path(model: ScopeModel, scope_id: str) -> list[object]:
    found, index = [], model.find(scope_id)
    while (index := model.parent(index)).isValid():
        found.append(index)
    return found


@pytest.fixture
async def desk(themed: Theme, folder: Path, clock: ManualClock, actor: Actor) -> AsyncIterator[Desk]:
    engine = await Engine.open(folder, clock=clock, automatic=False)
    session = Session(engine, actor, Settings(folder), Times(engine.clock.now, Zone.UTC))
    unsubscribe = engine.subscribe(lambda told: session.take(told.changes, told.last_sequence))
    made = Desk(engine, session)
    await session.settled()
    yield made
    unsubscribe()
    await session.close()
    made.page.hide()
    made.page.deleteLater()
    await engine.close()
    session.deleteLater()


async def test_new_scopes_come_into_the_open_tree_and_one_is_shown_whole(
    desk: Desk, work_order: Callable[..., WorkOrderSpec], agent: Actor
) -> None:
    assert desk.names() == ["everything"]
    assert "The whole budget · 0 projects" in desk.said()
    order = await desk.engine.submit(work_order(project="payments"), agent)
    await until(lambda: "  payments" in desk.names())
    desk.page.show_subject(order.id)
    await until(lambda: any(name.startswith("    WO-1") for name in desk.names()))
    await until(lambda: "Execution, from the whole budget down" in desk.said())
    assert desk.page.selection is not None
    assert desk.page.selection.label == "WO-1"
    press(desk.page, "Work order")
    assert desk.opened == [("work_orders", order.id)]


async def test_an_attempt_that_draws_is_listed_and_leads_to_its_page(
    desk: Desk, work_order: Callable[..., WorkOrderSpec], agent: Actor, actor: Actor
) -> None:
    """B-100: what an UNKNOWN holds stays held, and says so."""
    order = await desk.engine.submit(work_order("import os; os.kill(os.getpid(), 9)"), agent)
    (row,) = await desk.engine.approvals.inbox()
    await desk.engine.approvals.approve(row.approval_id, actor, seal=row.seal)
    await desk.engine.work_once()
    await until(lambda: desk.page._tabs.tabText(0) == "Draws on it now · 1")
    await until(lambda: desk.page._draws.row(0).state is AttemptState.UNKNOWN)
    draw = desk.page._draws.row(0)
    desk.page._open_draw(0)
    assert desk.opened == [("unknown", draw.attempt_id)]
    assert draw.work_order_id == order.id


async def test_limits_are_changed_with_what_it_means_before_the_eyes(desk: Desk) -> None:
    change = next(one for one in desk.page.findChildren(QPushButton) if one.text() == "Change limits…")
    await until(lambda: desk.page._view is not None)
    change.click()
    dialog = await question()
    done = next(one for one in dialog.findChildren(QPushButton) if one.text() == "Change limits")
    cost = next(one for one in dialog.findChildren(QLineEdit) if one.accessibleName() == "Cost")
    for wrong in ("", "-1", "1.5", "12 s", str(10**15 + 1), "9" * 400):
        cost.setText(wrong)
        assert not done.isEnabled()
        assert "cannot be read" in _said(dialog)
    cost.setText("0")
    assert "Nothing is left: no step that costs anything starts." in _said(dialog)
    assert not done.isEnabled(), "a reason is needed"
    dialog.findChildren(QPlainTextEdit)[-1].setPlainText("a quiet week")
    QTest.keyClick(dialog, Qt.Key.Key_Return)
    assert dialog.isVisible(), "Enter alone decides nothing (B-005)"
    done.click()
    await until(lambda: desk.page._view is not None and desk.page._view.row.execution.cost_limit == 0)
    assert desk.page._view is not None
    assert desk.page._view.history[0].reason == "a quiet week"
    await until(lambda: "No step can start here" in desk.said() or "at most 0 units" in desk.said())


async def test_a_limit_below_what_is_counted_needs_a_tick(
    desk: Desk, work_order: Callable[..., WorkOrderSpec], agent: Actor, actor: Actor
) -> None:
    await desk.engine.submit(work_order("import os; os.kill(os.getpid(), 9)"), agent)
    (row,) = await desk.engine.approvals.inbox()
    await desk.engine.approvals.approve(row.approval_id, actor, seal=row.seal)
    await desk.engine.work_once()
    used = (await desk.engine.budgets.scope("root")).row.execution.used_ms
    await until(lambda: desk.page._view is not None and desk.page._view.row.execution.used_ms == used)
    press(desk.page, "Change limits…")
    dialog = await question()
    done = next(one for one in dialog.findChildren(QPushButton) if one.text() == "Change limits")
    time = next(one for one in dialog.findChildren(QLineEdit) if one.accessibleName() == "Active time")
    below = next(iter(dialog.findChildren(QCheckBox)))
    dialog.findChildren(QPlainTextEdit)[-1].setPlainText("stop here")
    time.setText(f"{used}ms")
    assert below.isHidden()
    assert "No active time is left" in _said(dialog)
    time.setText(f"{used - 1}ms")
    assert not below.isHidden()
    assert not done.isEnabled()
    below.setChecked(True)
    done.click()
    await until(lambda: desk.page._view is not None and desk.page._view.row.execution.free_ms == -1)
    assert desk.page._view is not None
    assert "has nothing left" in spare_words(desk.page._view.path, Partition.EXECUTION)


async def test_projects_are_made_and_removed_here(desk: Desk, actor: Actor) -> None:
    await until(lambda: desk.page._view is not None)
    press(desk.page, "New project…")
    dialog = await question()
    name, cost = dialog.findChildren(QLineEdit)[:2]
    name.setText("docs")
    cost.setText("5000")
    assert "The whole budget allows less for cost" in _said(dialog)
    cost.setText("40")
    dialog.findChildren(QPlainTextEdit)[-1].setPlainText("this quarter")
    press(dialog, "Make project")
    await until(lambda: desk.page._view is not None and desk.page._view.row.name == "docs")
    assert "  docs" in desk.names()
    view = await desk.engine.budgets.scope("project:docs")
    wide = replace(view.row.limits, execution_cost=41)
    await desk.engine.budgets.set_limits("project:docs", wide, actor, reason="one more")
    await until(lambda: desk.page._tabs.tabText(2) == "Limits · 2")
    press(desk.page, "Remove…")
    asked = await question()
    asked.findChildren(QPlainTextEdit)[-1].setPlainText("not after all")
    press(asked, "Remove")
    await until(lambda: desk.names() == ["everything"])


async def test_a_thousand_scopes_come_page_by_page(desk: Desk, actor: Actor) -> None:
    limits = BudgetLimits(1, 1000)
    for at in range(205):
        await desk.engine.budgets.add_project(f"p{at}", limits, actor, reason="many")
    fresh = BudgetsPage(desk.session)
    await until(lambda: len(fresh._tree_model.loaded) == 201)
    root = fresh._tree_model.index(0, 0)
    assert fresh._tree_model.canFetchMore(root)
    fresh._tree_model.fetchMore(root)
    await until(lambda: len(fresh._tree_model.loaded) == 206)
    assert not fresh._tree_model.canFetchMore(root)
    fresh.deleteLater()


def _said(dialog: object) -> str:
    assert isinstance(dialog, LimitsDialog)
    return dialog._means.text()
