"""What a work order's row says: title and state, why it is not running, where, since when, at what cost."""

from __future__ import annotations

from app.panels.rows import Card, CardBadge, CardLine
from app.panels.words import actor_words, folder_name, order_name, plain_tip
from app.theme import Tone, look_of, state_word
from app.widgets import Times, number
from engine.states import TaskState, WorkOrderState
from engine.views.values import WorkOrderRow

ENDED = frozenset({WorkOrderState.ACCEPTED, WorkOrderState.REJECTED, WorkOrderState.CANCELLED})
"""States in which nothing more happens."""

_DECIDE = frozenset({WorkOrderState.AWAITING_ACCEPTANCE, WorkOrderState.DECISION_NEEDED})


def why(row: WorkOrderRow, times: Times) -> str:
    """Why it is not running, or what it does, in words; never empty."""
    if row.why:
        return times.sentence(row.why)
    return {
        WorkOrderState.ACTIVE: "Going on.",
        WorkOrderState.AWAITING_ACCEPTANCE: "Waits for you to accept or reject the work.",
        WorkOrderState.DECISION_NEEDED: "Waits for your decision.",
        WorkOrderState.CANCELLING: "Cancelled; waits until nothing of it is in flight.",
        WorkOrderState.ACCEPTED: "Accepted.",
        WorkOrderState.REJECTED: "Rejected.",
        WorkOrderState.CANCELLED: "Cancelled.",
    }[row.state]


def cost_words(row: WorkOrderRow) -> str:
    """What it has cost: "12 of 60 units", and what is held for work in flight or frozen by UNKNOWN."""
    spent = f"{number(row.spent_cost)} of {number(row.cost_limit)} units"
    return f"{spent}, {number(row.held_cost)} held" if row.held_cost else spent


def stage_words(row: WorkOrderRow) -> str:
    """The stage it is at: "implement"; "" before there is one."""
    return state_word(row.purpose) if row.purpose is not None else ""


def age_words(row: WorkOrderRow, times: Times) -> str:
    """When it last changed, or ended."""
    return f"ended {times.age(row.ended_at)}" if row.ended_at is not None else times.age(row.changed_at)


def badges(row: WorkOrderRow) -> tuple[CardBadge, ...]:
    """Its state; and its stage's, where that must be seen."""
    shown = [CardBadge.of(look_of(row.state))]
    if row.state not in ENDED and row.task_state in (TaskState.UNKNOWN, TaskState.DISPATCHED):
        look = look_of(row.task_state)
        word = "running" if row.task_state is TaskState.DISPATCHED else look.word
        shown.insert(0, CardBadge(word, look.tone, look.shape))
        if row.state is WorkOrderState.ACTIVE:
            shown.pop()
    return tuple(shown)


def header_badges(row: WorkOrderRow) -> tuple[CardBadge, ...]:
    """The badges above its story, the state last."""
    return tuple(reversed(badges(row)))


def facts(row: WorkOrderRow, times: Times) -> str:
    """The quiet line: name, stage, workspace, age, cost."""
    parts = (
        order_name(row.number),
        stage_words(row),
        folder_name(row.workspace),
        age_words(row, times),
        cost_words(row),
    )
    return " · ".join(part for part in parts if part)


def card(row: WorkOrderRow, times: Times) -> Card:
    """The row as a card."""
    tone: Tone | None = None
    if row.task_state is TaskState.UNKNOWN and row.state not in ENDED:
        tone = Tone.UNKNOWN
    elif row.state in _DECIDE:
        tone = Tone.WARN
    elif row.state in ENDED:
        tone = Tone.NEUTRAL
    return Card(
        row.title, badges(row), CardLine(why(row, times), tone=tone), facts(row, times), row.state in ENDED
    )


def describe(row: WorkOrderRow, times: Times) -> str:
    """The whole row for a screen reader (B-118)."""
    parts = (
        f"{order_name(row.number)}, {row.title}",
        state_word(row.state),
        f"stage {stage_words(row)}" if row.purpose is not None else "",
        "UNKNOWN" if row.task_state is TaskState.UNKNOWN else "",
        why(row, times).rstrip("."),
        f"workspace {folder_name(row.workspace)}",
        f"asked by {actor_words(row.requested_by)} {times.age(row.created_at)}",
        f"changed {times.age(row.changed_at)}",
        cost_words(row),
    )
    return ". ".join(part for part in parts if part)


def explain(row: WorkOrderRow, times: Times) -> str:
    """The row's tooltip."""
    return plain_tip(
        row.title,
        why(row, times),
        f"Workspace {row.workspace}",
        f"Asked by {actor_words(row.requested_by)} {times.exact(row.created_at)}",
        f"Changed {times.exact(row.changed_at)}",
    )
