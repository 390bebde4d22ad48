"""Kills in the middle of a restore: the old data or the new, never a mixture (E-82)."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable

import pytest

from engine.errors import DatabaseDamaged
from engine.storage import Storage, swap
from engine.storage.connections import DATABASE_FILE
from engine.storage.journal import verify_journal
from tests.backup.conftest import House, head
from tests.storage.support import python

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


class Killed(BaseException):
    """Stands for the end of the process, as far as the files can tell."""


POINTS = [
    "staged",
    "decided",
    f"aside {DATABASE_FILE}",
    "aside secret.key",
    "placed secret.key",
    f"placed {DATABASE_FILE}",
    "noted",
    "done",
]

RESTORES_AND_DIES = """
import os, sys
from pathlib import Path
from engine.backup import restore
from engine.clock import ManualClock
from tests.ledger import PERSON

folder, source, point, kill = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])

def reached(name):
    if name == point:
        os.kill(os.getpid(), kill)

restore(folder, source, actor=PERSON, clock=ManualClock(1788998500000), reached=reached)
print("survived")
"""


@pytest.mark.crash
@pytest.mark.parametrize("point", POINTS)
async def test_e82_a_kill_leaves_the_old_or_the_new(house: House, point: str) -> None:
    """Whoever opens the folder next finds one of them whole, and the other one kept if it is the new."""
    made = house.take()
    await house.ledger.submit("/three", title="Third")
    await house.close()
    (house.folder / "secret.key").write_bytes(b"n" * 32)
    old = head(house.folder)
    child = python(RESTORES_AND_DIES, house.folder, made.path, point, int(KILL))
    out, err = child.communicate(timeout=60)
    assert child.returncode not in (0, 1), err
    assert "survived" not in out
    ledger = await house.reopen()
    kept = await ledger.one("SELECT hash FROM journal WHERE sequence = ?", made.journal_sequence)
    assert kept["hash"] == made.journal_hash
    titles = {one["title"] for one in await ledger.all("SELECT title FROM work_order")}
    key = (house.folder / "secret.key").read_bytes()
    if point == "staged":
        assert titles == {"First", "Second", "Third"}
        assert key == b"n" * 32
        assert not list((house.folder / swap.ASIDE_FOLDER).glob("*"))
    else:
        assert titles == {"First", "Second"}
        assert key == (made.path / "secret.key").read_bytes()
        (aside,) = (house.folder / swap.ASIDE_FOLDER).iterdir()
        assert head(aside) == old
        assert (aside / "secret.key").read_bytes() == b"n" * 32
    assert not (house.folder / swap.MARKER_FILE).exists()
    assert not (house.folder / swap.STAGE_FOLDER).exists()
    assert (await ledger.read(verify_journal)).sound


@pytest.mark.parametrize("first", POINTS[1:])
async def test_e82_kills_while_finishing_a_restore_do_no_harm(house: House, first: str) -> None:
    """The moves are begun, killed, and then killed again at every later point."""
    made = house.take()
    await house.close()
    old = head(house.folder)

    def die_at(point: str) -> Callable[[str], None]:
        def reached(name: str) -> None:
            if name == point:
                raise Killed

        return reached

    with pytest.raises(Killed):
        house.restore(made.path, reached=die_at(first))
    if first != "done":
        said = json.loads((house.folder / swap.MARKER_FILE).read_bytes())
        for point in POINTS[POINTS.index(first) :]:
            try:
                swap._carry_out(house.folder, said["aside"], said["note"], die_at(point))
            except Killed:
                continue
    ledger = await house.reopen()
    assert (await ledger.one("SELECT kind FROM hold WHERE released_at IS NULL"))["kind"] == "RESTORE"
    (aside,) = (house.folder / swap.ASIDE_FOLDER).iterdir()
    assert head(aside) == old


async def test_a_marker_without_its_stage_opens_nothing(house: House) -> None:
    """Somebody has cleaned up by hand in the middle of a restore: say so, and make no empty database."""
    made = house.take()
    await house.close()

    def die(name: str) -> None:
        if name == f"aside {DATABASE_FILE}":
            raise Killed

    with pytest.raises(Killed):
        house.restore(made.path, reached=die)
    shutil.rmtree(house.folder / swap.STAGE_FOLDER)
    with pytest.raises(DatabaseDamaged, match="has been removed"):
        await Storage.open(house.folder, clock=house.clock)
    (house.folder / swap.MARKER_FILE).write_text("{")
    with pytest.raises(DatabaseDamaged, match="cannot be read"):
        await Storage.open(house.folder, clock=house.clock)
    assert not (house.folder / DATABASE_FILE).exists()
