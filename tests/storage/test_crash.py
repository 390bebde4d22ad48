"""A killed process: what was committed stays, what was not is gone, the folder is free (E-13, P3)."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from engine.storage.journal import verify_journal
from tests.storage.conftest import OpenStorage
from tests.storage.support import WAIT_SECONDS, journalled, names, note, python, sequences

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)

DIES_AT_A_POINT = """
import asyncio, os, sys
from pathlib import Path
from engine.clock import ManualClock
from engine.storage import Storage
from tests.storage.support import SCHEMA, note

folder, point, kill = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
armed = False

def boundary(name):
    if armed and name == point:
        os.kill(os.getpid(), kill)

def two_notes(tx, *, now):
    note(tx, "second", now=now)
    tx.boundary("inside")
    note(tx, "third", now=now)

async def main():
    global armed
    storage = await Storage.open(folder, clock=ManualClock(), migrations=SCHEMA, boundary=boundary)
    await storage.write(note, "first")
    armed = True
    await asyncio.gather(storage.write(two_notes), storage.write(note, "sibling"))
    print("survived")

asyncio.run(main())
"""


@pytest.mark.crash
@pytest.mark.parametrize(
    ("point", "left"),
    [
        ("inside", ["first"]),
        ("before_commit", ["first"]),
        ("after_commit", ["first", "second", "third"]),
    ],
)
async def test_e13_a_kill_at_a_boundary_leaves_all_of_a_commit_or_nothing(
    folder: Path, open_storage: OpenStorage, point: str, left: list[str]
) -> None:
    child = python(DIES_AT_A_POINT, folder, point, int(KILL))
    out, err = child.communicate(timeout=WAIT_SECONDS)
    assert child.returncode not in (0, 1), err
    assert "survived" not in out
    storage = await open_storage()
    found = await storage.read(journalled)
    assert found[: len(left)] == left
    assert found[len(left) :] in ([], ["sibling"]), "the sibling may have been in the same group"
    if point != "after_commit":
        assert found == left
    assert await storage.read(names) == sorted(found)
    assert await storage.read(sequences) == list(range(1, len(found) + 1))
    assert await storage.write(note, "later") == "later"
    assert (await storage.read(verify_journal)).sound


RUNS_UNTIL_KILLED = """
import asyncio, sys
from itertools import count
from pathlib import Path
from engine.clock import ManualClock
from engine.storage import Storage
from tests.storage.support import SCHEMA, note

async def client(storage, number):
    for turn in count():
        print(await storage.write(note, f"{number}-{turn}"), flush=True)

async def main():
    storage = await Storage.open(Path(sys.argv[1]), clock=ManualClock(), migrations=SCHEMA)
    await asyncio.gather(*(client(storage, number) for number in range(4)))

asyncio.run(main())
"""


@pytest.mark.crash
async def test_what_was_answered_before_a_kill_is_there_after_it(
    folder: Path, open_storage: OpenStorage
) -> None:
    child = python(RUNS_UNTIL_KILLED, folder)
    assert child.stdout is not None
    answered = [child.stdout.readline().strip() for _ in range(200)]
    os.kill(child.pid, KILL)
    out, _ = child.communicate(timeout=WAIT_SECONDS)
    complete = out.rpartition("\n")[0].split() if out else []
    storage = await open_storage()
    assert set(answered + complete) <= set(await storage.read(names))
    assert (await storage.read(verify_journal)).sound


FORGETS_TO_CLOSE = """
import asyncio, sys
from pathlib import Path
from engine.clock import ManualClock
from engine.storage import Storage
from tests.storage.support import SCHEMA, names, note

async def main():
    storage = await Storage.open(Path(sys.argv[1]), clock=ManualClock(), migrations=SCHEMA)
    await storage.write(note, "a")
    await storage.read(names)
    raise ZeroDivisionError("on purpose")

asyncio.run(main())
"""


async def test_p3_a_program_that_fails_without_closing_ends_all_the_same(
    folder: Path, open_storage: OpenStorage
) -> None:
    child = python(FORGETS_TO_CLOSE, folder)
    try:
        _, err = child.communicate(timeout=WAIT_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        raise
    assert child.returncode == 1
    assert "ZeroDivisionError: on purpose" in err
    assert await (await open_storage()).read(names) == ["a"]
