"""The queue as a list model: requests with the same seal stand in one row (B-001), oldest first.

The model only ever sends row signals. While it is held still (a pointer over the list, a card being looked
at) arrivals go to the end and what is gone leaves its row behind, dimmed and with a word, until `settle`.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from engine.instants import Instant
from engine.views.values import InboxRow

Index = QModelIndex | QPersistentModelIndex

_FEW = 2
"""Rows that differ in no more arguments than this are look-alikes worth marking."""

_NEIGHBOURS = 64
"""How many rows of the same program and length are compared for marking."""


class Roles(IntEnum):
    """Roles beyond Qt's own."""

    ENTRY = Qt.ItemDataRole.UserRole + 1


Order = tuple[Instant, str]


def order_of(row: InboxRow) -> Order:
    """The place of a request in the queue: by the time it was asked."""
    return (row.asked_at, row.approval_id)


@dataclass(eq=False, slots=True)
class Entry:
    """One row of the queue: the waiting requests of one seal, oldest first.

    When none waits any more the row is ``gone``; ``last`` is then the one that is still shown, and ``end``
    the word for how it ended once that is known. ``marks`` are the positions of arguments that differ from
    a look-alike row.
    """

    order: Order
    last: InboxRow
    members: list[InboxRow] = field(default_factory=list)
    end: str = ""
    marks: frozenset[int] = frozenset()

    @property
    def gone(self) -> bool:
        """Whether none of its requests waits any more."""
        return not self.members

    @property
    def row(self) -> InboxRow:
        """The request the row is about: the oldest that waits."""
        return self.members[0] if self.members else self.last

    @property
    def changed(self) -> bool:
        """Whether what would run changed since it was first asked, for any of them."""
        return any(member.changed for member in self.members) if self.members else self.last.changed

    @property
    def count(self) -> int:
        """How many requests of this seal wait, those on pages not read yet included."""
        if not self.members:
            return 0
        return max(len(self.members), max(member.alike for member in self.members))

    @property
    def expires_at(self) -> Instant:
        """When the first of them expires."""
        return min((member.expires_at for member in self.members), default=self.last.expires_at)


