"""A retention run that is killed at any of its steps leaves whole data, and the next one goes on (E-84, §12)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from engine.clock import ManualClock
from engine.retention.settings import HOUR_MS
from tests.ledger import PERSON
from tests.retention.conftest import SETTINGS, Attic, assert_whole
from tests.storage.support import ROOT

KILLS = (
    ("retention.retired", "before_commit"),
    ("retention.work", "after_commit"),
    ("retention.journal", "before_commit"),
    ("retention.journal", "after_commit"),
    ("retention.files", "after_commit"),  # the files that it gave up are still there
    ("retention.done", "before_commit"),
)


@pytest.mark.crash
@pytest.mark.parametrize(("point", "when"), KILLS)
async def test_e84_a_killed_run_harms_nothing(
    folder: Path, clock: ManualClock, point: str, when: str
) -> None:
    attic = await Attic.open(folder, clock)
    for number in range(12):
        await attic.finished(f"old-{number}")
    attic.blobs.put_bytes(b"nobody needs this")
    attic.age(31)
    young = await attic.finished("young")
    waiting = await attic.ledger.submit("/waiting")
    await attic.run(type(SETTINGS)(grace_ms=SETTINGS.grace_ms))
    attic.clock.advance(2 * HOUR_MS)
    live = [await _rows_of(attic, order) for order in (young, waiting)]
    await attic.close()

    done = subprocess.run(
        [sys.executable, "-m", "tests.retention.child", folder, str(clock.now()), point, when],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode < 0, done.stdout + done.stderr

    attic = await Attic.open(folder, clock)
    await assert_whole(attic)
    left = await attic.orders()
    if point in ("retention.retired", "retention.work"):
        assert len(left) == (14 if when == "before_commit" else 4)
    else:
        assert left == {young, waiting}
    await attic.retention.run(PERSON)
    attic.clock.advance(2 * HOUR_MS)
    await attic.retention.run(PERSON)
    assert await attic.orders() == {young, waiting}
    assert [await _rows_of(attic, order) for order in (young, waiting)] == live
    await assert_whole(attic)
    assert not attic.blobs.path(_digest(b"nobody needs this")).exists()
    await attic.close()


async def _rows_of(attic: Attic, order: str) -> list[list[dict[str, object]]]:
    return [
        await attic.ledger.all(f"SELECT * FROM {table} WHERE work_order_id = ?", order)
        for table in ("task", "attempt", "approval", "validation", "decision", "journal")
    ]


def _digest(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()
