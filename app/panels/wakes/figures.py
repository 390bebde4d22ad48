"""The part "Lanes and figures": what waits in which lane, and per kind how many fired, how late, how long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from app.panels.rows import BadgeDelegate, Column, OwnedTasks, Refresh, RowModel, RowTable
from app.panels.wakes.histogram import EMPTY, HistogramView, histogram_words, within
from app.panels.wakes.words import kind_words
from app.session import Changes, Session
from app.theme import Look, Shape, Text, Tone
from app.widgets import SectionLabel, button, column, confirm, duration_text, frame, label, number, row
from engine.wakes import AlarmClock, LaneRow, MetricsSnapshot
from engine.wakes.metrics import Event, Histogram

Row = TypeVar("Row")

MOST_LANES = 200
MOST_LINES = 8
"""More lines than these scroll within a table."""


@dataclass(frozen=True, slots=True)
class KindRow:
    """The figures of one kind. ``late`` and ``run`` are its histograms."""

    kind: str
    counts: dict[Event, int]
    late: Histogram
    run: Histogram

    def count(self, event: Event) -> str:
        """How often something happened, in words."""
        return number(self.counts.get(event, 0))


def kind_rows(figures: MetricsSnapshot) -> tuple[KindRow, ...]:
    """The figures by kind, in the order of their names."""
    kinds = {kind for kind, _ in figures.counters} | figures.lateness.keys() | figures.running.keys()
    return tuple(
        KindRow(
            kind,
            {event: count for (of, event), count in figures.counters.items() if of == kind},
            figures.lateness.get(kind, EMPTY),
            figures.running.get(kind, EMPTY),
        )
        for kind in sorted(kinds, key=kind_words)
    )


def lane_look(lane: LaneRow) -> Look:
    """What a lane does."""
    if lane.stopped_by is not None:
        return Look("stopped", Tone.BAD, Shape.SQUARE)
    if lane.firing is not None:
        return Look("firing", Tone.LIVE, Shape.PLAY)
    return Look("waiting", Tone.NEUTRAL, Shape.CLOCK)


def lane_key(lane: LaneRow) -> str:
    """What names a lane: lanes belong to a workspace."""
    return f"{lane.workspace}\n{lane.lane}"


def describe_lane(lane: LaneRow) -> str:
    """A lane for a screen reader."""
    fails = "stops when a wake of it dies" if lane.stop_on_failure else "goes on when a wake of it dies"
    return f"Lane {lane.lane} of {lane.workspace}, {lane_look(lane).word}, {lane.waiting} waiting, {fails}"


def describe_kind(kind: KindRow) -> str:
    """A kind's figures for a screen reader."""
    return (
        f"{kind_words(kind.kind)}: {kind.count('fired')} fired, {kind.count('late')} late, {kind.count('retried')} "
        f"retried, {kind.count('dead')} dead. Start: {histogram_words(kind.late)} Run: {histogram_words(kind.run)}"
    )


