"""Work orders as rows: made together with their scope, first task and first request for approval."""

from __future__ import annotations

import json
import sqlite3

from engine.actors import Actor, ActorKind
from engine.dispatch.approvals import Sealed
from engine.dispatch.budgets import create_scope, project_scope
from engine.dispatch.grants import ask
from engine.errors import InvalidValue, NotFound, Refused
from engine.ids import new_id
from engine.instants import Instant
from engine.scheduling.tasks import create_task
from engine.settings import HOUR_MS, RequestLimits
from engine.states import Purpose
from engine.storage import Rx, Subject, Tx
from engine.work_order import WorkOrderSpec, work_order_from_json


def _own_key(actor: Actor, key: str | None) -> str | None:
    """The form in which a request key is stored: a person's as given, any other with whose it is."""
    if key is None or actor.kind is ActorKind.PERSON:
        return key
    return json.dumps([actor.kind, actor.name, key])


def create_work_order(
    tx: Tx,
    spec: WorkOrderSpec,
    lane: str,
    sealed: Sealed,
    actor: Actor,
    key: str | None,
    *,
    limits: RequestLimits | None = None,
    now: Instant,
) -> str:
    """Add a work order with its scope, its IMPLEMENT task and the request for its approval; return its id.

    ``lane`` is the workspace's canonical path. A repeat with the same ``key`` returns the first one's id;
    `InvalidValue` if that one asked for something else. Keys of agents and scripts are their own: two of them may
    use the same one, and neither learns of the other's work order by it. Raises `Refused` if that would be more than
    the ``limits`` allow an agent or a script.
    """
    written, own_key = json.dumps(spec.to_json()), _own_key(actor, key)
    # Before keys were their requester's own, they were stored as given.
    known = tx.one(
        """SELECT id, number, spec FROM work_order WHERE request_key = ?
           UNION ALL SELECT id, number, spec FROM work_order
             WHERE request_key = ? AND requested_by_kind = ? AND requested_by = ? LIMIT 1""",
        (own_key, key, actor.kind, actor.name),
    )
    if known is not None:
        if known["spec"] != written:
            raise InvalidValue(
                f"The key {key!r} was used before, for WO-{known['number']}, which asks for something else.",
                means="A key stands for one work order. Nothing was saved.",
                do="Give a new key, or none.",
                field="key",
            )
        return str(known["id"])
    if limits is not None and actor.kind in (ActorKind.AGENT, ActorKind.SCRIPT):
        _require_room(tx, actor, limits, now)
    work_order_id = new_id(now)
    number = next_number(tx, "work_order")
    scope_id = create_scope(
        tx, project_scope(tx, spec.project, actor, now), "WORK_ORDER", f"WO-{number}", spec.limits, actor, now
    )
    tx.run(
        """INSERT INTO work_order(id, number, title, workspace, lane, project, scope_id, spec, state,
             corrections_allowed, requested_by_kind, requested_by, request_key, created_at, changed_at)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'ACTIVE', ?, ?, ?, ?, ?, ?)""",
        (
            work_order_id,
            number,
            spec.title,
            spec.workspace,
            lane,
            spec.project,
            scope_id,
            written,
            spec.correction.max_corrections,
            actor.kind,
            actor.name,
            own_key,
            now,
            now,
        ),
    )
    tx.journal(
        "work_order.created",
        Subject("work_order", work_order_id),
        actor,
        now,
        work_order_id=work_order_id,
        detail={"number": number, "title": spec.title, "workspace": spec.workspace, "project": spec.project},
    )
    task_id = create_task(
        tx,
        work_order_row(tx, work_order_id),
        Purpose.IMPLEMENT,
        spec.implementation,
        actor=actor,
        now=now,
        due_at=spec.due_at,
    )
    ask(tx, task_id, sealed, actor, spec.approval_life_ms, now=now)
    return work_order_id


def _require_room(tx: Tx, actor: Actor, limits: RequestLimits, now: Instant) -> None:
    who = (actor.kind, actor.name)
    still_open = _count(
        tx,
        # Named: the planner takes the other one, which holds all that was ever asked for.
        """SELECT 1 FROM work_order INDEXED BY work_order_open_of
           WHERE requested_by_kind = ? AND requested_by = ? AND ended_at IS NULL LIMIT ?""",
        (*who, limits.open),
    )
    if still_open >= limits.open:
        raise Refused(
            f"{actor.name} has {still_open} work orders that have not ended; more are not taken.",
            means="Nothing was saved.",
            do="Wait until some have ended, or cancel those that are not needed.",
            limit=limits.open,
        )
    # What bears a later time counts too: a clock that was set back makes no room.
    lately = _count(
        tx,
        """SELECT 1 FROM work_order INDEXED BY work_order_asked_by
           WHERE requested_by_kind = ? AND requested_by = ? AND created_at > ? LIMIT ?""",
        (*who, now - HOUR_MS, limits.per_hour),
    )
    if lately >= limits.per_hour:
        raise Refused(
            f"{actor.name} has asked for {lately} work orders within an hour; more are not taken.",
            means="Nothing was saved.",
            do="Ask again later, and for more of the work in one.",
            limit=limits.per_hour,
        )


def _count(tx: Tx, rows: str, values: tuple[object, ...]) -> int:
    row = tx.one(f"SELECT count(*) AS found FROM ({rows})", values)
    assert row is not None
    return int(row["found"])


def next_number(tx: Tx, name: str) -> int:
    """The next value of a named counter, starting at 1."""
    row = tx.one(
        """INSERT INTO counter(name, value) VALUES (?, 1)
           ON CONFLICT (name) DO UPDATE SET value = counter.value + 1 RETURNING value""",
        (name,),
    )
    assert row is not None
    return int(row["value"])


def work_order_row(rx: Rx, work_order_id: str) -> sqlite3.Row:
    """The row of a work order; `NotFound` if there is none."""
    row = rx.one("SELECT * FROM work_order WHERE id = ?", (work_order_id,))
    if row is None:
        raise NotFound(f"Work order {work_order_id} does not exist.", do="Look at the list of work orders.")
    return row


def spec_of(work_order: sqlite3.Row) -> WorkOrderSpec:
    """The work order as it was asked for."""
    return work_order_from_json(json.loads(work_order["spec"]))
