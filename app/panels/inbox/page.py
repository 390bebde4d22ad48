"""The inbox: the queue at the left, the card at the right, and the decisions that go to the engine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QModelIndex, Qt, QTimer
from PySide6.QtGui import QAction, QGuiApplication, QShowEvent
from PySide6.QtWidgets import QSplitter, QStackedWidget, QWidget
from shiboken6 import isValid

from app.panels.inbox.card import CardView
from app.panels.inbox.decisions import Done, decide, error_words
from app.panels.inbox.feed import QueueFeed
from app.panels.inbox.grants import GrantsView, strip_words
from app.panels.inbox.guard import AttentionGuard
from app.panels.inbox.model import QueueModel
from app.panels.inbox.queue_list import QueueList
from app.panels.inbox.row_text import describe, explain, one_line
from app.panels.inbox.sections import Notice
from app.panels.inbox.sheet import Act
from app.session import Changes, Selection, Session
from app.shell.commands import Commands
from app.shell.pages import PageView
from app.theme import Text, Tone, state_word
from app.widgets import EmptyState, Role, button, column, duration_text, frame, label, number, row, rule
from engine.errors import NotFound, PraxisError
from engine.states import ApprovalState, GrantState, HoldKind, NodeKind
from engine.views.values import ApprovalCard, EngineStatus, HoldRow, QuietMeter

AROUND_MS = 500
"""Gates and budget of the card are read again at most this often when other work moves."""

RECHECK_MS = 1000
"""After this time a count that does not agree with the rows makes all loaded rows be read again."""

GRANTS = "grants"
"""The subject that shows the standing grants."""

GRANT = "grant:"
"""Before a grant's id: the subject that shows this grant."""

_APPROVAL = "approval"
_AROUND = ("hold", "scope", "task", "attempt", "claim", "lane", "work_order", "worker", "clock")
_LIFTABLE = (HoldKind.PAUSE, HoldKind.HOLD, HoldKind.OVERRUN)


