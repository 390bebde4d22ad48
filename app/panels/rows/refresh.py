"""Reading again after changes: one read at a time, not more often than a person can see."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from app.panels.rows.owned import OwnedTasks

PAUSE_SECONDS = 0.1
"""The least time between two reads of one thing."""


class Refresh:
    """Runs ``read`` when asked. Askings that come while it runs become one more run afterwards."""

    def __init__(self, tasks: OwnedTasks, read: Callable[[], Awaitable[None]], name: str) -> None:
        self._tasks = tasks
        self._read = read
        self._name = name
        self._running = False
        self._stale = False

    def ask(self) -> None:
        """Have it read soon."""
        self._stale = True
        if not self._running:
            self._running = True
            self._tasks.spawn(self._run(), self._name)

    async def _run(self) -> None:
        try:
            while self._stale:
                self._stale = False
                await self._read()
                await asyncio.sleep(PAUSE_SECONDS)
        finally:
            self._running = False
