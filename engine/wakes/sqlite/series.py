"""The SQL of series and of the docket."""

from __future__ import annotations

from collections.abc import Collection

from engine.actors import Actor
from engine.instants import Instant
from engine.storage import Rx, Tx
from engine.wakes.sqlite.rows import WAKE_COLUMNS, docket_of, marks, series_of, wake_of
from engine.wakes.values import CatchUp, DocketRow, Series, SeriesState, Wake


class SqliteSeries:
    """`engine.wakes.store.SeriesRows` over the data folder's database."""

    def insert(self, tx: Tx, series: Series) -> None:
        """Insert a series."""
        tx.run(
            f"""INSERT INTO wake_series (id, workspace, session, kind, lane, intent, rule, catch_up, catch_up_most,
                  grace_ms, until, count, expires_in, state, error, booked_to, booked, skipped, depth,
                  idempotency_key, fingerprint, created_by_kind, created_by, created_at, ended_at)
                VALUES ({marks(range(25))})""",
            (
                series.id,
                series.workspace,
                series.session,
                series.kind,
                series.lane,
                series.intent,
                series.rule,
                series.catch_up,
                series.catch_up_most,
                series.grace_ms,
                series.until,
                series.count,
                series.expires_in,
                series.state,
                series.error,
                series.booked_to,
                series.booked,
                series.skipped,
                series.depth,
                series.idempotency_key,
                series.fingerprint,
                series.created_by.kind,
                series.created_by.name,
                series.created_at,
                series.ended_at,
            ),
        )

    def get(self, tx: Rx, series_id: str) -> Series | None:
        """The series with this id."""
        row = tx.one("SELECT * FROM wake_series WHERE id = ?", (series_id,))
        return None if row is None else series_of(row)

    def by_key(self, tx: Rx, workspace: str, key: str, since: Instant) -> Series | None:
        """The newest series under a request key that lives or was created at ``since`` or later."""
        row = tx.one(
            """SELECT * FROM wake_series
               WHERE workspace = ? AND idempotency_key = ?
                 AND (created_at >= ? OR state IN ('active', 'paused', 'broken'))
               ORDER BY created_at DESC, id DESC LIMIT 1""",
            (workspace, key, since),
        )
        return None if row is None else series_of(row)

    def save(self, tx: Tx, series: Series) -> None:
        """Write back everything of a series that can change."""
        tx.run(
            """UPDATE wake_series SET kind = ?, lane = ?, intent = ?, rule = ?, catch_up = ?, catch_up_most = ?,
                 grace_ms = ?, until = ?, count = ?, expires_in = ?, state = ?, error = ?, booked_to = ?, booked = ?,
                 skipped = ?, ended_at = ?
               WHERE id = ?""",
            (
                series.kind,
                series.lane,
                series.intent,
                series.rule,
                series.catch_up,
                series.catch_up_most,
                series.grace_ms,
                series.until,
                series.count,
                series.expires_in,
                series.state,
                series.error,
                series.booked_to,
                series.booked,
                series.skipped,
                series.ended_at,
                series.id,
            ),
        )

    def live_occurrence(self, tx: Rx, series_id: str) -> Wake | None:
        """The newest pending or firing wake of a series that is not in the docket."""
        row = tx.one(
            f"""SELECT {WAKE_COLUMNS} FROM wake
               WHERE series = ? AND state IN ('pending', 'firing') AND (waiting IS NULL OR waiting <> 'docket')
               ORDER BY seq DESC LIMIT 1""",
            (series_id,),
        )
        return None if row is None else wake_of(row)

    def last_occurrence(self, tx: Rx, series_id: str) -> Wake | None:
        """The newest wake of a series, whatever its state."""
        row = tx.one(
            f"SELECT {WAKE_COLUMNS} FROM wake WHERE series = ? ORDER BY seq DESC LIMIT 1", (series_id,)
        )
        return None if row is None else wake_of(row)

    def docketed(self, tx: Rx, series_id: str) -> tuple[Wake, ...]:
        """The wakes of a series that are in the docket."""
        rows = tx.all(
            f"SELECT {WAKE_COLUMNS} FROM wake WHERE series = ? AND waiting = 'docket' ORDER BY seq",
            (series_id,),
        )
        return tuple(wake_of(row) for row in rows)

    def broken(self, tx: Rx, limit: int) -> tuple[Series, ...]:
        """Broken series."""
        rows = tx.all("SELECT * FROM wake_series WHERE state = 'broken' ORDER BY id LIMIT ?", (limit,))
        return tuple(series_of(row) for row in rows)

    def list(
        self, tx: Rx, workspace: str | None, states: Collection[SeriesState], after: str | None, limit: int
    ) -> tuple[Series, ...]:
        """A page of series, oldest first, after the one with the id ``after``; without a workspace, of all."""
        where: list[str] = ["true"]
        values: list[str] = list(states)
        if states:
            where.append(f"state IN ({marks(states)})")
        if workspace is not None:
            where.append("workspace = ?")
            values.append(workspace)
        if after is not None:
            where.append("(created_at, id) > (SELECT created_at, id FROM wake_series WHERE id = ?)")
            values.append(after)
        rows = tx.all(
            f"SELECT * FROM wake_series WHERE {' AND '.join(where)} ORDER BY created_at, id LIMIT ?",
            (*values, limit),
        )
        return tuple(series_of(row) for row in rows)

    def open_docket(self, tx: Tx, row: DocketRow) -> None:
        """Put missed occurrences into the docket."""
        tx.run(
            """INSERT INTO wake_docket (id, wake_id, series, workspace, first_missed, last_missed, missed, opened_at)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
            (
                row.id,
                row.wake_id,
                row.series,
                row.workspace,
                row.first_missed,
                row.last_missed,
                row.missed,
                row.opened_at,
            ),
        )

    def docket(self, tx: Rx, workspace: str | None, limit: int) -> tuple[DocketRow, ...]:
        """What waits for a decision, oldest first."""
        rows = tx.all(
            """SELECT * FROM wake_docket WHERE decided_at IS NULL AND (? IS NULL OR workspace = ?)
               ORDER BY opened_at, id LIMIT ?""",
            (workspace, workspace, limit),
        )
        return tuple(docket_of(row) for row in rows)

    def docket_row(self, tx: Rx, docket_id: str) -> DocketRow | None:
        """One docket row, decided or not."""
        row = tx.one("SELECT * FROM wake_docket WHERE id = ?", (docket_id,))
        return None if row is None else docket_of(row)

    def decide_docket(
        self, tx: Tx, wake_id: str, decision: CatchUp, actor: Actor, reason: str, now: Instant
    ) -> bool:
        """Record the decision on the open row of a wake; False if there is none."""
        return (
            tx.run(
                """UPDATE wake_docket SET decided_at = ?, decision = ?, decided_by_kind = ?, decided_by = ?, reason = ?
               WHERE wake_id = ? AND decided_at IS NULL""",
                (now, decision, actor.kind, actor.name, reason, wake_id),
            )
            == 1
        )

    def delete_ended(self, tx: Tx, before: Instant, keyed_before: Instant, limit: int) -> int:
        """Remove series that ended before an instant and have no wakes left, with their docket rows."""
        ended = [
            row["id"]
            for row in tx.all(
                """SELECT id FROM wake_series
                   WHERE ended_at IS NOT NULL AND ended_at < ? AND (idempotency_key IS NULL OR created_at < ?)
                     AND NOT EXISTS (SELECT 1 FROM wake WHERE wake.series = wake_series.id)
                   ORDER BY ended_at, id LIMIT ?""",
                (before, keyed_before, limit),
            )
        ]
        tx.run("DELETE FROM wake_docket WHERE decided_at < ? AND decided_at IS NOT NULL", (before,))
        tx.run(f"DELETE FROM wake_docket WHERE series IN ({marks(ended)})", ended)
        return tx.run(f"DELETE FROM wake_series WHERE id IN ({marks(ended)})", ended)
