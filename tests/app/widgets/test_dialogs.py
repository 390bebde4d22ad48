"""Dialogs are awaited, never run: other tasks go on, Enter decides nothing, closing is harmless."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QDialog, QPlainTextEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from app.widgets import Option, Question, ask_reason, choose, confirm, opened, show_error
from engine.errors import Refused

pytestmark = pytest.mark.usefixtures("themed")


@pytest.fixture
def window(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    made.show()
    return made


async def shown() -> Question:
    """The dialog that is open, as soon as it is."""
    while True:
        await asyncio.sleep(0.001)
        for widget in QApplication.topLevelWidgets():
            if isinstance(widget, Question) and widget.isVisible():
                return widget


def pressable(dialog: QWidget, text: str) -> QPushButton:
    return next(child for child in dialog.findChildren(QPushButton) if child.text() == text)


async def test_a_reason_is_required(window: QWidget, qtbot: QtBot) -> None:
    asked = asyncio.create_task(ask_reason(window, "Reject", "Nothing runs.", action="Reject"))
    dialog = await shown()
    reject = pressable(dialog, "Reject")
    field = dialog.findChild(QPlainTextEdit)
    assert isinstance(field, QPlainTextEdit)
    assert not reject.isEnabled()
    field.setPlainText("   ")
    assert not reject.isEnabled()
    field.setPlainText(" wrong branch ")
    reject.click()
    assert await asked == "wrong branch"


async def test_an_optional_reason_may_be_empty(window: QWidget) -> None:
    asked = asyncio.create_task(ask_reason(window, "Pause", "", action="Pause", required=False))
    pressable(await shown(), "Pause").click()
    assert await asked == ""


async def test_going_back_gives_none(window: QWidget) -> None:
    asked = asyncio.create_task(ask_reason(window, "Reject", "", action="Reject"))
    pressable(await shown(), "Go back").click()
    assert await asked is None


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space])
async def test_enter_confirms_nothing(window: QWidget, qtbot: QtBot, key: Qt.Key) -> None:
    """B-005: a reflexive key press grants nothing; the focus is on the way back."""
    asked = asyncio.create_task(
        confirm(window, "Cancel WO-118?", "3 tasks end.", action="Cancel it", danger=True)
    )
    dialog = await shown()
    qtbot.keyClick(dialog, key)
    dialog.reject()
    assert await asked is False


async def test_confirming(window: QWidget) -> None:
    asked = asyncio.create_task(confirm(window, "Resume?", "", action="Resume", details=["one", "two"]))
    pressable(await shown(), "Resume").click()
    assert await asked is True


async def test_choosing(window: QWidget) -> None:
    options = [
        Option("wait", "Wait", "until all have ended"),
        Option("stop", "Stop", "they become UNKNOWN", True),
    ]
    asked = asyncio.create_task(choose(window, "Quit?", "2 run.", options, details=["a", "b"]))
    pressable(await shown(), "Stop").click()
    assert await asked == "stop"
    asked = asyncio.create_task(choose(window, "Quit?", "2 run.", options))
    pressable(await shown(), "Go back").click()
    assert await asked is None


async def test_other_tasks_go_on_while_a_dialog_is_open(window: QWidget) -> None:
    asked = asyncio.create_task(confirm(window, "Go on?", "", action="Yes"))
    dialog = await shown()
    ticks = 0
    for _ in range(50):
        await asyncio.sleep(0)
        ticks += 1
    assert ticks == 50
    assert not asked.done()
    dialog.reject()
    await asked


@pytest.mark.parametrize(
    "ask",
    [
        lambda parent: confirm(parent, "Go on?", "", action="Yes"),
        lambda parent: ask_reason(parent, "Why?", "", action="Yes"),
        lambda parent: choose(parent, "Which?", "", [Option("a", "A", "the first")]),
    ],
)
async def test_a_window_that_goes_away_answers_no(ask: Callable[[QWidget], Awaitable[object]]) -> None:
    parent = QWidget()
    parent.show()
    asked = asyncio.ensure_future(ask(parent))
    await shown()
    parent.hide()
    parent.deleteLater()
    assert await asked in (False, None)


async def test_cancelling_the_asker_closes_the_dialog(window: QWidget) -> None:
    asked = asyncio.create_task(confirm(window, "Go on?", "", action="Yes"))
    dialog = await shown()
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert not isValid(dialog) or not dialog.isVisible()


async def test_own_dialogs_can_be_awaited(window: QWidget) -> None:
    dialog = Question(window, "Own")
    dialog.add_action("Take", "Take it")
    waiting = asyncio.create_task(opened(dialog))
    await shown()
    pressable(dialog, "Take").click()
    assert await waiting is True


async def test_an_error_says_what_means_do_and_can_be_copied(window: QWidget) -> None:
    error = Refused("The lane is taken.", means="WO-12 works there.", do="Wait for it.", lane="repo X")
    dialog = show_error(window, error)
    assert isinstance(dialog, QDialog)
    assert dialog.windowTitle() == "The lane is taken."
    pressable(dialog, "Copy details").click()
    copied = QGuiApplication.clipboard().text()
    for part in ("The lane is taken.", "WO-12 works there.", "Wait for it.", "refused", "lane: repo X"):
        assert part in copied
    pressable(dialog, "Close").click()
    await asyncio.sleep(0)
    assert not [
        widget for widget in QApplication.topLevelWidgets() if widget.isVisible() and widget is not window
    ]
