"""Holds: a reason why nothing new may start below a node (E-70).

A PAUSE ends by resume; a HOLD ends by an answer to its reason. Running work goes on under both.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from engine.actors import Actor
from engine.dispatch.approvals import require_reason
from engine.errors import InvalidValue, NotFound
from engine.ids import new_id
from engine.instants import Instant
from engine.scheduling.lanes import block_below, unblock_below
from engine.states import HoldKind, NodeKind
from engine.storage import Rx, Subject, Tx

ENGINE_NODE_ID = "engine"

BY_PERSON = (HoldKind.PAUSE, HoldKind.HOLD, HoldKind.OVERRUN)
"""The holds that resume may lift; CLOCK and RESTORE have their own ways out."""

_NODE_TABLES = {
    NodeKind.SCOPE: ("scope", "name"),
    NodeKind.WORK_ORDER: ("work_order", "title"),
    NodeKind.TASK: ("task", "purpose"),
}


@dataclass(frozen=True, slots=True)
class Node:
    """What a control command acts on: the engine, a scope, a work order or a task."""

    kind: NodeKind
    id: str = ENGINE_NODE_ID


WHOLE_ENGINE = Node(NodeKind.ENGINE)


def place_hold(
    tx: Tx, node: Node, kind: HoldKind, reason: str, actor: Actor, key: str | None = None, *, now: Instant
) -> sqlite3.Row:
    """Place a hold; one that is already there, or the same ``key`` again, returns what stands and changes nothing.

    `InvalidValue` for a key that another command, or the same for another node, has used.
    """
    require_node(tx, node)
    if kind is HoldKind.HOLD:
        require_reason(reason, "hold")
    standing = tx.one(
        "SELECT * FROM hold WHERE node_kind = ? AND node_id = ? AND kind = ? AND released_at IS NULL",
        (node.kind, node.id, kind),
    )
    done = _subject_of_key(tx, key, "hold")
    if done is not None:
        row = tx.one("SELECT * FROM hold WHERE id = ?", (done,))
        if row is None or (row["node_kind"], row["node_id"], row["kind"]) != (node.kind, node.id, kind):
            raise _key_used(key, "for another hold")
        return row
    if standing is not None:
        remember_key(tx, key, "hold", standing["id"], now)
        return standing
    hold_id = new_id(now)
    row = tx.one(
        """INSERT INTO hold(id, node_kind, node_id, kind, reason, actor_kind, actor, placed_at)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING *""",
        (hold_id, node.kind, node.id, kind, reason, actor.kind, actor.name, now),
    )
    assert row is not None
    remember_key(tx, key, "hold", hold_id, now)
    tx.journal(
        "hold.placed",
        Subject("hold", hold_id),
        actor,
        now,
        work_order_id=_work_order_of(tx, node),
        detail={"kind": kind, "node": [node.kind, node.id], "reason": reason},
    )
    if node.kind is not NodeKind.ENGINE:
        block_below(tx, node.kind, node.id, now)
    return row


def resume(
    tx: Tx, node: Node, actor: Actor, reason: str = "", key: str | None = None, *, now: Instant
) -> tuple[str, ...]:
    """Lift the pauses and holds that persons may lift on exactly this node; return their ids.

    A HOLD or OVERRUN needs ``reason``, the answer to why it was placed. Nothing to lift is no error.
    """
    require_node(tx, node)
    if was_done(tx, key, "resume", node):
        return ()
    rows = tx.all(
        f"""SELECT * FROM hold WHERE node_kind = ? AND node_id = ? AND released_at IS NULL
            AND kind IN ({", ".join("?" for _ in BY_PERSON)}) ORDER BY placed_at, id""",
        (node.kind, node.id, *BY_PERSON),
    )
    if any(row["kind"] != HoldKind.PAUSE for row in rows):
        require_reason(reason, "resume after a hold")
    for row in rows:
        release(tx, row, actor, reason, now)
    remember_key(tx, key, "resume", node.id, now)
    if rows and node.kind is not NodeKind.ENGINE:
        unblock_below(tx, node.kind, node.id, now)
    return tuple(row["id"] for row in rows)


def release(tx: Tx, hold: sqlite3.Row, actor: Actor, reason: str, now: Instant) -> None:
    """Lift one hold; whoever calls has made sure that ``actor`` may."""
    node = Node(NodeKind(hold["node_kind"]), hold["node_id"])
    tx.run(
        "UPDATE hold SET released_at = ?, released_by = ?, release_reason = ? WHERE id = ?",
        (now, actor.name, reason, hold["id"]),
    )
    tx.journal(
        "hold.released",
        Subject("hold", hold["id"]),
        actor,
        now,
        work_order_id=_work_order_of(tx, node),
        detail={"kind": hold["kind"], "node": [node.kind, node.id], "reason": reason},
    )


def require_node(rx: Rx, node: Node) -> None:
    """Refuse a node that does not exist."""
    if node.kind is NodeKind.ENGINE:
        if node.id != ENGINE_NODE_ID:
            raise InvalidValue("The engine is one node.", do=f"Name it {ENGINE_NODE_ID!r}.")
        return
    table, _ = _NODE_TABLES[node.kind]
    if rx.one(f"SELECT 1 FROM {table} WHERE id = ?", (node.id,)) is None:
        raise NotFound(
            f"There is no {node.kind.lower().replace('_', ' ')} {node.id}.", do="Look at the list again."
        )


def _work_order_of(rx: Rx, node: Node) -> str | None:
    if node.kind is NodeKind.WORK_ORDER:
        return node.id
    if node.kind is NodeKind.TASK:
        row = rx.one("SELECT work_order_id FROM task WHERE id = ?", (node.id,))
        return row["work_order_id"] if row else None
    return None


def was_done(rx: Rx, key: str | None, command: str, node: Node) -> bool:
    """Whether ``command`` was done on ``node`` under this key; `InvalidValue` if the key was used otherwise."""
    subject = _subject_of_key(rx, key, command)
    if subject is not None and subject != node.id:
        raise _key_used(key, f"to {command} something else")
    return subject is not None


def remember_key(tx: Tx, key: str | None, command: str, subject: str, now: Instant) -> None:
    """Note what a key was used for, so that a repeat changes nothing and another use is refused."""
    if key is not None:
        tx.run(
            "INSERT INTO command_key(key, command, subject, done_at) VALUES (?, ?, ?, ?)",
            (key, command, subject, now),
        )


def _subject_of_key(rx: Rx, key: str | None, command: str) -> str | None:
    row = rx.one("SELECT command, subject FROM command_key WHERE key = ?", (key,))
    if row is not None and row["command"] != command:
        raise _key_used(key, f"to {row['command']} something")
    return None if row is None else str(row["subject"])


def _key_used(key: str | None, what: str) -> InvalidValue:
    return InvalidValue(
        f"The key {key!r} was used before {what}.",
        means="A key stands for one command. Nothing was changed.",
        do="Give a new key, or none.",
        field="key",
    )
