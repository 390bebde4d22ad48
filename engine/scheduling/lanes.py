"""Workspace lanes: one task of a workspace at a time, and the armed head that a claim looks at (E-17, E-69).

Of each idle lane only the first READY task whose standing gates (approval, holds, headroom) are open carries
``armed_at``. A partial index over it serves the claim, and a partial unique index makes "one per lane" a
constraint. Others may use headroom up after the arming; the claim asks all gates again. Whoever opens or closes
a standing gate, or frees a lane, calls the functions here.
"""

from __future__ import annotations

import sqlite3

from engine.instants import Instant
from engine.scheduling.gates import holds_above, scope_without_headroom
from engine.states import NodeKind
from engine.storage import Tx

HOLD = "HOLD"
RESOURCES = "RESOURCES"

_NEXT_IN_LANE = """
    SELECT id, work_order_id, scope_id, partition, max_cost, max_active_ms FROM task
    WHERE lane = ? AND state = 'READY' AND approval_id IS NOT NULL AND armed_at IS NULL AND blocked_by IS NULL
    ORDER BY ready_at, id LIMIT 1"""

_BELOW = {
    NodeKind.ENGINE: "1 = 1 OR ? = ''",
    NodeKind.SCOPE: "scope_id IN (SELECT scope_id FROM scope_path WHERE ancestor_id = ?)",
    NodeKind.WORK_ORDER: "work_order_id = ?",
    NodeKind.TASK: "id = ?",
}


def arm_lane(tx: Tx, lane: str, now: Instant) -> None:
    """Arm the first task of an idle lane whose standing gates are open; tasks it passes are marked blocked."""
    if tx.one(
        "SELECT 1 FROM task WHERE lane = ? AND (armed_at IS NOT NULL OR state IN ('CLAIMED', 'DISPATCHED'))",
        (lane,),
    ) or tx.one("SELECT 1 FROM lane_lock WHERE lane = ?", (lane,)):
        return
    while (task := tx.one(_NEXT_IN_LANE, (lane,))) is not None:
        blocked_by = standing_block(tx, task)
        if blocked_by is None:
            tx.run("UPDATE task SET armed_at = ? WHERE id = ?", (now, task["id"]))
            return
        tx.run("UPDATE task SET blocked_by = ? WHERE id = ?", (blocked_by, task["id"]))


def standing_block(tx: Tx, task: sqlite3.Row) -> str | None:
    """The standing gate that keeps this task from being claimed, or None.

    A hold on the whole engine does not count here: it stops every claim and leaves the lanes as they are.
    """
    if any(hold["node_kind"] != NodeKind.ENGINE for hold in holds_above(tx, task)):
        return HOLD
    if scope_without_headroom(tx, task) is not None:
        return RESOURCES
    return None


def block_task(tx: Tx, task_id: str, lane: str, blocked_by: str, now: Instant) -> None:
    """Take an armed task out of its lane's head because a standing gate closed, and arm the next."""
    tx.run(
        "UPDATE task SET armed_at = NULL, blocked_by = ? WHERE id = ? AND state = 'READY'",
        (blocked_by, task_id),
    )
    arm_lane(tx, lane, now)


def block_below(tx: Tx, node_kind: NodeKind, node_id: str, now: Instant) -> None:
    """Disarm every armed task below a node on which a hold was placed."""
    rows = tx.all(
        f"""UPDATE task SET armed_at = NULL, blocked_by = 'HOLD'
            WHERE armed_at IS NOT NULL AND ({_BELOW[node_kind]}) RETURNING lane""",
        (node_id,),
    )
    _arm_all(tx, rows, now)


def unblock_below(tx: Tx, node_kind: NodeKind, node_id: str, now: Instant) -> None:
    """Look again at every task below a node from which a hold was lifted."""
    rows = tx.all(
        f"UPDATE task SET blocked_by = NULL WHERE blocked_by = 'HOLD' AND ({_BELOW[node_kind]}) RETURNING lane",
        (node_id,),
    )
    _arm_all(tx, rows, now)


def unblock_resources(tx: Tx, now: Instant) -> None:
    """Look again at every task that lacked headroom: some exposure was released or a limit was raised."""
    rows = tx.all("UPDATE task SET blocked_by = NULL WHERE blocked_by = 'RESOURCES' RETURNING lane")
    _arm_all(tx, rows, now)


def _arm_all(tx: Tx, rows: list[sqlite3.Row], now: Instant) -> None:
    for lane in dict.fromkeys(row["lane"] for row in rows):
        arm_lane(tx, lane, now)
