"""Reads of what agents booked for later: what has come for them, what they ask a person, what they watch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.actors import Actor, ActorKind
from engine.instants import Instant, require_batch
from engine.states import WorkOrderState
from engine.storage import Rx

AGENT_WORKSPACE = "agent:"
"""Workspaces of agents begin so; the rest is the agent's name."""

_ENDED = (WorkOrderState.ACCEPTED, WorkOrderState.REJECTED, WorkOrderState.CANCELLED)


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A wake that has come for an agent. ``sequence`` is the place of its coming in the journal.

    ``intent`` is what was handed over when it was booked, ``result`` the event's payload or the person's answer.
    ``expired`` says that the deadline passed first.
    """

    sequence: int
    id: str
    trigger: str
    intent: Mapping[str, Any]
    result: Any
    expired: bool
    event_key: str | None
    answered_by: Actor | None
    due_at: Instant | None
    ended_at: Instant
    series: str | None
    missed: int


@dataclass(frozen=True, slots=True)
class Question:
    """What an agent asks a person, and until when an answer counts."""

    id: str
    asked_by: Actor
    session: str
    question: str
    asked_at: Instant
    expires_at: Instant | None


@dataclass(frozen=True, slots=True)
class Watched:
    """An event of a work order that an agent waits for, and that has come."""

    workspace: str
    key: str
    payload: Mapping[str, str]


def come(rx: Rx, workspace: str, session: str, after: int, limit: int) -> tuple[FollowUp, ...]:
    """What has come for a session after a place of the journal, oldest first."""
    rows = rx.all(
        """SELECT * FROM (
             SELECT wake.*, (SELECT max(sequence) FROM journal
                             WHERE subject_kind = 'wake' AND subject_id = wake.id) AS sequence
             FROM wake WHERE workspace = ? AND session = ? AND state IN ('fired', 'expired'))
           WHERE sequence > ? ORDER BY sequence LIMIT ?""",
        (workspace, session, after, require_batch(limit)),
    )
    return tuple(
        FollowUp(
            sequence=row["sequence"],
            id=row["id"],
            trigger=row["trigger"],
            intent=json.loads(row["intent"]),
            result=None if row["result"] is None else json.loads(row["result"]),
            expired=bool(row["expired"]),
            event_key=row["event_key"],
            answered_by=None
            if row["answered_by"] is None
            else Actor(ActorKind(row["answered_by_kind"]), row["answered_by"]),
            due_at=row["due_at"],
            ended_at=row["ended_at"],
            series=row["series"],
            missed=row["missed"],
        )
        for row in rows
    )


def questions(rx: Rx, limit: int) -> tuple[Question, ...]:
    """What agents ask and nobody has answered yet, oldest first."""
    rows = rx.all(
        f"""SELECT * FROM wake WHERE workspace >= '{AGENT_WORKSPACE}' AND workspace < 'agent;'
              AND trigger = 'on_approval' AND state = 'pending' AND admitted_at IS NULL
            ORDER BY seq LIMIT ?""",
        (require_batch(limit),),
    )
    return tuple(
        Question(
            id=row["id"],
            asked_by=Actor(ActorKind(row["created_by_kind"]), row["created_by"]),
            session=row["session"] or "",
            question=str(json.loads(row["intent"]).get("question", "")),
            asked_at=row["created_at"],
            expires_at=row["expires_at"],
        )
        for row in rows
    )


def watched(rx: Rx, limit: int) -> tuple[Watched, ...]:
    """Events of their own work orders that agents wait for and that are so now.

    The key ``WO-118:ended`` is so once it was accepted, rejected or cancelled, ``WO-118:STATE`` while it is there.
    """
    rows = rx.all(
        f"""SELECT DISTINCT wake.workspace, wake.event_key, work_order.number, work_order.state
            FROM wake JOIN work_order
              ON work_order.number = CAST(substr(wake.event_key, 4) AS INTEGER)
             AND work_order.requested_by_kind = 'agent'
             AND work_order.requested_by = substr(wake.workspace, {len(AGENT_WORKSPACE) + 1})
            WHERE wake.workspace >= '{AGENT_WORKSPACE}' AND wake.workspace < 'agent;'
              AND wake.state = 'pending' AND wake.trigger = 'on_event' AND wake.admitted_at IS NULL
              AND wake.event_key LIKE 'WO-%:%'"""
    )
    found = []
    for row in rows:
        state = WorkOrderState(row["state"])
        name = f"WO-{row['number']}"
        wanted = {f"{name}:{state.lower()}", *([f"{name}:ended"] if state in _ENDED else [])}
        if row["event_key"] in wanted:
            payload = {"work_order": name, "state": state.value}
            found.append(Watched(row["workspace"], row["event_key"], payload))
    return tuple(found[:limit])
