"""After a year: every due wake-up fires once, in bounded passes, across restarts (E-22, E-25, E-26)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from engine.clock import ManualClock
from engine.scheduling.claims import recover_abandoned_claims
from engine.scheduling.tasks import drain_due_wakeups
from engine.storage.journal import verify_journal
from tests.ledger import LEASE, Ledger
from tests.scheduling.bulk import live_claims, waiting_tasks

YEAR = 365 * 86_400_000
DUE = 10_007


async def test_a_year_of_downtime_drains_in_bounded_passes_across_restarts(
    folder: Path, clock: ManualClock
) -> None:
    """10,007 due within the year, 5 after it: each fires once, earliest first, at most a batch at a time."""
    ledger = await Ledger.open(folder, clock)
    begin = clock.now()
    due = [begin + 1 + number * (YEAR // DUE) for number in range(DUE)]
    later = [begin + YEAR + 1 + number for number in range(5)]
    await waiting_tasks(ledger, [*reversed(due), *later])
    await ledger.close()
    clock.reboot("boot-2")
    clock.advance(YEAR)
    fired: list[str] = []
    passes = 0
    while True:
        ledger = await Ledger.open(folder, clock)
        for _ in range(60):
            done = await ledger.write(drain_due_wakeups, ledger.epoch, 97)
            assert len(done) <= 97
            passes += 1
            fired += done
            if not done:
                break
        if not done:
            break
        await ledger.close()
    assert len(fired) == DUE
    assert max(Counter(fired).values()) == 1
    # The earliest first: they were numbered from the latest on.
    assert fired == [f"waiting-{number:06d}" for number in reversed(range(DUE))]
    assert passes == -(-DUE // 97) + 1
    (left,) = await ledger.all("SELECT count(*) AS n, min(due_at) AS first FROM task WHERE state = 'WAITING'")
    assert (left["n"], left["first"]) == (5, later[0])
    (rows,) = await ledger.all(
        "SELECT count(*) AS n, count(DISTINCT subject_id) AS tasks FROM journal WHERE kind = 'task.ready'"
    )
    assert rows["n"] == rows["tasks"] == DUE
    assert (await ledger.read(verify_journal)).sound
    await ledger.close()


async def test_a_batch_of_1001(folder: Path, clock: ManualClock) -> None:
    """E-03: no ceiling on a batch: wake-ups and claims alike, in one transaction each."""
    ledger = await Ledger.open(folder, clock)
    await waiting_tasks(ledger, [clock.now() + 1] * 1_002)
    clock.advance(1)
    assert len(await ledger.write(drain_due_wakeups, ledger.epoch, 1_001)) == 1_001
    assert len(await ledger.write(drain_due_wakeups, ledger.epoch, 1_001)) == 1
    await live_claims(ledger, [clock.now() + LEASE] * 1_002)
    clock.advance(LEASE)
    assert len(await ledger.write(recover_abandoned_claims, ledger.epoch, 1_001)) == 1_001
    assert len(await ledger.write(recover_abandoned_claims, ledger.epoch, 1_001)) == 1
    assert await ledger.all("SELECT 1 FROM claim WHERE state = 'LIVE'") == []
    await ledger.close()
