"""The docket: what came due, lapsed or is late since the engine last ran, in one read (E-85).

After sleep, downtime or a restore a person sees here what was missed before deciding anything: missed occurrences
of the kind "ask" that wait for a decision, what fired late, leases that lapsed, requests that expired. While
nothing may fire, after a restore or by a distrusted clock, it lists what would.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass

from engine.control.downtime import QuietKind
from engine.errors import InvalidValue
from engine.instants import LATEST, Instant, require_batch
from engine.scheduling.gates import engine_holds
from engine.scheduling.wakeups import TASK_WAKE_UP
from engine.states import HoldKind, Purpose
from engine.storage import Rx
from engine.views.schedules import rule_words
from engine.wakes import CatchUp, WakeState
from engine.wakes.cleaning import CLEAN_UP_KIND
from engine.wakes.recurrence import rule_from_json

LATE_MS = 60_000
"""What fired no later than this is on time for a person."""

ROWS_LOOKED_AT = 20_000
"""So many rows of the journal after a quiet time are looked at for what lapsed and expired in it."""


@dataclass(frozen=True, slots=True)
class QuietTime:
    """A time in which nothing fired; after a restore it lasts until a person has looked."""

    id: str
    kind: QuietKind
    began_at: Instant
    ended_at: Instant


@dataclass(frozen=True, slots=True)
class Undecided:
    """Missed occurrences of a series that wait for a person: how many, from when to when. ``id`` is to be decided."""

    id: str
    wake_id: str
    series: str
    kind: str
    workspace: str
    title: str
    rule: str
    first_missed_at: Instant
    last_missed_at: Instant
    missed: int
    opened_at: Instant


@dataclass(frozen=True, slots=True)
class DueItem:
    """A wake that fired late, or that would fire. ``missed`` are the occurrences beside it that it stands for.

    ``due_at`` is its time, or the deadline of a watch or an approval of which its session will be told.
    ``number`` and ``title`` are of the work order that waits for it or that its schedule submits, or the title of a
    follow-up. Of a series, ``catch_up`` says what becomes of what was missed.
    """

    wake_id: str
    kind: str
    title: str
    number: int | None
    work_order_id: str | None
    series: str | None
    catch_up: CatchUp | None
    state: WakeState
    due_at: Instant
    late_ms: int
    missed: int


@dataclass(frozen=True, slots=True)
class LapsedItem:
    """A lease that lapsed: of a worker's claim of a task, or of a wake that was being driven (``what``)."""

    what: str
    id: str
    title: str
    number: int | None
    work_order_id: str | None
    lapsed_at: Instant


@dataclass(frozen=True, slots=True)
class ExpiredItem:
    """A request for approval that expired while nobody could see it."""

    approval_id: str
    work_order_id: str
    number: int
    title: str
    purpose: Purpose
    expired_at: Instant


@dataclass(frozen=True, slots=True)
class Docket:
    """Everything of the latest quiet time, None if there never was one, and all that waits for a decision.

    ``held_by`` says why nothing fires now: RESTORE, CLOCK (nothing by time), or None. Only then ``would_fire``
    lists what is due, the earliest first. Lists are cut at the limit; the counts are not.
    """

    quiet: QuietTime | None
    held_by: HoldKind | None
    undecided: tuple[Undecided, ...]
    would_fire: tuple[DueItem, ...]
    would_fire_count: int
    late: tuple[DueItem, ...]
    late_count: int
    lapsed: tuple[LapsedItem, ...]
    expired: tuple[ExpiredItem, ...]

    @property
    def empty(self) -> bool:
        """Whether there is nothing to look at."""
        return not (self.undecided or self.would_fire or self.late or self.lapsed or self.expired)


_ITEM = """
    SELECT wake.id, wake.kind, wake.intent, wake.series, wake.state, wake.late_ms, wake.missed,
      coalesce(wake.due_at, wake.expires_at) AS due_at,
      wake_series.catch_up, wake_series.rule, work_order.id AS work_order_id, work_order.number, work_order.title
    FROM wake LEFT JOIN wake_series ON wake_series.id = wake.series
    LEFT JOIN task ON task.id = wake.id AND wake.kind = :task_kind
    LEFT JOIN work_order ON work_order.id = task.work_order_id"""

