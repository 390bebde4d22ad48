"""Reads of the journal: pages of rows, newest or oldest first."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass

from engine.actors import Actor, ActorKind
from engine.instants import Instant, require_batch
from engine.storage import Rx
from engine.views.values import JournalRow


@dataclass(frozen=True, slots=True)
class JournalFilter:
    """Which rows of the journal are wanted; what is empty or None does not matter.

    ``subject_kind`` and ``subject_id`` are one subject, ``groups`` the words before the dot of a kind ("approval"),
    ``actors`` kinds of actor, ``actor_name`` one of them by name. ``since`` is included, ``until`` is not.
    """

    subject_kind: str = ""
    subject_id: str = ""
    groups: tuple[str, ...] = ()
    actors: tuple[ActorKind, ...] = ()
    actor_name: str = ""
    since: Instant | None = None
    until: Instant | None = None

    def conditions(self) -> tuple[list[str], list[object]]:
        """The conditions in SQL, and their values."""
        where: list[str] = []
        values: list[object] = []
        for condition, value in (
            ("subject_kind = ?", self.subject_kind or None),
            ("subject_id = ?", self.subject_id or None),
            ("actor_name = ?", self.actor_name or None),
            ("at >= ?", self.since),
            ("at < ?", self.until),
        ):
            if value is not None:
                where.append(condition)
                values.append(value)
        if self.groups:
            # A range and not a pattern: no character of the group has a meaning of its own.
            where.append(f"({' OR '.join('(kind >= ? AND kind < ?)' for _ in self.groups)})")
            values += [edge for group in self.groups for edge in (f"{group}.", f"{group}/")]
        if self.actors:
            where.append(f"actor_kind IN ({', '.join('?' for _ in self.actors)})")
            values += self.actors
        return where, values


ALL = JournalFilter()
"""Every row."""


def journal(
    rx: Rx,
    after: int,
    before: int | None,
    limit: int,
    work_order_id: str | None,
    only: JournalFilter = ALL,
) -> tuple[JournalRow, ...]:
    """At most ``limit`` rows: the newest below ``before`` if that is given, else the oldest above ``after``.

    Rows come in ascending order of their sequence either way.
    """
    require_batch(limit)
    more, given = only.conditions()
    where = ["sequence > ?", *more]
    values: list[object] = [after, *given]
    if work_order_id is not None:
        where.append("work_order_id = ?")
        values.append(work_order_id)
    if before is not None:
        where.append("sequence < ?")
        values.append(before)
    order = "DESC" if before is not None else "ASC"
    rows = rx.all(
        f"SELECT * FROM journal WHERE {' AND '.join(where)} ORDER BY sequence {order} LIMIT ?",
        (*values, limit),
    )
    shown = [_row(row) for row in rows]
    return tuple(reversed(shown) if before is not None else shown)


def journal_of_work_order(rx: Rx, work_order_id: str, limit: int) -> tuple[JournalRow, ...]:
    """The newest ``limit`` rows about one work order, in ascending order."""
    rows = rx.all(
        "SELECT * FROM journal WHERE work_order_id = ? ORDER BY sequence DESC LIMIT ?", (work_order_id, limit)
    )
    return tuple(_row(row) for row in reversed(rows))


def last_sequence(rx: Rx) -> int:
    """The sequence of the newest row, 0 in an empty journal."""
    row = rx.one("SELECT max(sequence) AS last FROM journal")
    return (row["last"] if row else None) or 0


def _row(row: sqlite3.Row) -> JournalRow:
    return JournalRow(
        sequence=row["sequence"],
        at=row["at"],
        epoch=row["epoch"],
        actor=Actor(ActorKind(row["actor_kind"]), row["actor_name"]),
        subject_kind=row["subject_kind"],
        subject_id=row["subject_id"],
        work_order_id=row["work_order_id"],
        kind=row["kind"],
        detail=json.loads(row["detail"]),
    )
