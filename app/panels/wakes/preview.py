"""The coming occurrences of a schedule: local time, UTC, and a mark on days whose clocks change."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyleOptionViewItem, QWidget

from app.panels.rows import BadgeDelegate, Column, RowModel, RowTable
from app.panels.rows.table import CellDelegate
from app.panels.wakes.words import MARKS, MONTHS, local_words
from app.panels.words import plain_tip
from app.theme import Look, Shape, Tone
from app.widgets import Times
from engine.wakes import Occurrence

_PLAIN = Look("", Tone.NEUTRAL, Shape.DOT)


def _key(occurrence: Occurrence) -> str:
    return str(occurrence.at)


def utc_words(occurrence: Occurrence) -> str:
    """An occurrence's time in UTC, its year left out: it stands beside the local time."""
    return f"{occurrence.utc[8:10]} {MONTHS[int(occurrence.utc[5:7]) - 1]} {occurrence.utc[11:16]}"


def mark_words(occurrence: Occurrence) -> str:
    """The mark in a word, "" on ordinary days."""
    return "" if occurrence.mark is None else MARKS[occurrence.mark][0]


def describe_occurrence(occurrence: Occurrence, times: Times) -> str:
    """The whole line for a screen reader."""
    said = f"{local_words(occurrence, times)}, {occurrence.utc}"
    return said if occurrence.mark is None else f"{said}. {MARKS[occurrence.mark][1]}"


class PreviewTable(RowTable[Occurrence]):
    """As high as its lines, so that it never scrolls by itself."""

    def __init__(
        self,
        times: Times,
        parent: QWidget | None = None,
        *,
        widths: tuple[int, int, int] = (34, 18, 16),
        name: str = "Coming occurrences",
    ) -> None:
        self.occurrences: RowModel[Occurrence] = RowModel(
            [
                Column(
                    "Local time",
                    lambda one: local_words(one, times),
                    lambda one: plain_tip(times.exact(one.at), times.until(one.at)),
                ),
                Column("UTC", utc_words, lambda one: one.utc),
                Column("Clocks", mark_words, lambda one: MARKS[one.mark][1] if one.mark is not None else ""),
            ],
            _key,
            partial(describe_occurrence, times=times),
        )
        super().__init__(self.occurrences, name, widths, parent)
        self.occurrences.setParent(self)
        self.setItemDelegateForColumn(2, _MarkDelegate(self.occurrences, self))
        self.setToolTip("Days whose clocks change are marked")
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._fit()

    def show_occurrences(self, occurrences: Sequence[Occurrence]) -> None:
        """Show these."""
        self.occurrences.replace(occurrences, complete=True)
        self._fit()

    def _fit(self) -> None:
        lines = max(self.occurrences.rowCount(), 1) * self.verticalHeader().defaultSectionSize()
        self.setFixedHeight(self.horizontalHeader().sizeHint().height() + lines + 2)


class _MarkDelegate(BadgeDelegate):
    """A badge where there is a mark, nothing where there is none."""

    def __init__(self, model: RowModel[Occurrence], parent: QObject) -> None:
        super().__init__(self._look_of, parent)
        self._model = model
        self._plain = CellDelegate(self)

    def _look_of(self, number: int) -> Look:
        mark = self._model.row(number).mark
        return _PLAIN if mark is None else Look(MARKS[mark][0], Tone.WARN, Shape.CLOCK)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Paint the badge, or an empty cell."""
        if self._model.row(index.row()).mark is None:
            self._plain.paint(painter, option, index)
        else:
            super().paint(painter, option, index)
