"""One full engine transition against a bare FULL commit in the same run.

The transition is the renewal of a lease: epoch, claim, worker and clock are checked, a row changes, and the journal
gets its row, through the writer thread and back into the loop.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from engine.clock import ManualClock
from engine.scheduling.claims import renew_claim
from tests.benchmarks.common import interleaved, latencies, microseconds
from tests.ledger import LEASE, Ledger

ROUNDS = 5
TRANSITIONS = 200


class BareCommits:
    """One row per commit on a connection of its own, with nothing of ours around it."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        self._database.execute("CREATE TABLE row (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT")

    async def one(self, number: int) -> None:
        """Insert a row and commit."""
        self._database.execute("BEGIN IMMEDIATE")
        self._database.execute("INSERT INTO row (body) VALUES (?)", (f"{number:0200}",))
        self._database.execute("COMMIT")

    def close(self) -> None:
        """Close the connection."""
        self._database.close()


async def transition_cost(folder: Path) -> dict[str, object]:
    """Measure both in turn; the ratio of their medians is ``transition_p50_over_commit``."""
    clock = ManualClock()
    ledger = await Ledger.open(folder / "transition", clock)
    bare = BareCommits(folder / "bare-transition.sqlite")
    try:
        await ledger.approve(await ledger.submit())
        (claim,) = await ledger.claim()

        async def renew(_: int) -> None:
            await ledger.write(renew_claim, claim.id, "w", ledger.epoch, LEASE)

        async def renewals() -> Sequence[float]:
            return await latencies(renew, TRANSITIONS)

        async def commits() -> Sequence[float]:
            return await latencies(bare.one, TRANSITIONS)

        samples = await interleaved({"renew": renewals, "bare": commits}, ROUNDS)
    finally:
        await ledger.close()
        bare.close()
    renew_us, bare_us = microseconds(samples["renew"]), microseconds(samples["bare"])
    return {
        "bare_commit_p50_us": bare_us,
        "transition_p50_us": renew_us,
        "transition_p99_us": microseconds(samples["renew"], 0.99),
        "transition_p50_over_commit": round(renew_us / bare_us, 2),
    }
