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
from engine.execution.blobs import BlobStore
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


@pytest.fixture
async def attic(folder: Path, clock: ManualClock) -> AsyncIterator[Attic]:
    made = await Attic.open(folder, clock)
    yield made
    await made.close()
