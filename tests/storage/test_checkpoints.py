"""Rows of the journal that go behind checkpoints, and everything that may be wrong with these (E-84, E-16)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from engine.actors import ENGINE
from engine.errors import DatabaseDamaged
from engine.storage import Rx, Storage, Subject, Tx
from engine.storage.checkpoints import CheckpointKey, hash_before, known_point, remove_rows
from engine.storage.journal import Fault, JournalReport, verify_journal
from tests.storage.conftest import OpenStorage

KEY = CheckpointKey.of(b"k" * 32)
OTHER = CheckpointKey.of(b"o" * 32)
ROWS = 20


def note(tx: Tx, text: str, *, now: int) -> None:
    tx.journal("note.added", Subject("note", text), ENGINE, now, detail={"text": text})


def compact(tx: Tx, sequences: Sequence[int], key: CheckpointKey = KEY, *, now: int) -> int:
    return remove_rows(tx, key, sequences, ENGINE, {"older_than": 1}, now)


def verify(rx: Rx, key: CheckpointKey | None = KEY) -> JournalReport:
    return verify_journal(rx, key=key)


def checkpoints(rx: Rx) -> list[tuple[int, int]]:
    return [
        (row["first"], row["last"])
        for row in rx.all("SELECT first, last FROM journal_checkpoint ORDER BY first")
    ]


@pytest.fixture
async def storage(open_storage: OpenStorage) -> Storage:
    return await open_storage(migrations=None)


@pytest.fixture
async def written(storage: Storage) -> Storage:
    for number in range(ROWS):
        await storage.write(note, f"{number:02}")
    return storage


def outside(storage: Storage, sql: str, *values: object) -> None:
    """Change the database as no program of ours would."""
    outsider = sqlite3.connect(storage.path, isolation_level=None)
    outsider.execute(sql, values)
    outsider.close()


async def test_e84_a_compacted_journal_is_sound_and_says_what_went(written: Storage) -> None:
    assert await written.write(compact, [1, 2, 3, 7, 8]) == 5
    report = await written.read(verify)
    assert report.sound, report.problems
    assert (report.rows, report.compacted, report.unconfirmed) == (ROWS - 5 + 1, 5, 0)
    assert await written.read(checkpoints) == [(1, 3), (7, 8)]
    assert (await written.read(verify, None)).unconfirmed == 2
    assert (await written.read(verify, OTHER)).unconfirmed == 2
    assert (await written.read(verify, OTHER)).sound


async def test_e84_checkpoints_that_touch_become_one(written: Storage) -> None:
    """However it is compacted, there is one checkpoint for each gap, and statements of none may go themselves."""
    await written.write(compact, [1, 2, 3, 7, 8])
    await written.write(compact, [4, 5, 6, 10])
    assert await written.read(checkpoints) == [(1, 8), (10, 10)]
    await written.write(compact, [9, *range(11, ROWS + 2)])
    assert await written.read(checkpoints) == [(1, ROWS + 1)]
    report = await written.read(verify)
    assert report.sound, report.problems
    assert report.compacted == ROWS + 1
    assert await written.read(hash_before, ROWS + 2) is not None
    assert (await written.read(known_point, 5, checkpoints=True))[0] == 0
    assert (await written.read(known_point, ROWS + 1, checkpoints=True))[0] == ROWS + 1


TAMPERINGS: dict[str, tuple[str, list[tuple[Fault, int]]]] = {
    "first": ("UPDATE journal_checkpoint SET first = 6 WHERE first = 5", [(Fault.MISSING, 5)]),
    "last": ("UPDATE journal_checkpoint SET last = 8 WHERE first = 5",
             [(Fault.CHECKPOINT, 5), (Fault.MISSING, 9)]),
    "previous": ("UPDATE journal_checkpoint SET previous = hash WHERE first = 5", [(Fault.CHECKPOINT, 5)]),
    "hash": ("UPDATE journal_checkpoint SET hash = previous WHERE first = 5",
             [(Fault.CHECKPOINT, 5), (Fault.ALTERED, 10)]),
    "key": ("UPDATE journal_checkpoint SET key = 'another' WHERE first = 5", [(Fault.CHECKPOINT, 5)]),
    "signature": ("UPDATE journal_checkpoint SET signature = hash WHERE first = 5", [(Fault.CHECKPOINT, 5)]),
    "statement": ("UPDATE journal_checkpoint SET statement = 4 WHERE first = 5", [(Fault.CHECKPOINT, 5)]),
    "removed": ("DELETE FROM journal_checkpoint", [(Fault.MISSING, 5)]),
    "its statement removed": (f"DELETE FROM journal WHERE sequence = {ROWS + 1}",
                              [(Fault.CHECKPOINT, 5), (Fault.MISSING, ROWS + 1)]),
    "added": (
        """INSERT INTO journal_checkpoint SELECT 12, 13, previous, hash, key, signature, statement
           FROM journal_checkpoint""",
        [(Fault.CHECKPOINT, 12)],
    ),
    "more rows removed": ("DELETE FROM journal WHERE sequence = 10", [(Fault.MISSING, 10)]),
}  # fmt: skip


@pytest.mark.parametrize("tampering", TAMPERINGS)
async def test_e84_an_altered_checkpoint_is_named(written: Storage, tampering: str) -> None:
    await written.write(compact, [5, 6, 7, 8, 9])
    await written.write(note, "after")
    sql, expected = TAMPERINGS[tampering]
    outside(written, sql)
    report = await written.read(verify)
    assert [(one.fault, one.sequence) for one in report.problems] == expected, report.problems
    assert all(one.text.endswith(".") for one in report.problems)


async def test_e84_a_signature_gives_away_what_was_chained_anew(written: Storage) -> None:
    """Who writes rows and statement anew from end to end has not the key."""
    await written.write(compact, [5, 6, 7, 8, 9], CheckpointKey(KEY.identity, b"guessed"))
    assert (await written.read(verify, None)).sound
    (problem,) = (await written.read(verify)).problems
    assert (problem.fault, problem.sequence) == (Fault.CHECKPOINT, 5)
    assert "false signature" in problem.text


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE journal SET actor_name = 'mallory' WHERE sequence = 5",
        "DELETE FROM journal WHERE sequence = 6",
        "DELETE FROM journal WHERE sequence = 4",
        "UPDATE journal_checkpoint SET signature = hash",
        "UPDATE journal_checkpoint SET hash = previous",
    ],
)
async def test_e84_what_is_not_sound_is_not_compacted(written: Storage, sql: str) -> None:
    """The rows that show the fault stay."""
    await written.write(compact, [1, 2])
    outside(written, sql)
    before = await written.read(lambda rx: rx.all("SELECT sequence FROM journal"))
    with pytest.raises(DatabaseDamaged, match=r"not sound|checkpoint"):
        await written.write(compact, [3, 5, 6])
    assert await written.read(lambda rx: rx.all("SELECT sequence FROM journal")) == before


async def test_e84_a_verification_goes_on_where_rows_were_compacted_meanwhile(written: Storage) -> None:
    whole = await written.read(verify)
    for read in range(1, 12):
        report = await written.read(verify_journal, at_most=read, key=KEY)
        await written.write(compact, [row for row in range(1, read + 2) if row != read - 3])
        while not report.finished:
            report = await written.read(verify_journal, report, at_most=3, key=KEY)
        assert report.sound, (read, report.problems)
        await _renew(written)
    assert whole.sound


async def _renew(storage: Storage) -> None:
    """Add rows, so that there is something to compact again at the start of the journal."""

    def restart(tx: Tx, *, now: int) -> None:
        for table in ("journal", "journal_checkpoint"):
            tx.run(f"DELETE FROM {table}")
        tx.chain = type(tx.chain)(0, "0" * 64, tx.chain.epoch)
        for number in range(ROWS):
            note(tx, f"{number}", now=now)

    await storage.write(restart)


async def test_e17_checkpoints_are_found_by_an_index(storage: Storage) -> None:
    def plan(rx: Rx) -> list[Any]:
        return [
            row["detail"]
            for row in rx.all(
                "EXPLAIN QUERY PLAN SELECT * FROM journal_checkpoint WHERE last >= ? ORDER BY last LIMIT 1",
                (1,),
            )
        ]

    look: Callable[[Rx], list[Any]] = plan
    assert all("SEARCH" in step for step in await storage.read(look))
