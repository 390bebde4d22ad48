"""Receipts: every byte of one is bound to its row, and the check needs nothing but the file (E-93)."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.actors import Actor, ActorKind
from engine.canonical import canonical_digest, canonical_json
from engine.engine import Engine
from engine.errors import InvalidValue
from engine.interfaces.receipts import check_receipt, make_receipt, receipt_digest
from engine.work_order import BudgetLimits, Secret, ValidationSpec, WorkOrderSpec
from tests.conftest import python_command
from tests.interfaces.conftest import Praxis

SECRET = "hunter2-correct-horse"
PRINTS_IT = """
import json, os
print(os.environ["TOKEN"])
json.dump({"cost": 7, "summary": "used " + os.environ["TOKEN"], "questions": [os.environ["TOKEN"]]},
          open(os.environ["PRAXIS_RESULT"], "w"))
"""


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The receipt of a work order that used a secret, was carried out, validated and accepted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONSOLE_TOKEN", SECRET)
        return asyncio.run(_carry_out(tmp_path_factory.mktemp("receipts")))


async def _carry_out(place: Path) -> bytes:
    ada = Actor(ActorKind.PERSON, "ada")
    workspace = place / "workspace"
    workspace.mkdir()
    spec = WorkOrderSpec(
        title="Größe ∅ messen",
        workspace=str(workspace),
        implementation=python_command(
            PRINTS_IT, environment=MappingProxyType({"TOKEN": Secret("CONSOLE_TOKEN")})
        ),
        validation=ValidationSpec("exits 0", command=python_command("print('checked')")),
        limits=BudgetLimits(1_000, 600_000, 100, 60_000),
    )
    engine = await Engine.open(place / "data", automatic=False)
    try:
        row = await engine.submit(spec, Actor(ActorKind.AGENT, "codex"))
        asked = (await engine.approvals.inbox())[0]
        await engine.approvals.approve(asked.approval_id, ada, seal=asked.seal, covers_validation=True)
        for _ in range(2):
            await engine.work_once()
            await engine.reconcile_once()
        assert (await engine.work_order(row.id)).row.state == "AWAITING_ACCEPTANCE"
        await engine.accept(row.id, ada, "looks right")
        first, again = make_receipt(await engine.receipt("WO-1")), make_receipt(await engine.receipt(row.id))
        assert first == again
        kept = b"".join(path.read_bytes() for path in (place / "data" / "blobs").rglob("*") if path.is_file())
        assert SECRET.encode() in kept
        return first
    finally:
        await engine.close()


def rows_of(receipt: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(receipt)
    return found


def joined(rows: list[bytes]) -> bytes:
    return b"[\n" + b",\n".join(rows) + b"\n]\n"


def lines_of(receipt: bytes) -> list[bytes]:
    return receipt[2:-3].split(b",\n")


def rechained(rows: list[dict[str, Any]]) -> bytes:
    """What a forger who knows the form would write: every row's number and hash made anew."""
    previous, lines = "0" * 64, []
    for number, row in enumerate(rows, 1):
        content = {"row": number, "kind": row["kind"], "facts": row["facts"], "previous": previous}
        previous = canonical_digest(content)
        lines.append(canonical_json({**content, "hash": previous}))
    return joined(lines)


def row_at(receipt: bytes, position: int) -> int:
    """The row that a byte belongs to; the brackets belong to the first and the last."""
    return min(max(receipt.count(b"\n", 0, position), 1), receipt.count(b"\n") - 2)


# ------------------------------------------------------------------------------------------------ what it tells


def test_e93_it_tells_the_whole_story_in_canonical_form(story: bytes) -> None:
    report = check_receipt(story)
    assert report.sound, report.problems
    assert (report.work_order, report.title, report.state) == ("WO-1", "Größe ∅ messen", "ACCEPTED")
    assert report.digest == receipt_digest(story)
    rows = rows_of(story)
    kinds = [row["kind"] for row in rows]
    counted = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    assert counted.pop("journal") == report.journal_rows > 20
    assert counted == {
        "receipt": 1,
        "work_order": 1,
        "budget": 2,
        "task": 2,
        "approval": 2,
        "attempt": 2,
        "budget_move": 6,
        "evidence": 2,
        "validation": 1,
        "handoff": counted["handoff"],
        "decision": 1,
        "end": 1,
    }
    attempt = next(row["facts"] for row in rows if row["kind"] == "attempt")
    assert (attempt["outcome"], attempt["state"]) == ("SUCCEEDED", "SETTLED")
    assert attempt["authorized_at"].endswith("Z")
    (evidence, _) = (row["facts"] for row in rows if row["kind"] == "evidence")
    assert evidence["seen"]["exit_code"] == 0
    assert {one["role"] for one in evidence["files"]} >= {"stdout", "stderr", "result"}
    assert [row["facts"]["kind"] for row in rows if row["kind"] == "decision"] == ["accepted"]


def test_e93_no_secret_is_in_it(story: bytes) -> None:
    """Neither the value the command was given, nor what the command made of it in its output and its result."""
    assert SECRET.encode() not in story
    assert b"CONSOLE_TOKEN" in story
    plan = next(row["facts"]["plan"] for row in rows_of(story) if row["kind"] == "approval")
    assert plan["environment"]["own"]["TOKEN"].keys() == {"secret", "seal"}


# ------------------------------------------------------------------------------------------------- what is wrong


