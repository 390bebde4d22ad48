"""The tray: count and state while the window is closed; a hint, never the record."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QSystemTrayIcon
from pytestqt.qtbot import QtBot

from app.session import Session
from app.shell.tray import Tray, tray_icon
from app.shell.window import MainWindow
from app.theme import Shape
from engine.states import HoldKind
from tests.app.conftest import until
from tests.app.fake_engine import FakeEngine, hold, status
from tests.app.shell.test_commands import say
from tests.app.shell.test_window import dialogs, press, question

pytestmark = pytest.mark.qt_log_ignore("systemTrayWindowChanged", extend=True)
"""Qt looks for a system tray of X11 on the offscreen platform."""


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was shown at the tray; bursts end at once."""
    shown: list[str] = []
    monkeypatch.setattr(
        QSystemTrayIcon, "showMessage", lambda self, title, text, icon: shown.append(title), raising=True
    )
    monkeypatch.setattr("app.shell.tray.BURST_MS", 1)
    return shown


@pytest.fixture
def tray(window: MainWindow, messages: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Tray]:
    monkeypatch.setattr(Tray, "is_available", staticmethod(lambda: True))
    window.show_tray()
    assert window.tray is not None
    yield window.tray
    window.tray.hide()


def test_pictures_differ_by_count_and_state(qtbot: QtBot) -> None:
    pictures = {
        bytes(tray_icon(count, state).pixmap(32, 32).toImage().constBits())
        for count in (0, 1, 12, 99)
        for state in (None, Shape.PAUSE, Shape.DIAMOND)
    }
    assert len(pictures) == 12
    many = [bytes(tray_icon(count, None).pixmap(16, 16).toImage().constBits()) for count in (99, 100, 5000)]
    assert len(set(many)) == 1


