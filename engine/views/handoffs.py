"""Read of what the stages of a work order handed over to each other (E-73)."""

from __future__ import annotations

import json
import sqlite3

from engine.states import Purpose
from engine.storage import Rx
from engine.validation.handoffs import handoffs_of
from engine.views.rows import actor_of
from engine.views.values import HandoffRow


def handoffs(rx: Rx, work_order_id: str) -> tuple[HandoffRow, ...]:
    """Every handoff of a work order, oldest first."""
    return tuple(_handoff(row) for row in handoffs_of(rx, work_order_id))


def handoffs_around(rx: Rx, work_order_id: str, task_id: str) -> tuple[HandoffRow, ...]:
    """What a stage took up, and what it handed over."""
    return tuple(one for one in handoffs(rx, work_order_id) if task_id in (one.to_task_id, one.from_task_id))


def _handoff(row: sqlite3.Row) -> HandoffRow:
    return HandoffRow(
        id=row["id"],
        from_task_id=row["from_task_id"],
        from_ordinal=row["from_ordinal"],
        from_purpose=Purpose(row["from_purpose"]),
        from_attempt_id=row["from_attempt_id"],
        to_task_id=row["to_task_id"],
        to_ordinal=row["to_ordinal"],
        to_purpose=Purpose(row["to_purpose"]) if row["to_purpose"] is not None else None,
        evidence_id=row["evidence_id"],
        evidence_sha256=row["evidence_sha256"],
        summary=row["summary"],
        questions=tuple(json.loads(row["questions"])),
        written_at=row["written_at"],
        accepted_at=row["accepted_at"],
        accepted_by=actor_of(row, "accepted_by") if row["accepted_by"] is not None else None,
    )
