"""Evidence as one value with one identity, and the worker's own result record (E-55, B-026, B-035)."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from engine.clock import ManualClock
from engine.errors import InvalidValue
from engine.execution.blobs import Blob
from engine.execution.evidence import (
    LARGEST_RESULT,
    LISTED_CHANGES,
    Artifact,
    ArtifactProblem,
    ChangeKind,
    Evidence,
    OutsideChange,
    ResultRecord,
    ResultUnreadable,
    changes_between,
    evidence_from_json,
    host_facts,
    read_result,
)
from engine.execution.process import (
    Difference,
    DifferenceKind,
    EndedBy,
    EndedHow,
    EndedProcess,
    GoneProcess,
    GuardedFile,
    NotStarted,
    ProcessIdentity,
    ProcessReport,
    StopReason,
    Survivor,
    TreeReport,
    outcome_of,
)
from engine.states import Outcome
from engine.workspace.folders import Folder
from engine.workspace.manifest import take_manifest
from engine.workspace.repository import StateKind, WorkspaceState

NOW = 1_788_998_400_000
REPORT = ProcessReport(NOW, NOW + 1_500, 1_500, 0, EndedBy.EXIT, ProcessIdentity(7, 99, "boot"), exit_code=0)
EVIDENCE = Evidence(
    argv=("tool", "", "\udcff", "🚀"),
    cwd="/work space",
    environment=("HOME", "PATH"),
    program=GuardedFile("/bin/tool", "a" * 64),
    inputs=(GuardedFile("/work space/in", "b" * 64),),
    report=REPORT,
    host=host_facts(ManualClock(), "0.1.0"),
)


def take(folder: Path) -> object:
    with Folder(folder) as opened:
        return take_manifest(opened)


digests = some.text("0123456789abcdef", min_size=64, max_size=64)
identities = some.builds(ProcessIdentity, some.integers(1), some.integers(0), some.text())
reports = some.builds(
    ProcessReport,
    started_at=some.integers(0, NOW),
    finished_at=some.integers(0, NOW),
    active_ms=some.integers(0),
    slept_ms=some.integers(0),
    ended_by=some.sampled_from(EndedBy),
    identity=some.none() | identities,
    exit_code=some.none() | some.integers(0, 2**32 - 1),
    signal=some.none() | some.integers(1, 64),
    stopped_by=some.none() | some.sampled_from(StopReason),
    not_started=some.none() | some.sampled_from(NotStarted),
    detail=some.text(),
    output_bytes=some.integers(0),
    tree=some.builds(
        TreeReport,
        some.tuples(some.builds(EndedProcess, some.integers(1), some.text(), some.sampled_from(EndedHow))),
        some.tuples(some.builds(GoneProcess, some.integers(1), some.text())),
        some.just(()) | some.tuples(some.builds(Survivor, identities, some.text())),
    ),
    drift=some.just(())
    | some.tuples(
        some.builds(Difference, some.text(), some.sampled_from(DifferenceKind), digests, digests, some.text())
    ),
)


@given(
    report=reports,
    stdout=some.none() | some.builds(Blob, digests, some.integers(0)),
    result=some.none()
    | some.builds(ResultRecord, some.none() | some.integers(0), some.text(), some.tuples(some.text())),
    artifacts=some.tuples(some.builds(Artifact, some.text(), some.integers(0), digests)),
    argv=some.lists(some.text(some.characters(exclude_characters="\0"))).map(tuple),
)
def test_every_evidence_survives_json_with_its_identity(**fields: object) -> None:
    """E-55: one durable record; equal values have equal identities, through any JSON writer."""
    evidence = replace(EVIDENCE, **fields)
    text = evidence.canonical()
    assert hashlib.sha256(text.encode("utf-8")).hexdigest() == evidence.sha256
    again = evidence_from_json(json.loads(text))
    assert again == evidence
    assert again.sha256 == evidence.sha256


def test_the_whole_form(tmp_path: Path) -> None:
    """E-01: instants are canonical UTC text in JSON; no environment value is in it."""
    (tmp_path / "kept").write_text("1")
    (tmp_path / "removed").write_text("2")
    before = take(tmp_path)
    (tmp_path / "kept").write_text("3")
    (tmp_path / "removed").unlink()
    (tmp_path / "new").write_text("4")
    state = WorkspaceState(StateKind.GIT, head="c" * 40, branch="main", changed=1, digest="d" * 64)
    evidence = replace(
        EVIDENCE,
        workspace=changes_between(before, take(tmp_path)),
        repository_before=state,
        repository_after=replace(state, changed=2),
        outside=(OutsideChange("/elsewhere/file", ChangeKind.CHANGED),),
        by_others=("notes.txt",),
        artifact_problems=(ArtifactProblem("*.pdf", "Nothing matches this pattern."),),
        result_file=Blob("e" * 64, 3),
        result_problem="broken",
    )
    value = evidence.to_json()
    assert (value["started_at"], value["finished_at"]) == (
        "2026-09-10T00:00:00.000Z",
        "2026-09-10T00:00:01.500Z",
    )
    assert value["environment"] == ["HOME", "PATH"]
    assert value["workspace"]["counts"] == [1, 1, 1]
    (changed,) = value["workspace"]["changed"]
    assert changed["before"]["sha256"] == hashlib.sha256(b"1").hexdigest()
    assert changed["after"]["sha256"] == hashlib.sha256(b"3").hexdigest()
    assert value["workspace"]["added"][0]["before"] is None
    assert value["workspace"]["removed"][0]["after"] is None
    assert evidence_from_json(json.loads(evidence.canonical())) == evidence


def test_any_difference_is_another_identity() -> None:
    assert replace(EVIDENCE, cwd="/work").sha256 != EVIDENCE.sha256
    assert replace(EVIDENCE, report=replace(REPORT, exit_code=1)).sha256 != EVIDENCE.sha256


def test_another_form_is_refused() -> None:
    with pytest.raises(InvalidValue, match="form 2"):
        evidence_from_json({**EVIDENCE.to_json(), "form": 2})


def test_nothing_changed_is_said_as_such(tmp_path: Path) -> None:
    """B-026: a command that exits 0 and changes nothing."""
    (tmp_path / "file").write_text("1")
    changes = changes_between(take(tmp_path), take(tmp_path))
    assert changes.counts == (0, 0, 0)
    assert changes.before == changes.after


def test_a_flood_of_files_is_counted_and_not_listed(tmp_path: Path) -> None:
    before = take(tmp_path)
    for number in range(LISTED_CHANGES + 5):
        (tmp_path / str(number)).touch()
    changes = changes_between(before, take(tmp_path))
    assert changes.counts == (LISTED_CHANGES + 5, 0, 0)
    assert len(changes.added) == LISTED_CHANGES


# --- the result record --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "record"),
    [
        (b"{}", ResultRecord()),
        (b'{"cost": 12}', ResultRecord(12)),
        (
            '\ufeff{"cost": 0, "summary": "done ✓", "questions": ["why?", ""]}'.encode(),
            ResultRecord(0, "done ✓", ("why?", "")),
        ),
        (b'{"cost": 1000000000000000}', ResultRecord(10**15)),
    ],
)
def test_a_result_is_read(tmp_path: Path, content: bytes, record: ResultRecord) -> None:
    (tmp_path / "result").write_bytes(content)
    assert read_result(tmp_path / "result") == record


def test_no_result_is_none(tmp_path: Path) -> None:
    assert read_result(tmp_path / "result") is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b'{"cost": 1} {"cost": 2}',
        b"[]",
        b"null",
        b'{"cost": true}',
        b'{"cost": null}',
        b'{"cost": -1}',
        b'{"cost": 1.0}',
        b'{"cost": NaN}',
        b'{"cost": 1000000000000001}',
        b'{"cost": ' + b"9" * 5_000 + b"}",
        b'{"cost": "1"}',
        b'{"summary": 1}',
        b'{"summary": "\\ud800"}',
        b'{"questions": "why"}',
        b'{"questions": [1]}',
        b'{"cost": 1, "cost": 2}',
        b'{"price": 1}',
        b'{"summary": "\xff"}',
        '{"cost": 1}'.encode("utf-16"),
        b"[" * 200_000,
        b'{"summary": "' + b"x" * LARGEST_RESULT + b'"}',
    ],
)
def test_anything_else_is_unreadable(tmp_path: Path, content: bytes) -> None:
    """B-035: never guessed at."""
    (tmp_path / "result").write_bytes(content)
    with pytest.raises(ResultUnreadable) as caught:
        read_result(tmp_path / "result")
    assert caught.value.facts["why"]


@pytest.mark.skipif(sys.platform == "win32", reason="makes links and pipes as POSIX systems do")
def test_a_result_that_is_no_file_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("{}")
    (tmp_path / "link").symlink_to("elsewhere")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("link", "pipe", "folder"):
        with pytest.raises(ResultUnreadable):
            read_result(tmp_path / name)


# --- what it means ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exit_code", "problem", "outcome", "code"),
    [
        (0, "", Outcome.SUCCEEDED, "exit_zero"),
        (1, "", Outcome.FAILED, "exit_nonzero"),
        (0, "cut off", Outcome.UNKNOWN, "result_unreadable"),
        (1, "cut off", Outcome.UNKNOWN, "result_unreadable"),
    ],
)
def test_an_unreadable_result_is_unknown(exit_code: int, problem: str, outcome: Outcome, code: str) -> None:
    """B-035: an unclear answer is not read as a failure, nor as a success."""
    evidence = replace(EVIDENCE, report=replace(REPORT, exit_code=exit_code), result_problem=problem)
    assert evidence.judge()[:2] == (outcome, code)
    assert problem in evidence.judge()[2]


def test_what_never_ran_has_no_result_to_be_unreadable() -> None:
    report = replace(REPORT, ended_by=EndedBy.NOT_STARTED, exit_code=None, not_started=NotStarted.NOT_FOUND)
    assert replace(EVIDENCE, report=report, result_problem="x").judge()[0] is Outcome.FAILED


@given(reports)
def test_every_report_has_an_outcome_and_unknown_never_says_failed(report: ProcessReport) -> None:
    """E-54, B-032: the word "failed" is nowhere in what an UNKNOWN says."""
    outcome, code, sentence = outcome_of(replace(report, detail="", drift=()))
    assert outcome is not Outcome.SUCCEEDED or (report.ended_by is EndedBy.EXIT and report.exit_code == 0)
    assert (outcome is Outcome.FAILED) == (
        report.ended_by is EndedBy.NOT_STARTED or (report.ended_by is EndedBy.EXIT and report.exit_code != 0)
    )
    assert code
    assert sentence.startswith(("The command ", "How the command ended "))
    if outcome is Outcome.UNKNOWN:
        own_words = sentence.partition(" Still running")[0]
        assert "fail" not in own_words.lower()
        assert "fail" not in code
