"""A data folder with work that ended long ago, and its retention."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from engine.backup.backups import Backups
from engine.clock import ManualClock
from engine.control import decisions
from engine.control.alarm import make_alarm_clock
from engine.dispatch.planning import read_secret_key
from engine.execution.blobs import BlobState, BlobStore
from engine.execution.record import KeptBlob
from engine.policy import person_decides
from engine.retention import Retention, RetentionRun, RetentionSettings
from engine.retention.settings import DAY_MS, HOUR_MS
from engine.states import Outcome
from engine.storage import Boundary
from engine.storage.checkpoints import CheckpointKey
from engine.storage.journal import JournalReport, verify_journal
from tests.ledger import PERSON, Ledger

SETTINGS = RetentionSettings(30 * DAY_MS, 30 * DAY_MS, 2 * HOUR_MS)


@dataclass
class Attic:
    """An open ledger with its retention; ``kept`` are the digests that each work order refers to."""

    folder: Path
    clock: ManualClock
    ledger: Ledger
    blobs: BlobStore
    retention: Retention
    key: CheckpointKey
    kept: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    async def open(cls, folder: Path, clock: ManualClock, boundary: Boundary | None = None) -> Attic:
        ledger = await Ledger.open(folder, clock, boundary=boundary)
        key = CheckpointKey.of(read_secret_key(folder))
        blobs = BlobStore(folder / "blobs")
        wakes = make_alarm_clock(ledger.storage, clock, lambda: ledger.epoch, lambda: None)
        backups = Backups(ledger.storage, clock, person_decides)
        retention = Retention(
            ledger.storage, clock, person_decides, blobs, backups, wakes, key, lambda: ledger.epoch
        )
        return cls(folder, clock, ledger, blobs, retention, key)

    async def finished(self, title: str, *, lane: str = "", **changes: Any) -> str:
        """A work order that ran with some output, passed its validation and was accepted."""
        order = await self.ran(title, lane=lane, **changes)
        await self.ledger.run(order)
        await self.ledger.write(decisions.accept, order, PERSON, "good")
        return order

    async def ran(
        self, title: str, *, lane: str = "", outcome: Outcome = Outcome.SUCCEEDED, **changes: Any
    ) -> str:
        """A work order of which one attempt has run."""
        order = await self.ledger.submit(lane or f"/{title}", title=title, **changes)
        self.kept[order] = []
        uses = []
        for role, path, content in (
            ("stdout", "", f"printed by {title}\n"),
            ("stderr", "", "the same for all\n"),
        ):
            blob = self.blobs.put_bytes(content.encode())
            self.kept[order].append(blob.sha256)
            uses.append(KeptBlob(role, path, blob.sha256, blob.size))
        await self.ledger.run(order, outcome, blobs=tuple(uses))
        return order

    async def run(self, settings: RetentionSettings = SETTINGS) -> RetentionRun:
        await self.retention.set(settings, PERSON)
        return await self.retention.run(PERSON)

    async def orders(self) -> set[str]:
        return {row["id"] for row in await self.ledger.all("SELECT id FROM work_order")}

    async def verify(self) -> JournalReport:
        return await self.ledger.storage.read(verify_journal, key=self.key)

    def age(self, days: float) -> None:
        self.clock.advance(int(days * DAY_MS))

    async def close(self) -> None:
        await self.ledger.close()


async def assert_sums(attic: Attic) -> None:
    """E-61: a counter is the sum of what is recorded, and of what was retired."""
    rows = await attic.ledger.all(
        """SELECT part.*, coalesce(retired.cost, 0) AS retired_cost, coalesce(retired.active_ms, 0) AS retired_ms,
             (SELECT coalesce(sum(cost), 0) FROM exposure WHERE exposure.scope_id = part.scope_id
               AND exposure.partition = part.partition AND state = 'SPENT') AS cost,
             (SELECT coalesce(sum(active_ms), 0) FROM exposure WHERE exposure.scope_id = part.scope_id
               AND exposure.partition = part.partition AND state = 'SPENT') AS ms,
             (SELECT coalesce(sum(cost), 0) FROM exposure WHERE exposure.scope_id = part.scope_id
               AND exposure.partition = part.partition AND state IN ('RESERVED', 'FROZEN')) AS open_cost
           FROM scope_partition AS part LEFT JOIN retired_exposure AS retired
             ON retired.scope_id = part.scope_id AND retired.partition = part.partition"""
    )
    for row in rows:
        assert row["spent_cost"] == row["cost"] + row["retired_cost"]
        assert row["spent_ms"] == row["ms"] + row["retired_ms"]
        assert row["reserved_cost"] + row["frozen_cost"] == row["open_cost"]


async def assert_whole(attic: Attic) -> None:
    """What holds after anything: the journal verifies, budgets are sums, what is referred to is there."""
    report = await attic.verify()
    assert report.sound, report.problems
    assert report.unconfirmed == 0
    await assert_sums(attic)
    wanted = await attic.ledger.all(
        "SELECT sha256 FROM evidence_blob UNION SELECT sha256 FROM decision_proof"
    )
    for row in wanted:
        assert attic.blobs.verify(row["sha256"]) is BlobState.TRUE
    broken = await attic.ledger.all("PRAGMA foreign_key_check")
    assert broken == []
    of_nothing = await attic.ledger.all(
        """SELECT id FROM scope WHERE kind = 'WORK_ORDER' AND id NOT IN (SELECT scope_id FROM work_order)"""
    )
    assert of_nothing == []


@pytest.fixture
async def attic(folder: Path, clock: ManualClock) -> AsyncIterator[Attic]:
    made = await Attic.open(folder, clock)
    yield made
    await made.close()
