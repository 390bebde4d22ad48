"""Standing grants: a person's approval given beforehand, for few uses of one exact thing, for a short time (E-42a).

A grant approves a request in the transaction in which it is asked for, and counts that as a use. Nothing else
changes: admission, budgets, holds and the look again at the start are those of any approval. A grant ends by its
time (equality is too late), by its last use, by revocation, and is void on any drift, after a restore and once
the clock is distrusted. When it ends before its time, what it approved and nothing has used yet is taken back with
it, and is asked for as if there had been no grant. Nothing ever widens a grant or makes one but a person.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from engine.actors import ENGINE, Actor, ActorKind
from engine.canonical import canonical_json
from engine.dispatch.approvals import (
    Sealed,
    approval_row,
    ask_approval,
    end_approval,
    require_reason,
)
from engine.dispatch.differences import Difference
from engine.dispatch.expiry_notices import cancel_notice
from engine.dispatch.grant_terms import Terms, fit, make_terms
from engine.dispatch.plan import plan_from_json
from engine.errors import (
    ClockDistrusted,
    GateClosed,
    InvalidValue,
    NotFound,
    Refused,
    Unauthorized,
    WrongState,
)
from engine.ids import new_id
from engine.instants import Instant, format_instant, require_batch, require_instant
from engine.scheduling.gates import time_is_trusted
from engine.scheduling.lanes import arm_lane
from engine.scheduling.tasks import task_row, touch_work_order
from engine.scheduling.transition import APPROVAL, GRANT, transition
from engine.states import ApprovalState, GrantState
from engine.storage import Rx, Subject, Tx, require_epoch

LONGEST_MS = 24 * 3_600_000
"""The longest time for which a grant may be given."""

MOST_USES = 100
"""The most uses a grant may have."""

_MAKES = (ApprovalState.PENDING, ApprovalState.APPROVED, ApprovalState.CONSUMED)


def grant_row(rx: Rx, grant_id: str) -> sqlite3.Row:
    """The row of a grant; `NotFound` if there is none."""
    row = rx.one("SELECT * FROM standing_grant WHERE id = ?", (grant_id,))
    if row is None:
        raise NotFound(f"Grant {grant_id} does not exist.", do="Look at the list of grants.")
    return row


def give(
    tx: Tx,
    approval_id: str,
    seal: str,
    actor: Actor,
    ends_at: Instant,
    uses: int,
    free: Sequence[int] = (),
    any_state: bool = False,
    covers_validation: bool = False,
    reason: str = "",
    *,
    now: Instant,
) -> str:
    """Make a grant from a card whose ``seal`` the person saw; returns its id.

    ``ends_at`` is when it has ended, ``uses`` how many requests it approves at most. ``free``, ``any_state`` and
    ``covers_validation`` say what it covers, see `engine.dispatch.grant_terms`. It holds for requests of the same
    requester, project and workspace. If the request waits, it is approved by this as the first use. Only a person
    gives a grant, and never while the clock is distrusted.
    """
    if actor.kind is not ActorKind.PERSON:
        raise Unauthorized(
            f"{actor} may not make standing grants; only a person gives one.",
            means="Nothing was changed.",
            do="Ask the supervising person to do it in the console.",
        )
    _require_bounds(tx, ends_at, uses, now)
    row = approval_row(tx, approval_id)
    if row["seal"] != seal:
        raise Refused(
            "What was shown is not what is asked for now.",
            means="The request changed while you looked; nothing was granted.",
            do="Look at the card again.",
            shown=seal,
            asked=row["seal"],
        )
    pending = row["state"] == ApprovalState.PENDING
    if row["state"] not in _MAKES or (pending and now >= row["expires_at"]):
        found = ApprovalState.EXPIRED if pending else row["state"]
        raise WrongState(
            f"The request is {found}; a grant is made from one that waits or was approved.",
            means="Nothing was granted and nothing runs.",
            do="Ask again; then make the grant from the new request.",
            found=found,
        )
    if covers_validation and row["validation_seal"] is None:
        raise InvalidValue("This step has no validation of its own to cover.", do="Grant the step alone.")
    terms = make_terms(
        plan_from_json(json.loads(row["plan"])),
        free,
        any_state,
        row["validation_seal"] if covers_validation else None,
    )
    grant = _insert(tx, row, terms, actor, ends_at, uses, reason, now)
    if pending and _use(tx, grant, row, terms, now) is None:
        raise AssertionError("a new grant has a use left")
    return str(grant["id"])


def ask(
    tx: Tx,
    task_id: str,
    sealed: Sealed,
    actor: Actor,
    life_ms: int,
    *,
    now: Instant,
    previous_id: str | None = None,
    differences: Sequence[Difference] = (),
) -> str:
    """Ask for the approval of a task, as `ask_approval` does, and let a standing grant answer if one covers it."""
    approval_id = ask_approval(
        tx, task_id, sealed, actor, life_ms, now=now, previous_id=previous_id, differences=differences
    )
    answer(tx, approval_id, now=now)
    return approval_id


def answer(tx: Tx, approval_id: str, *, now: Instant) -> str | None:
    """Approve a request that waits by a grant that covers it; the grant's id, None if a person has to look.

    Grants whose own thing is asked for, but drifted, are void by this. A task of which a person has rejected or
    withdrawn a request before is for a person. By a distrusted clock no grant is used.
    """
    row = approval_row(tx, approval_id)
    if row["state"] != ApprovalState.PENDING or not time_is_trusted(tx):
        return None
    task = task_row(tx, row["task_id"])
    grants = tx.all(
        "SELECT * FROM standing_grant WHERE lane = ? AND state = 'LIVE' ORDER BY ends_at, id", (task["lane"],)
    )
    if not grants:
        return None
    order = _order(tx, row)
    covering: list[tuple[sqlite3.Row, Terms]] = []
    for grant in grants:
        asked = (order["requested_by_kind"], order["requested_by"], order["project"])
        if now >= grant["ends_at"] or asked != (
            grant["requested_by_kind"],
            grant["requested_by"],
            grant["project"],
        ):
            continue
        terms = terms_of(grant)
        found = fit(terms, json.loads(row["plan"]), row["validation_seal"])
        if found.covered:
            covering.append((grant, terms))
        elif found.same_thing:
            _end(tx, grant, GrantState.VOID, ENGINE, f"drift: {', '.join(found.drift)}", now)
    if not covering or _refused_before(tx, row):
        return None
    grant, terms = covering[0]
    return _use(tx, grant, row, terms, now)


def revoke(tx: Tx, grant_id: str, actor: Actor, reason: str, *, now: Instant) -> sqlite3.Row:
    """End a grant at once, for a person; what it approved and nothing has used yet is taken back with it.

    What runs goes on. Revoking it again changes nothing; `WrongState` for one that ended otherwise.
    """
    if actor.kind is not ActorKind.PERSON:
        raise Unauthorized(
            f"{actor} may not end standing grants; only a person does.", do="Ask the supervising person."
        )
    grant = grant_row(tx, grant_id)
    if grant["state"] == GrantState.REVOKED:
        return grant
    if grant["state"] not in (GrantState.LIVE, GrantState.USED_UP):
        raise WrongState(
            f"The grant has ended: {grant['end_reason']}.",
            means="It approves nothing any more.",
            do="Look at the list of grants.",
            found=grant["state"],
        )
    require_reason(reason, "revoke a grant")
    return _end(tx, grant, GrantState.REVOKED, actor, reason, now)


def expire_grants(tx: Tx, epoch: int, limit: int = 100, *, now: Instant) -> tuple[str, ...]:
    """End at most ``limit`` grants whose time has come, equality included; return their ids.

    What they approved expires by its own time, which is never later.
    """
    require_epoch(tx, epoch)
    require_batch(limit)
    if not time_is_trusted(tx):
        return ()
    rows = tx.all(
        "SELECT * FROM standing_grant WHERE state = 'LIVE' AND ends_at <= ? ORDER BY ends_at, id LIMIT ?",
        (now, limit),
    )
    for grant in rows:
        _end(tx, grant, GrantState.EXPIRED, ENGINE, "its time ended", now)
    return tuple(row["id"] for row in rows)


def void_all(tx: Tx, reason: str, now: Instant) -> tuple[str, ...]:
    """End every grant that could still approve anything, or whose approvals nothing has used yet; their ids."""
    rows = tx.all(
        """SELECT * FROM standing_grant WHERE state = 'LIVE' OR (state = 'USED_UP' AND EXISTS (
             SELECT 1 FROM grant_use JOIN approval ON approval.id = grant_use.approval_id
             WHERE grant_use.grant_id = standing_grant.id AND approval.state = 'APPROVED'))
           ORDER BY id"""
    )
    for grant in rows:
        _end(tx, grant, GrantState.VOID, ENGINE, reason, now)
    return tuple(row["id"] for row in rows)


def grant_of(rx: Rx, approval_id: str) -> sqlite3.Row | None:
    """The grant that an approval came from, itself or the one that covered it; None if a person gave it."""
    return rx.one(
        """SELECT standing_grant.* FROM approval
           JOIN grant_use ON grant_use.approval_id IN (approval.id, approval.covered_by)
           JOIN standing_grant ON standing_grant.id = grant_use.grant_id WHERE approval.id = ?""",
        (approval_id,),
    )


def still_in_force(rx: Rx, approval_id: str, now: Instant) -> bool:
    """Whether an approval counts as far as grants are concerned: given by a person, or by a grant not ended."""
    grant = grant_of(rx, approval_id)
    return grant is None or (
        grant["state"] in (GrantState.LIVE, GrantState.USED_UP) and now < grant["ends_at"]
    )


def require_in_force(rx: Rx, approval_id: str, now: Instant) -> None:
    """Raise `GateClosed` if an approval came from a grant that has ended otherwise than by its last use."""
    if not still_in_force(rx, approval_id, now):
        raise GateClosed(
            "The standing grant that this approval came from has ended.",
            means="Nothing ran.",
            do="Look at the request; it is asked for again.",
            gate="approval",
        )


def life_left(rx: Rx, approval_id: str, life_ms: int, now: Instant) -> int:
    """How long what an approval covers may live: no longer than the grant it came from."""
    grant = grant_of(rx, approval_id)
    return life_ms if grant is None else min(life_ms, grant["ends_at"] - now)


def terms_of(grant: sqlite3.Row) -> Terms:
    """The terms of a grant's row."""
    return Terms(
        json.loads(grant["template"]),
        tuple(json.loads(grant["free"])),
        bool(grant["any_state"]),
        grant["validation_seal"],
    )


