"""The tree of scopes: loaded level by level and page by page, kept by row signals only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import (
    QAbstractItemModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from app.panels.budgets.words import (
    cost_budget,
    describe_scope,
    free_cost_words,
    free_time_words,
    partition_of,
    scope_line,
    scope_title,
    time_budget,
)
from app.theme import theme, tokens
from app.widgets import Budget, duration_text, number, plain_tip
from app.widgets.meter import paint_bar
from engine.states import Partition
from engine.views.budgets import ScopeRow

Index = QModelIndex | QPersistentModelIndex

NAME, COST, TIME = range(3)
_HEADS = ("Scope", "Cost free", "Active time free")


@dataclass(eq=False, slots=True)
class Node:
    """One scope in the tree; ``complete`` is false while there are children that were not read."""

    row: ScopeRow
    parent: Node | None
    children: list[Node] = field(default_factory=list)
    complete: bool = True
    asked: bool = False

    @property
    def place(self) -> int:
        """Its number among its siblings."""
        return 0 if self.parent is None else self.parent.children.index(self)


class ScopeModel(QAbstractItemModel):
    """Scopes by identity. ``more_wanted(scope id)`` asks for the next children of one; `add` brings them."""

    more_wanted = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._root: Node | None = None
        self._nodes: dict[str, Node] = {}
        self.partition = Partition.EXECUTION

    # What the view asks

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        """The index of a child."""
        if not parent.isValid():
            if self._root is None or row != 0:
                return QModelIndex()
            return self.createIndex(0, column, self._root)
        children = self.node(parent).children
        return self.createIndex(row, column, children[row]) if 0 <= row < len(children) else QModelIndex()

    def parent(self, child: Index = QModelIndex()) -> QModelIndex:  # type: ignore[override]  # noqa: B008
        """The index of what a scope lies in."""
        if not child.isValid() or (above := self.node(child).parent) is None:
            return QModelIndex()
        return self.createIndex(above.place, 0, above)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """The number of children that are loaded."""
        if not parent.isValid():
            return int(self._root is not None)
        return len(self.node(parent).children) if parent.column() == 0 else 0

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        """Name, cost, active time."""
        return len(_HEADS)

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008
        """Whether there is anything below, read or not."""
        if not parent.isValid():
            return self._root is not None
        node = self.node(parent)
        return parent.column() == 0 and (bool(node.children) or node.row.children > 0)

    def canFetchMore(self, parent: Index) -> bool:
        """Whether more children are there than were read."""
        return parent.isValid() and not self.node(parent).complete and not self.node(parent).asked

    def fetchMore(self, parent: Index) -> None:
        """Ask for the next children."""
        if self.canFetchMore(parent):
            node = self.node(parent)
            node.asked = True
            self.more_wanted.emit(node.row.id)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Texts; the bars are painted by the delegate from `budget`."""
        if not index.isValid():
            return None
        row = self.node(index).row
        part = partition_of(row, self.partition)
        match role, index.column():
            case Qt.ItemDataRole.DisplayRole, 0:
                return scope_title(row)
            case Qt.ItemDataRole.DisplayRole, 1:
                return f"{free_cost_words(part)} of {number(part.cost_limit)}"
            case Qt.ItemDataRole.DisplayRole, _:
                return f"{free_time_words(part)} of {duration_text(part.active_ms_limit)}"
            case Qt.ItemDataRole.ToolTipRole, 0:
                return plain_tip(f"{scope_title(row)}\n{scope_line(row)}")
            case Qt.ItemDataRole.AccessibleTextRole, 0:
                return describe_scope(row)
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        """The heads of the columns."""
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return _HEADS[section]
        return None

    # What the page asks

    @staticmethod
    def node(index: Index) -> Node:
        """The node behind a valid index."""
        found: Node = index.internalPointer()
        return found

    def find(self, scope_id: str, column: int = 0) -> QModelIndex:
        """The index of a scope that is loaded; invalid if it is not."""
        node = self._nodes.get(scope_id)
        return QModelIndex() if node is None else self.createIndex(node.place, column, node)

    def budget(self, index: Index) -> Budget | None:
        """The bar of a cell, None where there is none."""
        row = self.node(index).row
        if index.column() == COST:
            return cost_budget(row, self.partition)
        return time_budget(row, self.partition) if index.column() == TIME else None

    @property
    def loaded(self) -> tuple[str, ...]:
        """The identities of everything that is loaded."""
        return tuple(self._nodes)

    def opened(self) -> tuple[str, ...]:
        """The scopes whose children were read, at least the first of them."""
        return tuple(key for key, node in self._nodes.items() if node.children or node.asked)

    def last_child(self, scope_id: str) -> str | None:
        """The child after which the next page begins."""
        node = self._nodes.get(scope_id)
        return node.children[-1].row.id if node is not None and node.children else None

    # What the engine says

    def show_root(self, row: ScopeRow) -> None:
        """Begin with the root."""
        self.beginResetModel()
        self._root = Node(row, None, complete=row.children == 0)
        self._nodes = {row.id: self._root}
        self.endResetModel()

    def add(self, scope_id: str, rows: Sequence[ScopeRow], *, complete: bool) -> None:
        """Take in a page of children behind those that are there."""
        node = self._nodes.get(scope_id)
        if node is None:
            return
        node.complete, node.asked = complete, False
        self._insert(node, len(node.children), [row for row in rows if row.id not in self._nodes])

    def put_newest(self, scope_id: str, rows: Sequence[ScopeRow]) -> None:
        """Put scopes that were made since in front of the children that are loaded."""
        node = self._nodes.get(scope_id)
        if node is not None:
            newest = node.children[0].row.id if node.children else ""
            fresh = [row for row in rows if row.id not in self._nodes and (row.id > newest or node.complete)]
            self._insert(node, 0, fresh)

    def update(self, rows: Sequence[ScopeRow], gone: Sequence[str] = ()) -> None:
        """Show scopes as they are now, and let go of those that are gone."""
        for row in rows:
            node = self._nodes.get(row.id)
            if node is not None and node.row != row:
                if row.children > 0 and not node.children and not node.asked:
                    node.complete = False
                node.row = row
                self.dataChanged.emit(self.find(row.id), self.find(row.id, TIME))
        for scope_id in gone:
            node = self._nodes.get(scope_id)
            if node is not None and node.parent is not None and not node.children:
                place = node.place
                self.beginRemoveRows(self.find(node.parent.row.id), place, place)
                del node.parent.children[place], self._nodes[scope_id]
                self.endRemoveRows()

    def show_partition(self, partition: Partition) -> None:
        """Show the other partition's numbers."""
        self.partition = partition
        for scope_id in self._nodes:
            self.dataChanged.emit(self.find(scope_id, COST), self.find(scope_id, TIME))

    def _insert(self, node: Node, place: int, rows: Sequence[ScopeRow]) -> None:
        if not rows:
            return
        self.beginInsertRows(self.find(node.row.id), place, place + len(rows) - 1)
        made = [Node(row, node, complete=row.children == 0) for row in rows]
        node.children[place:place] = made
        self._nodes.update((child.row.id, child) for child in made)
        self.endInsertRows()


