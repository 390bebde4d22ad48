"""What belongs to a work order, table by table, and what else refers to it.

Both are asked of the database itself: a table that this module does not know, added by another part of the
program, keeps every work order that its rows refer to.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.storage import Rx

_OF_TASK = "task_id IN (SELECT id FROM task WHERE work_order_id IN ({orders}))"
_OF_ATTEMPT = "attempt_id IN (SELECT id FROM attempt WHERE work_order_id IN ({orders}))"
_OF_SCOPE = "IN (SELECT scope_id FROM work_order WHERE id IN ({orders}))"
_OF_EVIDENCE = (
    "evidence_id IN (SELECT evidence.id FROM evidence JOIN attempt ON attempt.id = evidence.attempt_id"
    " WHERE attempt.work_order_id IN ({orders}))"
)
_OF_DECISION = "decision_id IN (SELECT id FROM decision WHERE work_order_id IN ({orders}))"

_ATTEMPTS_ORDER = "(SELECT work_order_id FROM attempt WHERE attempt.id = {table}.attempt_id)"


_WITHOUT_ID = frozenset({"decision_proof", "evidence_blob", "exposure", "scope_partition", "scope_path"})


@dataclass(frozen=True, slots=True)
class Belonging:
    """A table whose rows belong to work orders: which do, and to which order a row belongs."""

    table: str
    where: str
    order: str

    @property
    def has_id(self) -> bool:
        """Whether a row has an identity of its own, by which the journal may name it."""
        return self.table not in _WITHOUT_ID


BELONGINGS = (
    Belonging("handoff", "work_order_id IN ({orders})", "{table}.work_order_id"),
    Belonging(
        "decision_proof",
        _OF_DECISION,
        "(SELECT work_order_id FROM decision WHERE decision.id = {table}.decision_id)",
    ),
    Belonging("decision", "work_order_id IN ({orders})", "{table}.work_order_id"),
    Belonging("validation", "work_order_id IN ({orders})", "{table}.work_order_id"),
    Belonging(
        "evidence_blob",
        _OF_EVIDENCE,
        "(SELECT attempt.work_order_id FROM evidence JOIN attempt ON attempt.id = evidence.attempt_id"
        " WHERE evidence.id = {table}.evidence_id)",
    ),
    Belonging("evidence", _OF_ATTEMPT, _ATTEMPTS_ORDER),
    Belonging("delivery", _OF_ATTEMPT, _ATTEMPTS_ORDER),
    Belonging("intent", _OF_ATTEMPT, _ATTEMPTS_ORDER),
    Belonging("exposure", _OF_ATTEMPT, _ATTEMPTS_ORDER),
    Belonging("attempt", "work_order_id IN ({orders})", "{table}.work_order_id"),
    Belonging("approval", "work_order_id IN ({orders})", "{table}.work_order_id"),
    Belonging("claim", _OF_TASK, "(SELECT work_order_id FROM task WHERE task.id = {table}.task_id)"),
    Belonging("task", "work_order_id IN ({orders})", "{table}.work_order_id"),
    Belonging(
        "scope_partition",
        f"scope_id {_OF_SCOPE}",
        "(SELECT id FROM work_order WHERE scope_id = {table}.scope_id)",
    ),
    Belonging(
        "scope_path", f"scope_id {_OF_SCOPE}", "(SELECT id FROM work_order WHERE scope_id = {table}.scope_id)"
    ),
    Belonging("work_order", "id IN ({orders})", "{table}.id"),
    Belonging("scope", f"id {_OF_SCOPE}", "(SELECT id FROM work_order WHERE scope_id = {table}.id)"),
)
"""In the order in which rows can be removed once their circles of references are cut."""

_BY_TABLE = {one.table: one for one in BELONGINGS}


@dataclass(frozen=True, slots=True)
class Reference:
    """A column of a table that refers to a row of another."""

    child: str
    column: str
    parent: str
    key: str

    def sql(self, orders: str) -> str:
        """The work orders among ``orders`` to which rows of others refer, as ``id`` and the table that refers."""
        parent = _BY_TABLE[self.parent]
        own = parent.order.format(table="parent")
        child = _BY_TABLE.get(self.child)
        others = "" if child is None else f" AND coalesce({child.order.format(table='child')}, '') <> {own}"
        where = parent.where.format(orders=orders)
        return (
            f"SELECT DISTINCT {own} AS id, '{self.child}' AS referrer FROM {self.parent} AS parent"
            f" JOIN {self.child} AS child ON child.{self.column} = parent.{self.key} WHERE parent.{where}{others}"
        )


def references(rx: Rx) -> tuple[Reference, ...]:
    """Every reference of this schema to what belongs to work orders."""
    rows = rx.all(
        """SELECT m.name AS child, f."from" AS "column", f."table" AS parent, coalesce(f."to", 'id') AS "key"
           FROM sqlite_master AS m JOIN pragma_foreign_key_list(m.name) AS f WHERE m.type = 'table'
           ORDER BY m.name, f.id, f.seq"""
    )
    found = (Reference(row["child"], row["column"], row["parent"], row["key"]) for row in rows)
    return tuple(one for one in found if one.parent in _BY_TABLE)
