"""What costs the same at a thousand and at a million rows (E-17): every statement on the way of a work order."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engine.control.decisions import Finding
from engine.control.holds import Node
from engine.states import AttemptState, NodeKind
from engine.storage import Tx
from tests.e2e.support import AGENT, PERSON, manual, spec, step
from tests.ledger import SEEN

THAT_GROW = (
    "journal|work_order|task|approval|claim|attempt|delivery|exposure|validation|evidence|handoff|wake|hold"
)
WALK = re.compile(rf"(?:SCAN|SEARCH) (?:{THAT_GROW})(?: AS \w+)?$")
"""A table that grows with the work, read from end to end. SEARCH without an index is how SQLite calls a walk from one
end until a row fits, which for max() and min() may be none."""


async def test_e17_nothing_that_happens_to_a_work_order_reads_a_table_from_end_to_end(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: dict[str, Any] = {}

    def hear(name: str) -> None:
        whole = getattr(Tx, name)

        def said_first(tx: Tx, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> Any:
            said.setdefault(sql, parameters)
            return whole(tx, sql, parameters)

        monkeypatch.setattr(Tx, name, said_first)

    for name in ("all", "one", "run"):
        hear(name)
    engine = await manual(folder)
    try:
        places = [tmp_path / name for name in ("passes", "fails", "killed")]
        for place in places:
            place.mkdir()
        passes = await engine.submit(spec(places[0]), AGENT)
        fails = await engine.submit(spec(places[1], check="raise SystemExit(1)", corrections=1), AGENT)
        killed = await engine.submit(spec(places[2], "import os; os.kill(os.getpid(), 9)"), AGENT)
        for number in range(6):
            await step(engine, covers=number % 2 == 0)
        await engine.accept(passes.id, PERSON, "read")
        await engine.reject_work(fails.id, PERSON, "no")
        (lost,) = await engine.attempts(states=(AttemptState.UNKNOWN,))
        await engine.unknowns.reconcile(lost.id, Finding.DID_NOT, PERSON, reason="looked", proof=SEEN)
        await engine.cancel(Node(NodeKind.WORK_ORDER, killed.id), PERSON, reason="enough")
        await step(engine)
    finally:
        await engine.close()
    reads = [sql for sql in said if re.match(r"\s*(SELECT|UPDATE|DELETE|WITH|INSERT)", sql)]
    assert len(reads) > 100, "the statements are heard"
    with closing(sqlite3.connect(folder / "praxis.sqlite")) as database:
        as_if_grown(database)
    with closing(sqlite3.connect(folder / "praxis.sqlite")) as database:
        found = {}
        for sql in reads:
            plan = database.execute(f"EXPLAIN QUERY PLAN {sql}", said[sql]).fetchall()
            if walks := [line for *_, line in plan if WALK.match(line)]:
                found[sql] = walks
    assert not found


def as_if_grown(database: sqlite3.Connection, times: int = 10_000) -> None:
    """Make SQLite plan as for so many times the rows: what many rows share grows with them, what few share does not."""
    database.execute("ANALYZE")
    for table, index, text in database.execute("SELECT tbl, idx, stat FROM sqlite_stat1").fetchall():
        rows, *alike = (int(number) for number in text.split())
        grown = [rows * times, *(each * times if each * 25 >= rows else each for each in alike)]
        said = (" ".join(map(str, grown)), table, index)
        database.execute("UPDATE sqlite_stat1 SET stat = ? WHERE tbl = ? AND idx IS ?", said)
    database.commit()
