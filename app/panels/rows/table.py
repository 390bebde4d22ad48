"""A table view for a `RowModel`: fixed heights, whole rows, widths that stay as the person set them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from app.panels.rows.model import RowModel
from app.theme import theme, tokens

Row = TypeVar("Row")

_PAD = 8
"""The room at the left of a cell; as much as a head has."""


class CellDelegate(QStyledItemDelegate):
    """A cell's text under its column's head, cut with an ellipsis."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Paint ground and text."""
        colours = tokens()
        rect = option.rect
        painter.save()
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, colours.select)
        place = rect.adjusted(_PAD, 0, -_PAD // 2, 0)
        painter.setFont(option.font)
        painter.setPen(colours.text)
        text = option.fontMetrics.elidedText(
            str(index.data() or ""), Qt.TextElideMode.ElideRight, place.width()
        )
        painter.drawText(place, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), text)
        painter.restore()


class RowTable(QTableView, Generic[Row]):
    """``widths`` are in average letters; the column ``rest``, by default the last, takes what is left.

    ``empty`` is said where there are no rows.

    ``chosen`` tells the number of the row that became current, -1 for none; ``opened`` that one wants to go on
    to it (Enter, double click).
    """

    chosen = Signal(int)
    opened = Signal()

    def __init__(
        self,
        model: RowModel[Row],
        name: str,
        widths: Sequence[int],
        parent: QWidget | None = None,
        *,
        rest: int | None = None,
        empty: str = "",
    ) -> None:
        super().__init__(parent)
        self._empty = empty
        self.setModel(model)
        self.setItemDelegate(CellDelegate(self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setCornerButtonEnabled(False)
        self.setAccessibleName(name)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setStretchLastSection(rest is None)
        header.setHighlightSections(False)
        self._fit_rows()
        unit = self.fontMetrics().averageCharWidth()
        for at, width in enumerate(widths):
            self.setColumnWidth(at, unit * width)
        if rest is not None:
            header.setSectionResizeMode(rest, QHeaderView.ResizeMode.Stretch)
        self.doubleClicked.connect(self._double_clicked)
        look = theme()
        if look is not None:
            look.changed.connect(self._fit_rows)

    def say_empty(self, words: str) -> None:
        """Say these words where there are no rows."""
        self._empty = words
        self.viewport().update()

    def choose(self, number: int) -> None:
        """Make this row current and bring it into view; -1 chooses none."""
        if number < 0:
            self.setCurrentIndex(QModelIndex())
            self.clearSelection()
            return
        self.selectRow(number)
        self.scrollTo(self.model().index(number, 0))

    def currentChanged(
        self, current: QModelIndex | QPersistentModelIndex, previous: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Tell which row became current."""
        super().currentChanged(current, previous)
        if current.row() != previous.row() or current.isValid() != previous.isValid():
            self.chosen.emit(current.row() if current.isValid() else -1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter goes on to the row."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if not event.isAutoRepeat() and self.currentIndex().isValid():
                self.opened.emit()
            return
        super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the rows, with a frame around the one in focus, or say that there are none."""
        super().paintEvent(event)
        current = self.currentIndex()
        if self.hasFocus() and current.isValid():
            last = self.model().index(current.row(), self.model().columnCount() - 1)
            row = self.visualRect(current.siblingAtColumn(0)).united(self.visualRect(last))
            painter = QPainter(self.viewport())
            painter.setPen(tokens().accent)
            painter.drawRect(row.adjusted(1, 1, -2, -2))
            painter.end()
        if self._empty and self.model().rowCount() == 0:
            painter = QPainter(self.viewport())
            painter.setPen(tokens().muted)
            place = self.viewport().rect().adjusted(_PAD, _PAD, -_PAD, 0)
            flags = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap
            painter.drawText(place, int(flags), self._empty)
            painter.end()

    def keyboardSearch(self, search: str) -> None:
        """Typing letters chooses nothing."""

    def _double_clicked(self) -> None:
        self.opened.emit()

    def _fit_rows(self) -> None:
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 10)