class InboxView(PageView):
    """The page "Inbox". Everything it shows is read from the engine; changes only say where to look again."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._guard = AttentionGuard(session.engine.clock.elapsed)
        times = session.times
        self._model = QueueModel(partial(describe, times=times), partial(explain, times=times), self)
        self._feed = QueueFeed(session.engine.approvals, self._model)
        self._wanted: str | None = None
        self._touched: set[str] = set()
        self._arrivals = False
        self._catching_up = False
        self._last: Done | None = None
        self._looked_at = ""
        self._build()
        self._around = QTimer(self, interval=AROUND_MS, singleShot=True)
        self._around.timeout.connect(self._read_card_again)
        self._recheck = QTimer(self, interval=RECHECK_MS, singleShot=True)
        self._recheck.timeout.connect(self._check_count)
        self._model.more_wanted.connect(self._read_more)
        self._model.edited.connect(self._say_count)
        self._model.edited.connect(self._choose_wanted)
        self._list.chosen.connect(self._on_chosen)
        self._list.clicked.connect(self._on_clicked)
        self._list.inspect.connect(self._inspect)
        self._card.acted.connect(self._on_act)
        self._card.left.connect(self._list.setFocus)
        self._card.looked_at.connect(self._show)
        self._grants.left.connect(self._leave_grants)
        self._grants.opened_card.connect(self._leave_grants_for)
        session.changed.connect(self._on_changes)
        session.status_changed.connect(self._on_status)
        app = QGuiApplication.instance()
        if isinstance(app, QGuiApplication):
            app.applicationStateChanged.connect(self._came_back)
        session.spawn(self._begin(), "read the inbox")

    # --------------------------------------------------------------------------------- what the shell asks

    def show_subject(self, subject_id: str) -> None:
        """Show the card of a request, or of the request that waits for a task or work order; or the `GRANTS`."""
        if subject_id == GRANTS or subject_id.startswith(GRANT):
            if subject_id.startswith(GRANT):
                self._grants.show_grant(subject_id.removeprefix(GRANT))
            self._show_grants()
            return
        self._leave_grants()
        self._show(self._model.find(subject_id) or subject_id)

    def focus_first(self) -> None:
        """The list, at a request that waits: nothing is decided there."""
        at = self._list.currentIndex().row()
        if (at < 0 or self._model.entry(at).gone) and (first := self._model.next_waiting(-1)) >= 0:
            self._list.choose(first)
        self._list.setFocus()

    # -------------------------------------------------------------------------------------------- building

    def _build(self) -> None:
        outer = column(self)
        split = QSplitter(Qt.Orientation.Horizontal, self)
        split.setChildrenCollapsible(False)
        split.setHandleWidth(1)
        split.addWidget(self._build_queue())
        split.addWidget(self._build_right())
        split.setStretchFactor(0, 0)
        split.setStretchFactor(1, 1)
        split.setSizes([340, 772])
        outer.addWidget(split)

    def _build_queue(self) -> QWidget:
        side = frame("surface")
        side.setMinimumWidth(240)
        lines = column(side)
        head = row(margins=(13, 10, 13, 10))
        head.addWidget(label("Waiting for you · oldest first", muted=True, parent=side), 1)
        self._count = label("", muted=True, parent=side)
        head.addWidget(self._count)
        lines.addLayout(head)
        lines.addWidget(rule(side))
        self._list = QueueList(
            self._model,
            self._session.times,
            lambda: self._guard.press_counts(self.isActiveWindow()),
            side,
        )
        lines.addWidget(self._list, 1)
        lines.addWidget(rule(side))
        self._granted = button(
            "Standing grants",
            "Show the standing grants, what each covers and every use",
            self._show_grants,
            role=Role.QUIET,
            parent=side,
        )
        self._in_force = label("", Text.SMALL, muted=True, wrap=True, parent=side)
        grants = column(margins=(5, 4, 13, 0), gap=0)
        grants.addWidget(self._granted, 0, Qt.AlignmentFlag.AlignLeft)
        self._in_force.setContentsMargins(8, 0, 0, 4)
        grants.addWidget(self._in_force)
        lines.addLayout(grants)
        lines.addWidget(rule(side))
        self._meter = label("", Text.SMALL, muted=True, wrap=True, parent=side)
        self._meter.setContentsMargins(13, 8, 13, 9)
        self._meter.setToolTip(
            "How many requests were decided in the last hour, and how long a card was looked at"
        )
        lines.addWidget(self._meter)
        return side

    def _build_right(self) -> QWidget:
        right = frame("window")
        lines = column(right)
        self._stack = QStackedWidget(right)
        self._reading = label("Reading the inbox…", muted=True)
        self._reading.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._nothing = EmptyState(
            "Nothing waits for you",
            "When a work order is submitted, by you or by an agent, its exact command is sealed and shown here. "
            "Nothing of it runs before you have approved it.",
            "New work order…",
            self._new_work_order,
            key="Ctrl+N",
        )
        self._card = CardView(self._session.times, self._guard)
        for page in (self._reading, self._nothing, self._card):
            self._stack.addWidget(page)
        self._sides = QStackedWidget(right)
        requests = QWidget()
        waiting = column(requests)
        self._grants = GrantsView(self._session)
        self._sides.addWidget(requests)
        self._sides.addWidget(self._grants)
        self._done = Notice(Tone.OK, right)
        self._undo = button(
            "Withdraw", "Take this approval back before it is used", self._withdraw_last, role=Role.QUIET
        )
        self._done.add(self._undo)
        self._dismiss = button("Close", "Close this line", self._close_done, role=Role.QUIET)
        self._done.add(self._dismiss)
        # Above the card: the buttons below it must stay where they are.
        waiting.addWidget(self._done)
        waiting.addWidget(self._stack, 1)
        lines.addWidget(self._sides, 1)
        return right

    # --------------------------------------------------------------------------------------------- reading

    async def _begin(self) -> None:
        await self._feed.read_all_again()
        await self._read_meter()
        self._choose_something()
        await self._read_grants()

    def _read_more(self) -> None:
        self._session.spawn(self._feed.more(), "read more of the inbox")

    def _on_changes(self, changes: Changes) -> None:
        approvals = changes.ids(_APPROVAL)
        if changes.touches("grant") or (approvals and self._grants.isVisible()):
            self._grants.refresh()
            self._session.spawn(self._read_grants(), "read the grants in force")
        if approvals:
            self._touched |= approvals
            self._arrivals = self._arrivals or "approval.asked" in changes.kinds
            if not self._catching_up:
                self._catching_up = True
                self._session.spawn(self._catch_up(), "read changes of the inbox")
        card = self._card.card
        if card is None:
            return
        if card.approval_id in approvals:
            self._guard.disturb()
            self._read_card_again()
        elif self.isVisible() and (approvals or changes.touches(*_AROUND)) and not self._around.isActive():
            self._around.start()

    async def _catch_up(self) -> None:
        try:
            while self._touched:
                touched, arrivals = self._touched, self._arrivals
                self._touched, self._arrivals = set(), False
                await self._feed.catch_up(touched, arrivals=arrivals)
                await self._read_meter()
                await self._follow_last(touched)
        finally:
            self._catching_up = False
        self._choose_something()

    async def _read_grants(self) -> None:
        """Say under the queue which grants are in force."""
        rows = await self._session.engine.grants.listed(states=(GrantState.LIVE,))
        said = strip_words(rows, self._session.times)
        self._in_force.setText(said)
        self._in_force.setVisible(bool(said))

    def _show_grants(self) -> None:
        self._sides.setCurrentWidget(self._grants)
        self._grants.focus_first()

    def _leave_grants(self) -> None:
        self._sides.setCurrentIndex(0)

    def _leave_grants_for(self, approval_id: str) -> None:
        self._leave_grants()
        self._show(approval_id)

    async def _read_meter(self) -> None:
        self._meter.setText(meter_words(await self._session.engine.approvals.quiet_meter()))

    def _on_status(self, status: EngineStatus) -> None:
        self._say_count()
        self._card.set_read_only(status.superseded)
        self._grants.set_read_only(status.superseded)
        card = self._card.card
        if card is not None and (self._hold_on(card) is not None) != self._card.held:
            self._read_card_again()
        if self._disagrees(status) and not self._recheck.isActive():
            self._recheck.start()

    def _disagrees(self, status: EngineStatus) -> bool:
        return (
            self._feed.started and self._model.complete and status.pending_approvals != self._model.waiting()
        )

    def _check_count(self) -> None:
        """Read all again if the rows still do not agree with the engine's count."""
        status = self._session.status
        if status is not None and self._disagrees(status) and not self._feed.busy:
            self._session.spawn(self._feed.read_all_again(), "read the inbox again")

    def _say_count(self) -> None:
        waiting = self._model.waiting()
        status = self._session.status
        total = waiting if self._model.complete or status is None else max(status.pending_approvals, waiting)
        self._count.setText(f"{number(waiting)} of {number(total)}" if self._feed.started else "")
        self._count.setAccessibleName(f"{waiting} of {total} waiting requests are listed")

    # -------------------------------------------------------------------------------------------- choosing

    def _choose_something(self) -> None:
        """Show the oldest request if nothing is shown; say so if nothing waits."""
        if self._wanted is None and (first := self._model.next_waiting(-1)) >= 0:
            self._list.choose(first)
        if self._wanted is None:
            self._card.clear()
            self.act_on(None)
            self._stack.setCurrentWidget(self._nothing)

    def _choose_wanted(self) -> None:
        """After an edit: the row of the card is the current one again, wherever the view went meanwhile."""
        at = -1 if self._wanted is None else self._model.row_of(self._wanted)
        if at >= 0 and at != self._list.currentIndex().row():
            self._list.choose(at)

    def _on_chosen(self, at: int) -> None:
        if at < 0 or self._model.editing:
            return
        if self._list.hasFocus():
            # The person moves in the list; what the engine moves leaves the grants before their eyes.
            self._leave_grants()
        entry = self._model.entry(at)
        ids = {member.approval_id for member in entry.members} or {entry.last.approval_id}
        if self._wanted not in ids:
            self._show(entry.row.approval_id)

    def _on_clicked(self, index: QModelIndex) -> None:
        self._leave_grants()
        self._on_chosen(index.row())

    def _inspect(self) -> None:
        self._leave_grants()
        self._card.focus_body()

    def _show(self, approval_id: str) -> None:
        """Show the card of this request; its row, if there is one, becomes current and stays."""
        self._wanted = approval_id
        self._model.keep(approval_id)
        at = self._model.row_of(approval_id)
        if at != self._list.currentIndex().row():
            self._list.choose(at)
        if self._card.card is None or self._card.card.approval_id != approval_id:
            self._card.wait()
        self._session.spawn(self._read_card(approval_id), "read a card")

    def _read_card_again(self) -> None:
        if self._wanted is not None:
            self._session.spawn(self._read_card(self._wanted), "read a card")

    async def _read_card(self, approval_id: str) -> None:
        try:
            card = await self._session.engine.approvals.card(approval_id)
            before = await self._before(card)
        except NotFound:
            if self._wanted == approval_id:
                self._forget()
            raise
        if self._wanted != approval_id:
            return
        successor = self._model.find(card.task_id)
        self._card.show_card(
            card,
            alike=self._model.members(approval_id),
            before=before,
            held=self._hold_on(card) is not None,
            successor=successor is not None and successor != approval_id,
        )
        self._stack.setCurrentWidget(self._card)
        if self._looked_at != approval_id:
            self._looked_at = approval_id
            self._look_at_disk()
        self.act_on(Selection(NodeKind.TASK, card.task_id, f"WO-{card.number} · {state_word(card.purpose)}"))

    def _look_at_disk(self) -> None:
        """See whether what the card has sealed is still what would run: when it is shown, and on coming back."""
        if self._wanted is not None and self.isVisible():
            self._session.spawn(self._read_drift(self._wanted), "look at the disk")

    async def _read_drift(self, approval_id: str) -> None:
        try:
            drift = await self._session.engine.approvals.changed_since_asked(approval_id)
        except PraxisError:
            return  # nobody has looked, then; right before the start it is looked at again
        if isValid(self):
            self._card.show_drift(approval_id, drift)

    def _came_back(self, state: Qt.ApplicationState) -> None:
        if state is Qt.ApplicationState.ApplicationActive:
            self._look_at_disk()

    async def _before(self, card: ApprovalCard) -> str:
        """What heads the older side of the differences: the request before, and whether it was approved."""
        if card.previous_id is None or not card.differences:
            return "before"
        older = await self._session.engine.approvals.card(card.previous_id)
        stamp = self._session.times.stamp
        if older.decided_by is not None and older.decided_at is not None:
            verb = "rejected" if older.state is ApprovalState.REJECTED else "approved"
            return f"{verb} by {one_line(older.decided_by)} {stamp(older.decided_at)}"
        return f"as asked {stamp(older.asked_at)}"

    def _hold_on(self, card: ApprovalCard) -> HoldRow | None:
        """The hold a person placed on this very step, if there is one."""
        status = self._session.status
        holds: Sequence[HoldRow] = () if status is None else status.holds
        return next(
            (
                hold
                for hold in holds
                if hold.node_kind is NodeKind.TASK and hold.node_id == card.task_id and hold.kind in _LIFTABLE
            ),
            None,
        )

    def _forget(self) -> None:
        self._wanted = None
        self._model.keep(None)
        self._choose_something()

    # ------------------------------------------------------------------------------------------- deciding

    def _on_act(self, act: Act) -> None:
        card = self._card.card
        if card is None:
            return
        match act:
            case Act.SHOW_NEXT:
                if (newer := self._model.find(card.task_id)) is not None:
                    self._show(newer)
            case Act.SHOW_GRANT:
                if card.grant is not None:
                    self._grants.show_grant(card.grant.grant_id)
                    self._show_grants()
            case Act.SHOW_ORDER:
                self._session.open_page("work_orders", card.work_order_id)
            case _:
                self._session.spawn(self._decide(act, card), f"{act} {card.approval_id}")

    async def _decide(self, act: Act, card: ApprovalCard) -> None:
        """Send one decision with the seal that was shown; what goes wrong is said in the card."""
        look_ms = self._guard.look_ms
        self._card.show_error("")
        self._card.set_busy(True)
        in_card = self._card.isAncestorOf(self.focusWidget() or self)
        try:
            done = await decide(
                self._session,
                act,
                card,
                among=self._card.ticked() or (card.approval_id,),
                covers_validation=self._card.covers_validation,
                look_ms=look_ms,
                hold=self._hold_on(card),
                parent=self,
            )
        except PraxisError as error:
            if self._wanted == card.approval_id:
                self._card.show_error(error_words(error))
            else:
                self._session.failed.emit(error)
            self._read_card_again()
            if in_card:
                self._card.focus_body()
            return
        finally:
            self._card.set_busy(False)
        if done is not None:
            await self._after(done, card, in_card)

    async def _after(self, done: Done, card: ApprovalCard, in_card: bool) -> None:
        self._last = done
        self._say_done()
        at = self._model.row_of(card.approval_id)
        await self._feed.catch_up(done.ids, arrivals=done.shows is not None)
        if done.shows is not None:
            self._show(done.shows)
        elif done.leaves and self._wanted == card.approval_id:
            following = self._model.members(card.approval_id)
            waiting = at if following else self._model.next_waiting(at)
            if waiting >= 0:
                self._show(self._model.entry(waiting).row.approval_id)
            else:
                self._list.choose(-1)
                self._forget()
        else:
            self._read_card_again()
        if in_card and self._wanted is not None:
            self._card.focus_body()
        elif in_card:
            self._list.setFocus()

    def _say_done(self) -> None:
        done = self._last
        if done is None:
            self._done.hide()
            return
        self._done.say(done.words(self._session.times), done.tone)
        self._undo.setVisible(done.can_withdraw)

    def _close_done(self) -> None:
        self._last = None
        self._say_done()

    def _withdraw_last(self) -> None:
        done = self._last
        if done is not None and done.can_withdraw and self._guard.press_counts(self.isActiveWindow()):
            self._session.spawn(self._withdraw(done), "withdraw an approval")

    async def _withdraw(self, done: Done) -> None:
        """Take back what was just approved, as far as nothing has used it yet."""
        self._undo.setEnabled(False)
        taken: list[ApprovalCard] = []
        try:
            for approval_id in done.ids:
                taken.append(await self._session.engine.approvals.withdraw(approval_id, self._session.actor))
        except PraxisError as error:
            self._last = done.with_error(error_words(error))
        else:
            self._last = done.after(taken)
        finally:
            self._undo.setEnabled(True)
        self._say_done()

    async def _follow_last(self, touched: set[str]) -> None:
        """Keep the line about the last decision true: once used, an approval cannot be withdrawn."""
        done = self._last
        if done is None or not done.can_withdraw or touched.isdisjoint(done.ids):
            return
        cards = [await self._session.engine.approvals.card(approval_id) for approval_id in done.ids]
        if self._last is done and any(card.state is not ApprovalState.APPROVED for card in cards):
            self._last = done.after(cards)
            self._say_done()

    def showEvent(self, event: QShowEvent) -> None:
        """Read the card again, and offer a new work order where the window has that command."""
        super().showEvent(event)
        self._read_card_again()
        if self._nothing.button is not None:
            self._nothing.button.setVisible(self._new_work_order_action() is not None)

    def _new_work_order_action(self) -> QAction | None:
        commands = self.window().findChild(Commands)
        return commands.new_work_order if isinstance(commands, Commands) else None

    def _new_work_order(self) -> None:
        if (action := self._new_work_order_action()) is not None:
            action.trigger()


def meter_words(meter: QuietMeter) -> str:
    """The quiet meter in words."""
    count = meter.decisions_last_hour
    said = f"Quiet meter: {number(count)} {'decision' if count == 1 else 'decisions'} in the last hour"
    if meter.median_look_ms is None:
        return said
    # To the second, and never "38" on one line and "s" on the next.
    look = duration_text(meter.median_look_ms // 1000 * 1000 or meter.median_look_ms).replace(" ", "\u00a0")
    return f"{said} · median\u00a0look\u00a0{look}"
