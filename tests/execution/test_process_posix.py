"""Running commands for real on Linux: what is passed, what is kept, how it ends (E-52..E-54)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from engine.clock import ManualClock
from engine.execution import keeper, process_posix
from engine.execution.process import (
    POLL_MS,
    EndedBy,
    EndedHow,
    Launch,
    NotStarted,
    ProcessIdentity,
    Stop,
    StopReason,
    outcome_of,
    run,
    still_running,
)
from engine.execution.watching import SHORTEST_POLL_MS, next_interval
from engine.states import Outcome
from tests.execution.conftest import BASE_ENVIRONMENT, Bench, eventually, process_exists, sealed

TREE = """
import os, subprocess, sys, time
depth = int(sys.argv[1])
if depth:
    child = subprocess.Popen([sys.executable, "-S", "-c", sys.argv[2], str(depth - 1), sys.argv[2], sys.argv[3]])
    print(child.pid, flush=True)
else:
    # A detached grandchild: forked twice, in a session of its own, deaf to being asked.
    if os.fork() == 0:
        os.setsid()
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        if os.fork():
            os._exit(0)
        print(os.getpid(), "detached", flush=True)
        time.sleep(60)
        open(sys.argv[3], "w").close()
time.sleep(60)
"""


def tree(bench: Bench, marker: Path, **fields: object) -> Launch:
    return bench.python(TREE, "2", TREE, str(marker), **fields)


def pids_of_tree(bench: Bench, launch: Launch) -> list[int]:
    words = bench.said(launch, b"detached\n").read_text().split()
    pids = [int(word) for word in words if word.isdigit()]
    assert len(pids) == 3
    return pids


# --- ends ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "outcome"), [(0, Outcome.SUCCEEDED), (1, Outcome.FAILED), (255, Outcome.FAILED)]
)
def test_the_exit_code_decides(bench: Bench, code: int, outcome: Outcome) -> None:
    """E-54, B-037: an ordinary code other than 0 is FAILED, not UNKNOWN."""
    report = bench.run(bench.shell(f"exit {code}"))
    assert (report.ended_by, report.exit_code, report.signal) == (EndedBy.EXIT, code, None)
    assert outcome_of(report)[0] is outcome
    assert report.tree.ended == report.tree.survived == ()


def test_killed_by_hand_is_unknown(bench: Bench) -> None:
    """E-54, B-043: a signal that we did not send proves nothing."""
    launch = bench.shell("echo ready; exec sleep 60")
    running = bench.begin(launch)
    bench.said(launch, b"ready")
    os.kill(bench.started[0].pid, signal.SIGKILL)
    report = running.result()
    assert (report.ended_by, report.exit_code, report.signal) == (EndedBy.SIGNAL, None, signal.SIGKILL)
    outcome, code, sentence = outcome_of(report)
    assert (outcome, code) == (Outcome.UNKNOWN, "killed")
    assert "SIGKILL" in sentence


def test_a_stop_that_is_trapped_and_answered_with_exit_0_is_not_green(bench: Bench) -> None:
    """B-047."""
    launch = bench.shell("trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done")
    running = bench.begin(launch)
    bench.said(launch, b"ready")
    bench.stop.request(StopReason.PERSON)
    report = running.result()
    assert (report.ended_by, report.exit_code, report.stopped_by) == (EndedBy.STOPPED, 0, StopReason.PERSON)
    assert outcome_of(report)[:2] == (Outcome.UNKNOWN, "cancelled_by_user")


def test_a_stop_after_the_end_keeps_the_observed_end(bench: Bench) -> None:
    """B-049: what the command left behind is still being ended when the person presses Cancel."""
    launch = bench.shell("(trap '' TERM; echo ready; exec sleep 60) & sleep 0.1; exit 0", grace_ms=700)
    running = bench.begin(launch)
    bench.said(launch, b"ready")
    eventually(lambda: not process_exists(bench.started[0].pid), "the end of the shell")
    bench.stop.request(StopReason.PERSON)
    report = running.result()
    assert (report.ended_by, report.exit_code, report.stopped_by) == (EndedBy.EXIT, 0, None)
    assert outcome_of(report)[0] is Outcome.SUCCEEDED
    assert [(one.name, one.how) for one in report.tree.ended] == [("sleep", EndedHow.KILLED)]


def test_what_is_left_behind_may_end_by_itself(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """E-54: the report tells what had gone already from what was ended."""
    monkeypatch.setattr(process_posix, "LINGER_MS", 10_000)
    launch = bench.shell("(sleep 0.1; echo late) & exit 4")
    report = bench.run(launch)
    assert (report.exit_code, report.tree.ended) == (4, ())
    assert report.tree.already_gone
    assert Path(launch.stdout).read_bytes() == b"late\n"


def test_the_time_limit_ends_the_whole_tree(bench: Bench, tmp_path: Path) -> None:
    """E-54, B-032, B-050: three deep and a detached grandchild; the marker never appears."""
    bench.clock = clock = ManualClock()
    marker = tmp_path / "marker"
    launch = tree(bench, marker, time_limit_ms=60_000, grace_ms=500)
    running = bench.begin(launch)
    pids = pids_of_tree(bench, launch)
    clock.advance(60_000)
    report = running.result()
    outcome, code, sentence = outcome_of(report)
    assert (report.ended_by, outcome, code) == (EndedBy.TIME_LIMIT, Outcome.UNKNOWN, "time_limit")
    assert "60.0 s" in sentence
    assert not any(process_exists(pid) for pid in [*pids, bench.started[0].pid])
    how = {one.pid: one.how for one in report.tree.ended}
    assert how[bench.started[0].pid] is EndedHow.ASKED
    assert how[pids[-1]] is EndedHow.KILLED
    assert not marker.exists()


def test_a_command_that_stands_still_can_be_ended(bench: Bench) -> None:
    """E-54: a process stopped by job control cannot hear that it is asked, so it is let go on for that."""
    launch = bench.shell("trap 'echo heard; exit 5' TERM; echo ready; kill -STOP $$", grace_ms=20_000)
    running = bench.begin(launch)
    bench.said(launch, b"ready")
    stat = Path(f"/proc/{bench.started[0].pid}/stat")
    eventually(lambda: stat.read_text().rpartition(") ")[2][0] == "T", "the standstill")
    bench.stop.request(StopReason.PERSON)
    report = running.result()
    assert (report.ended_by, report.exit_code) == (EndedBy.STOPPED, 5)
    assert Path(launch.stdout).read_text() == "ready\nheard\n"


def test_a_stop_ends_the_whole_tree(bench: Bench, tmp_path: Path) -> None:
    """B-050 when a person cancels."""
    launch = tree(bench, tmp_path / "marker", grace_ms=100)
    running = bench.begin(launch)
    pids = pids_of_tree(bench, launch)
    bench.stop.request(StopReason.SHUTDOWN)
    report = running.result()
    assert outcome_of(report)[:2] == (Outcome.UNKNOWN, "stopped_by_shutdown")
    assert not any(process_exists(pid) for pid in pids)
    assert report.tree.survived == ()


@pytest.mark.crash
def test_a_killed_console_takes_the_whole_tree_along(bench: Bench, tmp_path: Path) -> None:
    """E-54, B-050, B-052: SIGKILL of the program that runs the command."""
    launch = tree(bench, tmp_path / "marker", grace_ms=60_000)
    arguments = [launch.program, list(launch.argv), launch.cwd, launch.stdout, launch.stderr]
    arguments.append([[file.path, file.sha256] for file in launch.guarded])
    code = """
