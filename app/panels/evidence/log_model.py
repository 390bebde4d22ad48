"""The rows of a log as a table model of one column. Only row signals, except when other rows are shown."""

from __future__ import annotations

from enum import IntEnum

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from app.panels.evidence.ansi import LogLine
from app.panels.evidence.log_source import Patch, Splice

Index = QModelIndex | QPersistentModelIndex


class Roles(IntEnum):
    """Roles beyond Qt's own."""

    LINE = Qt.ItemDataRole.UserRole + 1


class LogModel(QAbstractTableModel):
    """A copy of the rows that a `LogSource` holds; kept equal by applying its patches in order."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lines: list[LogLine] = []
        self._longest = 0

    @property
    def longest(self) -> int:
        """The number of characters of the longest row seen since the rows were last others."""
        return self._longest

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (as Qt has it)
        """The number of rows loaded."""
        return 0 if parent.isValid() else len(self._lines)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (as Qt has it)
        """One."""
        return 0 if parent.isValid() else 1

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """The row's text, or the `LogLine` itself for the delegate."""
        if not index.isValid() or not 0 <= index.row() < len(self._lines):
            return None
        line = self._lines[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return shown_text(line)
            case Qt.ItemDataRole.AccessibleTextRole:
                words = shown_text(line) or "empty line"
                return f"continued: {words}" if line.continued else words
            case Roles.LINE:
                return line
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Rows can be selected, to be copied."""
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren

    def line(self, row: int) -> LogLine:
        """The row with this number."""
        return self._lines[row]

    def lines(self, first: int, last: int) -> list[LogLine]:
        """The rows from ``first`` to ``last``, both included."""
        return self._lines[first : last + 1]

    def row_at(self, offset: int) -> int:
        """The first row of the last line that begins at or before byte ``offset``; 0 if all begin later."""
        low, high = 0, len(self._lines)
        while low < high:
            middle = (low + high) // 2
            if self._lines[middle].offset <= offset:
                low = middle + 1
            else:
                high = middle
        return self.rows_of(max(low - 1, 0)).start

    def rows_of(self, row: int) -> range:
        """All rows of the line that this row belongs to."""
        first, behind = row, row + 1
        while first > 0 and first < len(self._lines) and self._lines[first].continued:
            first -= 1
        while behind < len(self._lines) and self._lines[behind].continued:
            behind += 1
        return range(first, behind)

    def row_with(self, needle: str, row: int) -> int:
        """The row of the line at ``row`` in which ``needle`` begins; ``row`` if that is not in what is shown."""
        rows = self.rows_of(row)
        folded = [self._lines[at].text.casefold() for at in rows]
        place = "".join(folded).find(needle.casefold())
        for at, text in zip(rows, folded, strict=True):
            if 0 <= place < len(text):
                return at
            place -= len(text)
        return row

    def around(self, row: int, most: int) -> tuple[str, str]:
        """What stands before and after this row's text in its line, ``most`` characters of each."""
        before = after = ""
        rows = self.rows_of(row)
        for at in range(row - 1, rows.start - 1, -1):
            before = self._lines[at].text + before
            if len(before) >= most:
                break
        for at in range(row + 1, rows.stop):
            after += self._lines[at].text
            if len(after) >= most:
                break
        return before[-most:] if most else "", after[:most]

    def apply(self, patch: Patch) -> int:
        """Take over what changed; gives how many rows were put in front (negative: taken away there)."""
        if patch.fresh:
            self.beginResetModel()
            self._lines.clear()
            for splice in patch.splices:
                self._lines[splice.index : splice.index + splice.removed] = splice.lines
            self._longest = max(map(_length, self._lines), default=0)
            self.endResetModel()
            return 0
        shift = 0
        for splice in patch.splices:
            self._splice(splice)
            if splice.index == 0 and not (splice.removed and splice.lines):
                shift += len(splice.lines) - splice.removed
        return shift

    def clear(self) -> None:
        """Hold no rows."""
        self.beginResetModel()
        self._lines.clear()
        self._longest = 0
        self.endResetModel()

    def _splice(self, splice: Splice) -> None:
        index, lines = splice.index, splice.lines
        common = min(splice.removed, len(lines))
        if common:
            self._lines[index : index + common] = lines[:common]
            self.dataChanged.emit(self.index(index, 0), self.index(index + common - 1, 0))
        self._longest = max(self._longest, max(map(_length, lines), default=0))
        if splice.removed > common:
            self.beginRemoveRows(QModelIndex(), index + common, index + splice.removed - 1)
            del self._lines[index + common : index + splice.removed]
            self.endRemoveRows()
        elif len(lines) > common:
            self.beginInsertRows(QModelIndex(), index + common, index + len(lines) - 1)
            self._lines[index + common : index + common] = lines[common:]
            self.endInsertRows()


def shown_text(line: LogLine) -> str:
    """A row's text as shown, with what was cut said at its end."""
    return f"{line.text} {cut_note(line)}" if line.hidden else line.text


def cut_note(line: LogLine) -> str:
    """What is said after a row that was cut."""
    return f"(+{line.hidden:,} chars)" if line.hidden else ""


def _length(line: LogLine) -> int:
    return len(line.text) + (20 if line.hidden else 0)
