"""Reads of standing grants: what is in force, what each covers, and every use (E-42a)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.actors import Actor, ActorKind
from engine.dispatch.grant_terms import coverage
from engine.dispatch.grants import grant_row, terms_of
from engine.instants import Instant, require_batch
from engine.states import ApprovalState, GrantState
from engine.storage import Rx
from engine.views.rows import actor_of
from engine.views.values import GivenBy


@dataclass(frozen=True, slots=True)
class GrantRow:
    """One standing grant as lists show it.

    ``argv`` is the command with None where an argument is free. ``number`` and ``title`` are those of the work order
    it was made from. ``state`` is EXPIRED from its end on, whether or not that has been recorded yet. ``free`` are
    places in argv, counted from 0, the program.
    """

    id: str
    state: GrantState
    number: int
    title: str
    argv: tuple[str | None, ...]
    free: tuple[int, ...]
    any_state: bool
    covers_validation: bool
    workspace: str
    project: str
    requested_by: Actor
    given_by: Actor
    given_at: Instant
    ends_at: Instant
    uses: int
    max_uses: int
    reason: str
    ended_at: Instant | None
    ended_by: Actor | None
    end_reason: str

    @property
    def left(self) -> int:
        """How many uses are left while it is in force."""
        return self.max_uses - self.uses if self.state is GrantState.LIVE else 0


@dataclass(frozen=True, slots=True)
class GrantUseRow:
    """One use of a grant: which request it approved, the values of what is free, and what became of the request.

    ``approval_state`` is None once the work order was removed by retention.
    """

    ordinal: int
    approval_id: str
    work_order_id: str
    number: int
    title: str
    values: tuple[str, ...]
    used_at: Instant
    approval_state: ApprovalState | None


@dataclass(frozen=True, slots=True)
class GrantView:
    """A grant whole.

    ``template`` is the plan with null for what is free, ``digest`` stands for it; ``covers`` says in sentences what
    is fixed and what is free. ``validation_plan`` is that of the validation it covers too.
    """

    row: GrantRow
    made_from: str
    seal: str
    template: Mapping[str, Any]
    digest: str
    validation_plan: Mapping[str, Any] | None
    covers: tuple[str, ...]
    uses: tuple[GrantUseRow, ...]


def grants(
    rx: Rx, states: Sequence[GrantState], after: str | None, limit: int, now: Instant
) -> tuple[GrantRow, ...]:
    """Grants, the newest first, at most ``limit`` after the grant ``after``; in these states, or all."""
    require_batch(limit)
    where: list[str] = ["1 = 1"]
    values: list[object] = []
    if after is not None:
        where.append("id < ?")
        values.append(after)
    if states:
        where.append(f"{_STATE_NOW} IN ({', '.join('?' * len(states))})")
        values = [*values, now, *states]
    rows = rx.all(
        f"SELECT * FROM standing_grant WHERE {' AND '.join(where)} ORDER BY id DESC LIMIT ?", (*values, limit)
    )
    return tuple(_row(row, now) for row in rows)


def grant_view(rx: Rx, grant_id: str, now: Instant) -> GrantView:
    """One grant whole."""
    row = grant_row(rx, grant_id)
    terms = terms_of(row)
    return GrantView(
        row=_row(row, now),
        made_from=row["made_from"],
        seal=row["seal"],
        template=terms.template,
        digest=row["template_digest"],
        validation_plan=json.loads(row["validation_plan"]) if row["validation_plan"] else None,
        covers=coverage(terms),
        uses=_uses(rx, grant_id),
    )


def given_by(rx: Rx, approval_id: str) -> GivenBy | None:
    """By which use of which grant a request was approved; None if a person did it, or nobody."""
    row = rx.one(
        """SELECT grant_use.*, standing_grant.given_by, standing_grant.max_uses FROM grant_use
           JOIN standing_grant ON standing_grant.id = grant_use.grant_id WHERE grant_use.approval_id = ?""",
        (approval_id,),
    )
    if row is None:
        return None
    return GivenBy(row["grant_id"], row["given_by"], row["ordinal"], row["max_uses"])


_STATE_NOW = "CASE WHEN state = 'LIVE' AND ends_at <= ? THEN 'EXPIRED' ELSE state END"


def _row(row: sqlite3.Row, now: Instant) -> GrantRow:
    template = json.loads(row["template"])
    state = GrantState(row["state"])
    if state is GrantState.LIVE and now >= row["ends_at"]:
        state = GrantState.EXPIRED
    return GrantRow(
        id=row["id"],
        state=state,
        number=row["number"],
        title=row["title"],
        argv=tuple(template["argv"]),
        free=tuple(json.loads(row["free"])),
        any_state=bool(row["any_state"]),
        covers_validation=row["validation_seal"] is not None,
        workspace=template["workspace"]["path"],
        project=row["project"],
        requested_by=actor_of(row, "requested_by"),
        given_by=actor_of(row, "given_by"),
        given_at=row["given_at"],
        ends_at=row["ends_at"],
        uses=row["uses"],
        max_uses=row["max_uses"],
        reason=row["reason"],
        ended_at=row["ended_at"],
        ended_by=None if row["ended_by"] is None else Actor(ActorKind(row["ended_by_kind"]), row["ended_by"]),
        end_reason=row["end_reason"],
    )


def _uses(rx: Rx, grant_id: str) -> tuple[GrantUseRow, ...]:
    rows = rx.all(
        """SELECT grant_use.*, approval.state FROM grant_use LEFT JOIN approval ON approval.id = grant_use.approval_id
           WHERE grant_use.grant_id = ? ORDER BY grant_use.ordinal""",
        (grant_id,),
    )
    return tuple(
        GrantUseRow(
            ordinal=row["ordinal"],
            approval_id=row["approval_id"],
            work_order_id=row["work_order_id"],
            number=row["number"],
            title=row["title"],
            values=tuple(json.loads(row["free_values"])),
            used_at=row["used_at"],
            approval_state=None if row["state"] is None else ApprovalState(row["state"]),
        )
        for row in rows
    )
