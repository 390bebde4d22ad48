"""The page "Journal": every state change, newest first, with its details; and whether the chain is true."""

from __future__ import annotations

import re
from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QPlainTextEdit,
    QSplitter,
    QStackedWidget,
    QWidget,
)

from app.panels.inbox.inline_button import InlineButton
from app.panels.inbox.sections import add_facts
from app.panels.inbox.sheet import Fact
from app.panels.journal.feed import JournalFeed
from app.panels.journal.verifying import Verifying
from app.panels.journal.words import ACTORS, KINDS, SPANS, detail_text, detail_words, journal_line, kind_words
from app.panels.rows import Column, OwnedTasks, Refresh, RowModel, RowTable
from app.panels.words import actor_words, order_name, plain_tip
from app.session import Changes, Session
from app.shell.export_journal import export_journal
from app.shell.pages import PageView
from app.theme import Text, font, state_word
from app.widgets import (
    EmptyState,
    KeyValueGrid,
    SectionLabel,
    button,
    column,
    copy_text,
    frame,
    label,
    number,
    row,
    rule,
)
from engine.errors import NotFound
from engine.views.journal import ALL, JournalFilter
from engine.views.values import JournalRow

_ORDER = re.compile(r"\bWO-(\d{1,15})\b", re.IGNORECASE)


