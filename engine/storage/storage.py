"""The storage of one data folder: the façade over writer, readers and the folder's lock (E-10 to E-16a)."""

from __future__ import annotations

import asyncio
import logging
import statistics
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from engine.clock import Clock
from engine.errors import QueueFull
from engine.instants import require_batch
from engine.storage.changes import ChangeSet
from engine.storage.connections import LOCK_WAIT_MS, closed_error
from engine.storage.folder_place import FolderPlace, Surroundings, these_surroundings
from engine.storage.opening import OpenFolder, open_folder
from engine.storage.owner_lock import Owner
from engine.storage.readers import Readers
from engine.storage.schema import Migration, shipped_migrations
from engine.storage.transaction import Boundary, Rx
from engine.storage.writer import Operation, Outcome, Writer

R = TypeVar("R")
P = ParamSpec("P")

Listener = Callable[[ChangeSet], None]

LATENCIES_KEPT = 512

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Latency:
    """Half, and 19 of 20, of the recent groups were committed within this many milliseconds."""

    p50: float
    p95: float


@dataclass(frozen=True, slots=True)
class WriterHealth:
    """How the writer fares.

    ``waiting_control`` and ``waiting_background`` are operations not answered yet; ``latency_ms`` is over the
    latest `LATENCIES_KEPT` groups, from BEGIN to the end of COMMIT; ``commits`` counts the groups since the
    opening; ``log_bytes`` is the size of the write-ahead log.
    """

    waiting_control: int
    waiting_background: int
    latency_ms: Latency
    commits: int
    log_bytes: int


