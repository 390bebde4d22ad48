"""Tasks: units to be scheduled, each of one purpose, from WAITING to their end (E-21, E-22)."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass

from engine.actors import ENGINE, Actor
from engine.errors import NotFound
from engine.ids import new_id
from engine.instants import Instant, require_batch
from engine.scheduling.gates import awaits_a_look, time_is_trusted
from engine.scheduling.lanes import arm_lane
from engine.scheduling.transition import TASK, transition
from engine.scheduling.wakeups import TASK_WAKE_UP, book_wake, cancel_wake, note_wake
from engine.states import Partition, Purpose, TaskState
from engine.storage import Rx, Subject, Tx, require_epoch
from engine.wakes import Wake, WakeState
from engine.wakes.sqlite.at_once import fire_at_once
from engine.work_order import CommandSpec, command_to_json


@dataclass(frozen=True, slots=True)
class TaskSource:
    """What a task follows from: the task, attempt and validation before it, where there are such."""

    task_id: str | None = None
    attempt_id: str | None = None
    validation_id: str | None = None


def create_task(
    tx: Tx,
    work_order: sqlite3.Row,
    purpose: Purpose,
    command: CommandSpec,
    *,
    actor: Actor,
    now: Instant,
    due_at: Instant | None = None,
    source: TaskSource = TaskSource(),
) -> str:
    """Add the next task of a work order: WAITING until ``due_at``, READY at once if that has come.

    The wake at which a WAITING one becomes READY is booked with it.
    """
    task_id = new_id(now)
    waiting = due_at is not None and due_at > now
    last = tx.one("SELECT max(ordinal) AS ordinal FROM task WHERE work_order_id = ?", (work_order["id"],))
    ordinal = ((last["ordinal"] if last else None) or 0) + 1
    partition = Partition.HANDOFF if purpose is Purpose.HANDOFF else Partition.EXECUTION
    tx.run(
        """INSERT INTO task(id, work_order_id, ordinal, purpose, state, lane, scope_id, partition, command,
             max_cost, max_active_ms, due_at, ready_at, source_task_id, source_attempt_id, source_validation_id,
             created_at, changed_at)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            task_id,
            work_order["id"],
            ordinal,
            purpose,
            TaskState.WAITING if waiting else TaskState.READY,
            work_order["lane"],
            work_order["scope_id"],
            partition,
            json.dumps(command_to_json(command)),
            command.max_cost,
            command.time_limit_ms,
            due_at,
            None if waiting else now,
            source.task_id,
            source.attempt_id,
            source.validation_id,
            now,
            now,
        ),
    )
    tx.journal(
        "task.created",
        Subject("task", task_id),
        actor,
        now,
        work_order_id=work_order["id"],
        detail={
            "purpose": purpose,
            "ordinal": ordinal,
            "due_at": due_at,
            "source_task": source.task_id,
            "source_attempt": source.attempt_id,
            "source_validation": source.validation_id,
        },
    )
    if due_at is not None and waiting:
        book_wake(
            tx,
            task_id,
            TASK_WAKE_UP,
            due_at,
            intent={
                "title": f"WO-{work_order['number']} · {work_order['title']}",
                "work_order": work_order["id"],
            },
            actor=actor,
            now=now,
        )
    touch_work_order(tx, work_order["id"], now)
    return task_id


def task_row(rx: Rx, task_id: str) -> sqlite3.Row:
    """The row of a task; `NotFound` if there is none."""
    row = rx.one("SELECT * FROM task WHERE id = ?", (task_id,))
    if row is None:
        raise NotFound(f"Task {task_id} does not exist.", do="Look at the work order for its tasks.")
    return row


def move_task(
    tx: Tx, task_id: str, to: TaskState, *, actor: Actor, now: Instant, reason: str = "", **values: object
) -> sqlite3.Row:
    """Take one legal step of a task, journal it, and arm its lane if the step freed or filled it.

    The wake of one that waited is cancelled with it.
    """
    row = transition(tx, TASK, task_id, to, armed_at=None, blocked_by=None, changed_at=now, **values)
    tx.journal(
        f"task.{to.lower()}",
        Subject("task", task_id),
        actor,
        now,
        work_order_id=row["work_order_id"],
        detail={"reason": reason} if reason else {},
    )
    if to is TaskState.CANCELLED and row["due_at"] is not None:
        cancel_wake(tx, task_id, "its task was cancelled", actor=actor, now=now)
    touch_work_order(tx, row["work_order_id"], now)
    if to not in (TaskState.CLAIMED, TaskState.DISPATCHED):
        arm_lane(tx, row["lane"], now)
    return row


def touch_work_order(tx: Tx, work_order_id: str, now: Instant) -> None:
    """Note that something of the work order changed, for lists that show the newest change first."""
    tx.run("UPDATE work_order SET changed_at = ? WHERE id = ? AND changed_at < ?", (now, work_order_id, now))


def drain_due_wakeups(tx: Tx, epoch: int, limit: int = 100, *, now: Instant) -> tuple[str, ...]:
    """Make at most ``limit`` due WAITING tasks READY, the earliest first; return their ids (E-22, E-26).

    Due means ``now >= due_at``: at ``due_at - 1`` it waits, at ``due_at`` and after it fires, once. A clock that
    goes back afterwards unfires nothing, and what still waits keeps its stored ``due_at``. Readiness and the
    firing of the wake are one commit, so a kill leaves both or neither. Nothing fires by a distrusted clock
    (E-32), nor after a restore before a person has looked (E-85). `StaleEpoch` if a newer coordinator has taken
    over. The alarm clock's runner fires the same wakes, each at its instant; this is the pass that cannot miss.
    """
    require_epoch(tx, epoch)
    require_batch(limit)
    if not time_is_trusted(tx) or awaits_a_look(tx):
        return ()
    fired = fire_at_once(tx, TASK_WAKE_UP, limit, now=now)
    for wake in fired:
        note_wake(
            tx,
            "fired",
            wake.id,
            ENGINE,
            now,
            **{"from": WakeState.PENDING},
            to=wake.state,
            late_ms=wake.late_ms,
        )
        wake_task(tx, wake, now=now)
    return tuple(wake.id for wake in fired)


def wake_task(tx: Tx, wake: Wake, *, now: Instant) -> None:
    """What a wake-up does: its WAITING task becomes READY. One that was cancelled meanwhile stays so."""
    if task_row(tx, wake.id)["state"] == TaskState.WAITING:
        move_task(tx, wake.id, TaskState.READY, actor=ENGINE, now=now, reason="due", ready_at=now)
        tx.boundary("wakeup")
