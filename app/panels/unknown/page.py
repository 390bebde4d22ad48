"""The page "Unknown": what waits for a decision at the left, everything known of the chosen one at the right."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtWidgets import QStackedWidget, QWidget
from shiboken6 import isValid

from app.panels.evidence.row_text import describe, explain
from app.panels.rows import (
    Card,
    CardDelegate,
    CardLine,
    Column,
    OwnedTasks,
    Refresh,
    RowFeed,
    RowList,
    RowModel,
    side_by_side,
)
from app.panels.unknown.case import CaseView
from app.panels.unknown.deciding import decide
from app.panels.words import folder_name, order_name, stage_name
from app.session import Changes, Selection, Session
from app.shell.pages import PageView
from app.theme import Text, Tone
from app.widgets import EmptyState, Times, column, frame, label, number, row, rule
from engine.control.decisions import Finding
from engine.errors import InvalidValue, NotFound
from engine.execution.evidence import Evidence, evidence_from_json
from engine.states import AttemptState, NodeKind
from engine.views.unknown import UnknownView
from engine.views.values import AttemptRow

OPEN = (AttemptState.UNKNOWN,)


def _key(attempt: AttemptRow) -> str:
    return attempt.id


class UnknownPage(PageView):
    """Everything here is read from the engine; there is no way to run anything again from here."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._tasks = OwnedTasks(session, self)
        self._wanted = ""
        self._looked_at = ""
        self._touched: set[str] = set()
        times = session.times
        self._model: RowModel[AttemptRow] = RowModel(
            [Column("Unknown", lambda attempt: attempt.title, partial(explain, times=times))],
            _key,
            partial(describe, times=times),
            self,
        )
        self._feed = RowFeed(self._model, self._read_page, _key, changed_first=False)
        self._catch_up = Refresh(self._tasks, self._take_changes, "catch up with what is UNKNOWN")
        self._reread = Refresh(self._tasks, self._read_case, "read an UNKNOWN")
        self._build()
        self._model.more_wanted.connect(self._read_more)
        self._model.edited.connect(self._say_count)
        self._model.modelReset.connect(self._say_count)
        self._list.chosen.connect(self._on_chosen)
        self._list.opened.connect(self._case.focus_body)
        session.changed.connect(self._on_changes)
        self._tasks.spawn(self._feed.start(), "read what is UNKNOWN")

    # --------------------------------------------------------------------------------- what the shell asks

    def show_subject(self, subject_id: str) -> None:
        """Show one attempt, also after it was decided."""
        self._wanted = subject_id
        self._list.choose(self._model.number_of(subject_id))
        self._reread.ask()

    def focus_first(self) -> None:
        """The list."""
        self._list.setFocus()
        if not self._list.currentIndex().isValid() and self._model.rowCount():
            self._list.choose(0)

    @property
    def case(self) -> CaseView:
        """What is shown at the right."""
        return self._case

    # -------------------------------------------------------------------------------------------- building

    def _build(self) -> None:
        outer = column(self)
        split = side_by_side(
            self._session.settings,
            "unknown split",
            self._build_list,
            self._build_right,
            (340, 772),
            self,
        )
        outer.addWidget(split)

    def _build_list(self, parent: QWidget) -> QWidget:
        side = frame("side", parent)
        side.setMinimumWidth(220)
        lines = column(side)
        head = row(margins=(13, 9, 13, 9), gap=8)
        head.addWidget(label("Waiting for your decision", Text.SMALL, muted=True, parent=side), 1)
        self._count = label("", Text.SMALL, muted=True, parent=side)
        head.addWidget(self._count)
        lines.addLayout(head)
        lines.addWidget(rule(side))
        self._list: RowList[AttemptRow] = RowList(
            self._model,
            CardDelegate(partial(_card, times=self._session.times)),
            self._session.times,
            "UNKNOWN attempts, newest first",
            side,
        )
        self._list.say_empty("Nothing waits for your decision.")
        lines.addWidget(self._list, 1)
        return side

    def _build_right(self, parent: QWidget) -> QWidget:
        right = frame("window", parent)
        right.setMinimumWidth(590)
        lines = column(right)
        self._stack = QStackedWidget(right)
        self._nothing = EmptyState("Nothing is UNKNOWN", "")
        self._case = CaseView(self._session, self._tasks, self._decide, self._look_again, self._stack)
        self._stack.addWidget(self._nothing)
        self._stack.addWidget(self._case)
        lines.addWidget(self._stack)
        return right

    # ------------------------------------------------------------------------------------------- the list

    async def _read_page(self, after: str | None, limit: int) -> Sequence[AttemptRow]:
        return await self._session.engine.attempts(after=after, limit=limit, states=OPEN)

    def _read_more(self) -> None:
        self._tasks.spawn(self._feed.more(), "read more of what is UNKNOWN")

    def _say_count(self) -> None:
        loaded = self._model.rowCount()
        self._count.setText(f"{number(loaded)}{'' if self._model.complete else '+'}")
        self._count.setAccessibleName(
            f"{loaded} UNKNOWN loaded, {'all' if self._model.complete else 'more follow'}"
        )
        if self._wanted:
            self._list.choose(self._model.number_of(self._wanted))
        elif loaded:
            self._list.choose(0)
        else:
            self._say_nothing()

    def _say_nothing(self) -> None:
        self._nothing.say(
            "Nothing is UNKNOWN",
            "An attempt comes here when the engine cannot truthfully say whether it took effect: its time ran out, "
            "it was stopped, or the console was lost. It stays until you decide.",
        )
        self._stack.setCurrentWidget(self._nothing)

    def _on_changes(self, changes: Changes) -> None:
        if not changes.touches("attempt", "evidence", "decision", "lane", "task"):
            return
        self._touched |= changes.ids("attempt")
        self._catch_up.ask()
        view = self._case.view
        if view is not None and (
            view.attempt.work_order_id in changes.work_orders or changes.touches("lane")
        ):
            self._reread.ask()

    async def _take_changes(self) -> None:
        touched, self._touched = self._touched, set()
        await self._feed.catch_up(touched)

    # ------------------------------------------------------------------------------------------- the case

    def _on_chosen(self, place: int) -> None:
        if place < 0:
            return
        attempt = self._model.row(place)
        self._wanted = attempt.id
        self._select(attempt)
        self._reread.ask()

    def _select(self, attempt: AttemptRow) -> None:
        label_ = f"{order_name(attempt.number)} · {folder_name(attempt.workspace)}"
        self.act_on(Selection(NodeKind.WORK_ORDER, attempt.work_order_id, label_))

    async def _read_case(self) -> None:
        wanted = self._wanted
        if not wanted:
            return
        try:
            view = await self._session.engine.unknowns.case(wanted)
        except NotFound:
            if wanted == self._wanted:
                self._wanted = ""
                self.act_on(None)
                self._nothing.say("There is no such attempt", "It is not in the data folder.")
                self._stack.setCurrentWidget(self._nothing)
            return
        if wanted == self._wanted:
            self._select(view.attempt)
            self._case.show_view(view, typed_evidence(view))
            self._stack.setCurrentWidget(self._case)
            if self._looked_at != wanted:
                self._looked_at = wanted
                self._case.show_living(await self._session.engine.unknowns.living(wanted))

    def _look_again(self) -> None:
        self._tasks.spawn(self._look(self._wanted), "look at the processes again")

    async def _look(self, wanted: str) -> None:
        found = await self._session.engine.unknowns.look_again(wanted, self._session.actor)
        if isValid(self) and wanted == self._wanted:
            self._case.show_living(found)
            self._reread.ask()

    def _decide(self, finding: Finding) -> None:
        view = self._case.view
        if view is not None:
            self._session.spawn(decide(self._session, view, finding, self.window()), "decide an UNKNOWN")


def _card(attempt: AttemptRow, times: Times) -> Card:
    """A row as a card. That it is UNKNOWN is said by the page; the badge gives way to the title."""
    parts = (
        stage_name(attempt.number, attempt.purpose),
        times.age(attempt.ended_at or attempt.authorized_at),
    )
    return Card(attempt.title, (), CardLine(attempt.reason, tone=Tone.UNKNOWN), " · ".join(parts))


def typed_evidence(view: UnknownView) -> Evidence | None:
    """The record as a value, None while there is none or if its form is a newer one."""
    if view.evidence.evidence is None:
        return None
    try:
        return evidence_from_json(view.evidence.evidence)
    except (InvalidValue, KeyError, TypeError, ValueError):
        return None
