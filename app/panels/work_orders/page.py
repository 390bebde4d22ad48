"""The page "Work orders": the list at the left, the story of the chosen one at the right."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.panels.evidence.kept_file import show_proof
from app.panels.rows import (
    CardDelegate,
    Column,
    FilteredList,
    OwnedTasks,
    Refresh,
    RowFeed,
    RowModel,
    side_by_side,
)
from app.panels.words import folder_name, order_name
from app.panels.work_orders.blocks import Doings
from app.panels.work_orders.decisions import decide, stop
from app.panels.work_orders.row_text import card, describe, explain
from app.panels.work_orders.story import StoryView
from app.session import Changes, Selection, Session
from app.shell.commands import resume
from app.shell.pages import PageView
from app.widgets import EmptyState, column, frame
from app.wizards.new_work_order import new_work_order
from app.wizards.restore import acknowledge
from engine.errors import NotFound
from engine.states import NodeKind, WorkOrderState
from engine.views.values import AttemptRow, EngineStatus, HoldRow, WorkOrderRow

NEW, WAITING = "new", "waiting"
"""The subject that opens the dialog for a new work order."""

AROUND_MS = 1000
"""How long after a change rows in view are read again, for reasons that lie in other work orders."""

_W = WorkOrderState
FILTERS: tuple[tuple[str, tuple[WorkOrderState, ...]], ...] = (
    ("All states", ()),
    ("Open", (_W.ACTIVE, _W.AWAITING_ACCEPTANCE, _W.DECISION_NEEDED, _W.CANCELLING)),
    ("Waiting for your decision", (_W.AWAITING_ACCEPTANCE, _W.DECISION_NEEDED)),
    ("Accepted", (_W.ACCEPTED,)),
    ("Rejected", (_W.REJECTED,)),
    ("Cancelled", (_W.CANCELLED, _W.CANCELLING)),
)

_WAITING_FILTER = 2


def _key(order: WorkOrderRow) -> str:
    return order.id


class WorkOrdersView(PageView):
    """Everything here is read from the engine; changes only say where to look again."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._tasks = OwnedTasks(session, self)
        self._text = ""
        self._wanted = ""
        self._touched: set[str] = set()
        times = session.times
        self._model: RowModel[WorkOrderRow] = RowModel(
            [Column("Work order", lambda order: order.title, partial(explain, times=times))],
            _key,
            partial(describe, times=times),
            self,
        )
        self._feed = RowFeed(self._model, self._read_page, _key, changed_first=True)
        self._catch_up = Refresh(self._tasks, self._take_changes, "catch up with work orders")
        self._reread = Refresh(self._tasks, self._read_story, "read a work order")
        self._again = Refresh(self._tasks, self._read_visible, "read the work orders in view")
        self._around = QTimer(self, interval=AROUND_MS, singleShot=True)
        self._around.timeout.connect(self._again.ask)
        self._build()
        self._model.more_wanted.connect(self._read_more)
        self._model.edited.connect(self._say_count)
        self._model.modelReset.connect(self._filled)
        self._list.chosen.connect(self._on_chosen)
        self._list.opened.connect(self._story.focus_body)
        session.changed.connect(self._on_changes)
        session.status_changed.connect(self._on_status)
        self._tasks.spawn(self._feed.start(), "read the work orders")

    # --------------------------------------------------------------------------------- what the shell asks

    def show_subject(self, subject_id: str) -> None:
        """Show a work order; ``new`` opens the dialog for a new one, ``waiting`` lists what waits for a decision."""
        if subject_id == NEW:
            self._new_work_order()
            return
        if subject_id == WAITING:
            self._wanted = ""
            self._list.choose(-1)
            if self._side.states.currentIndex() == _WAITING_FILTER:
                self._list.choose(0)
            self._side.states.setCurrentIndex(_WAITING_FILTER)
            return
        self._wanted = subject_id
        place = self._model.number_of(subject_id)
        if place >= 0:
            self._list.choose(place)
        else:
            self._list.choose(-1)
            self._reread.ask()

    def search(self, text: str) -> None:
        """Ask the engine for work orders whose title, workspace, project or number holds ``text``."""
        if text.strip() != self._text:
            self._text = text.strip()
            self._filter_changed()

    def focus_first(self) -> None:
        """The list."""
        self._list.setFocus()
        if not self._list.currentIndex().isValid() and self._model.rowCount():
            self._list.choose(0)

    # -------------------------------------------------------------------------------------------- building

    def _build(self) -> None:
        outer = column(self)
        split = side_by_side(
            self._session.settings,
            "work_orders split",
            self._build_list(),
            self._build_right,
            (400, 712),
            self,
        )
        outer.addWidget(split)

    def _build_list(self) -> QWidget:
        self._side = FilteredList(
            self._model,
            CardDelegate(partial(card, times=self._session.times)),
            self._session.times,
            "work orders",
            "latest change first",
            FILTERS,
            self._filter_changed,
            280,
        )
        self._list = self._side.list
        return self._side.side

    def _build_right(self, parent: QWidget) -> QWidget:
        right = frame("window", parent)
        right.setMinimumWidth(360)
        lines = column(right)
        self._stack = QStackedWidget(right)
        self._nothing = EmptyState(
            "No work orders yet",
            "A work order names a folder, a command, and how the result is judged. Its exact command waits in the "
            "inbox for your approval before anything runs.",
            "New work order…",
            self._new_work_order,
            key="Ctrl+N",
        )
        self._choose_one = EmptyState("Choose a work order", "Its story is shown here, stage by stage.")
        self._story = StoryView(
            self._session.times,
            Doings(
                open_evidence=partial(self._session.open_page, "evidence"),
                open_inbox=partial(self._session.open_page, "inbox"),
                stop=self._stop,
                resume=self._resume,
                open_unknown=partial(self._session.open_page, "unknown"),
                show_proof=partial(show_proof, self, self._session),
                acknowledge_restore=self._acknowledge_restore,
                restore_trust=partial(self._session.open_page, "clock", "restore"),
            ),
            self._decide,
            partial(self._session.open_page, "journal"),
            self._stack,
        )
        for page in (self._choose_one, self._nothing, self._story):
            self._stack.addWidget(page)
        lines.addWidget(self._stack)
        return right

    # ------------------------------------------------------------------------------------------- the list

    async def _read_page(self, after: str | None, limit: int) -> Sequence[WorkOrderRow]:
        return await self._session.engine.work_orders(
            after=after, limit=limit, text=self._text, states=self._side.wanted_states
        )

    def _filter_changed(self) -> None:
        self._tasks.spawn(self._feed.start(), "read the work orders")

    def _read_more(self) -> None:
        self._tasks.spawn(self._feed.more(), "read more work orders")

    def _filled(self) -> None:
        """After the first page, or another filter: choose again what was chosen."""
        if self._wanted and (place := self._model.number_of(self._wanted)) >= 0:
            self._list.choose(place)
        elif not self._wanted and self._model.rowCount():
            self._list.choose(0)
        self._say_count()

    def _say_count(self) -> None:
        filtered = bool(self._text or self._side.wanted_states)
        if self._text:
            words = ("Nothing matches", f"No work order matches “{self._text}”.")
        elif filtered:
            words = ("Nothing matches", "No work order is in this state.")
        else:
            words = ("No work orders", "They will stand here, the latest change first.")
        loaded = self._side.say_count(words)
        if self._story.story is None or not self._wanted:
            self._stack.setCurrentWidget(self._choose_one if loaded or filtered else self._nothing)

    def _on_changes(self, changes: Changes) -> None:
        self._touched |= changes.work_orders
        if not self.isVisible():
            return
        if self._touched:
            self._catch_up.ask()
        if self._wanted in changes.work_orders or changes.touches("hold", "lane", "scope"):
            self._reread.ask()
        if changes.touches("hold"):
            self._again.ask()
        elif not self._around.isActive():
            self._around.start()

    def showEvent(self, event: QShowEvent) -> None:
        """Take in what changed while nobody looked."""
        super().showEvent(event)
        if self._touched:
            self._catch_up.ask()
        if self._wanted:
            self._around.start()

    def _on_status(self, status: EngineStatus) -> None:
        # Gates that close by time alone are told by the status, not by a change.
        del status
        if self.isVisible() and self._wanted and not self._around.isActive():
            self._around.start()

    async def _take_changes(self) -> None:
        touched, self._touched = self._touched, set()
        await self._feed.catch_up(touched)

    async def _read_visible(self) -> None:
        if self.isVisible():
            await self._feed.read_again(self._list.last_visible() + 1)
            await self._read_story()

    # ------------------------------------------------------------------------------------------ the story

    def _on_chosen(self, place: int) -> None:
        if place < 0:
            return
        order = self._model.row(place)
        self._wanted = order.id
        self.act_on(_selection(order))
        self._reread.ask()

    async def _read_story(self) -> None:
        wanted = self._wanted
        if not wanted:
            return
        try:
            story = await self._session.engine.work_order(wanted)
        except NotFound:
            if wanted == self._wanted:
                self._wanted = ""
                self.act_on(None)
                self._choose_one.say("This work order is gone", "It is not in the data folder any more.")
                self._stack.setCurrentWidget(self._choose_one)
            return
        if wanted == self._wanted:
            self._story.show_story(story)
            self._stack.setCurrentWidget(self._story)
            if not self._list.currentIndex().isValid():
                self.act_on(_selection(story.row))

    # ------------------------------------------------------------------------------------------ decisions

    def _decide(self, word: str) -> None:
        story = self._story.story
        if story is not None:
            self._session.spawn(decide(self._session, word, story, self.window()), f"{word} a work order")

    def _stop(self, attempt: AttemptRow) -> None:
        self._session.spawn(stop(self._session, attempt, self.window()), "stop an attempt")

    def _resume(self, hold: HoldRow) -> None:
        name = "the whole engine" if hold.node_kind is NodeKind.ENGINE else hold.node_name
        chosen = Selection(hold.node_kind, hold.node_id, name)
        self._session.spawn(resume(self.window(), self._session, chosen), "resume")

    def _acknowledge_restore(self) -> None:
        self._session.spawn(acknowledge(self.window(), self._session), "after a restore")

    def _new_work_order(self) -> None:
        self._session.spawn(new_work_order(self.window(), self._session), "new work order")


def _selection(order: WorkOrderRow) -> Selection:
    label = f"{order_name(order.number)} · {folder_name(order.workspace)}"
    return Selection(NodeKind.WORK_ORDER, order.id, label, ended=order.ended_at is not None)
