"""Wakes that the engine books for itself, as rows of the transaction that needs them.

Such a wake has the id of what it is for, so that it is found and cancelled without looking for it. No budget
counts it: it is not asked for by anybody, it follows from what was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from engine.actors import ENGINE, Actor
from engine.instants import Instant
from engine.storage import Subject, Tx
from engine.wakes import Trigger, Wake, WakeState
from engine.wakes.sqlite.queue import SqliteQueue
from engine.wakes.sqlite.wakes import SqliteWakes
from engine.wakes.values import NewWake, Origin

TASK_WAKE_UP = "task.wake_up"
"""The kind of wake at which a WAITING task becomes READY; its id is that of the task."""

WORKSPACE = "engine"
"""The workspace of the engine's own wakes."""


def book_wake(
    tx: Tx,
    wake_id: str,
    kind: str,
    due_at: Instant,
    *,
    intent: Mapping[str, object] | None = None,
    actor: Actor = ENGINE,
    now: Instant,
) -> None:
    """Book a wake of the engine's own under a given id, in this transaction; ``intent`` says what it is for."""
    SqliteWakes().insert(
        tx,
        NewWake(
            id=wake_id,
            workspace=WORKSPACE,
            session=None,
            trigger=Trigger.AT,
            kind=kind,
            lane=None,
            intent=json.dumps(intent),
            due_at=due_at,
            expires_at=None,
            depth=0,
            origin=Origin.CALLER,
            created_by=actor,
            created_at=now,
        ),
    )
    note_wake(tx, "created", wake_id, actor, now, to=WakeState.PENDING, kind=kind, due_at=due_at)


def cancel_wake(tx: Tx, wake_id: str, why: str, *, actor: Actor = ENGINE, now: Instant) -> Wake | None:
    """Cancel a wake of the engine's own, if it is pending; what fires just now finds nothing left to do."""
    cancelled = SqliteQueue().cancel(tx, wake_id, now)
    if cancelled is not None:
        note_wake(
            tx, "cancelled", wake_id, actor, now, **{"from": WakeState.PENDING}, to=cancelled.state, why=why
        )
    return cancelled


def note_wake(tx: Tx, event: str, wake_id: str, actor: Actor, now: Instant, **detail: object) -> None:
    """Append one step of a wake to its history, which is the journal."""
    tx.journal(f"wake.{event}", Subject("wake", wake_id), actor, now, detail=detail)
