"""Claims: a worker's pre-dispatch responsibility for a READY task, under a lease and an epoch (E-23 to E-25).

A claim authorises nothing. Every write of it is fenced by epoch, claim id and worker, and is refused at or after
the end of its lease, before its own start (clock moved back), by another worker or under another epoch.

The boundaries, for a claim made at ``t`` with a lease until ``t + L`` (all in whole milliseconds):

====================  ==========================  ===================  ==========================
now                   renew, release, admission   recovery (E-25)      an earlier epoch's claim
====================  ==========================  ===================  ==========================
before ``t``          refused: `Fenced`           left alone           recovered
``t``                 works                       left alone           recovered
``t + L - 1``         works                       left alone           recovered
``t + L``             refused: `LeaseExpired`     expired, requeued    recovered
after ``t + L``       refused: `LeaseExpired`     expired, requeued    recovered
time distrusted       refused: `ClockDistrusted`  left alone           recovered
====================  ==========================  ===================  ==========================

A renewal at ``now`` for ``R`` ends at the later of its present end and ``now + R``: never earlier than before.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from engine.actors import ENGINE, Actor, ActorKind
from engine.errors import ClockDistrusted, Fenced, InvalidValue, LeaseExpired, NotFound, WrongState
from engine.ids import new_id
from engine.instants import EARLIEST, Instant, add_duration, format_instant, require_batch, require_duration
from engine.scheduling.gates import engine_holds, time_is_trusted
from engine.scheduling.lanes import arm_lane, block_task, standing_block
from engine.scheduling.tasks import move_task, touch_work_order
from engine.scheduling.transition import CLAIM, transition
from engine.states import ClaimState, TaskState, WorkOrderState
from engine.storage import Subject, Tx, require_epoch

EXTRA_LOOKS = 1000
"""How many armed tasks whose gates turn out closed one claim may pass over before it returns."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One live claim as its worker holds it."""

    id: str
    task_id: str
    work_order_id: str
    worker_id: str
    epoch: int
    claimed_at: Instant
    lease_until: Instant


def register_worker(tx: Tx, worker_id: str, kind: str, slots: int, epoch: int, *, now: Instant) -> None:
    """Register a worker under this epoch; registering again updates kind and slots."""
    require_epoch(tx, epoch)
    if type(slots) is not int or slots < 1:
        raise InvalidValue(f"slots {slots!r} is not a positive whole number.", do="Give 1 or more.")
    tx.run(
        """INSERT INTO worker(id, kind, slots, epoch, registered_at) VALUES (?, ?, ?, ?, ?)
           ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, slots = excluded.slots,
             epoch = excluded.epoch, registered_at = excluded.registered_at""",
        (worker_id, kind, slots, epoch, now),
    )
    tx.journal(
        "worker.registered",
        Subject("worker", worker_id),
        Actor(ActorKind.WORKER, worker_id),
        now,
        detail={"kind": kind, "slots": slots},
    )


def claim_tasks(
    tx: Tx, worker_id: str, epoch: int, limit: int, lease_ms: int, *, now: Instant
) -> tuple[Claim, ...]:
    """Claim up to ``limit`` armed tasks for a worker, in the order in which they were armed.

    All gates are asked again here; a task whose gate has closed is set aside and the next of its lane is
    armed. Never more than the worker's free slots; nothing while the engine is held or its clock distrusted.
    """
    require_epoch(tx, epoch)
    require_batch(limit)
    lease_until = add_duration(now, lease_ms, "lease")
    wanted = min(limit, _free_slots(tx, worker_id, epoch))
    if wanted <= 0 or engine_holds(tx) or not tx.time_trusted:
        return ()
    claims: list[Claim] = []
    looks = 0
    while len(claims) < wanted and looks < wanted + EXTRA_LOOKS:
        heads = tx.all(
            "SELECT * FROM task WHERE armed_at IS NOT NULL ORDER BY armed_at, id LIMIT ?",
            (wanted - len(claims),),
        )
        if not heads:
            break
        looks += len(heads)
        for task in heads:
            if _gates_open(tx, task, now):
                claims.append(_claim(tx, task, worker_id, epoch, lease_until, now))
    return tuple(claims)


