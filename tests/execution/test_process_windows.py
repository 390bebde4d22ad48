"""Running commands for real on Windows: jobs, held files, command lines (E-40a, E-52..E-54)."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from engine.execution.process import (
    DifferenceKind,
    EndedBy,
    EndedHow,
    GuardedFile,
    Launch,
    NotStarted,
    ProcessIdentity,
    Stop,
    StopReason,
    outcome_of,
    run,
    still_running,
)
from engine.execution.windows_api import windows
from engine.states import Outcome
from tests.execution.conftest import BASE_ENVIRONMENT, Bench, eventually

assert sys.platform == "win32"

READY = "print('ready', flush=True); import time; time.sleep(60)"

TREE = """
import subprocess, sys, time
depth, code, marker = int(sys.argv[1]), sys.argv[2], sys.argv[3]
apart = 0 if depth > 1 else subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
if depth:
    command = [sys.executable, "-S", "-c", code, str(depth - 1), code, marker]
    print(subprocess.Popen(command, creationflags=apart, stdout=sys.stdout).pid, flush=True)
    time.sleep(60)
else:
    print("detached", flush=True)
    time.sleep(60)
    open(marker, "w").close()
"""


def tree(bench: Bench, marker: Path, **fields: object) -> Launch:
    return bench.python(TREE, "2", TREE, str(marker), **fields)


def pids_of_tree(bench: Bench, launch: Launch) -> list[int]:
    words = bench.said(launch, b"detached").read_text().split()
    return [int(word) for word in words if word.isdigit()]


def gone(pid: int) -> bool:
    return windows().look_at(pid) is None


@pytest.mark.parametrize(
    ("code", "outcome"), [(0, Outcome.SUCCEEDED), (1, Outcome.FAILED), (2**32 - 1, Outcome.FAILED)]
)
def test_the_exit_code_decides(bench: Bench, code: int, outcome: Outcome) -> None:
    launch = bench.python(
        f"import os; os.write(1, b'out'); os.write(2, b'err'); os._exit({code - 2**32 if code > 9 else code})"
    )
    report = bench.run(launch)
    assert (report.ended_by, report.exit_code) == (EndedBy.EXIT, code)
    assert outcome_of(report)[0] is outcome
    assert (Path(launch.stdout).read_bytes(), Path(launch.stderr).read_bytes()) == (b"out", b"err")
    assert report.tree.ended == report.tree.survived == report.drift == ()


@pytest.mark.parametrize("reason", list(StopReason))
def test_a_stop_ends_the_whole_tree(bench: Bench, tmp_path: Path, reason: StopReason) -> None:
    """B-050: also what was started detached and in a group of its own."""
    launch = tree(bench, tmp_path / "marker", grace_ms=300)
    running = bench.begin(launch)
    pids = pids_of_tree(bench, launch)
    assert len(pids) == 2
    bench.stop.request(reason)
    report = running.result()
    assert (report.ended_by, report.stopped_by) == (EndedBy.STOPPED, reason)
    assert outcome_of(report)[0] is Outcome.UNKNOWN
    assert all(gone(pid) for pid in [*pids, bench.started[0].pid])
    assert {one.pid for one in report.tree.ended} >= set(pids)
    assert report.tree.survived == ()
    assert not (tmp_path / "marker").exists()


def test_the_time_limit(bench: Bench) -> None:
    report = bench.run(bench.python(READY, time_limit_ms=1_500, grace_ms=100))
    assert report.ended_by is EndedBy.TIME_LIMIT
    assert outcome_of(report)[:2] == (Outcome.UNKNOWN, "time_limit")
    assert 1_500 <= report.active_ms < 10_000


def test_a_flood_is_ended(bench: Bench) -> None:
    launch = bench.python("while True: print('flood' * 100)", output_limit_bytes=1 << 20, grace_ms=60_000)
    report = bench.run(launch)
    assert report.ended_by is EndedBy.OUTPUT_LIMIT
    assert 1 << 20 < Path(launch.stdout).stat().st_size == report.output_bytes < 256 << 20


def test_what_is_left_behind_is_ended_and_the_end_is_kept(bench: Bench) -> None:
    """B-049: the command's own end stays what it was."""
    code = f"import subprocess, sys; subprocess.Popen([sys.executable, '-S', '-c', {READY!r}]); sys.exit(3)"
    report = bench.run(bench.python(code, grace_ms=200))
    assert (report.ended_by, report.exit_code) == (EndedBy.EXIT, 3)
    assert [one.name.lower() for one in report.tree.ended] == ["python.exe"]


