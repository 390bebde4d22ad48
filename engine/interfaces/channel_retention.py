"""Asking for retention through a door; see `engine.retention.Retention` for what each method does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from engine.retention import Preview, RetentionRun, RetentionSettings


class RetentionClient:
    """The methods of retention for one actor; ``call`` asks the engine for a method of the channel's table."""

    def __init__(self, call: Callable[..., Awaitable[Any]]) -> None:
        self._call = call

    async def settings(self) -> RetentionSettings:
        """The settings in force."""
        result: RetentionSettings = await self._call("retention.settings")
        return result

    async def set(self, settings: RetentionSettings) -> None:
        """Put settings in force."""
        await self._call("retention.set", settings=settings)

    async def by_itself(self) -> bool:
        """Whether a run is made once a day by itself."""
        result: bool = await self._call("retention.by_itself")
        return result

    async def set_by_itself(self, wanted: bool) -> None:
        """Have a run made once a day by itself, or no more."""
        await self._call("retention.set_by_itself", wanted=wanted)

    async def last_run(self) -> RetentionRun | None:
        """The newest run that came to its end."""
        result: RetentionRun | None = await self._call("retention.last_run")
        return result

    async def preview(self, settings: RetentionSettings | None = None) -> Preview:
        """What a run would do."""
        result: Preview = await self._call("retention.preview", settings=settings)
        return result

    async def run(self) -> RetentionRun:
        """Remove what the settings in force let go."""
        result: RetentionRun = await self._call("retention.run")
        return result
