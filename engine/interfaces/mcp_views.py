"""What an agent is shown of its own work orders: bounded, without what belongs to others (E-92)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.instants import Instant, format_instant
from engine.views.followups import FollowUp
from engine.views.values import (
    ApprovalCard,
    AttemptRow,
    EvidenceView,
    TaskRow,
    ValidationRow,
    WorkOrderRow,
    WorkOrderStory,
)

LONGEST_TEXT = 2_000
MOST_ITEMS = 50
MOST_PATHS = 100

_SEEN = ("ended_by", "exit_code", "signal", "stopped_by", "not_started", "active_ms", "output_bytes")


def order_line(row: WorkOrderRow) -> dict[str, Any]:
    """One work order as a list shows it."""
    return {
        "name": f"WO-{row.number}",
        "title": clip(row.title),
        "state": row.state.value,
        "why": clip(row.why),
        "workspace": clip(row.workspace),
        "created_at": format_instant(row.created_at),
        "changed_at": format_instant(row.changed_at),
    }


def order_state(story: WorkOrderStory, card: ApprovalCard | None = None) -> dict[str, Any]:
    """One work order whole; ``card`` is the newest request for approval of its newest task.

    ``sequence`` is that of its newest row of the journal, to wait for the next. Of budgets only its own is told.
    """
    own = story.budget[-1] if story.budget else None
    return {
        **order_line(story.row),
        "criteria": clip(story.criteria),
        "sequence": story.journal[-1].sequence if story.journal else 0,
        "tasks": [_task(story.row.number, task) for task in story.tasks[-MOST_ITEMS:]],
        "approval": _approval(card) if card is not None else None,
        "validations": [_validation(one) for one in story.validations[-MOST_ITEMS:]],
        "decisions": [
            {"kind": one.kind, "reason": clip(one.reason), "decided_at": format_instant(one.decided_at)}
            for one in story.decisions[-MOST_ITEMS:]
        ],
        "corrections": {"made": story.corrections_made, "allowed": story.corrections_allowed},
        "budget": None
        if own is None
        else {
            "cost_limit": own.cost_limit,
            "spent_cost": own.spent_cost,
            "reserved_cost": own.reserved_cost,
            "frozen_cost": own.frozen_cost,
        },
    }


def evidence_facts(name: str, view: EvidenceView) -> dict[str, Any]:
    """What was observed of an attempt. What the command itself wrote is read apart from this, where it is masked."""
    seen = view.evidence or {}
    return {
        **_attempt(name, view.attempt),
        "argv": clip_all(view.attempt.argv),
        "evidence_sha256": view.evidence_sha256,
        **{field: seen[field] for field in _SEEN if field in seen},
        "changes": _changes(seen.get("workspace")),
        "files": [
            {"role": one.role, "path": clip(one.path), "size": one.size, "sha256": one.sha256}
            for one in view.blobs[:MOST_PATHS]
            if one.role != "manifest"
        ],
        "validation": _validation(view.validation) if view.validation is not None else None,
    }


def follow_up(one: FollowUp) -> dict[str, Any]:
    """One wake that has come, as its agent reads it."""
    return {
        "sequence": one.sequence,
        "id": one.id,
        "trigger": one.trigger,
        "message": clip(str(one.intent.get("message", one.intent.get("question", "")))),
        "event": one.event_key,
        "result": clip(one.result) if isinstance(one.result, str) else one.result,
        "expired": one.expired,
        "answered": one.answered_by is not None,
        "due": _at(one.due_at),
        "came_at": format_instant(one.ended_at),
        "series": one.series,
        "missed": one.missed,
    }


def clip(text: str) -> str:
    """Give at most `LONGEST_TEXT` characters; an ellipsis says that there was more."""
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


def clip_all(texts: Sequence[str]) -> list[str]:
    """Give at most `MOST_ITEMS` texts, each clipped; a last one says how many more there were."""
    shown = [clip(text) for text in texts[:MOST_ITEMS]]
    return shown if len(texts) <= MOST_ITEMS else [*shown, f"… and {len(texts) - MOST_ITEMS} more"]


def _task(number: int, task: TaskRow) -> dict[str, Any]:
    name = f"WO-{number}/{task.ordinal}"
    return {
        "name": name,
        "purpose": task.purpose.value,
        "state": task.state.value,
        "why": clip(task.why),
        "argv": clip_all(task.argv),
        "approval_state": task.approval_state.value if task.approval_state is not None else None,
        "attempts": [_attempt(f"{name}/{one.ordinal}", one) for one in task.attempts[-MOST_ITEMS:]],
    }


def _attempt(name: str, attempt: AttemptRow) -> dict[str, Any]:
    return {
        "attempt": name,
        "state": attempt.state.value,
        "outcome": attempt.outcome.value if attempt.outcome is not None else None,
        "reason": clip(attempt.reason),
        "started_at": _at(attempt.started_at),
        "ended_at": _at(attempt.ended_at),
        "actual_cost": attempt.actual_cost,
    }


def _approval(card: ApprovalCard) -> dict[str, Any]:
    return {
        "task": card.purpose.value,
        "state": card.state.value,
        "seal": card.seal,
        "asked_at": format_instant(card.asked_at),
        "expires_at": format_instant(card.expires_at),
        "decided_at": _at(card.decided_at),
        "decision_reason": clip(card.decision_reason),
        "closed_gates": [{"gate": gate.name, "why": clip(gate.why)} for gate in card.gates if not gate.open],
    }


def _validation(row: ValidationRow) -> dict[str, Any]:
    return {
        "outcome": row.outcome.value,
        "judged_by": row.judged_by,
        "reason": clip(row.reason),
        "recorded_at": format_instant(row.recorded_at),
    }


def _changes(workspace: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if workspace is None:
        return None
    counts = dict(zip(("added", "changed", "removed"), workspace["counts"], strict=True))
    listed = {kind: [clip(one["path"]) for one in workspace[kind][:MOST_PATHS]] for kind in counts}
    return {"counts": counts, **listed}


def _at(instant: Instant | None) -> str | None:
    return None if instant is None else format_instant(instant)
