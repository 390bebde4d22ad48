"""What the tests of the evidence page share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest


class Tasks:
    """A `Spawn` that keeps its tasks and can wait for them; a failure of one fails the test."""

    def __init__(self) -> None:
        self.tasks: set[asyncio.Task] = set()

    def __call__(self, work, name):
        task = asyncio.get_running_loop().create_task(work, name=name)
        self.tasks.add(task)
        return task

    async def settle(self) -> None:
        """Wait until nothing runs any more."""
        while self.tasks:
            task = self.tasks.pop()
            await task


@pytest.fixture
async def tasks() -> AsyncIterator[Tasks]:
    made = Tasks()
    yield made
    await made.settle()


@pytest.fixture
def until() -> Callable:
    """``await until(lambda: …)`` waits for something that other threads or timers bring about."""

    async def wait(holds: Callable[[], object], seconds: float = 5.0) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while not holds():
            assert loop.time() < end, "did not come about"
            await asyncio.sleep(0.005)

    return wait
