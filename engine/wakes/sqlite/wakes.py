"""The SQL of wakes as rows: making, finding, listing, removing."""

from __future__ import annotations

from collections.abc import Collection

from engine.instants import LATEST, Instant
from engine.storage import Rx, Tx
from engine.wakes.sqlite.lanes import arm_lane
from engine.wakes.sqlite.rows import SUMMARY_COLUMNS, WAKE_COLUMNS, marks, summary_of, wake_of
from engine.wakes.values import OPEN, Gauges, NewWake, Trigger, Wake, WakeState, WakeSummary

_DUE = f"coalesce(due_at, {LATEST})"

_IS_OPEN = "state IN ('pending', 'firing', 'dead')"
"""Said once more in the words of an index, which then serves lists over all workspaces."""

_NAMES = (
    "kind",
    "workspace",
    "session",
    "lane",
    "event_key",
    "last_error",
    "id",
    "json_extract(intent, '$.title')",
)


class SqliteWakes:
    """`engine.wakes.store.WakeRows` over the data folder's database."""

    def insert(self, tx: Tx, new: NewWake) -> Wake:
        """Insert a pending wake and arm it or its lane; any constraint it breaks is an error (S-42)."""
        rows = tx.all(
            f"""INSERT INTO wake (id, workspace, session, trigger, kind, lane, intent, event_key, token_digest,
                  due_at, expires_at, armed_at, not_before, recurrence, series, idempotency_key, fingerprint, depth,
                  origin, created_by_kind, created_by, created_at)
                VALUES ({marks(range(22))}) RETURNING {WAKE_COLUMNS}""",
            (
                new.id,
                new.workspace,
                new.session,
                new.trigger,
                new.kind,
                new.lane,
                new.intent,
                new.event_key,
                new.token_digest,
                new.due_at,
                new.expires_at,
                (new.not_before or new.due_at) if new.lane is None else None,
                new.not_before,
                new.recurrence,
                new.series,
                new.idempotency_key,
                new.fingerprint,
                new.depth,
                new.origin,
                new.created_by.kind,
                new.created_by.name,
                new.created_at,
            ),
        )
        arm_lane(tx, new.workspace, new.lane)
        return wake_of(rows[0])

    def get(self, tx: Rx, wake_id: str) -> Wake | None:
        """The wake with this id."""
        row = tx.one(f"SELECT {WAKE_COLUMNS} FROM wake WHERE id = ?", (wake_id,))
        return None if row is None else wake_of(row)

    def by_token(self, tx: Rx, token_digest: str) -> Wake | None:
        """The approval whose present token has this digest."""
        row = tx.one(f"SELECT {WAKE_COLUMNS} FROM wake WHERE token_digest = ?", (token_digest,))
        return None if row is None else wake_of(row)

    def by_key(self, tx: Rx, workspace: str, key: str, since: Instant) -> tuple[Wake, str | None] | None:
        """The newest wake under a request key that is live or was created at ``since`` or later."""
        row = tx.one(
            f"""SELECT {WAKE_COLUMNS}, fingerprint FROM wake
               WHERE workspace = ? AND idempotency_key = ?
                 AND (created_at >= ? OR state IN ('pending', 'firing'))
               ORDER BY seq DESC LIMIT 1""",
            (workspace, key, since),
        )
        return None if row is None else (wake_of(row), row["fingerprint"])

    def pending_alike(self, tx: Rx, workspace: str, lane: str, kind: str, trigger: Trigger) -> Wake | None:
        """The first pending wake of this lane, kind and trigger."""
        row = tx.one(
            f"""SELECT {WAKE_COLUMNS} FROM wake
               WHERE workspace = ? AND state IN ('pending', 'firing') AND state = 'pending' AND lane = ?
                 AND kind = ? AND trigger = ?
               ORDER BY due_at, seq LIMIT 1""",
            (workspace, lane, kind, trigger),
        )
        return None if row is None else wake_of(row)

    def count_live(self, tx: Rx, workspace: str, most: int) -> int:
        """How many wakes of a workspace are pending or firing; counting stops at ``most``."""
        return _count(
            tx, "SELECT 1 FROM wake WHERE workspace = ? AND state IN ('pending', 'firing')", most, workspace
        )

    def count_by_callers(self, tx: Rx, workspace: str, since: Instant, most: int) -> int:
        """How many wakes callers made after ``since``; counting stops at ``most``."""
        return _count(
            tx,
            "SELECT 1 FROM wake WHERE workspace = ? AND origin = 'caller' AND created_at > ?",
            most,
            workspace,
            since,
        )

    def count_by_system(
        self, tx: Rx, workspace: str, lane: str | None, kind: str, since: Instant, most: int
    ) -> int:
        """How many wakes sinks and series made after ``since`` in a lane, or of a kind without one."""
        where = "kind = ? AND lane IS NULL" if lane is None else "lane = ? AND lane IS NOT NULL"
        return _count(
            tx,
            f"SELECT 1 FROM wake WHERE workspace = ? AND {where} AND origin <> 'caller' AND created_at > ?",
            most,
            workspace,
            kind if lane is None else lane,
            since,
        )

    def set_token(self, tx: Tx, wake_id: str, token_digest: str) -> bool:
        """Give an unanswered approval another token; whether it was still unanswered."""
        return (
            tx.run(
                """UPDATE wake SET token_digest = ?
               WHERE id = ? AND trigger = 'on_approval' AND state = 'pending' AND admitted_at IS NULL""",
                (token_digest, wake_id),
            )
            == 1
        )

    def list(
        self,
        tx: Rx,
        workspace: str | None,
        session: str | None,
        states: Collection[WakeState],
        after: tuple[Instant, int] | None,
        limit: int,
        *,
        text: str = "",
        due_before: Instant | None = None,
    ) -> tuple[WakeSummary, ...]:
        """A page of wakes by due time, then creation, after a place."""
        where, values = _named(workspace, text)
        if states:
            where.append(f"state IN ({marks(states)})")
            values += states
            if set(states) <= set(OPEN):
                where.append(_IS_OPEN)
        if session is not None:
            where.append("session = ?")
            values.append(session)
        if due_before is not None:
            where.append(f"{_DUE} < ?")
            values.append(due_before)
        if after is not None:
            # The first of the two is what an index of expressions can seek by.
            where += [f"{_DUE} >= ?", f"({_DUE}, seq) > (?, ?)"]
            values += [after[0], *after]
        rows = tx.all(
            f"SELECT {SUMMARY_COLUMNS} FROM wake WHERE {' AND '.join(where)} ORDER BY {_DUE}, seq LIMIT ?",
            (*values, limit),
        )
        return tuple(summary_of(row) for row in rows)

    def list_ended(
        self, tx: Rx, workspace: str | None, text: str, after: tuple[Instant, int] | None, limit: int
    ) -> tuple[WakeSummary, ...]:
        """A page of ended wakes, the latest end first, after a place."""
        where, values = _named(workspace, text)
        where.append("state IN ('fired', 'expired', 'cancelled')")
        if after is not None:
            where.append("(ended_at, seq) < (?, ?)")
            values += after
        rows = tx.all(
            f"""SELECT {SUMMARY_COLUMNS} FROM wake WHERE {" AND ".join(where)}
                ORDER BY ended_at DESC, seq DESC LIMIT ?""",
            (*values, limit),
        )
        return tuple(summary_of(row) for row in rows)

    def delete_ended(
        self, tx: Tx, before: Instant, created_before: Instant, keyed_before: Instant, limit: int
    ) -> int:
        """Remove wakes that ended before an instant, except recent ones that budgets or keys still need."""
        return tx.run(
            """DELETE FROM wake WHERE seq IN (
                 SELECT seq FROM wake
                 WHERE state IN ('fired', 'expired', 'cancelled') AND ended_at < ? AND created_at <= ?
                   AND (idempotency_key IS NULL OR created_at < ?)
                 ORDER BY ended_at, seq LIMIT ?)""",
            (before, created_before, keyed_before, limit),
        )

    def gauges(self, tx: Rx, now: Instant) -> Gauges:
        """Counts for the metrics."""
        armed = tx.one(
            "SELECT armed_at FROM wake WHERE armed_at IS NOT NULL ORDER BY armed_at, expired, seq LIMIT 1"
        )
        return Gauges(
            live=_number(tx, "SELECT count(*) FROM wake WHERE state IN ('pending', 'firing')"),
            dead=_number(tx, "SELECT count(*) FROM wake WHERE state = 'dead'"),
            waiting={
                row["waiting"]: row["number"]
                for row in tx.all(
                    "SELECT waiting, count(*) AS number FROM wake WHERE waiting IS NOT NULL GROUP BY waiting"
                )
            },
            lanes={
                (row["workspace"], row["lane"]): row["number"]
                for row in tx.all(
                    """SELECT workspace, lane, count(*) AS number FROM wake
                       WHERE state IN ('pending', 'firing') AND lane IS NOT NULL GROUP BY workspace, lane"""
                )
            },
            oldest_overdue_ms=0 if armed is None else max(0, now - armed["armed_at"]),
        )


def _named(workspace: str | None, text: str) -> tuple[list[str], list[object]]:
    """The conditions for a workspace, if one is given, and for ``text`` in what names a wake."""
    where: list[str] = ["true"]
    values: list[object] = []
    if workspace is not None:
        where.append("workspace = ?")
        values.append(workspace)
    if text.strip():
        escaped = "".join(f"!{letter}" if letter in "!%_" else letter for letter in text.strip().lower())
        where.append("(" + " OR ".join(f"lower({name}) LIKE ? ESCAPE '!'" for name in _NAMES) + ")")
        values += [f"%{escaped}%"] * len(_NAMES)
    return where, values


def _count(tx: Rx, sql: str, most: int, *values: object) -> int:
    return _number(tx, f"SELECT count(*) FROM ({sql} LIMIT ?)", *values, most)


def _number(tx: Rx, sql: str, *values: object) -> int:
    row = tx.one(sql, values)
    return 0 if row is None else int(row[0])
