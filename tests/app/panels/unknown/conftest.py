"""What the tests of this page share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from app.panels.unknown.page import UnknownPage
from engine.states import AttemptState
from tests.app.panels.evidence.conftest import until
from tests.app.panels.work_orders.console import Console, console, python

__all__ = ["console", "until"]

HALF_DONE = (
    "import pathlib, sys, time\n"
    "pathlib.Path('half.txt').write_text('half\\n')\n"
    "pathlib.Path('kept.txt').write_text('new\\n')\n"
    "print('wrote half', flush=True)\n"
    "time.sleep(60)"
)


@pytest.fixture
def unknown(console: Console) -> Callable:
    """``await unknown()`` brings one attempt to UNKNOWN by its time limit and gives its id."""

    async def make(title: str = "Write half", **fields) -> str:
        spec = console.order(title, implementation=python(HALF_DONE, time_limit_ms=400, **fields))
        await console.engine.submit(spec, console.session.actor)
        await console.go_on()
        found = await console.engine.attempts(states=(AttemptState.UNKNOWN,))
        return found[0].id

    return make


@pytest.fixture
async def page(console: Console) -> AsyncIterator[UnknownPage]:
    made = UnknownPage(console.session)
    made.resize(900, 640)
    made.show()
    yield made
    await console.settle()
    made.close()
    made.deleteLater()
    await asyncio.sleep(0)
