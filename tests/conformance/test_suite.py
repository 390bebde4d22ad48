"""The suite itself: every store passes it by name, a broken one does not, and what is supported is said plainly."""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import engine.wakes
from engine.clock import ManualClock
from engine.errors import FolderInUse
from tests.conformance.stores import BROKEN, STORES, OpenStore

ROOT = Path(__file__).resolve().parents[2]


def test_s07_every_store_of_the_product_is_in_the_list() -> None:
    found: set[str] = set()
    for module in pkgutil.walk_packages(engine.wakes.__path__, "engine.wakes."):
        for _, value in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if value.__module__ == module.name and all(
                hasattr(value, method) for method in ("write", "read", "record", "time_trusted")
            ):
                name = getattr(value, "name", None)
                if isinstance(name, str):
                    found.add(name)
    assert found == set(STORES)


@pytest.mark.parametrize("broken", sorted(BROKEN))
def test_s06_the_suite_is_red_for_a_deliberately_broken_store(broken: str) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "tests/conformance",
            "-k",
            "racing_runners or two_runners",
            "--no-header",
        ],
        cwd=ROOT,
        env={**os.environ, "WAKE_STORE": broken},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    assert f"test_s06_racing_runners_never_drive_a_wake_twice[{broken}]" in done.stdout


SECOND_OWNER = """
import asyncio, sys
from pathlib import Path
from engine.clock import SystemClock
from tests.conformance.stores import STORES

async def main():
    async with STORES[sys.argv[1]](Path(sys.argv[2]), SystemClock()):
        print("opened")

asyncio.run(main())
"""


async def test_s06_one_process_owns_a_folder_and_a_second_is_refused(
    open_store: OpenStore, new_folder: Path, clock: ManualClock
) -> None:
    """Two processes on one file are made safe by not letting the second in; it is told who has the folder."""
    async with open_store(new_folder, clock) as store:
        done = subprocess.run(
            [sys.executable, "-c", SECOND_OWNER, store.name, str(new_folder)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 1
        assert FolderInUse.__name__ in done.stderr
        assert str(os.getpid()) in done.stderr
    done = subprocess.run(
        [sys.executable, "-c", SECOND_OWNER, store.name, str(new_folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.strip() == "opened", done.stderr
