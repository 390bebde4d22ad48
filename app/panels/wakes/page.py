"""The page "Wakes": what is coming, the schedules behind it, the docket, and figures; one part at a time."""

from __future__ import annotations

import json
from functools import partial
from typing import Protocol

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QStackedWidget, QTabBar
from shiboken6 import isValid

from app.panels.rows import OwnedTasks
from app.panels.wakes.docket import DocketPart
from app.panels.wakes.figures import FiguresPart
from app.panels.wakes.schedule_editor import make_schedule
from app.panels.wakes.schedules import SchedulesPart
from app.panels.wakes.wake_list import WakesPart, Which
from app.panels.wakes.words import order_of_intent
from app.session import Changes, Session
from app.shell.pages import PageView
from app.widgets import column, frame, row, rule
from engine.views.schedules import SUBMIT_KIND
from engine.wakes import AlarmClock, Series

WAKES, SCHEDULES, DOCKET, FIGURES = range(4)

SUBJECTS = {"wakes": WAKES, "dead": WAKES, "schedules": SCHEDULES, "docket": DOCKET, "figures": FIGURES}
"""Subjects that are a part of the page; any other is the id of a wake or a series."""


class _Part(Protocol):
    def focus_first(self) -> None: ...

    def search(self, text: str) -> None: ...

    def take(self, changes: Changes) -> None: ...


class WakesPage(PageView):
    """Four parts over one alarm clock; by default that of the session's engine."""

    def __init__(self, session: Session, alarm: AlarmClock | None = None) -> None:
        super().__init__()
        self._session = session
        self._alarm = session.engine.wakes if alarm is None else alarm
        self._tasks = OwnedTasks(session, self)
        # Made before its parts, so that they are made in their place: moving them there makes Qt style them again.
        self._stack = QStackedWidget(self)
        self.wakes = WakesPart(session, self._alarm, self._open_series, self._open_docket, parent=self._stack)
        self.schedules = SchedulesPart(
            session, self._alarm, self._make_schedule, _can_change, parent=self._stack
        )
        self.docket = DocketPart(session, self._open_series, self._open_wake, parent=self._stack)
        self.figures = FiguresPart(session, self._alarm, self._stack)
        self._parts: tuple[_Part, ...] = (self.wakes, self.schedules, self.docket, self.figures)
        outer = column(self)
        bar = frame("window", self)
        line = row(bar, margins=(10, 4, 10, 0), gap=8)
        self.tabs = QTabBar(bar)
        self.tabs.setAccessibleName("Parts of the page Wakes")
        self.tabs.setExpanding(False)
        self.tabs.setDrawBase(False)
        for words, tip in (
            ("Wakes", "Everything that is coming, late, firing, dead or ended"),
            ("Schedules", "What recurs, when it comes next, and how to change it"),
            ("Docket", "What was missed and waits for your decision"),
            ("Lanes and figures", "What waits in which lane; how late and how long things were"),
        ):
            self.tabs.setTabToolTip(self.tabs.addTab(words), tip)
        line.addWidget(self.tabs)
        line.addStretch(1)
        outer.addWidget(bar)
        outer.addWidget(rule(self))
        for part in (self.wakes, self.schedules, self.docket, self.figures):
            self._stack.addWidget(part)
        outer.addWidget(self._stack, 1)
        self.tabs.currentChanged.connect(self._stack.setCurrentIndex)
        for keys, step in (("Ctrl+Tab", 1), ("Ctrl+Shift+Tab", -1)):
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(partial(self._go_on, step))
        session.changed.connect(self._on_changes)

    # --------------------------------------------------------------------------------- what the shell asks

    def show_subject(self, subject_id: str) -> None:
        """Show a wake or a series by its id, or a part by its name (`SUBJECTS`)."""
        if subject_id in SUBJECTS:
            self.tabs.setCurrentIndex(SUBJECTS[subject_id])
            if subject_id == "dead":
                self.wakes.show_only(Which.DEAD)
            return
        self._tasks.spawn(self._show(subject_id), "show a wake or a schedule")

    def search(self, text: str) -> None:
        """Search the wakes; they come to the front."""
        if text.strip():
            self.tabs.setCurrentIndex(WAKES)
        for part in self._parts:
            part.search(text)

    def focus_first(self) -> None:
        """Where the work of the shown part begins."""
        self._parts[self.tabs.currentIndex()].focus_first()

    # ---------------------------------------------------------------------------------------------- within

    async def _show(self, identity: str) -> None:
        if await self._alarm.series(identity) is not None:
            self._open_series(identity)
        else:
            self._open_wake(identity)

    def _go_on(self, step: int) -> None:
        """Go to the next part or the one before, round and round."""
        self.tabs.setCurrentIndex((self.tabs.currentIndex() + step) % self.tabs.count())
        self.focus_first()

    def _open_wake(self, wake_id: str) -> None:
        self.tabs.setCurrentIndex(WAKES)
        self.wakes.show_subject(wake_id)

    def _open_series(self, series_id: str) -> None:
        self.tabs.setCurrentIndex(SCHEDULES)
        self.schedules.show_subject(series_id)

    def _open_docket(self) -> None:
        self.tabs.setCurrentIndex(DOCKET)

    def _on_changes(self, changes: Changes) -> None:
        for part in self._parts:
            part.take(changes)

    def _make_schedule(self, series: Series | None) -> None:
        self._session.spawn(self._edit_schedule(series), "edit a schedule")

    async def _edit_schedule(self, series: Series | None) -> None:
        made = await make_schedule(self.window(), self._session, series)
        if made is not None and isValid(self):
            self._open_series(made)


def _can_change(series: Series) -> bool:
    """Only schedules of work orders are edited here; what else recurs is set where it belongs."""
    return series.kind == SUBMIT_KIND and bool(order_of_intent(json.loads(series.intent)))
