"""What a wake's and a series' row says in a list."""

from __future__ import annotations

import json

from app.panels.rows import Card, CardBadge, CardLine
from app.panels.wakes.words import (
    CATCH_UP_WORDS,
    INNER_WORKSPACES,
    SERIES_LOOKS,
    kind_words,
    next_words,
    order_of_intent,
    series_title,
    wake_look,
    wake_title,
    when_words,
)
from app.panels.words import actor_words, folder_name, plain_tip
from app.theme import Tone
from app.widgets import Times
from engine.views.schedules import rule_words
from engine.wakes import Series, SeriesState
from engine.wakes.values import OPEN, SERIES_LIVE, WakeSummary


def wake_facts(wake: WakeSummary) -> str:
    """The quiet line: what sort it is, if its title does not say so, workspace, lane, what it belongs to."""
    parts = [] if wake_title(wake) == kind_words(wake.kind) else [kind_words(wake.kind)]
    if wake.workspace not in INNER_WORKSPACES:
        parts.append(wake.workspace)
    if wake.lane is not None:
        parts.append(f"lane {wake.lane}")
    if wake.recurrence is not None:
        parts.append(wake.recurrence)
    elif wake.session is not None:
        parts.append(f"session {wake.session}")
    else:
        parts.append(f"by {actor_words(wake.created_by)}")
    return " · ".join(parts)


def wake_card(wake: WakeSummary, times: Times) -> Card:
    """A wake as a card."""
    look = wake_look(wake, times.now())
    ended = wake.state not in OPEN
    tone: Tone | None = Tone.NEUTRAL if ended else look.tone
    if tone not in (Tone.NEUTRAL, Tone.WARN, Tone.BAD) or look.word == "coming":
        tone = None
    return Card(
        wake_title(wake),
        (CardBadge.of(look),),
        CardLine(when_words(wake, times), tone=tone),
        wake_facts(wake),
        ended,
    )


def describe_wake(wake: WakeSummary, times: Times) -> str:
    """The whole row for a screen reader (B-118)."""
    look = wake_look(wake, times.now())
    return ". ".join((wake_title(wake), look.word, when_words(wake, times), wake_facts(wake)))


def explain_wake(wake: WakeSummary, times: Times) -> str:
    """The row's tooltip."""
    lines = [f"{kind_words(wake.kind)} ({wake.kind})", when_words(wake, times)]
    if wake.due_at is not None:
        lines.append(f"Due {times.exact(wake.due_at)}")
    if wake.ended_at is not None:
        lines.append(f"Ended {times.exact(wake.ended_at)}")
    lines.append(f"Wake {wake.id}")
    return plain_tip(*lines)


def series_facts(series: Series) -> str:
    """The quiet line: its rule, what becomes of missed occurrences, where."""
    return " · ".join(
        (
            rule_words(series.rule),
            f"if missed: {CATCH_UP_WORDS[series.catch_up].lower()}",
            place_words(series.workspace, json.loads(series.intent)),
        )
    )


def place_words(workspace: str, intent: object) -> str:
    """Where it happens: the folder of the work order that a schedule submits, else the workspace."""
    folder = order_of_intent(intent).get("workspace")
    return folder_name(str(folder)) if folder else workspace


def series_card(series: Series, times: Times) -> Card:
    """A series as a card."""
    look = SERIES_LOOKS[series.state]
    live = series.state in SERIES_LIVE
    tone = {SeriesState.BROKEN: Tone.BAD, SeriesState.ACTIVE: None}.get(series.state, Tone.NEUTRAL)
    return Card(
        series_title(series),
        (CardBadge.of(look),),
        CardLine(next_words(series, times), tone=tone),
        series_facts(series),
        not live,
    )


def describe_series(series: Series, times: Times) -> str:
    """The whole row for a screen reader."""
    look = SERIES_LOOKS[series.state]
    return ". ".join((series_title(series), look.word, next_words(series, times), series_facts(series)))


def explain_series(series: Series, times: Times) -> str:
    """The row's tooltip."""
    return plain_tip(
        f"{series_title(series)} ({series.kind})",
        rule_words(series.rule),
        next_words(series, times),
        f"Made by {actor_words(series.created_by)} {times.exact(series.created_at)}",
    )
