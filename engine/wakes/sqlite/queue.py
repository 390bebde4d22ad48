"""The SQL of wakes on their way: the claim, and every compare-and-set out of a state.

Every step is one guarded UPDATE … RETURNING; where it misses, the row was not as demanded, and nothing changed.
Whatever leaves or enters a lane calls `arm_lane`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from engine.actors import Actor
from engine.instants import Instant
from engine.storage import Rx, Tx
from engine.wakes.sqlite.lanes import ARMED_AT, arm_lane, clear_lane, free_lane, stop_lane
from engine.wakes.sqlite.rows import WAKE_COLUMNS, marks, wake_of
from engine.wakes.store import Claims
from engine.wakes.values import LaneRow, Waiting, Wake

SET_ASIDE = 100
"""How many wakes without a sink one claim sets aside, once it has found one."""

ANSWERED_LOOKED_AT = 1_000
"""Accepted events and answers that one claim looks at while the clock is distrusted."""

CLAIM = """
    UPDATE wake SET state = 'firing', armed_at = NULL, lease_until = :lease_until, holder = :holder,
      claim = claim + 1, attempts = attempts + 1,
      expired = CASE WHEN :by_time AND admitted_at IS NULL AND expires_at <= :now THEN 1 ELSE expired END,
      late_ms = CASE WHEN late_ms IS NOT NULL THEN late_ms
                     WHEN due_at > created_at THEN CASE WHEN :now > due_at THEN :now - due_at ELSE 0 END
                     WHEN :now > created_at THEN :now - created_at ELSE 0 END,
      admitted_at = coalesce(admitted_at, :now)
    WHERE seq IN ({seqs}) RETURNING {columns}"""

DUE_HEADS = """
    SELECT seq FROM wake WHERE armed_at IS NOT NULL AND armed_at <= :now AND kind IN ({kinds})
    ORDER BY armed_at, expired, seq LIMIT :limit"""

_FIRING = "id = ? AND state = 'firing' AND claim = ?"


class SqliteQueue:
    """`engine.wakes.store.Queue` over the data folder's database."""

    def claim(
        self,
        tx: Tx,
        kinds: Collection[str],
        holder: str,
        lease_until: Instant,
        limit: int,
        *,
        by_time: bool,
        now: Instant,
    ) -> Claims:
        """Take at most ``limit`` armed wakes whose time has come, one a lane, in one statement."""
        known = {f"kind{number}": kind for number, kind in enumerate(sorted(kinds))}
        values = {
            "now": now,
            "limit": limit,
            "by_time": by_time,
            "lease_until": lease_until,
            "holder": holder,
        }
        if by_time:
            set_aside = self._set_aside(tx, kinds, limit, now)
            seqs = DUE_HEADS.format(kinds=", ".join(f":{name}" for name in known))
            rows = tx.all(CLAIM.format(seqs=seqs, columns=WAKE_COLUMNS), {**values, **known})
        else:
            set_aside = []
            chosen = self._answered(tx, kinds, limit)
            seqs = ", ".join(map(str, chosen))
            rows = tx.all(CLAIM.format(seqs=seqs, columns=WAKE_COLUMNS), values) if chosen else []
        taken = sorted((wake_of(row) for row in rows), key=lambda wake: (wake.due_at or 0, wake.order))
        return Claims(tuple(taken), tuple(set_aside))

    def renew(self, tx: Tx, wake_id: str, claim: int, lease_until: Instant) -> bool:
        """Lengthen the lease of a claim; False if the claim is no longer the one."""
        return (
            tx.run(
                f"""UPDATE wake SET lease_until = CASE WHEN lease_until > ? THEN lease_until ELSE ? END
                WHERE {_FIRING}""",
                (lease_until, lease_until, wake_id, claim),
            )
            == 1
        )

    def finish(self, tx: Tx, wake_id: str, claim: int, now: Instant) -> Wake | None:
        """From firing under this claim to fired, or expired if it was the notice of that."""
        return _step(
            tx,
            f"""UPDATE wake SET state = CASE WHEN expired = 1 THEN 'expired' ELSE 'fired' END, lease_until = NULL,
                  holder = NULL, ended_at = ?
                WHERE {_FIRING} RETURNING {WAKE_COLUMNS}""",
            (now, wake_id, claim),
        )

    def retry(self, tx: Tx, wake_id: str, claim: int, error: str, not_before: Instant) -> Wake | None:
        """From firing under this claim back to pending, not to be claimed before an instant."""
        return _step(
            tx,
            f"""UPDATE wake SET state = 'pending', lease_until = NULL, holder = NULL, last_error = ?, not_before = ?,
                  armed_at = CASE WHEN lane IS NULL THEN CASE WHEN due_at > ? THEN due_at ELSE ? END END
                WHERE {_FIRING} RETURNING {WAKE_COLUMNS}""",
            (error, not_before, not_before, not_before, wake_id, claim),
        )

    def bury(self, tx: Tx, wake_id: str, claim: int, error: str, now: Instant) -> Wake | None:
        """From firing under this claim to dead; stops the lane if it was told to."""
        rows = tx.all(
            f"""UPDATE wake SET state = 'dead', lease_until = NULL, holder = NULL, last_error = ?, ended_at = ?
                WHERE {_FIRING} RETURNING {WAKE_COLUMNS}""",
            (error, now, wake_id, claim),
        )
        if not rows:
            return None
        wake = wake_of(rows[0])
        stop_lane(tx, wake.workspace, wake.lane, wake.id)
        arm_lane(tx, wake.workspace, wake.lane)
        return wake

    def call_off(self, tx: Tx, wake_id: str, claim: int, now: Instant) -> Wake | None:
        """From firing under this claim to cancelled."""
        return _step(
            tx,
            f"""UPDATE wake SET state = 'cancelled', lease_until = NULL, holder = NULL, ended_at = ?
                WHERE {_FIRING} RETURNING {WAKE_COLUMNS}""",
            (now, wake_id, claim),
        )

    def give_back(self, tx: Tx, wake_id: str, claim: int) -> Wake | None:
        """From firing under this claim back to pending, without using up an attempt."""
        return _step(
            tx,
            f"""UPDATE wake SET state = 'pending', lease_until = NULL, holder = NULL, attempts = attempts - 1,
                  not_before = coalesce(not_before, due_at), armed_at = CASE WHEN lane IS NULL THEN {ARMED_AT} END
                WHERE {_FIRING} RETURNING {WAKE_COLUMNS}""",
            (wake_id, claim),
        )

    def lapsed(
        self, tx: Rx, holder: str | None, running: Collection[str], limit: int, now: Instant
    ) -> tuple[Wake, ...]:
        """Firing wakes, not among ``running``, whose lease has ended, or that ``holder`` held."""
        where, value = ("lease_until <= ?", now) if holder is None else ("holder = ?", holder)
        rows = tx.all(
            f"""SELECT {WAKE_COLUMNS} FROM wake WHERE state = 'firing' AND {where} AND id NOT IN ({marks(running)})
                ORDER BY lease_until, seq LIMIT ?""",
            (value, *running, limit),
        )
        return tuple(wake_of(row) for row in rows)

    def expire(self, tx: Tx, limit: int, now: Instant) -> tuple[Wake, ...]:
        """Admit pending wakes whose deadline has come as expired: their notice queues from now on."""
        rows = tx.all(
            f"""UPDATE wake SET expired = 1, admitted_at = ?, not_before = ?, due_at = coalesce(due_at, ?),
                 armed_at = CASE WHEN waiting IS NOT NULL THEN NULL
                                 WHEN lane IS NULL OR armed_at IS NOT NULL THEN ? END
               WHERE seq IN (SELECT seq FROM wake
                 WHERE state = 'pending' AND admitted_at IS NULL AND expires_at IS NOT NULL AND series IS NULL
                   AND expires_at <= ?
                 ORDER BY expires_at, seq LIMIT ?)
               RETURNING {WAKE_COLUMNS}""",
            (now, now, now, now, now, limit),
        )
        return _queued(tx, rows)

    def accept_event(
        self, tx: Tx, workspace: str, key: str, payload: str, position: int, now: Instant, *, judge: bool
    ) -> tuple[Wake, ...]:
        """Store an event with every pending watch of it and queue them, in the order of their creation."""
        rows = tx.all(
            f"""UPDATE wake SET result = ?, position = ?, admitted_at = ?, due_at = ?,
                 armed_at = CASE WHEN waiting IS NULL AND lane IS NULL THEN ? END
               WHERE workspace = ? AND event_key = ? AND state = 'pending' AND trigger = 'on_event'
                 AND admitted_at IS NULL AND (NOT ? OR expires_at IS NULL OR expires_at > ?)
               RETURNING {WAKE_COLUMNS}""",
            (payload, position, now, now, now, workspace, key, judge, now),
        )
        return _queued(tx, rows)

    def accept_retained(self, tx: Tx, wake_id: str, payload: str, position: int, now: Instant) -> Wake | None:
        """Store a retained event with one pending watch and queue it."""
        return _step(
            tx,
            f"""UPDATE wake SET result = ?, position = ?, admitted_at = ?, due_at = ?,
                 armed_at = CASE WHEN lane IS NULL THEN ? END
               WHERE id = ? AND state = 'pending' AND trigger = 'on_event' AND admitted_at IS NULL
               RETURNING {WAKE_COLUMNS}""",
            (payload, position, now, now, now, wake_id),
        )

    def accept_answer(
        self, tx: Tx, wake_id: str, answer: str, actor: Actor, now: Instant, *, judge: bool
    ) -> Wake | None:
        """Store an answer with a pending approval and queue it; the deadline is judged in this statement."""
        return _step(
            tx,
            f"""UPDATE wake SET result = ?, answered_by_kind = ?, answered_by = ?, admitted_at = ?, due_at = ?,
                 armed_at = CASE WHEN waiting IS NULL AND lane IS NULL THEN ? END
               WHERE id = ? AND state = 'pending' AND trigger = 'on_approval' AND admitted_at IS NULL
                 AND (NOT ? OR expires_at > ?)
               RETURNING {WAKE_COLUMNS}""",
            (answer, actor.kind, actor.name, now, now, now, wake_id, judge, now),
        )

    def cancel(self, tx: Tx, wake_id: str, now: Instant) -> Wake | None:
        """From pending, with nothing accepted, to cancelled."""
        return _step(
            tx,
            f"""UPDATE wake SET state = 'cancelled', armed_at = NULL, waiting = NULL, ended_at = ?
               WHERE id = ? AND state = 'pending' AND expired = 0 AND (trigger = 'at' OR admitted_at IS NULL)
               RETURNING {WAKE_COLUMNS}""",
            (now, wake_id),
        )

    def release(self, tx: Tx, wake_id: str) -> Wake | None:
        """From dead back to pending with its attempts forgiven; its lane goes on.

        If its request key was given to a newer wake meanwhile, that one keeps it.
        """
        rows = tx.all(
            f"""UPDATE wake SET state = 'pending', ended_at = NULL, attempts = 0, not_before = due_at,
                 armed_at = CASE WHEN lane IS NULL THEN due_at END,
                 idempotency_key = CASE WHEN EXISTS (SELECT 1 FROM wake AS newer
                   WHERE newer.workspace = wake.workspace AND newer.idempotency_key = wake.idempotency_key
                     AND newer.state IN ('pending', 'firing')) THEN NULL ELSE idempotency_key END
               WHERE id = ? AND state = 'dead' RETURNING {WAKE_COLUMNS}""",
            (wake_id,),
        )
        return _freed(tx, rows)

    def drop(self, tx: Tx, wake_id: str, now: Instant) -> Wake | None:
        """From dead to cancelled; its lane goes on."""
        rows = tx.all(
            f"""UPDATE wake SET state = 'cancelled', ended_at = ? WHERE id = ? AND state = 'dead'
                RETURNING {WAKE_COLUMNS}""",
            (now, wake_id),
        )
        return _freed(tx, rows)

    def move(
        self,
        tx: Tx,
        wake_id: str,
        due_at: Instant,
        expires_at: Instant | None,
        missed: int,
        now: Instant,
    ) -> Wake:
        """Move a claimed occurrence to a later grid point; it stays claimed."""
        rows = tx.all(
            f"""UPDATE wake SET due_at = ?, expires_at = ?, missed = missed + ?,
                 late_ms = CASE WHEN ? > ? THEN ? - ? ELSE 0 END,
                 expired = CASE WHEN ? <= ? THEN 1 ELSE 0 END
               WHERE id = ? AND state = 'firing' RETURNING {WAKE_COLUMNS}""",
            (due_at, expires_at, missed, now, due_at, now, due_at, expires_at, now, wake_id),
        )
        return wake_of(rows[0])

    def put_back(self, tx: Tx, wake_id: str, waiting: Waiting | None) -> Wake:
        """From firing back to pending as if it had never been claimed, set aside if ``waiting`` says so."""
        wake = _step(
            tx,
            f"""UPDATE wake SET state = 'pending', lease_until = NULL, holder = NULL, attempts = attempts - 1,
                 admitted_at = NULL, late_ms = NULL, expired = 0, waiting = ?,
                 armed_at = CASE WHEN ? IS NULL AND lane IS NULL THEN due_at END
               WHERE id = ? AND state = 'firing' RETURNING {WAKE_COLUMNS}""",
            (waiting, waiting, wake_id),
        )
        assert wake is not None, "only a claimed wake is put back, by who claimed it"
        return wake

    def take_from_docket(self, tx: Tx, wake_id: str, missed: int, now: Instant) -> Wake | None:
        """Let an occurrence that a person decided about queue from now on, standing for so many others."""
        return _step(
            tx,
            f"""UPDATE wake SET waiting = NULL, missed = ?, admitted_at = ?, not_before = ?,
                 armed_at = CASE WHEN lane IS NULL THEN ? END
               WHERE id = ? AND state = 'pending' AND waiting = 'docket' RETURNING {WAKE_COLUMNS}""",
            (missed, now, now, now, wake_id),
        )

    def readmit(self, tx: Tx, kinds: Collection[str], limit: int) -> tuple[Wake, ...]:
        """Let wakes queue again that were set aside for want of a sink of these kinds."""
        if tx.one("SELECT 1 FROM wake WHERE waiting = 'no_sink' LIMIT 1") is None:
            return ()
        rows = tx.all(
            f"""UPDATE wake SET waiting = NULL, armed_at = CASE WHEN lane IS NULL THEN {ARMED_AT} END
                WHERE seq IN (SELECT seq FROM wake WHERE waiting = 'no_sink' AND kind IN ({marks(kinds)})
                  ORDER BY seq LIMIT ?)
                RETURNING {WAKE_COLUMNS}""",
            (*sorted(kinds), limit),
        )
        return _queued(tx, rows)

    def next_obligation(self, tx: Rx, running: Collection[str], *, claims: bool) -> Instant | None:
        """The earliest instant at which something is to be done: due, deadline, or lease end of others."""
        found = [
            *(
                tx.all(
                    "SELECT armed_at FROM wake WHERE armed_at IS NOT NULL ORDER BY armed_at, expired, seq LIMIT 1"
                )
                if claims
                else ()
            ),
            *tx.all(
                """SELECT expires_at FROM wake
                   WHERE state = 'pending' AND admitted_at IS NULL AND expires_at IS NOT NULL AND series IS NULL
                   ORDER BY expires_at, seq LIMIT 1"""
            ),
            *tx.all(
                f"""SELECT lease_until FROM wake WHERE state = 'firing' AND id NOT IN ({marks(running)})
                    ORDER BY lease_until, seq LIMIT 1""",
                tuple(running),
            ),
        ]
        return min((int(row[0]) for row in found), default=None)

    def set_lane(self, tx: Tx, workspace: str, lane: str, *, stop_on_failure: bool) -> None:
        """Tell a lane whether it stops when a wake of it dies; not stopping lets it go on."""
        tx.run(
            """INSERT INTO wake_lane (workspace, lane, stop_on_failure) VALUES (?, ?, ?)
               ON CONFLICT (workspace, lane) DO UPDATE SET stop_on_failure = excluded.stop_on_failure,
                 stopped_by = CASE WHEN excluded.stop_on_failure = 1 THEN wake_lane.stopped_by END""",
            (workspace, lane, int(stop_on_failure)),
        )
        arm_lane(tx, workspace, lane)

    def lanes(self, tx: Rx, workspace: str | None, limit: int) -> tuple[LaneRow, ...]:
        """Lanes that have something waiting or firing, or are stopped."""
        rows = tx.all(
            """SELECT workspace, lane, sum(waiting) AS waiting, max(firing) AS firing, max(stop) AS stop,
                 max(stopped_by) AS stopped_by
               FROM (SELECT workspace, lane, state = 'pending' AS waiting,
                       CASE state WHEN 'firing' THEN id END AS firing, 0 AS stop, NULL AS stopped_by
                     FROM wake WHERE state IN ('pending', 'firing') AND lane IS NOT NULL
                     UNION ALL
                     SELECT workspace, lane, 0, NULL, stop_on_failure, stopped_by FROM wake_lane) AS found
               WHERE ? IS NULL OR workspace = ?
               GROUP BY workspace, lane HAVING sum(waiting) > 0 OR max(firing) IS NOT NULL OR max(stop) > 0
               ORDER BY workspace, lane LIMIT ?""",
            (workspace, workspace, limit),
        )
        return tuple(
            LaneRow(
                row["workspace"],
                row["lane"],
                row["waiting"],
                row["firing"],
                bool(row["stop"]),
                row["stopped_by"],
            )
            for row in rows
        )

    def _set_aside(self, tx: Tx, kinds: Collection[str], limit: int, now: Instant) -> list[Wake]:
        """Take due wakes without a sink out of their lanes, so that what stands behind them goes on."""
        found: list[Wake] = []
        looked_at = limit
        while len(found) < SET_ASIDE:
            rows = tx.all(
                """SELECT seq, kind FROM wake WHERE armed_at IS NOT NULL AND armed_at <= ?
                   ORDER BY armed_at, expired, seq LIMIT ?""",
                (now, looked_at),
            )
            unknown = [row["seq"] for row in rows if row["kind"] not in kinds]
            if not unknown:
                break
            looked_at = max(limit, SET_ASIDE)
            rows = tx.all(
                f"""UPDATE wake SET armed_at = NULL, waiting = 'no_sink' WHERE seq IN ({marks(unknown)})
                    RETURNING {WAKE_COLUMNS}""",
                unknown,
            )
            found.extend(_queued(tx, rows))
        return found

    def _answered(self, tx: Tx, kinds: Collection[str], limit: int) -> list[int]:
        """Choose accepted events and answers without looking at the time; in lanes they pass what is timed."""
        chosen: list[int] = []
        lanes: set[tuple[str, str]] = set()
        rows = tx.all(
            f"""SELECT seq, workspace, lane FROM wake
                WHERE state = 'pending' AND trigger <> 'at' AND admitted_at IS NOT NULL AND expired = 0
                  AND attempts = 0 AND waiting IS NULL AND kind IN ({marks(kinds)})
                ORDER BY due_at, seq LIMIT ?""",
            (*sorted(kinds), ANSWERED_LOOKED_AT),
        )
        for row in rows:
            if len(chosen) >= limit:
                break
            lane = row["lane"]
            if lane is not None:
                if (row["workspace"], lane) in lanes or not clear_lane(tx, row["workspace"], lane):
                    continue
                lanes.add((row["workspace"], lane))
            chosen.append(row["seq"])
        return chosen


def _step(tx: Tx, sql: str, values: tuple[object, ...]) -> Wake | None:
    """Run a guarded step of one wake and arm its lane; None if it missed."""
    queued = _queued(tx, tx.all(sql, values))
    return queued[0] if queued else None


def _queued(tx: Tx, rows: list[sqlite3.Row]) -> tuple[Wake, ...]:
    """Arm the lanes of changed rows; gives the wakes in the order of their creation."""
    for workspace, lane in dict.fromkeys((row["workspace"], row["lane"]) for row in rows):
        arm_lane(tx, workspace, lane)
    return tuple(wake_of(row) for row in sorted(rows, key=lambda row: int(row["seq"])))


def _freed(tx: Tx, rows: list[sqlite3.Row]) -> Wake | None:
    """Let the lane go on that a wake had stopped by its death, and arm it."""
    for row in rows:
        free_lane(tx, row["workspace"], row["lane"], row["id"])
    queued = _queued(tx, rows)
    return queued[0] if queued else None
