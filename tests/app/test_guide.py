"""The guided tour: each step says when it was done, nothing is done for the person, and a restart loses nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication, QPushButton

import app
from app.guide import guided_tour, take_up_tour
from app.guide.bar import TourBar
from app.guide.steps import STEPS, step_number
from app.main import open_console
from app.shell.registry import registered_pages
from app.shell.window import MainWindow
from app.widgets import Badge
from engine.control.holds import WHOLE_ENGINE
from tests.app.conftest import until


def bar_of(window: MainWindow) -> TourBar:
    return next(bar for bar in window.findChildren(TourBar) if not bar.isHidden())


def press(window: MainWindow, name: str) -> None:
    next(
        found for found in bar_of(window).findChildren(QPushButton) if found.accessibleName() == name
    ).click()


def said(window: MainWindow) -> str:
    return bar_of(window).accessibleDescription()


def is_done(window: MainWindow) -> bool:
    return not bar_of(window).findChild(Badge).isHidden()


def test_the_steps_are_the_first_ten_minutes_in_their_order() -> None:
    assert len(STEPS) == 11
    assert [step_number(step.key) for step in STEPS] == list(range(11))
    pages = {page.key for page in registered_pages()}
    assert {step.page for step in STEPS} <= pages
    assert step_number("") is None


def test_every_page_and_button_that_a_step_names_is_there() -> None:
    """Words in a tour age badly: what it tells to press must be what is written on it."""
    source = "".join(path.read_text(encoding="utf-8") for path in Path(app.__file__).parent.rglob("*.py"))
    for step in STEPS:
        for page in re.findall(r"pages? (?:Clock|Evidence|Work orders|Unknown|Timeline)", step.text):
            assert page.split(" ", 1)[1] in {known.title for known in registered_pages()}
        for words in re.findall(r"(Stop…|Hold…|Restore…|Also approve its validation)", step.text):
            assert f'"{words}"' in source


async def test_it_leads_watches_and_does_nothing_by_itself(qapp: QApplication, folder: Path) -> None:
    async with open_console(qapp, folder) as window:
        session, engine = window.session, window.session.engine
        window.show()
        await guided_tour(window, session)
        assert "Step 1 of 11: Welcome" in said(window)
        press(window, "Next step")
        assert "Step 2 of 11" in said(window)
        await until(lambda: window.current_page == "inbox")
        assert await engine.attempts() == (), "nothing ran"
        row = next(row for row in await engine.approvals.inbox() if row.title.startswith("Edits"))
        card = await engine.approvals.card(row.approval_id)
        await engine.approvals.approve(row.approval_id, session.actor, seal=card.seal, covers_validation=True)
        await until(lambda: is_done(window))
        press(window, "Next step")
        assert not is_done(window)
        await until(lambda: is_done(window))
        assert "Try to fool it" in said(window), "the edited check came back"
        for title in ("Watch it run", "Stop it", "Lose the console", "Decide an UNKNOWN"):
            press(window, "Next step" if is_done(window) else "Skip this step")
            assert title in said(window)
        await until(lambda: window.current_page == "unknown")
        press(window, "Skip this step")
        await engine.hold(WHOLE_ENGINE, session.actor, reason="to look")
        await session.settled()
        assert not is_done(window), "half of it"
        await engine.resume(WHOLE_ENGINE, session.actor, reason="looked")
        await until(lambda: is_done(window))


async def test_a_long_one_can_be_asked_for_and_waits_for_approval(qapp: QApplication, folder: Path) -> None:
    async with open_console(qapp, folder) as window:
        session = window.session
        window.show()
        await guided_tour(window, session)
        for _ in range(3):
            press(window, "Next step" if "Welcome" in said(window) else "Skip this step")
        await session.settled()
        press(window, "Ask for a long one")
        await until(lambda: session.status is not None and session.status.pending_approvals == 8)
        await session.settled()
        assert window.current_page == "inbox"
        rows = await session.engine.approvals.inbox()
        assert rows[-1].title == "Counts for two minutes"
        card = await session.engine.approvals.card(rows[-1].approval_id)
        assert card.plan["limits"]["time_ms"] > 120_000
        assert all(line.cost_left >= 0 and line.active_ms_left >= 0 for line in card.budget), "it may run"
        assert await session.engine.attempts() == ()


async def test_it_goes_on_after_the_console_was_lost(qapp: QApplication, folder: Path) -> None:
    async with open_console(qapp, folder) as window:
        window.show()
        await guided_tour(window, window.session)
        press(window, "Next step")
        for _ in range(4):
            press(window, "Skip this step")
        assert "Lose the console" in said(window)
        assert not is_done(window)
    async with open_console(qapp, folder) as window:
        window.show()
        await take_up_tour(window, window.session)
        assert "Lose the console" in said(window)
        assert is_done(window), "another epoch: it was started again"
        press(window, "End tour")
        assert window.session.settings.tour_step == ""
    async with open_console(qapp, folder) as window:
        await take_up_tour(window, window.session)
        assert not window.findChildren(TourBar), "what was ended does not come back"


async def test_the_window_that_comes_back_is_the_last_step(
    qapp: QApplication, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(QUrl(url).toLocalFile()))
    async with open_console(qapp, folder) as window:
        window.show()
        await guided_tour(window, window.session)
        press(window, "Next step")
        press(window, "Skip this step")
        press(window, "Open the folder")
        assert opened == [str(folder / "scratch workspace")]
        while "Close the window" not in said(window):
            press(window, "Skip this step")
        window.hide()
        window.show()
        assert is_done(window)
        press(window, "Finish the tour")
        assert not [bar for bar in window.findChildren(TourBar) if bar.isVisible()]
        await guided_tour(window, window.session)
        assert "Step 1 of 11" in said(window), "and again from the beginning"
