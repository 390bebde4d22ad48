"""Read of the timeline: what began, went on or ended in a window of time, in lanes, never more than is shown.

A window with few bars is given bar by bar. One with more than `MOST_BARS` is given as its longest bars and, for
the rest, as counts in equal slices of the window: what a screen could not tell apart is not read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from engine.clock_watch import AnomalyKind
from engine.errors import InvalidValue
from engine.instants import LATEST, Instant, require_batch
from engine.states import Purpose
from engine.storage import Rx

MOST_BARS = 4_000
"""More bars than this in one window are given as counts."""

MOST_CELLS = 8_000
"""Lanes times slices never exceed this, so that a read stays bounded whatever the window."""

MOST_LANES = 2_000
MOST_MARKS = 500

LONG_MS = 3_600_000
"""Bars longer than this have an index of their own: how far before a window its bars may begin."""

ENGINE_LANE = "engine"
PEOPLE_LANE = "people"


class Grouping(StrEnum):
    """What a lane stands for."""

    WORK_ORDER = "work order"
    WORKSPACE = "workspace"
    WORKER = "worker"


class BarKind(StrEnum):
    """What a bar shows. DISPATCH is authorised until started, EXECUTION from there, VALIDATION an instant."""

    APPROVAL = "APPROVAL"
    CLAIM = "CLAIM"
    DISPATCH = "DISPATCH"
    EXECUTION = "EXECUTION"
    VALIDATION = "VALIDATION"
    HOLD = "HOLD"


class MarkKind(StrEnum):
    """What concerns every lane: a step of the clock, a gap slept through, a coordinator taking over."""

    CLOCK_STEP = "CLOCK_STEP"
    SUSPEND = "SUSPEND"
    EPOCH = "EPOCH"


@dataclass(frozen=True, slots=True)
class TimelineLane:
    """One lane; ``bars`` is how many there are in the window. ``number`` only for a work order."""

    key: str
    title: str
    number: int | None
    bars: int


@dataclass(frozen=True, slots=True)
class TimelineBar:
    """One bar. ``end`` is None while it goes on; ``until`` is the end of its lease or when it expires.

    ``subject`` is the approval, claim, attempt or hold; a validation has its attempt. ``state`` is the word of
    its own state machine, of the outcome once there is one, or of the verdict. ``ticks`` are renewals.
    """

    kind: BarKind
    id: str
    subject: str
    lane: str
    state: str
    start: Instant
    end: Instant | None
    until: Instant | None
    work_order_id: str | None
    task_id: str | None
    number: int | None
    title: str
    purpose: Purpose | None
    who: str
    note: str
    ticks: tuple[Instant, ...] = ()


@dataclass(frozen=True, slots=True)
class TimelineCell:
    """How many short bars of one kind and state begin in slice ``slice`` of the window in one lane."""

    lane: str
    slice: int
    kind: BarKind
    state: str
    count: int


@dataclass(frozen=True, slots=True)
class TimelineMark:
    """One mark across all lanes from ``start`` to ``end``: wall times before and after, equal for an instant.

    A step back ends before it starts. ``size_ms`` is its size; ``id`` the anomaly's, or the epoch's number.
    """

    kind: MarkKind
    id: str
    start: Instant
    end: Instant
    size_ms: int
    anomaly: AnomalyKind | None


@dataclass(frozen=True, slots=True)
class TimelineView:
    """A window as it was read. ``more_lanes`` says that there are lanes beyond these.

    ``cells`` is empty if every bar of these lanes is among ``bars``; ``slice_ms`` is how long one slice is.
    ``first`` is when the journal begins, ``now`` when this was read: the whole of what can be shown.
    """

    start: Instant
    end: Instant
    first: Instant
    now: Instant
    grouping: Grouping
    lanes: tuple[TimelineLane, ...]
    more_lanes: bool
    bars: tuple[TimelineBar, ...]
    cells: tuple[TimelineCell, ...]
    slice_ms: int
    marks: tuple[TimelineMark, ...]


@dataclass(frozen=True, slots=True)
class _Source:
    """One table of bars: its columns, where they come from, and the expressions for start and end."""

    columns: str
    tables: str
    start: str
    end: str
    only: str = "1 = 1"

    def select(self) -> str:
        """All bars that touch the window from :start to :end.

        Two parts, each a range of an index: what begins in the window or up to `LONG_MS` before, and what began
        before that and is still going on or took longer. What happens in an instant has no second part.
        """
        if self.start == self.end:
            return f"SELECT {self.columns} FROM {self.tables} WHERE {self.start} BETWEEN :start AND :end"
        wide = f"({self.end} IS NULL OR {self.end} - {self.start} > {LONG_MS})"
        touches = f"({self.end} IS NULL OR {self.end} >= :start)"
        return f"""SELECT {self.columns} FROM {self.tables}
              WHERE {self.start} BETWEEN :early AND :end AND {touches} AND {self.only}
            UNION ALL SELECT {self.columns} FROM {self.tables}
              WHERE {wide} AND {self.start} < :early AND {touches} AND {self.only}"""


_EXECUTED = "attempt JOIN delivery ON delivery.attempt_id = attempt.id AND delivery.started_at IS NOT NULL"

_SOURCES = (
    _Source(
        f"""'APPROVAL' AS kind, approval.id AS id, approval.id AS subject, approval.state AS state,
            asked_at AS start, coalesce(decided_at, ended_at) AS finish, expires_at AS until,
            approval.work_order_id AS work_order_id, approval.task_id AS task_id, '{PEOPLE_LANE}' AS who,
            coalesce(decided_by, '') AS note, 0 AS renewals""",
        "approval",
        "asked_at",
        "coalesce(decided_at, ended_at)",
        # Nobody waited for what an earlier look had covered.
        "covered_by IS NULL",
    ),
    _Source(
        """'CLAIM', claim.id, claim.id, claim.state, claimed_at, claim.ended_at, lease_until, task.work_order_id,
           claim.task_id, claim.worker_id, '', renewals""",
        "claim JOIN task ON task.id = claim.task_id",
        "claimed_at",
        "claim.ended_at",
    ),
    _Source(
        """'DISPATCH', attempt.id, attempt.id, attempt.state, authorized_at,
           coalesce((SELECT started_at FROM delivery WHERE delivery.attempt_id = attempt.id), attempt.ended_at),
           NULL, attempt.work_order_id, attempt.task_id, attempt.worker_id, '', 0""",
        "attempt",
        "authorized_at",
        "attempt.ended_at",
    ),
    _Source(
        """'EXECUTION', attempt.id, attempt.id,
           CASE WHEN attempt.state = 'UNKNOWN' THEN 'UNKNOWN' ELSE coalesce(attempt.outcome, attempt.state) END,
           delivery.started_at, coalesce(delivery.finished_at, attempt.ended_at), NULL, attempt.work_order_id,
           attempt.task_id, attempt.worker_id, attempt.reason, 0""",
        _EXECUTED,
        "authorized_at",
        "attempt.ended_at",
    ),
    _Source(
        f"""'VALIDATION', validation.id, validation.attempt_id, validation.outcome, recorded_at, recorded_at, NULL,
           validation.work_order_id, validation.task_id, CASE judged_by WHEN 'person' THEN '{PEOPLE_LANE}'
           ELSE (SELECT worker_id FROM attempt WHERE attempt.id = validation.attempt_id) END, validation.reason, 0""",
        "validation",
        "recorded_at",
        "recorded_at",
    ),
    _Source(
        f"""'HOLD', hold.id, hold.id, hold.kind, placed_at, released_at, NULL,
           CASE node_kind WHEN 'WORK_ORDER' THEN node_id
             WHEN 'TASK' THEN (SELECT work_order_id FROM task WHERE task.id = node_id) END,
           CASE node_kind WHEN 'TASK' THEN node_id END, '{ENGINE_LANE}', hold.reason, 0""",
        "hold",
        "placed_at",
        "released_at",
    ),
)

_LANES = {
    Grouping.WORK_ORDER: f"coalesce(bar.work_order_id, '{ENGINE_LANE}')",
    Grouping.WORKSPACE: f"coalesce(work_order.workspace, '{ENGINE_LANE}')",
    Grouping.WORKER: "bar.who",
}

_TITLES = {
    Grouping.WORK_ORDER: "coalesce(max(work_order.title), '')",
    Grouping.WORKSPACE: "coalesce(max(work_order.workspace), '')",
    Grouping.WORKER: "''",
}

_ORDERS = {
    Grouping.WORK_ORDER: "number DESC",
    Grouping.WORKSPACE: "lane",
    Grouping.WORKER: f"lane = '{PEOPLE_LANE}' DESC, lane",
}


def timeline(
    rx: Rx,
    start: Instant,
    end: Instant,
    grouping: Grouping,
    slices: int,
    lanes: int,
    text: str,
    now: Instant,
) -> TimelineView:
    """Everything that touches the window from ``start`` to ``end`` in the first ``lanes`` lanes.

    ``slices`` is how finely what is too much to give bar by bar is counted; ``text`` leaves only work orders whose
    title, workspace or number holds it. An empty or turned window is an `InvalidValue`.
    """
    require_batch(slices)
    require_batch(lanes)
    if end <= start:
        raise InvalidValue("The window ends before it begins.", do="Give an end after the start.")
    lanes = min(lanes, MOST_LANES)
    values: dict[str, object] = {"start": start, "end": end, "early": start - LONG_MS, "now": now}
    found = _lanes(rx, grouping, text, lanes + 1, values)
    shown = found[:lanes]
    bars: tuple[TimelineBar, ...] = ()
    cells: tuple[TimelineCell, ...] = ()
    slice_ms = max(1, -(-(end - start) // max(1, min(slices, MOST_CELLS // max(1, len(shown))))))
    within = _within(text, shown if len(found) > lanes else None, values)
    if sum(lane.bars for lane in shown) <= MOST_BARS:
        bars = _bars(rx, grouping, within, values)
    elif shown:
        values["long"] = 2 * slice_ms
        values["slice"] = slice_ms
        bars = _bars(rx, grouping, f"{within} AND coalesce(bar.finish, :now) - bar.start >= :long", values)
        cells = _cells(rx, grouping, f"{within} AND coalesce(bar.finish, :now) - bar.start < :long", values)
    first = rx.one("SELECT at FROM journal ORDER BY sequence LIMIT 1")
    return TimelineView(
        start=start,
        end=end,
        first=min(first["at"], now) if first is not None else now,
        now=now,
        grouping=grouping,
        lanes=shown,
        more_lanes=len(found) > lanes,
        bars=bars,
        cells=cells,
        slice_ms=slice_ms,
        marks=_marks(rx, start, end),
    )


def _every_bar(grouping: Grouping) -> str:
    """All bars of the window, each with its lane and its work order."""
    sources = " UNION ALL ".join(source.select() for source in _SOURCES)
    return f"""(SELECT bar.*, {_LANES[grouping]} AS lane, work_order.number, work_order.title, work_order.workspace
        FROM ({sources}) AS bar LEFT JOIN work_order ON work_order.id = bar.work_order_id) AS bar"""


def _within(text: str, lanes: Sequence[TimelineLane] | None, values: dict[str, object]) -> str:
    """The condition that leaves the bars of these lanes (None: of all) that match the text."""
    parts = ["bar.start <= :end AND (bar.finish IS NULL OR bar.finish >= :start)"]
    if text.strip():
        values["text"] = f"%{_escape(text.strip().lower())}%"
        parts.append(
            """(lower(bar.title) LIKE :text ESCAPE '!' OR lower(bar.workspace) LIKE :text ESCAPE '!'
                OR ('wo-' || bar.number) LIKE :text ESCAPE '!')"""
        )
    if lanes is not None:
        names = {f"lane{place}": lane.key for place, lane in enumerate(lanes)}
        values.update(names)
        parts.append(f"bar.lane IN ({', '.join(f':{name}' for name in names)})")
    return " AND ".join(parts)


def _lanes(
    rx: Rx, grouping: Grouping, text: str, limit: int, values: Mapping[str, object]
) -> tuple[TimelineLane, ...]:
    given = dict(values)
    where = _within(text, None, given)
    rows = rx.all(
        f"""SELECT bar.lane AS lane, {_TITLES[grouping].replace("work_order.", "bar.")} AS title,
              max(bar.number) AS number, count(*) AS bars
            FROM {_every_bar(grouping)} WHERE {where} GROUP BY bar.lane
            ORDER BY bar.lane = '{ENGINE_LANE}' DESC, {_ORDERS[grouping]} LIMIT :lanes""",
        {**given, "lanes": limit},
    )
    by_order = grouping is Grouping.WORK_ORDER
    return tuple(
        TimelineLane(row["lane"], row["title"], row["number"] if by_order else None, row["bars"])
        for row in rows
    )


def _bars(rx: Rx, grouping: Grouping, where: str, values: Mapping[str, object]) -> tuple[TimelineBar, ...]:
    rows = rx.all(
        f"""SELECT bar.*, task.purpose AS purpose FROM {_every_bar(grouping)}
            LEFT JOIN task ON task.id = bar.task_id WHERE {where}
            ORDER BY coalesce(bar.finish, :now) - bar.start DESC LIMIT {MOST_BARS}""",
        values,
    )
    ticks = _renewals(rx, [row["id"] for row in rows if row["renewals"]])
    made = [_bar(row, ticks.get(row["id"], ())) for row in rows]
    return tuple(sorted(made, key=_in_time))


def _in_time(bar: TimelineBar) -> tuple[Instant, Instant, str]:
    """The order in which bars begin; of those that begin together what ends first comes first."""
    return bar.start, LATEST if bar.end is None else bar.end, bar.id


def _bar(row: sqlite3.Row, ticks: tuple[Instant, ...]) -> TimelineBar:
    return TimelineBar(
        kind=BarKind(row["kind"]),
        id=row["id"],
        subject=row["subject"],
        lane=row["lane"],
        state=row["state"],
        start=row["start"],
        end=row["finish"],
        until=row["until"],
        work_order_id=row["work_order_id"],
        task_id=row["task_id"],
        number=row["number"],
        title=row["title"] or "",
        purpose=Purpose(row["purpose"]) if row["purpose"] else None,
        who=row["who"],
        note=row["note"],
        ticks=ticks,
    )


def _renewals(rx: Rx, claims: Sequence[str]) -> dict[str, tuple[Instant, ...]]:
    """When each of these claims was renewed, from its journal rows."""
    found: dict[str, tuple[Instant, ...]] = {}
    for claim in claims:
        rows = rx.all(
            """SELECT at FROM journal WHERE subject_kind = 'claim' AND subject_id = ? AND kind = 'claim.renewed'
               ORDER BY sequence LIMIT 100""",
            (claim,),
        )
        found[claim] = tuple(row["at"] for row in rows)
    return found


def _cells(rx: Rx, grouping: Grouping, where: str, values: Mapping[str, object]) -> tuple[TimelineCell, ...]:
    rows = rx.all(
        f"""SELECT bar.lane AS lane, (CASE WHEN bar.start < :start THEN 0 ELSE bar.start - :start END) / :slice
              AS slice, bar.kind AS kind, bar.state AS state, count(*) AS count
            FROM {_every_bar(grouping)} WHERE {where} GROUP BY 1, 2, 3, 4""",
        values,
    )
    return tuple(
        TimelineCell(row["lane"], row["slice"], BarKind(row["kind"]), row["state"], row["count"])
        for row in rows
    )


def _marks(rx: Rx, start: Instant, end: Instant) -> tuple[TimelineMark, ...]:
    anomalies = rx.all(
        f"""SELECT * FROM clock_anomaly WHERE (wall_before BETWEEN ? AND ?) OR (wall_after BETWEEN ? AND ?)
              OR (wall_before < ? AND wall_after > ?) ORDER BY sequence DESC LIMIT {MOST_MARKS}""",
        (start, end, start, end, start, end),
    )
    epochs = rx.all(
        f"SELECT * FROM epoch WHERE taken_at BETWEEN ? AND ? ORDER BY epoch DESC LIMIT {MOST_MARKS}",
        (start, end),
    )
    made = [
        TimelineMark(
            MarkKind.SUSPEND if row["kind"] == AnomalyKind.SUSPEND else MarkKind.CLOCK_STEP,
            row["id"],
            row["wall_before"],
            row["wall_after"],
            row["size_ms"],
            AnomalyKind(row["kind"]),
        )
        for row in reversed(anomalies)
    ]
    made += [
        TimelineMark(MarkKind.EPOCH, str(row["epoch"]), row["taken_at"], row["taken_at"], 0, None)
        for row in reversed(epochs)
    ]
    return tuple(made)


def _escape(text: str) -> str:
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