class JournalView(PageView):
    """Everything here is read from the engine; changes only say that there is more."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._tasks = OwnedTasks(session, self)
        self._order: tuple[str, str] | None = None
        self._subject: tuple[str, str] | None = None
        self._text = ""
        self._problem = ""
        times = session.times
        self._model: RowModel[JournalRow] = RowModel(
            [
                Column("No.", lambda one: number(one.sequence)),
                Column(
                    "When",
                    lambda one: times.stamp(one.at, seconds=True),
                    lambda one: plain_tip(times.exact(one.at)),
                ),
                Column("What", lambda one: kind_words(one.kind)),
                Column("Who", lambda one: actor_words(one.actor)),
                Column("Details", lambda one: detail_words(one.detail), _tip),
            ],
            lambda one: str(one.sequence),
            self._describe,
            self,
        )
        self._feed = JournalFeed(session.engine, self._model, _searched)
        self._catch_up = Refresh(self._tasks, self._take_new, "catch up with the journal")
        self._build()
        self._model.more_wanted.connect(self._read_more)
        self._model.edited.connect(self._say_count)
        self._model.modelReset.connect(self._say_count)
        self._table.chosen.connect(self._on_chosen)
        self._table.opened.connect(self._detail.setFocus)
        session.changed.connect(self._on_changes)
        times.changed.connect(self._zone_changed)
        self._tasks.spawn(self._feed.start(), "read the journal")

    # --------------------------------------------------------------------------------- what the shell asks

    def show_subject(self, subject_id: str) -> None:
        """Show only the rows of a work order."""
        self._tasks.spawn(self._filter_by_order(subject_id), "filter the journal")

    def search(self, text: str) -> None:
        """Show rows that hold ``text`` in kind, actor or details; ``WO-118`` in it means that work order."""
        self._tasks.spawn(self._search(text.strip()), "search the journal")

    def focus_first(self) -> None:
        """The rows."""
        self._table.setFocus()
        if not self._table.currentIndex().isValid() and self._model.rowCount():
            self._table.choose(0)

    # -------------------------------------------------------------------------------------------- building

    def _build(self) -> None:
        outer = column(self)
        top = frame("window", self)
        line = row(top, margins=(18, 8, 18, 8), gap=10)
        self._count = label("", muted=True, parent=top)
        line.addWidget(self._count)
        self._clear = InlineButton("Show all", "Show the rows of every work order again", self._clear_filter)
        line.addWidget(self._clear)
        line.addStretch(1)
        export = button(
            "Export these…",
            "Write the rows that the choices above let through into a file, all of them, searched words apart",
            self._export_pressed,
            parent=top,
        )
        line.addWidget(export)
        verify = button(
            "Verify chain", "Check that no row was edited, removed or put elsewhere", self._verify_pressed
        )
        line.addWidget(verify)
        outer.addWidget(top)
        choices = frame("window", self)
        second = row(choices, margins=(18, 0, 18, 8), gap=8)
        self._kinds = self._choice(second, "What", "Show only rows about these things", KINDS)
        self._actors = self._choice(second, "Who", "Show only what these did", ACTORS)
        self._span = self._choice(second, "When", "Show only what was written since then", SPANS)
        second.addStretch(1)
        outer.addWidget(choices)
        self._verifying = Verifying(self._session, self)
        outer.addWidget(self._verifying)
        outer.addWidget(rule(self))
        self._table: RowTable[JournalRow] = RowTable(
            self._model, "Journal, newest first", (9, 21, 34, 20), self
        )
        self._none = EmptyState("Nothing here", "")
        self._stack = QStackedWidget(self)
        self._stack.addWidget(self._table)
        self._stack.addWidget(self._none)
        split = QSplitter(Qt.Orientation.Vertical, self)
        split.setChildrenCollapsible(False)
        split.addWidget(self._stack)
        split.addWidget(self._build_detail())
        split.setStretchFactor(0, 1)
        split.setSizes([420, 200])
        outer.addWidget(split, 1)

    def _choice(
        self, line: QHBoxLayout, name: str, tip: str, choices: Sequence[tuple[str, object]]
    ) -> QComboBox:
        made = QComboBox(self)
        made.setAccessibleName(name)
        made.setToolTip(tip)
        for words, value in choices:
            made.addItem(words, value)
        made.currentIndexChanged.connect(self._choice_changed)
        line.addWidget(made)
        return made

    def _build_detail(self) -> QWidget:
        holder = frame("window", self)
        lines = column(holder, margins=(18, 10, 18, 12), gap=6)
        head = row(gap=10)
        self._what = SectionLabel("Row", holder)
        head.addWidget(self._what)
        self._open = InlineButton(
            "Open work order", "Show the work order that this row is about", self._open_pressed, parent=holder
        )
        head.addWidget(self._open)
        self._follow = InlineButton(
            "Only this work order",
            "Show only rows of the same work order",
            self._follow_pressed,
            parent=holder,
        )
        head.addWidget(self._follow)
        head.addStretch(1)
        self._only = InlineButton(
            "Only this subject",
            "Follow it: show only rows about the very same thing",
            self._subject_pressed,
            parent=holder,
        )
        head.addWidget(self._only)
        self._copy = InlineButton("Copy", "Copy this row with its details", self._copy_pressed, parent=holder)
        head.addWidget(self._copy)
        lines.addLayout(head)
        body = row(gap=14)
        self._facts = KeyValueGrid("Row", holder)
        self._facts.setMinimumWidth(280)
        body.addWidget(self._facts, 1, Qt.AlignmentFlag.AlignTop)
        self._detail = QPlainTextEdit(holder)
        self._detail.setReadOnly(True)
        self._detail.setFont(font(Text.CODE_SMALL))
        self._detail.setTabChangesFocus(True)
        self._detail.setAccessibleName("Details of the row")
        self._detail.setToolTip("Everything that was recorded with the row")
        body.addWidget(self._detail, 2)
        lines.addLayout(body, 1)
        self._on_chosen(-1)
        return holder

    # --------------------------------------------------------------------------------------------- reading

    async def _take_new(self) -> None:
        if self.isVisible():
            await self._feed.catch_up()

    def showEvent(self, event: QShowEvent) -> None:
        """Take in what was written while nobody looked."""
        super().showEvent(event)
        self._catch_up.ask()

    def _on_changes(self, changes: Changes) -> None:
        del changes
        if self.isVisible():
            self._catch_up.ask()

    def _read_more(self) -> None:
        self._tasks.spawn(self._feed.more(), "read older journal rows")

    def _zone_changed(self) -> None:
        self._table.viewport().update()
        self._on_chosen(self._table.currentIndex().row())

    # ------------------------------------------------------------------------------------------- filtering

    async def _filter_by_order(self, work_order_id: str) -> None:
        order = await self._session.engine.work_order_row(work_order_id)
        if order is None:
            return
        self._order = (order.id, order_name(order.number))
        self._subject, self._text = None, ""
        await self._read_filtered()

    async def _search(self, text: str) -> None:
        match = _ORDER.search(text)
        self._text = " ".join(_ORDER.sub(" ", text).split()) if match else text
        self._problem = ""
        self._order = None
        if match is not None:
            try:
                story = await self._session.engine.work_order(match[0])
            except NotFound as error:
                self._problem = error.what
                self._model.replace((), complete=True)
                return
            self._order = (story.row.id, order_name(story.row.number))
        await self._read_filtered()

    async def _read_filtered(self) -> None:
        self._problem = ""
        self._feed.set_filter(self._order[0] if self._order else None, self._text, self.filter())
        await self._feed.start()

    def filter(self) -> JournalFilter:
        """Which rows are wanted by the choices above the list and the subject that is followed."""
        span = self._span.currentData()
        kind, identity = self._subject or ("", "")
        return JournalFilter(
            subject_kind=kind,
            subject_id=identity,
            groups=tuple(self._kinds.currentData() or ()),
            actors=tuple(self._actors.currentData() or ()),
            since=None if span is None else self._session.times.now() - int(span),
        )

    def _choice_changed(self) -> None:
        self._tasks.spawn(self._read_filtered(), "filter the journal")

    def _clear_filter(self) -> None:
        self._order, self._subject, self._text = None, None, ""
        for choice in (self._kinds, self._actors, self._span):
            choice.blockSignals(True)
            choice.setCurrentIndex(0)
            choice.blockSignals(False)
        self._tasks.spawn(self._read_filtered(), "read the journal")

    def _say_count(self) -> None:
        loaded = self._model.rowCount()
        of = f" of {self._order[1]}" if self._order else ""
        if self._subject is not None:
            of = f"{of} about one {state_word(self._subject[0])}"
        with_text = f" with “{self._text}”" if self._text else ""
        chosen = self.filter() != ALL
        more = "" if self._model.complete else "+"
        words = f"{number(loaded)}{more} {'row' if loaded == 1 and not more else 'rows'}{of}{with_text}"
        down_to = self._feed.looked_down_to
        if with_text and down_to:
            words = f"{words}, looked down to number {number(down_to)}"
        self._count.setText(f"{words} · newest first")
        self._clear.setVisible(bool(of or with_text or self._problem or chosen))
        if loaded:
            self._stack.setCurrentWidget(self._table)
            if not self._table.currentIndex().isValid():
                self._table.choose(0)
        elif self._problem:
            self._none.say("Nothing matches", self._problem)
            self._stack.setCurrentWidget(self._none)
        elif not self._model.complete:
            self._none.say("Nothing so far", f"Nothing matches down to number {number(down_to)}.")
            self._stack.setCurrentWidget(self._none)
            self._read_more()
        else:
            that = " that the choices above let through" if chosen else ""
            self._none.say("Nothing matches", f"No row{of}{with_text}{that}.")
            self._stack.setCurrentWidget(self._none)

    # ---------------------------------------------------------------------------------------------- detail

    def _on_chosen(self, place: int) -> None:
        chosen = self._model.row(place) if 0 <= place < self._model.rowCount() else None
        self._facts.clear()
        for part in (self._open, self._follow):
            part.setVisible(chosen is not None and chosen.work_order_id is not None)
        self._copy.setVisible(chosen is not None)
        self._only.setVisible(chosen is not None)
        if chosen is None:
            self._what.setText("No row chosen")
            self._detail.setPlainText("")
            self._detail.setPlaceholderText("")
            return
        self._what.setText(f"Row {number(chosen.sequence)}")
        add_facts(
            self._facts,
            (
                Fact("What", kind_words(chosen.kind), tip=chosen.kind),
                Fact("Who", actor_words(chosen.actor)),
                Fact("When", self._session.times.exact(chosen.at)),
                Fact("About", f"{chosen.subject_kind} {chosen.subject_id}", code=True),
                Fact("Epoch", number(chosen.epoch)),
            ),
        )
        self._detail.setPlaceholderText("Nothing more was recorded with it.")
        self._detail.setPlainText(detail_text(chosen.detail) if chosen.detail else "")

    def _chosen(self) -> JournalRow | None:
        place = self._table.currentIndex().row()
        return self._model.row(place) if 0 <= place < self._model.rowCount() else None

    def _open_pressed(self) -> None:
        chosen = self._chosen()
        if chosen is not None and chosen.work_order_id is not None:
            self._session.open_page("work_orders", chosen.work_order_id)

    def _follow_pressed(self) -> None:
        chosen = self._chosen()
        if chosen is not None and chosen.work_order_id is not None:
            self.show_subject(chosen.work_order_id)

    def _subject_pressed(self) -> None:
        chosen = self._chosen()
        if chosen is not None:
            self._subject = (chosen.subject_kind, chosen.subject_id)
            self._tasks.spawn(self._read_filtered(), "follow a subject in the journal")

    def _export_pressed(self) -> None:
        self._tasks.spawn(
            export_journal(
                self, self._session, work_order_id=self._order[0] if self._order else None, only=self.filter()
            ),
            "export rows of the journal",
        )

    def _copy_pressed(self) -> None:
        chosen = self._chosen()
        if chosen is not None:
            when = self._session.times.exact(chosen.at)
            head = f"{chosen.sequence}  {when}  {chosen.kind}  {actor_words(chosen.actor)}"
            subject = f"{chosen.subject_kind} {chosen.subject_id}"
            copy_text(f"{head}\n{subject}\n{detail_text(chosen.detail)}", self._copy)

    def _describe(self, one: JournalRow) -> str:
        return (
            f"{journal_line(one)}. {self._session.times.stamp(one.at, seconds=True)}. Number {one.sequence}"
        )

    def _verify_pressed(self) -> None:
        self._verifying.begin()


def _searched(one: JournalRow) -> str:
    """The text of a row in which a search looks."""
    return f"{one.kind} {journal_line(one)} {one.subject_kind} {one.subject_id} {detail_text(one.detail)}"


def _tip(one: JournalRow) -> str:
    return plain_tip(detail_text(one.detail))