_DUE = f"coalesce(wake.due_at, {LATEST})"

_WOULD_FIRE = f"""
    wake.state IN ('pending', 'firing', 'dead') AND wake.state = 'pending' AND wake.waiting IS NULL
    AND wake.kind <> :clean_up AND ({_DUE} <= :now
      OR (wake.admitted_at IS NULL AND wake.series IS NULL AND wake.expires_at <= :now))"""

_LATE = """
    wake.state IN ('fired', 'expired', 'cancelled') AND wake.state <> 'cancelled' AND wake.kind <> :clean_up
    AND wake.ended_at >= :ended AND wake.due_at > :began AND wake.due_at <= :ended AND wake.late_ms >= :late"""


def docket(rx: Rx, limit: int, now: Instant) -> Docket:
    """What a person should look at first; each list holds at most ``limit`` rows."""
    require_batch(limit)
    quiet = _latest(rx)
    values: dict[str, object] = {
        "task_kind": TASK_WAKE_UP,
        "clean_up": CLEAN_UP_KIND,
        "now": now,
        "late": LATE_MS,
        "limit": limit,
        "began": 0 if quiet is None else quiet.began_at,
        "ended": 0 if quiet is None else quiet.ended_at,
    }
    kinds = {hold["kind"] for hold in engine_holds(rx)}
    held_by = next((kind for kind in (HoldKind.RESTORE, HoldKind.CLOCK) if kind in kinds), None)
    would_fire, would_fire_count = (
        _items(rx, _WOULD_FIRE, f"{_DUE}, wake.seq", values, now) if held_by else ((), 0)
    )
    late, late_count = (
        _items(rx, _LATE, "wake.ended_at, wake.seq", values, None) if quiet is not None else ((), 0)
    )
    lapsed, expired = ((), ()) if quiet is None else _since(rx, quiet, limit)
    return Docket(
        quiet=None if quiet is None else quiet.shown,
        held_by=held_by,
        undecided=_undecided(rx, limit),
        would_fire=would_fire,
        would_fire_count=would_fire_count,
        late=late,
        late_count=late_count,
        lapsed=lapsed,
        expired=expired,
    )


@dataclass(frozen=True, slots=True)
class _Quiet:
    shown: QuietTime
    began_at: Instant
    ended_at: Instant
    sequence: int


def _latest(rx: Rx) -> _Quiet | None:
    row = rx.one("SELECT * FROM quiet_time ORDER BY sequence DESC LIMIT 1")
    if row is None:
        return None
    ended_at, kind = row["ended_at"], QuietKind(row["kind"])
    if kind is QuietKind.RESTORE:
        # Nothing fired until somebody had looked.
        looked = rx.one("SELECT max(released_at) AS at FROM hold WHERE kind = ?", (HoldKind.RESTORE,))
        ended_at = max(ended_at, (looked["at"] if looked is not None else None) or 0)
    shown = QuietTime(row["id"], kind, row["began_at"], ended_at)
    return _Quiet(shown, shown.began_at, shown.ended_at, row["sequence"])


def _undecided(rx: Rx, limit: int) -> tuple[Undecided, ...]:
    rows = rx.all(
        """SELECT wake_docket.*, wake_series.kind, wake_series.intent, wake_series.rule
           FROM wake_docket JOIN wake_series ON wake_series.id = wake_docket.series
           WHERE decided_at IS NULL ORDER BY opened_at, wake_docket.id LIMIT ?""",
        (limit,),
    )
    return tuple(
        Undecided(
            id=row["id"],
            wake_id=row["wake_id"],
            series=row["series"],
            kind=row["kind"],
            workspace=row["workspace"],
            title=_title(row),
            rule=rule_words(row["rule"]),
            first_missed_at=row["first_missed"],
            last_missed_at=row["last_missed"],
            missed=row["missed"],
            opened_at=row["opened_at"],
        )
        for row in rows
    )


