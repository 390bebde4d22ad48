"""Requests for approval as the engine would give them, for the inbox's tests."""

from __future__ import annotations

from typing import Any

from engine.actors import Actor, ActorKind
from engine.scheduling.gates import Gate
from engine.states import ApprovalState, Partition, Purpose
from engine.views.values import ApprovalCard, BudgetLine, InboxRow

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


def plan_json(**fields: Any) -> dict[str, Any]:
    """A sealed plan as the engine keeps it: a Python script in a git workspace."""
    values: dict[str, Any] = {
        "version": 1,
        "purpose": "IMPLEMENT",
        "argv": ["python", "tools/apply_fix.py", "--issue", "412"],
        "program": {
            "path": "/usr/bin/python3.13",
            "real_path": "/usr/bin/python3.13",
            "sha256": "4be1" + "3" * 56 + "c09d",
            "size": 6_831_704,
            "searched": ["/usr/local/bin", "/usr/bin"],
        },
        "folder": ".",
        "workspace": {"path": "/home/ada/src/payments-api", "identity": "64768:1180411"},
        "environment": {
            "base": {"HOME": "/home/ada", "LANG": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin"},
            "own": {
                "ISSUE_TOKEN": {"secret": "GH_TOKEN", "seal": "ab" * 32},
                "PYTHONIOENCODING": "utf-8:surrogateescape",
                "PYTHONUTF8": "1",
            },
        },
        "inputs": [
            {
                "path": "tools/apply_fix.py",
                "kind": "file",
                "sha256": "77d0" + "5" * 56 + "1e52",
                "size": 4_210,
            }
        ],
        "limits": {"time_ms": 300_000, "cost": 30, "output_bytes": 64 << 20},
        "artifacts": ["report.xml"],
        "report": "",
        "criteria": "pytest green, 0 new warnings",
        "state": {
            "kind": "git",
            "head": "3e91c4d" + "0" * 33,
            "branch": "main",
            "changed": 2,
            "files": 0,
            "digest": "cd" * 32,
            "unread": 0,
            "note": "",
        },
    }
    return {**values, **fields}


GATES = (
    Gate("schedule", True, "Ready."),
    Gate("approval", False, "Waits for a person's approval."),
    Gate("policy", True, "The work order is active."),
    Gate("hold", True, "No hold on its path."),
    Gate("clock", True, "The clock is trusted."),
    Gate("resources", True, "Every scope above it has the headroom."),
    Gate("lane", True, "Nothing else runs in its workspace."),
    Gate("worker", True, "Worker local has a free slot."),
)


def budget_line(name: str, limit: int, spent: int, reserved: int, frozen: int, asked: int = 30) -> BudgetLine:
    """One scope of the waterfall; its active time is ample."""
    return BudgetLine(
        f"scope {name}", name, Partition.EXECUTION, limit, spent, reserved, frozen, asked,
        24 * 60 * MINUTE, 60 * MINUTE, 5 * MINUTE, 0, 5 * MINUTE,
    )  # fmt: skip


BUDGET = (
    budget_line("everything", 1000, 310, 60, 40),
    budget_line("payments", 500, 240, 50, 40),
    budget_line("WO-118", 60, 12, 0, 0),
)


def approval_card(**fields: Any) -> ApprovalCard:
    """A card that waits to be decided."""
    values: dict[str, Any] = {
        "approval_id": "A0001",
        "task_id": "T0001",
        "work_order_id": "W0001",
        "number": 118,
        "title": "Mend rounding in invoices",
        "reason": "Mend rounding of net amounts: three invoices of September are one cent off.",
        "purpose": Purpose.IMPLEMENT,
        "state": ApprovalState.PENDING,
        "project": "payments",
        "workspace": "/src/payments-api",
        "plan": plan_json(),
        "seal": "9f3c71ab" + "0" * 56,
        "validation_plan": None,
        "validation_seal": None,
        "covers_validation": False,
        "requested_by": AGENT,
        "asked_by": AGENT,
        "asked_at": START,
        "expires_at": START + 60 * MINUTE,
        "decided_by": None,
        "decided_at": None,
        "decision_reason": "",
        "ended_at": None,
        "previous_id": None,
        "differences": (),
        "gates": GATES,
        "budget": BUDGET,
        "alike": (),
        "guarantee": "The program and its inputs are read again at the start; any change refuses the run.",
    }
    return ApprovalCard(**{**values, **fields})