class BarDelegate(QStyledItemDelegate):
    """Paints a budget's bar under its words, or only the words where there is no bar."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Paint ground, words, bar."""
        colours = tokens()
        rect = option.rect
        painter.save()
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, colours.select)
        painter.setFont(option.font)
        model = index.model()
        budget = model.budget(index) if isinstance(model, ScopeModel) else None
        painter.setPen(colours.bad if budget is not None and budget.left < 0 else colours.text)
        place = rect.adjusted(6, 3, -10, -3)
        text = option.fontMetrics.elidedText(
            str(index.data() or ""), Qt.TextElideMode.ElideRight, place.width()
        )
        top = int(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        middle = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        painter.drawText(place, middle if budget is None else top, text)
        if budget is not None:
            paint_bar(painter, QRectF(place.left(), place.bottom() - 5, place.width(), 5), budget, colours)
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        """A line of words and a bar under it."""
        return QSize(80, option.fontMetrics.height() + 16)


class ScopeTree(QTreeView):
    """The tree. ``chosen(scope id)`` comes when another scope became current, ``opened(scope id)`` by Enter."""

    chosen = Signal(str)
    opened = Signal(str)

    def __init__(self, model: ScopeModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setModel(model)
        self.setAccessibleName("Budgets, newest first in each project")
        self.setItemDelegate(BarDelegate(self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setUniformRowHeights(True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setExpandsOnDoubleClick(True)
        self.setIndentation(16)
        header = self.header()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setStretchLastSection(True)
        unit = self.fontMetrics().averageCharWidth()
        for column, width in ((NAME, 26), (COST, 17)):
            self.setColumnWidth(column, unit * width)
        look = theme()
        if look is not None:
            look.changed.connect(self.scheduleDelayedItemsLayout)

    def currentChanged(
        self, current: QModelIndex | QPersistentModelIndex, previous: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Tell which scope became current."""
        super().currentChanged(current, previous)
        if current.isValid():
            self.chosen.emit(ScopeModel.node(current).row.id)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter goes on to the scope."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            current = self.currentIndex()
            if not event.isAutoRepeat() and current.isValid():
                self.opened.emit(ScopeModel.node(current).row.id)
            return
        super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:
        """Typing letters chooses nothing."""
