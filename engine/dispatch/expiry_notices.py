"""Notices that a request for approval is about to expire, so that nobody finds out too late (E-42).

A pending request has a wake of its own id, a while before its time ends. Whatever ends or decides the request
cancels the wake in the same transaction.
"""

from __future__ import annotations

from engine.actors import ENGINE
from engine.instants import Instant, format_instant
from engine.scheduling.wakeups import book_wake, cancel_wake
from engine.states import ApprovalState
from engine.storage import Rx, Subject, Tx
from engine.wakes import Wake

EXPIRING = "approval.expiring"
"""The kind of the wake, and of the journal's row that it writes."""

_SETTING = "expiry_notice_ms"


def set_notice_time(tx: Tx, before_ms: int, *, now: Instant) -> None:
    """Say how long before its end a request made from now on is noticed."""
    tx.run(
        "INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (_SETTING, str(before_ms)),
    )


def notice_time(rx: Rx) -> int | None:
    """How long before its end a request is noticed, in ms; None if nobody has said."""
    row = rx.one("SELECT value FROM meta WHERE key = ?", (_SETTING,))
    return None if row is None else int(row["value"])


def book_notice(tx: Tx, approval_id: str, expires_at: Instant, *, now: Instant) -> None:
    """Book the notice of a new request; one that lives no longer than the notice time has none."""
    before_ms = notice_time(tx)
    if before_ms is None or expires_at - before_ms <= now:
        return
    order = tx.one(
        """SELECT work_order.id, work_order.number, work_order.title FROM approval
           JOIN work_order ON work_order.id = approval.work_order_id WHERE approval.id = ?""",
        (approval_id,),
    )
    assert order is not None, "the request was just made"
    intent = {"title": f"WO-{order['number']} · {order['title']}", "work_order": order["id"]}
    book_wake(tx, approval_id, EXPIRING, expires_at - before_ms, intent=intent, now=now)


def cancel_notice(tx: Tx, approval_id: str, why: str, *, now: Instant) -> None:
    """Take the notice of a request away that has been decided or has ended."""
    cancel_wake(tx, approval_id, why, now=now)


def note_expiring(tx: Tx, wake: Wake, *, now: Instant) -> None:
    """What the wake does: a request that still waits is journalled as expiring, once."""
    row = tx.one("SELECT state, expires_at, work_order_id FROM approval WHERE id = ?", (wake.id,))
    if row is None or row["state"] != ApprovalState.PENDING or now >= row["expires_at"]:
        return
    tx.journal(
        EXPIRING,
        Subject("approval", wake.id),
        ENGINE,
        now,
        work_order_id=row["work_order_id"],
        detail={"expires_at": format_instant(row["expires_at"]), "left_ms": row["expires_at"] - now},
    )
