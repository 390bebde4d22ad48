"""The coordinator: holds the epoch and repeats one bounded pass of everything that waits (E-20, E-26).

It knows what a pass looks like, not what passes there are: they are given to it, so that scheduling stays
below dispatch and the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.clock import LONGEST_SLEEP_MS, Clock
from engine.errors import StaleEpoch, StorageClosed
from engine.instants import Instant
from engine.storage import Storage, Tx, take_epoch
from engine.storage.owner_lock import Owner

_log = logging.getLogger(__name__)


class PassFunction(Protocol):
    """A transaction function that does at most ``limit`` rows of one duty and returns their ids."""

    __name__: str

    def __call__(self, tx: Tx, epoch: int, limit: int, *, now: Instant) -> tuple[str, ...]:
        """Do it and return the ids."""
        ...


@dataclass(frozen=True, slots=True)
class Duty:
    """One bounded pass and its batch size. ``recovers``: it must be through before anything is dispatched."""

    function: PassFunction
    limit: int
    recovers: bool = False


class Coordinator:
    """Repeats all duties under one epoch until it is stopped or superseded.

    ``prepare`` runs before each round of duties and looks at the clocks; ``follow_up`` after it, for what needs
    files. Both are outside any transaction. `recovered` says that everything an earlier epoch left has been
    judged; `error` is why the last round failed, or "". Both decide whether anything may be dispatched (B-040);
    the callback ``recovered`` is called when it may again.
    """

    def __init__(
        self,
        storage: Storage,
        clock: Clock,
        duties: Sequence[Duty],
        prepare: Callable[[], Awaitable[None]],
        follow_up: Callable[[], Awaitable[None]],
        recovered: Callable[[], None],
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._duties = tuple(duties)
        self._prepare = prepare
        self._follow_up = follow_up
        self._tell_recovered = recovered
        self._nudged = asyncio.Event()
        self._loop_task: asyncio.Task[None] | None = None
        self.epoch = 0
        self.superseded = False
        self.recovered = False
        self.error = ""

    async def take_over(self) -> int:
        """Take a new epoch; every coordinator before this one is refused from now on (E-20)."""
        self.epoch = await self._storage.write(_take_epoch, self._storage.owner, control=True)
        return self.epoch

    def start(self) -> None:
        """Begin to repeat the passes in the background."""
        self._loop_task = asyncio.create_task(self._repeat(), name="coordinator")

    async def stop(self) -> None:
        """Stop repeating; a pass under way commits what it holds and is the last."""
        if self._loop_task is not None:
            self._loop_task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._loop_task
            self._loop_task = None

    def nudge(self) -> None:
        """Say that something may have come due; a hint that may be lost without harm."""
        self._nudged.set()

    async def reconcile_once(self) -> dict[str, tuple[str, ...]]:
        """Do one bounded pass of every duty; return the identities each processed, by its name (E-26)."""
        done: dict[str, tuple[str, ...]] = {}
        try:
            await self._prepare()
            for duty in self._duties:
                done[duty.function.__name__] = await self._storage.write(
                    duty.function, self.epoch, duty.limit
                )
            await self._follow_up()
        except StaleEpoch:
            self.superseded = True
            raise
        except Exception as error:
            self.error = str(error) or type(error).__name__
            raise
        self._note_success(done)
        return done

    def _note_success(self, done: dict[str, tuple[str, ...]]) -> None:
        before = self.recovered and not self.error
        self.error = ""
        self.recovered = self.recovered or not any(
            duty.recovers and len(done[duty.function.__name__]) >= duty.limit for duty in self._duties
        )
        if self.recovered and not before:
            self._tell_recovered()

    async def _repeat(self) -> None:
        while True:
            self._nudged.clear()
            try:
                done = await self.reconcile_once()
            except StaleEpoch:
                _log.info("A newer coordinator has taken over; this one stops.")
                return
            except StorageClosed:
                return
            except Exception:
                # Whatever it is: without its coordinator the engine would stand still and not say so.
                _log.exception(
                    "A reconciliation pass did not complete; nothing is dispatched until one does."
                )
                done = {}
            full = any(len(done.get(duty.function.__name__, ())) >= duty.limit for duty in self._duties)
            if not full:
                await self._wait()

    async def _wait(self) -> None:
        """Wait for a nudge, but never longer than a second of elapsed time (E-31)."""
        nudge = asyncio.create_task(self._nudged.wait())
        sleep = asyncio.create_task(self._clock.sleep(LONGEST_SLEEP_MS))
        try:
            await asyncio.wait((nudge, sleep), return_when=asyncio.FIRST_COMPLETED)
        finally:
            nudge.cancel()
            sleep.cancel()
            await asyncio.gather(nudge, sleep, return_exceptions=True)


def _take_epoch(tx: Tx, owner: Owner, *, now: Instant) -> int:
    return take_epoch(tx, owner, now)
