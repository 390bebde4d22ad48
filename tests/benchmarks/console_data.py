"""A data folder as years of work leave it: 100,000 tasks and 1,000,000 journal rows, in half a minute.

One work order of each kind is made by the engine's own transaction functions; its rows are then repeated under other
identities and times. What is repeated is what the schema has, so a new table or column needs nothing here. The journal
is chained as the engine chains it, and the counters of every scope are the sums that they have to be.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

from engine.canonical import canonical_json
from engine.clock import ManualClock, SystemClock
from engine.control import decisions
from engine.dispatch.approvals import Sealed
from engine.dispatch.work_orders import create_work_order
from engine.engine import Engine
from engine.states import Outcome
from engine.storage.chain import JournalRow, row_hash
from engine.work_order import CommandSpec, ValidationSpec
from tests.benchmarks.common import scratch_folder
from tests.ledger import AGENT, PERSON, Ledger, spec

DAY = 86_400_000
SPAN = 400 * DAY
PENDING = 2_000
UNKNOWN = 100
AWAITING = 300
JOURNAL_ROWS = 1_000_000
TASKS = 100_000
_NOT_REPEATED = (
    "meta",
    "epoch",
    "counter",
    "worker",
    "journal",
    "journal_head",
    "clock_trust",
    "sqlite_sequence",
)


@dataclass(frozen=True, slots=True)
class Template:
    """The rows of one work order by table; ``ids`` are the identities that each copy has anew."""

    rows: dict[str, list[dict[str, Any]]]
    ids: tuple[str, ...]
    journal: list[JournalRow]
    begun: int


async def real_plans(engine: Engine, workspace: Path) -> tuple[str, str]:
    """The plans of an implementation and of its validation, as the engine makes them."""
    (workspace / "fix.py").write_text("print('mended')\n")
    command = CommandSpec((sys.executable, "fix.py"), environment=MappingProxyType({"LEVEL": "2"}))
    order = replace(
        spec(str(workspace)), implementation=command, validation=ValidationSpec("tests pass", command=command)
    )
    check = await engine.check(order)
    plans = (check.plan, check.validation_plan or check.plan)
    return canonical_json(plans[0]).decode(), canonical_json(plans[1]).decode()


async def _make(folder: Path, clock: ManualClock) -> dict[str, str]:
    """One work order of each kind, by the engine's own functions."""
    with scratch_folder() as scratch:
        engine = await Engine.open(scratch / "data", automatic=False)
        try:
            (scratch / "workspace").mkdir()
            plan, check = await real_plans(engine, scratch / "workspace")
        finally:
            await engine.close()
    ledger = await Ledger.open(folder, clock)
    try:
        made = {}
        for kind in ("accepted", "awaiting", "unknown", "pending"):
            request = Sealed(plan, "s" * 64, check, "v" * 64)
            order = made[kind] = await ledger.write(
                create_work_order, spec(f"/src/{kind}"), f"/src/{kind}", request, AGENT, None
            )
            if kind == "pending":
                continue
            await ledger.run(order, Outcome.UNKNOWN if kind == "unknown" else Outcome.SUCCEEDED)
            if kind != "unknown":
                await ledger.run(order)
            if kind == "accepted":
                await ledger.write(decisions.accept, order, PERSON, "good")
    finally:
        await ledger.close()
    return made


def _template(database: sqlite3.Connection, order: str) -> Template:
    """Everything that belongs to this work order: what names it, and what names that."""
    database.row_factory = sqlite3.Row
    names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    scope = database.execute("SELECT scope_id FROM work_order WHERE id = ?", (order,)).fetchone()[0]
    own = {order, scope}
    rows: dict[str, list[dict[str, Any]]] = {}
    while True:
        before = len(own)
        for name in (name for name in names if name not in _NOT_REPEATED):
            found = []
            for row in map(dict, database.execute(f"SELECT * FROM {name}")):
                key = row.get("id", row.get("wake_id"))
                linked = key in own or any(
                    value in own
                    for column, value in row.items()
                    if column.endswith("_id") and column != "ancestor_id"
                )
                if linked and row.get("kind") not in ("ROOT", "PROJECT"):
                    found.append(row)
                    if isinstance(key, str):
                        own.add(key)
            rows[name] = found
        if len(own) == before:
            break
    journal = [
        JournalRow(*tuple(row)[:10])
        for row in database.execute("SELECT * FROM journal ORDER BY sequence")
        if row["work_order_id"] == order or row["subject_id"] in own
    ]
    return Template(
        {name: found for name, found in rows.items() if found}, tuple(sorted(own)), journal, journal[0].at
    )


def _is_instant(column: str) -> bool:
    return column.endswith("_at") or column in ("at", "lease_until", "until")