class Storage:
    """One open data folder. It belongs to the event loop in which it was opened.

    A transaction function is a plain synchronous function: it awaits nothing, reads no clock, touches no
    file, and keeps nothing of ``tx`` or ``rx``. It may be run twice, the first time undone, when a sibling in
    its group ended the transaction for both.
    """

    def __init__(self, background_limit: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._background_limit = require_batch(background_limit, "background_limit")
        self._room = asyncio.Semaphore(background_limit)
        self._waiting = {True: 0, False: 0}
        self._latencies: deque[float] = deque(maxlen=LATENCIES_KEPT)
        self._commits = 0
        self._listeners: dict[object, Listener] = {}
        self._closing: asyncio.Task[None] | None = None
        self._writer: Writer
        self._readers: Readers
        self._opened: OpenFolder

    @classmethod
    async def open(
        cls,
        folder: Path,
        *,
        clock: Clock,
        time_trusted: Callable[[], bool] = lambda: True,
        boundary: Boundary | None = None,
        program: str = "praxis",
        background_limit: int = 10_000,
        migrations: Sequence[Migration] | None = None,
        surroundings: Surroundings | None = None,
        lock_wait_ms: int = LOCK_WAIT_MS,
    ) -> Storage:
        """Own ``folder``, bring its database up to date and open it; make what is missing.

        ``time_trusted`` is asked after each reading of ``clock`` whether its time may be judged by.
        ``program`` is how others are told who has the folder. ``background_limit`` bounds the background
        operations that wait for their answer. ``boundary``, ``migrations`` and ``surroundings`` are for
        tests. Raises a `StorageError` that says what is wrong, and then has changed nothing.
        """
        storage = cls(background_limit)
        storage._writer = Writer(
            partial(
                open_folder,
                folder,
                program=program,
                clock=clock,
                migrations=shipped_migrations() if migrations is None else migrations,
                surroundings=surroundings or these_surroundings(),
                lock_wait_ms=lock_wait_ms,
            ),
            clock,
            time_trusted,
            boundary,
            storage._settle,
        )
        storage._opened = await storage._writer.start()
        try:
            storage._readers = await Readers.open(storage._opened.path)
        except BaseException:
            await storage._writer.close()
            raise
        return storage

    @property
    def folder(self) -> Path:
        """The data folder."""
        return self._opened.folder

    @property
    def path(self) -> Path:
        """The database file; never open it with plain file calls."""
        return self._opened.path

    @property
    def owner(self) -> Owner:
        """This process as the folder's owner."""
        return self._opened.owner

    @property
    def place(self) -> FolderPlace:
        """Where the folder lies, with the warning that its place deserves, if any."""
        return self._opened.place

    @property
    def instance_id(self) -> str:
        """The identity that the database got when it was made."""
        return self._opened.instance_id

    @property
    def migration_backup(self) -> Path | None:
        """The checked copy that was made because this opening brought an older schema up to date."""
        return self._opened.migration_backup

    async def write(
        self, function: Callable[..., R], *arguments: object, control: bool = False, wait: bool = True
    ) -> R:
        """Run ``function(tx, *arguments, now=…)`` on the writer thread and give its value after the COMMIT.

        ``now`` is read when the operation runs. An error that it raises undoes it whole and is raised here.
        ``control`` is for what a person pressed: it goes before background operations and is never refused.
        With the background queue full, a background operation waits for room, or gets `QueueFull` if it does
        not want to ``wait``. If the caller is cancelled, the operation is committed whole or not at all.
        Raises a `StorageError` when the commit fails; then nothing of it is kept.
        """
        if self._closing is not None:
            raise closed_error()
        if not control:
            if not wait and self._room.locked():
                raise QueueFull(
                    f"{self._background_limit} background operations are waiting already.",
                    means="This one was not taken.",
                    do="Try again when some of them are done.",
                    limit=self._background_limit,
                )
            await self._room.acquire()
            if self._closing is not None:
                self._room.release()
                raise closed_error()
        operation = Operation(function, arguments, control, self._loop.create_future())
        try:
            self._writer.submit(operation)
        except BaseException:
            if not control:
                self._room.release()
            raise
        self._waiting[control] += 1
        value: R = await operation.answer
        return value

    async def read(
        self, function: Callable[Concatenate[Rx, P], R], *arguments: P.args, **options: P.kwargs
    ) -> R:
        """Run ``function(rx, …)`` over one snapshot and give its value; never waits for the writer.

        The snapshot holds everything whose `write` has been answered. Cancelling interrupts the query.
        """
        if self._closing is not None:
            raise closed_error()
        return await self._readers.run(function, *arguments, **options)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` in the loop with the change set of every commit from now on.

        Gives a function that ends it. The listener must be quick; its errors are logged and hurt nobody else.
        """
        key = object()
        self._listeners[key] = listener

        def end() -> None:
            self._listeners.pop(key, None)

        return end

    def health(self) -> WriterHealth:
        """Say how the writer fares at this moment."""
        recent = sorted(self._latencies) or [0.0]
        log = self.path.with_name(f"{self.path.name}-wal")
        return WriterHealth(
            self._waiting[True],
            self._waiting[False],
            Latency(statistics.median(recent) * 1000, recent[int(len(recent) * 0.95)] * 1000),
            self._commits,
            log.stat().st_size if log.exists() else 0,
        )

    async def close(self) -> None:
        """Take nothing more, answer everything that waits, close all connections, free the folder.

        A second call waits for the first; a cancelled caller does not stop it.
        """
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        try:
            await self._readers.close()
        finally:
            await self._writer.close()

    def _settle(self, outcomes: list[Outcome], changes: ChangeSet | None, seconds: float) -> None:
        """Answer the callers of a group, then tell the subscribers."""
        for outcome in outcomes:
            answer, control = outcome.operation.answer, outcome.operation.control
            self._waiting[control] -= 1
            if not control:
                self._room.release()
            if answer.done():
                continue
            if outcome.error is None:
                answer.set_result(outcome.value)
            else:
                answer.set_exception(outcome.error)
        self._commits += 1
        self._latencies.append(seconds)
        if changes is not None:
            for listener in list(self._listeners.values()):
                try:
                    listener(changes)
                except Exception:
                    _log.exception("A subscriber to changes raised an error.")
