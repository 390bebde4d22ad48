"""What a write and a read through `Storage` cost, against a bare FULL commit in the same run.

Every operation changes one row and journals it. ``clients16_over_1`` is the gain of 16 callers over one: what
sharing commits is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from engine.actors import ENGINE
from engine.clock import SystemClock
from engine.storage import Rx, Storage, Subject, Tx
from tests.benchmarks.common import interleaved, latencies, median, microseconds, rate, run
from tests.benchmarks.transition import BareCommits, transition_cost
from tests.stored_journal import verify_stored_journal

ROUNDS = 7
ONE_BY_ONE = 300
SHARED = 2_000


def change(tx: Tx, number: int, *, now: int) -> None:
    """Change one row, and journal it."""
    key = f"key {number % 512}"
    tx.run(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, str(now)),
    )
    tx.journal("meta.set", Subject("meta", key), ENGINE, now, work_order_id="WO", detail={"number": number})


def look(rx: Rx) -> int:
    """Read one row."""
    row = rx.one("SELECT sequence FROM journal_head WHERE id = 1")
    return 0 if row is None else int(row["sequence"])


async def measure(folder: Path) -> dict[str, object]:
    """Run all cases in turn, round after round."""
    bare = BareCommits(folder / "bare.sqlite")
    storage = await Storage.open(folder / "data", clock=SystemClock(), program="benchmark")

    async def write(number: int) -> None:
        await storage.write(change, number)

    async def read(number: int) -> None:
        await storage.read(look)

    async def bare_commit() -> Sequence[float]:
        return await latencies(bare.one, ONE_BY_ONE)

    async def one_write() -> Sequence[float]:
        return await latencies(write, ONE_BY_ONE)

    async def one_read() -> Sequence[float]:
        return await latencies(read, ONE_BY_ONE)

    async def writes_1() -> Sequence[float]:
        return [await rate(write, ONE_BY_ONE, 1)]

    async def writes_16() -> Sequence[float]:
        return [await rate(write, SHARED, 16)]

    async def writes_64() -> Sequence[float]:
        return [await rate(write, SHARED, 64)]

    try:
        await write(0)
        samples = await interleaved(
            {
                "bare": bare_commit,
                "write": one_write,
                "read": one_read,
                "writes_1": writes_1,
                "writes_16": writes_16,
                "writes_64": writes_64,
            },
            ROUNDS,
        )
        before = storage.health().commits
        await rate(write, SHARED, 16)
        commits = storage.health().commits - before
        started = perf_counter()
        report = await verify_stored_journal(storage)
        verified = report.rows / (perf_counter() - started)
        assert report.sound, report.problems
    finally:
        await storage.close()
        bare.close()
    transition = await transition_cost(folder)
    bare_us, write_us = microseconds(samples["bare"]), microseconds(samples["write"])
    rates = {clients: median(samples[f"writes_{clients}"]) for clients in (1, 16, 64)}
    return {
        "bare_commit_p50_us": bare_us,
        "bare_commit_p99_us": microseconds(samples["bare"], 0.99),
        "write_p50_us": write_us,
        "write_p99_us": microseconds(samples["write"], 0.99),
        "write_over_bare": round(write_us / bare_us, 2),
        "transition_p50_over_commit": transition["transition_p50_over_commit"],
        "read_p50_us": microseconds(samples["read"]),
        "read_p99_us": microseconds(samples["read"], 0.99),
        "writes_per_second_1": rates[1],
        "writes_per_second_16": rates[16],
        "writes_per_second_64": rates[64],
        "clients16_over_1": round(rates[16] / rates[1], 2),
        "clients64_over_1": round(rates[64] / rates[1], 2),
        "commits_per_write_16": round(commits / SHARED, 3),
        "verified_rows_per_second": round(verified),
    }


if __name__ == "__main__":
    run(measure, __doc__ or "")
