"""The SQL of receipts."""

from __future__ import annotations

from engine.instants import Instant
from engine.storage import Rx, Tx
from engine.wakes.sqlite.rows import receipt_of
from engine.wakes.values import Receipt, ReceiptState

_KEY = "workspace = ? AND session = ? AND key = ?"


class SqliteReceipts:
    """`engine.wakes.store.ReceiptRows` over the data folder's database."""

    def get(self, tx: Rx, workspace: str, session: str, key: str) -> Receipt | None:
        """The receipt under this key."""
        row = tx.one(f"SELECT * FROM wake_receipt WHERE {_KEY}", (workspace, session, key))
        return None if row is None else receipt_of(row)

    def claim(
        self, tx: Tx, workspace: str, session: str, key: str, holder: str, lease_until: Instant, now: Instant
    ) -> Receipt:
        """Claim the key, new, free or lapsed: running under the next claim number. A result is never taken."""
        rows = tx.all(
            """INSERT INTO wake_receipt (workspace, session, key, state, claim, holder, lease_until, created_at)
               VALUES (?, ?, ?, 'running', 1, ?, ?, ?)
               ON CONFLICT (workspace, session, key) DO UPDATE SET state = 'running',
                 claim = wake_receipt.claim + 1, holder = excluded.holder, lease_until = excluded.lease_until,
                 ended_at = NULL
               WHERE wake_receipt.state <> 'done'
               RETURNING *""",
            (workspace, session, key, holder, lease_until, now),
        )
        return receipt_of(rows[0])

    def renew(self, tx: Tx, workspace: str, session: str, key: str, claim: int, lease_until: Instant) -> bool:
        """Lengthen the lease of a running claim; False if it is no longer the one."""
        return (
            tx.run(
                f"""UPDATE wake_receipt SET lease_until = CASE WHEN lease_until > ? THEN lease_until ELSE ? END
                WHERE {_KEY} AND state = 'running' AND claim = ?""",
                (lease_until, lease_until, workspace, session, key, claim),
            )
            == 1
        )

    def settle(
        self,
        tx: Tx,
        workspace: str,
        session: str,
        key: str,
        claim: int,
        state: ReceiptState,
        result: str | None,
        now: Instant,
    ) -> bool:
        """End a claim that is running or unknown; False if it is no longer the one. Never changes a result."""
        return (
            tx.run(
                f"""UPDATE wake_receipt SET state = ?, result = ?, lease_until = NULL, ended_at = ?
                WHERE {_KEY} AND state IN ('running', 'unknown') AND claim = ?""",
                (state, result, now, workspace, session, key, claim),
            )
            == 1
        )

    def lapse(self, tx: Tx, holder: str, now: Instant) -> int:
        """End the leases of everything a holder left running when its process died."""
        return tx.run(
            "UPDATE wake_receipt SET lease_until = ? WHERE holder = ? AND state = 'running' AND lease_until > ?",
            (now, holder, now),
        )

    def unknown(self, tx: Rx, workspace: str, limit: int) -> tuple[Receipt, ...]:
        """Receipts whose outcome nobody knows, oldest first."""
        rows = tx.all(
            "SELECT * FROM wake_receipt WHERE state = 'unknown' AND workspace = ? ORDER BY created_at LIMIT ?",
            (workspace, limit),
        )
        return tuple(receipt_of(row) for row in rows)

    def delete_ended(self, tx: Tx, before: Instant, limit: int) -> int:
        """Remove receipts that ended before an instant; running and unknown ones stay."""
        return tx.run(
            """DELETE FROM wake_receipt WHERE (workspace, session, key) IN (
                 SELECT workspace, session, key FROM wake_receipt
                 WHERE state IN ('done', 'free') AND ended_at < ? ORDER BY ended_at LIMIT ?)""",
            (before, limit),
        )
