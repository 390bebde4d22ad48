"""The clock of one open folder: begun from what was stored, looked at in each pass, trusted again by a person."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.actors import Actor
from engine.clock_watch import WatchedClock
from engine.control.clock_trust import (
    record_anomalies,
    restore_trust,
    store_reading,
    stored_clock,
    stored_reading,
)
from engine.errors import PraxisError
from engine.storage import Storage

STORE_READING_MS = 10_000
"""How often a reading of the clocks is kept, so that the next start can compare with it."""


class ClockKeeper:
    """Records what the watched clock finds. ``write`` runs a command under the epoch that ``epoch`` gives."""

    def __init__(
        self, storage: Storage, clock: WatchedClock, write: Callable[..., Any], epoch: Callable[[], int]
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._write = write
        self._epoch = epoch
        self._stored_at = clock.elapsed()

    async def begin(self) -> None:
        """Compare with the reading that the folder was left with, and go on with its high water and trust."""
        stored = await self._storage.read(stored_clock)
        if stored is not None:
            self._clock.begin(
                stored_reading(stored), stored["high_water"], stored["distrusted_since"] is None
            )

    async def look(self, *, store: bool = False) -> None:
        """Record what was found; keep a reading now and then for the next start, or at once with ``store``."""
        reading = self._clock.look()
        found = self._clock.take_found()
        if found:
            try:
                await self._write(record_anomalies, self._epoch(), found, reading, self._clock.high_water)
            except PraxisError:
                self._clock.give_back(found)
                raise
        elif store or reading.elapsed - self._stored_at >= STORE_READING_MS:
            await self._storage.write(store_reading, self._epoch(), reading, self._clock.high_water)
        else:
            return
        self._stored_at = reading.elapsed

    async def restore_trust(self, actor: Actor, reason: str, lower_high_water: bool) -> None:
        """End the CLOCK hold by a person's confirmation, and trust the clock from then on (E-33)."""
        await self.look()
        high_water = await self._write(
            restore_trust,
            actor,
            reason,
            self._clock.look(),
            self._clock.high_water,
            self._clock.consistent_samples,
            lower_high_water,
        )
        self._clock.trust(high_water)
