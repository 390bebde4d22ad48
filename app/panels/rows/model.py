"""A list of values with identities, in the order the engine gives them, kept by row signals only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Generic, TypeVar

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)

Index = QModelIndex | QPersistentModelIndex
Row = TypeVar("Row")


class Roles(IntEnum):
    """Roles beyond Qt's own. ROW is the value itself."""

    ROW = Qt.ItemDataRole.UserRole + 1


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """One column: its head, and what it says of a row; ``tip`` where more can be said."""

    title: str
    text: Callable[[Row], str]
    tip: Callable[[Row], str] | None = None


class RowModel(QAbstractTableModel, Generic[Row]):
    """Rows by identity.

    ``key`` gives a row's identity, ``describe`` its whole text for screen readers. ``complete`` is false while
    the engine has more rows behind the last one; a view that comes to the end then makes ``more_wanted`` sent.
    ``about_to_edit`` comes before each batch of row signals and ``edited`` after it.
    """

    more_wanted = Signal()
    about_to_edit = Signal()
    edited = Signal()

    def __init__(
        self,
        columns: Sequence[Column[Row]],
        key: Callable[[Row], str],
        describe: Callable[[Row], str],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._columns = tuple(columns)
        self._key = key
        self._describe = describe
        self._rows: list[Row] = []
        self._keys: list[str] = []
        self._known: set[str] = set()
        self.complete = True

    # What a view asks

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (as Qt has it)
        """The number of rows loaded."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (as Qt has it)
        """The number of columns."""
        return 0 if parent.isValid() else len(self._columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """A cell's text, its tooltip, the row's whole text for screen readers, or the row itself."""
        if not index.isValid() or not 0 <= index.row() < len(self._rows):
            return None
        row = self._rows[index.row()]
        column = self._columns[index.column()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return column.text(row)
            case Qt.ItemDataRole.ToolTipRole:
                return column.tip(row) if column.tip is not None else None
            case Qt.ItemDataRole.AccessibleTextRole:
                return self._describe(row) if index.column() == 0 else column.text(row)
            case Roles.ROW:
                return row
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        """The columns' heads."""
        if orientation == Qt.Orientation.Horizontal and 0 <= section < len(self._columns):
            if role == Qt.ItemDataRole.DisplayRole:
                return self._columns[section].title
            if role == Qt.ItemDataRole.TextAlignmentRole:
                return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Rows can be selected."""
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren

    def canFetchMore(self, parent: Index) -> bool:
        """Whether the list goes on behind the last row."""
        return not parent.isValid() and not self.complete

    def fetchMore(self, parent: Index) -> None:
        """Ask for the next page; it comes with a later `append`."""
        if self.canFetchMore(parent):
            self.more_wanted.emit()

    # What a page asks

    def row(self, number: int) -> Row:
        """The row with this number."""
        return self._rows[number]

    def number_of(self, key: str) -> int:
        """The number of the row with this identity, -1 if it is not loaded."""
        return self._keys.index(key) if key in self._known else -1

    @property
    def last_key(self) -> str | None:
        """The identity of the last loaded row, after which the next page begins."""
        return self._keys[-1] if self._keys else None

    # What the engine says

    def replace(self, rows: Sequence[Row], *, complete: bool) -> None:
        """Show other rows altogether: another filter."""
        self.beginResetModel()
        self._rows = list(rows)
        self._keys = [self._key(row) for row in rows]
        self._known = set(self._keys)
        self.complete = complete
        self.endResetModel()

    def append(self, rows: Sequence[Row], *, complete: bool) -> None:
        """Take in the next page. Rows that are here already keep their place and become what they are now."""
        self.about_to_edit.emit()
        self.complete = complete
        fresh = []
        for row in rows:
            number = self.number_of(self._key(row))
            if number < 0:
                fresh.append(row)
            else:
                self._put(number, row)
        self._insert(len(self._rows), fresh)
        self.edited.emit()

    def prepend(self, rows: Sequence[Row]) -> None:
        """Put new rows in front."""
        self.about_to_edit.emit()
        self._insert(0, [row for row in rows if self._key(row) not in self._known])
        self.edited.emit()

    def truncate(self, count: int) -> None:
        """Let go of the rows behind the first ``count``; they can be read again."""
        if len(self._rows) > count:
            self.about_to_edit.emit()
            self.complete = False
            self._remove(self._keys[count:])
            self.edited.emit()

    def merge(self, first: Sequence[Row], gone: Collection[str] = ()) -> None:
        """Make the list begin with ``first`` and take away ``gone``; all other rows follow as they stood."""
        self.about_to_edit.emit()
        self._remove(gone)
        number = 0
        while number < len(first):
            key = self._key(first[number])
            if key not in self._known:
                until = number + 1
                while until < len(first) and self._key(first[until]) not in self._known:
                    until += 1
                self._insert(number, first[number:until])
                number = until
                continue
            if self._keys[number] != key:
                self._move(self._keys.index(key, number), number)
            self._put(number, first[number])
            number += 1
        self.edited.emit()

    # Row by row

    def _put(self, number: int, row: Row) -> None:
        if self._rows[number] != row:
            self._rows[number] = row
            self.dataChanged.emit(self.index(number, 0), self.index(number, len(self._columns) - 1))

    def _insert(self, number: int, rows: Sequence[Row]) -> None:
        if not rows:
            return
        self.beginInsertRows(QModelIndex(), number, number + len(rows) - 1)
        self._rows[number:number] = rows
        keys = [self._key(row) for row in rows]
        self._keys[number:number] = keys
        self._known.update(keys)
        self.endInsertRows()

    def _move(self, source: int, target: int) -> None:
        """Move a row up."""
        self.beginMoveRows(QModelIndex(), source, source, QModelIndex(), target)
        self._rows.insert(target, self._rows.pop(source))
        self._keys.insert(target, self._keys.pop(source))
        self.endMoveRows()

    def _remove(self, gone: Collection[str]) -> None:
        numbers = sorted((self._keys.index(key) for key in gone if key in self._known), reverse=True)
        while numbers:
            last = first = numbers.pop(0)
            while numbers and numbers[0] == first - 1:
                first = numbers.pop(0)
            self.beginRemoveRows(QModelIndex(), first, last)
            self._known.difference_update(self._keys[first : last + 1])
            del self._rows[first : last + 1], self._keys[first : last + 1]
            self.endRemoveRows()
