"""The commands of menus and command bar: pause, hold, resume and cancel what is selected, and the rest."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from app.session import WHOLE_ENGINE, Selection, Session
from app.widgets import ask_reason
from engine.control.holds import BY_PERSON, Node
from engine.ids import new_id
from engine.states import HoldKind, NodeKind

if TYPE_CHECKING:
    from engine.views.values import AttemptRow, EngineStatus, HoldRow

WindowCommand = Callable[[QWidget, Session], Coroutine[Any, Any, Any]]
"""Something that a menu entry starts: it gets the window and the session, and runs as a task."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A menu entry: its text, what it does, its key or "", and the command behind it."""

    text: str
    tip: str
    key: str
    command: WindowCommand


@dataclass(frozen=True, slots=True)
class Extras:
    """Commands that other parts of the console bring; an entry exists only where one is given.

    ``data`` are the entries of the menu Data.
    """

    new_work_order: WindowCommand | None = None
    import_work_orders: WindowCommand | None = None
    guided_tour: WindowCommand | None = None
    data: tuple[Entry, ...] = ()


class Commands(QObject):
    """The actions that act on the engine or on what is selected. They belong to a window."""

    def __init__(self, window: QWidget, session: Session, extras: Extras) -> None:
        super().__init__(window)
        self._window = window
        self._session = session
        self.new_work_order: QAction | None = None
        self.import_work_orders: QAction | None = None
        if extras.new_work_order is not None:
            self.new_work_order = self._given(
                "New work order", "Ask for new work", "Ctrl+N", extras.new_work_order
            )
        if extras.import_work_orders is not None:
            self.import_work_orders = self._given(
                "Import work orders…", "Read work orders from a file", "Ctrl+O", extras.import_work_orders
            )
        self.pause = self._action(
            "Pause", "Start nothing new; what runs goes on", "Ctrl+Shift+P", self._pause
        )
        self.hold = self._action(
            "Hold…", "Start nothing new until a reason is answered", "Ctrl+Shift+H", self._hold
        )
        self.resume = self._action("Resume", "Lift pause and hold", "Ctrl+Shift+R", self._resume)
        self.cancel = self._action(
            "Cancel…",
            "End what is selected; what runs is stopped and becomes UNKNOWN",
            "Ctrl+Shift+X",
            self._cancel,
        )
        self.pause_all = self._action(
            "Pause everything", "Start nothing new; what runs goes on", "", self._pause_all
        )
        self.hold_all = self._action(
            "Hold everything…", "Start nothing new until a reason is answered", "", self._hold_all
        )
        self.resume_all = self._action(
            "Resume everything…", "Lift pause and hold from the engine", "", self._resume_all
        )
        session.status_changed.connect(self._refresh)
        session.selection_changed.connect(self._refresh)
        self._refresh()

    def _given(self, text: str, tip: str, key: str, command: WindowCommand) -> QAction:
        return self._action(text, tip, key, lambda: command(self._window, self._session))

    def _action(self, text: str, tip: str, key: str, work: Callable[[], Coroutine[Any, Any, Any]]) -> QAction:
        made = QAction(text, self._window)
        made.setShortcut(QKeySequence(key))
        made.setAutoRepeat(False)
        made.setStatusTip(tip)
        _set_tip(made, tip)
        made.triggered.connect(lambda: self._session.spawn(work(), text))
        return made

    # ------------------------------------------------------------------------------- what can be done

    def _refresh(self, *_: object) -> None:
        status = self._session.status
        here = holds_on(status, self._session.selection)
        superseded = status is not None and status.superseded
        ready = status is not None and not superseded
        kinds = {hold.kind for hold in here}
        liftable = bool(kinds & set(BY_PERSON))
        label, ended = self._session.selection.label, self._session.selection.ended
        can_pause = ready and HoldKind.PAUSE not in kinds and not ended
        over = f"{label} has ended"
        _enable(self.pause, can_pause, over if ended else f"{label} is paused already", superseded)
        _enable(self.hold, ready and HoldKind.HOLD not in kinds, f"{label} is held already", superseded)
        self.resume.setText("Resume…" if liftable and kinds != {HoldKind.PAUSE} else "Resume")
        _enable(self.resume, ready and liftable, f"{label} is neither paused nor held", superseded)
        whole = {hold.kind for hold in holds_on(status, WHOLE_ENGINE)}
        self.pause_all.setEnabled(ready and HoldKind.PAUSE not in whole)
        self.hold_all.setEnabled(ready and HoldKind.HOLD not in whole)
        self.resume_all.setEnabled(ready and bool(whole & set(BY_PERSON)))
        why_not = over if ended else "The engine's state is not known yet"
        _enable(self.cancel, ready and not ended, why_not, superseded)
        for given in (self.new_work_order, self.import_work_orders):
            if given is not None:
                _enable(given, not superseded, "", superseded)

    # -------------------------------------------------------------------------------------- doing it

    async def _pause(self) -> None:
        chosen, engine = self._session.selection, self._session.engine
        await engine.pause(_node(chosen), self._session.actor, key=self._key())

    async def _hold(self) -> None:
        await self._hold_on(self._session.selection)

    async def _hold_all(self) -> None:
        await self._hold_on(WHOLE_ENGINE)

    async def _hold_on(self, chosen: Selection) -> None:
        key = self._key()
        reason = await ask_reason(
            self._window,
            f"Hold {chosen.label}?",
            "It has ended, so nothing of it starts. Retention keeps it while it is held."
            if chosen.ended
            else "Nothing new starts until this reason is answered. What runs goes on.",
            action="Hold",
        )
        if reason is not None:
            await self._session.engine.hold(_node(chosen), self._session.actor, reason=reason, key=key)

    async def _resume(self) -> None:
        await resume(self._window, self._session, self._session.selection)

    async def _cancel(self) -> None:
        chosen, engine = self._session.selection, self._session.engine
        key = self._key()
        running = [_line(row) for row in await engine.running() if _is_under(row, chosen)]
        stopped = (
            "1 running attempt is stopped and becomes"
            if len(running) == 1
            else (f"{len(running)} running attempts are stopped and become")
        )
        stops = (
            f"{stopped} UNKNOWN: a kill does not prove that nothing happened."
            if running
            else "Nothing of it runs now."
        )
        reason = await ask_reason(
            self._window,
            f"Cancel {chosen.label}?",
            f"Work that has not been dispatched ends, its approvals are withdrawn. {stops}",
            action="Cancel it",
            danger=True,
            details=running,
        )
        if reason is not None:
            await engine.cancel(_node(chosen), self._session.actor, reason=reason, key=key)

    async def _pause_all(self) -> None:
        await self._session.engine.pause(_node(WHOLE_ENGINE), self._session.actor, key=self._key())

    async def _resume_all(self) -> None:
        await resume(self._window, self._session, WHOLE_ENGINE)

    def _key(self) -> str:
        """One press is one command, however often it is sent."""
        return new_id(self._session.engine.clock.now())


