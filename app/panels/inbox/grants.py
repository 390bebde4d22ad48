"""Standing grants beside the queue: those in force and those that ended, each with what it covers and every use."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QSplitter, QStackedWidget, QWidget

from app.panels.inbox.row_text import one_line
from app.panels.inbox.sections import Notice
from app.panels.inbox.wrapped_text import WrappedText
from app.panels.rows import BadgeDelegate, Column, OwnedTasks, Refresh, RowModel, RowTable
from app.panels.words import actor_words, order_name, plain_tip
from app.session import Session
from app.theme import Look, Shape, Text, Tone, state_word
from app.widgets import (
    Badge,
    CommandText,
    Element,
    EmptyState,
    KeyValueGrid,
    Role,
    SectionLabel,
    Times,
    ask_reason,
    button,
    column,
    frame,
    label,
    number,
    row,
    rule,
    spoken,
)
from engine.dispatch.display import command_line
from engine.errors import NotFound
from engine.states import GrantState
from engine.views.grants import GrantRow, GrantUseRow, GrantView

MOST = 200
"""Grants listed at once; older ones are in the journal."""

FREE = "(free)"
"""What stands in the place of a free argument."""

LOOKS = {
    GrantState.LIVE: Look("in force", Tone.OK, Shape.SQUARE),
    GrantState.USED_UP: Look("used up", Tone.NEUTRAL, Shape.SQUARE),
    GrantState.EXPIRED: Look("ended", Tone.NEUTRAL, Shape.CLOCK),
    GrantState.REVOKED: Look("revoked", Tone.WARN, Shape.TRIANGLE),
    GrantState.VOID: Look("void", Tone.BAD, Shape.TRIANGLE),
}


class GrantsView(QWidget):
    """The list with its detail. ``left`` asks for the way back to the queue, ``opened_card(id)`` for a request."""

    left = Signal()
    opened_card = Signal(str)

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._tasks = OwnedTasks(session, self)
        self._wanted = ""
        self._view: GrantView | None = None
        self._read_only = False
        times = session.times
        self._model: RowModel[GrantRow] = RowModel(
            [
                Column("State", lambda one: LOOKS[one.state].word),
                Column("Uses", lambda one: f"{number(one.uses)} of {number(one.max_uses)}"),
                Column(
                    "Until",
                    lambda one: times.stamp(one.ends_at),
                    lambda one: plain_tip(times.exact(one.ends_at)),
                ),
                Column("Command", grant_command, lambda one: plain_tip(grant_command(one))),
            ],
            lambda one: one.id,
            partial(describe_grant, times=times),
            self,
        )
        self._uses: RowModel[GrantUseRow] = RowModel(
            [
                Column("Use", lambda one: number(one.ordinal)),
                Column(
                    "When",
                    lambda one: times.stamp(one.used_at),
                    lambda one: plain_tip(times.exact(one.used_at)),
                ),
                Column("Work order", lambda one: order_name(one.number)),
                Column("Its request", lambda one: state_word(one.approval_state or "removed")),
                Column("Free arguments", lambda one: ", ".join(map(spoken, one.values))),
            ],
            lambda one: one.approval_id,
            lambda one: (
                f"Use {one.ordinal}, {order_name(one.number)} {one_line(one.title)}, {times.stamp(one.used_at)}, "
                f"{state_word(one.approval_state or 'removed')}"
            ),
            self,
        )
        self._again = Refresh(self._tasks, self._read, "read the grants")
        self._build()
        self._table.chosen.connect(self._on_chosen)
        session.times.ticked.connect(self._tick)
        session.times.changed.connect(self._again.ask)

    def refresh(self) -> None:
        """Something about grants changed."""
        if self.isVisible():
            self._again.ask()

    def show_grant(self, grant_id: str) -> None:
        """Show this grant once the list is read."""
        self._wanted = grant_id
        self._again.ask()

    def set_read_only(self, on: bool) -> None:
        """Offer no revocation any more: another console has taken over."""
        self._read_only = on
        self._show_view()

    def focus_first(self) -> None:
        """The list."""
        self._table.setFocus()

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with the present."""
        super().showEvent(event)
        self._again.ask()

    # -------------------------------------------------------------------------------------------- building

    def _build(self) -> None:
        outer = column(self)
        head = row(margins=(18, 10, 18, 10), gap=10)
        head.addWidget(label("Standing grants", Text.TITLE, parent=self))
        head.addWidget(
            label("approve one exact thing beforehand, a few times", Text.SMALL, muted=True, parent=self), 1
        )
        head.addWidget(
            button(
                "Back to the requests",
                "Show the requests that wait",
                self.left.emit,
                role=Role.QUIET,
                parent=self,
            )
        )
        outer.addLayout(head)
        outer.addWidget(rule(self))
        self._stack = QStackedWidget(self)
        self._none = EmptyState(
            "No standing grant was ever given",
            "With Grant… on a card you approve its command for a few uses and a short time. Each use is then "
            "counted and shown here, and can be ended at any moment.",
        )
        self._stack.addWidget(self._none)
        split = QSplitter(Qt.Orientation.Vertical)
        split.setChildrenCollapsible(False)
        split.setHandleWidth(1)
        self._table: RowTable[GrantRow] = RowTable(
            self._model, "Standing grants, newest first", (14, 10, 16), split
        )
        self._table.setItemDelegateForColumn(
            0, BadgeDelegate(lambda at: LOOKS[self._model.row(at).state], self)
        )
        split.addWidget(self._table)
        split.addWidget(self._build_detail())
        split.setSizes([190, 460])
        split.setStretchFactor(1, 1)
        self._stack.addWidget(split)
        outer.addWidget(self._stack, 1)

    def _build_detail(self) -> QWidget:
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setAccessibleName("The grant")
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        body = frame("window", area)
        lines = column(body, margins=(18, 12, 18, 14), gap=10)
        head = row(gap=10)
        self._title = WrappedText("", Text.STRONG, parent=body)
        self._badge = Badge(parent=body)
        self._revoke = button(
            "Revoke…",
            "End it at once; what it approved and nothing has used yet is asked for again",
            self._revoke_pressed,
            role=Role.DANGER,
            parent=body,
        )
        head.addWidget(self._title, 1)
        head.addWidget(self._badge, 0, Qt.AlignmentFlag.AlignTop)
        head.addWidget(self._revoke, 0, Qt.AlignmentFlag.AlignTop)
        lines.addLayout(head)
        self._ended = Notice(Tone.NEUTRAL, body)
        lines.addWidget(self._ended)
        self._facts = KeyValueGrid("The grant", body)
        lines.addWidget(self._facts)
        self._argv = CommandText(parent=body)
        lines.addWidget(self._argv)
        lines.addWidget(SectionLabel("What it covers", body))
        self._covers = WrappedText("", prose=True, name="What it covers", parent=body)
        lines.addWidget(self._covers)
        lines.addWidget(SectionLabel("Uses", body))
        self._used: RowTable[GrantUseRow] = RowTable(self._uses, "Uses", (7, 16, 14, 14), body)
        self._used.setMinimumHeight(130)
        self._used.opened.connect(self._open_use)
        lines.addWidget(self._used)
        lines.addStretch(1)
        area.setWidget(body)
        self._detail = area
        return area

    # --------------------------------------------------------------------------------------------- reading

    async def _read(self) -> None:
        rows = await self._session.engine.grants.listed(limit=MOST)
        self._model.merge(rows)
        self._stack.setCurrentIndex(1 if rows else 0)
        if not self._wanted and rows:
            self._wanted = rows[0].id
        at = self._model.number_of(self._wanted)
        if at >= 0 and self._table.currentIndex().row() != at:
            self._table.choose(at)
        await self._read_view()

    async def _read_view(self) -> None:
        wanted = self._wanted
        if not wanted:
            return
        try:
            view = await self._session.engine.grants.grant(wanted)
        except NotFound:
            return
        if wanted == self._wanted:
            self._view = view
            self._show_view()

    def _on_chosen(self, at: int) -> None:
        if 0 <= at < self._model.rowCount() and self._model.row(at).id != self._wanted:
            self._wanted = self._model.row(at).id
            self._tasks.spawn(self._read_view(), "read a grant")

    def _tick(self) -> None:
        """A grant whose time has come says so without anybody asking."""
        if self.isVisible() and any(
            self._model.row(at).state is GrantState.LIVE
            and self._session.times.now() >= self._model.row(at).ends_at
            for at in range(self._model.rowCount())
        ):
            self._again.ask()

    def _show_view(self) -> None:
        view = self._view
        if view is None:
            return
        own, times = view.row, self._session.times
        self._title.set_text(f"Made from {order_name(own.number)} · {one_line(own.title)}")
        self._badge.show_look(LOOKS[own.state])
        revocable = own.state is GrantState.LIVE or (
            own.state is GrantState.USED_UP and any(use.approval_state == "APPROVED" for use in view.uses)
        )
        self._revoke.setVisible(revocable and not self._read_only)
        self._ended.say(ending_of(own, times), LOOKS[own.state].tone)
        self._facts.clear()
        for name, value, tip in (
            ("Uses", f"{number(own.uses)} of {number(own.max_uses)}", "Requests that it approved"),
            ("Until", times.stamp(own.ends_at), times.exact(own.ends_at)),
            (
                "Given",
                f"{times.stamp(own.given_at)} by {spoken(actor_words(own.given_by))}",
                times.exact(own.given_at),
            ),
            ("Only for", f"{spoken(actor_words(own.requested_by))}, project {one_line(own.project)}", ""),
            ("Workspace", own.workspace, ""),
            ("Reason", spoken(own.reason), ""),
        ):
            if value:
                self._facts.add(name, value, code=name == "Workspace", tip=tip)
        self._argv.set_elements(
            [Element(FREE if text is None else text, "", text is None) for text in own.argv]
        )
        self._covers.set_text("\n".join(f"– {sentence}" for sentence in view.covers))
        gone = {self._uses.row(at).approval_id for at in range(self._uses.rowCount())} - {
            use.approval_id for use in view.uses
        }
        self._uses.merge(view.uses, gone)

    # -------------------------------------------------------------------------------------------- deciding

    def _open_use(self) -> None:
        at = self._used.currentIndex().row()
        if 0 <= at < self._uses.rowCount() and self._uses.row(at).approval_state is not None:
            self.opened_card.emit(self._uses.row(at).approval_id)

    def _revoke_pressed(self) -> None:
        if self._view is not None:
            self._tasks.spawn(self._revoke_grant(self._view), "revoke a grant")

    async def _revoke_grant(self, view: GrantView) -> None:
        waiting = sum(use.approval_state == "APPROVED" for use in view.uses)
        taken = (
            f"{number(waiting)} that it approved and that {'has' if waiting == 1 else 'have'} not started "
            f"{'is' if waiting == 1 else 'are'} asked for again. "
            if waiting
            else ""
        )
        reason = await ask_reason(
            self,
            "Revoke this grant?",
            f"It approves nothing from now on. {taken}What runs goes on; stop it on its own.",
            action="Revoke",
            danger=True,
            details=(grant_command(view.row),),
        )
        if reason is not None:
            await self._session.engine.grants.revoke(view.row.id, self._session.actor, reason)
            self._again.ask()