@pytest.mark.crash
def test_a_killed_console_takes_the_whole_tree_along(bench: Bench, tmp_path: Path) -> None:
    """B-052: the job ends with its last handle."""
    launch = tree(bench, tmp_path / "marker", grace_ms=60_000)
    arguments = [
        launch.program,
        list(launch.argv),
        launch.cwd,
        dict(launch.environment),
        launch.stdout,
        launch.stderr,
    ]
    code = """
import json, sys
from engine.clock import SystemClock
from engine.execution.process import GuardedFile, Launch, Stop, run
program, argv, cwd, environment, out, err, guarded = json.loads(sys.argv[1])
files = tuple(GuardedFile(*one) for one in guarded)
launch = Launch(program, tuple(argv), cwd, environment, out, err, 60_000, 1 << 20, files, 60_000)
run(launch, Stop(), SystemClock(), lambda identity: print(identity.pid, flush=True))
"""
    guarded = [[file.path, file.sha256] for file in launch.guarded]
    console = subprocess.Popen(
        [sys.executable, "-c", code, json.dumps([*arguments, guarded])],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    with console:
        assert console.stdout is not None
        pids = [int(console.stdout.readline()), *pids_of_tree(bench, launch)]
        assert not any(gone(pid) for pid in pids)
        console.kill()
    for pid in pids:
        eventually(lambda pid=pid: gone(pid), f"the end of {pid}")


def test_arguments_arrive_as_approved(bench: Bench) -> None:
    """B-022, B-067: to the letter, whatever cmd.exe would make of them."""
    rest = (
        "", " ", '"', "a b", 'a "q" b', "100% done %USERPROFILE% !x!", "a&b|c>d", "^", "back\\", 'back\\"',
        "two\\\\", "a b\\", "new\nline", "tab\t", "\u202e", "🚀", "ü", "*", "?",
    )  # fmt: skip
    code = "import json, sys; sys.stdout.buffer.write(json.dumps(sys.argv[1:]).encode())"
    launch = bench.python(code, *rest)
    assert bench.run(launch).exit_code == 0
    assert json.loads(Path(launch.stdout).read_bytes()) == list(rest)


def test_arguments_that_cannot_be_passed_are_refused(bench: Bench) -> None:
    launch = bench.launch('quote"d', program=sys.executable)
    report = bench.run(launch)
    assert (report.ended_by, report.not_started) == (EndedBy.NOT_STARTED, NotStarted.REFUSED_BY_SYSTEM)
    assert not Path(launch.stdout).exists()


def test_the_environment_and_the_handles(bench: Bench) -> None:
    """E-53."""
    given = {**BASE_ENVIRONMENT, "EMPTY": "", "EMOJI": "🚀", "a b": "x=y"}
    code = """
import json, os, sys
names = {name: os.environ[name] for name in os.environ}
sys.stdout.buffer.write(json.dumps([names, sys.stdin.read(1), os.getcwd()]).encode())
"""
    launch = bench.python(code, environment=given)
    assert bench.run(launch).exit_code == 0
    names, read, folder = json.loads(Path(launch.stdout).read_bytes())
    assert read == ""
    assert Path(folder) == bench.workspace
    missing = {name.upper(): value for name, value in given.items() if value}.items() - names.items()
    assert not missing
    assert "PYTEST_CURRENT_TEST" not in names


def test_any_bytes_are_kept(bench: Bench) -> None:
    """B-062."""
    launch = bench.python("import os; os.write(1, bytes([0x81, 0x8d, 0xa2, 0xff, 0x1a, 13, 10, 13, 13, 10]))")
    bench.run(launch)
    written = Path(launch.stdout).read_bytes()
    assert written == bytes([0x81, 0x8D, 0xA2, 0xFF, 0x1A, 13, 10, 13, 13, 10])


# --- held files ---------------------------------------------------------------------------------------------


def test_nobody_can_change_what_was_approved_while_it_runs(bench: Bench) -> None:
    """E-40a, B-020: prevented, not only noticed, also for a copy of the program itself."""
    script = bench.workspace / "tools" / "task.py"
    script.parent.mkdir()
    script.write_text(READY)
    launch = bench.launch(sys.executable, "-S", str(script), inputs=(script,), grace_ms=100)
    running = bench.begin(launch)
    bench.said(launch, b"ready")
    other = bench.workspace / "other.py"
    other.write_text("other")
    for attempt in (
        lambda: script.write_text("other"),
        lambda: script.unlink(),
        lambda: script.rename(bench.workspace / "moved.py"),
        lambda: other.replace(script),
    ):
        with pytest.raises(PermissionError):
            attempt()
    assert script.read_text() == READY
    bench.stop.request(StopReason.PERSON)
    assert running.result().drift == ()
    script.write_text("free again")


@pytest.mark.parametrize(
    ("edit", "kind"),
    [
        (lambda path: path.write_text("print('other')"), DifferenceKind.CONTENT),
        (lambda path: path.unlink(), DifferenceKind.MISSING),
    ],
)
def test_drift_refuses_the_start(bench: Bench, edit: object, kind: DifferenceKind) -> None:
    """B-019."""
    script = bench.workspace / "task.py"
    script.write_text("print('approved')")
    launch = bench.launch(sys.executable, str(script), inputs=(script,))
    edit(script)  # type: ignore[operator]
    report = bench.run(launch)
    assert (report.ended_by, report.not_started) == (EndedBy.NOT_STARTED, NotStarted.DRIFTED)
    assert [one.kind for one in report.drift] == [kind]
    assert not Path(launch.stdout).exists()


@pytest.mark.parametrize("milliseconds", [200, 60_000])
def test_a_file_that_another_program_writes_is_waited_for(bench: Bench, milliseconds: int) -> None:
    """P17: bounded, and then said as what it is."""
    script = bench.workspace / "task.py"
    script.write_text("print('approved')")
    launch = bench.launch(sys.executable, "-S", str(script), inputs=(script,))
    let_go = threading.Event()

    def hold() -> None:
        with script.open("r+"):
            let_go.wait(milliseconds / 1000)

    holder = threading.Thread(target=hold)
    holder.start()
    eventually(holder.is_alive, "the holder")
    report = bench.run(launch)
    let_go.set()
    holder.join()
    if milliseconds < 1_000:
        assert (report.ended_by, report.exit_code) == (EndedBy.EXIT, 0)
    else:
        assert [one.kind for one in report.drift] == [DifferenceKind.IN_USE]


# --- what never starts --------------------------------------------------------------------------------------


def test_batch_files_are_refused(bench: Bench) -> None:
    """P32, B-067."""
    for name in ("task.bat", "TASK.CMD"):
        script = bench.workspace / name
        script.write_text("@echo off")
        report = bench.run(bench.launch(str(script)))
        assert report.not_started is NotStarted.BATCH_FILE
    shell = os.environ["COMSPEC"]
    report = bench.run(bench.launch(shell, "/c", "task.bat"))
    assert report.ended_by is EndedBy.EXIT


def test_not_startable(bench: Bench) -> None:
    missing = str(bench.workspace / "missing.exe")
    report = bench.run(bench.launch(missing, guarded=(GuardedFile(missing, "0" * 64),)))
    assert report.not_started is NotStarted.NOT_FOUND
    program = bench.workspace / "program.exe"
    program.write_bytes(b"no program")
    launch = bench.launch(str(program))
    report = bench.run(launch)
    assert report.not_started is NotStarted.NOT_EXECUTABLE
    assert not Path(launch.stdout).exists()
    assert not Path(launch.stderr).exists()
    folder = str(bench.workspace)
    report = bench.run(bench.launch(folder, guarded=(GuardedFile(folder, "0" * 64),)))
    assert report.not_started is NotStarted.NOT_A_FILE
    report = bench.run(bench.python("pass", cwd=str(bench.workspace / "missing")))
    assert report.not_started is NotStarted.FOLDER


@pytest.mark.parametrize("which", ["stdout", "stderr"])
def test_an_output_file_that_exists_is_never_overwritten(bench: Bench, which: str) -> None:
    launch = bench.python("print('new')")
    kept = Path(getattr(launch, which))
    kept.write_bytes(b"old")
    assert bench.run(launch).not_started is NotStarted.OUTPUT_FILE
    assert kept.read_bytes() == b"old"
    assert list(kept.parent.iterdir()) == [kept]


def test_if_running_cannot_be_committed_the_program_never_runs(bench: Bench) -> None:
    """E-50."""
    launch = bench.python("open('ran', 'w')")
    seen: list[ProcessIdentity] = []

    def refuse(identity: ProcessIdentity) -> None:
        seen.append(identity)
        assert still_running(identity, bench.clock)
        raise LookupError("superseded")

    with pytest.raises(LookupError):
        run(launch, bench.stop, bench.clock, refuse)
    assert not still_running(seen[0], bench.clock)
    assert not (bench.workspace / "ran").exists()
    assert not Path(launch.stdout).exists()


def test_stopped_before_it_was_let_go(bench: Bench) -> None:
    stop = Stop()
    launch = bench.python("open('ran', 'w')")
    report = run(launch, stop, bench.clock, lambda _identity: stop.request(StopReason.PERSON))
    assert report.not_started is NotStarted.STOPPED_FIRST
    assert not (bench.workspace / "ran").exists()


# --- being asked --------------------------------------------------------------------------------------------


@pytest.mark.skipif(hasattr(ctypes.windll.ntdll, "wine_get_version"), reason="Wine knows no console break")
def test_asked_first_then_killed(bench: Bench, tmp_path: Path) -> None:
    """E-54, B-047: from a program without a console, as ours is, a console break comes before the end."""
    code = """
import json, sys, threading
from pathlib import Path
from engine.clock import SystemClock
from engine.execution.process import *
program, argv, cwd, environment, out, err, guarded, result = json.loads(sys.argv[1])
files = tuple(GuardedFile(*one) for one in guarded)
launch = Launch(program, tuple(argv), cwd, environment, out, err, 60_000, 1 << 20, files, 5_000)
stop = Stop()
def watch():
    while not (Path(out).exists() and b"ready" in Path(out).read_bytes()):
        stop.wait(20)
    stop.request(StopReason.PERSON)
threading.Thread(target=watch).start()
report = run(launch, stop, SystemClock(), lambda identity: None)
Path(result).write_text(json.dumps([report.ended_by, report.exit_code, [one.how for one in report.tree.ended]]))
"""
    trap = """
import os, signal, time
signal.signal(signal.SIGBREAK, lambda *_: (print("asked", flush=True), os._exit(0)))
print("ready", flush=True)
while True:
    time.sleep(0.05)
"""
    launch = bench.python(trap)
    result = tmp_path / "result"
    arguments = [
        launch.program,
        list(launch.argv),
        launch.cwd,
        dict(launch.environment),
        launch.stdout,
        launch.stderr,
    ]
    guarded = [[file.path, file.sha256] for file in launch.guarded]
    subprocess.run(
        [sys.executable, "-c", code, json.dumps([*arguments, guarded, str(result)])],
        cwd=Path(__file__).parents[2],
        creationflags=subprocess.DETACHED_PROCESS,
        check=True,
    )
    ended_by, exit_code, how = json.loads(result.read_text())
    assert ended_by == EndedBy.STOPPED
    assert exit_code == 0
    assert how == [EndedHow.ASKED]
    assert b"asked" in Path(launch.stdout).read_bytes()
