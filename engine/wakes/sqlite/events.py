"""The SQL of delivered events."""

from __future__ import annotations

import sqlite3

from engine.instants import Instant
from engine.storage import Rx, Tx
from engine.wakes.store import StoredEvent


class SqliteEvents:
    """`engine.wakes.store.EventRows` over the data folder's database."""

    def by_delivery(self, tx: Rx, workspace: str, delivery_id: str) -> StoredEvent | None:
        """The event that was delivered under this id."""
        row = tx.one(
            "SELECT * FROM wake_event WHERE workspace = ? AND delivery_id = ? AND delivery_id IS NOT NULL",
            (workspace, delivery_id),
        )
        return None if row is None else _event_of(row)

    def insert(
        self,
        tx: Tx,
        workspace: str,
        key: str,
        delivery_id: str | None,
        payload: str | None,
        retained_until: Instant | None,
        now: Instant,
    ) -> int:
        """Store an event that nobody has accepted yet; gives its position, which only grows."""
        rows = tx.all(
            """INSERT INTO wake_event
                 (workspace, event_key, delivery_id, payload, retained_until, accepted, delivered_at)
               VALUES (?, ?, ?, ?, ?, 0, ?) RETURNING position""",
            (workspace, key, delivery_id, payload, retained_until, now),
        )
        return int(rows[0]["position"])

    def set_accepted(self, tx: Tx, position: int, accepted: int) -> None:
        """Note how many watches accepted an event."""
        tx.run("UPDATE wake_event SET accepted = ? WHERE position = ?", (accepted, position))

    def last_seen(self, tx: Rx, workspace: str, key: str, session: str | None) -> int:
        """The position of the last event of this key that fired a watch of this session; 0 if none did."""
        row = tx.one(
            """SELECT position FROM wake
               WHERE workspace = ? AND event_key = ? AND position IS NOT NULL
                 AND (session = ? OR (session IS NULL AND ? IS NULL))
               ORDER BY position DESC LIMIT 1""",
            (workspace, key, session, session),
        )
        return 0 if row is None else int(row["position"])

    def retained(self, tx: Rx, workspace: str, key: str, after: int, now: Instant) -> StoredEvent | None:
        """The first event of this key after a position that is still retained."""
        row = tx.one(
            """SELECT * FROM wake_event
               WHERE workspace = ? AND event_key = ? AND position > ? AND retained_until IS NOT NULL
                 AND retained_until > ?
               ORDER BY position LIMIT 1""",
            (workspace, key, after, now),
        )
        return None if row is None else _event_of(row)

    def delete_old(self, tx: Tx, before: Instant, now: Instant, limit: int) -> int:
        """Remove events delivered before an instant and no longer retained."""
        return tx.run(
            """DELETE FROM wake_event WHERE position IN (
                 SELECT position FROM wake_event
                 WHERE delivered_at < ? AND (retained_until IS NULL OR retained_until <= ?)
                 ORDER BY delivered_at, position LIMIT ?)""",
            (before, now, limit),
        )


def _event_of(row: sqlite3.Row) -> StoredEvent:
    return StoredEvent(
        row["position"], row["event_key"], row["payload"], row["retained_until"], row["accepted"]
    )
