"""Which rows of the journal may go, and compacting them in bounded batches (E-84).

A row stays as long as what it tells of is there: its work order, or the record that is its subject. So a receipt, the
history of what is open, and the order of approvals and restores stay whole. Restores stay for good.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from engine.actors import Actor
from engine.dispatch.restores import RESTORE_SUBJECT
from engine.instants import Instant
from engine.retention.belongings import BELONGINGS
from engine.retention.work import require_may_judge
from engine.storage import Rx, Tx
from engine.storage.checkpoints import CheckpointKey, remove_rows

MOST_RANGES = 100
"""How many stretches of rows one batch compacts: its statement names each of them."""

ROW_BYTES = 400
"""About what a row takes with its indexes, its detail apart."""

_SPECIAL = {
    "hold": "SELECT 1 FROM hold WHERE hold.id = journal.subject_id AND hold.released_at IS NULL",
    "grant": "SELECT 1 FROM standing_grant WHERE standing_grant.id = journal.subject_id AND state = 'LIVE'",
    "lane": "SELECT 1 FROM lane_lock WHERE lane_lock.lane = journal.subject_id",
    "worker": "SELECT 1 FROM worker WHERE FALSE",  # told anew at each start
}
"""Subjects that are called otherwise than their record, or that only count while they are in force."""


_REMOVABLE = """SELECT work_order.id FROM work_order WHERE work_order.ended_at < :work_before
  AND work_order.id NOT IN (SELECT value FROM json_each(:kept))"""


@dataclass(frozen=True, slots=True)
class Batch:
    """What came of one batch: how far it looked, how many rows went, and whether there is more to look at."""

    through: int
    rows: int
    more: bool


@dataclass(frozen=True, slots=True)
class OldRows:
    """Rows that are old enough: how many, how many of them may go and their bytes, the instants of both ends."""

    old: int
    going: int
    bytes: int
    oldest: Instant | None
    newest: Instant | None


def end_of_old_rows(rx: Rx, before: Instant, now: Instant) -> int:
    """The first row that is not older than ``before``; all rows from it on stay, whatever they say of their time.

    A row from a time when the clock was ahead does not count as young.
    """
    row = rx.one("SELECT min(sequence) AS first FROM journal WHERE at >= ? AND at <= ?", (before, now))
    head = rx.one("SELECT sequence FROM journal_head WHERE id = 1")
    first = None if row is None else row["first"]
    return int(first) if first is not None else 0 if head is None else int(head["sequence"])


def old_rows(
    rx: Rx, end: int, heads: frozenset[int], work_before: Instant | None, kept: Collection[str]
) -> OldRows:
    """Count the rows below ``end``, and of them those that may go.

    What tells of work orders that ended before ``work_before`` and are not ``kept`` goes with them.
    """
    values = {"end": end, "work_before": work_before, "kept": json.dumps(sorted(kept))}
    theirs = " OR ".join(
        f"journal.subject_kind = '{one.table}' AND journal.subject_id IN"
        f" (SELECT {one.table}.id FROM {one.table} WHERE {one.table}.{one.where.format(orders=_REMOVABLE)})"
        for one in BELONGINGS
        if one.has_id
    )
    goes = f"(NOT {_stays(rx)} OR journal.work_order_id IN ({_REMOVABLE}) OR {theirs})"
    row = rx.one(
        f"""SELECT count(going.at) AS going, coalesce(sum(going.size), 0) AS bytes, min(going.at) AS oldest,
              max(going.at) AS newest, (SELECT count(*) FROM journal WHERE sequence < :end) AS old
            FROM (SELECT at, {ROW_BYTES} + length(detail) AS size FROM journal
                  WHERE sequence < :end AND {goes}) AS going""",
        values,
    )
    assert row is not None
    staying = sum(
        rx.one(f"SELECT 1 FROM journal WHERE sequence = :head AND {goes}", {**values, "head": head})
        is not None
        for head in heads
        if head < end
    )
    return OldRows(row["old"], row["going"] - staying, row["bytes"], row["oldest"], row["newest"])


def compact_rows(
    tx: Tx,
    key: CheckpointKey,
    after: int,
    end: int,
    heads: frozenset[int],
    age_ms: int,
    limit: int,
    actor: Actor,
    *,
    now: Instant,
) -> Batch:
    """Compact of the next ``limit`` rows above ``after`` and below ``end`` those that may go.

    ``heads`` are rows that backups end with; they stay, so that a restore can tell where histories part.
    """
    require_may_judge(tx)
    rows = tx.all(
        f"""SELECT sequence, at < :before AND NOT {_stays(tx)} AS goes,
              (SELECT count(*) FROM journal_checkpoint WHERE statement = sequence) AS stated FROM journal
            WHERE sequence > :after AND sequence < :end ORDER BY sequence LIMIT :limit""",
        {"before": now - age_ms, "after": after, "end": end, "limit": limit},
    )
    going: list[int] = []
    through, ranges = after, 0
    for row in rows:
        if row["goes"] and row["sequence"] not in heads:
            ranges += row["stated"] + (not going or going[-1] != row["sequence"] - 1)
            if going and ranges > MOST_RANGES:
                break
            going.append(row["sequence"])
        through = row["sequence"]
    count = _compact(tx, key, going, actor, age_ms, now)
    return Batch(through, count, len(rows) == limit or through < (rows[-1]["sequence"] if rows else 0))


def _compact(
    tx: Tx, key: CheckpointKey, going: Sequence[int], actor: Actor, age_ms: int, now: Instant
) -> int:
    count = remove_rows(tx, key, going, actor, {"older_than_ms": age_ms}, now)
    tx.boundary("retention.journal")
    return count


def _stays(rx: Rx) -> str:
    """SQL that is true of a row that tells of something that is still there; every table with an id counts."""
    rows = rx.all(
        """SELECT m.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c
           WHERE m.type = 'table' AND c.name = 'id' AND c.type = 'TEXT' ORDER BY m.name"""
    )
    records = {
        row["name"]: f"SELECT 1 FROM {row['name']} WHERE {row['name']}.id = journal.subject_id"
        for row in rows
    }
    # The alarm clock calls the subjects of its tables by their short names.
    records |= {name.removeprefix("wake_"): sql for name, sql in records.items() if name.startswith("wake_")}
    records |= _SPECIAL
    cases = " ".join(f"WHEN '{name}' THEN EXISTS ({sql})" for name, sql in sorted(records.items()))
    return f"""(EXISTS (SELECT 1 FROM work_order WHERE work_order.id = journal.work_order_id)
      OR subject_kind = '{RESTORE_SUBJECT}'
      OR CASE subject_kind {cases} ELSE 0 END)"""
