"""Whether an earlier owner of the data left anything that the next one would judge, by time or by its end (E-51)."""

from __future__ import annotations

from engine.instants import Instant
from engine.storage import Rx

_LEFT = (
    "SELECT 1 FROM attempt WHERE state IN ('DISPATCH_AUTHORIZED', 'DELIVERED', 'ACKNOWLEDGED', 'RUNNING')",
    "SELECT 1 FROM task WHERE state IN ('CLAIMED', 'DISPATCHED')",
    "SELECT 1 FROM work_order WHERE state = 'CANCELLING'",
    "SELECT 1 FROM approval WHERE state IN ('PENDING', 'APPROVED') AND expires_at <= :now",
    """SELECT 1 FROM task JOIN work_order ON work_order.id = task.work_order_id
       WHERE task.state = 'READY' AND work_order.state = 'ACTIVE' AND NOT EXISTS
         (SELECT 1 FROM approval WHERE approval.task_id = task.id AND approval.state IN ('PENDING', 'APPROVED'))""",
    "SELECT 1 FROM hold WHERE kind = 'CLOCK' AND released_at IS NULL",
    "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM clock_state WHERE distrusted_since IS NULL AND high_water <= :now)",
    "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM scope WHERE kind = 'ROOT')",
)


def unsettled(rx: Rx, now: Instant) -> bool:
    """Whether a pass of the next owner could change what is stored; if not, it can be read as it stands.

    What is due by a time is left out: wakes fire where somebody serves, not for a command that looks.
    """
    return any(rx.one(f"{sql} LIMIT 1", {"now": now}) is not None for sql in _LEFT)
