"""Journal rows in words: who did what, with the parts of the detail that say most."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from app.panels.words import actor_words
from app.theme import state_word
from app.widgets import duration_text
from engine.actors import ActorKind
from engine.instants import format_instant
from engine.views.values import JournalRow

_TELLING = ("outcome", "verdict", "state", "kind", "purpose", "title", "reason", "error", "survivors")
"""Detail fields that are shown with the row, in this order; the rest is in the details."""

_HOUR = 3_600_000

KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Everything", ()),
    ("Approvals and grants", ("approval", "grant")),
    ("Work orders and tasks", ("work_order", "task", "decision", "handoff")),
    ("Attempts", ("attempt", "claim", "evidence", "lane")),
    ("Validations", ("validation",)),
    ("Budgets", ("scope",)),
    ("Holds", ("hold",)),
    ("Clock", ("clock",)),
    ("Wakes and schedules", ("wake", "series", "schedule", "docket")),
    ("Backups, restores, retention", ("backup", "restore", "retention", "journal")),
    ("Engine, workers, agents", ("epoch", "engine", "worker", "agent", "rights")),
)
"""What rows are about, and the groups of kinds that are meant."""

ACTORS: tuple[tuple[str, tuple[ActorKind, ...]], ...] = (
    ("Anybody", ()),
    ("Persons", (ActorKind.PERSON,)),
    ("Agents and scripts", (ActorKind.AGENT, ActorKind.SCRIPT)),
    ("The engine and workers", (ActorKind.ENGINE, ActorKind.WORKER)),
)
"""Who did it."""

SPANS: tuple[tuple[str, int | None], ...] = (
    ("All time", None),
    ("Last hour", _HOUR),
    ("Last 24 hours", 24 * _HOUR),
    ("Last 7 days", 7 * 24 * _HOUR),
)
"""How far back, in milliseconds."""

_LONGEST = 160
_SHORT = 48


def kind_words(kind: str) -> str:
    """A journal kind as words: ``attempt.stop_requested`` is "attempt: stop requested"."""
    subject, _, event = kind.partition(".")
    words = state_word(subject)
    if not event:
        return words
    return (
        f"{words}: {state_word(event.upper()) if event == 'unknown' else state_word(event.replace('.', ' '))}"
    )


def detail_words(detail: Mapping[str, Any]) -> str:
    """The telling part of a row's detail, in one line; "" if it has none."""
    parts = []
    for name in _TELLING:
        value = detail.get(name)
        if isinstance(value, str) and value:
            parts.append(state_word(value) if value.isupper() else value.removesuffix("."))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            parts.append(f"{name.replace('_', ' ')} {value}")
    if not parts:
        parts = [_field(name, value) for name, value in detail.items() if _is_short(value)]
    text = " · ".join(parts)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _field(name: str, value: object) -> str:
    """One field in words: instants as UTC, durations as durations."""
    if type(value) is int and name.endswith(("_until", "_at")):
        return f"{name.replace('_', ' ')} {format_instant(value)}"
    if type(value) is int and name.endswith("_ms"):
        return f"{name.removesuffix('_ms').replace('_', ' ')} {duration_text(value)}"
    return f"{name.replace('_', ' ')} {_plain(value)}"


def _is_short(value: object) -> bool:
    return value is not None and not isinstance(value, Mapping) and 0 < len(_plain(value)) <= _SHORT


def _plain(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def detail_text(detail: Mapping[str, Any]) -> str:
    """The whole detail, one field per line, for reading and copying."""
    return json.dumps(detail, indent=2, ensure_ascii=False, sort_keys=True)


def journal_line(row: JournalRow) -> str:
    """A row as one sentence-like line: kind, actor, what is telling of its detail."""
    said = detail_words(row.detail)
    line = f"{kind_words(row.kind)} · {actor_words(row.actor)}"
    return f"{line} · {said}" if said else line
