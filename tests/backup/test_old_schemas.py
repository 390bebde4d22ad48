"""Every older schema, kept as a file with work in every state, is restored and opened (B-092, B-095, E-15)."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from engine.backup import restore
from engine.clock import ManualClock
from engine.storage.connections import DATABASE_FILE
from engine.storage.journal import verify_journal
from engine.storage.schema import shipped_migrations
from tests.backup.conftest import row, rows
from tests.backup.keep_schema import MADE_AT, SCHEMAS
from tests.ledger import PERSON, Ledger

KEPT = sorted(int(path.name[:3]) for path in SCHEMAS.glob("*.sqlite.gz"))


def unpacked(version: int, target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(SCHEMAS / f"{version:03d}.sqlite.gz") as source, target.open("wb") as file:
        shutil.copyfileobj(source, file)
    return target


def test_older_schemas_are_kept_without_a_gap() -> None:
    """``python -m tests.backup.keep_schema`` keeps the present one, before the next migration comes."""
    assert list(range(1, max(KEPT) + 1)) == KEPT
    assert max(KEPT) >= 12


@pytest.mark.parametrize("version", KEPT)
async def test_b092_an_older_schema_is_restored_with_its_work(tmp_path: Path, version: int) -> None:
    source = unpacked(version, tmp_path / "copies" / "old.sqlite")
    before = row(source, "SELECT count(*) AS rows FROM journal")["rows"]
    target = tmp_path / "fresh"
    clock = ManualClock(MADE_AT + 3_600_000)
    report = restore(target, source, actor=PERSON, reason="test", clock=clock)
    steps = shipped_migrations()
    assert report.contents.schema == len(steps)
    assert report.comparison.new_schema == tuple(step.name for step in steps[version:])
    assert report.contents.counts["journal_rows"] > before
    if version >= 2:
        assert len(report.aftermath.unknown) == 1
        assert len(report.aftermath.void) >= 2
        titles = rows(target / DATABASE_FILE, "SELECT title FROM work_order ORDER BY number")
        assert [one["title"] for one in titles][:2] == ["Accepted", "Unknown"]
        assert len(titles) == 7
    await assert_works(target, clock)


@pytest.mark.parametrize("version", KEPT)
async def test_e15_an_older_schema_is_opened_in_its_place(tmp_path: Path, version: int) -> None:
    """Behind a checked copy, which can itself be restored."""
    folder = tmp_path / "data"
    unpacked(version, folder / DATABASE_FILE)
    clock = ManualClock(MADE_AT + 3_600_000)
    await assert_works(folder, clock)
    copies = list((folder / "backups").glob("before-schema-*.sqlite"))
    assert len(copies) == (version < len(shipped_migrations()))
    for copy in copies:
        assert restore(tmp_path / "again", copy, actor=PERSON, clock=clock).contents.schema > version


async def assert_works(folder: Path, clock: ManualClock) -> None:
    ledger = await Ledger.open(folder, clock)
    report = await ledger.read(verify_journal)
    assert report.sound, report.problems
    assert await ledger.all("PRAGMA foreign_key_check") == []
    await ledger.write(lambda tx, now: tx.run("UPDATE hold SET released_at = ?", (now,)))
    await ledger.run(await ledger.submit("/new", title="New"))
    await ledger.close()
