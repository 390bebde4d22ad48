"""Try a frozen bundle or an installed program from outside, as a person and an agent would.

``python packaging/smoke.py FOLDER [--starts N]``: FOLDER holds praxis-console and praxis. It runs the self-test,
starts and quits the console N times, and tries the command line and an agent's first words. Exit code 0 when
everything was right. Only the standard library is used, so any Python on the machine will do.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PATIENCE_SECONDS = 180
SUFFIX = ".exe" if sys.platform == "win32" else ""

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "smoke", "version": "1"},
    },
}


class Wrong(Exception):
    """Something was not as it should be."""


class Bundle:
    """The programs of one folder, and a scratch data folder to use them on."""

    def __init__(self, folder: Path, scratch: Path) -> None:
        self.console = str(folder / f"praxis-console{SUFFIX}")
        self.praxis = str(folder / f"praxis{SUFFIX}")
        self.data = scratch / "data"

    def run(self, *command: str, given: str = "") -> str:
        """Run one command to its end and give what it printed; it must end with exit code 0."""
        done = subprocess.run(
            command,
            input=given.encode(),
            capture_output=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        said = done.stdout.decode("utf-8", "replace")
        if done.returncode != 0:
            more = done.stderr.decode("utf-8", "replace")
            raise Wrong(f"{command} ended with exit code {done.returncode}: {said} {more}")
        return said

    def self_test(self) -> str:
        """Run the program's own test."""
        report: dict[str, Any] = json.loads(self.run(self.console, "--self-test", "--json"))
        if not report["passed"] or not report["frozen"]:
            raise Wrong(json.dumps(report, indent=2))
        slowest = max(report["checks"], key=lambda check: check["milliseconds"])
        return (
            f"{len(report['checks'])} checks, Python {report['python']}, Qt {report['qt']} drawing by "
            f"{report['drawn_by']}, slowest: {slowest['name']} in {slowest['milliseconds']} ms"
        )

    def version(self) -> str:
        """Ask the command line for its version."""
        return self.run(self.praxis, "--version").strip()

    def command_line(self) -> str:
        """Look at the data folder that the console has left."""
        json.loads(self.run(self.praxis, "--data", str(self.data), "--json", "list"))
        self.run(self.praxis, "--data", str(self.data), "doctor")
        return "list and doctor answer"

    def agent(self) -> str:
        """Give an agent its key, and say what it says first."""
        self.run(self.praxis, "--data", str(self.data), "agent", "add", "smoke")
        command = (self.praxis, "--data", str(self.data), "mcp", "--name", "smoke")
        answer = json.loads(self.run(*command, given=json.dumps(HELLO) + "\n").splitlines()[0])
        return f"answered as {answer['result']['serverInfo']}"

    def starts(self, times: int) -> str:
        """Start the console and have it quit, over and over; each must end with exit code 0."""
        log = self.data / "logs" / "console.log"
        began = time.monotonic()
        for number in range(1, times + 1):
            before = _opened(log)
            console = subprocess.Popen([self.console, "--data", str(self.data)], stdin=subprocess.DEVNULL)
            try:
                _wait(lambda before=before: _opened(log) != before, console)
                self.run(self.console, "--data", str(self.data), "--quit")
                code = console.wait(PATIENCE_SECONDS)
            finally:
                console.kill()
            if code != 0 or (self.data / "logs" / "crash.txt").exists():
                raise Wrong(f"Start {number} of {times} ended with exit code {code}.")
        seconds = (time.monotonic() - began) / times
        return f"{times} times with exit code 0, {seconds:.1f} s each"


def _opened(log: Path) -> tuple[int, str]:
    """How often and when last the log says that the folder was opened; the log rotates."""
    try:
        lines = [line for line in log.read_text("utf-8", "replace").splitlines() if " Opened " in line]
    except OSError:
        return 0, ""
    return len(lines), lines[-1] if lines else ""


def _wait(reached: Callable[[], bool], console: subprocess.Popen[bytes]) -> None:
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not reached():
        if console.poll() is not None:
            raise Wrong(f"The console ended by itself with exit code {console.returncode}.")
        if time.monotonic() > give_up:
            raise Wrong(f"The console did not open its data within {PATIENCE_SECONDS} s.")
        time.sleep(0.05)


def main() -> int:
    """Try everything; the exit code is 0 if nothing was wrong."""
    parser = argparse.ArgumentParser(description="Try a frozen Praxis Console from outside.")
    parser.add_argument("folder", type=Path, help="the folder that holds praxis-console and praxis")
    parser.add_argument(
        "--starts", type=int, default=5, help="how often the console is started and has to quit"
    )
    wanted = parser.parse_args()
    if sys.platform != "win32":
        # Where nobody looks there need not be a screen; on Windows there always is one.
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    with tempfile.TemporaryDirectory(prefix="praxis smoke ü ", ignore_cleanup_errors=True) as scratch:
        bundle = Bundle(wanted.folder.resolve(), Path(scratch))
        checks: dict[str, Callable[[], str]] = {
            "self-test": bundle.self_test,
            "version": bundle.version,
            "starting and quitting": lambda: bundle.starts(wanted.starts),
            "command line": bundle.command_line,
            "agent": bundle.agent,
        }
        bad = 0
        for name, check in checks.items():
            try:
                print(f"ok      {name}: {check()}", flush=True)
            except (Wrong, OSError, ValueError, LookupError, subprocess.TimeoutExpired) as error:
                bad += 1
                print(f"FAILED  {name}: {error}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