async def resume(window: QWidget, session: Session, chosen: Selection) -> None:
    """Lift pause and hold from ``chosen``; a hold asks for the answer to its reason first."""
    key = new_id(session.engine.clock.now())
    asked = [hold.reason for hold in holds_on(session.status, chosen) if hold.kind is not HoldKind.PAUSE]
    reason: str | None = ""
    if asked:
        reason = await ask_reason(
            window,
            f"Resume {chosen.label}?",
            "It was held for this reason. Say what has become of it.",
            action="Resume",
            details=asked,
            placeholder="The answer. This is kept in the journal.",
        )
    if reason is not None:
        await session.engine.resume(_node(chosen), session.actor, reason=reason, key=key)


def holds_on(status: EngineStatus | None, chosen: Selection) -> tuple[HoldRow, ...]:
    """The holds on exactly this node."""
    if status is None:
        return ()
    return tuple(hold for hold in status.holds if hold.node_kind is chosen.kind and hold.node_id == chosen.id)


def _node(chosen: Selection) -> Node:
    return Node(chosen.kind, chosen.id)


def _is_under(row: AttemptRow, chosen: Selection) -> bool:
    match chosen.kind:
        case NodeKind.ENGINE:
            return True
        case NodeKind.WORK_ORDER:
            return row.work_order_id == chosen.id
        case NodeKind.TASK:
            return row.task_id == chosen.id
    return False


def _line(row: AttemptRow) -> str:
    return f"WO-{row.number} · {row.purpose.lower()} · {' '.join(row.argv)}"


def _enable(action: QAction, possible: bool, why_not: str, superseded: bool) -> None:
    """Turn an action on or off; when off, its tooltip says why."""
    action.setEnabled(possible)
    off = "Another console has taken over this data folder" if superseded else why_not
    _set_tip(action, action.statusTip() if possible else off)


def _set_tip(action: QAction, tip: str) -> None:
    key = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
    action.setToolTip(f"{tip} ({key})" if key else tip)