def _require_bounds(tx: Tx, ends_at: Instant, uses: int, now: Instant) -> None:
    if not time_is_trusted(tx):
        raise ClockDistrusted(
            "The clock is distrusted, so nothing can be granted until a time.",
            means="Nothing was granted.",
            do="Restore trust in the clock first.",
            gate="clock",
        )
    require_instant(ends_at, "ends_at")
    if not now < ends_at <= now + LONGEST_MS:
        raise InvalidValue(
            f"A grant until {format_instant(ends_at)} is no grant for up to 24 hours from now.",
            means="Nothing was granted.",
            do="Give a time that is to come, at most 24 hours from now.",
            field="ends_at",
        )
    if type(uses) is not int or not 1 <= uses <= MOST_USES:
        raise InvalidValue(
            f"{uses!r} is not a whole number of uses from 1 to {MOST_USES}.",
            means="Nothing was granted.",
            do="Give as few uses as will do.",
            field="uses",
        )


def _insert(
    tx: Tx,
    approval: sqlite3.Row,
    terms: Terms,
    actor: Actor,
    ends_at: Instant,
    uses: int,
    reason: str,
    now: Instant,
) -> sqlite3.Row:
    grant_id = new_id(now)
    order = _order(tx, approval)
    tx.run(
        """INSERT INTO standing_grant(id, state, made_from, number, title, lane, project, requested_by_kind,
             requested_by, seal, template, template_digest, free, any_state, validation_seal, validation_plan,
             given_by_kind, given_by, reason, given_at, ends_at, max_uses)
           VALUES (?, 'LIVE', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            grant_id,
            approval["id"],
            order["number"],
            order["title"],
            task_row(tx, approval["task_id"])["lane"],
            order["project"],
            order["requested_by_kind"],
            order["requested_by"],
            approval["seal"],
            canonical_json(terms.template).decode(),
            terms.digest,
            json.dumps(list(terms.free)),
            int(terms.any_state),
            terms.validation_seal,
            approval["validation_plan"] if terms.validation_seal is not None else None,
            actor.kind,
            actor.name,
            reason,
            now,
            ends_at,
            uses,
        ),
    )
    tx.journal(
        "grant.given",
        Subject("grant", grant_id),
        actor,
        now,
        work_order_id=approval["work_order_id"],
        detail={
            "approval": approval["id"],
            "seal": approval["seal"],
            "template": terms.digest,
            "free": list(terms.free),
            "any_state": terms.any_state,
            "validation_seal": terms.validation_seal,
            "uses": uses,
            "ends_at": ends_at,
            "reason": reason,
        },
    )
    tx.boundary("grant")
    return grant_row(tx, grant_id)


def _use(tx: Tx, grant: sqlite3.Row, approval: sqlite3.Row, terms: Terms, now: Instant) -> str | None:
    """Count one use and approve by it; None, and nothing is done, if there is none left."""
    counted = tx.one(
        """UPDATE standing_grant SET uses = uses + 1
           WHERE id = ? AND state = 'LIVE' AND uses < max_uses AND ends_at > ? RETURNING uses""",
        (grant["id"], now),
    )
    if counted is None:
        return None
    use, most = counted["uses"], grant["max_uses"]
    values = fit(terms, json.loads(approval["plan"]), approval["validation_seal"]).values
    row = transition(
        tx,
        APPROVAL,
        approval["id"],
        ApprovalState.APPROVED,
        decided_by=grant["given_by"],
        decided_at=now,
        decision_reason=f"by the standing grant of {grant['given_by']} · use {use} of {most}",
        covers_validation=int(terms.validation_seal is not None),
        expires_at=min(approval["expires_at"], grant["ends_at"]),
    )
    tx.run(
        """INSERT INTO grant_use(grant_id, ordinal, approval_id, work_order_id, number, title, free_values, used_at)
           SELECT ?, ?, ?, id, number, title, ?, ? FROM work_order WHERE id = ?""",
        (grant["id"], use, row["id"], json.dumps(list(values)), now, row["work_order_id"]),
    )
    task = task_row(tx, row["task_id"])
    tx.run("UPDATE task SET approval_id = ? WHERE id = ?", (row["id"], task["id"]))
    tx.journal(
        "approval.approved",
        Subject("approval", row["id"]),
        ENGINE,
        now,
        work_order_id=row["work_order_id"],
        detail={
            "task": task["id"],
            "seal": row["seal"],
            "covers_validation": bool(row["covers_validation"]),
            "reason": row["decision_reason"],
            "grant": grant["id"],
        },
    )
    tx.journal(
        "grant.used",
        Subject("grant", grant["id"]),
        ENGINE,
        now,
        work_order_id=row["work_order_id"],
        detail={"approval": row["id"], "use": use, "of": most, "values": list(values)},
    )
    cancel_notice(tx, row["id"], "a standing grant approved the request", now=now)
    if use == most:
        _end(tx, grant, GrantState.USED_UP, ENGINE, "its last use is made", now)
    touch_work_order(tx, row["work_order_id"], now)
    arm_lane(tx, task["lane"], now)
    tx.boundary("grant_use")
    return str(grant["id"])


def _end(tx: Tx, grant: sqlite3.Row, to: GrantState, actor: Actor, reason: str, now: Instant) -> sqlite3.Row:
    """End a grant and journal why; revoked or void, it takes back what it approved and nothing has used."""
    row = transition(
        tx,
        GRANT,
        grant["id"],
        to,
        ended_at=now,
        ended_by_kind=actor.kind,
        ended_by=actor.name,
        end_reason=reason,
    )
    taken: list[str] = []
    if to in (GrantState.REVOKED, GrantState.VOID):
        for approval in tx.all(
            """SELECT approval.* FROM grant_use JOIN approval
                 ON approval.id = grant_use.approval_id OR approval.covered_by = grant_use.approval_id
               WHERE grant_use.grant_id = ? AND approval.state = 'APPROVED' ORDER BY approval.id""",
            (grant["id"],),
        ):
            # The work order stays active: the engine asks again, as if there had been no grant.
            end_approval(
                tx, approval, ApprovalState.WITHDRAWN, actor, f"its standing grant has ended: {reason}", now
            )
            taken.append(approval["id"])
    tx.journal(
        f"grant.{to.lower()}",
        Subject("grant", grant["id"]),
        actor,
        now,
        detail={"reason": reason, "uses": row["uses"], "of": row["max_uses"], "taken_back": taken},
    )
    return row


def _order(rx: Rx, approval: sqlite3.Row) -> sqlite3.Row:
    order = rx.one("SELECT * FROM work_order WHERE id = ?", (approval["work_order_id"],))
    assert order is not None
    return order


def _refused_before(rx: Rx, approval: sqlite3.Row) -> bool:
    """Whether a person has rejected or withdrawn a request for this task before."""
    return (
        rx.one(
            """SELECT 1 FROM approval WHERE task_id = ? AND state IN ('REJECTED', 'WITHDRAWN')
                 AND id NOT IN (SELECT approval_id FROM grant_use)""",
            (approval["task_id"],),
        )
        is not None
    )