@given(data=st.data())
def test_e93_every_altered_byte_names_its_row(story: bytes, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(story) - 1))
    flip = data.draw(st.integers(1, 255))
    altered = bytearray(story)
    altered[position] ^= flip
    report = check_receipt(bytes(altered))
    assert not report.sound
    assert report.problems[0].row == row_at(story, position), report.problems
    assert {problem.row for problem in report.problems} <= {
        row_at(story, position),
        row_at(story, position) + 1,
    }


def test_e93_every_byte_where_rows_meet_is_bound_as_well(story: bytes) -> None:
    for position, byte in enumerate(story):
        if byte == 0x0A or 0x0A in story[position + 1 : position + 2]:
            for flip in (1, 0x80, byte ^ 0x0A or 7, byte ^ 0x2C or 7):
                altered = bytearray(story)
                altered[position] ^= flip
                report = check_receipt(bytes(altered))
                assert not report.sound
                assert report.problems[0].row == row_at(story, position), (position, flip, report.problems)


@pytest.mark.parametrize("change", ["remove", "double", "swap"])
def test_e93_rows_that_are_gone_moved_or_doubled_are_named(story: bytes, change: str) -> None:
    lines = lines_of(story)
    for index in range(len(lines) - (change == "swap")):
        changed = list(lines)
        if change == "remove":
            del changed[index]
        elif change == "double":
            changed.insert(index, lines[index])
        else:
            changed[index], changed[index + 1] = changed[index + 1], changed[index]
        report = check_receipt(joined(changed))
        assert not report.sound
        assert index + 1 in {problem.row for problem in report.problems}


@given(data=st.data())
def test_e93_a_cut_off_receipt_says_where(story: bytes, data: st.DataObject) -> None:
    length = data.draw(st.integers(story.index(b",\n"), len(story) - 1))
    report = check_receipt(story[:length])
    assert not report.sound
    assert report.problems[0].row <= story.count(b"\n", 0, length) + 1


@pytest.mark.parametrize(
    ("kind", "forge", "said"),
    [
        ("approval", lambda facts: facts["plan"]["argv"].append("--force"), "not the one that was sealed"),
        ("attempt", lambda facts: facts.update(seal="f" * 64), "does not have the seal of its approval"),
        ("journal", lambda facts: facts.update(detail="{}"), "does not have its hash"),
        ("journal", lambda facts: facts.update(at="2001-01-01T00:00:00.000Z"), "does not have its hash"),
        ("journal", lambda facts: facts.pop("detail"), "has not the form"),
        ("work_order", lambda facts: facts.update(id="01J"), "is not the one"),
        ("end", lambda facts: facts.update(rows=3), "says that there are 3 rows"),
        ("receipt", lambda facts: facts.update(version=2), "version 2"),
    ],
)
def test_e93_a_receipt_whose_hashes_were_made_anew_contradicts_itself(
    story: bytes, kind: str, forge: Callable[[dict[str, Any]], None], said: str
) -> None:
    rows = rows_of(story)
    row = next(row for row in rows if row["kind"] == kind)
    forge(row["facts"])
    report = check_receipt(rechained(rows))
    assert not report.sound
    assert (report.problems[0].row, said in report.problems[0].text) == (row["row"], True), report.problems


@given(st.binary(max_size=400) | st.text(max_size=200).map(str.encode))
def test_what_is_no_receipt_is_refused_in_words(data: bytes) -> None:
    with pytest.raises(InvalidValue, match="no receipt"):
        check_receipt(data)


# ------------------------------------------------------------------------------------------------ on the command line


def test_e93_the_command_line_writes_and_checks_receipts(
    praxis: Praxis, order_file: Any, tmp_path: Path, folder: Path
) -> None:
    praxis("submit", order_file())
    file = tmp_path / "order.receipt.json"
    made = praxis("receipt", "WO-1", "--out", str(file), "--json").json
    assert praxis("receipt", "1").raw == file.read_bytes()
    shutil.rmtree(folder)
    report = praxis("verify-receipt", str(file), "--digest", made["digest"][:8], "--json").json
    assert (report["digest"], report["problem_count"]) == (made["digest"], 0)
    assert "is sound" in praxis("verify-receipt", str(file)).out
    assert praxis("verify-receipt", str(file), "--digest", "0" * 64, ok=False).code == 6
    assert praxis("verify-receipt", str(file), "--digest", "0", ok=False).code == 2

    file.write_bytes(file.read_bytes().replace(b"Say done", b"Say gone", 1))
    ran = praxis("verify-receipt", str(file), ok=False)
    assert (ran.code, "row 2: Row 2 was altered." in ran.out) == (6, True)
    assert "row 2 is the first" in ran.err

    file.write_bytes(b"{}")
    assert praxis("verify-receipt", str(file), ok=False).code == 2
    assert praxis("verify-receipt", str(tmp_path), ok=False).code == 2
    assert praxis("verify-receipt", str(tmp_path / "none"), ok=False).code == 3
    assert praxis("receipt", "WO-1", ok=False).code == 3


def test_e93_the_check_opens_no_database(story: bytes, tmp_path: Path) -> None:
    """As on another machine: no data folder is there, and none is made."""
    file = tmp_path / "receipt.json"
    file.write_bytes(story)
    code = (
        "import sqlite3, sys\n"
        "sqlite3.connect = None\n"
        "from engine.interfaces.cli import run\n"
        "sys.exit(run(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "verify-receipt", str(file), "--data", str(tmp_path / "nowhere")],
        capture_output=True,
        cwd=Path(__file__).parents[2],
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "nowhere").exists()
