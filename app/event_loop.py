"""The event loop: asyncio on Qt's loop, through qasync, with a ready queue and timers of our own.

qasync makes a Qt timer for each ``call_soon``, fires timers up to 5 % early, and keeps cancelled timers alive
until their time. Here one posted event drains a queue, and one precise Qt timer serves a heap of deadlines:

- callbacks run in the order in which they were scheduled, from whatever thread;
- no timer fires before its time, and equal deadlines fire in the order they were made;
- a cancelled timer is gone, and there is never more than one Qt timer;
- a long queue does not keep the window from repainting: it is drained in slices of `SLICE_SECONDS`.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import math
import os
import sys
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from itertools import count
from time import perf_counter
from typing import Any, TypeVar

# qasync takes the binding that is already imported; PySide6 must come first.
from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimerEvent
from PySide6.QtWidgets import QApplication

os.environ.setdefault("QT_API", "pyside6")

import qasync

from app.memory import collected_here

SLICE_SECONDS = 0.008
"""How long one posted event may run callbacks before Qt gets a turn: half a frame."""

SWITCH_SECONDS = 0.001
"""How long a worker thread may go on in Python while the window's thread waits for its turn; Python has five."""

LONGEST_WAIT_MS = 24 * 3_600_000
"""Longer waits are armed again, since Qt counts milliseconds in 32 bits."""

_FEW_CANCELLED = 64
_WAKE = QEvent.Type(QEvent.registerEventType())
_Result = TypeVar("_Result")

logger = logging.getLogger(__name__)


class _Pump(QObject):
    """Receives the posted event and the timer in the GUI thread."""

    def __init__(
        self,
        wake: Callable[[], None],
        time_is_up: Callable[[], None],
        interrupted: Callable[[BaseException], None],
    ) -> None:
        super().__init__()
        self._wake = wake
        self._time_is_up = time_is_up
        self._interrupted = interrupted

    def customEvent(self, event: QEvent) -> None:
        self._guarded(self._wake)

    def timerEvent(self, event: QTimerEvent) -> None:
        self._guarded(self._time_is_up)

    def _guarded(self, work: Callable[[], None]) -> None:
        # Qt would swallow what a callback or a signal handler raises to end the program.
        try:
            work()
        except BaseException as error:
            self._interrupted(error)


