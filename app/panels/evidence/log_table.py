"""The rows of a log as a table view."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableView, QWidget

from app.panels.evidence.log_delegate import LogDelegate
from app.panels.evidence.log_model import LogModel


class LogTable(QTableView):
    """The rows. Fixed heights, whole rows selected; keys beyond the loaded part ask for more."""

    wanted_earlier = Signal()
    wanted_end = Signal()
    wanted_start = Signal()
    wanted_copy = Signal()
    resized = Signal()

    def __init__(self, model: LogModel, delegate: LogDelegate, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setModel(model)
        self.setItemDelegate(delegate)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setProperty("surface", "log")
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.horizontalHeader().hide()
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.fit_rows()

    def fit_rows(self) -> None:
        """Give every row the height of the font."""
        delegate = self.itemDelegate()
        if isinstance(delegate, LogDelegate):
            self.verticalHeader().setMinimumSectionSize(delegate.row_height)
            self.verticalHeader().setDefaultSectionSize(delegate.row_height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Tell that rows have another width now."""
        super().resizeEvent(event)
        self.resized.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """End and Home go to the ends of the whole file, Page up beyond the loaded part loads more."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.wanted_copy.emit()
            return
        control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if event.key() == Qt.Key.Key_End and not shift:
            self.wanted_end.emit()
            return
        if event.key() == Qt.Key.Key_Home and control and not shift:
            self.wanted_start.emit()
            return
        at_top = self.verticalScrollBar().value() == self.verticalScrollBar().minimum()
        if event.key() in (Qt.Key.Key_PageUp, Qt.Key.Key_Up) and at_top:
            self.wanted_earlier.emit()
        super().keyPressEvent(event)
