"""The one thread that writes: whole functions under BEGIN IMMEDIATE, many to a COMMIT (E-10 to E-13).

What waits is run in one transaction, each operation in its own savepoint; the callers are answered, all in
one callback of their loop, only after the COMMIT. Control operations go first: they overtake waiting
background operations, and once one has run, its group takes no more background work before it commits.
"""

from __future__ import annotations

import asyncio
import copy
import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from engine.clock import Clock
from engine.errors import DatabaseDamaged
from engine.storage.chain import Chain
from engine.storage.changes import Change, ChangeSet
from engine.storage.connections import closed_error, deliverable
from engine.storage.epochs import current_epoch
from engine.storage.opening import OpenFolder
from engine.storage.transaction import Boundary, Rx, Tx

MOST_IN_A_GROUP = 64
"""Operations per COMMIT: beyond it latency rises and throughput does not (E-12)."""

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Operation:
    """One transaction function that waits, with its arguments and where its answer goes."""

    function: Callable[..., Any]
    arguments: tuple[object, ...]
    control: bool
    answer: asyncio.Future[Any]


@dataclass(slots=True)
class Outcome:
    """What became of an operation."""

    operation: Operation
    value: Any = None
    error: BaseException | None = None
    changes: list[Change] = field(default_factory=list)
    last_sequence: int = 0


