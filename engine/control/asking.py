"""What those may do who only ask: take back their own request; and the record of what they may not (E-90)."""

from __future__ import annotations

from engine.actors import Actor
from engine.control.cancel import cancel
from engine.control.holds import Node
from engine.errors import NotFound, WrongState
from engine.instants import Instant
from engine.states import NodeKind, WorkOrderState
from engine.storage import Subject, Tx

REFUSALS_A_MINUTE = 60
"""So many refusals of each kind of actor are journalled in a minute; the rest are refused without a record."""

_MINUTE_MS = 60_000


def take_back(tx: Tx, work_order_id: str, actor: Actor, reason: str, *, now: Instant) -> None:
    """Cancel a work order of the actor's own while nothing of it was ever authorised; repeating it changes nothing.

    Raises `NotFound` for any other work order, whether it exists or not, and `WrongState` once something of it
    was authorised: from then on only a person cancels.
    """
    order = tx.one(
        "SELECT state FROM work_order WHERE id = ? AND requested_by_kind = ? AND requested_by = ?",
        (work_order_id, actor.kind, actor.name),
    )
    if order is None:
        raise NotFound(
            f"{actor} asked for no work order {work_order_id}.", do="Look at your own work orders."
        )
    if order["state"] in (WorkOrderState.CANCELLED, WorkOrderState.CANCELLING):
        return
    if tx.one("SELECT 1 FROM attempt WHERE work_order_id = ? LIMIT 1", (work_order_id,)) is not None:
        raise WrongState(
            "The work order was authorised and has begun; only a person can cancel it now.",
            means="Nothing was changed.",
            do="Ask the supervising person to cancel it.",
            found=order["state"],
        )
    cancel(tx, Node(NodeKind.WORK_ORDER, work_order_id), actor, reason, now=now)


def note_refusal(tx: Tx, actor: Actor, method: str, *, now: Instant) -> bool:
    """Journal that an actor tried what actors of its kind may not; False if there were too many just now."""
    subject = Subject("rights", actor.kind.value)
    earlier = tx.one(
        """SELECT at FROM journal WHERE subject_kind = ? AND subject_id = ?
           ORDER BY sequence DESC LIMIT 1 OFFSET ?""",
        (subject.kind, subject.id, REFUSALS_A_MINUTE - 1),
    )
    if earlier is not None and now - _MINUTE_MS < earlier["at"] <= now:
        return False
    tx.journal("rights.refused", subject, actor, now, detail={"method": method})
    return True
