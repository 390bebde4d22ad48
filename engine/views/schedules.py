"""Reads of the schedules: work orders that are submitted again and again, and what becomes of them (E-27)."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import Any

from engine.actors import Actor, ActorKind
from engine.errors import InvalidValue, NotFound
from engine.instants import Instant, require_batch
from engine.storage import Rx
from engine.wakes import CatchUp, SeriesState, Wake
from engine.wakes.recurrence import rule_from_json

SUBMIT_KIND = "work_order.submit"
"""The kind of wake that submits a work order."""

SCHEDULES = "schedules"
"""The workspace of the wakes of schedules."""

KEY_PREFIX = "schedule:"
"""What the key of a scheduled submission begins with; schedule and due time follow."""


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """One schedule as lists show it.

    ``rule`` says when, in words; ``next_at`` is its coming occurrence, None if none is booked. ``submitted``
    counts the occurrences that fired as far as their wakes are kept, ``skipped`` those that catching up passed
    over, ``undecided`` the missed ones that wait for a person, ``failing`` those that could not be submitted.
    ``last_number`` is the newest work order that it submitted. ``error`` says why a broken one is broken.
    """

    id: str
    title: str
    workspace: str
    rule: str
    state: SeriesState
    error: str
    next_at: Instant | None
    catch_up: CatchUp
    catch_up_most: int
    grace_ms: int
    until_at: Instant | None
    count: int | None
    submitted: int
    skipped: int
    undecided: int
    failing: int
    last_number: int | None
    created_by: Actor
    created_at: Instant


@dataclass(frozen=True, slots=True)
class ScheduleView:
    """One schedule whole: ``work_order`` are the plain values of `WorkOrderSpec.to_json`."""

    row: ScheduleRow
    work_order: dict[str, Any]


_ROW = """
    SELECT one.*,
      (SELECT due_at FROM wake WHERE wake.series = one.id AND wake.state = 'pending' AND wake.waiting IS NULL
       ORDER BY seq DESC LIMIT 1) AS next_at,
      (SELECT count(*) FROM wake WHERE wake.series = one.id AND wake.state = 'fired') AS submitted,
      (SELECT count(*) FROM wake WHERE wake.series = one.id
         AND (wake.state = 'dead' OR (wake.state = 'pending' AND wake.last_error IS NOT NULL))) AS failing,
      (SELECT coalesce(sum(missed), 0) FROM wake_docket
       WHERE wake_docket.series = one.id AND decided_at IS NULL) AS undecided,
      (SELECT number FROM work_order WHERE request_key >= 'schedule:' || one.id || ':'
         AND request_key < 'schedule:' || one.id || ';' ORDER BY request_key DESC LIMIT 1) AS last_number
    FROM wake_series AS one"""


def schedules(rx: Rx, ended: bool, after: str | None, limit: int) -> tuple[ScheduleRow, ...]:
    """A page of schedules, oldest first, after the one with the id ``after``; ended ones only if asked for."""
    rows = rx.all(
        f"""{_ROW} WHERE one.workspace = ? AND one.kind = ? AND (? OR one.state NOT IN ('ended', 'cancelled'))
              AND (? IS NULL OR (one.created_at, one.id) >
                (SELECT created_at, id FROM wake_series WHERE id = ?))
            ORDER BY one.created_at, one.id LIMIT ?""",
        (SCHEDULES, SUBMIT_KIND, ended, after, after, require_batch(limit)),
    )
    return tuple(_row(row) for row in rows)


def schedule(rx: Rx, schedule_id: str) -> ScheduleView:
    """One schedule whole; `NotFound` if there is none, or if the series is of another sort."""
    row = rx.one(f"{_ROW} WHERE one.id = ?", (schedule_id,))
    if row is None or row["kind"] != SUBMIT_KIND:
        raise NotFound(f"There is no schedule {schedule_id}.", do="Look at the list of schedules again.")
    return ScheduleView(_row(row), json.loads(row["intent"])["work_order"])


def was_decided(rx: Rx, wake: Wake) -> bool:
    """Whether an occurrence was missed, and a person said in the docket that it is to be submitted."""
    row = rx.one(
        """SELECT 1 FROM wake_docket WHERE series = ? AND first_missed <= ? AND last_missed >= ?
             AND decision IN (?, ?) LIMIT 1""",
        (wake.series, wake.due_at, wake.due_at, CatchUp.ALL, CatchUp.LATEST),
    )
    return row is not None


def was_submitted(rx: Rx, key: str) -> bool:
    """Whether an occurrence made its work order, which has the occurrence's key."""
    return rx.one("SELECT 1 FROM work_order WHERE request_key = ?", (key,)) is not None


def rule_words(text: str) -> str:
    """A stored rule in words; one that can no longer be understood, such as a zone that is gone, as it is stored."""
    try:
        return str(rule_from_json(text))
    except InvalidValue:
        return text


def _row(row: sqlite3.Row) -> ScheduleRow:
    work_order = json.loads(row["intent"])["work_order"]
    return ScheduleRow(
        id=row["id"],
        title=work_order["title"],
        workspace=work_order["workspace"],
        rule=rule_words(row["rule"]),
        state=SeriesState(row["state"]),
        error=row["error"] or "",
        next_at=row["next_at"],
        catch_up=CatchUp(row["catch_up"]),
        catch_up_most=row["catch_up_most"],
        grace_ms=row["grace_ms"],
        until_at=row["until"],
        count=row["count"],
        submitted=row["submitted"],
        skipped=row["skipped"],
        undecided=row["undecided"],
        failing=row["failing"],
        last_number=row["last_number"],
        created_by=Actor(ActorKind(row["created_by_kind"]), row["created_by"]),
        created_at=row["created_at"],
    )