def _items(
    rx: Rx, where: str, order: str, values: dict[str, object], now: Instant | None
) -> tuple[tuple[DueItem, ...], int]:
    """The due items of a condition and their number; with ``now``, late and missed as they would be now."""
    rows = rx.all(f"{_ITEM} WHERE {where} ORDER BY {order} LIMIT :limit", values)
    counted = rx.one(f"SELECT count(*) AS n FROM wake WHERE {where}", values)
    assert counted is not None
    return tuple(_item(row, now) for row in rows), int(counted["n"])


def _item(row: sqlite3.Row, now: Instant | None) -> DueItem:
    missed, late_ms = row["missed"], row["late_ms"] or 0
    if now is not None:
        late_ms = now - row["due_at"]
        missed += 0 if row["rule"] is None else _missed(row["rule"], row["due_at"], now)
    return DueItem(
        wake_id=row["id"],
        kind=row["kind"],
        title=row["title"] or _title(row),
        number=row["number"],
        work_order_id=row["work_order_id"],
        series=row["series"],
        catch_up=None if row["catch_up"] is None else CatchUp(row["catch_up"]),
        state=WakeState(row["state"]),
        due_at=row["due_at"],
        late_ms=late_ms,
        missed=missed,
    )


def _since(rx: Rx, quiet: _Quiet, limit: int) -> tuple[tuple[LapsedItem, ...], tuple[ExpiredItem, ...]]:
    """What lapsed and expired right after a quiet time, as the journal says."""
    window = (quiet.sequence, quiet.sequence + ROWS_LOOKED_AT)
    lapsed = [
        LapsedItem("claim", row["id"], row["title"], row["number"], row["work_order_id"], row["lapsed_at"])
        for row in rx.all(
            """SELECT claim.id, work_order.title, work_order.number, work_order.id AS work_order_id,
                 journal.at AS lapsed_at
               FROM journal JOIN claim ON claim.id = journal.subject_id JOIN task ON task.id = claim.task_id
               JOIN work_order ON work_order.id = task.work_order_id
               WHERE journal.sequence > ? AND journal.sequence <= ? AND journal.kind = 'claim.expired'
               ORDER BY journal.sequence LIMIT ?""",
            (*window, limit),
        )
    ]
    lapsed += [
        LapsedItem("wake", row["id"], row["kind"], None, None, row["lapsed_at"])
        for row in rx.all(
            """SELECT wake.id, wake.kind, journal.at AS lapsed_at
               FROM journal JOIN wake ON wake.id = journal.subject_id
               WHERE journal.sequence > ? AND journal.sequence <= ? AND journal.kind = 'wake.lapsed'
               ORDER BY journal.sequence LIMIT ?""",
            (*window, limit),
        )
    ]
    expired = tuple(
        ExpiredItem(
            row["id"],
            row["work_order_id"],
            row["number"],
            row["title"],
            Purpose(row["purpose"]),
            row["expires_at"],
        )
        for row in rx.all(
            """SELECT approval.id, approval.work_order_id, approval.expires_at, work_order.number,
                 work_order.title, task.purpose
               FROM journal JOIN approval ON approval.id = journal.subject_id
               JOIN task ON task.id = approval.task_id JOIN work_order ON work_order.id = approval.work_order_id
               WHERE journal.sequence > ? AND journal.sequence <= ? AND journal.kind = 'approval.expired'
                 AND approval.expires_at > ? AND approval.expires_at <= ?
               ORDER BY journal.sequence LIMIT ?""",
            (*window, quiet.began_at, quiet.ended_at, limit),
        )
    )
    return tuple(lapsed[:limit]), expired


def _title(row: sqlite3.Row) -> str:
    """What a wake says of itself: the title of a schedule's work order or of a follow-up; "" for other wakes."""
    intent = json.loads(row["intent"])
    title = intent.get("title") if isinstance(intent, dict) else None
    return title if isinstance(title, str) else ""


def _missed(text: str, due_at: Instant, now: Instant) -> int:
    """How many occurrences of a series follow a missed one up to now."""
    try:
        return rule_from_json(text).count(due_at, now)
    except InvalidValue:
        return 0
