"""Comparing a copy with the present data: what a restore would lose, and what has happened since (E-82).

The hash of a journal row covers all rows before it, so two journals are alike up to a row exactly when that
row has the same hash in both. The last common row is where they part; what the present has after it is lost by
a restore, and what was started after it has happened all the same.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from engine.backup.contents import Contents, has_table, open_copy, read_contents
from engine.backup.proof import Proof, last_proof
from engine.dispatch.restores import RESTORE_SUBJECT
from engine.errors import PraxisError
from engine.instants import Instant
from engine.storage.checkpoints import checkpoint_over, has_checkpoints, known_point
from engine.storage.connections import DATABASE_FILE, connect_reader
from engine.storage.schema import Migration, applied, shipped_migrations
from engine.storage.transaction import Rx

MOST_LISTED = 200
"""How many of each a comparison lists; it counts all of them."""

_STARTED = "kind IN ('attempt.acknowledged', 'attempt.running')"
"""What the journal says when a worker is about to start an attempt: from here on it may take effect."""

_DECIDE_NOTHING = (
    *("backup.failed", "backup.made", "backup.proven", "backup.removed", "epoch.taken"),
    *("journal.compacted", "restore.done", "retention.done", "retention.files_removed", "rights.refused"),
    *("scope.created", "scope.removed", "work_order.created", "task.created", "approval.asked"),
    *("task.cancelled", "task.ready", "attempt.settled", "attempt.stop_requested", "attempt.voided"),
    *("work_order.accepted", "work_order.active", "work_order.removed", "handoff.accepted", "lane.unlocked"),
    *("evidence.recorded", "handoff.written"),
)
"""Kinds of rows that a person may cause and that decide nothing about work, or only follow from a decision that has
a row of its own. Any other kind counts as a decision, so that a new one is rather told than left out."""


@dataclass(frozen=True, slots=True)
class LostOrder:
    """A work order that the copy does not know (``is_new``), or knows in an earlier state."""

    work_order_id: str
    number: int
    title: str
    state: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class LostDecision:
    """What a person decided after the copy was made."""

    at: Instant
    actor: str
    kind: str
    number: int | None


@dataclass(frozen=True, slots=True)
class Effect:
    """An attempt that was started after the copy was made: a restore forgets it, the world does not."""

    attempt_id: str
    task_id: str
    work_order_id: str
    number: int
    title: str
    purpose: str
    argv: tuple[str, ...]
    state: str
    started_at: Instant


@dataclass(frozen=True, slots=True)
class Comparison:
    """A copy beside the present data.

    ``common_sequence`` is the last row that both journals share; ``rows_lost`` are the present's rows after it,
    ``rows_of_copy`` the copy's. ``new_schema`` names the steps that an older copy is brought up to date with:
    what they added cannot be in it (B-095). ``why_unread`` says why the present data could not be read, or "".
    ``removed`` are the numbers of work orders of the copy that have ended since and were removed by retention: what
    they did is not known any more. ``doubtful`` are those of which something was started in data that a restore since
    the copy has set aside: none of both data knows what became of it.
    """

    same_instance: bool
    has_present: bool
    why_unread: str
    common_sequence: int
    rows_lost: int
    rows_of_copy: int
    orders: tuple[LostOrder, ...]
    order_count: int
    decisions: tuple[LostDecision, ...]
    decision_count: int
    effects: tuple[Effect, ...]
    effect_count: int
    new_schema: tuple[str, ...]
    removed: tuple[int, ...] = ()
    removed_count: int = 0
    doubtful: tuple[int, ...] = ()
    doubtful_count: int = 0


@dataclass(frozen=True, slots=True)
class Present:
    """What a restore must know of the data that it sets aside, so that nothing of it comes twice.

    ``fates`` is the state of each attempt that may have been in flight in the copy; ``started`` the tasks of which
    something was started after the copy was made, here or in data that was set aside since, ``counters`` the numbers
    given out. ``removed`` are work orders of
    the copy that retention has removed since. ``proof`` is the last backup that was proven.
    """

    contents: Contents
    clock: Mapping[str, object] | None
    counters: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    fates: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    started: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    proof: Proof | None = None


def compare(folder: Path, copy: Path) -> Comparison:
    """Compare the database file ``copy`` with the data in ``folder``, which may be open. Blocks; changes nothing."""
    with closing(open_copy(copy)) as restored:
        present, why = open_present(folder)
        if present is None:
            return look_at_both(None, restored, why)
        with closing(present):
            return look_at_both(present, restored, "")


def open_present(folder: Path) -> tuple[sqlite3.Connection | None, str]:
    """Open the present data for reading if there is any that can be read; else say why not ("" if none)."""
    path = folder / DATABASE_FILE
    if not path.exists():
        return None, ""
    try:
        # Whoever has it open keeps a log beside it; without one nobody writes, and it is read alone.
        log = path.with_name(f"{path.name}-wal")
        database = connect_reader(path) if log.exists() else open_copy(path)
        try:
            read_contents(Rx(database))
        except BaseException:
            database.close()
            raise
    except (PraxisError, sqlite3.Error, OSError) as error:
        return None, str(error)
    return database, ""


def look_at_both(present: sqlite3.Connection | None, copy: sqlite3.Connection, why_unread: str) -> Comparison:
    """Compare two open databases."""
    other = Rx(copy)
    theirs = read_contents(other)
    new_schema = tuple(step.name for step in _steps_after(copy, shipped_migrations()))
    if present is None:
        return Comparison(
            False, False, why_unread, 0, 0, theirs.journal_sequence, (), 0, (), 0, (), 0, new_schema
        )
    rx = Rx(present)
    ours = read_contents(rx)
    same = ours.instance_id == theirs.instance_id
    common = common_sequence(rx, other) if same else 0
    orders, order_count = _lost_orders(rx, common)
    decisions, decision_count = _lost_decisions(rx, common)
    effects, effect_count = _effects(rx, common)
    removed = _removed(rx, other, common) if same else {}
    doubtful = _numbers(rx, _left_in_doubt(rx, common)) if same else ()
    return Comparison(
        same,
        True,
        "",
        common,
        ours.journal_sequence - common,
        theirs.journal_sequence - common,
        orders,
        order_count,
        decisions,
        decision_count,
        effects,
        effect_count,
        new_schema,
        tuple(sorted(removed.values())[:MOST_LISTED]),
        len(removed),
        doubtful[:MOST_LISTED],
        len(doubtful),
    )


def read_present(database: sqlite3.Connection, copy: sqlite3.Connection) -> Present:
    """Read what a restore must know of the present data."""
    rx, other = Rx(database), Rx(copy)
    contents = read_contents(rx)
    clock = rx.one("SELECT * FROM clock_state WHERE id = 1") if has_table(rx, "clock_state") else None
    counters, fates, started, removed = {}, {}, frozenset[str](), frozenset[str]()
    if contents.instance_id == read_contents(other).instance_id and has_table(rx, "attempt"):
        counters = {row["name"]: row["value"] for row in rx.all("SELECT name, value FROM counter")}
        common = common_sequence(rx, other)
        fates = {
            row["id"]: f"{row['state']}{', ' + row['outcome'] if row['outcome'] else ''}"
            for row in rx.all(
                """SELECT id, state, outcome FROM attempt WHERE id IN
                     (SELECT subject_id FROM journal WHERE subject_kind = 'attempt' AND sequence > ?)""",
                (common,),
            )
        }
        started = frozenset(
            row["task_id"]
            for row in rx.all(
                f"""SELECT DISTINCT attempt.task_id FROM journal JOIN attempt ON attempt.id = journal.subject_id
                    WHERE journal.subject_kind = 'attempt' AND sequence > ? AND {_STARTED}""",
                (common,),
            )
        )
        started |= _left_in_doubt(rx, common)
        removed = frozenset(_removed(rx, other, common))
    clock_row = None if clock is None else dict(clock)
    return Present(contents, clock_row, counters, fates, started, removed, last_proof(rx))


def common_sequence(ours: Rx, theirs: Rx) -> int:
    """The last sequence up to which both journals are known to be the same.

    Where retention compacted one of them, only the ends of what was compacted can be compared: then it may be
    earlier than the truth, never later.
    """
    sides = tuple((rx, has_checkpoints(rx)) for rx in (ours, theirs))

    def both_know(at_most: int) -> tuple[int, bool]:
        """The greatest sequence up to ``at_most`` that both know the hash of, and whether it is the same."""
        while True:
            points = [known_point(rx, at_most, checkpoints=knows) for rx, knows in sides]
            at_most = min(point[0] for point in points)
            if points[0][0] == points[1][0]:
                return at_most, points[0] == points[1]

    low = common = 0
    high = min(read_contents(ours).journal_sequence, read_contents(theirs).journal_sequence)
    while low < high:
        middle = (low + high + 1) // 2
        point, same = both_know(middle)
        if point <= low:
            low = middle
        elif same:
            low, common = middle, point
        else:
            high = point - 1
    return common


def _steps_after(database: sqlite3.Connection, migrations: tuple[Migration, ...]) -> tuple[Migration, ...]:
    return migrations[len(applied(database)) :]


def _removed(ours: Rx, theirs: Rx, common: int) -> dict[str, int]:
    """Work orders of the copy, with their numbers, that were here and are not any more.

    Only retention removes any, and only what has ended. Of one that was made where this journal is compacted nobody
    can say it was not here, so it counts as well.
    """
    if not has_checkpoints(ours) or not has_table(theirs, "work_order"):
        return {}
    here = {row["id"] for row in ours.all("SELECT id FROM work_order")}
    made = theirs.all(
        """SELECT work_order.id, number, sequence FROM work_order JOIN journal
             ON subject_kind = 'work_order' AND subject_id = work_order.id AND kind = 'work_order.created'"""
    )
    return {
        row["id"]: row["number"]
        for row in made
        if row["id"] not in here
        and (row["sequence"] <= common or checkpoint_over(ours, row["sequence"]) is not None)
    }


def _left_in_doubt(rx: Rx, common: int) -> frozenset[str]:
    """Tasks of which something was, or may have been, started in data that restores after ``common`` set aside."""
    tasks: set[str] = set()
    for row in rx.all(
        "SELECT detail FROM journal WHERE subject_kind = ? AND kind = 'restore.done' AND sequence > ?",
        (RESTORE_SUBJECT, common),
    ):
        detail = json.loads(row["detail"])
        tasks.update(detail.get("started", ()))
        for order in detail["needs_decision"]:
            tasks.update(
                task["id"] for task in rx.all("SELECT id FROM task WHERE work_order_id = ?", (order,))
            )
    return frozenset(tasks)


def _numbers(rx: Rx, tasks: frozenset[str]) -> tuple[int, ...]:
    """The numbers of the work orders of these tasks, in order."""
    rows = rx.all(
        """SELECT DISTINCT number FROM json_each(?) AS one JOIN task ON task.id = one.value
           JOIN work_order ON work_order.id = task.work_order_id ORDER BY number""",
        (json.dumps(sorted(tasks)),),
    )
    return tuple(row["number"] for row in rows)


def _lost_orders(rx: Rx, common: int) -> tuple[tuple[LostOrder, ...], int]:
    if not has_table(rx, "work_order"):
        return (), 0
    rows = rx.all(
        """SELECT work_order.id, number, title, state, coalesce(made.sequence, 0) > ? AS is_new
           FROM work_order LEFT JOIN journal AS made
             ON made.subject_kind = 'work_order' AND made.subject_id = work_order.id
             AND made.kind = 'work_order.created'
           WHERE work_order.id IN (SELECT DISTINCT work_order_id FROM journal
             WHERE sequence > ? AND work_order_id IS NOT NULL)
           ORDER BY number DESC""",
        (common, common),
    )
    listed = tuple(
        LostOrder(row["id"], row["number"], row["title"], row["state"], bool(row["is_new"]))
        for row in rows[:MOST_LISTED]
    )
    return listed, len(rows)


def _lost_decisions(rx: Rx, common: int) -> tuple[tuple[LostDecision, ...], int]:
    numbered = has_table(rx, "work_order")
    number = (
        "(SELECT number FROM work_order WHERE work_order.id = journal.work_order_id)" if numbered else "NULL"
    )
    decided = (
        f"sequence > ? AND actor_kind = 'person' AND kind NOT IN ({', '.join('?' * len(_DECIDE_NOTHING))})"
    )
    rows = rx.all(
        f"""SELECT at, actor_name, kind, {number} AS number FROM journal
            WHERE {decided} ORDER BY sequence DESC LIMIT ?""",
        (common, *_DECIDE_NOTHING, MOST_LISTED),
    )
    count = rx.one(f"SELECT count(*) AS n FROM journal WHERE {decided}", (common, *_DECIDE_NOTHING))
    listed = tuple(LostDecision(row["at"], row["actor_name"], row["kind"], row["number"]) for row in rows)
    return listed, 0 if count is None else int(count["n"])


def _effects(rx: Rx, common: int) -> tuple[tuple[Effect, ...], int]:
    if not has_table(rx, "attempt"):
        return (), 0
    rows = rx.all(
        f"""SELECT attempt.*, work_order.number, work_order.title, approval.plan, begun.at AS begun_at
            FROM (SELECT subject_id, min(at) AS at, min(sequence) AS sequence FROM journal
                  WHERE sequence > ? AND subject_kind = 'attempt' AND {_STARTED} GROUP BY subject_id) AS begun
            JOIN attempt ON attempt.id = begun.subject_id
            JOIN work_order ON work_order.id = attempt.work_order_id
            JOIN approval ON approval.id = attempt.approval_id
            ORDER BY begun.sequence""",
        (common,),
    )
    listed = tuple(
        Effect(
            row["id"],
            row["task_id"],
            row["work_order_id"],
            row["number"],
            row["title"],
            row["purpose"],
            tuple(json.loads(row["plan"]).get("argv", ())),
            row["state"],
            row["begun_at"],
        )
        for row in rows[:MOST_LISTED]
    )
    return listed, len(rows)
