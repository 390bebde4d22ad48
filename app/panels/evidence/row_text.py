"""What an attempt's row says: of which work order and stage, how it ended, when and for how long."""

from __future__ import annotations

from app.panels.rows import Card, CardBadge, CardLine
from app.panels.words import order_name, plain_tip, span_words
from app.panels.work_orders.attempt_words import IN_FLIGHT, active_words, attempt_look, attempt_sentence
from app.theme import Tone, state_word
from app.widgets import Times, spoken
from engine.states import AttemptState
from engine.views.values import AttemptRow


def facts(attempt: AttemptRow, times: Times) -> str:
    """The quiet line: name, stage, when, how long."""
    parts = [order_name(attempt.number), state_word(attempt.purpose)]
    if attempt.state in IN_FLIGHT and attempt.started_at is not None:
        parts.append(f"for {span_words(times.now() - attempt.started_at)}")
    else:
        parts.append(times.age(attempt.ended_at or attempt.started_at or attempt.authorized_at))
        if (active := active_words(attempt)) is not None:
            parts.append(active)
    return " · ".join(parts)


def card(attempt: AttemptRow, times: Times) -> Card:
    """The row as a card."""
    look = attempt_look(attempt)
    tone = Tone.UNKNOWN if attempt.state is AttemptState.UNKNOWN else None
    if attempt.state in IN_FLIGHT or not attempt.reason:
        line = CardLine(" ".join(spoken(item) for item in attempt.argv), code=True)
    else:
        line = CardLine(attempt.reason, tone=tone)
    dim = attempt.state is AttemptState.VOIDED
    return Card(attempt.title, (CardBadge.of(look),), line, facts(attempt, times), dim)


def describe(attempt: AttemptRow, times: Times) -> str:
    """The whole row for a screen reader (B-118)."""
    return ". ".join(
        (
            f"{order_name(attempt.number)}, {state_word(attempt.purpose)}, {attempt.title}",
            attempt_look(attempt).word,
            attempt_sentence(attempt).rstrip("."),
            f"command {' '.join(spoken(item) for item in attempt.argv)}",
            facts(attempt, times),
        )
    )


def explain(attempt: AttemptRow, times: Times) -> str:
    """The row's tooltip."""
    lines = [attempt.title, attempt_sentence(attempt), f"Authorised {times.exact(attempt.authorized_at)}"]
    if attempt.started_at is not None:
        lines.append(f"Started {times.exact(attempt.started_at)}")
    if attempt.ended_at is not None:
        lines.append(f"Ended {times.exact(attempt.ended_at)}")
    return plain_tip(*lines)
