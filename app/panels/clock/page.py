"""The page "Clock": what the clocks say, whether they are trusted, what was wrong with them and what it touched."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from app.panels.clock.plot import ClockPlot
from app.panels.clock.restore import restore_trust
from app.panels.clock.words import (
    DISTRUSTED,
    TRUSTED,
    anomaly_look,
    anomaly_text,
    plot_sentence,
    signed,
    touched_line,
    trust_sentence,
)
from app.panels.rows import BadgeDelegate, Column, OwnedTasks, Refresh, RowFeed, RowModel, RowTable
from app.session import Changes, Session
from app.shell.pages import PageView
from app.theme import Text
from app.widgets import (
    Badge,
    ElidedLabel,
    EmptyState,
    KeyValueGrid,
    Role,
    SectionLabel,
    button,
    column,
    copy_text,
    duration_text,
    frame,
    label,
    row,
    rule,
)
from engine.clock_watch import AnomalyKind
from engine.errors import NotFound
from engine.views.clock import AnomalyRow, ClockView, Touched, TouchedRow
from engine.views.values import EngineStatus

_RESTORE_TIP = "Confirm in three steps that the time can be judged by again"

_ABOVE = 8
"""Room above a group of what a finding touched, in pixels."""

RESTORE = "restore"
"""The subject that opens the steps for restoring trust."""


def _key(anomaly: AnomalyRow) -> str:
    return anomaly.id


class ClockPage(PageView):
    """Readings come once a second while the page is in view; findings when they are recorded."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._tasks = OwnedTasks(session, self)
        self._wanted = ""
        self._shown = ""
        self.state: ClockView | None = None
        times = session.times
        self._model: RowModel[AnomalyRow] = RowModel(
            [
                Column(
                    "Found",
                    lambda found: times.stamp(found.wall_after, seconds=True),
                    lambda found: times.exact(found.wall_after),
                ),
                Column("What", lambda found: anomaly_look(found.kind).word),
                Column("Size", lambda found: duration_text(found.size_ms)),
            ],
            _key,
            partial(anomaly_text, times=times),
            self,
        )
        self._feed = RowFeed(self._model, self._read_page, _key, changed_first=False)
        self._readings = Refresh(self._tasks, self._read_state, "read the clock")
        self._findings = Refresh(self._tasks, self._read_findings, "read what was wrong with the clock")
        self._build()
        self._model.more_wanted.connect(self._read_more)
        self._model.modelReset.connect(self._choose)
        self._model.edited.connect(self._choose)
        self._table.chosen.connect(self._on_chosen)
        session.changed.connect(self._on_changes)
        session.status_changed.connect(self._on_status)
        times.ticked.connect(self._tick)
        times.changed.connect(self._readings.ask)
        self._readings.ask()
        self._tasks.spawn(self._feed.start(), "read what was wrong with the clock")

    # --------------------------------------------------------------------------------- what the shell asks

    def show_subject(self, subject_id: str) -> None:
        """Show a finding, or with `RESTORE` the steps for restoring trust."""
        if subject_id == RESTORE:
            self._restore()
            return
        self._wanted = subject_id
        self._choose()

    def focus_first(self) -> None:
        """The button that restores trust while there is need of it, else the findings."""
        distrusted = self.state is not None and not self.state.trusted
        (self._restore_button if distrusted else self._table).setFocus()

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with the present."""
        super().showEvent(event)
        self._readings.ask()

    # -------------------------------------------------------------------------------------------- building

    def _build(self) -> None:
        outer = column(self)
        both = QSplitter(Qt.Orientation.Vertical, self)
        both.setChildrenCollapsible(False)
        both.setHandleWidth(1)
        both.addWidget(self._build_state())
        split = QSplitter(Qt.Orientation.Horizontal, self)
        split.setChildrenCollapsible(False)
        split.setHandleWidth(1)
        split.addWidget(self._build_findings())
        split.addWidget(self._build_detail())
        split.setStretchFactor(0, 0)
        split.setStretchFactor(1, 1)
        split.setSizes([430, 680])
        both.addWidget(split)
        both.setStretchFactor(0, 0)
        both.setStretchFactor(1, 1)
        both.setSizes([260, 400])
        outer.addWidget(both)

    def _build_state(self) -> QWidget:
        top = frame("window", self)
        lines = column(top, margins=(18, 14, 18, 12), gap=8)
        head = row(gap=10)
        head.addWidget(label("Clock", Text.TITLE, parent=top))
        self._badge = Badge(parent=top)
        head.addWidget(self._badge)
        head.addStretch(1)
        self._copy = button(
            "Copy readings",
            "Copy everything the clocks say now",
            self._copy_readings,
            role=Role.QUIET,
            parent=top,
        )
        head.addWidget(self._copy)
        self._restore_button = button(
            "Restore trust…",
            _RESTORE_TIP,
            self._restore,
            role=Role.PRIMARY,
            parent=top,
        )
        self._restore_button.setVisible(False)
        head.addWidget(self._restore_button)
        lines.addLayout(head)
        self._sentence = label("Reading the clock…", wrap=True, selectable=True, parent=top)
        lines.addWidget(self._sentence)
        middle = row(gap=24)
        self._facts = KeyValueGrid("Readings", top)
        self._values = {
            name: self._facts.add(name, label("–", wrap=True, selectable=True, parent=top), tip=tip)
            for name, tip in (
                ("Wall time", "What the machine's clock says"),
                (
                    "Elapsed",
                    "Time since the machine started, sleep counted; no setting of the clock moves it",
                ),
                ("Awake", "Elapsed time without sleep"),
                ("High water", "The latest wall time that was ever recorded while the clock was trusted"),
                ("Tolerance", "How far wall and elapsed time may part between two looks"),
                ("Samples", "Readings in a row that agreed since the last anomaly"),
            )
        }
        facts = column()
        facts.addWidget(self._facts)
        facts.addStretch(1)
        middle.addLayout(facts, 2)
        right = column(gap=4)
        right.addWidget(SectionLabel("Wall time against elapsed time", top))
        self.plot = ClockPlot(self._session.times, top)
        right.addWidget(self.plot, 1)
        self._plot_words = label("", Text.SMALL, muted=True, wrap=True, parent=top)
        right.addWidget(self._plot_words)
        middle.addLayout(right, 3)
        lines.addLayout(middle)
        return top

    def _build_findings(self) -> QWidget:
        side = frame("side", self)
        side.setMinimumWidth(300)
        lines = column(side)
        head = row(margins=(13, 7, 13, 7))
        head.addWidget(label("What was wrong, newest first", Text.SMALL, muted=True, parent=side))
        lines.addLayout(head)
        lines.addWidget(rule(side))
        self._lists = QStackedWidget(side)
        self._table: RowTable[AnomalyRow] = RowTable(
            self._model, "What was wrong with the clock, newest first", (26, 22, 14), side
        )
        self._table.setItemDelegateForColumn(
            1, BadgeDelegate(lambda number: anomaly_look(self._model.row(number).kind), self)
        )
        self._none = EmptyState(
            "Nothing was ever wrong", "Steps of the clock and time slept through will be listed here."
        )
        self._lists.addWidget(self._table)
        self._lists.addWidget(self._none)
        lines.addWidget(self._lists, 1)
        return side

    def _build_detail(self) -> QWidget:
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setAccessibleName("What it touched")
        self._detail = frame("window", area)
        self._detail_lines: QVBoxLayout = column(self._detail, margins=(18, 14, 18, 14), gap=6)
        self._detail_lines.addWidget(
            label("Both readings of a finding, and what it touched, stand here.", muted=True, wrap=True)
        )
        self._detail_lines.addStretch(1)
        area.setWidget(self._detail)
        return area

    # --------------------------------------------------------------------------------------------- reading

    def _tick(self) -> None:
        if self.isVisible():
            self._readings.ask()

    async def _read_state(self) -> None:
        self._show_state(await self._session.engine.clock_trust.state())

    def _show_state(self, state: ClockView) -> None:
        self.state = state
        times = self._session.times
        self._badge.show_look(TRUSTED if state.trusted else DISTRUSTED)
        self._restore_button.setVisible(not state.trusted)
        self._set(self._sentence, trust_sentence(state, times))
        reading = state.reading
        below = state.below_high_water_ms
        exact = {"Wall time": times.exact(reading.now), "High water": times.exact(state.high_water)}
        words = {
            "Wall time": times.stamp(reading.now, seconds=True),
            "Elapsed": f"{duration_text(reading.elapsed)} since the machine started",
            "Awake": f"{duration_text(reading.awake)}, slept {duration_text(reading.elapsed - reading.awake)}",
            "High water": times.stamp(state.high_water, seconds=True)
            + (f", {duration_text(below)} later than now" if below > state.tolerance_ms else ""),
            "Tolerance": duration_text(state.tolerance_ms),
            "Samples": f"{state.samples} of {state.samples_wanted} agree",
        }
        for name, text in words.items():
            shown = self._values[name]
            self._set(shown, text)
            shown.setAccessibleName(f"{name}: {exact.get(name, text)}")
            if name in exact:
                shown.setToolTip(exact[name])
        self.plot.show_state(state)
        self._set(self._plot_words, plot_sentence(state))

    def _on_status(self, status: EngineStatus) -> None:
        self._restore_button.setEnabled(not status.superseded)
        self._restore_button.setToolTip(
            "Another console has taken over this data folder" if status.superseded else _RESTORE_TIP
        )

    def _set(self, shown: QWidget, text: str) -> None:
        """Change a label only if it says something else, so that a selection in it stays."""
        if shown.property("text") != text:
            shown.setProperty("text", text)

    async def _read_page(self, after: str | None, limit: int) -> Sequence[AnomalyRow]:
        return await self._session.engine.clock_trust.anomalies(after=after, limit=limit)

    async def _read_findings(self) -> None:
        await self._feed.catch_up(())

    def _read_more(self) -> None:
        self._tasks.spawn(self._feed.more(), "read more of what was wrong with the clock")

    def _on_changes(self, changes: Changes) -> None:
        if changes.touches("clock"):
            self._findings.ask()
            self._readings.ask()

    def _choose(self) -> None:
        """Show the list or why it is empty; choose the wanted finding, or the newest at first."""
        self._lists.setCurrentWidget(self._table if self._model.rowCount() else self._none)
        if self._wanted and (place := self._model.number_of(self._wanted)) >= 0:
            self._wanted = ""
            self._table.choose(place)
        elif not self._shown and self._model.rowCount():
            self._table.choose(0)

    # --------------------------------------------------------------------------------------------- a finding

    def _on_chosen(self, number: int) -> None:
        if number >= 0:
            found = self._model.row(number)
            if found.id != self._shown:
                self._shown = found.id
                self._tasks.spawn(self._read_touched(found), "read what the clock touched")

    async def _read_touched(self, found: AnomalyRow) -> None:
        try:
            touched = await self._session.engine.clock_trust.touched(found.id)
        except NotFound:
            return
        if found.id == self._shown:
            self._show_finding(found, touched)

    def _show_finding(self, found: AnomalyRow, touched: Touched) -> None:
        lines = self._detail_lines
        while (item := lines.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        times = self._session.times
        lines.addWidget(label(found.sentence, Text.STRONG, wrap=True, selectable=True, parent=self._detail))
        readings = KeyValueGrid("Both readings", self._detail)
        readings.add("Wall before", times.exact(found.wall_before))
        readings.add("Wall after", times.exact(found.wall_after))
        moved = f"{signed(found.wall_after - found.wall_before)} by wall time"
        if found.same_boot:
            moved += f", {signed(found.elapsed_after_ms - found.elapsed_before_ms)} by elapsed time"
        else:
            moved += "; the machine was started again in between, so elapsed time does not compare"
        readings.add("Moved", moved)
        lines.addWidget(readings)
        slept = found.kind is AnomalyKind.SUSPEND
        due = "Came due while it slept" if slept else "Due only by the jump"
        groups = (
            (due, touched.due, "No task's time lies between both readings."),
            ("Claims that were live", touched.claims, "No claim was live."),
            ("Running then", touched.running, "Nothing ran."),
            ("Waiting for approval then", touched.approvals, "Nothing waited for approval."),
        )
        for title, rows, none in groups:
            self._add_group(title, rows, none)
        lines.addSpacing(_ABOVE)
        lines.addWidget(SectionLabel("In the journal around it", self._detail))
        for entry in touched.journal:
            text = f"{entry.sequence}  {times.stamp(entry.at, seconds=True)}  {entry.kind}"
            strong = entry.sequence == found.sequence
            shown = label(text, Text.CODE, muted=not strong, wrap=True, selectable=True, parent=self._detail)
            shown.setToolTip(times.exact(entry.at))
            lines.addWidget(shown)
        actions = row(gap=8)
        actions.addWidget(
            button(
                "Show on the timeline",
                "Show this moment on the timeline",
                partial(self._session.open_page, "timeline", f"at {found.wall_after}"),
                parent=self._detail,
            )
        )
        actions.addStretch(1)
        holder = QWidget(self._detail)
        actions.setContentsMargins(0, 8, 0, 0)
        holder.setLayout(actions)
        lines.addWidget(holder)
        lines.addStretch(1)

    def _add_group(self, title: str, rows: Sequence[TouchedRow], none: str) -> None:
        lines = self._detail_lines
        lines.addSpacing(_ABOVE)
        lines.addWidget(SectionLabel(title, self._detail))
        if not rows:
            lines.addWidget(label(none, muted=True, parent=self._detail))
        for item in rows:
            text = touched_line(item, self._session.times)
            holder = row(gap=8)
            holder.addWidget(ElidedLabel(text, parent=self._detail), 1)
            holder.addWidget(
                button(
                    "Show",
                    "Show this work order",
                    partial(self._session.open_page, "work_orders", item.work_order_id),
                    role=Role.QUIET,
                    name=f"Show {text}",
                    parent=self._detail,
                )
            )
            box = QWidget(self._detail)
            holder.setContentsMargins(0, 0, 0, 0)
            box.setLayout(holder)
            lines.addWidget(box)

    # -------------------------------------------------------------------------------------------- commands

    def _copy_readings(self) -> None:
        lines = [self._values[name].accessibleName() for name in self._values]
        copy_text("\n".join([self._sentence.text(), *lines, self._plot_words.text()]), self._copy)

    def _restore(self) -> None:
        self._tasks.spawn(restore_trust(self.window(), self._session), "restore trust in the clock")
