"""Counting by state: the usual end is the rest, and every state is exact."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from engine.clock import ManualClock
from engine.states import ApprovalState, AttemptState, TaskState, WorkOrderState
from engine.storage import Rx, Storage
from engine.storage.connections import DATABASE_FILE
from engine.views.figures import Counted, counted
from tests.backup.keep_schema import MADE_AT, SCHEMAS
from tests.ledger import Ledger

TABLES = {
    "work_order": ("work_orders", WorkOrderState),
    "task": ("tasks", TaskState),
    "attempt": ("attempts", AttemptState),
    "approval": ("approvals", ApprovalState),
}


def _one_by_one(rx: Rx, table: str) -> dict[str, int]:
    found = {state.value: 0 for state in TABLES[table][1]}
    for row in rx.all(f"SELECT state FROM {table}"):
        found[row["state"]] += 1
    return found


async def _both(storage: Storage) -> tuple[Counted, dict[str, dict[str, int]]]:
    def look(rx: Rx) -> tuple[Counted, dict[str, dict[str, int]]]:
        return counted(rx, MADE_AT), {table: _one_by_one(rx, table) for table in TABLES}

    return await storage.read(look)


async def test_work_in_every_state_is_counted_exactly(folder: Path, clock: ManualClock) -> None:
    folder.mkdir(exist_ok=True)
    newest = max(SCHEMAS.glob("*.sqlite.gz"))
    with gzip.open(newest) as source, (folder / DATABASE_FILE).open("wb") as file:
        shutil.copyfileobj(source, file)
    ledger = await Ledger.open(folder, clock)
    figures, found = await _both(ledger.storage)
    await ledger.close()
    for table, (name, _) in TABLES.items():
        assert getattr(figures, name) == found[table]
        assert sum(state > 0 for state in found[table].values()) >= 2, (
            "the fixture holds several states of each"
        )


async def test_nothing_is_counted_as_nothing(folder: Path, clock: ManualClock) -> None:
    ledger = await Ledger.open(folder, clock)
    figures, found = await _both(ledger.storage)
    await ledger.close()
    for table, (name, _) in TABLES.items():
        assert getattr(figures, name) == found[table]
        assert set(found[table].values()) == {0}


@pytest.mark.parametrize("table", TABLES)
async def test_counting_reads_an_index_of_what_is_unusual(
    folder: Path, clock: ManualClock, table: str
) -> None:
    """A figure costs what is under way, not what was ever done."""
    ledger = await Ledger.open(folder, clock)
    said: list[str] = []

    class Listening:
        def __init__(self, rx: Rx) -> None:
            self.all = lambda sql, values=(): said.append(sql) or rx.all(sql, values)
            self.one = lambda sql, values=(): said.append(sql) or rx.one(sql, values)

    def look(rx: Rx) -> list[str]:
        counted(Listening(rx), MADE_AT)  # type: ignore[arg-type]
        plans = []
        for sql in said:
            if f"FROM {table} " in f"{sql} ":
                plans += [row["detail"] for row in rx.all(f"EXPLAIN QUERY PLAN {sql}")]
        return plans

    plans = await ledger.storage.read(look)
    await ledger.close()
    assert any(f"{table}_unusual" in plan for plan in plans)
    assert all("INDEX" in plan for plan in plans), plans
