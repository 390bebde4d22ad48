"""How long what has ended is kept (E-84). Nothing is removed until a person says so: evidence is what this is for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from engine.actors import Actor
from engine.errors import InvalidValue
from engine.instants import require_duration
from engine.storage import Rx, Subject, Tx

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
SHORTEST_AGE_MS = DAY_MS
"""Younger work and rows are never removed: commands that are sent again are known by them."""
SHORTEST_GRACE_MS = HOUR_MS

SUBJECT = Subject("retention", "retention")
_KEY = "retention"


@dataclass(frozen=True, slots=True)
class RetentionSettings:
    """What may go, in milliseconds; None keeps it for good.

    Work orders may go ``work_ms`` after they ended, journal rows ``journal_ms`` after they were written, kept files
    ``grace_ms`` after it was first seen that nothing refers to them.
    """

    work_ms: int | None = None
    journal_ms: int | None = None
    grace_ms: int = 7 * DAY_MS

    def __post_init__(self) -> None:
        for name, what, value, least in (
            ("work_ms", "Ended work orders are", self.work_ms, SHORTEST_AGE_MS),
            ("journal_ms", "Journal rows are", self.journal_ms, SHORTEST_AGE_MS),
            ("grace_ms", "The grace of kept files is", self.grace_ms, SHORTEST_GRACE_MS),
        ):
            if value is not None and require_duration(value, name) < least:
                raise InvalidValue(
                    f"{what} {'kept for ' if name != 'grace_ms' else ''}at least "
                    f"{'an hour' if least == HOUR_MS else 'a day'}.",
                    means="Nothing was changed.",
                    do="Give a longer time.",
                    field=name,
                )


KEEP_EVERYTHING = RetentionSettings()
"""What holds until a person sets something else."""

SUGGESTED = RetentionSettings(90 * DAY_MS, 365 * DAY_MS, 7 * DAY_MS)
"""What is offered to somebody who has set nothing: a quarter of work, a year of journal, a week of grace."""


def read_settings(rx: Rx) -> RetentionSettings:
    """The settings in force."""
    row = rx.one("SELECT value FROM meta WHERE key = ?", (_KEY,))
    return KEEP_EVERYTHING if row is None else RetentionSettings(**json.loads(row["value"]))


def set_settings(tx: Tx, settings: RetentionSettings, actor: Actor, *, now: int) -> None:
    """Put settings in force; the journal has the old ones and the new ones."""
    detail = {"before": _plain(read_settings(tx)), "after": _plain(settings)}
    tx.run(
        "INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (_KEY, json.dumps(_plain(settings))),
    )
    tx.journal("retention.set", SUBJECT, actor, now, detail=detail)


def _plain(settings: RetentionSettings) -> Mapping[str, object]:
    return {
        "work_ms": settings.work_ms,
        "journal_ms": settings.journal_ms,
        "grace_ms": settings.grace_ms,
    }
