"""Waiting for one of several things under the injected clock, with nothing left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from typing import Any, TypeVar

from engine.clock import Clock

R = TypeVar("R")


async def first_of(*waits: Awaitable[Any], tasks: Iterable[asyncio.Future[Any]] = ()) -> None:
    """Wait until one of ``waits`` or ``tasks`` is done; end the other waits, leave the tasks alone."""
    own = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait([*own, *tasks], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in own:
            wait.cancel()
        await asyncio.gather(*own, return_exceptions=True)


async def sleep(clock: Clock, milliseconds: int) -> None:
    """Wait so long by the clock, also where it is longer than one sleep of the clock may be."""
    end = clock.elapsed() + milliseconds
    while (left := end - clock.elapsed()) > 0:
        await clock.sleep(left)


async def to_the_end(work: Awaitable[R]) -> R:
    """Wait for work to its end even if the waiting task is cancelled; the cancellation is then swallowed."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        return task.result()
