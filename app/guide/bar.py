"""The bar of the guided tour: where one is, what there is to do, and the buttons to go on."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QFrame, QWidget

from app.guide.steps import STEPS, Offer, Step
from app.theme import Shape, Text, Tone
from app.widgets import Badge, Role, SectionLabel, button, column, label, row, set_role

_OFFERS = {
    Offer.OPEN_FOLDER: ("Open the folder", "Show the scripts of the scratch workspace"),
    Offer.ASK_FOR_A_LONG_ONE: (
        "Ask for a long one",
        "Ask for a command that counts for two minutes; it waits in the Inbox until you approve it",
    ),
}


class TourBar(QFrame):
    """Shows one step. ``went(by)`` asks for another step, -1 or 1; ``ended`` for the end; ``offered`` for the offer."""

    went = Signal(int)
    ended = Signal()
    offered = Signal()
    wanted_page = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("surface", "guide")
        self.setAccessibleName("Guided tour")
        lines = row(self, margins=(16, 10, 12, 10), gap=16)
        words = column(gap=3)
        head = row(gap=10)
        self._where = SectionLabel("", self)
        self._title = label("", Text.STRONG, parent=self)
        self._done = Badge("done", Tone.OK, Shape.CHECK, parent=self)
        for part in (self._where, self._title, self._done):
            head.addWidget(part)
        head.addStretch(1)
        words.addLayout(head)
        self._text = label("", wrap=True, selectable=True, parent=self)
        words.addWidget(self._text)
        lines.addLayout(words, 1)
        self._offer = button("", "", self.offered.emit, parent=self)
        self._page = button("Show the page", "Open the page of this step", self.wanted_page.emit, parent=self)
        self._back = button(
            "Back", "Go back one step", lambda: self.went.emit(-1), role=Role.QUIET, parent=self
        )
        self._next = button("Next", "Go on to the next step", lambda: self.went.emit(1), parent=self)
        self._end = button(
            "End tour",
            "Close this; Help > Guided tour begins it anew",
            self.ended.emit,
            role=Role.QUIET,
            parent=self,
        )
        for pressed in (self._offer, self._page, self._back, self._next, self._end):
            lines.addWidget(pressed, 0, Qt.AlignmentFlag.AlignBottom)

    def show_step(self, number: int, text: str) -> None:
        """Show step ``number``, from 0, with its words."""
        step = STEPS[number]
        self._where.setText(f"Step {number + 1} of {len(STEPS)}")
        self._title.setText(step.title)
        self._text.setText(text)
        self._text.setAccessibleName(text)
        self.setAccessibleDescription(f"Step {number + 1} of {len(STEPS)}: {step.title}. {text}")
        self._offer.setVisible(step.offer is not None)
        if step.offer is not None:
            words, tip = _OFFERS[step.offer]
            self._offer.setText(words)
            self._offer.setAccessibleName(words)
            self._offer.setToolTip(tip)
        self._back.setVisible(number > 0)
        self.show_done(step, done=False)
        _announce(self, self.accessibleDescription())

    def show_done(self, step: Step, *, done: bool) -> None:
        """Say whether the step was done; what was only read is gone on from, what was not done is skipped."""
        to_do = bool(step.done_by) or step.new_epoch or step.window_back
        is_last = step is STEPS[-1]
        self._done.setVisible(done)
        go_on = done or not to_do
        self._next.setText("Finish" if is_last else "Next" if go_on else "Skip")
        self._next.setAccessibleName(
            "Finish the tour" if is_last else "Next step" if go_on else "Skip this step"
        )
        self._next.setToolTip("End the tour" if is_last else "Go on to the next step")
        set_role(self._next, Role.PRIMARY if go_on else Role.PLAIN)
        if done:
            _announce(self, f"{step.title}: done.")


def _announce(widget: QWidget, words: str) -> None:
    """Let a screen reader say it in its own time."""
    event = QAccessibleAnnouncementEvent(widget, words)
    event.setPoliteness(QAccessible.AnnouncementPoliteness.Polite)
    QAccessible.updateAccessibility(event)
