"""Asking for the schedule of backups through a door; see `engine.backup.schedule.ScheduledBackups`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from engine.backup.schedule import BackupSchedule


class ScheduledBackupsClient:
    """The schedule of backups for one actor; ``call`` asks the engine for a method of the table."""

    def __init__(self, call: Callable[..., Awaitable[Any]]) -> None:
        self._call = call

    async def set(self, schedule: BackupSchedule | None) -> None:
        """Have backups made by themselves, or end that with None."""
        await self._call("scheduled_backups.set", schedule=schedule)

    async def schedule(self) -> BackupSchedule | None:
        """The schedule of backups in force."""
        result: BackupSchedule | None = await self._call("scheduled_backups.schedule")
        return result
