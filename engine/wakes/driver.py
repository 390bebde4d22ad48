"""Drivers: who notices promptly that something is due. A driver is a lossy hint and never load-bearing.

It may drop, repeat or delay what it is told, and can never break a create: the scheduler's sweep finds everything.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol

from engine.clock import LONGEST_SLEEP_MS, Clock
from engine.instants import Instant
from engine.wakes.waiting import first_of

_log = logging.getLogger(__name__)

NextObligation = Callable[[], Awaitable[Instant | None]]


class Driver(Protocol):
    """What pushes a pass when something is due."""

    def start(self, next_obligation: NextObligation, fire: Callable[[], None]) -> None:
        """Begin to call ``fire`` when the next obligation has come."""

    def nudge(self, lane: str | None, at: Instant | None) -> None:
        """Hear that something in a lane is due at an instant; None: look at the store."""

    async def stop(self) -> None:
        """End; nudges after it are dropped."""


class TimerDriver:
    """The driver within a process: one timer, armed for the next obligation and for nothing else.

    It looks at the wall clock at least once a second, so a clock that is set never lets it oversleep.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._nudged = asyncio.Event()
        self._armed: Instant | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self, next_obligation: NextObligation, fire: Callable[[], None]) -> None:
        """Begin in the running loop."""
        self._task = asyncio.create_task(self._repeat(next_obligation, fire), name="wake driver")

    def nudge(self, lane: str | None, at: Instant | None) -> None:
        """Look again, unless the timer is armed for something that is due no later."""
        if at is None or self._armed is None or at < self._armed:
            self._nudged.set()

    async def stop(self) -> None:
        """End the timer."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _repeat(self, next_obligation: NextObligation, fire: Callable[[], None]) -> None:
        while True:
            self._nudged.clear()
            self._armed = None
            try:
                at = await next_obligation()
            except Exception:
                _log.debug("The next obligation could not be read; the sweep goes on.", exc_info=True)
                at = None
            self._armed = at
            await self._until(at)
            if at is not None and not self._nudged.is_set():
                fire()
                # What fired is due until its pass has claimed it; that pass nudges when it ends.
                await first_of(self._nudged.wait(), self._clock.sleep(LONGEST_SLEEP_MS))

    async def _until(self, at: Instant | None) -> None:
        """Wait until an instant or a nudge."""
        if at is None:
            await self._nudged.wait()
            return
        while not self._nudged.is_set() and (left := at - self._clock.now()) > 0:
            await first_of(self._nudged.wait(), self._clock.sleep(min(left, LONGEST_SLEEP_MS)))