class QueueModel(QAbstractListModel):
    """The rows of the queue.

    ``describe`` gives a row's text for screen readers, ``explain`` its tooltip; both when asked for.
    ``more_wanted`` is sent when a view has come to the end and `complete` is false. ``about_to_edit`` comes
    before each batch of row signals, ``edited`` after it.
    """

    more_wanted = Signal()
    about_to_edit = Signal()
    edited = Signal()

    def __init__(
        self,
        describe: Callable[[Entry], str],
        explain: Callable[[Entry], str],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._describe = describe
        self._explain = explain
        self._entries: list[Entry] = []
        self._by_id: dict[str, Entry] = {}
        self._by_seal: dict[str, Entry] = {}
        self._alike: dict[tuple[str, int], list[Entry]] = {}
        self._still = False
        self._kept: str | None = None
        self._editing = False
        self.complete = True

    # What a view asks

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (as Qt has it)
        """The number of rows, dimmed ones included."""
        return 0 if parent.isValid() else len(self._entries)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Title, accessible text, tooltip, or the entry itself."""
        if not index.isValid() or not 0 <= index.row() < len(self._entries):
            return None
        entry = self._entries[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return entry.row.title
            case Qt.ItemDataRole.AccessibleTextRole:
                return self._describe(entry)
            case Qt.ItemDataRole.ToolTipRole:
                return self._explain(entry)
            case Roles.ENTRY:
                return entry
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Every row can be selected, dimmed ones too: their card says how they ended."""
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren

    def canFetchMore(self, parent: Index) -> bool:
        """Whether the queue goes on behind the last row."""
        return not parent.isValid() and not self.complete

    def fetchMore(self, parent: Index) -> None:
        """Ask for the next page; the rows come with a later `merge`."""
        if self.canFetchMore(parent):
            self.more_wanted.emit()

    # What the page asks

    @property
    def editing(self) -> bool:
        """Whether rows are being edited: a view that moves its current row meanwhile has chosen nothing."""
        return self._editing

    def entry(self, row: int) -> Entry:
        """The entry in this row."""
        return self._entries[row]

    def row_of(self, approval_id: str) -> int:
        """The row in which a request stands (or stood, while it is dimmed), -1 if none."""
        entry = self._by_id.get(approval_id)
        return -1 if entry is None else self._entries.index(entry)

    def waiting(self) -> int:
        """How many requests wait in the rows that are here."""
        return sum(len(entry.members) for entry in self._entries)

    def members(self, approval_id: str) -> tuple[InboxRow, ...]:
        """The waiting requests of the same seal as this one, itself included."""
        entry = self._by_id.get(approval_id)
        return () if entry is None else tuple(entry.members)

    def find(self, subject_id: str) -> str | None:
        """The oldest waiting request with this id, or of the task or work order with it."""
        return next(
            (
                row.approval_id
                for entry in self._entries
                for row in entry.members
                if subject_id in (row.approval_id, row.task_id, row.work_order_id)
            ),
            None,
        )

    def next_waiting(self, row: int) -> int:
        """The next row after ``row`` in which something waits, else the nearest before it, else -1."""
        after = range(row + 1, len(self._entries))
        before = range(min(row, len(self._entries)) - 1, -1, -1)
        return next((at for at in (*after, *before) if self._entries[at].members), -1)

    # What the engine says

    def merge(self, rows: Iterable[InboxRow], gone: Iterable[str]) -> None:
        """Take in requests (new ones and changed ones) and the ids of those that wait no more."""
        touched: list[Entry] = []
        with self._edit():
            for approval_id in gone:
                entry = self._leave(approval_id)
                if entry is not None:
                    touched.append(entry)
            for row in rows:
                entry = self._take(row)
                if entry is not None:
                    touched.append(entry)
            touched.extend(self._mark_look_alikes({_kind(entry.row) for entry in touched}))
            self._say_changed(touched)
            if not self._still:
                self._settle()

    def ends_to_name(self, touched: Collection[str] = ()) -> list[str]:
        """The requests of rows that ended but stay in sight and whose word is missing, or perhaps outdated."""
        return [
            entry.last.approval_id
            for entry in self._entries
            if entry.gone and (not entry.end or entry.last.approval_id in touched)
        ]

    def name_end(self, approval_id: str, word: str) -> None:
        """Say how a request that stays in sight has ended."""
        entry = self._by_id.get(approval_id)
        if entry is not None and entry.gone and entry.end != word:
            entry.end = word
            self._say_changed([entry])

    def hold_still(self, still: bool) -> None:
        """Let nothing move (true), or let everything find its place again (false)."""
        if still == self._still:
            return
        self._still = still
        if not still:
            self.settle()

    def keep(self, approval_id: str | None) -> None:
        """Keep the row of this request even if it has ended: a person looks at its card."""
        if approval_id == self._kept:
            return
        self._kept = approval_id
        # In the middle of an edit rows stand at places of their own; that edit settles them.
        if not self._still and not self._editing:
            self.settle()

    def settle(self) -> None:
        """Remove what is gone and put the rest in order, whatever the pointer does."""
        with self._edit():
            self._settle()

    # Row by row

    @contextmanager
    def _edit(self) -> Iterator[None]:
        self.about_to_edit.emit()
        self._editing = True
        try:
            yield
        finally:
            self._editing = False
        self.edited.emit()

    def _take(self, row: InboxRow) -> Entry | None:
        known = self._by_id.get(row.approval_id)
        if known is not None and known.row.seal != row.seal:
            self._leave(row.approval_id)
        entry = self._by_seal.get(row.seal)
        if entry is not None:
            self._by_id[row.approval_id] = entry
            return entry if _put(entry.members, row) else None
        entry = Entry(order_of(row), row, [row])
        place = len(self._entries) if self._still else self._place_for(entry)
        self.beginInsertRows(QModelIndex(), place, place)
        self._entries.insert(place, entry)
        self._by_id[row.approval_id] = entry
        self._by_seal[row.seal] = entry
        self._alike.setdefault(_kind(row), []).append(entry)
        self.endInsertRows()
        return entry

    def _leave(self, approval_id: str) -> Entry | None:
        entry = self._by_id.get(approval_id)
        if entry is None:
            return None
        left = next((row for row in entry.members if row.approval_id == approval_id), None)
        if left is None:
            return None
        entry.members.remove(left)
        if not entry.members:
            entry.last, entry.marks = left, frozenset()
            del self._by_seal[left.seal]
            self._alike[_kind(left)].remove(entry)
        return entry

    def _settle(self) -> None:
        kept = self._by_id.get(self._kept) if self._kept is not None else None
        end = len(self._entries)
        while end:
            start = end
            while start and not self._entries[start - 1].members and self._entries[start - 1] is not kept:
                start -= 1
            if start < end:
                self.beginRemoveRows(QModelIndex(), start, end - 1)
                removed = self._entries[start:end]
                del self._entries[start:end]
                self._forget(removed)
                self.endRemoveRows()
                end = start
            else:
                end -= 1
        self._sort()

    def _forget(self, removed: list[Entry]) -> None:
        leaving = {id(entry) for entry in removed}
        for approval_id in [key for key, entry in self._by_id.items() if id(entry) in leaving]:
            del self._by_id[approval_id]

    def _sort(self) -> None:
        """Move what was appended out of order to its place; a wall clock set back makes such arrivals."""
        for at in range(1, len(self._entries)):
            entry = self._entries[at]
            if self._entries[at - 1].order <= entry.order:
                continue
            place = next(to for to in range(at) if self._entries[to].order > entry.order)
            self.beginMoveRows(QModelIndex(), at, at, QModelIndex(), place)
            self._entries.insert(place, self._entries.pop(at))
            self.endMoveRows()

    def _place_for(self, entry: Entry) -> int:
        place = len(self._entries)
        while place and self._entries[place - 1].order > entry.order:
            place -= 1
        return place

    def _say_changed(self, touched: Iterable[Entry]) -> None:
        wanted = {id(entry) for entry in touched}
        if not wanted:
            return
        rows = [at for at, entry in enumerate(self._entries) if id(entry) in wanted]
        for first, last in _ranges(rows):
            self.dataChanged.emit(self.index(first), self.index(last))

    def _mark_look_alikes(self, kinds: set[tuple[str, int]]) -> list[Entry]:
        """Mark in each row the arguments by which it differs from its nearest look-alike."""
        changed: list[Entry] = []
        for kind in kinds:
            family = self._alike.get(kind, [])[:_NEIGHBOURS]
            for entry in family:
                marks = _nearest_difference(entry, family)
                if marks != entry.marks:
                    entry.marks = marks
                    changed.append(entry)
        return changed


def _put(members: list[InboxRow], row: InboxRow) -> bool:
    """Put a request among its like; false if it stands there already, the same in everything."""
    for at, member in enumerate(members):
        if member.approval_id == row.approval_id:
            members[at] = row
            return member != row
    insort(members, row, key=order_of)
    return True


def _kind(row: InboxRow) -> tuple[str, int]:
    return (row.argv[0] if row.argv else "", len(row.argv))


def _nearest_difference(entry: Entry, family: list[Entry]) -> frozenset[int]:
    best: frozenset[int] = frozenset()
    for other in family:
        if other is entry or other.row.workspace != entry.row.workspace:
            continue
        pairs = zip(entry.row.argv, other.row.argv, strict=True)
        apart = frozenset(at for at, (mine, theirs) in enumerate(pairs) if mine != theirs)
        if 0 < len(apart) <= _FEW and (not best or len(apart) < len(best)):
            best = apart
    return best


def _ranges(rows: list[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for row in rows:
        if found and found[-1][1] == row - 1:
            found[-1] = (found[-1][0], row)
        else:
            found.append((row, row))
    return found