class EventLoop(qasync.QEventLoop):  # type: ignore[misc]  # qasync has no types
    """asyncio's event loop on the loop of a `QApplication`. See the module for what it guarantees."""

    def __init__(self, app: QApplication | None = None) -> None:
        self._queue: deque[asyncio.Handle] = deque()
        self._deadlines: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._order = count()
        self._cancelled = 0
        self._wake_posted = False
        self._armed_for = math.inf
        self._timer_id = 0
        self._interrupt: BaseException | None = None
        self._pump: _Pump | None = _Pump(self._drain, self._timer_fired, self._end_by)
        super().__init__(app)
        # A dialog that closes while the window is in the tray must not end the loop.
        QApplication.setQuitOnLastWindowClosed(False)

    # -------------------------------------------------------------------------------------- scheduling

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Run ``callback`` in the next turn, after everything scheduled before it."""
        self._check_closed()
        handle = asyncio.Handle(callback, args, self, context)
        self._add_callback(handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Do what `call_soon` does, from any thread; `RuntimeError` after the loop was closed."""
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run ``callback`` when ``delay`` seconds have passed, never earlier."""
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run ``callback`` when the loop's time has reached ``when``, never earlier."""
        self._check_closed()
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        # asyncio's own contract: a scheduled handle tells its loop when it is cancelled.
        timer._scheduled = True  # type: ignore[attr-defined]  # noqa: SLF001
        heapq.heappush(self._deadlines, (when, next(self._order), timer))
        self._arm()
        return timer

    def _add_callback(self, handle: asyncio.Handle, delay: float = 0) -> asyncio.Handle:
        """Queue a handle; asyncio calls this too, for signals and sockets."""
        self._queue.append(handle)
        # The flag is taken down before the queue is counted, so a handle appended by another thread is
        # either counted in the running turn or posts a wake-up of its own.
        if not self._wake_posted:
            self._post_wake()
        return handle

    def _post_wake(self) -> None:
        pump = self._pump
        if pump is not None:
            self._wake_posted = True
            QCoreApplication.postEvent(pump, QEvent(_WAKE))

    # ----------------------------------------------------------------------------------------- running

    # On Windows qasync runs a thread of Qt that looks a hundred times a second for input and output that the loop
    # itself has begun. Here nothing does (files, processes and the channel have threads of their own), and a thread
    # that posts to Qt while the program ends is a way to crash. So there is none, and asyncio's own sockets, pipes and
    # subprocesses do not work on this loop there.

    def _before_run_forever(self) -> None:
        if sys.platform != "win32":
            super()._before_run_forever()

    def _after_run_forever(self) -> None:
        if sys.platform != "win32":
            super()._after_run_forever()

    def _drain(self) -> None:
        self._wake_posted = False
        if not self.is_running():
            return
        queue = self._queue
        debug = self.get_debug()
        stop_at = perf_counter() + SLICE_SECONDS
        for _ in range(len(queue)):
            if not queue:  # a nested Qt loop has drained it meanwhile
                return
            handle = queue.popleft()
            if not handle.cancelled():
                self._run_handle(handle, debug)
            if perf_counter() > stop_at:
                break
        if queue and not self._wake_posted:
            self._post_wake()

    def _run_handle(self, handle: asyncio.Handle, debug: bool) -> None:
        started = perf_counter() if debug else 0.0
        handle._run()  # noqa: SLF001 (asyncio's own contract between loop and handle)
        if debug and (spent := perf_counter() - started) >= self.slow_callback_duration:
            logger.warning("Executing %r took %.3f seconds", handle, spent)

    def _end_by(self, error: BaseException) -> None:
        """End the loop and raise ``error`` from `run_forever`."""
        self._interrupt = error
        if self._queue and not self._wake_posted:
            self._post_wake()
        self.stop()

    def _timer_fired(self) -> None:
        self._disarm()
        now = self.time()
        deadlines = self._deadlines
        while deadlines and (deadlines[0][0] <= now or deadlines[0][2].cancelled()):
            _, _, timer = heapq.heappop(deadlines)
            timer._scheduled = False  # type: ignore[attr-defined]  # noqa: SLF001
            if timer.cancelled():
                self._cancelled -= 1
            else:
                self._add_callback(timer)
        self._arm()

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Forget cancelled timers when they are many; asyncio calls this from ``cancel()``."""
        self._cancelled += 1
        if self._cancelled > _FEW_CANCELLED and self._cancelled * 2 > len(self._deadlines):
            for entry in self._deadlines:
                if entry[2].cancelled():
                    entry[2]._scheduled = False  # type: ignore[attr-defined]  # noqa: SLF001
            self._deadlines = [entry for entry in self._deadlines if not entry[2].cancelled()]
            heapq.heapify(self._deadlines)
            self._cancelled = 0
            self._arm()

    def _arm(self) -> None:
        """Let the one Qt timer go off for the earliest deadline; it rounds up to whole milliseconds."""
        pump = self._pump
        if pump is None:
            return
        when = self._deadlines[0][0] if self._deadlines else math.inf
        if when == self._armed_for:
            return
        self._disarm()
        self._armed_for = when
        if self._deadlines:
            wait = max(0.0, when - self.time()) * 1000
            interval = min(math.ceil(wait), LONGEST_WAIT_MS)
            self._timer_id = pump.startTimer(interval, Qt.TimerType.PreciseTimer)

    def _disarm(self) -> None:
        if self._timer_id and self._pump is not None:
            self._pump.killTimer(self._timer_id)
        self._timer_id = 0
        self._armed_for = math.inf

    def run_forever(self) -> None:
        """Run until `stop`; an interrupt or exit raised in a callback ends the loop and is raised here."""
        if self._queue and not self._wake_posted:
            self._post_wake()
        super().run_forever()
        interrupt, self._interrupt = self._interrupt, None
        if interrupt is not None:
            raise interrupt

    # ---------------------------------------------------------------------------------------- executor

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        """Run ``func`` in a thread; threads are made when needed and joined by `asyncio.Runner`."""
        made: asyncio.Future[Any] = asyncio.BaseEventLoop.run_in_executor(self, executor, func, *args)
        return made

    def set_default_executor(self, executor: Any) -> None:
        """Use another executor for `run_in_executor` without one."""
        asyncio.BaseEventLoop.set_default_executor(self, executor)

    def close(self) -> None:
        """Release everything; scheduled callbacks are dropped. Closing twice is fine."""
        super().close()
        self._disarm()
        self._pump = None
        self._queue.clear()
        self._deadlines.clear()


def run(main: Callable[[], Coroutine[Any, Any, _Result]], app: QApplication | None = None) -> _Result:
    """Run ``main`` to its end on a fresh loop, end what is left over, and return its result."""
    sys.setswitchinterval(SWITCH_SECONDS)
    with collected_here(), asyncio.Runner(loop_factory=lambda: EventLoop(app)) as runner:
        return runner.run(main())
