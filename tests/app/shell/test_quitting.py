"""Quitting names what runs and offers to wait, to stop, or to go back (B-110)."""

from __future__ import annotations

import asyncio

from PySide6.QtWidgets import QPlainTextEdit

from app.session import Session
from app.shell.window import MainWindow
from tests.app.conftest import until
from tests.app.fake_engine import FakeEngine, attempt
from tests.app.shell.test_window import press, question


async def test_what_runs_is_named(window: MainWindow, session: Session, fake: FakeEngine) -> None:
    fake.in_flight = (attempt(118), attempt(121))
    window.ask_to_quit()
    dialog = await question()
    (listed,) = [found.toPlainText() for found in dialog.findChildren(QPlainTextEdit)]
    assert listed.splitlines() == [
        "WO-118 · implement · Mend rounding · since today 00:00",
        "WO-121 · implement · Mend rounding · since today 00:00",
    ]
    press(dialog, "Go back")
    await session.settled()
    assert not window.quit_asked.is_set()


async def test_stopping_ends_the_console_at_once(
    window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    fake.in_flight = (attempt(),)
    window.ask_to_quit()
    press(await question(), "Stop it and quit")
    await session.settled()
    assert window.quit_asked.is_set()
    assert ("finish",) not in fake.calls


async def test_waiting_ends_the_console_when_all_has_ended(
    window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    fake.in_flight = (attempt(),)
    window.ask_to_quit()
    press(await question(), "Wait, then quit")
    await until(lambda: session.alerts.shown())
    assert session.alerts.shown()[0].what == "Quitting when what runs has ended."
    assert not window.quit_asked.is_set()
    fake.ended.set()
    await session.settled()
    assert window.quit_asked.is_set()
    assert session.alerts.shown() == ()


async def test_waiting_can_be_taken_back(window: MainWindow, session: Session, fake: FakeEngine) -> None:
    fake.in_flight = (attempt(),)
    window.ask_to_quit()
    press(await question(), "Wait, then quit")
    await until(lambda: session.alerts.shown())
    press(window.strips, "Do not quit")
    await session.settled()
    assert not window.quit_asked.is_set()
    assert session.alerts.shown() == ()
    window.ask_to_quit()
    press(await question(), "Go back")
    await session.settled()


async def test_quitting_from_the_tray_brings_the_window_for_its_question(
    window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    fake.in_flight = (attempt(),)
    window.hide()
    window.ask_to_quit()
    dialog = await question()
    assert window.isVisible()
    press(dialog, "Go back")
    await session.settled()
    await asyncio.sleep(0)
