"""What the documents say is true (S-57), and the core stands alone (S-11)."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import textwrap
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import engine.wakes
from engine.actors import Actor, ActorKind
from engine.clock import SystemClock
from engine.durations import format_duration
from engine.errors import InvalidValue
from engine.storage import Storage
from engine.wakes import AlarmClock, Budgets, WakeSettings, WakeState, external, in_transaction
from engine.wakes.sqlite import SqliteWakeStore
from engine.wakes.times import duration
from tests.conformance.world import eventually

ROOT = Path(__file__).resolve().parents[2]
GUIDE = engine.wakes.__doc__ or ""


def example() -> str:
    """The code of the embedding guide."""
    lines = GUIDE.split("::\n", 1)[1].splitlines()
    code = []
    for line in lines[1:]:
        if line and not line.startswith("    "):
            break
        code.append(line)
    return textwrap.dedent("\n".join(code)).strip()


async def test_s57_the_embedding_guide_runs_as_it_stands(folder: Path) -> None:
    code = example()
    assert 10 <= len([line for line in code.splitlines() if line.strip()]) <= 25
    sent: list[Any] = []

    async def send(intent: Any, result: Any) -> str:
        sent.append(result)
        return "sent"

    # What a reader has: the names that the guide uses, and a place.
    names: dict[str, Any] = {
        "folder": folder,
        "send": send,
        "Actor": Actor,
        "ActorKind": ActorKind,
        "SystemClock": SystemClock,
        "Storage": Storage,
        "SqliteWakeStore": SqliteWakeStore,
        "AlarmClock": AlarmClock,
        "external": external,
        "in_transaction": in_transaction,
    }
    before_stop, stop = code.rsplit("\n", 1)
    assert stop == "await alarm.stop()"
    await run(before_stop, names)
    try:
        await eventually(lambda: sorted(map(str, sent)) == ["yes", "{'run': 7}"])
        alarm = names["alarm"]
        await eventually(lambda: booked(names["storage"], "later"))
        await eventually(lambda: ended(alarm))
    finally:
        await run(stop, names)
        await names["storage"].close()


async def ended(alarm: AlarmClock) -> bool:
    """Whether all of the guide's wakes have fired but the next occurrence of its series."""
    states = [wake.state for wake in await alarm.list_wakes("w")]
    return sorted(states) == [WakeState.FIRED] * 3 + [WakeState.PENDING]


async def booked(storage: Storage, text: str) -> bool:
    """Whether the guide's in-transaction sink has left its row."""
    return await storage.read(lambda rx: rx.one("SELECT 1 FROM meta WHERE value = ?", (text,)) is not None)


async def run(code: str, names: dict[str, Any]) -> None:
    """Run code with await at its top."""
    compiled = compile(code, "embedding guide", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    pending = eval(compiled, names)
    if inspect.iscoroutine(pending):
        await pending


def test_s57_figures_in_the_guide_are_those_of_the_code() -> None:
    settings, budgets = WakeSettings(), Budgets()
    text = " ".join(GUIDE.split())

    def said(pattern: str) -> str:
        found = re.search(pattern, text)
        assert found, pattern
        return found[1]

    for pattern, milliseconds in (
        (r"a lease of (\w+)", settings.lease_ms),
        (r"a time limit of (\w+)", settings.time_limit_ms),
        (r"a horizon of (\w+)", budgets.horizon_ms),
        (r"request keys for (\w+)", settings.key_window_ms),
        (r"ended wakes for (\w+)", settings.retention_ms),
    ):
        assert duration(said(pattern), "figure") == milliseconds, pattern
    for pattern, number in (
        (r"(\d+) attempts", settings.max_attempts),
        (r"(\d+) sinks at once", settings.concurrency),
        (r"(\d+) live wakes", budgets.live),
        (r"(\d+) creations an hour", budgets.creations_per_hour),
        (r"a depth of (\d+)", budgets.depth),
    ):
        assert int(said(pattern)) == number, pattern


def test_the_defaults_are_those_of_the_specification() -> None:
    settings, budgets = WakeSettings(), Budgets()
    assert format_duration(settings.lease_ms) == "30s"
    assert (settings.max_attempts, settings.concurrency, settings.sweep_ms) == (10, 16, 1_000)
    assert (budgets.live, budgets.creations_per_hour, budgets.depth) == (1_000, 240, 5)
    assert format_duration(budgets.horizon_ms) == "90d"


@pytest.mark.parametrize("value", [0, -1, 1.5, True, float("nan"), "1"])
def test_settings_are_checked_like_every_other_size(value: Any) -> None:
    for field in fields(WakeSettings):
        with pytest.raises(InvalidValue, match=field.name):
            WakeSettings(**{field.name: value})


BARE = """
import sys
for name in ("sqlite3", "_sqlite3", "aiosqlite", "engine.storage"):
    sys.modules[name] = None
import engine.wakes
print(sorted(name for name in sys.modules if name.startswith("engine.wakes.sqlite")))
"""


def test_s11_the_main_entry_loads_without_any_database() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BARE], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr


UNHEARD = """
import asyncio, sys
from pathlib import Path
from engine.clock import SystemClock
from engine.wakes import AlarmClock, external
from tests.conformance.stores import STORES
from tests.conformance.world import ADA

async def bad(wake):
    raise ValueError("nobody listens to me")

async def main():
    clock = SystemClock()
    async with STORES["sqlite"](Path(sys.argv[1]), clock) as store:
        alarm = AlarmClock(store, clock=clock, authorize=lambda *asked: True,
                           sinks={"session_turn": external(bad)})
        await alarm.schedule(workspace="w", actor=ADA, at=clock.now())
        await alarm.run_due()

asyncio.run(main())
"""


def test_s10_without_a_listener_errors_go_to_standard_error(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNHEARD, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "nobody listens to me" in done.stderr
