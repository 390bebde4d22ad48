"""What becomes of restored data before anybody works with it, in one transaction (E-82).

The world has moved on since the copy was made. So nothing that was under way in it is taken to be under way
now, nothing that was approved in it is approved now, and nothing starts until a person has looked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from engine.actors import ENGINE, Actor
from engine.backup.comparing import Present
from engine.backup.proof import remember_proof
from engine.control.agents import revoke_all
from engine.control.holds import WHOLE_ENGINE, place_hold, release
from engine.dispatch.approvals import end_approval, require_reason
from engine.dispatch.delivery import mark_unknown
from engine.dispatch.grants import void_all
from engine.dispatch.restores import RESTORE_SUBJECT
from engine.errors import WrongState
from engine.instants import Instant
from engine.scheduling.claims import recover_abandoned_claims
from engine.states import ApprovalState, HoldKind, WorkOrderState
from engine.storage import Subject, Tx, take_epoch
from engine.storage.owner_lock import Owner
from engine.validation.workflow import move_work_order

RESTORED = "restored"
_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What a restore made of the data: the epoch in force, and the identities that it touched.

    ``unknown`` are attempts that were in flight in the copy, ``void`` approvals that nothing had used, ``asked``
    the work orders that need a person's decision before anything of them is asked for again.
    """

    epoch: int
    high_water: Instant | None
    unknown: tuple[str, ...]
    void: tuple[str, ...]
    asked: tuple[str, ...]
    hold_id: str


def make_safe(
    tx: Tx,
    present: Present | None,
    origin: Mapping[str, object],
    sentence: str,
    actor: Actor,
    owner: Owner,
    *,
    now: Instant,
) -> Aftermath:
    """Make restored data safe to open.

    A new epoch above both, the higher high water, no trust in a clock that the present distrusts, numbers that
    were given out stay given out, attempts in flight UNKNOWN, unused approvals and keys of agents void, a RESTORE
    hold. ``origin`` is journalled; ``sentence`` is the reason of the hold. ``present`` is what is set aside, None if
    unreadable.
    """
    epoch = take_epoch(tx, owner, now, above=0 if present is None else present.contents.epoch)
    hold = place_hold(tx, WHOLE_ENGINE, HoldKind.RESTORE, sentence, actor, now=now)
    high_water = _carry_clock(tx, present, now)
    if present is not None:
        for name, value in present.counters.items():
            tx.run(
                """INSERT INTO counter(name, value) VALUES (?, ?)
                   ON CONFLICT (name) DO UPDATE SET value = max(counter.value, excluded.value)""",
                (name, value),
            )
        if present.proof is not None:
            remember_proof(tx, present.proof)
    while len(recover_abandoned_claims(tx, epoch, _BATCH, now=now)) == _BATCH:
        pass
    unknown = _in_flight_unknown(tx, present, now)
    void_all(tx, "the data was restored from a backup", now)
    void = _void_approvals(tx, now)
    asked = _ask_person(tx, present, now)
    revoke_all(tx, ENGINE, "void: the data was restored from a backup", now=now)
    tx.journal(
        "restore.done",
        Subject(RESTORE_SUBJECT, hold["id"]),
        actor,
        now,
        detail={
            **origin,
            "unknown": list(unknown),
            "void": list(void),
            "needs_decision": list(asked),
            # Later restores read it: what ran in the data set aside has happened, whatever comes back.
            "started": [] if present is None else _known_here(tx, present.started),
            "set_aside": None
            if present is None
            else {
                "instance": present.contents.instance_id,
                "epoch": present.contents.epoch,
                "journal": [present.contents.journal_sequence, present.contents.journal_hash],
            },
        },
    )
    return Aftermath(epoch, high_water, unknown, void, asked, hold["id"])


def acknowledge_restore(tx: Tx, actor: Actor, reason: str, *, now: Instant) -> str:
    """Lift the RESTORE hold: a person has looked at what the restore left. Returns the hold's id.

    `WrongState` if there is none; the reason is required and kept.
    """
    hold = tx.one(
        "SELECT * FROM hold WHERE node_kind = 'ENGINE' AND kind = 'RESTORE' AND released_at IS NULL"
    )
    if hold is None:
        raise WrongState("The engine is not held after a restore.", do="Look at its present holds.", found="")
    require_reason(reason, "let work begin after a restore")
    release(tx, hold, actor, reason, now)
    return str(hold["id"])


