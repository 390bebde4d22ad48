"""Reads on aiosqlite connections that cannot write: one hop, one snapshot, no waiting for the writer (E-10).

The hop uses aiosqlite's private ``Connection._execute`` and ``_conn`` (a whole function on its thread, where
the public interface offers single statements) and its ``_thread``; a contract test names all three.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import aiosqlite

from engine.storage.connections import closed_error, connect_reader, deliverable
from engine.storage.transaction import Rx

R = TypeVar("R")
P = ParamSpec("P")

READERS = 3
"""Connections in the pool; further reads wait for one."""

STEPS_BETWEEN_LOOKS = 10_000
"""Steps of SQLite's machine, well under a millisecond, between two looks at whether the read is still wanted."""


class Readers:
    """A small pool of reading connections; it belongs to the running loop."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connections: list[aiosqlite.Connection] = []
        self._idle: list[aiosqlite.Connection] = []
        self._free = asyncio.Semaphore(0)
        self._closing = False

    @classmethod
    async def open(cls, path: Path) -> Readers:
        """Open the connections; a writer must have opened the file before."""
        readers = cls(path)
        try:
            for _ in range(READERS):
                await readers._add()
        except BaseException:
            await readers.close()
            raise
        return readers

    async def _add(self) -> None:
        connection = aiosqlite.Connection(partial(connect_reader, self._path), iter_chunk_size=64)
        # A program that ends without closing must still end.
        connection._thread.daemon = True  # noqa: SLF001
        opening = asyncio.ensure_future(_opened(connection))
        try:
            await asyncio.shield(opening)
        finally:
            # Cancelled or not, the thread opens it, and aiosqlite closes only what it knows to be open.
            await asyncio.wait([opening])
            if opening.exception() is None:
                self._connections.append(connection)
                self._idle.append(connection)
                self._free.release()

    async def run(
        self, function: Callable[Concatenate[Rx, P], R], *arguments: P.args, **options: P.kwargs
    ) -> R:
        """Run ``function(rx, …)`` over one snapshot, in one hop; cancelling interrupts its statement."""
        await self._free.acquire()
        if self._closing:
            self._free.release()
            raise closed_error()
        connection = self._idle.pop()
        stop = _Stop()
        hop: asyncio.Task[R] = asyncio.ensure_future(
            connection._execute(  # type: ignore[no-untyped-call]  # noqa: SLF001
                _in_snapshot,
                self._path,
                connection._conn,  # noqa: SLF001
                stop,
                lambda rx: function(rx, *arguments, **options),
            )
        )
        hop.add_done_callback(partial(self._give_back, connection))
        try:
            await asyncio.wait([hop])
        except asyncio.CancelledError:
            stop.asked = True
            raise
        return hop.result()

    async def close(self) -> None:
        """Let the reads that have begun end, refuse those that wait, and end the threads."""
        self._closing = True
        try:
            for _ in self._connections:
                await self._free.acquire()
        finally:
            ends = [connection.stop() for connection in self._connections]
        await asyncio.gather(*(end for end in ends if end is not None))
        for connection in self._connections:
            connection._thread.join()  # noqa: SLF001

    def _give_back(self, connection: aiosqlite.Connection, hop: asyncio.Task[R]) -> None:
        if not hop.cancelled():
            hop.exception()  # whoever asked may be gone; then nobody else looks at it
        self._idle.append(connection)
        self._free.release()


async def _opened(connection: aiosqlite.Connection) -> None:
    await connection


class _Stop:
    """Whether a read has been cancelled; SQLite asks every so many steps of a statement."""

    __slots__ = ("asked",)

    def __init__(self) -> None:
        self.asked = False

    def __call__(self) -> bool:
        return self.asked


def _in_snapshot(path: Path, database: sqlite3.Connection, stop: _Stop, function: Callable[[Rx], R]) -> R:
    rx = Rx(database)
    database.set_progress_handler(stop, STEPS_BETWEEN_LOOKS)
    try:
        database.execute("BEGIN")
        return function(rx)
    except BaseException as error:
        answer = deliverable(error, path)
        if answer is error:
            raise
        raise answer from error
    finally:
        rx.end()
        database.set_progress_handler(None, 0)
        if database.in_transaction:
            database.execute("ROLLBACK")  # ends the snapshot as COMMIT does, and also after any error
