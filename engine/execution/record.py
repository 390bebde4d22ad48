"""Recording what was observed of an execution: evidence and outcome, in one transaction (E-54, E-55)."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from engine.actors import Actor, ActorKind
from engine.dispatch.delivery import attempt_row, mark_unknown, own_delivery, void_attempt
from engine.errors import WrongState
from engine.execution.process import NotStarted
from engine.ids import new_id
from engine.instants import Instant
from engine.scheduling.lanes import arm_lane
from engine.scheduling.tasks import move_task, task_row
from engine.scheduling.transition import ATTEMPT, transition
from engine.states import AttemptState, Outcome, TaskState
from engine.storage import Subject, Tx

STOPPED_FIRST = f"not_started_{NotStarted.STOPPED_FIRST}"
"""The reason code of what was stopped while its program was still parked."""


@dataclass(frozen=True, slots=True)
class KeptBlob:
    """One kept file of an evidence: role (stdout, stderr, artifact, result, manifest), path, digest and size."""

    role: str
    path: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything the worker saw of one execution, ready to be recorded.

    ``body`` is the evidence's canonical JSON with digest ``sha256``. ``active_ms`` is measured active time,
    ``reported_cost`` what the command itself reported or None. ``never_started`` says that provably nothing
    ran. ``survivors`` names processes that are still alive ("" if none): the lane then stays locked.
    """

    outcome: Outcome
    reason_code: str
    reason: str
    body: str
    sha256: str
    blobs: Sequence[KeptBlob]
    active_ms: int
    reported_cost: int | None
    never_started: bool
    survivors: str


def record_observation(
    tx: Tx, delivery_id: str, worker_id: str, epoch: int, observation: Observation, *, now: Instant
) -> sqlite3.Row:
    """Keep the evidence and move attempt and task to the observed outcome; return the attempt's new row.

    A definite outcome makes the attempt EXECUTED and the task SUCCEEDED or FAILED; UNKNOWN freezes the exposure
    at once. One that was stopped before its program was let go is VOIDED: nobody's work failed. Fenced by
    worker, epoch and delivery (E-24); `WrongState` once it is recorded or given up.
    """
    delivery = own_delivery(tx, delivery_id, worker_id, epoch)
    attempt = attempt_row(tx, delivery["attempt_id"])
    if attempt["state"] not in (AttemptState.ACKNOWLEDGED, AttemptState.RUNNING):
        raise WrongState(
            f"The attempt is {attempt['state']}; what was observed of it has been recorded or decided.",
            do="Look at the attempt; nothing more is recorded for it.",
            found=attempt["state"],
        )
    worker = Actor(ActorKind.WORKER, worker_id)
    evidence_id = new_id(now)
    tx.run(
        "INSERT INTO evidence(id, attempt_id, body, sha256, recorded_at) VALUES (?, ?, ?, ?, ?)",
        (evidence_id, attempt["id"], observation.body, observation.sha256, now),
    )
    for blob in observation.blobs:
        tx.run(
            "INSERT INTO evidence_blob(evidence_id, role, path, sha256, size) VALUES (?, ?, ?, ?, ?)",
            (evidence_id, blob.role, blob.path, blob.sha256, blob.size),
        )
    tx.run("UPDATE delivery SET finished_at = ? WHERE id = ?", (now, delivery_id))
    tx.run(
        "UPDATE attempt SET actual_cost = ?, actual_active_ms = ? WHERE id = ?",
        (observation.reported_cost, observation.active_ms, attempt["id"]),
    )
    tx.journal(
        "evidence.recorded",
        Subject("evidence", evidence_id),
        worker,
        now,
        work_order_id=attempt["work_order_id"],
        detail={
            "attempt": attempt["id"],
            "sha256": observation.sha256,
            "outcome": observation.outcome,
            "reason_code": observation.reason_code,
            "active_ms": observation.active_ms,
            "reported_cost": observation.reported_cost,
        },
    )
    if observation.survivors:
        lock_lane(tx, attempt, observation.survivors, worker, now)
    if observation.reason_code == STOPPED_FIRST:
        void_attempt(tx, attempt, observation.reason, now)
        return attempt_row(tx, attempt["id"])
    if observation.outcome is Outcome.UNKNOWN:
        mark_unknown(tx, attempt, observation.reason_code, observation.reason, worker, now)
        return attempt_row(tx, attempt["id"])
    executed = transition(
        tx,
        ATTEMPT,
        attempt["id"],
        AttemptState.EXECUTED,
        outcome=observation.outcome,
        reason_code=observation.reason_code,
        reason=observation.reason,
        cost_source="never_started" if observation.never_started else None,
        ended_at=now,
    )
    tx.journal(
        "attempt.executed",
        Subject("attempt", attempt["id"]),
        worker,
        now,
        work_order_id=attempt["work_order_id"],
        detail={"outcome": observation.outcome, "reason": observation.reason},
    )
    to = TaskState.SUCCEEDED if observation.outcome is Outcome.SUCCEEDED else TaskState.FAILED
    move_task(tx, attempt["task_id"], to, actor=worker, now=now, reason=observation.reason)
    return executed


def unlock_lane(tx: Tx, lane: str, actor: Actor, *, now: Instant) -> None:
    """Free a lane after the processes that kept it locked are gone."""
    row = tx.one("DELETE FROM lane_lock WHERE lane = ? RETURNING attempt_id", (lane,))
    if row is not None:
        tx.journal("lane.unlocked", Subject("lane", lane), actor, now, detail={"attempt": row["attempt_id"]})
        arm_lane(tx, lane, now)


def lock_lane(tx: Tx, attempt: sqlite3.Row, survivors: str, actor: Actor, now: Instant) -> None:
    """Keep everything else out of an attempt's workspace while the named processes of it still live."""
    lane = task_row(tx, attempt["task_id"])["lane"]
    tx.run(
        """INSERT INTO lane_lock(lane, attempt_id, survivors, locked_at) VALUES (?, ?, ?, ?)
           ON CONFLICT (lane) DO UPDATE SET attempt_id = excluded.attempt_id, survivors = excluded.survivors""",
        (lane, attempt["id"], survivors, now),
    )
    tx.journal(
        "lane.locked",
        Subject("lane", lane),
        actor,
        now,
        work_order_id=attempt["work_order_id"],
        detail={"attempt": attempt["id"], "survivors": survivors},
    )
