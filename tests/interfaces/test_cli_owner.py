"""`praxis` in processes of its own: against an owner, several at once, killed, on poor terminals (E-10, E-90)."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from engine.interfaces import cli_session
from engine.interfaces.channel_files import NOTE_NAME, read_note
from tests.interfaces.conftest import Praxis, approve

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of POSIX")

COMMAND = (sys.executable, "-m", "engine.interfaces.cli")
SECONDS = 60


@pytest.fixture
def environment(folder: Path) -> dict[str, str]:
    root = str(Path(__file__).parents[2])
    return {**os.environ, "PRAXIS_DATA": str(folder), "PYTHONPATH": root, "PYTHONWARNINGS": "error"}


Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def run(environment: dict[str, str]) -> Run:
    """Run a command in a process of its own."""

    def start(*arguments: str, ok: bool = True, **variables: str) -> subprocess.CompletedProcess[bytes]:
        done = subprocess.run(
            [*COMMAND, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**environment, **variables},
            timeout=SECONDS,
            check=False,
        )
        assert b"Traceback" not in done.stderr
        if ok:
            assert done.returncode == 0, done.stderr.decode()
        return done

    return start


def read_json(done: subprocess.CompletedProcess[bytes]) -> Any:
    return json.loads(done.stdout)


@pytest.fixture
def owner(folder: Path, environment: dict[str, str]) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start `praxis serve` and wait until it listens."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [*COMMAND, "serve", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        started.append(process)
        until_true(lambda: (note := read_note(folder)) is not None and note.pid == process.pid, process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
        process.communicate()


def until_true(condition: Callable[[], bool], process: subprocess.Popen[bytes] | None = None) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        assert process is None or process.poll() is None
        time.sleep(0.02)


# ------------------------------------------------------------------------------------------------- with an owner


def test_e90_commands_reach_the_owner_and_what_is_approved_runs_there(
    praxis: Praxis, owner: Any, order_file: Any, folder: Path
) -> None:
    process = owner()
    praxis("submit", order_file("print('ran in the owner')"), "--as-agent", "codex")
    refused = praxis("approve", "WO-1", "--seal", "0" * 8, "--as-agent", "codex", "--json", ok=False)
    assert (refused.code, json.loads(refused.err)["code"]) == (5, "unauthorized")
    approve(praxis, "WO-1", "--with-validation")
    until_true(lambda: praxis("list", "--json").json[0]["state"] == "AWAITING_ACCEPTANCE", process)
    assert praxis("evidence", "WO-1/1", "--stdout").raw == b"ran in the owner\n"
    assert praxis("doctor", "--json").json["owner_answers"] is True
    assert praxis("journal", "verify", "--json").json["problem_count"] == 0
    assert '"agent"' in praxis("journal", "export").out
    praxis("accept", "WO-1")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, err
    assert out.decode().endswith("Stopped as asked.\nNothing waits.\n")
    assert not (folder / NOTE_NAME).exists()


def test_e90_the_console_answers_commands(
    praxis: Praxis, order_file: Any, folder: Path, environment: dict[str, str]
) -> None:
    console = subprocess.Popen(
        [sys.executable, "-m", "app", "--data", str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**environment, "QT_QPA_PLATFORM": "offscreen", "PYTHONWARNINGS": "default"},
    )
    try:
        until_true(lambda: read_note(folder) is not None, console)
        found = praxis("doctor", "--json").json
        assert (found["owner_answers"], found["problems"]) == (True, [])
        number = praxis("submit", order_file(), "--json").json[0]["number"]
        assert approve(praxis, f"WO-{number}", "--json").json["state"] == "APPROVED"
    finally:
        console.terminate()
        assert console.wait(SECONDS) == 0
    assert read_note(folder) is None


def test_b098_a_second_owner_is_told_who_has_the_folder(run: Run, owner: Any) -> None:
    process = owner()
    second = run("serve", "--json", ok=False)
    error = json.loads(second.stderr)
    assert (second.returncode, error["code"], error["facts"]["pid"]) == (6, "folder_in_use", process.pid)
    assert process.poll() is None


@pytest.mark.parametrize("served", [False, True], ids=["alone", "served"])
def test_e10_commands_at_once_all_get_through(run: Run, owner: Any, order_file: Any, served: bool) -> None:
    """Without an owner each takes the folder in turn and waits for the other."""
    if served:
        owner("--quiet")
    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(lambda _: read_json(run("submit", order_file(), "--json")), range(3)))
    assert sorted(rows[0]["number"] for rows in done) == [1, 2, 3]


def test_two_deciders_one_decision(run: Run, praxis: Praxis, owner: Any, order_file: Any) -> None:
    """E-42: deciding twice gives the first decision back, or is a clear error; never two."""
    owner("--quiet")
    praxis("pause", "engine")
    praxis("submit", order_file())
    seal = praxis("inbox", "--json").json[0]["seal"]
    commands = [["approve", "WO-1", "--seal", seal, "--json"], ["reject", "WO-1", "--reason", "no", "--json"]]
    with ThreadPoolExecutor(2) as pool:
        codes = [done.returncode for done in pool.map(lambda one: run(*one, ok=False), commands)]
    state = praxis("show", "WO-1/1", "--json").json["approval"]["state"]
    assert state in ("APPROVED", "REJECTED")
    assert sorted(codes) in ([0, 0], [0, 4])


# ------------------------------------------------------------------------------------------------- killed, hung


def test_e51_after_the_owner_was_killed_its_work_is_unknown_and_the_folder_is_free(
    praxis: Praxis, owner: Any, order_file: Any, folder: Path, workspace: Path
) -> None:
    process = owner()
    praxis("submit", order_file("import time; open('began', 'w').close(); time.sleep(60)"))
    approve(praxis, "WO-1")
    until_true((workspace / "began").exists, process)
    until_true(lambda: praxis("show", "WO-1/1/1", "--json").json["state"] == "RUNNING", process)
    process.kill()
    process.wait()
    assert (folder / NOTE_NAME).exists()
    found = praxis("doctor", "--json").json
    assert (found["owner_answers"], found["owner_gone"], found["problems"]) == (False, True, [])
    assert praxis("show", "WO-1/1/1", "--json").json["state"] == "UNKNOWN"
    assert praxis("doctor", "--json").json["problems"] == []
    again = owner("--quiet")
    assert again.pid != process.pid
    found = praxis("show", "WO-1", "--json").json
    assert found["tasks"][0]["state"] == "UNKNOWN"
    praxis("reconcile", "WO-1/1/1", "did-not", "--reason", "looked", "--saw", "nothing")
    assert praxis("show", "WO-1", "--json").json["tasks"][0]["state"] == "READY"


def test_an_unknown_is_not_hidden_by_the_end_of_its_work_order(
    praxis: Praxis, owner: Any, order_file: Any, workspace: Path
) -> None:
    process = owner()
    praxis("submit", order_file("import time; open('began', 'w').close(); time.sleep(60)"))
    approve(praxis, "WO-1")
    until_true((workspace / "began").exists, process)
    until_true(lambda: praxis("show", "WO-1/1/1", "--json").json["state"] == "RUNNING", process)
    assert "WO-1/1 is DISPATCHED, so it does not wait." in praxis("explain", "WO-1").out
    praxis("cancel", "WO-1", "--reason", "not needed")
    until_true(lambda: praxis("list", "--json").json[0]["state"] == "CANCELLED", process)
    why = praxis("list", "--json").json[0]["why"]
    assert why == "not needed · UNKNOWN: a person has to decide whether it took effect."
    shown = praxis("show", "WO-1").out
    assert "decide: praxis reconcile WO-1/1/1 took-effect" in shown
    assert "None" not in shown
    praxis("reconcile", "WO-1/1/1", "did-not", "--reason", "looked", "--saw", "nothing")
    assert praxis("list", "--json").json[0]["why"] == "not needed"


def test_an_owner_that_hangs_is_named(praxis: Praxis, owner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_session, "OWNER_SECONDS", 0.2)
    process = owner()
    process.send_signal(signal.SIGSTOP)
    done = praxis("list", "--json", ok=False)
    assert (done.code, json.loads(done.err)["facts"]["pid"]) == (7, process.pid)


def test_ctrl_c_waits_for_what_runs_and_twice_ends_it(
    praxis: Praxis, owner: Any, order_file: Any, workspace: Path
) -> None:
    process = owner()
    praxis("submit", order_file("import time; open('began', 'w').close(); time.sleep(60)"))
    approve(praxis, "WO-1")
    until_true((workspace / "began").exists, process)
    process.send_signal(signal.SIGINT)
    assert b"1 running" in process.stderr.readline()
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    attempt = praxis("show", "WO-1/1/1", "--json").json
    assert attempt["outcome"] == "UNKNOWN"


def holds_a_socket(pid: int) -> bool:
    """Whether a process has come so far as to speak to the owner."""
    with contextlib.suppress(FileNotFoundError):
        return any(str(link.readlink()).startswith("socket:") for link in Path(f"/proc/{pid}/fd").iterdir())
    return False


def test_a_command_that_is_interrupted_says_so(environment: dict[str, str], owner: Any) -> None:
    process = owner()
    process.send_signal(signal.SIGSTOP)
    waiting = subprocess.Popen(
        [*COMMAND, "list"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment
    )
    until_true(lambda: holds_a_socket(waiting.pid), waiting)
    waiting.send_signal(signal.SIGINT)
    _, err = waiting.communicate(timeout=SECONDS)
    assert waiting.returncode == 130
    assert err.decode().startswith("praxis: interrupted")


# ---------------------------------------------------------------------------------------------------- terminals


def test_a_person_at_a_terminal_types_the_seal(
    praxis: Praxis, order_file: Any, environment: dict[str, str]
) -> None:
    praxis("submit", order_file())
    wrong, _ = at_terminal(environment, ["approve", "WO-1"], "yes\n")
    assert wrong == 2
    assert praxis("inbox", "--json").json
    seal = praxis("inbox", "--json").json[0]["seal"]
    code, shown = at_terminal(environment, ["approve", "WO-1"], f"{seal[:8]}\n")
    assert code == 0, shown
    assert seal in shown
    assert "APPROVED" in shown
    assert "\x1b[2J" not in shown


def test_output_on_a_terminal_is_spelled_out(
    praxis: Praxis, order_file: Any, environment: dict[str, str]
) -> None:
    praxis("submit", order_file("import os; os.write(2, b'\\xff\\x1b[2J')"))
    approve(praxis, "WO-1")
    praxis("serve", "--until-idle", "--quiet")
    code, shown = at_terminal(environment, ["evidence", "WO-1/1", "--stderr"], "")
    assert code == 0
    assert "\x1b[2J" not in shown
    assert "U+001B" in shown


def at_terminal(environment: dict[str, str], arguments: list[str], typed: str) -> tuple[int, str]:
    """Run a command on a terminal of its own, type, and give its exit code and all that was shown."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**environment, "TERM": "xterm"},
    )
    os.close(theirs)
    shown = bytearray()

    def read() -> None:
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:
                return
            shown.extend(part)
            if b"type the first" in shown and not asked.is_set():
                asked.set()
                os.write(ours, typed.encode())

    asked = threading.Event()
    reader = threading.Thread(target=read)
    reader.start()
    code = process.wait(SECONDS)
    reader.join()
    os.close(ours)
    return code, shown.decode("utf-8", "replace")


def test_a_reader_that_goes_away_is_no_error_message(
    praxis: Praxis, order_file: Any, environment: dict[str, str]
) -> None:
    for _ in range(3):
        praxis("submit", order_file())
    process = subprocess.Popen(
        [*COMMAND, "journal", "export"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(SECONDS) == 1
