"""What the tests of real processes share: making a launch, running it, watching for things with a bound."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from engine.clock import Clock, SystemClock
from engine.execution.process import (
    GuardedFile,
    Launch,
    ProcessIdentity,
    ProcessReport,
    Stop,
    StopReason,
    run,
)

LINUX_ONLY = ["test_process_posix.py", "test_launch_guard.py"]
WINDOWS_ONLY = ["test_process_windows.py"]
collect_ignore = LINUX_ONLY if sys.platform == "win32" else WINDOWS_ONLY

PATIENCE_SECONDS = 20.0
BASE_ENVIRONMENT = {
    **{name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ},
    "PYTHONDONTWRITEBYTECODE": "1",
}


def eventually(condition: Callable[[], Any], what: str) -> Any:
    """Wait until a condition of the outside world holds, and give its value."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        threading.Event().wait(0.01)
    raise AssertionError(f"never came: {what}")


def process_exists(pid: int) -> bool:
    """Say whether a process runs; one that only waits to be collected does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def sealed(path: str | Path) -> GuardedFile:
    """Seal a file as it is now."""
    return GuardedFile(str(path), hashlib.sha256(Path(path).read_bytes()).hexdigest())


class Bench:
    """Makes launches in a folder of their own and runs them."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self._runs = folder / "runs"
        self._count = 0
        self.stop = Stop()
        self.clock: Clock = SystemClock()
        self.started: list[ProcessIdentity] = []
        self._threads = ThreadPoolExecutor(8)

    def launch(self, *argv: str, program: str = "", inputs: tuple[Path, ...] = (), **fields: Any) -> Launch:
        """Make the launch of a command that is sealed as it is now."""
        self._count += 1
        folder = self._runs / str(self._count)
        folder.mkdir(parents=True)
        program = program or argv[0]
        values: dict[str, Any] = {
            "cwd": str(self.workspace),
            "environment": BASE_ENVIRONMENT,
            "stdout": str(folder / "stdout"),
            "stderr": str(folder / "stderr"),
            "time_limit_ms": 60_000,
            "output_limit_bytes": 1 << 30,
            "grace_ms": 2_000,
        }
        if "guarded" not in fields:
            fields["guarded"] = (sealed(program), *(sealed(path) for path in inputs))
        return Launch(program=program, argv=argv, **{**values, **fields})

    def python(self, code: str, *arguments: str, **fields: Any) -> Launch:
        """Make the launch of a Python one-liner."""
        return self.launch(sys.executable, "-S", "-c", code, *arguments, **fields)

    def shell(self, script: str, **fields: Any) -> Launch:
        """Make the launch of a shell script."""
        return self.launch("/bin/sh", "-c", script, **fields)

    def run(self, launch: Launch) -> ProcessReport:
        """Run it here to its end."""
        return run(launch, self.stop, self.clock, self.started.append)

    def begin(self, launch: Launch) -> Future[ProcessReport]:
        """Run it in a thread of its own."""
        return self._threads.submit(self.run, launch)

    def said(self, launch: Launch, text: bytes) -> Path:
        """Wait until the command has written ``text``."""
        path = Path(launch.stdout)
        eventually(lambda: path.exists() and text in path.read_bytes(), f"{text!r} on stdout")
        return path

    def close(self) -> None:
        """End what a failed test left running, and wait for the threads."""
        self.stop.request(StopReason.SHUTDOWN)
        self._threads.shutdown()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A `Bench` in a fresh folder."""
    made = Bench(tmp_path)
    yield made
    made.close()
