"""Requests for approval as the engine would give them, for the inbox's tests."""

from __future__ import annotations

from typing import Any

from engine.actors import Actor, ActorKind
from engine.states import Purpose
from engine.views.values import InboxRow

START = 1_788_998_400_000
"""2026-09-10T00:00:00.000Z, where a `ManualClock` starts."""

MINUTE = 60_000
AGENT = Actor(ActorKind.AGENT, "codex-1")
PERSON = Actor(ActorKind.PERSON, "ada")


def inbox_row(number: int, **fields: Any) -> InboxRow:
    """One row of the queue; the higher the number, the later it was asked."""
    asked_at = START + number * 1_000
    values: dict[str, Any] = {
        "approval_id": f"A{number:04d}",
        "task_id": f"T{number:04d}",
        "work_order_id": f"W{number:04d}",
        "number": 100 + number,
        "title": f"Title {number}",
        "purpose": Purpose.IMPLEMENT,
        "argv": ("python", "-m", "task", str(number), "--x", "y"),
        "workspace": "/src/payments-api",
        "project": "payments",
        "asked_by": AGENT,
        "asked_at": asked_at,
        "expires_at": asked_at + 60 * MINUTE,
        "changed": False,
        "seal": f"seal {number}",
        "alike": 1,
    }
    return InboxRow(**{**values, **fields})
