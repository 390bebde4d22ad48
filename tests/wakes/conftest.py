"""The world of the conformance suite, over the SQLite store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.clock import ManualClock
from tests.conformance.stores import open_sqlite
from tests.conformance.world import World


@pytest.fixture
async def world(folder: Path, clock: ManualClock) -> AsyncIterator[World]:
    """An open store with a clock that moves when told."""
    async with open_sqlite(folder, clock) as store:
        world = World(store, clock)
        yield world
        await world.close()