class Copies:
    """Repeats templates into a database."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._next = 1_000
        self.sequence, self._hash = database.execute("SELECT sequence, hash FROM journal_head").fetchone()
        database.execute("CREATE TEMP TABLE copy (n INTEGER PRIMARY KEY)")

    def repeat(self, template: Template, times: int, begin: int, end: int, journal_rows: int) -> None:
        """Write ``times`` copies between two instants, each with so many of the template's journal rows."""
        first, self._next = self._next, self._next + times
        step = (end - begin) // times
        self._database.execute("DELETE FROM copy")
        self._database.executemany("INSERT INTO copy VALUES (?)", ((n,) for n in range(first, first + times)))
        heads = {old: f"{old[:10]}{place:02d}" for place, old in enumerate(template.ids)}
        for table, rows in template.rows.items():
            for row in rows:
                columns = [
                    _column(name, value, heads, begin - template.begun, first, step)
                    for name, value in row.items()
                ]
                self._database.execute(
                    f"INSERT INTO {table} ({', '.join(row)}) SELECT {', '.join(text for text, _ in columns)} FROM copy",
                    [value for _, values in columns for value in values],
                )
        kept = template.journal
        if journal_rows < len(kept):
            kept = [kept[at * len(kept) // journal_rows] for at in range(journal_rows)]
        self._database.executemany(
            "INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            self._chained(kept, heads, range(first, first + times), begin - template.begun, step),
        )

    def _chained(
        self, kept: Sequence[JournalRow], heads: Mapping[str, str], numbers: range, shift: int, step: int
    ) -> Iterator[tuple[Any, ...]]:
        """The rows of the journal for all copies, with the hashes that `engine.storage.chain` gives them."""
        for number in numbers:
            delta = shift + (number - numbers.start) * step
            for row in kept:
                self.sequence += 1
                at = row.at + delta
                subject = _copied(row.subject_id, heads, number)
                order = None if row.work_order_id is None else _copied(row.work_order_id, heads, number)
                named = "null" if order is None else f'"{order}"'
                text = (
                    f'["{self._hash}",{self.sequence},{at},{row.epoch},"{row.actor_kind}","{row.actor_name}",'
                    f'"{row.subject_kind}","{subject}",{named},"{row.kind}",{row.detail}]'
                )
                made = sha256(text.encode("utf-8")).hexdigest()
                if number == numbers.start:
                    told = replace(
                        row, sequence=self.sequence, at=at, subject_id=subject, work_order_id=order
                    )
                    assert made == row_hash(self._hash, told)
                self._hash = made
                yield (
                    self.sequence,
                    at,
                    row.epoch,
                    row.actor_kind,
                    row.actor_name,
                    row.subject_kind,
                    subject,
                    order,
                    row.kind,
                    row.detail,
                    made,
                )

    def finish(self) -> None:
        """Write the head of the journal, the counters, and what every scope has used."""
        run = self._database.execute
        run("UPDATE journal_head SET sequence = ?, hash = ?", (self.sequence, self._hash))
        run("UPDATE counter SET value = max(value, ?) WHERE name LIKE '%work_order%'", (self._next,))
        run(
            """UPDATE scope_partition SET cost_limit = 1000000000, active_ms_limit = 4000000000000
               WHERE scope_id IN (SELECT id FROM scope WHERE kind <> 'WORK_ORDER')"""
        )
        for state, column in (("RESERVED", "reserved"), ("FROZEN", "frozen"), ("SPENT", "spent")):
            run(
                f"""UPDATE scope_partition SET
                      {column}_cost = (SELECT coalesce(sum(cost), 0) FROM exposure
                        WHERE exposure.scope_id = scope_partition.scope_id
                          AND exposure.partition = scope_partition.partition AND state = '{state}'),
                      {column}_ms = (SELECT coalesce(sum(active_ms), 0) FROM exposure
                        WHERE exposure.scope_id = scope_partition.scope_id
                          AND exposure.partition = scope_partition.partition AND state = '{state}')"""
            )


def _copied(identity: str, heads: Mapping[str, str], number: int) -> str:
    head = heads.get(identity)
    return identity if head is None else f"{head}{number:014d}"


def _column(
    name: str, value: object, heads: Mapping[str, str], shift: int, first: int, step: int
) -> tuple[str, tuple[object, ...]]:
    """The expression that gives a column of the copy ``n``, and its parameters."""
    if isinstance(value, str) and value in heads:
        return "? || printf('%014d', n)", (heads[value],)
    if isinstance(value, int) and _is_instant(name):
        return "? + (n - ?) * ?", (value + shift, first, step)
    if name == "number":
        return "n", ()
    if name in ("lane", "workspace"):
        return "'/src/project-' || (n % 4000)", ()
    if name == "seal":
        return "printf('%064x', n)", ()
    if name in ("title", "name"):
        return "? || ' ' || n", (value,)
    return "?", (value,)


def _indexes(database: sqlite3.Connection, tables: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for table in tables:
        yield from database.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
            (table,),
        ).fetchall()


def fill(folder: Path) -> dict[str, int]:
    """Make the folder; how many tasks and journal rows it has."""
    now = SystemClock().now()
    made = asyncio.run(_make(folder, ManualClock(now - SPAN)))
    database = sqlite3.connect(folder / "praxis.sqlite", isolation_level=None)
    try:
        templates = {kind: _template(database, order) for kind, order in made.items()}
        database.row_factory = None
        for pragma in ("synchronous = OFF", "foreign_keys = OFF", "cache_size = -400000"):
            database.execute(f"PRAGMA {pragma}")
        dropped = list(_indexes(database, ("journal", "exposure", "evidence_blob")))
        database.execute("BEGIN")
        for name, _ in dropped:
            database.execute(f"DROP INDEX {name}")
        copies = Copies(database)
        accepted = (TASKS - PENDING - UNKNOWN - 2 * AWAITING) // 2
        each = -(-JOURNAL_ROWS // accepted)
        copies.repeat(templates["accepted"], accepted, now - SPAN + DAY, now - DAY, each)
        copies.repeat(templates["unknown"], UNKNOWN, now - DAY, now - DAY // 2, each)
        copies.repeat(templates["awaiting"], AWAITING, now - DAY, now - DAY // 2, each)
        copies.repeat(templates["pending"], PENDING, now - DAY // 4, now - DAY // 8, each)
        for _, sql in dropped:
            database.execute(sql)
        copies.finish()
        database.execute("COMMIT")
        database.execute("ANALYZE")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (tasks,) = database.execute("SELECT count(*) FROM task").fetchone()
        return {"tasks": tasks, "journal_rows": copies.sequence}
    finally:
        database.close()
