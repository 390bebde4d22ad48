"""Firing without a drive: for a host that carries the effects of due wakes out in the very same transaction.

Nothing can come between taking such a wake and its end, so it needs no lease, no claim and no second commit, and
a whole batch is one statement. A runner and a host may take from the same kind: each wake goes to one of them.
"""

from __future__ import annotations

from engine.instants import Instant
from engine.storage import Tx
from engine.wakes.sqlite.rows import WAKE_COLUMNS, wake_of
from engine.wakes.values import Wake

DUE = """
    SELECT seq FROM wake
    WHERE armed_at IS NOT NULL AND armed_at <= :now AND kind = :kind AND lane IS NULL AND series IS NULL
    ORDER BY armed_at, expired, seq LIMIT :limit"""


def fire_at_once(tx: Tx, kind: str, limit: int, *, now: Instant) -> tuple[Wake, ...]:
    """Mark at most ``limit`` due wakes of a kind as fired, the earliest first, and give them in that order.

    Only wakes without a lane and without a series are taken: those need the runner's care.
    """
    rows = tx.all(
        f"""UPDATE wake SET state = 'fired', armed_at = NULL, claim = claim + 1, attempts = attempts + 1,
              late_ms = coalesce(late_ms, CASE WHEN :now > due_at THEN :now - due_at ELSE 0 END),
              admitted_at = coalesce(admitted_at, :now), ended_at = :now
            WHERE seq IN ({DUE}) RETURNING {WAKE_COLUMNS}""",
        {"now": now, "kind": kind, "limit": limit},
    )
    return tuple(sorted(map(wake_of, rows), key=lambda wake: (wake.due_at or 0, wake.order)))
