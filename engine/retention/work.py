"""Which work orders may go, and removing them in bounded batches (E-84).

A work order goes whole or not at all. What it spent stays counted in the scopes that remain, as retired exposure:
a scope's counter is always the sum of the exposures recorded for it and of what is retired there.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from engine.actors import Actor
from engine.errors import ClockDistrusted, WrongState
from engine.instants import Instant
from engine.retention.belongings import BELONGINGS, references
from engine.scheduling.gates import awaits_a_look, time_is_trusted
from engine.storage import Rx, Subject, Tx

_WORK_ORDERS = "SELECT id FROM work_order WHERE ended_at < :before"


_OF_LIVE_GRANTS = """
SELECT approval.work_order_id AS id FROM standing_grant JOIN approval ON approval.id = standing_grant.made_from
  WHERE standing_grant.state = 'LIVE' AND approval.work_order_id IN ({orders})
UNION SELECT grant_use.work_order_id FROM grant_use JOIN standing_grant ON standing_grant.id = grant_use.grant_id
  WHERE standing_grant.state = 'LIVE' AND grant_use.work_order_id IN ({orders})"""
"""A grant names what it was made from and used for, and does not refer to it."""


class Kept(StrEnum):
    """Why work that ended long enough ago stays. REFERRED: rows of something else refer to it."""

    UNKNOWN = "UNKNOWN"
    UNSETTLED = "UNSETTLED"
    HELD = "HELD"
    LOCKED = "LOCKED"
    REPLANNED = "REPLANNED"
    REFERRED = "REFERRED"


KEPT_WORDS: Mapping[Kept, str] = {
    Kept.UNKNOWN: "an attempt is UNKNOWN",
    Kept.UNSETTLED: "an attempt is not settled",
    Kept.HELD: "a hold on it is in force",
    Kept.LOCKED: "something of it may still write into its workspace",
    Kept.REPLANNED: "it was replanned, and the other work order stays",
    Kept.REFERRED: "something that stays refers to it",
}


@dataclass(frozen=True, slots=True)
class Removed:
    """What a batch removed: work orders, their attempts, and rows of all tables."""

    orders: int
    attempts: int
    rows: int


def kept_orders(rx: Rx, before: Instant) -> dict[str, Kept]:
    """Of the work orders that ended before ``before``, those that stay, with why."""
    own = _kept_by_itself(rx, _WORK_ORDERS, {"before": before})
    return _with_replanned(rx, own, {row["id"] for row in rx.all(_WORK_ORDERS, {"before": before})})


def ended_orders(rx: Rx, before: Instant) -> list[sqlite3.Row]:
    """``id``, ``number`` and ``ended_at`` of every work order that ended before ``before``, oldest first."""
    return rx.all(
        "SELECT id, number, ended_at FROM work_order WHERE ended_at < ? ORDER BY ended_at, id", (before,)
    )


def files_of(rx: Rx, orders: Collection[str]) -> tuple[int, int]:
    """How many kept files only ``orders`` refer to, and their bytes."""
    rows = rx.all(
        """SELECT evidence_blob.sha256, evidence_blob.size, attempt.work_order_id FROM evidence_blob
             JOIN evidence ON evidence.id = evidence_blob.evidence_id
             JOIN attempt ON attempt.id = evidence.attempt_id
           UNION ALL SELECT decision_proof.sha256, decision_proof.size, decision.work_order_id FROM decision_proof
             JOIN decision ON decision.id = decision_proof.decision_id"""
    )
    needed = {row["sha256"] for row in rows if row["work_order_id"] not in orders}
    loose = {row["sha256"]: row["size"] for row in rows if row["sha256"] not in needed}
    return len(loose), sum(loose.values())


def remove_orders(tx: Tx, orders: Sequence[str], age_ms: int, actor: Actor, *, now: Instant) -> Removed:
    """Remove those of ``orders`` that ended more than ``age_ms`` ago and that nothing keeps; the rest stays.

    Everything is judged anew here. Raises as `require_may_judge` does.
    """
    require_may_judge(tx)
    going = _removable(tx, orders, now - age_ms)
    if not going:
        return Removed(0, 0, 0)
    values = {f"o{number}": order for number, order in enumerate(going)}
    chosen = ", ".join(f":{name}" for name in values)
    told = tx.all(
        f"""SELECT id, number, title, state, ended_at,
              (SELECT count(*) FROM attempt WHERE attempt.work_order_id = work_order.id) AS attempts
            FROM work_order WHERE id IN ({chosen}) ORDER BY number""",
        values,
    )
    scopes = [
        row["scope_id"] for row in tx.all(f"SELECT scope_id FROM work_order WHERE id IN ({chosen})", values)
    ]
    _retire_exposure(tx, chosen, values)
    tx.boundary("retention.retired")
    rows = _delete(tx, chosen, values, scopes)
    for row in told:
        tx.journal(
            "work_order.removed",
            Subject("work_order", row["id"]),
            actor,
            now,
            work_order_id=row["id"],
            detail={name: row[name] for name in ("number", "title", "state", "ended_at", "attempts")},
        )
    tx.boundary("retention.work")
    return Removed(len(told), sum(row["attempts"] for row in told), rows)


def require_may_judge(tx: Tx) -> None:
    """Raise unless ages can be told (`ClockDistrusted`, E-32) and a restore was looked at (`WrongState`)."""
    if not time_is_trusted(tx):
        raise ClockDistrusted(
            "The clock is distrusted, so nobody can say how old anything is.",
            means="Nothing more was removed.",
            do="Restore the trust in the clock first.",
            gate="clock",
        )
    if awaits_a_look(tx):
        raise WrongState(
            "The data was restored, and nobody has looked at it yet.",
            means="Nothing more was removed.",
            do="Look at what the restore left, then let work begin again.",
            found="RESTORE",
        )


def _removable(rx: Rx, orders: Sequence[str], before: Instant) -> list[str]:
    """Those of ``orders`` that may go, judged together with what they were replanned from and as."""
    linked = _linked(rx, orders)
    values: dict[str, object] = {f"o{number}": order for number, order in enumerate(linked)}
    chosen = ", ".join(f":{name}" for name in values)
    if not linked:
        return []
    old = {
        row["id"]
        for row in rx.all(
            f"SELECT id FROM work_order WHERE id IN ({chosen}) AND ended_at < :before",
            {**values, "before": before},
        )
    }
    kept = _with_replanned(rx, _kept_by_itself(rx, chosen, values), old, linked)
    return [order for order in orders if order in old and order not in kept]


def _kept_by_itself(rx: Rx, chosen: str, values: Mapping[str, object]) -> dict[str, Kept]:
    """Why each of the chosen orders stays, replanning left aside. ``chosen`` is what stands in an IN ( … )."""
    found: dict[str, Kept] = {}
    for reference in references(rx):
        for row in rx.all(reference.sql(chosen), values):
            locks = reference.child == "lane_lock"
            found[row["id"]] = Kept.LOCKED if locks else Kept.REFERRED
    found |= {row["id"]: Kept.REFERRED for row in rx.all(_OF_LIVE_GRANTS.format(orders=chosen), values)}
    node = f"""SELECT work_order.id FROM work_order JOIN hold ON hold.released_at IS NULL
                 AND hold.node_kind = '{{kind}}' AND hold.node_id = {{column}}
               WHERE work_order.id IN ({chosen})"""
    for kind, column in (("WORK_ORDER", "work_order.id"), ("SCOPE", "work_order.scope_id")):
        found |= {row["id"]: Kept.HELD for row in rx.all(node.format(kind=kind, column=column), values)}
    held = rx.all(
        f"""SELECT DISTINCT task.work_order_id AS id FROM hold JOIN task ON task.id = hold.node_id
            WHERE hold.released_at IS NULL AND hold.node_kind = 'TASK' AND task.work_order_id IN ({chosen})""",
        values,
    )
    found |= {row["id"]: Kept.HELD for row in held}
    unfinished = rx.all(
        f"""SELECT work_order_id AS id FROM attempt
              WHERE work_order_id IN ({chosen}) AND state NOT IN ('SETTLED', 'VOIDED', 'UNKNOWN')
            UNION SELECT attempt.work_order_id FROM exposure JOIN attempt ON attempt.id = exposure.attempt_id
              WHERE attempt.work_order_id IN ({chosen}) AND exposure.state NOT IN ('SPENT', 'RELEASED')
            UNION SELECT work_order_id FROM task
              WHERE work_order_id IN ({chosen}) AND state IN ('WAITING', 'READY', 'CLAIMED', 'DISPATCHED')
            UNION SELECT work_order_id FROM approval
              WHERE work_order_id IN ({chosen}) AND state IN ('PENDING', 'APPROVED')""",
        values,
    )
    found |= {row["id"]: Kept.UNSETTLED for row in unfinished}
    unknown = rx.all(
        f"SELECT DISTINCT work_order_id AS id FROM attempt WHERE work_order_id IN ({chosen}) AND state = 'UNKNOWN'",
        values,
    )
    return found | {row["id"]: Kept.UNKNOWN for row in unknown}


def _links(rx: Rx) -> dict[str, set[str]]:
    """Which work orders are tied by a replanning, both ways."""
    ties: dict[str, set[str]] = {}
    for row in rx.all("SELECT work_order_id AS id, detail FROM decision WHERE kind = 'replanned'"):
        other = str(json.loads(row["detail"]).get("work_order", ""))
        ties.setdefault(row["id"], set()).add(other)
        ties.setdefault(other, set()).add(row["id"])
    return ties


def _linked(rx: Rx, orders: Iterable[str]) -> list[str]:
    return sorted(_reached(_links(rx), orders))


def _reached(ties: Mapping[str, set[str]], start: Iterable[str]) -> set[str]:
    found, ahead = set(start), list(start)
    while ahead:
        new = ties.get(ahead.pop(), set()) - found
        found |= new
        ahead += new
    return found


def _with_replanned(
    rx: Rx, kept: dict[str, Kept], old: set[str], among: Collection[str] | None = None
) -> dict[str, Kept]:
    """Add those that are tied to one that stays: because it is kept, or because it is not old yet.

    ``among`` are the only ones that matter, with all that they are tied to; None: every one.
    """
    ties = _links(rx)
    tied = ties.keys() if among is None else ties.keys() & set(among)
    staying = {one for one in tied if one in kept or (one not in old and _is_there(rx, one))}
    return {one: Kept.REPLANNED for one in _reached(ties, staying) if one in old} | kept


def _is_there(rx: Rx, order: str) -> bool:
    return rx.one("SELECT 1 FROM work_order WHERE id = ?", (order,)) is not None


def _retire_exposure(tx: Tx, chosen: str, values: Mapping[str, object]) -> None:
    """Keep what the attempts spent in the scopes that remain."""
    tx.run(
        f"""INSERT INTO retired_exposure(scope_id, partition, attempts, cost, active_ms)
            SELECT exposure.scope_id, exposure.partition, count(*), sum(exposure.cost), sum(exposure.active_ms)
            FROM exposure JOIN attempt ON attempt.id = exposure.attempt_id
            WHERE attempt.work_order_id IN ({chosen}) AND exposure.state = 'SPENT'
              AND exposure.scope_id NOT IN (SELECT scope_id FROM work_order WHERE id IN ({chosen}))
            GROUP BY exposure.scope_id, exposure.partition
            ON CONFLICT (scope_id, partition) DO UPDATE SET
              attempts = retired_exposure.attempts + excluded.attempts,
              cost = retired_exposure.cost + excluded.cost,
              active_ms = retired_exposure.active_ms + excluded.active_ms""",
        values,
    )


def _delete(tx: Tx, chosen: str, values: Mapping[str, object], scopes: Sequence[str]) -> int:
    """Remove the orders with everything that belongs to them; give how many rows went."""
    tx.run(
        f"""UPDATE task SET approval_id = NULL, source_task_id = NULL, source_attempt_id = NULL,
              source_validation_id = NULL WHERE work_order_id IN ({chosen})""",
        values,
    )
    tx.run(
        f"UPDATE approval SET previous_id = NULL, covered_by = NULL WHERE work_order_id IN ({chosen})", values
    )
    count = tx.run(
        f"""DELETE FROM hold WHERE node_kind = 'TASK'
              AND node_id IN (SELECT id FROM task WHERE work_order_id IN ({chosen}))
            OR node_kind = 'WORK_ORDER' AND node_id IN ({chosen})
            OR node_kind = 'SCOPE' AND node_id IN (SELECT scope_id FROM work_order WHERE id IN ({chosen}))""",
        values,
    )
    for one in BELONGINGS:
        if one.table != "scope":  # its orders are gone by then, and with them what names it
            count += tx.run(f"DELETE FROM {one.table} WHERE {one.where.format(orders=chosen)}", values)
    places = ", ".join("?" * len(scopes))
    return count + tx.run(f"DELETE FROM scope WHERE id IN ({places})", scopes)
