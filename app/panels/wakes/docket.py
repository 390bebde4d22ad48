"""The part "Docket": what was missed and waits for a person, each with what every decision would do (E-85)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QPushButton, QScrollArea, QWidget

from app.panels.inbox.inline_button import InlineButton
from app.panels.prose import prose
from app.panels.rows import OwnedTasks, Refresh
from app.panels.wakes.doings import DECISIONS, decide
from app.panels.wakes.late import LateList
from app.panels.wakes.words import missed_words, rule_words, series_title
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
from engine.wakes import AlarmClock, CatchUp, DocketRow, Series

MOST_SHOWN = 100

_EXPLAINED = (
    "After sleep, downtime or a restore, what was missed by a schedule that asks is held here. Nothing of it starts by "
    "itself."
)


@dataclass(frozen=True, slots=True)
class DocketEntry:
    """One row of the docket with the series that it is about."""

    row: DocketRow
    series: Series | None

    @property
    def title(self) -> str:
        """What its schedule is called."""
        return self.row.series if self.series is None else series_title(self.series)


Decide = Callable[[Sequence[DocketEntry], CatchUp], None]


class DocketPart(QWidget):
    """See the module."""

    def __init__(
        self,
        session: Session,
        alarm: AlarmClock,
        open_series: Callable[[str], None],
        open_wake: Callable[[str], None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._alarm = alarm
        self._open_series = open_series
        self._tasks = OwnedTasks(session, self)
        self.entries: tuple[DocketEntry, ...] = ()
        self._blocks: dict[str, DocketBlock] = {}
        self._reread = Refresh(self._tasks, self._read, "read the docket")
        outer = column(self)
        self._area = QScrollArea(self)
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setAccessibleName("Docket")
        self._area.setWidget(self._build_body(open_wake))
        outer.addWidget(self._area)
        self._reread.ask()

    # ------------------------------------------------------------------------------- what the page asks

    def focus_first(self) -> None:
        """The first decision, or what was late."""
        if self.entries:
            self._blocks[self.entries[0].row.id].choices[CatchUp.LATEST].setFocus()
        else:
            self.late.focus_first()

    def search(self, text: str) -> None:
        """What waits here is shown whole, whatever is searched for elsewhere."""

    def take(self, changes: Changes) -> None:
        """Look again where something changed."""
        if changes.touches("docket", "series", "wake") and self.isVisible():
            self._reread.ask()

    def block(self, docket_id: str) -> DocketBlock:
        """The block of one row."""
        return self._blocks[docket_id]

    def showEvent(self, event: QShowEvent) -> None:
        """Take in what changed while nobody looked."""
        super().showEvent(event)
        self._reread.ask()

    # -------------------------------------------------------------------------------------------- building

    def _build_body(self, open_wake: Callable[[str], None]) -> QWidget:
        body = frame("window", self)
        lines = column(body, margins=(18, 14, 18, 18), gap=12)
        head = row(gap=8)
        self._title = label("Docket", Text.TITLE, parent=body)
        head.addWidget(self._title)
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
        lines.addWidget(label(_EXPLAINED, muted=True, wrap=True, parent=body))
        self._list = QWidget(body)
        self._lines = column(self._list, gap=10)
        self._nothing = EmptyState(
            "Nothing waits for your decision",
            "Schedules whose policy is “ask me” put here what they missed while the machine slept or the console was "
            "closed.",
        )
        lines.addWidget(self._list)
        lines.addWidget(self._nothing)
        self.late = LateList(self._session, self._alarm, open_wake, body)
        lines.addSpacing(6)
        lines.addWidget(SectionLabel("Late or lapsed lately, newest first", body))
        lines.addWidget(self.late, 1)
        return body

    # --------------------------------------------------------------------------------------------- reading

    async def _read(self) -> None:
        rows = await self._alarm.docket(limit=MOST_SHOWN)
        entries = [DocketEntry(one, await self._alarm.series(one.series)) for one in rows]
        self._show(tuple(entries))
        await self.late.read()

    def _show(self, entries: tuple[DocketEntry, ...]) -> None:
        self.entries = entries
        wanted = {entry.row.id for entry in entries}
        for gone in self._blocks.keys() - wanted:
            block = self._blocks.pop(gone)
            self._lines.removeWidget(block)
            block.hide()
            block.deleteLater()
        for number, entry in enumerate(entries):
            if entry.row.id not in self._blocks:
                block = DocketBlock(entry, self._session.times, self._decide, self._open_series, self._list)
                self._blocks[entry.row.id] = block
                self._lines.insertWidget(number, block)
                block.show()
        self._list.setVisible(bool(entries))
        self._nothing.setVisible(not entries)
        several = len(entries) > 1
        for widget in (self._all_words, *self._for_all.values()):
            widget.setVisible(several)

    # ---------------------------------------------------------------------------------------------- doing

    def _decide_all(self, choice: CatchUp) -> None:
        self._decide(self.entries, choice)

    def _decide(self, entries: Sequence[DocketEntry], choice: CatchUp) -> None:
        rows = [(entry.row, entry.title) for entry in entries]
        if rows:
            self._session.spawn(
                decide(self._session, self._alarm, rows, choice, self.window()),
                "decide about what was missed",
            )


class DocketBlock(QFrame):
    """One group: what was missed of one schedule, and the three ways to decide about it."""

    def __init__(
        self,
        entry: DocketEntry,
        times: Times,
        decide_about: Decide,
        open_series: Callable[[str], None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setProperty("surface", "raised")
        self.entry = entry
        one = entry.row
        self.setAccessibleName(f"{entry.title}: {missed_words(one.missed)}")
        lines = column(self, margins=(16, 10, 12, 12), gap=6)
        head = row(gap=8)
        head.addWidget(prose(entry.title, Text.STRONG, parent=self), 1)
        badge = Badge(f"{one.missed} missed", Tone.WARN, Shape.CLOCK, parent=self)
        head.addWidget(badge, 0, Qt.AlignmentFlag.AlignTop)
        lines.addLayout(head)
        lines.addWidget(prose(span_sentence(one, times), parent=self))
        quiet = row(gap=10)
        if entry.series is not None:
            quiet.addWidget(
                label(
                    f"{rule_words(entry.series.rule)} · {one.workspace}", Text.SMALL, muted=True, parent=self
                )
            )
            quiet.addWidget(
                InlineButton(
                    "Open schedule",
                    "Show the schedule that missed this",
                    partial(open_series, one.series),
                    name=f"Open the schedule {entry.title}",
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
                partial(decide_about, (entry,), choice),
                role=Role.DANGER if choice is CatchUp.NONE else Role.PLAIN,
                name=f"{words.rstrip('…')}, of {entry.title}",
                parent=self,
            )
            self.choices[choice] = made
            grid.addWidget(made, number, 0)
            grid.addWidget(label(means, wrap=True, parent=self), number, 1)
        lines.addLayout(grid)


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
    return (f"Fire all {missed}…", means) if choice is CatchUp.ALL else (words, means)


def span_sentence(one: DocketRow, times: Times) -> str:
    """What was missed, from when to when."""
    if one.missed == 1:
        return f"Its occurrence of {times.stamp(one.first_missed)} was missed."
    return (
        f"{one.missed} occurrences were missed, from {times.stamp(one.first_missed)} to "
        f"{times.stamp(one.last_missed)}."
    )
