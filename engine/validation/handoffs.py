"""Durable stage handoffs: what a finished stage leaves to the next one, and who took it up (E-73).

A handoff is written in the transaction that ends its stage. It is accepted once, in the transaction that makes
the next stage's task, or in the one by which a person accepts the work.
"""

from __future__ import annotations

import json
import sqlite3

from engine.actors import ENGINE, Actor, ActorKind
from engine.ids import new_id
from engine.instants import Instant
from engine.storage import Rx, Subject, Tx


def hand_over(tx: Tx, attempt: sqlite3.Row, now: Instant) -> str:
    """Write what the stage of an attempt with a definite end leaves; return the handoff's id.

    Summary and open questions are those of the command's own result record, where it wrote one. If one of this
    attempt is open already, that one stays.
    """
    open_one = _open(tx, attempt["id"])
    if open_one is not None:
        return str(open_one["id"])
    evidence = tx.one("SELECT id, sha256, body FROM evidence WHERE attempt_id = ?", (attempt["id"],))
    result = (json.loads(evidence["body"]).get("result") or {}) if evidence is not None else {}
    handoff_id = new_id(now)
    tx.run(
        """INSERT INTO handoff(id, work_order_id, from_task_id, from_attempt_id, evidence_id, evidence_sha256,
             summary, questions, written_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            handoff_id,
            attempt["work_order_id"],
            attempt["task_id"],
            attempt["id"],
            evidence["id"] if evidence is not None else None,
            evidence["sha256"] if evidence is not None else None,
            result.get("summary", ""),
            json.dumps(result.get("questions", [])),
            now,
        ),
    )
    tx.journal(
        "handoff.written",
        Subject("handoff", handoff_id),
        Actor(ActorKind.WORKER, attempt["worker_id"]),
        now,
        work_order_id=attempt["work_order_id"],
        detail={
            "from_task": attempt["task_id"],
            "from_attempt": attempt["id"],
            "evidence": evidence["id"] if evidence is not None else None,
            "sha256": evidence["sha256"] if evidence is not None else None,
        },
    )
    return handoff_id


def take_up(tx: Tx, attempt: sqlite3.Row, task_id: str, now: Instant) -> None:
    """Accept what the stage of an attempt handed over, for the task that the same transaction makes.

    Where an earlier task took it up and ended without a result, it is handed over once more.
    """
    handoff_id = hand_over(tx, attempt, now)
    _accepted(tx, handoff_id, attempt["work_order_id"], task_id, ENGINE, now)
    tx.boundary("handoff")


def take_up_by_person(tx: Tx, work_order_id: str, actor: Actor, now: Instant) -> None:
    """Accept the newest open handoff of a work order whose work a person accepts."""
    row = tx.one(
        """SELECT id FROM handoff WHERE work_order_id = ? AND accepted_at IS NULL
           ORDER BY written_at DESC, id DESC LIMIT 1""",
        (work_order_id,),
    )
    if row is not None:
        _accepted(tx, row["id"], work_order_id, None, actor, now)


def handoffs_of(rx: Rx, work_order_id: str) -> list[sqlite3.Row]:
    """Every handoff of a work order with ordinal and purpose of both stages, oldest first."""
    return rx.all(
        """SELECT handoff.*, source.ordinal AS from_ordinal, source.purpose AS from_purpose,
             target.ordinal AS to_ordinal, target.purpose AS to_purpose
           FROM handoff JOIN task AS source ON source.id = handoff.from_task_id
           LEFT JOIN task AS target ON target.id = handoff.to_task_id
           WHERE handoff.work_order_id = ? ORDER BY handoff.written_at, handoff.id""",
        (work_order_id,),
    )


def _open(tx: Tx, attempt_id: str) -> sqlite3.Row | None:
    return tx.one("SELECT id FROM handoff WHERE from_attempt_id = ? AND accepted_at IS NULL", (attempt_id,))


def _accepted(
    tx: Tx, handoff_id: str, work_order_id: str, task_id: str | None, actor: Actor, now: Instant
) -> None:
    tx.run(
        "UPDATE handoff SET to_task_id = ?, accepted_at = ?, accepted_by_kind = ?, accepted_by = ? WHERE id = ?",
        (task_id, now, actor.kind, actor.name, handoff_id),
    )
    tx.journal(
        "handoff.accepted",
        Subject("handoff", handoff_id),
        actor,
        now,
        work_order_id=work_order_id,
        detail={"to_task": task_id},
    )
