"""The retention dialog on a real engine: what is old, the settings, and removing it (E-84, console.md §8)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QDialog,
    QLabel,
    QPushButton,
    QSpinBox,
    QWidget,
)

from app.panels.journal.verifying import Verifying
from app.panels.work_orders.page import WorkOrdersView
from app.widgets import Question
from app.wizards.retention import RetentionDialog, keep_or_remove
from engine.clock import ManualClock, SystemClock
from engine.control.holds import Node, place_hold
from engine.engine import Engine
from engine.retention import KEEP_EVERYTHING, RetentionSettings
from engine.retention.settings import DAY_MS
from engine.states import HoldKind, NodeKind
from tests.app.conftest import until
from tests.app.panels.work_orders.console import Console
from tests.ledger import PERSON
from tests.retention.conftest import Attic


@pytest.fixture
def window(console: Console) -> Any:
    made = QWidget()
    made.show()
    yield made
    made.close()
    made.deleteLater()


async def dialog(kind: type[QDialog], title: str = "") -> Any:
    def found() -> list[QDialog]:
        return [
            one
            for one in QApplication.topLevelWidgets()
            if isinstance(one, kind) and one.isVisible() and one.windowTitle().startswith(title)
        ]

    await until(found)
    return found()[0]


def press(widget: QWidget, text: str) -> None:
    (found,) = [one for one in widget.findChildren(QPushButton) if one.text() == text]
    assert found.isEnabled(), text
    found.click()


def said(widget: QWidget) -> str:
    return "\n".join(one.text() for one in widget.findChildren(QLabel) if one.isVisible())


def box(widget: QWidget, text: str) -> QCheckBox:
    (found,) = [one for one in widget.findChildren(QCheckBox) if one.text() == text]
    return found


async def test_e84_nothing_is_set_until_a_person_sets_it(console: Console, window: QWidget) -> None:
    retention = console.engine.retention
    working = asyncio.ensure_future(keep_or_remove(window, console.session))
    asking = await dialog(RetentionDialog)
    await until(lambda: asking.seen is not None)
    assert asking.settings == KEEP_EVERYTHING
    assert "they are kept for good" in said(asking)
    box(asking, "Remove work orders").click()
    assert asking.seen is None
    days = {one.accessibleName(): one for one in asking.findChildren(QSpinBox)}
    days["Remove work orders: days after they ended"].setValue(30)
    days["Grace of kept files"].setValue(2)
    box(asking, "Once a day, by itself").click()
    await until(lambda: asking.seen is not None)
    assert "none is old enough and over" in said(asking)
    press(asking, "Set")
    await working
    assert await retention.settings() == RetentionSettings(30 * DAY_MS, None, 2 * DAY_MS)
    assert await retention.by_itself()
    working = asyncio.ensure_future(keep_or_remove(window, console.session))
    asking = await dialog(RetentionDialog)
    assert asking.settings.work_ms == 30 * DAY_MS
    box(asking, "Once a day, by itself").click()
    press(asking, "Set")
    await working
    assert not await retention.by_itself()


async def test_what_would_go_is_shown_asked_once_more_and_removed(window: QWidget, console: Console) -> None:
    """And what is old and stays is named with why."""
    folder = await _old_data(console)
    console.session.engine = engine = await Engine.open(folder, automatic=False)
    try:
        working = asyncio.ensure_future(keep_or_remove(window, console.session))
        asking = await dialog(RetentionDialog)
        box(asking, "Remove work orders").click()
        box(asking, "Compact the journal").click()
        {one.accessibleName(): one for one in asking.findChildren(QSpinBox)}[
            "Compact the journal: days after a row was written"
        ].setValue(90)
        await until(lambda: asking.seen is not None)
        shown = said(asking)
        assert "3 with 6 attempts, ended" in shown
        assert "1 old work order: a hold on it is in force (WO-4)" in shown
        press(asking, "Remove now…")
        sure = await dialog(Question, "Remove what is old?")
        press(sure, "Remove")
        result = await dialog(Question, "Retention is done")
        assert "3 with 6 attempts" in said(result)
        press(result, "Close")
        await working
        assert [row.number for row in await engine.work_orders()] == [4]
        assert (await engine.retention.settings()).work_ms == 90 * DAY_MS
    finally:
        await console.settle()
        await engine.close()


async def _old_data(console: Console) -> Path:
    folder = console.workspace.parent / "old data"
    attic = await Attic.open(folder, ManualClock(SystemClock().now() - 100 * DAY_MS))
    for number in range(3):
        await attic.finished(f"old {number}")
    held = await attic.finished("held")
    await attic.ledger.write(place_hold, Node(NodeKind.WORK_ORDER, held), HoldKind.HOLD, "look", PERSON)
    await attic.close()
    return folder


async def test_going_back_from_the_question_changes_nothing(console: Console, window: QWidget) -> None:
    folder = await _old_data(console)
    console.session.engine = engine = await Engine.open(folder, automatic=False)
    try:
        working = asyncio.ensure_future(keep_or_remove(window, console.session))
        asking = await dialog(RetentionDialog)
        box(asking, "Remove work orders").click()
        await until(lambda: asking.seen is not None)
        press(asking, "Remove now…")
        (await dialog(Question, "Remove what is old?")).reject()
        await working
        assert await engine.retention.settings() == KEEP_EVERYTHING
        assert len(await engine.work_orders()) == 4
    finally:
        await console.settle()
        await engine.close()


async def test_the_list_and_the_journal_tell_of_what_was_removed(console: Console, window: QWidget) -> None:
    """A removed order leaves the page that shows it, and verifying says how many rows stand behind checkpoints."""
    folder = await _old_data(console)
    console.session.engine = engine = await Engine.open(folder, automatic=False)
    unsubscribe = engine.subscribe(
        lambda changes: console.session.take(changes.changes, changes.last_sequence)
    )
    page = WorkOrdersView(console.session)
    page.show()
    verifying = Verifying(console.session)
    try:
        await until(lambda: page._model.rowCount() == 4)
        await engine.retention.set(RetentionSettings(90 * DAY_MS, 90 * DAY_MS), console.session.actor)
        await engine.retention.run(console.session.actor)
        await until(lambda: page._model.rowCount() == 1)
        verifying.begin()
        await until(lambda: verifying.result)
        assert "signed checkpoints stand for them, and the signatures are true" in verifying.result
    finally:
        await console.settle()
        unsubscribe()
        for widget in (page, verifying):
            widget.close()
            widget.deleteLater()
        await engine.close()
