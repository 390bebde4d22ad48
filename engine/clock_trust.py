"""The clock of one open data folder as a person sees it: what it says, what was wrong, trusting it again (E-30–33)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from engine.actors import Actor
from engine.clock_watch import WatchedClock
from engine.control.clock_keeping import ClockKeeper
from engine.policy import Authorize
from engine.storage import Storage
from engine.views import clock as clock_view
from engine.views.clock import AnomalyRow, ClockView, Touched


class ClockTrust:
    """See the module. ``restored`` is called when time may pass again, so that what waited for it goes on."""

    def __init__(
        self,
        storage: Storage,
        clock: WatchedClock,
        keeper: ClockKeeper,
        authorize: Authorize,
        restored: Callable[[], None],
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._keeper = keeper
        self._authorize = authorize
        self._restored = restored

    async def state(self) -> ClockView:
        """What the clocks say, and whether they are trusted."""
        self._clock.look()
        return await self._storage.read(clock_view.clock_view, self._clock)

    async def anomalies(self, *, after: str | None = None, limit: int = 100) -> tuple[AnomalyRow, ...]:
        """Everything that was wrong with the clocks, newest first."""
        return await self._storage.read(clock_view.clock_anomalies, after, limit)

    async def touched(self, anomaly_id: str) -> Touched:
        """What one anomaly touched."""
        return await self._storage.read(clock_view.clock_touched, anomaly_id)

    async def restore(self, actor: Actor, reason: str, *, lower_high_water: bool = False) -> None:
        """Trust wall time again after it was seen to agree with elapsed time, by a person's confirmation (E-33)."""
        self._authorize(actor, "resume")
        # A caller that is cancelled in between must not leave the hold lifted and the clock distrusted.
        await asyncio.shield(asyncio.create_task(self._keeper.restore_trust(actor, reason, lower_high_water)))
        self._restored()
