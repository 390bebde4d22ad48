"""Columns and divisions stay as the person left them."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QSplitter, QTableView, QWidget
from pytestqt.qtbot import QtBot

from app.settings import Settings
from app.shell.kept_layout import keep_layout
from app.widgets import column


class Page(QWidget):
    def __init__(self, columns: int = 3) -> None:
        super().__init__()
        self.split = QSplitter(Qt.Orientation.Vertical, self)
        self.table = QTableView(self.split)
        self.table.setAccessibleName("Rows")
        self.table.setModel(QStandardItemModel(2, columns, self.table))
        self.split.addWidget(QWidget(self.split))
        column(self).addWidget(self.split)
        self.resize(600, 400)


def shown(settings: Settings, qtbot: QtBot, columns: int = 3) -> Page:
    made = Page(columns)
    qtbot.addWidget(made)
    keep_layout(settings, "page", made)
    made.show()
    return made


def test_they_are_kept_over_a_restart(tmp_path: Path, qtbot: QtBot) -> None:
    settings = Settings(tmp_path)
    first = shown(settings, qtbot)
    first.table.setColumnWidth(1, 217)
    first.split.moveSplitter(123, 1)
    settings.save()
    again = shown(Settings(tmp_path), qtbot)
    assert again.table.columnWidth(1) == 217
    assert again.split.sizes() == first.split.sizes()


def test_a_table_that_has_other_columns_now_begins_anew(tmp_path: Path, qtbot: QtBot) -> None:
    settings = Settings(tmp_path)
    first = shown(settings, qtbot)
    first.table.setColumnWidth(1, 217)
    second = shown(settings, qtbot, columns=4)
    assert second.table.columnWidth(1) != 217
