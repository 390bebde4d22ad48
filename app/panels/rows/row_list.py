"""A list view for a `RowModel`: what one looks at stays where it is while rows come and go above."""

from __future__ import annotations

from typing import Generic, TypeVar

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QListView, QStyledItemDelegate, QWidget

from app.panels.rows.model import RowModel
from app.theme import theme, tokens
from app.widgets import Times

Row = TypeVar("Row")


class RowList(QListView, Generic[Row]):
    """Cards under each other.

    ``chosen`` tells the number of the row that became current (-1 for none), also when a row of the same
    number is another one now; ``opened`` that one wants to go on to it (Enter, Right, double click).
    """

    chosen = Signal(int)
    opened = Signal()

    def __init__(
        self,
        model: RowModel[Row],
        delegate: QStyledItemDelegate,
        times: Times,
        name: str,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._model = model
        self._empty = ""
        self._anchors: list[tuple[QPersistentModelIndex, int]] = []
        self.setModel(model)
        self.setItemDelegate(delegate)
        delegate.setParent(self)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setAccessibleName(name)
        self.setAccessibleDescription("Up and Down choose, Enter or Right goes on to the details.")
        model.about_to_edit.connect(self._remember_place)
        model.edited.connect(self._restore_place)
        times.ticked.connect(self.viewport().update)
        times.changed.connect(self.viewport().update)
        look = theme()
        if look is not None:
            look.changed.connect(self.scheduleDelayedItemsLayout)
        self.doubleClicked.connect(self._double_clicked)

    def say_empty(self, words: str) -> None:
        """Say these words where there are no rows."""
        self._empty = words
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the rows, or say that there are none."""
        super().paintEvent(event)
        if self._empty and self._model.rowCount() == 0:
            painter = QPainter(self.viewport())
            painter.setPen(tokens().muted)
            place = self.viewport().rect().adjusted(13, 10, -13, 0)
            flags = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap
            painter.drawText(place, int(flags), self._empty)
            painter.end()

    def choose(self, number: int) -> None:
        """Make this row current and bring it into view; -1 chooses none."""
        if number < 0:
            self.setCurrentIndex(QModelIndex())
            return
        index = self._model.index(number, 0)
        self.setCurrentIndex(index)
        self.scrollTo(index)

    def last_visible(self) -> int:
        """The number of the last row in view, 0 in an empty list."""
        index = self.indexAt(QPoint(2, self.viewport().height() - 1))
        return index.row() if index.isValid() else max(self._model.rowCount() - 1, 0)

    def currentChanged(
        self, current: QModelIndex | QPersistentModelIndex, previous: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Tell which row became current."""
        super().currentChanged(current, previous)
        self.chosen.emit(current.row() if current.isValid() else -1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter and Right go on to the details; they decide nothing."""
        plain = event.modifiers() in (
            Qt.KeyboardModifier.NoModifier,
            Qt.KeyboardModifier.KeypadModifier,
        )
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Right) and plain:
            if not event.isAutoRepeat() and self.currentIndex().isValid():
                self.opened.emit()
            return
        super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:
        """Typing letters chooses nothing; the search field is for that."""

    def _double_clicked(self) -> None:
        self.opened.emit()

    def _remember_place(self) -> None:
        """Keep the visible rows and where they stand, so that edits above do not move them."""
        self._anchors.clear()
        if self.verticalScrollBar().value() == 0:
            return
        index = self.indexAt(QPoint(2, 1))
        while index.isValid():
            rect = self.visualRect(index)
            if rect.top() > self.viewport().height():
                break
            self._anchors.append((QPersistentModelIndex(index), rect.top()))
            index = self._model.index(index.row() + 1, 0)

    def _restore_place(self) -> None:
        self.executeDelayedItemsLayout()
        shifts = sorted(
            self.visualRect(self._model.index(index.row(), 0)).top() - top
            for index, top in self._anchors
            if index.isValid()
        )
        self._anchors.clear()
        # A row that moved itself must not take the view along; most rows in view only made room.
        if shifts and (shift := shifts[len(shifts) // 2]):
            self.verticalScrollBar().setValue(self.verticalScrollBar().value() + shift)
