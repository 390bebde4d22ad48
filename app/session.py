"""One open data folder as the console sees it: the engine, what is selected, what changed, what runs.

Everything that a panel needs comes from here, and nothing is global.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from app.alerts import Alert, Alerts
from app.settings import Settings
from app.theme import Tone
from app.widgets.times import Times
from engine.actors import Actor
from engine.control.holds import ENGINE_NODE_ID
from engine.errors import PraxisError, StorageError
from engine.states import NodeKind

if TYPE_CHECKING:
    from app.wizards.restore import RestoreWish
    from engine.engine import Engine
    from engine.views.values import EngineStatus

CHANGES_INTERVAL_MS = 50
"""Views hear of changes at most every 50 ms, 20 times a second."""

STATUS_INTERVAL_MS = 2000
"""How often the foot line is read again when nothing changes (queue and latency move without a commit)."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What the command bar acts on: the engine, a work order or a task; ``label`` says it to the person.

    ``ended`` is set where it is known that nothing of it can start or run any more.
    """

    kind: NodeKind
    id: str
    label: str
    ended: bool = False


WHOLE_ENGINE = Selection(NodeKind.ENGINE, ENGINE_NODE_ID, "the whole engine")


class ChangeLike(Protocol):
    """One journal row in short, as the engine tells it."""

    @property
    def kind(self) -> str: ...  # noqa: D102

    @property
    def subject_kind(self) -> str: ...  # noqa: D102

    @property
    def subject_id(self) -> str: ...  # noqa: D102

    @property
    def work_order_id(self) -> str | None: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed since the last time this was told: everything of one or more commits together.

    ``subjects`` are (subject kind, id) pairs, ``kinds`` the kinds of the journal rows, ``work_orders`` the
    orders they belong to, ``events`` (kind, subject id) pairs: what happened to which.
    """

    subjects: frozenset[tuple[str, str]]
    kinds: frozenset[str]
    work_orders: frozenset[str]
    last_sequence: int
    events: frozenset[tuple[str, str]] = frozenset()

    def happened(self, kind: str) -> frozenset[str]:
        """The identities of the subjects to which this kind of thing happened."""
        return frozenset(identity for found, identity in self.events if found == kind)

    def touches(self, *subject_kinds: str) -> bool:
        """Whether anything of these kinds of subject changed."""
        return any(kind in subject_kinds for kind, _ in self.subjects)

    def ids(self, subject_kind: str) -> frozenset[str]:
        """The identities of this kind of subject that changed."""
        return frozenset(identity for kind, identity in self.subjects if kind == subject_kind)


