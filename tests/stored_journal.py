"""Verifying a whole journal in one go."""

from __future__ import annotations

from engine.storage import Storage
from engine.storage.checkpoints import CheckpointKey
from engine.storage.journal import JournalReport, verify_journal


async def verify_stored_journal(
    storage: Storage, *, rows_per_read: int = 20_000, key: CheckpointKey | None = None
) -> JournalReport:
    """Verify the whole journal of an open storage in reads of ``rows_per_read`` rows."""
    report = JournalReport()
    while not report.finished:
        report = await storage.read(verify_journal, report, at_most=rows_per_read, key=key)
    return report
