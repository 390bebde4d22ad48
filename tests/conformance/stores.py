"""The stores that must pass this suite, by name, and one that must not.

A factory is an asynchronous context manager over (folder, clock, boundary) that gives an open store. Every store
of the product stands in `STORES`; ``test_suite.py`` fails for one that is missing (S-07).
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from engine.clock import Clock
from engine.storage import Storage
from engine.wakes.sqlite import SqliteWakeStore
from engine.wakes.sqlite.queue import SqliteQueue
from engine.wakes.sqlite.rows import WAKE_COLUMNS, marks, wake_of
from engine.wakes.store import Claims, WakeStore

OpenStore = Callable[..., AbstractAsyncContextManager[WakeStore]]


@asynccontextmanager
async def open_sqlite(
    folder: Path, clock: Clock, store_class: type[SqliteWakeStore] = SqliteWakeStore, **options: Any
) -> AsyncIterator[SqliteWakeStore]:
    """The SQLite store over a data folder."""
    storage = await Storage.open(folder, clock=clock, **options)
    try:
        yield store_class(storage)
    finally:
        await storage.close()


class ReadThenWriteQueue(SqliteQueue):
    """A claim that takes what an earlier transaction had read, without looking again: the classic mistake."""

    seen: Collection[int] = ()

    def claim(self, tx: Any, kinds: Any, holder: Any, lease_until: Any, limit: int, **options: Any) -> Claims:
        rows = tx.all(
            f"""UPDATE wake SET state = 'firing', armed_at = NULL, lease_until = ?, holder = ?, claim = claim + 1,
                  attempts = attempts + 1, late_ms = 0, ended_at = NULL, admitted_at = ?
                WHERE seq IN ({marks(self.seen)}) RETURNING {WAKE_COLUMNS}""",
            (lease_until, holder, options["now"], *self.seen),
        )
        return Claims(tuple(wake_of(row) for row in rows), ())


class ReadThenWriteStore(SqliteWakeStore):
    """A store that must fail this suite (S-06)."""

    name = "read_then_write"

    def __init__(self, storage: Storage) -> None:
        super().__init__(storage)
        self.queue = ReadThenWriteQueue()

    async def write(self, function: Any, *arguments: Any, control: bool = False) -> Any:
        if getattr(function, "__name__", "") != "round":
            return await super().write(function, *arguments, control=control)
        seen = await self.read(
            lambda rx: [
                row["seq"]
                for row in rx.all(
                    "SELECT seq FROM wake WHERE armed_at IS NOT NULL ORDER BY armed_at, seq LIMIT ?", (8,)
                )
            ]
        )

        def late(tx: Any, *rest: Any, now: int) -> Any:
            self.queue.seen = seen
            return function(tx, *rest, now=now)

        return await super().write(late, *arguments, control=control)


@asynccontextmanager
async def open_read_then_write(folder: Path, clock: Clock, **options: Any) -> AsyncIterator[SqliteWakeStore]:
    """The store that must fail."""
    async with open_sqlite(folder, clock, ReadThenWriteStore, **options) as store:
        yield store


STORES: dict[str, OpenStore] = {"sqlite": open_sqlite}
BROKEN: dict[str, OpenStore] = {"read_then_write": open_read_then_write}


def chosen_stores() -> list[str]:
    """The stores of this run: all of them, or the one that WAKE_STORE names."""
    wanted = os.environ.get("WAKE_STORE")
    return [wanted] if wanted else list(STORES)
