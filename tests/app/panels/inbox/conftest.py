"""The inbox over an engine in memory, shown in an active window."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QPushButton, QWidget

from app.panels.inbox.page import InboxView
from app.panels.inbox.sheet import Act
from app.session import Session
from app.settings import Settings
from app.theme import Theme
from app.widgets import Question, Times, Zone
from engine.clock import ManualClock
from engine.views.values import ApprovalCard
from tests.app.panels.inbox.fake_engine import FakeEngine
from tests.app.panels.inbox.samples import PERSON


class Desk:
    """One inbox as a person sits before it: what they see, what they press, and what the engine heard."""

    def __init__(self, engine: FakeEngine, session: Session, clock: ManualClock) -> None:
        self.engine = engine
        self.session = session
        self.clock = clock
        self.view = InboxView(session)
        self.view.resize(1112, 650)
        self.card = self.view._card
        self.list = self.view._list
        self.model = self.view._model

    async def settle(self) -> None:
        """Tell the console what changed and wait until it shows it."""
        for _ in range(5):
            if changes := self.engine.changes:
                self.engine.changes = []
                self.session.take(changes, 0)
            await asyncio.sleep(0.02)
            await self.session.settled()

    async def arm(self) -> None:
        """Come back to the window, if a dialog was before it, and let the arming delay pass."""
        self.view.activateWindow()
        await asyncio.sleep(0.02)
        self.clock.advance(1_000)
        self.card._refresh()

    async def look_to_the_end(self) -> None:
        """Scroll until nothing that must be seen is unseen, then let the arming delay pass."""
        for _ in range(6):
            if not self.card.readiness().unseen:
                break
            self.card._show_unseen()
            await asyncio.sleep(0.02)
        await self.arm()

    def approve_key(self, *, at: QWidget | None = None, repeat: bool = False) -> None:
        """Press Ctrl+Enter, on the widget in focus or on ``at``."""
        where = at or QApplication.focusWidget() or self.card
        QApplication.sendEvent(
            where,
            QKeyEvent(
                QEvent.Type.KeyPress, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier, "\r", repeat
            ),
        )

    def click(self, act: Act) -> None:
        """Click a button of the card with the mouse."""
        pressed = self.card.button(act)
        assert pressed is not None, f"{act} is not offered"
        QTest.mouseClick(pressed, Qt.MouseButton.LeftButton)

    def titles(self) -> list[str]:
        return [self.model.entry(row).row.title for row in range(self.model.rowCount())]

    def acts(self) -> set[Act]:
        return {act for act in Act if self.card.button(act) is not None}

    def shown(self) -> str | None:
        card = self.card.card
        visible = self.view._stack.currentWidget() is self.card
        return card.approval_id if card is not None and visible else None

    def commands(self) -> list[Any]:
        return [call[0] for call in self.engine.calls]


async def dialog() -> Question:
    """The dialog that is open, as soon as it is."""
    async with asyncio.timeout(5):
        while True:
            await asyncio.sleep(0.001)
            for widget in QApplication.topLevelWidgets():
                if isinstance(widget, Question) and widget.isVisible():
                    return widget


async def answer(reason: str, action: str) -> None:
    """Give a reason in the dialog that is open, and press its action."""
    asked = await dialog()
    field = next(found for found in asked.findChildren(QPlainTextEdit) if not found.isReadOnly())
    field.setPlainText(reason)
    next(found for found in asked.findChildren(QPushButton) if found.text() == action).click()


MakeDesk = Callable[..., Any]


@pytest.fixture
async def desk(themed: Theme, clock: ManualClock, tmp_path: Path) -> AsyncIterator[MakeDesk]:
    """Make a `Desk` over these cards; it is shown in an active window and has read everything."""
    made: list[Desk] = []

    async def make(cards: Iterable[ApprovalCard] = (), *, size: tuple[int, int] = (1112, 650)) -> Desk:
        times = Times(clock.now, Zone.UTC)
        session = Session(FakeEngine(clock, cards), PERSON, Settings(tmp_path), times)  # type: ignore[arg-type]
        times.setParent(session)
        session.refresh_status()
        one = Desk(session.engine, session, clock)  # type: ignore[arg-type]
        made.append(one)
        one.view.resize(*size)
        one.view.show()
        one.view.activateWindow()
        await one.settle()
        clock.advance(1_000)
        return one

    yield make
    for one in made:
        await one.session.settled()
        one.view.hide()
        one.view.deleteLater()
        one.session.deleteLater()
