"""Real kills around the commit of a firing and of a recovery: neither half survives alone (E-13, E-22, E-25)."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from engine.clock import ManualClock
from engine.engine import Engine
from engine.scheduling.claims import recover_abandoned_claims
from engine.scheduling.tasks import drain_due_wakeups
from engine.storage.journal import verify_journal
from tests.ledger import LEASE, Ledger
from tests.scheduling.bulk import live_claims, waiting_tasks
from tests.storage.support import WAIT_SECONDS, python

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
MANY = 7

DIES = """
import asyncio, os, sys
from pathlib import Path
from engine.clock import ManualClock
from engine.scheduling.claims import recover_abandoned_claims
from engine.scheduling.tasks import drain_due_wakeups
from engine.storage import Storage, Tx, take_epoch

folder, what, point, now, kill = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
armed = False

def boundary(name):
    if armed and name == point:
        os.kill(os.getpid(), kill)

async def main():
    global armed
    storage = await Storage.open(folder, clock=ManualClock(now), boundary=boundary)

    def take(tx, *, now):
        return take_epoch(tx, storage.owner, now)

    epoch = await storage.write(take)
    armed = True
    function = drain_due_wakeups if what == "wakeup" else recover_abandoned_claims
    await storage.write(function, epoch, 5)
    print("survived")

asyncio.run(main())
"""


@pytest.mark.crash
@pytest.mark.parametrize(("point", "done"), [("wakeup", 0), ("before_commit", 0), ("after_commit", 5)])
async def test_a_kill_at_a_firing_leaves_readiness_and_firing_together(
    folder: Path, clock: ManualClock, point: str, done: int
) -> None:
    """E-22: killed before the commit neither is there, after it both, and nothing of it fires again."""
    ledger = await Ledger.open(folder, clock)
    await waiting_tasks(ledger, [clock.now() + 1_000] * MANY)
    await ledger.close()
    clock.advance(1_000)
    await _die(folder, "wakeup", point, clock.now())
    ledger = await Ledger.open(folder, clock)
    assert (
        await _count(ledger, "SELECT count(*) AS n FROM task WHERE state = 'READY' AND id LIKE 'waiting-%'")
        == done
    )
    assert await _count(ledger, "SELECT count(*) AS n FROM journal WHERE kind = 'task.ready'") == done
    rest = await ledger.write(drain_due_wakeups, ledger.epoch)
    assert len(rest) == MANY - done
    assert await ledger.write(drain_due_wakeups, ledger.epoch) == ()
    assert await _count(ledger, "SELECT count(*) AS n FROM journal WHERE kind = 'task.ready'") == MANY
    assert (await ledger.read(verify_journal)).sound
    await ledger.close()


@pytest.mark.crash
@pytest.mark.parametrize(
    ("point", "done"), [("claim_recovery", 0), ("before_commit", 0), ("after_commit", 5)]
)
async def test_a_kill_at_a_recovery_leaves_expiry_and_requeue_together(
    folder: Path, clock: ManualClock, point: str, done: int
) -> None:
    """E-25: claim expired, its slot free and its task READY, or nothing of it; the rest waits for the next pass."""
    ledger = await Ledger.open(folder, clock)
    await live_claims(ledger, [clock.now() + LEASE] * MANY)
    await ledger.close()
    clock.advance(LEASE)
    await _die(folder, "recovery", point, clock.now())
    ledger = await Ledger.open(folder, clock)
    expired = "SELECT count(*) AS n FROM claim WHERE state = 'EXPIRED'"
    requeued = "SELECT count(*) AS n FROM task WHERE state = 'READY' AND id LIKE 'claimed-%'"
    assert (await _count(ledger, expired), await _count(ledger, requeued)) == (done, done)
    rest = await ledger.write(recover_abandoned_claims, ledger.epoch)
    assert len(rest) == MANY - done
    assert await ledger.write(recover_abandoned_claims, ledger.epoch) == ()
    assert (await _count(ledger, expired), await _count(ledger, requeued)) == (MANY, MANY)
    assert await _count(ledger, "SELECT count(*) AS n FROM journal WHERE kind = 'claim.expired'") == MANY
    assert (await ledger.read(verify_journal)).sound
    await ledger.close()


async def _die(folder: Path, what: str, point: str, now: int) -> None:
    child = python(DIES, folder, what, point, now, int(KILL))
    out, err = child.communicate(timeout=WAIT_SECONDS)
    assert child.returncode not in (0, 1), err
    assert "survived" not in out


async def _count(ledger: Ledger, sql: str) -> int:
    return int((await ledger.one(sql))["n"])


FIRES = """
import asyncio, os, sys
from pathlib import Path
from engine.clock import ManualClock
from engine.engine import Engine

folder, point, now, kill = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
inside = armed = False

def boundary(name):
    global inside
    if not armed:
        return
    if name == point or (inside and name == point.removeprefix("fired_")):
        os.kill(os.getpid(), kill)
    inside = inside or name == "wakeup"

async def main():
    global armed
    engine = await Engine.open(folder, clock=ManualClock(now), boundary=boundary, automatic=False)
    armed = True
    await engine.wakes.run_due(1)
    print("survived")

asyncio.run(main())
"""


@pytest.mark.crash
@pytest.mark.parametrize(
    ("point", "done"),
    [("wake.claim", 0), ("wakeup", 0), ("fired_before_commit", 0), ("fired_after_commit", 1)],
)
async def test_a_kill_when_the_alarm_clock_fires_a_wake_up_leaves_both_or_neither(
    folder: Path, clock: ManualClock, point: str, done: int
) -> None:
    """E-22 for the runner, which claims in a commit of its own: the next engine takes back and fires the rest once."""
    ledger = await Ledger.open(folder, clock)
    await waiting_tasks(ledger, [clock.now() + 1_000] * MANY)
    await ledger.close()
    clock.advance(1_000)
    child = python(FIRES, folder, point, clock.now(), int(KILL))
    out, err = child.communicate(timeout=WAIT_SECONDS)
    assert child.returncode not in (0, 1), err
    assert "survived" not in out
    ready = "SELECT count(*) AS n FROM journal WHERE kind = 'task.ready'"
    ledger = await Ledger.open(folder, clock)
    assert await _count(ledger, ready) == done
    assert await _count(ledger, "SELECT count(*) AS n FROM wake WHERE state = 'fired'") == done
    await ledger.close()
    engine = await Engine.open(folder, clock=clock, automatic=False)
    try:
        await engine.reconcile_once()
        (rows,) = await engine._storage.read(
            lambda rx: rx.all(
                """SELECT count(*) AS n, count(DISTINCT subject_id) AS once FROM journal
                   WHERE kind = 'task.ready'"""
            )
        )
        assert (rows["n"], rows["once"]) == (MANY, MANY)
        assert (await engine.verify_journal()).sound
    finally:
        await engine.close()
