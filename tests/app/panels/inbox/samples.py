"""Requests for approval as the engine would give them, for the inbox's tests."""

from __future__ import annotations

from typing import Any

from engine.actors import Actor, ActorKind
from engine.states import ApprovalState, Purpose
from engine.views.values import ApprovalCard, InboxRow

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


def approval_card(**fields: Any) -> ApprovalCard:
    """A card that waits to be decided."""
    values: dict[str, Any] = {
        "approval_id": "A0001",
        "task_id": "T0001",
        "work_order_id": "W0001",
        "number": 118,
        "title": "Mend rounding in invoices",
        "reason": "",
        "purpose": Purpose.IMPLEMENT,
        "state": ApprovalState.PENDING,
        "project": "payments",
        "workspace": "/src/payments-api",
        "plan": {},
        "seal": "9f3c71ab" + "0" * 56,
        "validation_plan": None,
        "validation_seal": None,
        "covers_validation": False,
        "asked_by": AGENT,
        "asked_at": START,
        "expires_at": START + 60 * MINUTE,
        "decided_by": None,
        "decided_at": None,
        "decision_reason": "",
        "ended_at": None,
        "previous_id": None,
        "differences": (),
        "gates": (),
        "budget": (),
        "alike": (),
        "guarantee": "",
    }
    return ApprovalCard(**{**values, **fields})
