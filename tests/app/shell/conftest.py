"""A window over the fake engine, with pages that record what is asked of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from app.session import Session
from app.shell.commands import Extras
from app.shell.pages import Page, PageView
from app.shell.window import MainWindow
from app.theme import Theme, Tone
from app.widgets import button, column
from tests.app.fake_engine import FakeEngine


class Recording(PageView):
    """A page of one button."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.subjects: list[str] = []
        self.searches: list[str] = []
        self.first: QPushButton = button("First", "The first control", parent=self)
        column(self).addWidget(self.first)

    def show_subject(self, subject_id: str) -> None:
        self.subjects.append(subject_id)

    def search(self, text: str) -> None:
        self.searches.append(text)

    def focus_first(self) -> None:
        self.first.setFocus()


PAGES = (
    Page(
        "inbox", "Inbox", Recording, lambda said: said.pending_approvals, Tone.LIVE, True, "Search requests"
    ),
    Page(
        "work_orders",
        "Work orders",
        Recording,
        lambda said: said.open_work_orders,
        search_hint="Search orders",
    ),
    Page("unknown", "Unknown", Recording, lambda said: said.unknown, Tone.UNKNOWN),
    Page("journal", "Journal", Recording, keys=(("Ctrl+E", "Export"),)),
)


class Asked:
    """Commands that other parts bring, recorded."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def new(self, window: Any, session: Session) -> None:
        self.calls.append("new")

    async def bring_in(self, window: Any, session: Session) -> None:
        self.calls.append("import")

    async def tour(self, window: Any, session: Session) -> None:
        self.calls.append("tour")


@pytest.fixture
def asked() -> Asked:
    return Asked()


@pytest.fixture
async def window(
    themed: Theme, session: Session, fake: FakeEngine, asked: Asked, qtbot: QtBot
) -> AsyncIterator[MainWindow]:
    """The window, shown, its first status read."""
    made = MainWindow(session, PAGES, Extras(asked.new, asked.bring_in, asked.tour))
    session.start()
    made.show()
    await session.settled()
    yield made
    await session.close()
    made.finish()
    made.deleteLater()
