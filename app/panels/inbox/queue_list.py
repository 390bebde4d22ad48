"""The list widget of the queue: calm under the pointer; a press that activates the window chooses nothing."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QEnterEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QListView, QWidget

from app.panels.inbox.delegate import QueueDelegate
from app.panels.inbox.model import QueueModel
from app.theme import theme
from app.widgets import Times

SETTLE_MS = 600
"""How long after the pointer has left the list its rows may move."""


class QueueList(QListView):
    """Shows a `QueueModel`.

    ``chosen`` tells the row that became current; ``inspect`` asks to go on to the card (Enter, Right).
    ``press_counts`` says whether a mouse press means anything (B-007).
    """

    chosen = Signal(int)
    inspect = Signal()

    def __init__(
        self,
        model: QueueModel,
        times: Times,
        press_counts: Callable[[], bool],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._queue = model
        self._press_counts = press_counts
        self._anchors: list[tuple[QPersistentModelIndex, int]] = []
        self._settle = QTimer(self, singleShot=True, interval=SETTLE_MS)
        self._settle.timeout.connect(self._let_move)
        self.setModel(model)
        self.setItemDelegate(QueueDelegate(times, self))
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setAccessibleName("Requests that wait for you, oldest first")
        self.setAccessibleDescription("Up and Down choose a request, Enter or Right goes on to its card.")
        self.setToolTip("Up and Down choose, Enter or Right goes on to the card")
        model.about_to_edit.connect(self._remember_place)
        model.edited.connect(self._restore_place)
        times.ticked.connect(self.viewport().update)
        times.changed.connect(self.viewport().update)
        if (look := theme()) is not None:
            # Another density gives rows another height.
            look.changed.connect(self.scheduleDelayedItemsLayout)

    def choose(self, row: int) -> None:
        """Make this row current and bring it into view; -1 chooses none."""
        if row < 0:
            self.setCurrentIndex(QModelIndex())
            return
        index = self._queue.index(row)
        self.setCurrentIndex(index)
        self.scrollTo(index)

    def currentChanged(
        self, current: QModelIndex | QPersistentModelIndex, previous: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Tell which row became current."""
        super().currentChanged(current, previous)
        self.chosen.emit(current.row() if current.isValid() else -1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter and Right go on to the card; they decide nothing. No other letter or key has a meaning."""
        plain = event.modifiers() in (
            Qt.KeyboardModifier.NoModifier,
            Qt.KeyboardModifier.KeypadModifier,
        )
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Right) and plain:
            if not event.isAutoRepeat() and self.currentIndex().isValid():
                self.inspect.emit()
            return
        super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:
        """Typing letters chooses nothing: a stray word must not change what is on the card."""

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Leave a press alone that only brought the window to the front."""
        if self._press_counts():
            super().mousePressEvent(event)

    def enterEvent(self, event: QEnterEvent) -> None:
        """Hold everything still while the pointer is here."""
        self._settle.stop()
        self._queue.hold_still(True)
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        """Let rows move again a little later."""
        self._settle.start()
        super().leaveEvent(event)

    def _let_move(self) -> None:
        self._queue.hold_still(False)

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
            index = self._queue.index(index.row() + 1)

    def _restore_place(self) -> None:
        anchor = next(((index, top) for index, top in self._anchors if index.isValid()), None)
        self._anchors.clear()
        if anchor is None:
            return
        self.executeDelayedItemsLayout()
        index, top = anchor
        moved = self.visualRect(self._queue.index(index.row())).top() - top
        if moved:
            self.verticalScrollBar().setValue(self.verticalScrollBar().value() + moved)