import json, sys
from engine.clock import SystemClock
from engine.execution.process import GuardedFile, Launch, Stop, run
program, argv, cwd, out, err, guarded, environment = json.loads(sys.argv[1])
files = tuple(GuardedFile(*one) for one in guarded)
launch = Launch(program, tuple(argv), cwd, environment, out, err, 60_000, 1 << 20, files, 60_000)
run(launch, Stop(), SystemClock(), lambda identity: print(identity.pid, flush=True))
"""
    console = subprocess.Popen(
        [sys.executable, "-c", code, json.dumps([*arguments, BASE_ENVIRONMENT])],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    with console:
        assert console.stdout is not None
        pids = [int(console.stdout.readline()), *pids_of_tree(bench, launch)]
        assert all(process_exists(pid) for pid in pids)
        console.kill()
    for pid in pids:
        eventually(lambda pid=pid: not process_exists(pid), f"the end of {pid}")
    assert not (tmp_path / "marker").exists()


def test_a_lost_keeper_is_lost_and_its_command_does_not_go_on(bench: Bench) -> None:
    """E-54: worker lost is UNKNOWN, and even then the command does not run on unwatched."""
    launch = bench.shell("trap '' TERM; sleep 61 & echo ready; sleep 60")
    running = bench.begin(launch)
    bench.said(launch, b"ready")
    command = keeper.look_at(bench.started[0].pid)
    assert command is not None
    os.kill(command.parent, signal.SIGKILL)
    report = running.result()
    assert (report.ended_by, report.exit_code, report.signal) == (EndedBy.LOST, None, None)
    assert outcome_of(report)[:2] == (Outcome.UNKNOWN, "worker_lost")
    assert report.tree.survived == ()
    assert not [one for one in keeper.all_processes() if one.session == command.pid and not one.over]


def test_what_cannot_be_ended_is_reported_and_found_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """E-54: survivors are named with an identity that is more than a pid."""
    deaf = (
        f"import sys; sys.path.insert(0, {str(Path(keeper.__file__).parent)!r}); import keeper; "
        "keeper.send_signal = lambda *_: False; keeper.main(sys.argv[1:])"
    )
    monkeypatch.setattr(process_posix, "keeper_command", lambda: [sys.executable, "-I", "-S", "-c", deaf])
    monkeypatch.setattr(process_posix, "KILL_PATIENCE_MS", 100)
    launch = bench.shell("(echo ready; exec sleep 60) & exit 0", grace_ms=50)
    report = bench.run(launch)
    assert report.ended_by is EndedBy.EXIT
    (survivor,) = report.tree.survived
    exactly_it = (survivor.identity.pid, survivor.identity.started, signal.SIGKILL)
    request.addfinalizer(partial(keeper.send_signal, *exactly_it))
    assert survivor.name == "sleep"
    assert f"Still running: sleep ({survivor.identity.pid})." in outcome_of(report)[2]
    assert still_running(survivor.identity, bench.clock)
    another = ProcessIdentity(survivor.identity.pid, survivor.identity.started + 1, survivor.identity.boot)
    assert not still_running(another, bench.clock)
    assert not keeper.send_signal(another.pid, another.started, signal.SIGKILL)
    assert not still_running(survivor.identity, ManualClock(boot="another boot"))
    assert keeper.send_signal(*exactly_it)
    eventually(lambda: not still_running(survivor.identity, bench.clock), "the end of the survivor")


def test_a_frozen_program_starts_itself_as_the_keeper(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its entry point hands over to `keeper.main`, since a bundle holds no keeper.py."""
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert process_posix.keeper_command() == [sys.executable, keeper.KEEPER_SWITCH]


