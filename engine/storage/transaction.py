"""What a transaction function gets: `Rx` to read one snapshot, `Tx` to read, change and journal.

Every statement is read to its end at once, so no cursor ever leaves the function: an unread RETURNING row
would make the COMMIT fail, an open cursor would keep the log from being checkpointed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from engine.actors import Actor
from engine.errors import InvalidValue
from engine.instants import Instant
from engine.storage.chain import Chain, JournalRow, detail_text, row_hash
from engine.storage.changes import Change, Subject

Parameters: TypeAlias = Sequence[object] | Mapping[str, object]
Boundary: TypeAlias = Callable[[str], None]
"""A test's callback at named points of a transaction, called on the writer thread (E-13)."""

_NO_DETAIL: Mapping[str, object] = MappingProxyType({})
_TRANSACTION_WORDS = (
    "BEGIN",
    "COMMIT",
    "END",
    "ROLLBACK",
    "SAVEPOINT",
    "RELEASE",
    "ATTACH",
    "DETACH",
    "VACUUM",
)


def controls_transaction(sql: str) -> bool:
    """Whether a statement (with no comment before it) would begin or end a transaction, or join other files."""
    return sql.lstrip()[:9].upper().startswith(_TRANSACTION_WORDS)


class Rx:
    """Reads within one transaction. It ends with the function it was given to."""

    __slots__ = ("_database", "_over")

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._over = False

    def all(self, sql: str, parameters: Parameters = ()) -> list[sqlite3.Row]:
        """Run one statement and give all its rows."""
        return self._execute(sql, parameters).fetchall()

    def one(self, sql: str, parameters: Parameters = ()) -> sqlite3.Row | None:
        """Run one statement and give its row, or None if there is none; more than one is a `LookupError`."""
        rows = self._execute(sql, parameters).fetchall()
        if len(rows) > 1:
            raise LookupError(f"{len(rows)} rows where at most one was expected: {sql}")
        row: sqlite3.Row | None = rows[0] if rows else None
        return row

    def end(self) -> None:
        """Refuse any later use: the transaction is over."""
        self._over = True

    def _execute(self, sql: str, parameters: Parameters) -> sqlite3.Cursor:
        if self._over:
            raise RuntimeError("This transaction is over; its object must not be kept.")
        if controls_transaction(sql):
            raise ValueError(f"A transaction function must not control its transaction: {sql}")
        try:
            return self._database.execute(sql, parameters)
        except (UnicodeEncodeError, OverflowError) as error:
            raise InvalidValue(
                "A value cannot be stored: it holds half of a surrogate pair, or is a number beyond 64 bits.",
                means="Nothing was changed.",
                do="Remove the odd character, or give a smaller number.",
            ) from error


class Tx(Rx):
    """Reads and changes within one operation; all of it commits, or nothing.

    ``chain`` is the end of the journal as of this operation and ``changes`` what it journalled.
    ``time_trusted`` says whether the instant that the operation was given may be judged by (E-32).
    """

    __slots__ = ("_boundary", "chain", "changes", "time_trusted")

    def __init__(
        self,
        database: sqlite3.Connection,
        chain: Chain,
        boundary: Boundary | None = None,
        *,
        time_trusted: bool = True,
    ) -> None:
        super().__init__(database)
        self._boundary = boundary
        self.chain = chain
        self.time_trusted = time_trusted
        self.changes: list[Change] = []

    def run(self, sql: str, parameters: Parameters = ()) -> int:
        """Run one statement that changes rows and give how many it changed."""
        cursor = self._execute(sql, parameters)
        if cursor.description is not None:
            cursor.fetchall()
        return cursor.rowcount

    def journal(
        self,
        kind: str,
        subject: Subject,
        actor: Actor,
        now: Instant,
        *,
        work_order_id: str | None = None,
        detail: Mapping[str, object] = _NO_DETAIL,
    ) -> int:
        """Append one row to the journal and give its sequence; ``detail`` holds JSON values only.

        Subscribers hear of it as a `Change` after the commit.
        """
        row = JournalRow(
            self.chain.sequence + 1,
            now,
            self.chain.epoch,
            actor.kind.value,
            actor.name,
            subject.kind,
            subject.id,
            work_order_id,
            kind,
            detail_text(detail),
        )
        digest = row_hash(self.chain.hash, row)
        self.run(
            "INSERT INTO journal (sequence, at, epoch, actor_kind, actor_name, subject_kind, subject_id,"
            " work_order_id, kind, detail, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                row.sequence,
                row.at,
                row.epoch,
                row.actor_kind,
                row.actor_name,
                row.subject_kind,
                row.subject_id,
                row.work_order_id,
                row.kind,
                row.detail,
                digest,
            ),
        )
        self.chain = Chain(row.sequence, digest, self.chain.epoch)
        self.changes.append(Change(kind, subject.kind, subject.id, work_order_id))
        return row.sequence

    def boundary(self, name: str) -> None:
        """Tell the injected test boundary, if there is one, that the point ``name`` is reached (E-13)."""
        if self._boundary is not None:
            self._boundary(name)
