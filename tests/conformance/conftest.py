"""Every test of this suite runs once for each store, which the run lists by name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.clock import ManualClock
from tests.conformance.stores import BROKEN, STORES, OpenStore, chosen_stores
from tests.conformance.world import World


@pytest.fixture(params=chosen_stores())
def open_store(request: pytest.FixtureRequest) -> OpenStore:
    """How to open the store under test."""
    return {**STORES, **BROKEN}[request.param]


@pytest.fixture
async def world(open_store: OpenStore, new_folder: Path, clock: ManualClock) -> AsyncIterator[World]:
    """An open store with a clock that moves when told."""
    async with open_store(new_folder, clock) as store:
        world = World(store, clock)
        yield world
        await world.close()


@pytest.fixture
def new_folder(tmp_path: Path) -> Path:
    """An empty data folder."""
    return tmp_path / "data"
