"""The page "Budgets": the tree of scopes at the left, one scope with both partitions at the right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QGridLayout,
    QScrollArea,
    QSplitter,
    QStackedWidget,
    QTabWidget,
    QWidget,
)

from app.panels.budgets.changing import change_limits, new_project
from app.panels.budgets.tree import ScopeModel, ScopeTree
from app.panels.budgets.words import (
    change_words,
    cost_budget,
    describe_change,
    free_cost_words,
    free_time_words,
    scope_line,
    scope_title,
    spare_words,
    time_budget,
)
from app.panels.inbox.row_text import one_line
from app.panels.inbox.wrapped_text import WrappedText
from app.panels.rows import Column, OwnedTasks, Refresh, RowModel, RowTable, side_by_side
from app.panels.words import actor_words, order_name, plain_tip, stage_name, units
from app.session import Changes, Selection, Session
from app.shell.pages import PageView
from app.theme import Text, state_word
from app.widgets import (
    BudgetBar,
    BudgetWaterfall,
    EmptyState,
    SectionLabel,
    Share,
    ask_reason,
    button,
    column,
    duration_text,
    frame,
    label,
    number,
    row,
    rule,
    set_role,
)
from engine.errors import NotFound
from engine.states import ExposureState, NodeKind, Partition
from engine.views.budgets import Draw, LimitChange, ScopeRow, ScopeView, WaitingForRoom

PAGE_ROWS = 200
"""Scopes read at once below one."""

AROUND_MS = 300
"""While work moves, what is shown is read again at most this often."""

Row = TypeVar("Row")

_TOUCHING = ("scope", "attempt", "task", "work_order", "hold")
_SHARES = (Share.SPENT, Share.RESERVED, Share.FROZEN)
_LINES = ("limit", "spent", "reserved", "frozen", "free")


class BudgetsPage(PageView):
    """Everything here is read from the engine; changes only say where to look again."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._tasks = OwnedTasks(session, self)
        self._wanted = ""
        self._view: ScopeView | None = None
        self._made = False
        self._tree_model = ScopeModel(self)
        self._build()
        self._around = QTimer(self, interval=AROUND_MS, singleShot=True)
        self._again = Refresh(self._tasks, self._read_again, "read the budgets")
        self._around.timeout.connect(self._again.ask)
        self._tree_model.more_wanted.connect(
            lambda scope: self._tasks.spawn(self._more(scope), "read more budgets")
        )
        self._tree.chosen.connect(self._show)
        self._tree.opened.connect(lambda _: self._change_pressed())
        session.changed.connect(self._on_changes)
        session.times.changed.connect(self._zone_changed)
        self._tasks.spawn(self._begin(), "read the budgets")

    # --------------------------------------------------------------------------------- what the shell asks

    def show_subject(self, subject_id: str) -> None:
        """Show a scope by its id, or the scope of a work order by the order's id."""
        self._tasks.spawn(self._go_to(subject_id), "show a budget")

    def focus_first(self) -> None:
        """The tree."""
        self._tree.setFocus()

    # -------------------------------------------------------------------------------------------- building

    def _build(self) -> None:
        outer = column(self)
        outer.addWidget(
            side_by_side(
                self._session.settings,
                "budgets/split",
                self._build_tree(),
                self._build_right(),
                (460, 650),
                self,
            )
        )

    def _build_tree(self) -> QWidget:
        side = frame("side", self)
        side.setMinimumWidth(300)
        lines = column(side)
        head = row(margins=(13, 7, 13, 7), gap=8)
        self._partition = QComboBox(side)
        self._partition.setAccessibleName("Which partition")
        self._partition.setToolTip(
            "Steps draw on execution; handoffs have a part of their own that nothing else can use"
        )
        self._partition.addItem("Execution", Partition.EXECUTION)
        self._partition.addItem("Handoff", Partition.HANDOFF)
        self._partition.currentIndexChanged.connect(self._partition_changed)
        head.addWidget(self._partition)
        head.addStretch(1)
        self._new = button(
            "New project…",
            "Make a project with limits of its own before its first work order",
            self._new_pressed,
            parent=side,
        )
        head.addWidget(self._new)
        lines.addLayout(head)
        lines.addWidget(rule(side))
        self._tree = ScopeTree(self._tree_model, side)
        lines.addWidget(self._tree, 1)
        return side

    def _build_right(self) -> QWidget:
        right = frame("window", self)
        lines = column(right)
        self._stack = QStackedWidget(right)
        self._none = EmptyState("No budget is chosen", "Choose a project or a work order at the left.")
        self._stack.addWidget(self._none)
        split = QSplitter(Qt.Orientation.Vertical)
        split.setChildrenCollapsible(False)
        split.setHandleWidth(1)
        split.addWidget(self._build_numbers())
        split.addWidget(self._build_tabs())
        split.setStretchFactor(0, 1)
        split.setStretchFactor(1, 1)
        split.setSizes([430, 260])
        self._stack.addWidget(split)
        lines.addWidget(self._stack)
        return right

    def _build_numbers(self) -> QWidget:
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setAccessibleName("Numbers of the scope")
        area.setMinimumWidth(440)
        body = frame("window", area)
        lines = column(body, margins=(18, 14, 18, 14), gap=12)
        top = row(gap=8)
        words = column(gap=3)
        self._title = WrappedText("", Text.TITLE, parent=body)
        self._line = label("", muted=True, wrap=True, parent=body)
        words.addWidget(self._title)
        words.addWidget(self._line)
        top.addLayout(words, 1)
        align = Qt.AlignmentFlag.AlignTop
        self._change = button(
            "Change limits…",
            "Change what this scope allows from now on, with a reason",
            self._change_pressed,
            parent=body,
        )
        self._remove = button(
            "Remove…",
            "Take this project away; nothing was ever asked for in it",
            self._remove_pressed,
            parent=body,
        )
        self._order = button(
            "Work order", "Show the story of the work order", self._order_pressed, parent=body
        )
        for pressed in (self._order, self._remove, self._change):
            top.addWidget(pressed, 0, align)
        lines.addLayout(top)
        self._numbers = QGridLayout()
        self._numbers.setHorizontalSpacing(14)
        self._numbers.setVerticalSpacing(4)
        lines.addLayout(self._numbers)
        self._spare = label("", wrap=True, parent=body)
        lines.addWidget(self._spare)
        self._path_part = QWidget(body)
        below = column(self._path_part, gap=6)
        self._path_head = SectionLabel("", self._path_part)
        below.addWidget(self._path_head)
        self._cost = BudgetWaterfall(parent=self._path_part, shares=())
        self._cost.setAccessibleName("Cost from the whole budget down to this scope, in units")
        self._time = BudgetWaterfall(parent=self._path_part, shares=_SHARES, words=_seconds)
        self._time.setAccessibleName("Active time from the whole budget down to this scope")
        for named, waterfall in (("Cost in units", self._cost), ("Active time", self._time)):
            below.addWidget(label(named, Text.SMALL, muted=True, parent=self._path_part))
            below.addWidget(waterfall)
        lines.addWidget(self._path_part)
        lines.addStretch(1)
        area.setWidget(body)
        return area

    def _build_tabs(self) -> QWidget:
        times = self._session.times
        self._draws: RowModel[Draw] = RowModel(
            [
                Column(
                    "Who",
                    lambda one: stage_name(one.number, one.purpose),
                    lambda one: plain_tip(one_line(one.title)),
                ),
                Column("State", lambda one: state_word(one.state)),
                Column("Holds", lambda one: state_word(one.exposure)),
                Column("Cost", lambda one: number(one.cost)),
                Column("Time", lambda one: duration_text(one.active_ms)),
                Column(
                    "Since",
                    lambda one: times.stamp(one.authorized_at),
                    lambda one: plain_tip(times.exact(one.authorized_at)),
                ),
            ],
            lambda one: one.attempt_id,
            lambda one: (
                f"{stage_name(one.number, one.purpose)}, {one_line(one.title)}: {state_word(one.exposure)} "
                f"{units(one.cost)} and {duration_text(one.active_ms)}, {state_word(one.state)}"
            ),
            self,
        )
        self._waits: RowModel[WaitingForRoom] = RowModel(
            [
                Column("Who", lambda one: stage_name(one.number, one.purpose)),
                Column("Needs", lambda one: f"{units(one.cost)} and {duration_text(one.active_ms)}"),
                Column("Why it waits", lambda one: one_line(one.why), lambda one: plain_tip(one.why)),
            ],
            lambda one: one.task_id,
            lambda one: f"{stage_name(one.number, one.purpose)}: {one_line(one.why)}",
            self,
        )
        self._past: RowModel[LimitChange] = RowModel(
            [
                Column("When", lambda one: times.stamp(one.at), lambda one: plain_tip(times.exact(one.at))),
                Column("Who", lambda one: actor_words(one.actor)),
                Column("What", change_words, lambda one: plain_tip(change_words(one))),
                Column(
                    "Reason",
                    lambda one: one.reason and one_line(one.reason),
                    lambda one: plain_tip(one.reason),
                ),
            ],
            lambda one: str(one.sequence),
            partial(describe_change, times=times),
            self,
        )
        tabs = QTabWidget()
        tabs.setAccessibleName("What draws on it, what waits for room, how its limits were changed")
        draws: RowTable[Draw] = RowTable(
            self._draws,
            "What draws on it now",
            (19, 14, 12, 7, 10, 16),
            tabs,
            rest=0,
            empty="Nothing is spent or held here now.",
        )
        draws.opened.connect(lambda: self._open_draw(draws.currentIndex().row()))
        waits: RowTable[WaitingForRoom] = RowTable(
            self._waits, "What waits for room", (20, 24), tabs, empty="Nothing waits for room here."
        )
        waits.opened.connect(lambda: self._open_waiting(waits.currentIndex().row()))
        past: RowTable[LimitChange] = RowTable(
            self._past,
            "Changes of its limits, newest first",
            (18, 13, 40, 20),
            tabs,
            rest=2,
            empty="Its limits were never changed.",
        )
        self._tables = (draws, waits, past)
        for table in self._tables:
            tabs.addTab(table, "")
        self._tabs = tabs
        return tabs

    # --------------------------------------------------------------------------------------------- reading

    async def _begin(self) -> None:
        (root,) = await self._session.engine.budgets.scopes()
        self._tree_model.show_root(root)
        await self._more(root.id)
        self._tree.expand(self._tree_model.find(root.id))
        if not self._wanted:
            self._tree.setCurrentIndex(self._tree_model.find(root.id))

    async def _more(self, scope_id: str) -> None:
        rows = await self._session.engine.budgets.scopes(
            parent_id=scope_id, after=self._tree_model.last_child(scope_id), limit=PAGE_ROWS
        )
        self._tree_model.add(scope_id, rows, complete=len(rows) < PAGE_ROWS)

    def _on_changes(self, changes: Changes) -> None:
        if not changes.touches(*_TOUCHING):
            return
        self._made = self._made or "scope.created" in changes.kinds
        if self.isVisible() and not self._around.isActive():
            self._around.start()

    def showEvent(self, event: QShowEvent) -> None:
        """Take in what happened while nobody looked."""
        super().showEvent(event)
        self._made = True
        self._again.ask()

    async def _read_again(self) -> None:
        """Read everything that is loaded once more, new scopes at the top of what is open, and the one shown."""
        budgets = self._session.engine.budgets
        made, self._made = self._made, False
        if made:
            for scope_id in self._tree_model.opened():
                self._tree_model.put_newest(
                    scope_id, await budgets.scopes(parent_id=scope_id, limit=PAGE_ROWS)
                )
        loaded = self._tree_model.loaded
        for start in range(0, len(loaded), PAGE_ROWS):
            part = loaded[start : start + PAGE_ROWS]
            rows = await budgets.scopes_now(part)
            there = {one.id for one in rows}
            self._tree_model.update(rows, [scope_id for scope_id in part if scope_id not in there])
        await self._read_view()

    def _show(self, scope_id: str) -> None:
        if scope_id != self._wanted:
            self._wanted = scope_id
            self._tasks.spawn(self._read_view(), "read a budget")

    async def _read_view(self) -> None:
        wanted = self._wanted
        if not wanted:
            return
        try:
            view = await self._session.engine.budgets.scope(wanted)
        except NotFound:
            if self._wanted == wanted:
                self._wanted, self._view = "", None
                self._stack.setCurrentWidget(self._none)
                self.act_on(None)
            return
        if self._wanted == wanted:
            self._show_view(view)

    async def _go_to(self, subject_id: str) -> None:
        """Open the tree down to a scope and show it."""
        view = await self._session.engine.budgets.scope(subject_id)
        self._wanted = view.row.id
        self._show_view(view)
        for above in view.path[:-1]:
            index = self._tree_model.find(above.id)
            if not index.isValid():
                break
            while not self._tree_model.find(view.row.id).isValid() and (
                not ScopeModel.node(index).children or above is view.path[-2]
            ):
                if ScopeModel.node(index).complete:
                    break
                await self._more(above.id)
            self._tree.expand(index)
        found = self._tree_model.find(view.row.id)
        if found.isValid():
            self._tree.setCurrentIndex(found)
            self._tree.scrollTo(found)

    # --------------------------------------------------------------------------------------------- showing

    def _show_view(self, view: ScopeView) -> None:
        if view == self._view:
            return
        other = self._view is None or self._view.row.id != view.row.id
        self._view = view
        own = view.row
        self._title.set_text(scope_title(own))
        self._line.setText(scope_line(own))
        ended = own.state is not None and own.state in ("ACCEPTED", "REJECTED", "CANCELLED")
        self._change.setEnabled(not ended)
        self._change.setToolTip(
            "Its work order has ended; nothing of it can start"
            if ended
            else "Change what this scope allows from now on, with a reason (Enter in the tree)"
        )
        self._remove.setVisible(own.kind == "PROJECT" and own.children == 0)
        self._order.setVisible(own.work_order_id is not None)
        self._show_numbers(own)
        self._show_path(view)
        for at, (words, count) in enumerate(
            (
                ("Draws on it now", view.drawing),
                ("Waits for room", len(view.waiting)),
                ("Limits", len(view.history)),
            )
        ):
            self._tabs.setTabText(at, f"{words} · {number(count)}")
        if other:
            self._draws.replace(view.draws, complete=True)
            self._waits.replace(view.waiting, complete=True)
            self._past.replace(view.history, complete=True)
            self.act_on(
                None
                if own.kind == "ROOT"
                else Selection(NodeKind.WORK_ORDER, own.work_order_id, order_name(own.number or 0))
                if own.work_order_id is not None
                else Selection(NodeKind.SCOPE, own.id, f"project {one_line(own.name)}")
            )
        else:
            _merge(self._draws, view.draws, lambda one: one.attempt_id)
            _merge(self._waits, view.waiting, lambda one: one.task_id)
            _merge(self._past, view.history, lambda one: str(one.sequence))
        self._stack.setCurrentIndex(1)

    def _show_numbers(self, own: ScopeRow) -> None:
        grid = self._numbers
        while (item := grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        holder = self._title.parentWidget()
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for line, name in enumerate(_LINES, start=1):
            grid.addWidget(label(name, Text.SMALL, muted=True, parent=holder), line, 0)
        at = 1
        for part in own.partitions:
            handoff = part.partition is Partition.HANDOFF
            amounts = (part.cost_limit, part.spent_cost, part.reserved_cost, part.frozen_cost)
            times = (part.active_ms_limit, part.spent_ms, part.reserved_ms, part.frozen_ms)
            for name, budget, said, free, words in (
                (
                    "Handoff cost" if handoff else "Cost",
                    cost_budget(own, part.partition),
                    [number(one) for one in amounts],
                    free_cost_words(part),
                    number,
                ),
                (
                    "Handoff time" if handoff else "Active time",
                    time_budget(own, part.partition),
                    [duration_text(one) if one else "0" for one in times],
                    free_time_words(part),
                    _seconds,
                ),
            ):
                grid.addWidget(label(name, Text.SMALL, muted=True, parent=holder), 0, at, right)
                for line, text in enumerate((*said, free), start=1):
                    last = line == len(_LINES)
                    shown = label(text, Text.STRONG if last else Text.BODY, parent=holder)
                    if last and budget.left < 0:
                        set_role(shown, "danger")
                    elif line == len(_LINES) - 1 and budget.frozen:
                        set_role(shown, "unknown")
                    shown.setAccessibleName(f"{name} {_LINES[line - 1]}: {text}")
                    grid.addWidget(shown, line, at, right)
                grid.addWidget(BudgetBar(budget, holder, words=words), len(_LINES) + 1, at)
                grid.setColumnStretch(at, 1)
                at += 1

    def _show_path(self, view: ScopeView) -> None:
        partition = self._tree_model.partition
        self._spare.setText(spare_words(view.path, partition))
        self._path_part.setVisible(len(view.path) > 1)
        which = "Handoff" if partition is Partition.HANDOFF else "Execution"
        self._path_head.setText(f"{which}, from the whole budget down")
        self._cost.set_budgets([cost_budget(one, partition) for one in view.path])
        self._time.set_budgets([time_budget(one, partition) for one in view.path])

    def _zone_changed(self) -> None:
        for table in self._tables:
            table.viewport().update()

    def _partition_changed(self) -> None:
        self._tree_model.show_partition(Partition(self._partition.currentData()))
        if self._view is not None:
            self._show_path(self._view)

    # -------------------------------------------------------------------------------------------- deciding

    def _change_pressed(self) -> None:
        if self._view is not None and self._change.isEnabled():
            self._tasks.spawn(self._change_limits(self._view), "change limits")

    async def _change_limits(self, view: ScopeView) -> None:
        await change_limits(self, self._session, view)
        self._again.ask()

    def _new_pressed(self) -> None:
        self._tasks.spawn(self._new_project(), "make a project")

    async def _new_project(self) -> None:
        (root,) = await self._session.engine.budgets.scopes()
        made = await new_project(self, self._session, root)
        if made is not None:
            self._made = True
            await self._read_again()
            await self._go_to(made.row.id)

    def _remove_pressed(self) -> None:
        if self._view is not None:
            self._tasks.spawn(self._remove_project(self._view.row), "remove a project")

    async def _remove_project(self, own: ScopeRow) -> None:
        reason = await ask_reason(
            self,
            f"Remove the project “{one_line(own.name)}”?",
            "Nothing was ever asked for in it. A work order that names it makes it again, with the limits of the "
            "whole budget.",
            action="Remove",
            danger=True,
        )
        if reason is not None:
            await self._session.engine.budgets.remove_project(own.id, self._session.actor, reason=reason)
            self._again.ask()

    def _order_pressed(self) -> None:
        if self._view is not None and self._view.row.work_order_id is not None:
            self._session.open_page("work_orders", self._view.row.work_order_id)

    def _open_draw(self, at: int) -> None:
        if 0 <= at < self._draws.rowCount():
            draw = self._draws.row(at)
            page = "unknown" if draw.exposure is ExposureState.FROZEN else "evidence"
            self._session.open_page(page, draw.attempt_id)

    def _open_waiting(self, at: int) -> None:
        if 0 <= at < self._waits.rowCount():
            self._session.open_page("work_orders", self._waits.row(at).work_order_id)


def _seconds(value: int) -> str:
    return duration_text(value * 1000)


def _merge(model: RowModel[Row], rows: Sequence[Row], key: Callable[[Row], str]) -> None:
    """Show these rows and no others, by row signals."""
    wanted = {key(one) for one in rows}
    shown = [key(model.row(at)) for at in range(model.rowCount())]
    model.merge(rows, [one for one in shown if one not in wanted])
