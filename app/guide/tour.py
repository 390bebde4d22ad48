"""The guided tour over one session: which step it is, when a step is done, and what outlives a restart."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace

from PySide6.QtCore import QEvent, QObject, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from app.first_start import SCRATCH, ask_for_scratch_work, fresh_folder
from app.guide.bar import TourBar
from app.guide.steps import STEPS, Offer, Shown, Step, step_number
from app.session import Changes, Session
from app.shell.window import MainWindow
from engine.interfaces.scratch import create_scratch_workspace

_LONG = 2
"""Which of the scratch work orders counts for two minutes."""

_FIRST = "Works"
"""How the title of the first scratch work order begins; two attempts of it are kept, the step and its validation."""

_LONG_LIMIT_MS = 180_000


async def guided_tour(window: QWidget, session: Session) -> None:
    """Begin the tour in the main window: a fresh scratch workspace, its seven requests, and the first step."""
    session.settings.tour_folder = await ask_for_scratch_work(session)
    _show(window, session, 0)
    session.open_page("inbox")


async def take_up_tour(window: QWidget, session: Session) -> None:
    """Go on with a tour that was under way when the console ended; without one nothing happens."""
    number = step_number(session.settings.tour_step)
    if number is not None:
        _show(window, session, number, begun_at=session.settings.tour_epoch)


def _show(window: QWidget, session: Session, number: int, begun_at: int | None = None) -> None:
    assert isinstance(window, MainWindow)
    for old in window.findChildren(GuidedTour):
        old.end()
    GuidedTour(window, session).go_to(number, begun_at)


class GuidedTour(QObject):
    """Leads through `STEPS` in a bar at the foot of the window. It watches; the person acts."""

    def __init__(self, window: MainWindow, session: Session) -> None:
        super().__init__(window)
        self._window = window
        self._session = session
        self._number = 0
        self._missing: set[str] = set()
        self._was_closed = False
        self.bar = TourBar(window)
        self.bar.went.connect(self._go)
        self.bar.ended.connect(self.end)
        self.bar.offered.connect(self._give_offer)
        self.bar.wanted_page.connect(self._open_page)
        window.place_below(self.bar)
        session.changed.connect(self._on_changes)
        window.installEventFilter(self)

    def go_to(self, number: int, begun_at: int | None = None) -> None:
        """Show a step; ``begun_at`` is the epoch in which it began, if that was before this start."""
        self._number = number
        step = STEPS[number]
        self._missing = set(step.done_by)
        self._was_closed = False
        epoch = self._session.engine.epoch
        settings = self._session.settings
        settings.tour_step = step.key
        settings.tour_epoch = epoch if begun_at is None else begun_at
        # The next thing the person does may be to kill this process.
        settings.save()
        self.bar.show_step(number, step.text.format(process=os.getpid()))
        if step.new_epoch and begun_at is not None and epoch > begun_at:
            self.bar.show_done(step, done=True)

    def end(self) -> None:
        """Take the bar away; at the next start there is no tour."""
        self._session.settings.tour_step = ""
        self._session.changed.disconnect(self._on_changes)
        self._window.removeEventFilter(self)
        self.bar.hide()
        self.bar.deleteLater()
        self.deleteLater()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """See the window closed and opened again."""
        if event.type() is QEvent.Type.Hide and not event.spontaneous():
            self._was_closed = True
        elif event.type() is QEvent.Type.Show and self._was_closed and STEPS[self._number].window_back:
            self.bar.show_done(STEPS[self._number], done=True)
        return super().eventFilter(watched, event)

    def _go(self, by: int) -> None:
        number = self._number + by
        if number >= len(STEPS):
            self.end()
            return
        self.go_to(number)
        self._open_page()

    def _open_page(self) -> None:
        self._session.spawn(self._show_page(STEPS[self._number]), "show the page of a step")

    async def _show_page(self, step: Step) -> None:
        self._session.open_page(step.page, await self._subject_of(step))

    async def _subject_of(self, step: Step) -> str:
        """The attempt to be shown, or "" if there is none to choose for the person."""
        engine = self._session.engine
        match step.shown:
            case Shown.WHAT_RUNS:
                return next((row.id for row in await engine.running()), "")
            case Shown.FIRST_OF_THE_TOUR:
                rows = [row for row in await engine.attempts() if row.title.startswith(_FIRST)]
                return min(rows, key=lambda row: row.authorized_at).id if rows else ""
        return ""

    def _on_changes(self, changes: Changes) -> None:
        if self._missing and changes.kinds & self._missing:
            self._missing -= changes.kinds
            if not self._missing:
                self.bar.show_done(STEPS[self._number], done=True)

    def _give_offer(self) -> None:
        match STEPS[self._number].offer:
            case Offer.OPEN_FOLDER:
                folder = self._session.settings.tour_folder or self._session.engine.folder
                QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))
            case Offer.ASK_FOR_A_LONG_ONE:
                self._session.spawn(self._ask_for_a_long_one(), "ask for a long command")

    async def _ask_for_a_long_one(self) -> None:
        """Ask for the counting command with time enough to be watched, stopped or lost."""
        folder = fresh_folder(self._session.engine.folder, f"{SCRATCH} for counting")
        spec = (await asyncio.to_thread(create_scratch_workspace, folder))[_LONG]
        long = replace(
            spec,
            title="Counts for two minutes",
            reason="For the guided tour: to be watched, stopped, or lost.",
            implementation=replace(spec.implementation, time_limit_ms=_LONG_LIMIT_MS),
            limits=replace(spec.limits, execution_active_ms=_LONG_LIMIT_MS),
        )
        order = await self._session.engine.submit(long, self._session.actor)
        row = next(
            row for row in await self._session.engine.approvals.inbox() if row.work_order_id == order.id
        )
        self._session.open_page("inbox", row.approval_id)
