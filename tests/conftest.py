"""What every test shares: Qt without a screen, hypothesis profiles, watchers for what a test leaves behind.

A test fails if it logs a warning nobody expected, or leaves a task or a thread running. A warning is expected
inside ``with expected_log(...)`` or ``with caplog.at_level(...)`` of that level or below.
"""

from __future__ import annotations

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import asyncio
import gc
import inspect
import logging
import re
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import hypothesis
import pytest

from engine.actors import Actor, ActorKind
from engine.clock import ManualClock
from engine.work_order import (
    BudgetLimits,
    CommandSpec,
    CorrectionRule,
    EnvironmentValue,
    ValidationSpec,
    WorkOrderSpec,
)

hypothesis.settings.register_profile("ci", max_examples=60, deadline=None, derandomize=True, database=None)
hypothesis.settings.register_profile("dev", max_examples=60, deadline=None)
hypothesis.settings.register_profile("long", max_examples=2000, deadline=None)
hypothesis.settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev")
)

GRACE_SECONDS = 2.0
"""How long a task or thread that is already ending may take until it counts as left behind."""


# ------------------------------------------------------------------------------- garbage

MANY_OBJECTS = 50_000


def pytest_collection_finish() -> None:
    """Set the modules and tests themselves aside, so that a full collection looks only at what tests make."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _garbage_in_the_main_thread_only() -> Iterator[None]:
    """Collect no garbage in worker threads: a ring that an earlier test left may hold a widget (see app.memory)."""
    gc.disable()
    yield
    gc.disable()
    if gc.get_count()[0] > MANY_OBJECTS:
        gc.collect()


# ------------------------------------------------------------------------------- left-overs and log lines


class _LogWatch(logging.Handler):
    """Collects records of WARNING and above that nobody declared to expect."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        super().__init__(logging.WARNING)
        self.unexpected: list[logging.LogRecord] = []
        self.expected: list[tuple[re.Pattern[str], int, list[logging.LogRecord]]] = []
        self._caplog = caplog

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        for pattern, level, seen in self.expected:
            if record.levelno >= level and pattern.search(message):
                seen.append(record)
                return
        level = self._caplog.handler.level
        if level == logging.NOTSET or record.levelno < level:
            self.unexpected.append(record)


@pytest.fixture(autouse=True)
def _log_watch(caplog: pytest.LogCaptureFixture) -> Iterator[_LogWatch]:
    """Fail a test on a log record of WARNING or above that it did not expect."""
    watch = _LogWatch(caplog)
    root = logging.getLogger()
    root.addHandler(watch)
    yield watch
    root.removeHandler(watch)
    if watch.unexpected:
        lines = "\n".join(f"{r.levelname} {r.name}: {r.getMessage()}" for r in watch.unexpected)
        pytest.fail(f"unexpected log records:\n{lines}", pytrace=False)


@pytest.fixture
def expected_log(_log_watch: _LogWatch) -> Callable[..., AbstractContextManager[list[logging.LogRecord]]]:
    """``with expected_log("regex", level=logging.WARNING):`` lets matching records pass and requires one."""

    @contextmanager
    def expect(pattern: str, level: int = logging.WARNING) -> Iterator[list[logging.LogRecord]]:
        seen: list[logging.LogRecord] = []
        entry = (re.compile(pattern), level, seen)
        _log_watch.expected.append(entry)
        try:
            yield seen
        finally:
            _log_watch.expected.remove(entry)
        assert seen, f"no log record matched {pattern!r}"

    return expect


@pytest.fixture(autouse=True)
def _no_leftover_threads() -> Iterator[None]:
    """Fail a test that leaves a thread running; threads that Qt or asyncio's executor own are not counted."""
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + GRACE_SECONDS
    left = []
    for thread in set(threading.enumerate()) - before:
        if isinstance(thread, threading._DummyThread) or thread.name.startswith("asyncio_"):
            continue
        thread.join(max(0.0, deadline - time.monotonic()))
        if thread.is_alive():
            left.append(thread.name)
    if left:
        pytest.fail(f"threads left running: {', '.join(sorted(left))}", pytrace=False)


@pytest.fixture
async def _task_watch() -> AsyncIterator[None]:
    yield
    own = asyncio.current_task()
    left = {task for task in asyncio.all_tasks() if task is not own}
    if left:
        _, left = await asyncio.wait(left, timeout=GRACE_SECONDS)
    if left:
        names = "\n".join(repr(task.get_coro()) for task in left)
        pytest.fail(f"tasks left running:\n{names}", pytrace=False)


@pytest.fixture(autouse=True)
def _no_leftover_tasks(request: pytest.FixtureRequest, _no_leftover_threads: None) -> None:
    """Fail an asynchronous test that leaves a task running after its fixtures are closed."""
    if inspect.iscoroutinefunction(getattr(request, "function", None)):
        request.getfixturevalue("_task_watch")


# -------------------------------------------------------------------------------------------- shared things


@pytest.fixture
def clock() -> ManualClock:
    """A clock that moves only when told; it starts at 2026-09-10T00:00:00.000Z."""
    return ManualClock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty data folder."""
    path = tmp_path / "data"
    path.mkdir()
    return path


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty workspace folder."""
    path = tmp_path / "workspace"
    path.mkdir()
    return path


@pytest.fixture
def actor() -> Actor:
    """A person."""
    return Actor(ActorKind.PERSON, "ada")


@pytest.fixture
def agent() -> Actor:
    """An agent: it may ask, never approve."""
    return Actor(ActorKind.AGENT, "codex")


def python_command(code: str, *arguments: str, **fields: Any) -> CommandSpec:
    """Make a command that runs ``code`` with this Python; further fields are those of `CommandSpec`."""
    environment: dict[str, EnvironmentValue] = {
        "PYTHONDONTWRITEBYTECODE": "1",
        **fields.pop("environment", {}),
    }
    fields.setdefault("time_limit_ms", 30_000)
    fields.setdefault("max_cost", 30)
    return CommandSpec(
        argv=(sys.executable, "-c", code, *arguments), environment=MappingProxyType(environment), **fields
    )


@pytest.fixture
def work_order(workspace: Path) -> Callable[..., WorkOrderSpec]:
    """Make simple work orders of two Python one-liners in `workspace`; see the parameters."""

    def make(
        code: str = "print('done')",
        check: str = "print('checked')",
        *,
        title: str = "Say done",
        corrections: int = 0,
        **fields: Any,
    ) -> WorkOrderSpec:
        values: dict[str, Any] = {
            "title": title,
            "workspace": str(workspace),
            "implementation": python_command(code),
            "validation": ValidationSpec("the check exits 0", command=python_command(check)),
            "limits": BudgetLimits(1_000, 600_000, 100, 60_000),
            "correction": CorrectionRule(max_corrections=corrections),
        }
        return WorkOrderSpec(**{**values, **fields})

    return make
