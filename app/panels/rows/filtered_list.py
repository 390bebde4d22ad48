"""A list of cards with a filter of states and a count above it, and words where it is empty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QFrame, QStackedWidget

from app.panels.rows.card import CardDelegate
from app.panels.rows.model import RowModel
from app.panels.rows.row_list import RowList
from app.theme import Text
from app.widgets import EmptyState, Times, column, frame, label, number, row, rule

Row = TypeVar("Row")


class FilteredList(Generic[Row]):
    """The left side of a page. ``side`` is the widget; what stands in it belongs to it.

    ``things`` is the plural that all its words use, ``order`` how they are sorted. ``filters`` are words with the
    states that the engine is to be asked for; the first shows all.
    """

    def __init__(
        self,
        model: RowModel[Row],
        delegate: CardDelegate[Row],
        times: Times,
        things: str,
        order: str,
        filters: Sequence[tuple[str, Sequence[Any]]],
        filter_changed: Callable[[], None],
        width: int,
    ) -> None:
        self._model = model
        self.side: QFrame = frame("side")
        self.side.setMinimumWidth(width)
        self.states = QComboBox(self.side)
        self.states.setAccessibleName(f"Which {things}")
        self.states.setToolTip(f"Show only {things} in these states")
        for words, states in filters:
            self.states.addItem(words, states)
        self.states.currentIndexChanged.connect(filter_changed)
        self._count = label("", Text.SMALL, muted=True, parent=self.side)
        self.list: RowList[Row] = RowList(
            model, delegate, times, f"{things[:1].upper()}{things[1:]}, {order}", self.side
        )
        self.nothing = EmptyState("", "")
        reading = label(f"Reading the {things}…", muted=True)
        reading.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.lists = QStackedWidget(self.side)
        for page in (reading, self.list, self.nothing):
            self.lists.addWidget(page)
        head = row(margins=(13, 7, 13, 7), gap=8)
        head.addWidget(self.states)
        head.addWidget(label(order, Text.SMALL, muted=True, parent=self.side), 1)
        head.addWidget(self._count)
        lines = column(self.side)
        lines.addLayout(head)
        lines.addWidget(rule(self.side))
        lines.addWidget(self.lists, 1)

    @property
    def wanted_states(self) -> tuple[Any, ...]:
        """The states that are to be shown; none means all."""
        return tuple(self.states.currentData() or ())

    def say_count(self, nothing: tuple[str, str]) -> int:
        """Say how many rows are loaded and show them, or these words where there are none; give the number."""
        loaded = self._model.rowCount()
        self._count.setText(f"{number(loaded)}{'' if self._model.complete else '+'}")
        self._count.setAccessibleName(f"{loaded} loaded, {'all' if self._model.complete else 'more follow'}")
        if not loaded:
            self.nothing.say(*nothing)
        self.lists.setCurrentWidget(self.list if loaded else self.nothing)
        return loaded
