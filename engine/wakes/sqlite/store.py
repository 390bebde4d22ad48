"""The SQLite store: wakes beside everything else in one data folder, over `engine.storage.Storage`.

One process owns a data folder, so every runner over it shares one storage. The history of a wake is the
journal: each step is a row of it, in the transaction that took the step, and subscribers hear of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from engine.actors import Actor
from engine.instants import Instant
from engine.storage import ChangeSet, Rx, Storage, Subject, Tx
from engine.wakes.sqlite.events import SqliteEvents
from engine.wakes.sqlite.queue import SqliteQueue
from engine.wakes.sqlite.receipts import SqliteReceipts
from engine.wakes.sqlite.series import SqliteSeries
from engine.wakes.sqlite.wakes import SqliteWakes
from engine.wakes.store import EventRows, Queue, ReceiptRows, SeriesRows, WakeRows
from engine.wakes.values import Step

R = TypeVar("R")


class SqliteWakeStore:
    """`engine.wakes.store.WakeStore` over an open data folder; whoever opened the storage closes it."""

    name = "sqlite"

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.wakes: WakeRows = SqliteWakes()
        self.queue: Queue = SqliteQueue()
        self.series: SeriesRows = SqliteSeries()
        self.events: EventRows = SqliteEvents()
        self.receipts: ReceiptRows = SqliteReceipts()

    async def write(self, function: Callable[..., R], *arguments: object, control: bool = False) -> R:
        """Run ``function(tx, *arguments, now=…)`` on the writer thread and give its value after the commit."""
        return await self.storage.write(function, *arguments, control=control)

    async def read(self, function: Callable[..., R], *arguments: object) -> R:
        """Run ``function(rx, *arguments)`` over one snapshot."""
        return await self.storage.read(function, *arguments)

    def time_trusted(self, tx: Tx) -> bool:
        """Whether the instant that this transaction was given may be judged by."""
        return tx.time_trusted

    def record(
        self,
        tx: Tx,
        event: str,
        kind: str,
        identity: str,
        actor: Actor,
        now: Instant,
        detail: Mapping[str, object],
    ) -> None:
        """Append one step to the journal."""
        tx.journal(f"{kind}.{event}", Subject(kind, identity), actor, now, detail=detail)

    def history(self, tx: Rx, kind: str, identity: str, limit: int) -> tuple[Step, ...]:
        """The journalled steps of one identity, oldest first."""
        rows = tx.all(
            """SELECT at, kind, actor_name, detail FROM journal WHERE subject_kind = ? AND subject_id = ?
               ORDER BY sequence LIMIT ?""",
            (kind, identity, limit),
        )
        return tuple(_step_of(row["at"], row["kind"], row["actor_name"], row["detail"]) for row in rows)

    def boundary(self, tx: Tx, name: str) -> None:
        """Tell the storage's test boundary that a named point is reached."""
        tx.boundary(name)

    def subscribe(self, listener: Callable[[Sequence[str]], None]) -> Callable[[], None]:
        """Call ``listener`` with the kinds of wake steps in each commit; gives how to end it."""

        def hear(changes: ChangeSet) -> None:
            events = [change.kind for change in changes.changes if change.kind.startswith("wake.")]
            if events:
                listener(events)

        return self.storage.subscribe(hear)


def _step_of(at: Instant, kind: str, actor: str, text: str) -> Step:
    detail = json.loads(text)
    return Step(
        at=at,
        event=kind.partition(".")[2],
        before=detail.get("from"),
        after=detail.get("to"),
        by=detail.get("holder") or actor,
        why=str(detail.get("why") or ""),
    )