class Session(QObject):
    """The console's hold on one engine.

    Signals: ``changed(Changes)`` at most 20 times a second; ``status_changed(EngineStatus)``;
    ``selection_changed(Selection)``; ``navigated(page key, subject id or "")``; ``failed(PraxisError)`` when
    a spawned task ended with an error that is meant for a person; ``left()`` when the console is to be closed
    for what `leave` was given.
    """

    changed = Signal(object)
    status_changed = Signal(object)
    selection_changed = Signal(object)
    navigated = Signal(str, str)
    failed = Signal(object)
    left = Signal()

    def __init__(self, engine: Engine, actor: Actor, settings: Settings, times: Times) -> None:
        super().__init__()
        self.engine = engine
        self.actor = actor
        self.settings = settings
        self.times = times
        self.alerts = Alerts(self)
        self.selection = WHOLE_ENGINE
        self.status: EngineStatus | None = None
        self.then: RestoreWish | None = None
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._pending: list[ChangeLike] = []
        self._last_sequence = 0
        self._reading_status = False
        self._status_is_stale = False
        self._closing = False
        self._unsubscribe: Callable[[], None] = lambda: None
        self._quiet = QTimer(self, interval=CHANGES_INTERVAL_MS, singleShot=True)
        self._quiet.setTimerType(Qt.TimerType.PreciseTimer)
        self._quiet.timeout.connect(self._tell_changes)
        self._status_timer = QTimer(self, interval=STATUS_INTERVAL_MS)
        self._status_timer.timeout.connect(self.refresh_status)

    def leave(self, then: RestoreWish) -> None:
        """Have the console closed, ``then`` carried out on the closed folder, and the console opened again."""
        self.then = then
        self.left.emit()

    def start(self) -> None:
        """Begin to listen to the engine."""
        self._unsubscribe = self.engine.subscribe(lambda told: self.take(told.changes, told.last_sequence))
        self._status_timer.start()
        self.refresh_status()

    async def close(self) -> None:
        """Stop listening, cancel what was spawned and wait for its end. The engine stays open."""
        self._closing = True
        unsubscribe, self._unsubscribe = self._unsubscribe, lambda: None
        unsubscribe()
        self._status_timer.stop()
        self._quiet.stop()
        own = asyncio.current_task()
        tasks = [task for task in self._tasks if task is not own]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.settings.save()

    # ------------------------------------------------------------------------------------------ tasks

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run ``work`` as a task that is not forgotten: a failure is told at once, its end awaited at close.

        A `PraxisError` goes to ``failed`` (the window shows it); anything else is a fault of the program and
        goes to the loop's exception handler (log and dialog).
        """
        # Not the running loop: a Qt timer may fire between two runs of it, and the work waits for the next.
        task = self._loop.create_task(work, name=name)
        if self._closing:
            task.cancel()
        self._tasks.add(task)
        task.add_done_callback(self._task_ended)
        return task

    async def settled(self, at_most: float = 5.0) -> bool:
        """Wait until nothing that was spawned runs any more; False if ``at_most`` seconds were not enough."""
        own = asyncio.current_task()
        try:
            async with asyncio.timeout(at_most):
                while tasks := [task for task in self._tasks if task is not own]:
                    await asyncio.wait(tasks)
        except TimeoutError:
            return False
        return True

    def _task_ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        if isinstance(error, PraxisError):
            if not self._closing:
                self.failed.emit(error)
            return
        task.get_loop().call_exception_handler(
            {"message": f"The task “{task.get_name()}” failed.", "exception": error, "task": task}
        )

    # ------------------------------------------------------------------------------------- selection

    def select(self, selection: Selection | None) -> None:
        """Choose what the command bar acts on; None is the whole engine."""
        chosen = selection or WHOLE_ENGINE
        if chosen != self.selection:
            self.selection = chosen
            self.selection_changed.emit(chosen)

    def open_page(self, key: str, subject_id: str = "") -> None:
        """Bring a page to the front and let it show ``subject_id``, if it is one of its own."""
        self.navigated.emit(key, subject_id)

    # --------------------------------------------------------------------------------------- changes

    def take(self, changes: Iterable[ChangeLike], last_sequence: int) -> None:
        """Take in what a commit changed. The first after a quiet time is told at once, the rest together."""
        self._pending.extend(changes)
        self._last_sequence = max(self._last_sequence, last_sequence)
        if not self._quiet.isActive():
            self._tell_changes()

    def _tell_changes(self) -> None:
        if not self._pending:
            return
        taken, self._pending = self._pending, []
        self._quiet.start()
        told = Changes(
            frozenset((change.subject_kind, change.subject_id) for change in taken),
            frozenset(change.kind for change in taken),
            frozenset(change.work_order_id for change in taken if change.work_order_id is not None),
            self._last_sequence,
            frozenset((change.kind, change.subject_id) for change in taken),
        )
        self.changed.emit(told)
        self.refresh_status()

    # ---------------------------------------------------------------------------------------- status

    def refresh_status(self) -> None:
        """Read the engine's status again; calls that come while one is being read become one more."""
        if self._closing:
            return
        if self._reading_status:
            self._status_is_stale = True
            return
        self._reading_status = True
        self.spawn(self._read_status(), "read status")

    async def _read_status(self) -> None:
        try:
            while True:
                self._status_is_stale = False
                await self._take_status()
                if not self._status_is_stale:
                    return
                await asyncio.sleep(CHANGES_INTERVAL_MS / 1000)
        finally:
            self._reading_status = False

    async def _take_status(self) -> None:
        try:
            status = await self.engine.status()
        except StorageError as error:
            self.alerts.show(
                Alert("database", error.what, " ".join((error.means, error.do)).strip(), Tone.BAD)
            )
            return
        self.alerts.clear("database")
        if status != self.status:
            self.status = status
            self.times.trusted = status.clock_trusted
            self.status_changed.emit(status)