def renew_claim(tx: Tx, claim_id: str, worker_id: str, epoch: int, lease_ms: int, *, now: Instant) -> Instant:
    """Extend a lease to ``now + lease_ms``; never shortens it, never revives an expired one. Returns its end."""
    claim = live_claim(tx, claim_id, worker_id, epoch, now)
    lease_until: Instant = max(
        claim["lease_until"], add_duration(now, require_duration(lease_ms, "lease"), "lease")
    )
    tx.run("UPDATE claim SET lease_until = ?, renewals = renewals + 1 WHERE id = ?", (lease_until, claim_id))
    tx.journal(
        "claim.renewed",
        Subject("claim", claim_id),
        Actor(ActorKind.WORKER, worker_id),
        now,
        detail={"task": claim["task_id"], "lease_until": lease_until},
    )
    return lease_until


def release_claim(tx: Tx, claim_id: str, worker_id: str, epoch: int, reason: str, *, now: Instant) -> None:
    """Give a task back unclaimed: claim RELEASED and task READY in one transaction."""
    claim = live_claim(tx, claim_id, worker_id, epoch, now)
    end_claim(tx, claim, ClaimState.RELEASED, Actor(ActorKind.WORKER, worker_id), reason, now)
    move_task(
        tx,
        claim["task_id"],
        TaskState.READY,
        actor=Actor(ActorKind.WORKER, worker_id),
        now=now,
        reason=reason,
    )


def live_claim(tx: Tx, claim_id: str, worker_id: str, epoch: int, now: Instant) -> sqlite3.Row:
    """The row of a claim that this worker holds under this epoch at ``now``, or a typed refusal (E-24)."""
    require_epoch(tx, epoch)
    claim = tx.one("SELECT * FROM claim WHERE id = ?", (claim_id,))
    if claim is None:
        raise NotFound(f"Claim {claim_id} does not exist.", do="Claim the task again.")
    if claim["worker_id"] != worker_id:
        raise Fenced(f"The claim belongs to worker {claim['worker_id']}.", do="Claim a task of your own.")
    if claim["epoch"] != epoch:
        raise Fenced(f"The claim was made under epoch {claim['epoch']}.", do="Claim the task again.")
    if claim["state"] != ClaimState.LIVE:
        raise WrongState(f"The claim is {claim['state']}.", do="Claim the task again.", found=claim["state"])
    if not time_is_trusted(tx):
        raise ClockDistrusted(
            "The clock is distrusted, so no lease is judged by it.",
            means="The claim stays as it is, neither shortened nor revived.",
            do="Wait until trust in the clock is restored.",
            gate="clock",
        )
    if now >= claim["lease_until"]:
        raise LeaseExpired(
            f"The lease ended at {format_instant(claim['lease_until'])}.", do="Claim the task again."
        )
    if now < claim["claimed_at"]:
        raise Fenced(
            f"It is {format_instant(now)}, before the claim's own start.",
            means="The clock was moved back; leases are not judged by it.",
            do="Wait until the clock is trusted again.",
        )
    return claim


def end_claim(
    tx: Tx, claim: sqlite3.Row, to: ClaimState, actor: Actor, reason: str, now: Instant
) -> sqlite3.Row:
    """End a live claim and journal why."""
    row = transition(tx, CLAIM, claim["id"], to, ended_at=now)
    tx.journal(
        f"claim.{to.lower()}",
        Subject("claim", claim["id"]),
        actor,
        now,
        detail={"task": claim["task_id"], "reason": reason},
    )
    return row


