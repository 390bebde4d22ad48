"""The environment that a command sets: names with values, or with references to secrets of the console."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from app.widgets import Role, button, column, row

_ROWS_SHOWN = 3
_NAME, _VALUE, _SECRET = range(3)


class EnvironmentTable(QWidget):
    """Rows of name, value, secret. ``changed`` comes on edits.

    A secret's value is the name of a variable of the console; its content is read when the command starts,
    never written here, and sealed by its digest.
    """

    changed = Signal()

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        lines = column(self, gap=4)
        self._table = _Table(self)
        self._table.setAccessibleName(name)
        self._table.setToolTip(
            "Variables set for the command. Tick “secret” to name a variable of the console instead of a value."
        )
        self.setFocusProxy(self._table)
        lines.addWidget(self._table)
        line = row(gap=4)
        line.addWidget(
            button("Add variable", "Add a row", self.add, role=Role.QUIET, name=f"{name}: add variable")
        )
        self._remove = button(
            "Remove", "Remove the chosen row", self._remove_chosen, role=Role.QUIET, name=f"{name}: remove"
        )
        line.addWidget(self._remove)
        line.addStretch(1)
        lines.addLayout(line)
        self._table.itemChanged.connect(self._edited)
        self._table.itemSelectionChanged.connect(self._enable)
        self._fit()
        self._enable()

    def environment(self) -> dict[str, str | dict[str, str]]:
        """What the work order file would hold; rows without name and value do not count."""
        found: dict[str, str | dict[str, str]] = {}
        for place in range(self._table.rowCount()):
            name, value = self._text(place, _NAME), self._text(place, _VALUE)
            if name or value:
                found[name] = {"secret": value} if self._is_secret(place) else value
        return found

    def repeated(self) -> tuple[str, ...]:
        """Names that stand in more than one row."""
        names = [self._text(place, _NAME) for place in range(self._table.rowCount())]
        return tuple(sorted({name for name in names if name and names.count(name) > 1}))

    def add(self, name: str = "", value: str = "", *, secret: bool = False) -> None:
        """Add a row and begin to edit it if it is empty."""
        place = self._table.rowCount()
        self._table.insertRow(place)
        tick = QTableWidgetItem("secret")
        tick.setFlags(
            Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsUserCheckable | Qt.ItemFlag.ItemIsSelectable
        )
        tick.setCheckState(Qt.CheckState.Checked if secret else Qt.CheckState.Unchecked)
        tick.setToolTip("The value is the name of a variable of the console")
        for at, item in ((_NAME, QTableWidgetItem(name)), (_VALUE, QTableWidgetItem(value)), (_SECRET, tick)):
            self._table.setItem(place, at, item)
        self._fit()
        if not name:
            self._table.setCurrentCell(place, _NAME)
            self._table.setFocus()
            first = self._table.item(place, _NAME)
            if self.isVisible() and first is not None:
                self._table.editItem(first)

    def _text(self, place: int, at: int) -> str:
        item = self._table.item(place, at)
        return "" if item is None else item.text()

    def _is_secret(self, place: int) -> bool:
        item = self._table.item(place, _SECRET)
        return item is not None and item.checkState() == Qt.CheckState.Checked

    def _remove_chosen(self) -> None:
        place = self._table.currentRow()
        if place >= 0:
            self._table.removeRow(place)
            self._fit()
            self.changed.emit()

    def _edited(self) -> None:
        self.changed.emit()

    def _enable(self) -> None:
        self._remove.setVisible(self._table.rowCount() > 0)
        self._remove.setEnabled(self._table.currentRow() >= 0)

    def _fit(self) -> None:
        rows = min(self._table.rowCount(), _ROWS_SHOWN)
        head = self._table.horizontalHeader().sizeHint().height()
        self._table.setVisible(self._table.rowCount() > 0)
        self._table.setFixedHeight(head + rows * self._table.verticalHeader().defaultSectionSize() + 4)
        self._enable()


class _Table(QTableWidget):
    """Tab leaves the table; Enter and F2 edit a cell, Space ticks."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(0, 3, parent)
        self.setHorizontalHeaderLabels(["Name", "Value, or console variable", ""])
        self.setTabKeyNavigation(False)
        self.setShowGrid(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectItems)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 12)
        header = self.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(_NAME, QHeaderView.ResizeMode.Interactive)
        header.setSectionResizeMode(_VALUE, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(_SECRET, QHeaderView.ResizeMode.Fixed)
        self.setColumnWidth(_NAME, self.fontMetrics().averageCharWidth() * 22)
        self.setColumnWidth(_SECRET, self.fontMetrics().averageCharWidth() * 14)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter edits instead of pressing a button of the dialog."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            item = self.currentItem()
            if item is not None and self.state() != QAbstractItemView.State.EditingState:
                self.editItem(item)
            event.accept()
            return
        super().keyPressEvent(event)
