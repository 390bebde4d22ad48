"""Following a long action from another thread: how far it is, and the wish to end it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from engine.errors import Cancelled

T = TypeVar("T")

BETWEEN_TELLS_SECONDS = 0.05
_STEPS_BETWEEN_LOOKS = 10_000


class Stage(StrEnum):
    """What a backup, a verification or a restore is doing."""

    DATABASE = "copying the database"
    BLOBS = "copying kept files"
    DIGESTS = "reading every file again"
    INTEGRITY = "checking the database"
    JOURNAL = "checking the journal"
    PREPARE = "preparing the restored data"
    SWAP = "putting it in place"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a stage is; ``total`` is 0 while nobody can say. Bytes for copies, rows for the journal."""

    stage: Stage
    done: int
    total: int


class Watch:
    """Tells progress, at most 20 times a second, and takes the wish to cancel. Safe between threads."""

    def __init__(self, tell: Callable[[Progress], None] | None = None) -> None:
        self._tell = tell
        self._cancelled = threading.Event()
        self._told_at = 0.0
        self._stage: Stage | None = None

    def cancel(self) -> None:
        """Wish the action to end; it raises `Cancelled` at its next look and takes away what it had begun."""
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        """Whether the end was wished for."""
        return self._cancelled.is_set()

    def look(self) -> None:
        """Raise `Cancelled` if the end was wished for."""
        if self.cancelled:
            raise Cancelled("It was cancelled.", means="Nothing was changed, and nothing half-made is left.")

    def at(self, stage: Stage, done: int = 0, total: int = 0) -> None:
        """Say how far it is; raises `Cancelled` if the end was wished for."""
        self.look()
        self.say(stage, done, total)

    def say(self, stage: Stage, done: int, total: int) -> None:
        """Say how far it is, and look at nothing."""
        if self._tell is None:
            return
        moment = time.monotonic()
        important = stage is not self._stage or done >= total > 0
        if important or moment - self._told_at >= BETWEEN_TELLS_SECONDS:
            self._stage, self._told_at = stage, moment
            self._tell(Progress(stage, done, total))

    @contextmanager
    def interrupts(self, database: sqlite3.Connection) -> Iterator[None]:
        """Let a cancel end a long statement of ``database``, which then raises `Cancelled`."""
        database.set_progress_handler(lambda: int(self.cancelled), _STEPS_BETWEEN_LOOKS)
        try:
            yield
        except sqlite3.OperationalError:
            self.look()
            raise
        finally:
            database.set_progress_handler(None, 0)


async def watched(function: Callable[[Watch], T], tell: Callable[[Progress], None] | None = None) -> T:
    """Run a blocking action in a thread; ``tell`` is called in the loop. Cancelling waits until it has cleaned up."""
    loop = asyncio.get_running_loop()

    def pass_on(progress: Progress) -> None:
        if tell is not None:
            loop.call_soon_threadsafe(tell, progress)

    watch = Watch(pass_on)
    work = asyncio.ensure_future(asyncio.to_thread(function, watch))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        watch.cancel()
        await asyncio.wait([work])
        with suppress(asyncio.CancelledError):
            work.exception()
        raise
