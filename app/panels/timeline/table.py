"""The timeline as text: every bar in view as a row, for screen readers and for whoever prefers to read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.panels.rows import Column, RowModel, RowTable
from app.panels.timeline.words import (
    KIND_WORDS,
    bar_lines,
    bar_name,
    bar_took,
    look_of_bar,
    mark_lines,
)
from app.panels.words import plain_tip
from app.widgets import Times, column, spoken
from engine.instants import Instant
from engine.views.timeline import TimelineBar, TimelineCell, TimelineMark, TimelineView

Entry = TimelineBar | TimelineMark | TimelineCell
"""What a row says: a bar, a mark of the clock, or a count."""


class TimelineTable(QWidget):
    """Rows in the order of time. ``chosen(TimelineBar or None)`` and ``opened(TimelineBar)`` as of the canvas."""

    chosen = Signal(object)
    opened = Signal(object)

    def __init__(self, times: Times, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._times = times
        self._view: TimelineView | None = None
        self._quiet = False
        self._model = _model(times, self._cell_start, self)
        self.table: RowTable[Entry] = RowTable(
            self._model, "The timeline as a table", (24, 26, 20, 18, 22, 40), self
        )
        column(self).addWidget(self.table)
        self.table.chosen.connect(self._on_chosen)
        self.table.opened.connect(self._on_opened)

    def show_view(self, view: TimelineView, start: Instant, end: Instant) -> None:
        """Show what of a read lies between ``start`` and ``end``."""
        self._view = view
        bars = [bar for bar in view.bars if bar.start <= end and (bar.end is None or bar.end >= start)]
        marks = [mark for mark in view.marks if start <= mark.end <= end or start <= mark.start <= end]
        cells = [cell for cell in view.cells if start <= self._cell_start(cell) <= end]
        entries: list[Entry] = sorted([*bars, *marks, *cells], key=self._at)
        gone = {_key(self._model.row(place)) for place in range(self._model.rowCount())}
        gone -= {_key(entry) for entry in entries}
        self._quiet = True
        if len(entries) > 2_000 or len(gone) > 200:
            self._model.replace(entries, complete=True)
        else:
            self._model.merge(entries, gone)
        self._quiet = False

    def select(self, bar: TimelineBar | None) -> None:
        """Make the row of a bar current."""
        self._quiet = True
        self.table.choose(self._model.number_of(_key(bar)) if bar is not None else -1)
        self._quiet = False

    def _at(self, entry: Entry) -> Instant:
        return self._cell_start(entry) if isinstance(entry, TimelineCell) else entry.start

    def _cell_start(self, cell: TimelineCell) -> Instant:
        assert self._view is not None
        return self._view.start + cell.slice * self._view.slice_ms

    def _entry(self, number: int) -> TimelineBar | None:
        entry = self._model.row(number) if 0 <= number < self._model.rowCount() else None
        return entry if isinstance(entry, TimelineBar) else None

    def _on_chosen(self, number: int) -> None:
        if not self._quiet:
            self.chosen.emit(self._entry(number))

    def _on_opened(self) -> None:
        bar = self._entry(self.table.currentIndex().row())
        if bar is not None:
            self.opened.emit(bar)


def _key(entry: Entry) -> str:
    if isinstance(entry, TimelineCell):
        return f"{entry.lane} {entry.slice} {entry.kind} {entry.state}"
    return f"{entry.kind} {entry.id}"


def _model(times: Times, cell_start: Callable[[TimelineCell], Instant], parent: QObject) -> RowModel[Entry]:
    def lines(entry: Entry) -> Sequence[str]:
        if isinstance(entry, TimelineBar):
            return bar_lines(entry, times)
        if isinstance(entry, TimelineMark):
            return mark_lines(entry, times)
        return (f"{entry.count} × {KIND_WORDS[entry.kind]}, {look_of_bar(entry.kind, entry.state).word}",)

    def start(entry: Entry) -> str:
        if isinstance(entry, TimelineCell):
            return times.stamp(cell_start(entry), seconds=True)
        return times.stamp(entry.start, seconds=True)

    def what(entry: Entry) -> str:
        if isinstance(entry, TimelineMark):
            return mark_lines(entry, times)[0]
        if isinstance(entry, TimelineCell):
            return lines(entry)[0]
        return KIND_WORDS[entry.kind]

    def state(entry: Entry) -> str:
        return "" if isinstance(entry, TimelineMark) else look_of_bar(entry.kind, entry.state).word

    def of(entry: Entry) -> str:
        return bar_name(entry) if isinstance(entry, TimelineBar) else ""

    def took(entry: Entry) -> str:
        return bar_took(entry, times) if isinstance(entry, TimelineBar) else ""

    def title(entry: Entry) -> str:
        said = (entry.title or entry.note) if isinstance(entry, TimelineBar) else ""
        return spoken(said) if said else ""

    def tip(entry: Entry) -> str:
        return plain_tip(*lines(entry))

    return RowModel(
        [
            Column("Began", start, tip),
            Column("Of", of, tip),
            Column("What", what, tip),
            Column("State", state, tip),
            Column("Took", took, tip),
            Column("Title", title, tip),
        ],
        _key,
        lambda entry: ", ".join(lines(entry)),
        parent,
    )
