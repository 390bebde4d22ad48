"""The scheduler: the sweep that cannot miss. Recovery at each start, then passes that never overlap."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from engine.clock import Clock
from engine.errors import StorageClosed
from engine.wakes.runner import PassReport
from engine.wakes.waiting import first_of, sleep

_log = logging.getLogger(__name__)


class _Life:
    """One start of the scheduler, with a state of its own (S-56)."""

    def __init__(self) -> None:
        self.stopping = False
        self.nudged = asyncio.Event()
        self.stopped = asyncio.Event()
        self.task: asyncio.Task[None] | None = None


class Scheduler:
    """Repeats passes until it is stopped, one each ``sweep_ms`` and whenever it is woken."""

    def __init__(
        self,
        clock: Clock,
        sweep_ms: int,
        recover: Callable[[], Awaitable[object]],
        run_pass: Callable[[], Awaitable[PassReport]],
        after_pass: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._sweep_ms = sweep_ms
        self._recover = recover
        self._run_pass = run_pass
        self._after_pass = after_pass
        self._life: _Life | None = None
        self._starting = asyncio.Lock()

    @property
    def is_running(self) -> bool:
        """Whether it was started and not stopped."""
        return self._life is not None and not self._life.stopping

    async def start(self) -> None:
        """Begin in the background: recovery first, and only after a former start has wholly ended."""
        async with self._starting:
            if self.is_running:
                return
            await self._end(self._life)
            self._life = _Life()
            self._life.task = asyncio.create_task(self._repeat(self._life), name="wake scheduler")

    async def stop(self) -> None:
        """Run no further pass and wait for the one under way."""
        life = self._life
        if life is not None:
            life.stopping = True
            life.nudged.set()
            life.stopped.set()
            await self._end(life)

    def wake(self) -> None:
        """Run a pass now, or right after the one under way."""
        if self._life is not None:
            self._life.nudged.set()

    @staticmethod
    async def _end(life: _Life | None) -> None:
        if life is not None and life.task is not None:
            await asyncio.wait({life.task})

    async def _repeat(self, life: _Life) -> None:
        recovered = False
        while not life.stopping:
            life.nudged.clear()
            more = False
            try:
                if not recovered:
                    await self._recover()
                    recovered = True
                    continue
                more = (await self._run_pass()).more
            except StorageClosed:
                return
            except Exception:
                _log.exception("A pass over the wakes did not complete; it is repeated.")
                # Not at once, whatever is due: the disk may be full.
                await first_of(life.stopped.wait(), sleep(self._clock, self._sweep_ms))
            self._after_pass()
            if not more and not life.stopping:
                await first_of(life.nudged.wait(), sleep(self._clock, self._sweep_ms))
