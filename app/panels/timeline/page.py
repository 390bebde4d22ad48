"""The page "Timeline": everything on one time axis, with a table that says the same in words."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QElapsedTimer, QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QPushButton, QStackedWidget, QWidget

from app.panels.rows import OwnedTasks, Refresh
from app.panels.timeline.canvas import TimelineCanvas
from app.panels.timeline.jump import ask_time
from app.panels.timeline.legend import Legend
from app.panels.timeline.table import TimelineTable
from app.panels.timeline.words import bar_lines, bar_summary
from app.panels.words import order_name, plain_tip
from app.session import Changes, Selection, Session
from app.shell.pages import PageView
from app.theme import Text
from app.widgets import (
    ElidedLabel,
    EmptyState,
    Role,
    button,
    check_box,
    column,
    duration_text,
    frame,
    number,
    row,
    rule,
    spoken,
)
from engine.instants import EARLIEST, LATEST
from engine.states import ApprovalState, HoldKind, NodeKind
from engine.views.timeline import ENGINE_LANE, BarKind, Grouping, TimelineBar, TimelineView

_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000
SPANS: tuple[tuple[str, int], ...] = (
    ("10 min", 10 * _MINUTE),
    ("1 hour", _HOUR),
    ("6 hours", 6 * _HOUR),
    ("1 day", _DAY),
    ("7 days", 7 * _DAY),
    ("30 days", 30 * _DAY),
)

GROUPINGS: tuple[tuple[str, Grouping], ...] = (
    ("By work order", Grouping.WORK_ORDER),
    ("By workspace", Grouping.WORKSPACE),
    ("By worker", Grouping.WORKER),
)

_YOUNG = tuple(minutes * _MINUTE for minutes in (1, 2, 5, 10, 20, 30))
"""What is shown at first where less than an hour has passed."""

LANES_AT_ONCE = 60
MOVE_PAUSE_MS = 80
"""How long the window must stand still before it is read."""

CHANGE_PAUSE_MS = 400
"""How long after a change the window is read again at the earliest; many changes come together."""

_SUBJECTS = ("approval", "claim", "task", "attempt", "validation", "hold", "clock", "epoch", "work_order")


class TimelinePage(PageView):
    """Reads the window in view and half as much at either side, so that a pan shows something at once."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._text = ""
        self._lanes = LANES_AT_ONCE
        self._read_span = (0, 0, 0)
        self._view: TimelineView | None = None
        self._stale = True
        self._is_first_look = True
        self._wanted_lane = ""
        self._tasks = OwnedTasks(session, self)
        self._refresh = Refresh(self._tasks, self._read, "read the timeline")
        self._moving = QTimer(self, interval=MOVE_PAUSE_MS, singleShot=True)
        self._moving.timeout.connect(self._refresh.ask)
        self._changing = QTimer(self, interval=CHANGE_PAUSE_MS, singleShot=True)
        self._changing.timeout.connect(self._refresh.ask)
        self._build()
        self.canvas.moved.connect(self._on_moved)
        self.canvas.chosen.connect(self._on_chosen)
        self.canvas.opened.connect(self._open)
        self.canvas.lanes_wanted.connect(self._more_lanes)
        self.canvas.followed.connect(self._follow.setChecked)
        self.table.chosen.connect(self._on_table_chosen)
        self.table.opened.connect(self._open)
        session.changed.connect(self._on_changes)
        session.selection_changed.connect(self._on_selection)
        session.times.changed.connect(self._say_span)
        self._refresh.ask()

    # --------------------------------------------------------------------------------- what the shell asks

    def show_subject(self, subject_id: str) -> None:
        """Show a work order's whole time, or the moment ``at <milliseconds>``."""
        moment = subject_id.removeprefix("at ")
        if moment != subject_id:
            self.canvas.jump_to(int(moment))
            return
        self._tasks.spawn(self._show_order(subject_id), "show a work order on the timeline")

    def search(self, text: str) -> None:
        """Leave only work orders whose title, workspace or number holds ``text``."""
        if text.strip() != self._text:
            self._text = text.strip()
            self._lanes = LANES_AT_ONCE
            self._refresh.ask()

    def focus_first(self) -> None:
        """The timeline, or the table if that is shown."""
        (self.table.table if self._as_table.isChecked() else self.canvas).setFocus()

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with what changed meanwhile."""
        super().showEvent(event)
        if self._stale:
            self._refresh.ask()

    # -------------------------------------------------------------------------------------------- building

    def _build(self) -> None:
        outer = column(self)
        outer.addWidget(self._build_tools())
        outer.addWidget(rule(self))
        self._stack = QStackedWidget(self)
        self.canvas = TimelineCanvas(self._session.times, self)
        self.table = TimelineTable(self._session.times, self)
        self._nothing = EmptyState(
            "Nothing has happened yet",
            "Waits for approval, claims, executions, judgements, holds and what the clock did will stand here on "
            "one time axis.",
            "Open the inbox",
            partial(self._session.open_page, "inbox"),
        )
        for page in (self.canvas, self.table, self._nothing):
            self._stack.addWidget(page)
        outer.addWidget(self._stack, 1)
        outer.addWidget(rule(self))
        outer.addWidget(self._build_foot())

    def _build_tools(self) -> QWidget:
        bar = frame("surface", self)
        line = row(bar, margins=(13, 6, 13, 6), gap=6)
        self._grouping = QComboBox(bar)
        self._grouping.setAccessibleName("What a lane stands for")
        self._grouping.setToolTip("What a lane stands for")
        for words, grouping in GROUPINGS:
            self._grouping.addItem(words, grouping)
        self._grouping.currentIndexChanged.connect(self._regroup)
        line.addWidget(self._grouping)
        self._spans = QComboBox(bar)
        self._spans.setAccessibleName("How much time is in view")
        self._spans.setToolTip("How much time is in view; Ctrl and the wheel change it freely")
        for words, span in SPANS:
            self._spans.addItem(words, span)
        self._spans.setCurrentIndex(1)
        self._spans.setMinimumContentsLength(11)
        self._spans.activated.connect(self._span_chosen)
        line.addWidget(self._spans)
        for text, tip, pressed, key, name in (
            ("−", "See more time", partial(self._zoom, 1 / 1.6), "Ctrl+-", "Zoom out"),
            ("+", "See less time", partial(self._zoom, 1.6), "Ctrl++", "Zoom in"),
            ("Fit", "See everything from the first entry to now", self._fit, "Ctrl+0", "Fit"),
            ("Jump to…", "Go to a date and time", self._jump, "Ctrl+G", "Jump to"),
        ):
            line.addWidget(button(text, tip, pressed, key=key, name=name, role=Role.QUIET, parent=bar))
        self._follow = check_box("Follow now", "Move on with time (End)", on=True, parent=bar)
        self._follow.clicked.connect(lambda on: self.canvas.follow(on))
        line.addWidget(self._follow)
        line.addStretch(1)
        self._count = ElidedLabel("", Text.SMALL, muted=True, parent=bar)
        self._count.setMinimumWidth(60)
        line.addWidget(self._count, 2)
        self._as_table: QCheckBox = check_box("As a table", "The same in words, row by row", parent=bar)
        self._as_table.toggled.connect(self._show_as_table)
        line.addWidget(self._as_table)
        return bar

    def _build_foot(self) -> QWidget:
        foot = frame("surface", self)
        lines = column(foot, margins=(13, 6, 13, 6), gap=5)
        detail = row(gap=8)
        self._detail = ElidedLabel("", parent=foot)
        self._detail.setMinimumHeight(button("x", "x").sizeHint().height())
        detail.addWidget(self._detail, 1)
        self._open_order: QPushButton = button(
            "Work order", "Show the work order of the selected bar", self._open_work_order, parent=foot
        )
        self._open_it: QPushButton = button(
            "Open", "Open what is selected (Enter)", self._open_selected, parent=foot
        )
        detail.addWidget(self._open_order)
        detail.addWidget(self._open_it)
        lines.addLayout(detail)
        lines.addWidget(Legend(foot))
        self._say_detail(None)
        return foot

    # --------------------------------------------------------------------------------------------- reading

    async def _read(self) -> None:
        scale = self.canvas.scale
        margin = scale.span_ms // 2
        start, end = max(scale.start - margin, EARLIEST), min(scale.end + margin, LATEST)
        self._stale = False
        took = QElapsedTimer()
        took.start()
        view = await self._session.engine.timeline(
            start,
            end,
            grouping=Grouping(self._grouping.currentData()),
            slices=max(100, int(scale.width)),
            lanes=self._lanes,
            text=self._text,
        )
        # Much to read is read less often, so that no more than a fifth of the time goes into it.
        self._changing.setInterval(max(CHANGE_PAUSE_MS, 4 * took.elapsed()))
        self._read_span = (start, end, scale.span_ms)
        self._view = view
        self.canvas.show_view(view)
        if self._is_first_look and view.lanes:
            # An hour is what one usually wants to see, but not when all that is in it has just begun.
            self._is_first_look = False
            begun = min((bar.start for bar in view.bars), default=view.first)
            young = (view.now - (start if view.cells else begun)) * 2
            if young < scale.span_ms and not self._wanted_lane:
                self.canvas.show_span(next((size for size in _YOUNG if size >= young), scale.span_ms))
        if self._wanted_lane:
            self.canvas.mark_lane(self._wanted_lane, reveal=True)
            self._wanted_lane = ""
        self._show_table()
        self._say_count(view)

    def _on_moved(self) -> None:
        if not self.isVisible():
            self._stale = True
            return
        start, end, span = self._read_span
        scale = self.canvas.scale
        edge = scale.span_ms // 10
        if span != scale.span_ms or scale.start - edge < start or scale.end + edge > end:
            self._moving.start()
        self._say_span()

    def _on_changes(self, changes: Changes) -> None:
        if not changes.touches(*_SUBJECTS):
            return
        if not self.isVisible():
            self._stale = True
        elif not self._changing.isActive():
            self._changing.start()

    def _more_lanes(self) -> None:
        if self._view is not None and self._lanes == len(self._view.lanes):
            self._lanes += LANES_AT_ONCE
            self._refresh.ask()

    def _regroup(self) -> None:
        self._lanes = LANES_AT_ONCE
        self.canvas.verticalScrollBar().setValue(0)
        self._refresh.ask()

    async def _show_order(self, identity: str) -> None:
        order = await self._session.engine.work_order_row(identity)
        if order is None:
            return
        self._grouping.setCurrentIndex(0)
        end = order.ended_at if order.ended_at is not None else self._session.times.now()
        span = max(end - order.created_at, _MINUTE)
        self._wanted_lane = order.id
        self.canvas.show_window(order.created_at - span // 10, end + span // 10)
        self._refresh.ask()

    # ---------------------------------------------------------------------------------------------- saying

    def _say_count(self, view: TimelineView) -> None:
        if not view.lanes and not self._text and view.start <= view.first and view.end >= view.now:
            self._stack.setCurrentWidget(self._nothing)
            self._count.set_text("")
            return
        if self._stack.currentWidget() is self._nothing:
            self._show_as_table(self._as_table.isChecked())
        self.canvas.say_nothing("" if view.lanes else self._nothing_here())
        bars = sum(lane.bars for lane in view.lanes)
        lanes = f"{number(len(view.lanes))}+ lanes" if view.more_lanes else _count(len(view.lanes), "lane")
        counted = ", short ones counted" if view.cells else ""
        self._count.set_text(f"{lanes} · {_count(bars, 'bar')}{counted}")
        self._count.setToolTip(
            "What could not be told apart at this zoom is shown as counts. Zoom in to see each bar."
            if view.cells
            else "Bars in view and half a window at either side"
        )

    def _nothing_here(self) -> str:
        if self._text:
            return f"No work order in this window matches “{self._text}”."
        return "Nothing happened in this window. Home shows everything, End goes to now."

    def _say_span(self) -> None:
        span = self.canvas.scale.span_ms
        place = self._spans.findData(span)
        if place < 0:
            place = self._spans.findData(None)
            if place < 0:
                self._spans.insertItem(0, "", None)
                place = 0
            self._spans.setItemText(place, duration_text(span))
        self._spans.setCurrentIndex(place)
        if self._as_table.isChecked():
            self._show_table()

    def _say_detail(self, bar: TimelineBar | None) -> None:
        self._open_it.setEnabled(bar is not None)
        self._open_order.setEnabled(bar is not None and bar.work_order_id is not None)
        if bar is None:
            self._detail.set_text("Select a bar to see what it is.")
            return
        self._detail.set_text(bar_summary(bar, self._session.times))
        self._detail.setToolTip(plain_tip(*bar_lines(bar, self._session.times)))

    def _show_table(self) -> None:
        if self._as_table.isChecked() and self._view is not None:
            scale = self.canvas.scale
            self.table.show_view(self._view, scale.start, scale.end)
            self.table.select(self.canvas.selected)

    def _show_as_table(self, on: bool) -> None:
        self._stack.setCurrentWidget(self.table if on else self.canvas)
        self._show_table()

    # ------------------------------------------------------------------------------------------- commands

    def _zoom(self, factor: float) -> None:
        """Zoom the timeline."""
        self.canvas.zoom(factor)

    def _fit(self) -> None:
        self.canvas.fit()

    def _span_chosen(self, place: int) -> None:
        span = self._spans.itemData(place)
        if span is not None:
            self.canvas.show_span(span)

    def _jump(self) -> None:
        self._tasks.spawn(self._ask_jump(), "jump to a time")

    async def _ask_jump(self) -> None:
        scale = self.canvas.scale
        instant = await ask_time(self.window(), self._session.times, scale.start + scale.span_ms // 2)
        if instant is not None:
            self.canvas.jump_to(instant)

    def _on_chosen(self, bar: TimelineBar | None) -> None:
        self._say_detail(bar)
        self.table.select(bar)
        self.act_on(_selection(bar))

    def _on_table_chosen(self, bar: TimelineBar | None) -> None:
        self.canvas.select(bar)

    def _on_selection(self, selection: Selection) -> None:
        """Mark the lane of what is selected anywhere."""
        key = selection.id if selection.kind is NodeKind.WORK_ORDER else ""
        self.canvas.mark_lane(key or (ENGINE_LANE if selection.kind is NodeKind.ENGINE else ""))

    def _open_selected(self) -> None:
        if self.canvas.selected is not None:
            self._open(self.canvas.selected)

    def _open_work_order(self) -> None:
        bar = self.canvas.selected
        if bar is not None and bar.work_order_id is not None:
            self._session.open_page("work_orders", bar.work_order_id)

    def _open(self, bar: TimelineBar) -> None:
        """Go to the page that knows most about a bar."""
        if bar.kind is BarKind.APPROVAL and bar.state == ApprovalState.PENDING:
            self._session.open_page("inbox", bar.subject)
        elif bar.kind in (BarKind.DISPATCH, BarKind.EXECUTION, BarKind.VALIDATION):
            self._session.open_page("evidence", bar.subject)
        elif bar.state == HoldKind.CLOCK:
            self._session.open_page("clock")
        elif bar.work_order_id is not None:
            self._session.open_page("work_orders", bar.work_order_id)
        else:
            self._session.open_page("journal")


def _selection(bar: TimelineBar | None) -> Selection | None:
    if bar is None or bar.work_order_id is None or bar.number is None:
        return None
    return Selection(
        NodeKind.WORK_ORDER, bar.work_order_id, f"{order_name(bar.number)} · {spoken(bar.title)}"
    )


def _count(count: int, word: str) -> str:
    return f"{number(count)} {word}" if count == 1 else f"{number(count)} {word}s"