def grant_command(one: GrantRow) -> str:
    """The command of a grant in one line, with what is free in its place."""
    return " ".join(FREE if text is None else command_line([text]) for text in one.argv)


def describe_grant(one: GrantRow, times: Times) -> str:
    """A grant for a screen reader."""
    return (
        f"{LOOKS[one.state].word}, {one.uses} of {one.max_uses} uses, until {times.stamp(one.ends_at)}: "
        f"{grant_command(one)}"
    )


def ending_of(one: GrantRow, times: Times) -> str:
    """How a grant has ended, in a sentence; "" while it is in force."""
    if one.state is GrantState.LIVE:
        return ""
    at = times.stamp(one.ended_at if one.ended_at is not None else one.ends_at)
    by = (
        f" by {spoken(actor_words(one.ended_by))}" if one.state is GrantState.REVOKED and one.ended_by else ""
    )
    why = {
        GrantState.USED_UP: "Its last use was made",
        GrantState.EXPIRED: "Its time ended",
        GrantState.REVOKED: f"Revoked{by}",
        GrantState.VOID: "Void",
    }[one.state]
    reason = (
        f": {spoken(one.end_reason.rstrip('.'))}"
        if one.state in (GrantState.REVOKED, GrantState.VOID)
        else ""
    )
    return f"{why} {at}{reason}. It approves nothing any more."


def strip_words(rows: tuple[GrantRow, ...], times: Times) -> str:
    """What the line under the queue says of the grants in force; "" if there is none."""
    if not rows:
        return ""
    soonest = min(rows, key=lambda one: one.ends_at)
    left = sum(one.left for one in rows)
    count = "1 standing grant" if len(rows) == 1 else f"{number(len(rows))} standing grants"
    uses = "1 use" if left == 1 else f"{number(left)} uses"
    until = times.stamp(soonest.ends_at)
    return f"{count} in force · {uses} left · {'until' if len(rows) == 1 else 'the first until'} {until}"