def recover_abandoned_claims(tx: Tx, epoch: int, limit: int = 100, *, now: Instant) -> tuple[str, ...]:
    """Expire at most ``limit`` abandoned claims, oldest lease first, and requeue their tasks (E-25).

    Abandoned: the lease has ended (equality included), or the claim is of an earlier epoch. Only pre-dispatch
    claims are touched: no attempt, exposure or UNKNOWN. A distrusted clock expires no lease (E-32). Returns the
    ids of the claims.
    """
    require_epoch(tx, epoch)
    require_batch(limit)
    ended = now if time_is_trusted(tx) else EARLIEST
    rows = tx.all(
        "SELECT * FROM claim WHERE state = 'LIVE' AND lease_until <= ? ORDER BY lease_until, id LIMIT ?",
        (ended, limit),
    )
    if len(rows) < limit:
        rows += tx.all(
            """SELECT * FROM claim WHERE state = 'LIVE' AND epoch < ? AND lease_until > ?
               ORDER BY epoch, lease_until, id LIMIT ?""",
            (epoch, ended, limit - len(rows)),
        )
    for claim in rows:
        reason = "lease ended" if claim["lease_until"] <= ended else "coordinator was replaced"
        end_claim(tx, claim, ClaimState.EXPIRED, ENGINE, reason, now)
        move_task(tx, claim["task_id"], TaskState.READY, actor=ENGINE, now=now, reason=reason)
    if rows:
        tx.boundary("claim_recovery")
    return tuple(claim["id"] for claim in rows)


def _free_slots(tx: Tx, worker_id: str, epoch: int) -> int:
    worker = tx.one("SELECT slots, epoch FROM worker WHERE id = ?", (worker_id,))
    if worker is None or worker["epoch"] != epoch:
        raise NotFound(
            f"Worker {worker_id} is not registered under epoch {epoch}.", do="Register the worker first."
        )
    busy = tx.one(
        """SELECT (SELECT count(*) FROM claim WHERE worker_id = ? AND state = 'LIVE') +
                  (SELECT count(*) FROM attempt WHERE worker_id = ? AND epoch = ? AND state IN
                    ('DISPATCH_AUTHORIZED', 'DELIVERED', 'ACKNOWLEDGED', 'RUNNING')) AS busy""",
        (worker_id, worker_id, epoch),
    )
    assert busy is not None
    slots: int = worker["slots"] - busy["busy"]
    return slots


def _gates_open(tx: Tx, task: sqlite3.Row, now: Instant) -> bool:
    order = tx.one("SELECT state FROM work_order WHERE id = ?", (task["work_order_id"],))
    approval = tx.one("SELECT state, expires_at FROM approval WHERE id = ?", (task["approval_id"],))
    if order is None or order["state"] != WorkOrderState.ACTIVE or approval is None:
        tx.run("UPDATE task SET armed_at = NULL, approval_id = NULL WHERE id = ?", (task["id"],))
        arm_lane(tx, task["lane"], now)
        return False
    if now >= approval["expires_at"]:
        # The expiry sweep ends the approval itself; here the task only leaves the head of its lane.
        tx.run("UPDATE task SET armed_at = NULL, approval_id = NULL WHERE id = ?", (task["id"],))
        arm_lane(tx, task["lane"], now)
        return False
    blocked_by = standing_block(tx, task)
    if blocked_by is not None:
        block_task(tx, task["id"], task["lane"], blocked_by, now)
        return False
    return True


def _claim(
    tx: Tx, task: sqlite3.Row, worker_id: str, epoch: int, lease_until: Instant, now: Instant
) -> Claim:
    claim_id = new_id(now)
    moved = tx.run(
        "UPDATE task SET state = 'CLAIMED', armed_at = NULL, changed_at = ? WHERE id = ? AND state = 'READY'",
        (now, task["id"]),
    )
    assert moved == 1
    tx.run(
        """INSERT INTO claim(id, task_id, worker_id, epoch, state, claimed_at, lease_until)
           VALUES (?, ?, ?, ?, 'LIVE', ?, ?)""",
        (claim_id, task["id"], worker_id, epoch, now, lease_until),
    )
    tx.journal(
        "task.claimed",
        Subject("task", task["id"]),
        Actor(ActorKind.WORKER, worker_id),
        now,
        work_order_id=task["work_order_id"],
        detail={"claim": claim_id, "lease_until": lease_until},
    )
    touch_work_order(tx, task["work_order_id"], now)
    tx.boundary("claim")
    return Claim(claim_id, task["id"], task["work_order_id"], worker_id, epoch, now, lease_until)