async def test_it_says_count_and_state(
    tray: Tray, window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    await say(session, fake, pending_approvals=3, running=2, unknown=1, holds=(hold(HoldKind.PAUSE),))
    assert tray.tooltip == "Praxis Console · 3 waiting for you · 2 running · 1 UNKNOWN · dispatch held"


async def test_new_requests_of_a_burst_are_told_once(
    tray: Tray, window: MainWindow, fake: FakeEngine, messages: list[str]
) -> None:
    """B-002, B-014, B-107."""
    window.hide()
    for count in range(1, 26):
        tray.show_status(status(pending_approvals=count))
    await until(lambda: messages)
    assert messages == ["25 new requests wait for you"]


async def test_requests_that_were_there_at_the_start_are_no_news(
    window: MainWindow, messages: list[str]
) -> None:
    window.hide()
    tray = Tray(window, window.commands)
    tray.show_status(status(pending_approvals=5))
    tray.show_status(status(pending_approvals=4))
    assert not tray._burst.isActive()
    assert messages == []
    tray.hide()


async def test_it_shows_at_once_what_is_known_when_it_is_made(
    window: MainWindow, session: Session, fake: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    await say(session, fake, pending_approvals=3)
    monkeypatch.setattr(Tray, "is_available", staticmethod(lambda: True))
    window.show_tray()
    assert window.tray is not None
    assert "3 waiting for you" in window.tray.tooltip


async def test_a_clock_that_lost_trust_is_told_once(
    tray: Tray, window: MainWindow, messages: list[str]
) -> None:
    """B-076."""
    window.hide()
    tray.show_status(status())
    for _ in range(3):
        tray.show_status(status(clock_trusted=False))
    assert messages == ["The clock cannot be trusted"]


async def test_nothing_is_told_to_who_is_looking(tray: Tray, window: MainWindow, messages: list[str]) -> None:
    window.activateWindow()
    await until(window.isActiveWindow)
    tray.show_status(status(pending_approvals=0))
    tray.show_status(status(pending_approvals=1))
    await until(lambda: not tray._burst.isActive())
    assert messages == []


async def test_a_click_opens_the_very_request_that_was_told_of(
    tray: Tray, window: MainWindow, session: Session, fake: FakeEngine, messages: list[str]
) -> None:
    """Of several the first that still waits; where none does, its card says what was decided."""
    window.hide()
    await say(session, fake)
    fake.pending = {"A2", "A3"}
    for number in (1, 2, 3):
        fake.tell(("approval.asked", "approval", f"A{number}", "W"))
    fake.tell(("approval.consumed", "approval", "A0", "W"))
    await until(lambda: tray._asked == {"A1", "A2", "A3"})
    await say(session, fake, pending_approvals=3)
    await until(lambda: messages)
    tray._icon.messageClicked.emit()
    await session.settled()
    assert window.isVisible()
    assert window.current_page == "inbox"
    page = window.view("inbox")
    assert page.subjects == ["A2"]
    fake.pending = set()
    tray._icon.messageClicked.emit()
    await session.settled()
    assert page.subjects == ["A2", "A1"]
    assert not any(call[0] == "approve" for call in fake.calls)


async def test_an_unknown_is_told_and_leads_to_its_page(
    tray: Tray, window: MainWindow, session: Session, fake: FakeEngine, messages: list[str]
) -> None:
    window.hide()
    await say(session, fake)
    await say(session, fake, unknown=1)
    assert messages == ["An attempt is UNKNOWN"]
    tray._icon.messageClicked.emit()
    await session.settled()
    assert window.current_page == "unknown"


async def test_a_notification_can_be_tried(tray: Tray, window: MainWindow, messages: list[str]) -> None:
    """B-109."""
    entry = next(found for found in window.findChildren(QAction) if found.text() == "Try a notification")
    entry.trigger()
    assert messages == ["Notifications work"]


async def test_its_menu_opens_pauses_and_quits(
    tray: Tray, window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    menus = [found for found in window.findChildren(QMenu) if not found.title()]
    menu = next(found for found in menus if any("Open Praxis" in entry.text() for entry in found.actions()))
    entries: dict[str, QAction] = {found.text(): found for found in menu.actions() if found.text()}
    assert not any("pprove" in text for text in entries), "nothing is decided from the tray"
    window.hide()
    entries["Open Praxis Console"].trigger()
    assert window.isVisible()
    entries["Pause everything"].trigger()
    await session.settled()
    assert fake.calls[0][0] == "pause"
    entries["Quit…"].trigger()
    await session.settled()
    assert window.quit_asked.is_set()


async def test_closing_says_once_that_the_engine_goes_on(
    tray: Tray, window: MainWindow, session: Session
) -> None:
    window.close()
    dialog = await question()
    assert "goes on in the tray" in dialog.windowTitle()
    press(dialog, "Close the window")
    await session.settled()
    assert not window.isVisible()
    window.show()
    window.close()
    await session.settled()
    assert dialogs() == []
    assert not window.isVisible()
    assert not window.quit_asked.is_set()


async def test_who_goes_back_is_told_again(tray: Tray, window: MainWindow, session: Session) -> None:
    for _ in range(2):
        window.close()
        press(await question(), "Go back")
        await session.settled()
        assert window.isVisible()


async def test_quitting_is_offered_when_closing(tray: Tray, window: MainWindow, session: Session) -> None:
    window.close()
    press(await question(), "Quit…")
    await session.settled()
    assert window.quit_asked.is_set()


async def test_a_request_that_is_about_to_expire_is_told_of_once(
    tray: Tray, window: MainWindow, session: Session, fake: FakeEngine, messages: list[str]
) -> None:
    window.hide()
    await say(session, fake)
    fake.pending = {"A1"}
    fake.tell(("approval.expiring", "approval", "A1", "W"))
    await until(lambda: messages)
    fake.tell(("approval.expiring", "approval", "A2", "W"), ("approval.expiring", "approval", "A3", "W"))
    await until(lambda: len(messages) == 2)
    assert messages == ["A request expires soon", "2 requests expire soon"]
