"""The seal at process start (E-40a, B-019, B-020)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.execution.process import (
    DifferenceKind,
    EndedBy,
    NotStarted,
    ProcessIdentity,
    StopReason,
    outcome_of,
    run,
)
from engine.states import Outcome
from tests.execution.conftest import Bench, eventually, sealed
from tests.execution.swap_rounds import swap_rounds

OTHER = b"echo other\n"


@pytest.fixture
def script(bench: Bench) -> Path:
    path = bench.workspace / "task.sh"
    path.write_bytes(b"echo ready; read line < pipe; echo done\n")
    os.mkfifo(bench.workspace / "pipe")
    return path


def change(path: Path) -> None:
    path.write_bytes(OTHER)


def remove(path: Path) -> None:
    path.unlink()


def make_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("edit", "kind"),
    [
        (change, DifferenceKind.CONTENT),
        (remove, DifferenceKind.MISSING),
        (make_a_pipe, DifferenceKind.UNREADABLE),
    ],
)
def test_an_input_that_is_not_what_was_approved_refuses_the_start(
    bench: Bench, script: Path, edit: Callable[[Path], None], kind: DifferenceKind
) -> None:
    """B-019: nothing runs, and both digests are told."""
    launch = bench.launch("/bin/sh", str(script), inputs=(script,))
    edit(script)
    report = bench.run(launch)
    assert (report.ended_by, report.not_started) == (EndedBy.NOT_STARTED, NotStarted.DRIFTED)
    (difference,) = report.drift
    assert (difference.path, difference.kind) == (str(script), kind)
    assert difference.approved == launch.guarded[1].sha256
    assert difference.now == (sealed(script).sha256 if edit is change else "")
    assert outcome_of(report)[:2] == (Outcome.FAILED, "not_started_drifted")
    assert bench.started == []
    assert not Path(launch.stdout).exists()


def test_another_program_under_the_approved_name_refuses_the_start(bench: Bench) -> None:
    program = bench.workspace / "program"
    shutil.copy("/bin/echo", program)
    launch = bench.launch(str(program), "hello")
    shutil.copy("/bin/cat", program)
    report = bench.run(launch)
    assert report.not_started is NotStarted.DRIFTED


def test_a_change_between_the_check_and_the_start_refuses_the_start(bench: Bench, script: Path) -> None:
    """B-020: the files are looked at once more when the process stands ready, right before it is let go."""
    launch = bench.launch("/bin/sh", str(script), inputs=(script,))

    def swap_and_back(_identity: ProcessIdentity) -> None:
        approved = script.read_bytes()
        script.write_bytes(OTHER)
        script.write_bytes(approved)

    report = run(launch, bench.stop, bench.clock, swap_and_back)
    assert (report.ended_by, report.not_started) == (EndedBy.NOT_STARTED, NotStarted.DRIFTED)
    assert [one.kind for one in report.drift] == [DifferenceKind.TOUCHED]


def test_the_program_runs_from_the_checked_handle(bench: Bench) -> None:
    """B-020: a program swapped by name in the last moment is not what runs."""
    program = bench.workspace / "program"
    shutil.copy("/bin/sleep", program)
    launch = bench.launch(str(program), "60", grace_ms=200)
    running = bench.begin(launch)
    eventually(lambda: bench.started, "the start")
    pid = bench.started[0].pid
    inode = program.stat().st_ino
    eventually(lambda: Path(f"/proc/{pid}/exe").stat().st_ino == inode, "the program")
    shutil.copy("/bin/cat", bench.workspace / "other")
    (bench.workspace / "other").replace(program)
    assert Path(f"/proc/{pid}/exe").stat().st_ino == inode
    bench.stop.request(StopReason.PERSON)
    report = running.result()
    assert [one.kind for one in report.drift] == [DifferenceKind.CONTENT]
    assert f"{program} changed while it ran." in outcome_of(report)[2]


def in_place(script: Path, approved: bytes) -> None:
    script.write_bytes(OTHER)


def in_place_and_back(script: Path, approved: bytes) -> None:
    script.write_bytes(OTHER)
    script.write_bytes(approved)


def renamed_and_back(script: Path, approved: bytes) -> None:
    aside = script.with_name("aside")
    script.replace(aside)
    script.write_bytes(OTHER)
    aside.replace(script)


def folder_replaced(script: Path, approved: bytes) -> None:
    folder = script.parent
    folder.replace(folder.with_name("moved"))
    folder.mkdir()
    script.write_bytes(approved)


def removed(script: Path, approved: bytes) -> None:
    script.unlink()


@pytest.mark.parametrize(
    ("edit", "kind"),
    [
        (in_place, DifferenceKind.CONTENT),
        (in_place_and_back, DifferenceKind.TOUCHED),
        (renamed_and_back, DifferenceKind.TOUCHED),
        (folder_replaced, DifferenceKind.TOUCHED),
        (removed, DifferenceKind.MISSING),
    ],
)
def test_a_change_while_it_ran_is_unknown(
    bench: Bench, edit: Callable[[Path, bytes], None], kind: DifferenceKind
) -> None:
    """E-40a: even when the approved content stands there again at the end."""
    script = bench.workspace / "tools" / "task.sh"
    script.parent.mkdir()
    script.write_bytes(b"echo ready; read line < pipe; echo done\n")
    os.mkfifo(bench.workspace / "pipe")
    approved = script.read_bytes()
    launch = bench.launch("/bin/sh", "tools/task.sh", inputs=(script,))
    running = bench.begin(launch)
    bench.said(launch, b"ready")
    edit(script, approved)
    (bench.workspace / "pipe").write_text("go\n")
    report = running.result()
    assert (report.ended_by, report.exit_code) == (EndedBy.EXIT, 0)
    assert [(one.path, one.kind) for one in report.drift] == [(str(script), kind)]
    outcome, code, sentence = outcome_of(report)
    assert (outcome, code) == (Outcome.UNKNOWN, "changed_while_running")
    assert str(script) in sentence


def test_reading_and_running_are_no_change(bench: Bench, script: Path) -> None:
    launch = bench.launch("/bin/sh", str(script), inputs=(script,))
    running = bench.begin(launch)
    bench.said(launch, b"ready")
    script.read_bytes()
    (bench.workspace / "beside").write_text("a new file in the same folder")
    (bench.workspace / "pipe").write_text("go\n")
    report = running.result()
    assert (report.exit_code, report.drift) == (0, ())


def test_a_link_on_the_way_that_is_turned_and_turned_back_is_noticed(bench: Bench) -> None:
    (bench.workspace / "good").mkdir()
    (bench.workspace / "bad").mkdir()
    (bench.workspace / "good" / "task.sh").write_bytes(b"echo ready; read line < pipe\n")
    os.mkfifo(bench.workspace / "pipe")
    current = bench.workspace / "current"
    current.symlink_to("good")
    script = current / "task.sh"
    launch = bench.launch("/bin/sh", "current/task.sh", inputs=(script,))
    running = bench.begin(launch)
    bench.said(launch, b"ready")
    current.rename(bench.workspace / "kept")
    (bench.workspace / "kept").rename(current)
    (bench.workspace / "pipe").write_text("go\n")
    assert [one.kind for one in running.result().drift] == [DifferenceKind.TOUCHED]


def test_nothing_else_than_what_was_sealed_runs_unnoticed(tmp_path: Path) -> None:
    """B-020, in small; ``python -m tests.execution.swap_rounds 10000`` is the whole of it."""
    counts = swap_rounds(100, 7, tmp_path)
    assert counts["undetected"] == counts["other"] == 0
    assert counts["refused"] > 0
    assert counts["flagged, other ran"] + counts["flagged, approved ran"] > 0
    assert counts["clean"] > 0, counts
