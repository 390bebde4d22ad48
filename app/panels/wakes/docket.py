"""The part "Docket": what was missed and waits for a person, and what the latest pause touched (E-85)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QPushButton, QScrollArea, QWidget

from app.panels.inbox.inline_button import InlineButton
from app.panels.inbox.sections import Notice
from app.panels.prose import prose
from app.panels.rows import OwnedTasks, Refresh
from app.panels.wakes.doings import DECISIONS, decide
from app.panels.wakes.since import (
    SinceTable,
    held_sentence,
    more_sentence,
    quiet_sentence,
    since_rows,
)
from app.panels.wakes.words import kind_words, missed_words
from app.session import Changes, Session
from app.theme import Shape, Text, Tone
from app.widgets import (
    AgeLabel,
    Badge,
    EmptyState,
    Role,
    SectionLabel,
    Times,
    button,
    column,
    frame,
    label,
    row,
)
from engine.views.docket import Docket, Undecided
from engine.wakes import CatchUp
from engine.wakes.settings import DEFAULT_SETTINGS

MOST_SHOWN = 100

Decide = Callable[[Sequence[Undecided], CatchUp], None]


class DocketPart(QWidget):
    """See the module. ``docket`` is what was read last."""

    def __init__(
        self,
        session: Session,
        open_series: Callable[[str], None],
        open_wake: Callable[[str], None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._open_series = open_series
        self._open_wake = open_wake
        self._tasks = OwnedTasks(session, self)
        self.docket: Docket | None = None
        self._blocks: dict[str, DocketBlock] = {}
        self._reread = Refresh(self._tasks, self._read, "read the docket")
        outer = column(self)
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setAccessibleName("Docket")
        area.setWidget(self._build_body(area.viewport()))
        outer.addWidget(area)
        self._reread.ask()

    # ------------------------------------------------------------------------------- what the page asks

    def focus_first(self) -> None:
        """The first decision, or what the pause touched."""
        if self.docket is not None and self.docket.undecided:
            self._blocks[self.docket.undecided[0].id].choices[CatchUp.LATEST].setFocus()
        else:
            self.since.setFocus()

    def search(self, text: str) -> None:
        """What stands here is shown whole, whatever is searched for elsewhere."""

    def take(self, changes: Changes) -> None:
        """Look again where something changed."""
        if changes.touches("docket", "series", "wake", "hold", "engine") and self.isVisible():
            self._reread.ask()

    def block(self, docket_id: str) -> DocketBlock:
        """The block of one decision."""
        return self._blocks[docket_id]

    def showEvent(self, event: QShowEvent) -> None:
        """Take in what changed while nobody looked."""
        super().showEvent(event)
        self._reread.ask()

    # -------------------------------------------------------------------------------------------- building

    def _build_body(self, place: QWidget) -> QWidget:
        body = frame("window", place)
        lines = column(body, margins=(18, 14, 18, 18), gap=12)
        head = row(gap=8)
        head.addWidget(label("Docket", Text.TITLE, parent=body))
        head.addStretch(1)
        self._for_all: dict[CatchUp, QPushButton] = {}
        self._all_words = label("All of these:", muted=True, parent=body)
        head.addWidget(self._all_words)
        for choice, (words, means) in DECISIONS.items():
            made = button(
                words,
                f"For every schedule here: {means}",
                partial(self._decide_all, choice),
                role=Role.DANGER if choice is CatchUp.NONE else Role.PLAIN,
                name=f"{words.rstrip('…')}, of every schedule here",
                parent=body,
            )
            self._for_all[choice] = made
            head.addWidget(made)
        lines.addLayout(head)
        self._quiet = label("", wrap=True, selectable=True, parent=body)
        lines.addWidget(self._quiet)
        self._held = Notice(Tone.WARN, body)
        lines.addWidget(self._held)
        self._list = QWidget(body)
        self._lines = column(self._list, gap=10)
        lines.addWidget(self._list)
        self._nothing = EmptyState(
            "Nothing waits for your decision",
            "What schedules with the policy “ask me” missed while the machine slept or the console was closed waits "
            "here; nothing of it starts by itself.",
        )
        lines.addWidget(self._nothing)
        lines.addSpacing(4)
        self._since_head = SectionLabel("What the latest pause touched", body)
        lines.addWidget(self._since_head)
        self.since = SinceTable(self._session.times, self._go, body)
        lines.addWidget(self.since)
        self._more = label("", Text.SMALL, muted=True, wrap=True, parent=body)
        lines.addWidget(self._more)
        lines.addStretch(1)
        return body

    # --------------------------------------------------------------------------------------------- reading

    async def _read(self) -> None:
        self._show(await self._session.engine.docket(limit=MOST_SHOWN))

    def _show(self, docket: Docket) -> None:
        self.docket = docket
        self._show_blocks(docket.undecided)
        self._set(self._quiet, quiet_sentence(docket.quiet, self._session.times))
        self._held.say(held_sentence(docket.held_by), Tone.WARN)
        touched = since_rows(docket)
        self.since.show_rows(touched)
        self._since_head.setVisible(bool(touched))
        self.since.setVisible(bool(touched))
        status = self._session.status
        self._set(self._more, more_sentence(docket, 0 if status is None else status.undecided))
        self._more.setVisible(bool(self._more.text()))

    def _show_blocks(self, undecided: Sequence[Undecided]) -> None:
        for gone in self._blocks.keys() - {one.id for one in undecided}:
            block = self._blocks.pop(gone)
            self._lines.removeWidget(block)
            block.hide()
            block.deleteLater()
        for number, one in enumerate(undecided):
            if one.id not in self._blocks:
                block = DocketBlock(one, self._session.times, self._decide, self._open_series, self._list)
                self._blocks[one.id] = block
                self._lines.insertWidget(number, block)
                block.show()
        self._list.setVisible(bool(undecided))
        self._nothing.setVisible(not undecided)
        for widget in (self._all_words, *self._for_all.values()):
            widget.setVisible(len(undecided) > 1)

    def _set(self, shown: QWidget, text: str) -> None:
        """Change a label only if it says something else, so that a selection in it stays."""
        if shown.property("text") != text:
            shown.setProperty("text", text)

    # ---------------------------------------------------------------------------------------------- doing

    def _decide_all(self, choice: CatchUp) -> None:
        if self.docket is not None:
            self._decide(self.docket.undecided, choice)

    def _decide(self, about: Sequence[Undecided], choice: CatchUp) -> None:
        if about:
            self._session.spawn(
                decide(self._session, about, choice, self.window()), "decide about what was missed"
            )

    def _go(self, page: str, subject: str) -> None:
        if page == "wakes":
            self._open_wake(subject)
        else:
            self._session.open_page(page, subject)


class DocketBlock(QFrame):
    """One group: what was missed of one schedule, and the three ways to decide about it."""

    def __init__(
        self,
        one: Undecided,
        times: Times,
        decide_about: Decide,
        open_series: Callable[[str], None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        title = docket_title(one)
        self.setProperty("surface", "raised")
        self.setAccessibleName(f"{title}: {missed_words(one.missed)}")
        lines = column(self, margins=(16, 10, 12, 12), gap=6)
        head = row(gap=8)
        head.addWidget(prose(title, Text.STRONG, parent=self), 1)
        badge = Badge(f"{one.missed} missed", Tone.WARN, Shape.CLOCK, parent=self)
        head.addWidget(badge, 0, Qt.AlignmentFlag.AlignTop)
        lines.addLayout(head)
        lines.addWidget(prose(span_sentence(one, times), parent=self))
        quiet = row(gap=10)
        quiet.addWidget(label(one.rule, Text.SMALL, muted=True, parent=self))
        quiet.addWidget(
            InlineButton(
                "Open schedule",
                "Show the schedule that missed this",
                partial(open_series, one.series),
                name=f"Open the schedule {title}",
                parent=self,
            )
        )
        quiet.addWidget(AgeLabel(times, one.opened_at, "held ", role=Text.SMALL, parent=self))
        quiet.addStretch(1)
        lines.addLayout(quiet)
        grid = QGridLayout()
        grid.setContentsMargins(0, 4, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        self.choices: dict[CatchUp, QPushButton] = {}
        offered = [choice for choice in DECISIONS if one.missed > 1 or choice is not CatchUp.ALL]
        for number, choice in enumerate(offered):
            words, means = choice_words(choice, one.missed)
            made = button(
                words,
                means,
                partial(decide_about, (one,), choice),
                role=Role.DANGER if choice is CatchUp.NONE else Role.PLAIN,
                name=f"{words.rstrip('…')}, of {title}",
                parent=self,
            )
            self.choices[choice] = made
            grid.addWidget(made, number, 0)
            grid.addWidget(label(means, wrap=True, parent=self), number, 1)
        lines.addLayout(grid)


def docket_title(one: Undecided) -> str:
    """What a schedule that missed something is called."""
    return one.title or kind_words(one.kind)


def choice_words(choice: CatchUp, missed: int) -> tuple[str, str]:
    """The words on a decision's button, and what it would do to so many."""
    if missed == 1:
        return {
            CatchUp.LATEST: ("Fire it…", "It fires now, late; the schedule goes on."),
            CatchUp.NONE: (
                "Leave it out…",
                "It never fires; the schedule goes on with the next one to come.",
            ),
        }.get(choice, DECISIONS[choice])
    words, means = DECISIONS[choice]
    if choice is not CatchUp.ALL:
        return words, means
    if missed > DEFAULT_SETTINGS.catch_up_most:
        means = f"{means} Of so many only the newest fire, as many as the schedule allows."
    return f"Fire all {missed}…", means


def span_sentence(one: Undecided, times: Times) -> str:
    """What was missed, from when to when."""
    if one.missed == 1:
        return f"Its occurrence of {times.stamp(one.first_missed_at)} was missed."
    return (
        f"{one.missed} occurrences were missed, from {times.stamp(one.first_missed_at)} to "
        f"{times.stamp(one.last_missed_at)}."
    )