# --- limits and time ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "script", ["while :; do echo flood; done", "trap '' TERM; while :; do echo flood >&2; done"]
)
def test_a_flood_is_ended_within_bounds(bench: Bench, script: str) -> None:
    """E-54: at the output limit the tree ends; what was written is kept and stays bounded."""
    launch = bench.shell(script, output_limit_bytes=1 << 20, grace_ms=60_000)
    report = bench.run(launch)
    assert report.ended_by is EndedBy.OUTPUT_LIMIT
    assert outcome_of(report)[:2] == (Outcome.UNKNOWN, "output_limit")
    written = Path(launch.stdout).stat().st_size + Path(launch.stderr).stat().st_size
    assert 1 << 20 < written == report.output_bytes < 64 << 20


def test_output_beyond_the_limit_counts_also_when_the_command_was_quicker(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E-54: whether the limit was passed does not depend on when we looked."""
    monkeypatch.setattr(process_posix, "SHORTEST_POLL_MS", 60_000)
    report = bench.run(
        bench.shell("head -c 3000 /dev/zero; head -c 3000 /dev/zero >&2", output_limit_bytes=5_000)
    )
    assert (report.ended_by, report.exit_code, report.output_bytes) == (EndedBy.OUTPUT_LIMIT, 0, 6_000)
    assert outcome_of(report)[0] is Outcome.UNKNOWN


def test_slept_time_is_neither_charged_nor_limited(bench: Bench) -> None:
    """B-083: a night's sleep during a run does not pass its time limit."""
    bench.clock = clock = ManualClock()
    launch = bench.shell('echo ready; read line < "$0"; exit 7', time_limit_ms=10_000)
    pipe = Path(launch.cwd) / "pipe"
    os.mkfifo(pipe)
    launch = bench.launch("/bin/sh", "-c", launch.argv[2], str(pipe), time_limit_ms=10_000)
    running = bench.begin(launch)
    bench.said(launch, b"ready")
    clock.suspend(8 * 3_600_000)
    clock.advance(9_000)
    pipe.write_text("go\n")
    report = running.result()
    assert (report.ended_by, report.exit_code) == (EndedBy.EXIT, 7)
    assert (report.active_ms, report.slept_ms) == (9_000, 8 * 3_600_000)
    assert report.finished_at - report.started_at == 8 * 3_600_000 + 9_000


def test_the_wait_gets_shorter_as_the_limit_comes_near() -> None:
    """The overshoot of a flood is bounded by its rate."""
    assert next_interval(5, 0, 1_000) == 10
    assert next_interval(50, 0, 1_000) == POLL_MS
    assert next_interval(50, 1_000, 1_000) == 25
    assert next_interval(50, 1_000_000, 1_000) == SHORTEST_POLL_MS
    assert next_interval(50, 10, -1) == POLL_MS


def test_several_commands_at_once_do_not_meet(bench: Bench) -> None:
    """Each command has a keeper of its own: stopping one leaves the others alone."""
    launches = [bench.shell(f"echo {number}; sleep 0.2; exit {number}") for number in range(5)]
    stopped = bench.shell("echo ready; sleep 60")
    stop = Stop()
    waiting = threading.Thread(target=run, args=(stopped, stop, bench.clock, lambda _identity: None))
    waiting.start()
    bench.said(stopped, b"ready")
    runs = [bench.begin(launch) for launch in launches]
    stop.request(StopReason.PERSON)
    waiting.join()
    assert [one.result().exit_code for one in runs] == list(range(5))
    assert [Path(one.stdout).read_text() for one in launches] == [f"{number}\n" for number in range(5)]


# --- what the command gets ----------------------------------------------------------------------------------


ODD_ARGUMENTS = (
    "plain", "", " ", '"', "'", 'a "quoted" b', "100% done %USERPROFILE% !x!", "a&b", "^", "back\\", 'back\\"',
    "two\\\\", "new\nline", "tab\t", "\u202eright to left", "🚀", "ü", "$HOME", "`id`", "*", "-n", "\udcff\udc80",
)  # fmt: skip


def test_arguments_arrive_byte_for_byte(bench: Bench) -> None:
    """B-022, B-067: nothing is quoted, split, expanded or re-encoded on the way."""
    code = "import os, sys; os.write(1, b'\\0'.join(os.fsencode(a) for a in sys.orig_argv))"
    launch = bench.launch("a name of its own", "-S", "-c", code, *ODD_ARGUMENTS, program=sys.executable)
    assert bench.run(launch).exit_code == 0
    received = Path(launch.stdout).read_bytes().split(b"\0")
    assert received == [os.fsencode(argument) for argument in launch.argv]


def test_the_environment_is_exactly_the_given_one(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """E-53: nothing of ours leaks into it, not even the locale."""
    monkeypatch.setenv("PRAXIS_LEAK", "1")
    given = {"B": "2", "A": "", "EMOJI": "🚀", "RAW": "\udcfe", "a b": "x=y"}
    launch = bench.launch("/usr/bin/env", "-0", environment=given)
    bench.run(launch)
    lines = Path(launch.stdout).read_bytes().split(b"\0")[:-1]
    assert lines == [os.fsencode(f"{name}={value}") for name, value in given.items()]


def test_no_descriptor_is_inherited(bench: Bench) -> None:
    """E-53: only the null device and the two files, whatever stands open in the console."""
    ours = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(ours, True)
    code = """
import os
for number in range(256):
    try:
        os.fstat(number)
    except OSError:
        continue
    print(number, os.readlink(f"/proc/self/fd/{number}"))
print(os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid(), repr(os.read(0, 1)))
"""
    launch = bench.python(code)
    try:
        bench.run(launch)
    finally:
        os.close(ours)
    lines = Path(launch.stdout).read_text().splitlines()
    assert lines == ["0 /dev/null", f"1 {launch.stdout}", f"2 {launch.stderr}", "True True b''"]


def test_no_signal_setting_is_inherited(bench: Bench) -> None:
    """What Python ignores or we block must not be ignored or blocked in the command."""
    launch = bench.launch("/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        bench.run(launch)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)
    assert set(Path(launch.stdout).read_text().split()[1::2]) == {"0" * 16}


def test_any_bytes_are_kept(bench: Bench) -> None:
    """B-062: nothing is decoded; a character may be split between two writes."""
    code = (
        "import os; os.write(1, bytes([0x81, 0x8d, 0xa2, 0xff, 0x90, 0, 13, 10])); "
        "os.write(1, b'\\xf0\\x9f'); os.write(2, '\ufeffutf16'.encode('utf-16-le')); os.write(1, b'\\x9a\\x80')"
    )
    launch = bench.python(code)
    bench.run(launch)
    assert Path(launch.stdout).read_bytes() == b"\x81\x8d\xa2\xff\x90\x00\r\n\xf0\x9f\x9a\x80"
    assert Path(launch.stderr).read_bytes() == "\ufeffutf16".encode("utf-16-le")


def test_output_is_appended_even_if_the_command_opens_it_again(bench: Bench) -> None:
    """E-53: two writers of one file cannot overwrite each other."""
    launch = bench.shell("echo one; (echo two) ; echo three")
    bench.run(launch)
    assert Path(launch.stdout).read_bytes() == b"one\ntwo\nthree\n"


def test_a_script_with_an_interpreter_line_keeps_its_own_path(bench: Bench) -> None:
    """Programs are started from the checked handle; a script needs its path, which it sees in ``$0``."""
    script = bench.workspace / "say.sh"
    script.write_text('#!/bin/sh\necho "$0" "$@"\n')
    script.chmod(0o755)
    launch = bench.launch("say", "a b", program=str(script))
    assert bench.run(launch).exit_code == 0
    assert Path(launch.stdout).read_text() == f"{script} a b\n"


# --- what never starts --------------------------------------------------------------------------------------


def test_nothing_there(bench: Bench) -> None:
    """E-54: provably never started is FAILED."""
    real = sealed("/bin/true")
    missing = str(bench.workspace / "missing")
    launch = bench.launch(missing, program=missing, guarded=(type(real)(missing, real.sha256),))
    report = bench.run(launch)
    assert (report.ended_by, report.not_started) == (EndedBy.NOT_STARTED, NotStarted.NOT_FOUND)
    outcome, code, sentence = outcome_of(report)
    assert (outcome, code) == (Outcome.FAILED, "not_started_not_found")
    assert sentence == f"The command was never started. There is no file {missing}."
    assert bench.started == []
    assert not Path(launch.stdout).exists()


@pytest.mark.parametrize(
    ("content", "mode", "why"),
    [
        (b"#!/bin/sh\n", 0o644, NotStarted.NOT_EXECUTABLE),
        (b"#!/no/such/interpreter\n", 0o755, NotStarted.NOT_FOUND),
        (b"no format at all", 0o755, NotStarted.NOT_EXECUTABLE),
        (b"\x7fELF and then nothing", 0o755, NotStarted.NOT_EXECUTABLE),
    ],
)
def test_not_startable(bench: Bench, content: bytes, mode: int, why: NotStarted) -> None:
    """E-54: the reason is the system's own."""
    program = bench.workspace / "program"
    program.write_bytes(content)
    program.chmod(mode)
    launch = bench.launch(str(program))
    report = bench.run(launch)
    assert (report.ended_by, report.not_started) == (EndedBy.NOT_STARTED, why)
    assert not Path(launch.stdout).exists()


def test_a_folder_is_no_program(bench: Bench) -> None:
    folder = str(bench.workspace)
    launch = bench.launch(folder, guarded=(type(sealed("/bin/true"))(folder, "0" * 64),))
    assert bench.run(launch).not_started is NotStarted.NOT_A_FILE


def test_no_folder_to_run_in(bench: Bench) -> None:
    launch = bench.launch("/bin/true", cwd=str(bench.workspace / "missing"))
    assert bench.run(launch).not_started is NotStarted.FOLDER


@pytest.mark.parametrize("which", ["stdout", "stderr"])
def test_an_output_file_that_exists_is_never_overwritten(bench: Bench, which: str) -> None:
    """E-53: evidence of an earlier run cannot be lost to a later one."""
    launch = bench.launch("/bin/echo", "new")
    kept = Path(getattr(launch, which))
    kept.write_bytes(b"old")
    report = bench.run(launch)
    assert (report.ended_by, report.not_started) == (EndedBy.NOT_STARTED, NotStarted.OUTPUT_FILE)
    assert kept.read_bytes() == b"old"
    assert list(kept.parent.iterdir()) == [kept]


def test_too_much_to_pass(bench: Bench) -> None:
    """The system refuses an argument of this size; that is a start that never was."""
    report = bench.run(bench.launch("/bin/echo", "x" * (4 << 20)))
    assert (report.ended_by, report.not_started) == (EndedBy.NOT_STARTED, NotStarted.REFUSED_BY_SYSTEM)
    assert "Argument list too long" in outcome_of(report)[2]


def test_stopped_before_it_was_let_go(bench: Bench) -> None:
    """E-71: provably never started."""
    launch = bench.shell("echo ran")
    stop = Stop()
    report = run(launch, stop, bench.clock, lambda _identity: stop.request(StopReason.PERSON))
    assert (report.ended_by, report.not_started) == (EndedBy.NOT_STARTED, NotStarted.STOPPED_FIRST)
    assert outcome_of(report)[:2] == (Outcome.FAILED, "not_started_stopped_first")
    assert not Path(launch.stdout).exists()


def test_if_running_cannot_be_committed_the_program_never_runs(bench: Bench) -> None:
    """E-50: an error of the caller at the last moment keeps the program from running and passes through."""
    launch = bench.shell("touch ran")
    pids: list[int] = []

    def refuse(identity: ProcessIdentity) -> None:
        pids.append(identity.pid)
        assert process_exists(identity.pid)
        raise LookupError("superseded")

    with pytest.raises(LookupError, match="superseded"):
        run(launch, bench.stop, bench.clock, refuse)
    assert not process_exists(pids[0])
    assert not (bench.workspace / "ran").exists()
    assert not Path(launch.stdout).exists()


@pytest.mark.parametrize("keeper_line", [["/bin/true"], ["/no/such/python"], ["/bin/cat"]])
def test_a_keeper_that_does_not_work_starts_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, keeper_line: list[str]
) -> None:
    monkeypatch.setattr(process_posix, "keeper_command", lambda: keeper_line)
    report = bench.run(bench.shell("touch ran"))
    assert (report.ended_by, report.not_started) == (EndedBy.NOT_STARTED, NotStarted.REFUSED_BY_SYSTEM)
    assert "keeper" in outcome_of(report)[2]
    assert not (bench.workspace / "ran").exists()