class FiguresPart(QWidget):
    """See the module. Figures count since the console was started; they are read again while they are shown."""

    def __init__(self, session: Session, alarm: AlarmClock, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._alarm = alarm
        self._tasks = OwnedTasks(session, self)
        self._reread = Refresh(self._tasks, self._read, "read the figures of the alarm clock")
        self.lanes: RowModel[LaneRow] = RowModel(
            [
                Column("Lane", lambda lane: lane.lane),
                Column("Now", lambda lane: lane_look(lane).word),
                Column("Waiting", lambda lane: number(lane.waiting)),
                Column("When one dies", lambda lane: "it stops" if lane.stop_on_failure else "it goes on"),
                Column("Workspace", lambda lane: lane.workspace),
            ],
            lane_key,
            describe_lane,
            self,
        )
        self.kinds: RowModel[KindRow] = RowModel(
            [
                Column("Kind", lambda kind: kind_words(kind.kind), lambda kind: kind.kind),
                Column("Fired", lambda kind: kind.count("fired")),
                Column("Late", lambda kind: kind.count("late")),
                Column("Expired", lambda kind: kind.count("expired")),
                Column("Retried", lambda kind: kind.count("retried")),
                Column("Dead", lambda kind: kind.count("dead")),
                Column("Start, 99 %", lambda kind: within(kind.late, 0.99)),
                Column("Run, 99 %", lambda kind: within(kind.run, 0.99)),
            ],
            lambda kind: kind.kind,
            describe_kind,
            self,
        )
        outer = column(self)
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setAccessibleName("Lanes and figures")
        area.setWidget(self._build_body(area.viewport()))
        outer.addWidget(area)
        session.times.ticked.connect(self._tick)
        self._reread.ask()

    # ------------------------------------------------------------------------------- what the page asks

    def focus_first(self) -> None:
        """The kinds, of which the histograms are shown."""
        self._kind_table.setFocus()

    def search(self, text: str) -> None:
        """Everything here is shown whole, whatever is searched for elsewhere."""

    def take(self, changes: Changes) -> None:
        """The tick reads the figures again; a change of a lane is shown at once."""
        if changes.touches("lane") and self.isVisible():
            self._reread.ask()

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with the present."""
        super().showEvent(event)
        self._reread.ask()

    def _tick(self) -> None:
        if self.isVisible():
            self._reread.ask()

    # -------------------------------------------------------------------------------------------- building

    def _build_body(self, place: QWidget) -> QWidget:
        body = frame("window", place)
        lines = column(body, margins=(18, 14, 18, 18), gap=8)
        self._summary = label("", wrap=True, selectable=True, parent=body)
        lines.addWidget(self._summary)
        lines.addSpacing(6)
        lines.addWidget(SectionLabel("By kind, since this console was started", body))
        self._kind_table: RowTable[KindRow] = RowTable(
            self.kinds, "Figures by kind", (34, 11, 11, 11, 11, 11, 17, 17), body
        )
        self._kind_table.chosen.connect(self._show_kind)
        lines.addWidget(self._kind_table)
        self._chosen = label("", Text.STRONG, parent=body)
        lines.addWidget(self._chosen)
        self.late = self._histogram("From its due time to its start", body)
        self.run = self._histogram("From its start to its end", body)
        for head, bars, words in (self.late, self.run):
            lines.addWidget(head)
            lines.addWidget(bars)
            lines.addWidget(words)
        lines.addSpacing(6)
        lines.addWidget(SectionLabel("Lanes with something to do: one wake of a lane fires at a time", body))
        self._lane_table: RowTable[LaneRow] = RowTable(
            self.lanes, "Lanes with something to do", (34, 16, 12, 18, 24), body
        )
        self._lane_table.setItemDelegateForColumn(
            1, BadgeDelegate(lambda place: lane_look(self.lanes.row(place)), self)
        )
        self._lane_table.chosen.connect(self._show_lane)
        lines.addWidget(self._lane_table)
        self._on_failure = button(
            "Stop when one dies…",
            "Say what the chosen lane does when a wake of it dies",
            self._on_failure_pressed,
            parent=body,
        )
        self._on_failure.setEnabled(False)
        below = row(gap=10)
        below.addWidget(self._on_failure)
        below.addStretch(1)
        lines.addLayout(below)
        self._no_lanes = label(
            "No lane has anything to do. Wakes that share a lane fire one after another.",
            muted=True,
            wrap=True,
        )
        lines.addWidget(self._no_lanes)
        lines.addStretch(1)
        return body

    def _histogram(self, name: str, body: QWidget) -> tuple[QWidget, HistogramView, QWidget]:
        words = label("", Text.SMALL, muted=True, wrap=True, parent=body)
        return SectionLabel(name, body), HistogramView(name, body), words

    def _fit(self, table: RowTable[KindRow] | RowTable[LaneRow], rows: int) -> None:
        lines = max(1, min(rows, MOST_LINES)) * table.verticalHeader().defaultSectionSize()
        table.setFixedHeight(table.horizontalHeader().sizeHint().height() + lines + 2)

    # --------------------------------------------------------------------------------------------- reading

    async def _read(self) -> None:
        figures = await self._alarm.metrics()
        lanes = await self._alarm.lanes(limit=MOST_LANES)
        self._summary.setText(summary_words(figures))
        _fill(self.kinds, kind_rows(figures), lambda kind: kind.kind)
        _fill(self.lanes, lanes, lane_key)
        self._fit(self._kind_table, self.kinds.rowCount())
        self._fit(self._lane_table, self.lanes.rowCount())
        if not self._kind_table.currentIndex().isValid() and self.kinds.rowCount():
            self._kind_table.choose(0)
        self._show_kind(self._kind_table.currentIndex().row())
        self._show_lane(self._lane_table.currentIndex().row())
        self._kind_table.setVisible(bool(self.kinds.rowCount()))
        self._lane_table.setVisible(bool(lanes))
        self._on_failure.setVisible(bool(lanes))
        self._no_lanes.setVisible(not lanes)

    def _show_kind(self, place: int) -> None:
        chosen = self.kinds.row(place) if 0 <= place < self.kinds.rowCount() else None
        self._chosen.setText(
            "Nothing has fired yet since this console was started."
            if chosen is None
            else f"How long it took: {kind_words(chosen.kind)}"
        )
        for (head, bars, words), histogram in (
            (self.late, EMPTY if chosen is None else chosen.late),
            (self.run, EMPTY if chosen is None else chosen.run),
        ):
            bars.show_histogram(histogram)
            words.setProperty("text", histogram_words(histogram))
            head.setVisible(chosen is not None)
            words.setVisible(chosen is not None)
            bars.setVisible(bool(histogram.count))

    def _show_lane(self, place: int) -> None:
        chosen = self.lanes.row(place) if 0 <= place < self.lanes.rowCount() else None
        self._on_failure.setEnabled(chosen is not None)
        stops = chosen is not None and chosen.stop_on_failure
        self._on_failure.setText("Go on when one dies…" if stops else "Stop when one dies…")
        self._on_failure.setAccessibleName(self._on_failure.text().rstrip("…"))

    # ---------------------------------------------------------------------------------------------- doing

    def _on_failure_pressed(self) -> None:
        place = self._lane_table.currentIndex().row()
        if 0 <= place < self.lanes.rowCount():
            self._session.spawn(self._set_lane(self.lanes.row(place)), "set what a lane does")

    async def _set_lane(self, lane: LaneRow) -> None:
        stop = not lane.stop_on_failure
        sure = await confirm(
            self.window(),
            f"{'Stop' if stop else 'Let'} the lane “{lane.lane}” {'when' if stop else 'go on when'} a wake of it dies?",
            "Whatever stands behind the dead one waits until you release or drop that one."
            if stop
            else "What stands behind a dead wake fires all the same; the dead one waits for you alone.",
            action="Stop when one dies" if stop else "Go on when one dies",
        )
        if sure:
            await self._alarm.set_lane(lane.workspace, lane.lane, self._session.actor, stop_on_failure=stop)
            self._reread.ask()


def summary_words(figures: MetricsSnapshot) -> str:
    """All wakes at one moment in a sentence or two."""
    gauges = figures.gauges
    said = [f"{number(gauges.live)} {'wake is' if gauges.live == 1 else 'wakes are'} coming or firing."]
    if gauges.dead:
        said.append(f"{number(gauges.dead)} dead.")
    if gauges.waiting.get("no_sink"):
        said.append(f"{number(gauges.waiting['no_sink'])} without a sink.")
    if gauges.waiting.get("docket"):
        said.append(f"{number(gauges.waiting['docket'])} in the docket.")
    if gauges.oldest_overdue_ms >= 1_000:
        said.append(f"The one that is due longest has waited {duration_text(gauges.oldest_overdue_ms)}.")
    return " ".join(said)


def _fill(model: RowModel[Row], rows: Sequence[Row], key: Callable[[Row], str]) -> None:
    """Make a model show just these, by row signals."""
    here = {key(one) for one in rows}
    there = [key(model.row(place)) for place in range(model.rowCount())]
    model.merge(rows, [one for one in there if one not in here])
