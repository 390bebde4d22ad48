"""Clean-up: what ended longer ago than its retention goes, in bounded bites, by a wake of its own (S-05, S-48)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.actors import ENGINE
from engine.instants import Instant
from engine.wakes.settings import WakeSettings
from engine.wakes.store import Transaction, WakeStore
from engine.wakes.times import HOUR_MS

CLEAN_UP_KIND = "wakes.clean_up"
OWN_WORKSPACE = "wakes"
"""The workspace of the alarm clock's own wakes; its budgets are nobody else's."""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """How many rows of each sort were removed."""

    wakes: int = 0
    series: int = 0
    events: int = 0
    receipts: int = 0


async def clean_up(store: WakeStore, settings: WakeSettings, retention_ms: int | None = None) -> Cleaned:
    """Remove everything that ended long enough ago, each bite in a transaction of its own.

    ``retention_ms`` (0: everything that has ended) stands for the settings' retentions. Wakes that a request key
    or an hour's budget still needs stay, so do dead wakes until a person has decided, and unknown receipts.
    """
    done = {"wakes": 0, "series": 0, "events": 0, "receipts": 0}
    for sort in done:
        while True:
            removed = await store.write(_bite, store, settings, sort, retention_ms)
            done[sort] += removed
            if removed < settings.clean_up_bite:
                break
    return Cleaned(**done)


def _bite(
    tx: Transaction,
    store: WakeStore,
    settings: WakeSettings,
    sort: str,
    retention_ms: int | None,
    *,
    now: Instant,
) -> int:
    def before(usual: int) -> Instant:
        return now - (usual if retention_ms is None else retention_ms)

    limit, keyed = settings.clean_up_bite, now - settings.key_window_ms
    if sort == "wakes":
        # The hour's creations are counted on the rows themselves.
        removed = store.wakes.delete_ended(tx, before(settings.retention_ms), now - HOUR_MS, keyed, limit)
    elif sort == "series":
        removed = store.series.delete_ended(tx, before(settings.retention_ms), keyed, limit)
    elif sort == "events":
        removed = store.events.delete_old(tx, before(settings.event_retention_ms), now, limit)
    else:
        removed = store.receipts.delete_ended(tx, before(settings.receipt_retention_ms), limit)
    if removed:
        store.record(tx, "cleaned", "alarm", sort, ENGINE, now, {"removed": removed})
    store.boundary(tx, "wake.clean_up")
    return removed