class Writer:
    """The writing thread. It opens the database, serves what is submitted, and closes the database.

    ``deliver`` is called in the loop once for each group, with the outcomes, the change set (None if nothing
    was journalled) and how long the group took from BEGIN to the end of COMMIT, in seconds.
    """

    def __init__(
        self,
        open_database: Callable[[], AbstractContextManager[OpenFolder]],
        clock: Clock,
        time_trusted: Callable[[], bool],
        boundary: Boundary | None,
        deliver: Callable[[list[Outcome], ChangeSet | None, float], None],
    ) -> None:
        self._open_database = open_database
        self._clock = clock
        self._time_trusted = time_trusted
        self._boundary = boundary
        self._deliver = deliver
        self._loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[OpenFolder] = self._loop.create_future()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._wake = threading.Condition()
        self._control: deque[Operation] = deque()
        self._background: deque[Operation] = deque()
        self._closing = False
        self._refusing = False
        self._chain: Chain | None = None
        # A daemon, so that a program that ends without closing ends all the same: to the database that is no
        # more than a kill, which it must survive anyway.
        self._thread = threading.Thread(target=self._run, name="praxis-writer", daemon=True)

    async def start(self) -> OpenFolder:
        """Start the thread, and wait until the database is open; raises what opening it raised."""
        self._thread.start()
        try:
            return await asyncio.shield(self._opened)
        except BaseException:
            await self.close()
            if self._opened.done():
                self._opened.exception()  # seen: whoever asked has been cancelled, or gets it now
            raise

    def submit(self, operation: Operation) -> None:
        """Put an operation into its queue; `StorageClosed` once the thread takes no more."""
        with self._wake:
            if self._refusing:
                raise closed_error()
            (self._control if operation.control else self._background).append(operation)
            self._wake.notify()

    async def close(self) -> None:
        """Serve what was submitted, close the database, end the thread; also if the caller is cancelled."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        await asyncio.shield(self._ended)
        self._thread.join()

    # ----------------------------------------------------------------------------------- on the thread itself

    def _run(self) -> None:
        is_open = False
        try:
            with self._open_database() as opened:
                is_open = True
                self._path, self._database = opened.path, opened.database
                self._tell(_set_result, self._opened, opened)
                while self._wait():
                    self._serve()
        except BaseException as error:  # whatever it is, nobody may be left waiting for an answer
            if is_open:
                _log.critical("The writer has stopped.", exc_info=error)
            self._tell(_set_exception, self._opened, error)
        finally:
            with self._wake:
                self._refusing = True
            left = [Outcome(each, error=closed_error()) for each in (*self._control, *self._background)]
            if left:
                self._tell(self._deliver, left, None, 0.0)
            self._tell(_set_result, self._ended, None)

    def _wait(self) -> bool:
        """Wait until there is something to do; False when all is done and the storage closes."""
        with self._wake:
            while not (self._control or self._background):
                if self._closing:
                    return False
                self._wake.wait()
            return True

    def _serve(self) -> None:
        started = time.perf_counter()
        outcomes = self._group(self._next_operations())
        seconds = time.perf_counter() - started
        changes = tuple(change for outcome in outcomes for change in outcome.changes)
        change_set = None
        if changes:
            last = max(outcome.last_sequence for outcome in outcomes if outcome.changes)
            change_set = ChangeSet(changes, last - len(changes) + 1, last)
        self._tell(self._deliver, outcomes, change_set, seconds)

    def _next_operations(self) -> Iterator[Operation]:
        """Give what waits, control first, until the group is full; no background after a control one."""
        control_alone = False
        for _ in range(MOST_IN_A_GROUP):
            if self._control:
                control_alone = True
                yield self._control.popleft()
            elif self._background and not control_alone:
                yield self._background.popleft()
            else:
                return

    def _group(self, operations: Iterator[Operation]) -> list[Outcome]:
        """Run operations in one transaction and give what became of each."""
        outcomes: list[Outcome] = []
        try:
            self._begin()
            for operation in operations:
                outcomes.append(Outcome(operation))
                self._operate(outcomes[-1])
                if not self._database.in_transaction:
                    return self._again_alone(outcomes)
            self._commit()
        except BaseException as error:
            self._roll_back()
            succeeded = [outcome for outcome in outcomes if outcome.error is None]
            if isinstance(error, sqlite3.IntegrityError) and len(succeeded) > 1:
                # A deferred constraint that one of them broke shows only now, and not whose fault it is.
                return self._again_alone(outcomes)
            outcomes.extend(Outcome(operation) for operation in operations)
            return self._all_failed(outcomes, error)
        self._reach("after_commit")
        return outcomes

    def _begin(self) -> None:
        self._database.execute("BEGIN IMMEDIATE")
        if self._chain is None:
            self._chain = stored_chain(Rx(self._database))
        self._stored_sequence = self._chain.sequence

    def _operate(self, outcome: Outcome) -> None:
        """Run one operation in its savepoint; its error undoes it alone, unless the transaction ended too."""
        operation = outcome.operation
        if operation.answer.cancelled():
            return
        assert self._chain is not None
        # First the time, then whether to trust it: reading it is what finds out.
        now = self._clock.now()
        tx = Tx(self._database, self._chain, self._boundary, time_trusted=self._time_trusted())
        self._database.execute("SAVEPOINT operation")
        try:
            outcome.value = operation.function(tx, *operation.arguments, now=now)
            self._database.execute("RELEASE operation")
        except BaseException as error:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK TO operation")
                self._database.execute("RELEASE operation")
            outcome.value, outcome.error = None, deliverable(error, self._path)
        else:
            self._chain = tx.chain
            outcome.changes, outcome.last_sequence = tx.changes, tx.chain.sequence
        finally:
            tx.end()

    def _commit(self) -> None:
        assert self._chain is not None
        if self._chain.sequence != self._stored_sequence:
            self._database.execute(
                "UPDATE journal_head SET sequence = ?, hash = ? WHERE id = 1",
                (self._chain.sequence, self._chain.hash),
            )
        if self._boundary is not None:
            self._boundary("before_commit")
        self._database.execute("COMMIT")

    def _again_alone(self, outcomes: list[Outcome]) -> list[Outcome]:
        """Run again, each in a transaction of its own, what had gone well until a sibling's failure undid it.

        A full disk, for one, ends the whole transaction and not only the savepoint.
        """
        self._chain = None
        return [
            outcome if outcome.error is not None else self._group(iter([outcome.operation]))[0]
            for outcome in outcomes
        ]

    def _roll_back(self) -> None:
        self._chain = None
        try:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
        except sqlite3.Error:
            _log.exception("A transaction could not be rolled back.")

    def _all_failed(self, outcomes: list[Outcome], error: BaseException) -> list[Outcome]:
        answer = deliverable(error, self._path)
        for outcome in outcomes:
            if outcome.error is None:
                outcome.value, outcome.changes = None, []
                outcome.error = copy.copy(answer)
        return outcomes

    def _reach(self, name: str) -> None:
        """Tell the test boundary of a point after which an error must not change what callers are told."""
        if self._boundary is None:
            return
        try:
            self._boundary(name)
        except BaseException:
            _log.exception("The boundary %s raised an error.", name)

    def _tell(self, callback: Callable[..., None], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:  # the loop was closed without closing the storage: nobody is left to be told
            _log.debug("An answer came after the event loop had been closed.")


def stored_chain(rx: Rx) -> Chain:
    """Read the end of the journal and the epoch in force."""
    head = rx.one("SELECT sequence, hash FROM journal_head WHERE id = 1")
    if head is None:
        raise DatabaseDamaged(
            "The journal has no head.",
            means="Rows of the database were removed by something else.",
            do="Restore the newest backup.",
        )
    return Chain(int(head["sequence"]), str(head["hash"]), current_epoch(rx))


def _set_result(future: asyncio.Future[Any], value: object) -> None:
    if not future.done():
        future.set_result(value)


def _set_exception(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
