"""The journal's chain and its verification (E-16), sequences that never come back (P15)."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from engine.actors import Actor
from engine.errors import InvalidValue
from engine.storage import Rx, Storage, Subject, Tx, take_epoch
from engine.storage.chain import GENESIS, JournalRow, row_hash
from engine.storage.journal import (
    MOST_PROBLEMS,
    Fault,
    JournalReport,
    verify_journal,
)
from tests.storage.support import note, sequences
from tests.stored_journal import verify_stored_journal

ROWS = 12


def append(tx: Tx, actor: Actor, detail: Mapping[str, object], *, now: int) -> int:
    return tx.journal("thing.done", Subject("thing", "1"), actor, now, work_order_id="WO", detail=detail)


def rows(rx: Rx) -> list[dict[str, Any]]:
    return [dict(row) for row in rx.all("SELECT * FROM journal ORDER BY sequence")]


@pytest.fixture
async def written(storage: Storage) -> Storage:
    """A storage with `ROWS` journal rows."""
    for number in range(ROWS):
        await storage.write(note, f"{number:02}")
    return storage


async def test_e16_a_row_holds_everything_and_its_hash_is_over_all_of_it(
    storage: Storage, actor: Actor
) -> None:
    await storage.write(take_epoch, storage.owner)
    detail = {"z": 1, "a": [True, None, "é“"], "m": {"y": -2, "x": "\udc80"}}
    assert await storage.write(append, actor, detail) == 2
    first, second = await storage.read(rows)
    assert first["subject_kind"] == "epoch"
    assert {name: second[name] for name in second if name not in ("at", "hash")} == {
        "sequence": 2,
        "epoch": 1,
        "actor_kind": "person",
        "actor_name": "ada",
        "subject_kind": "thing",
        "subject_id": "1",
        "work_order_id": "WO",
        "kind": "thing.done",
        "detail": '{"a":[true,null,"é“"],"m":{"x":"\\udc80","y":-2},"z":1}',
    }
    assert json.loads(second["detail"]) == detail
    whole = [first["hash"], 2, second["at"], 1, "person", "ada", "thing", "1", "WO", "thing.done", detail]
    spelled = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert second["hash"] == hashlib.sha256(spelled.encode("utf-8", "backslashreplace")).hexdigest()


@pytest.mark.parametrize("detail", [{"x": 0.5}, {"x": float("nan")}, {1: "x"}, {"x": object()}])
async def test_a_detail_without_a_canonical_form_is_refused(
    storage: Storage, actor: Actor, detail: Mapping[str, object]
) -> None:
    with pytest.raises(InvalidValue):
        await storage.write(append, actor, detail)
    assert await storage.read(sequences) == []


async def test_e16_a_failed_operation_leaves_no_gap(storage: Storage) -> None:
    def fail(tx: Tx, *, now: int) -> None:
        note(tx, "x", now=now)
        raise ZeroDivisionError

    results = await asyncio.gather(
        storage.write(note, "a"), storage.write(fail), storage.write(note, "b"), return_exceptions=True
    )
    assert [type(result) for result in results] == [str, ZeroDivisionError, str]
    assert await storage.read(sequences) == [1, 2]
    assert (await storage.read(verify_journal)).sound


async def test_e16_an_untouched_journal_is_sound(written: Storage) -> None:
    report = await written.read(verify_journal)
    assert report.sound
    assert report.rows == report.head_sequence == report.last_sequence == ROWS
    assert report.head_hash == report.last_hash


async def test_e16_an_empty_journal_is_sound(storage: Storage) -> None:
    report = await storage.read(verify_journal)
    assert report.sound
    assert report.rows == 0


# ------------------------------------------------------------------------------------------------------- tampering


def read_row(database: sqlite3.Connection, sequence: int) -> tuple[JournalRow, str]:
    *content, stored = database.execute(
        "SELECT sequence, at, epoch, actor_kind, actor_name, subject_kind, subject_id, work_order_id, kind, detail,"
        " hash FROM journal WHERE sequence = ?",
        (sequence,),
    ).fetchone()
    return JournalRow(*content), stored


def forge(database: sqlite3.Connection, sequence: int) -> None:
    """Edit a row and give it a hash that fits its new content."""
    database.execute("UPDATE journal SET actor_name = 'mallory' WHERE sequence = ?", (sequence,))
    previous = GENESIS if sequence == 1 else read_row(database, sequence - 1)[1]
    digest = row_hash(previous, read_row(database, sequence)[0])
    database.execute("UPDATE journal SET hash = ? WHERE sequence = ?", (digest, sequence))


def swap(database: sqlite3.Connection, one: int, other: int) -> None:
    for source, target in ((one, 1_000), (other, one), (1_000, other)):
        database.execute("UPDATE journal SET sequence = ? WHERE sequence = ?", (target, source))


def duplicate(database: sqlite3.Connection, sequence: int, as_sequence: int) -> None:
    database.execute(
        "INSERT INTO journal SELECT ?, at, epoch, actor_kind, actor_name, subject_kind, subject_id, work_order_id,"
        " kind, detail, hash FROM journal WHERE sequence = ?",
        (as_sequence, sequence),
    )


def replace_by_duplicate(database: sqlite3.Connection, sequence: int, target: int) -> None:
    database.execute("DELETE FROM journal WHERE sequence = ?", (target,))
    duplicate(database, sequence, target)


def statement(sql: str) -> Callable[[sqlite3.Connection], object]:
    return lambda database: database.execute(sql)


TAMPERINGS: dict[str, tuple[Callable[[sqlite3.Connection], object], list[tuple[Fault, int]]]] = {
    **{
        f"edited {column}": (
            statement(f"UPDATE journal SET {column} = {value} WHERE sequence = 5"),
            [(Fault.ALTERED, 5)],
        )
        for column, value in {
            "at": "at + 1",
            "epoch": "epoch + 1",
            "actor_kind": "'person'",
            "actor_name": "'mallory'",
            "subject_kind": "'task'",
            "subject_id": "'99'",
            "work_order_id": "NULL",
            "kind": "'note.removed'",
            "detail": "'{\"size\": 0}'",
        }.items()
    },
    "edited hash": (
        statement("UPDATE journal SET hash = substr(hash, 2) || 'x' WHERE sequence = 5"),
        [(Fault.ALTERED, 5), (Fault.ALTERED, 6)],
    ),
    "edited with a hash that fits": (lambda database: forge(database, 5), [(Fault.ALTERED, 6)]),
    "the last edited with a hash that fits": (lambda database: forge(database, ROWS), [(Fault.ALTERED, ROWS)]),
    "edited first row": (statement("UPDATE journal SET kind = 'x' WHERE sequence = 1"), [(Fault.ALTERED, 1)]),
    "missing": (statement("DELETE FROM journal WHERE sequence = 5"), [(Fault.MISSING, 5)]),
    "several missing": (statement("DELETE FROM journal WHERE sequence IN (5, 6, 7, 9)"),
                        [(Fault.MISSING, 5), (Fault.MISSING, 9)]),
    "missing start": (statement("DELETE FROM journal WHERE sequence <= 3"), [(Fault.MISSING, 1)]),
    "reordered": (lambda database: swap(database, 5, 6),
                  [(Fault.ALTERED, 5), (Fault.ALTERED, 6), (Fault.ALTERED, 7)]),
    "duplicated at the end": (lambda database: duplicate(database, 5, ROWS + 1),
                              [(Fault.ALTERED, ROWS + 1), (Fault.SURPLUS, ROWS + 1)]),
    "duplicated over another": (lambda database: replace_by_duplicate(database, 5, 6),
                                [(Fault.ALTERED, 6), (Fault.ALTERED, 7)]),
    "cut off": (statement(f"DELETE FROM journal WHERE sequence > {ROWS - 2}"), [(Fault.CUT_OFF, ROWS - 1)]),
    "all gone": (statement("DELETE FROM journal"), [(Fault.CUT_OFF, 1)]),
    "head gone": (statement("DELETE FROM journal_head"), [(Fault.NO_HEAD, ROWS)]),
}  # fmt: skip


@pytest.mark.parametrize("tampering", TAMPERINGS)
async def test_e16_tampering_is_found(written: Storage, tampering: str) -> None:
    tamper, expected = TAMPERINGS[tampering]
    outsider = sqlite3.connect(written.path, isolation_level=None)
    tamper(outsider)
    outsider.close()
    report = await written.read(verify_journal)
    assert not report.sound
    assert [(problem.fault, problem.sequence) for problem in report.problems] == expected
    assert report.problem_count == len(expected)
    assert all(problem.text.endswith(".") for problem in report.problems)


async def test_e16_verification_may_be_spread_over_reads_while_the_journal_grows(written: Storage) -> None:
    report: JournalReport | None = None
    reads = 0
    while report is None or not report.finished:
        report = await written.read(verify_journal, report, at_most=5)
        reads += 1
        if reads < 3:
            await written.write(note, f"more {reads}")
        if not report.finished:
            assert not report.sound
    assert report.sound
    assert report.rows == ROWS + 2
    assert reads == 3


async def test_e16_faults_are_found_across_reads_too(written: Storage) -> None:
    outsider = sqlite3.connect(written.path, isolation_level=None)
    outsider.execute("DELETE FROM journal WHERE sequence IN (5, 6)")
    outsider.execute("UPDATE journal SET kind = 'x' WHERE sequence = 11")
    outsider.close()
    whole = await written.read(verify_journal)
    for rows_per_read in (1, 2, 4, 5, 100):
        assert await verify_stored_journal(written, rows_per_read=rows_per_read) == whole
    assert [problem.sequence for problem in whole.problems] == [5, 11]


async def test_a_report_lists_a_bounded_number_of_problems_and_counts_all(storage: Storage) -> None:
    def many(tx: Tx, *, now: int) -> None:
        for number in range(3 * MOST_PROBLEMS):
            note(tx, f"{number}", now=now)

    await storage.write(many)
    outsider = sqlite3.connect(storage.path, isolation_level=None)
    outsider.execute("UPDATE journal SET kind = 'x'")
    outsider.close()
    report = await storage.read(verify_journal)
    assert len(report.problems) == MOST_PROBLEMS
    assert report.problem_count == 3 * MOST_PROBLEMS


async def test_p15_sequences_never_come_back(written: Storage, folder: Path, open_storage: Any) -> None:
    def forget_newest(tx: Tx, *, now: int) -> None:
        tx.run("DELETE FROM journal WHERE sequence > 3")

    await written.write(forget_newest)
    await written.write(note, "after")
    assert await written.read(sequences) == [1, 2, 3, ROWS + 1]
    await written.write(forget_newest)
    await written.close()
    again = await open_storage()
    await again.write(note, "later")
    assert await again.read(sequences) == [1, 2, 3, ROWS + 2]


async def test_e17_the_journal_of_a_subject_and_of_a_work_order_use_an_index(storage: Storage) -> None:
    def plan(rx: Rx, sql: str) -> str:
        return " ".join(row["detail"] for row in rx.all(f"EXPLAIN QUERY PLAN {sql}"))

    for where, index in (
        ("subject_kind = 'task' AND subject_id = 'x'", "journal_subject"),
        ("work_order_id = 'x'", "journal_work_order"),
    ):
        found = await storage.read(
            plan, f"SELECT * FROM journal WHERE {where} ORDER BY sequence DESC LIMIT 50"
        )
        assert f"USING INDEX {index}" in found
        assert "TEMP B-TREE" not in found
