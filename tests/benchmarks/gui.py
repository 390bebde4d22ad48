"""What the benchmarks of the console share: how long the window could not answer, and how much memory it takes.

The window's thread is watched by a precise timer of a few milliseconds in the loop of the product: what is missing
between two beats beyond the interval is a time in which no key would have been answered. On a machine that others use
too, some of that is their doing. Therefore each gap is also bounded by the processor time that this whole process had
meanwhile (``own``), and a small process that does nothing else beats beside it (``machine``): both are given.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Coroutine
from time import perf_counter, process_time, thread_time
from typing import Any, NamedTuple

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import psutil
from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtWidgets import QWidget

BEAT_MS = 4
_BYSTANDER = f"""
import sys, threading, time
over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
worst, last = 0.0, time.perf_counter()
while not over.is_set():
    time.sleep({BEAT_MS} / 1000)
    now = time.perf_counter()
    worst, last = max(worst, now - last), now
print(max(worst * 1000 - {BEAT_MS}, 0.0))
"""
MEGABYTE = 1_000_000


class Gap(NamedTuple):
    """One silence of the window in ms: by the wall, by this process, by its own thread, and when it began."""

    wall: float
    process: float
    thread: float
    at: float


class Heartbeat(QObject):
    """Beats in the window's thread from `start` to `stop`, and keeps each gap."""

    def __init__(self) -> None:
        super().__init__()
        self.gaps: list[Gap] = []
        self._timer = QTimer(self, interval=BEAT_MS)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)
        self._last = (0.0, 0.0, 0.0)

    def start(self) -> None:
        """Begin anew."""
        self.gaps.clear()
        self._last = (perf_counter(), process_time(), thread_time())
        self._timer.start()

    def stop(self) -> None:
        """Take the last gap and end."""
        self._beat()
        self._timer.stop()

    @property
    def worst(self) -> float:
        """The longest block in ms."""
        return max((gap.wall for gap in self.gaps), default=0.0)

    @property
    def worst_own(self) -> float:
        """The longest block in ms that this process can have caused: no longer than the time it was running."""
        return max((min(gap.wall, gap.process) for gap in self.gaps), default=0.0)

    @property
    def worst_thread(self) -> float:
        """The most processor time in ms that the window's own thread took between two beats."""
        return max((gap.thread for gap in self.gaps), default=0.0)

    def over(self, limit_ms: float) -> int:
        """How many blocks were longer than ``limit_ms``."""
        return sum(gap.wall > limit_ms for gap in self.gaps)

    def _beat(self) -> None:
        now = (perf_counter(), process_time(), thread_time())
        wall, process, thread = ((new - old) * 1000 for new, old in zip(now, self._last, strict=True))
        self.gaps.append(Gap(max(wall - BEAT_MS, 0.0), process, thread, self._last[0]))
        self._last = now


class Bystander:
    """A process that only beats: how long the machine kept it waiting is nobody's doing here."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _BYSTANDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def worst(self) -> float:
        """End it; its longest silence in ms. Blocks; call it when nothing is measured any more."""
        return float(self._process.communicate()[0])


class Painted(QObject):
    """Tells when a widget paints and a condition holds."""

    def __init__(self, widget: QWidget, holds: Callable[[], bool]) -> None:
        super().__init__()
        self._holds = holds
        self._event = asyncio.Event()
        self._widget = widget
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Look, after the widget has painted, whether it was what is waited for."""
        if event.type() == QEvent.Type.Paint and not self._event.is_set() and self._holds():
            asyncio.get_running_loop().call_soon(self._event.set)
        return False

    @property
    def done(self) -> bool:
        """Whether it was painted."""
        return self._event.is_set()

    async def wait(self, seconds: float) -> None:
        """Wait until it was painted."""
        async with asyncio.timeout(seconds):
            await self._event.wait()
        self._widget.removeEventFilter(self)


class Tasks:
    """Runs coroutines as tasks that are not forgotten, as `app.session.Session.spawn` does."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Start ``work``."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def settle(self) -> None:
        """Wait until nothing runs any more; a failure is raised."""
        while self._tasks:
            await asyncio.gather(*self._tasks)


def rss_mb() -> float:
    """The resident memory of this process in MB."""
    return round(psutil.Process().memory_info().rss / MEGABYTE, 1)