def _carry_clock(tx: Tx, present: Present | None, now: Instant) -> Instant | None:
    """Keep the later reading, the higher high water, and a distrust that was not ended by a person (E-33)."""
    mine = tx.one("SELECT * FROM clock_state WHERE id = 1")
    theirs = None if present is None else present.clock
    if theirs is None:
        return None if mine is None else int(mine["high_water"])
    waters = [_number(theirs["high_water"]), *([] if mine is None else [int(mine["high_water"])])]
    distrusted = theirs["distrusted_since"]
    if distrusted is None and mine is not None:
        distrusted = mine["distrusted_since"]
    tx.run(
        """INSERT INTO clock_state(id, wall, elapsed_ms, awake_ms, boot, high_water, distrusted_since)
           VALUES (1, ?, ?, ?, ?, ?, ?)
           ON CONFLICT (id) DO UPDATE SET wall = excluded.wall, elapsed_ms = excluded.elapsed_ms,
             awake_ms = excluded.awake_ms, boot = excluded.boot, high_water = excluded.high_water,
             distrusted_since = excluded.distrusted_since""",
        (
            theirs["wall"],
            theirs["elapsed_ms"],
            theirs["awake_ms"],
            theirs["boot"],
            max(waters),
            distrusted,
        ),
    )
    if distrusted is not None:
        reason = "The clock was distrusted before the restore; a restore does not make it right."
        place_hold(tx, WHOLE_ENGINE, HoldKind.CLOCK, reason, ENGINE, now=now)
    return max(waters)


def _in_flight_unknown(tx: Tx, present: Present | None, now: Instant) -> tuple[str, ...]:
    rows = tx.all(
        """SELECT * FROM attempt WHERE state IN
             ('DISPATCH_AUTHORIZED', 'DELIVERED', 'ACKNOWLEDGED', 'RUNNING') ORDER BY id"""
    )
    for attempt in rows:
        reason = "It was in flight when the backup was made; what became of it then is not in this data."
        fate = None if present is None else present.fates.get(attempt["id"])
        if fate is not None:
            reason += f" In the data that was set aside it is {fate}."
        mark_unknown(tx, attempt, RESTORED, reason, ENGINE, now)
    return tuple(row["id"] for row in rows)


def _void_approvals(tx: Tx, now: Instant) -> tuple[str, ...]:
    rows = tx.all("SELECT * FROM approval WHERE state IN ('PENDING', 'APPROVED') ORDER BY id")
    for approval in rows:
        end_approval(
            tx, approval, ApprovalState.WITHDRAWN, ENGINE, "void: the data was restored from a backup", now
        )
    return tuple(row["id"] for row in rows)


def _ask_person(tx: Tx, present: Present | None, now: Instant) -> tuple[str, ...]:
    """Put active orders before a person where something may have happened that this data does not know.

    Known not to have been started since: the engine asks for its approval afresh. Otherwise a new request in the
    inbox would look like any other and invite to do a thing twice.
    """
    rows = tx.all(
        """SELECT work_order.id, task.id AS task_id FROM task
           JOIN work_order ON work_order.id = task.work_order_id
           WHERE work_order.state = 'ACTIVE' AND task.state IN ('READY', 'WAITING') ORDER BY work_order.number"""
    )
    asked: dict[str, str] = {}
    for row in rows:
        if present is None:
            asked[row["id"]] = (
                "After the restore: what happened since the backup is not known. It may have been done already."
            )
        elif row["id"] in present.removed:
            asked[row["id"]] = (
                "After the restore: this ended after the backup was made and was removed since. Its effect may be "
                "there already."
            )
        elif row["task_id"] in present.started:
            asked[row["id"]] = (
                "After the restore: this was started after the backup was made. Its effect may be there already; the "
                "data that was set aside knows what became of it."
            )
    for order, reason in asked.items():
        move_work_order(tx, order, WorkOrderState.DECISION_NEEDED, reason, ENGINE, now)
    return tuple(asked)


def _known_here(tx: Tx, tasks: frozenset[str]) -> list[str]:
    rows = tx.all(
        "SELECT task.id FROM json_each(?) AS one JOIN task ON task.id = one.value ORDER BY task.id",
        (json.dumps(sorted(tasks)),),
    )
    return [row["id"] for row in rows]


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value
