"""How much an agent or a script may ask for: so many open, so many within an hour; the boundary itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import pytest

from engine.actors import Actor, ActorKind
from engine.clock import ManualClock
from engine.control.cancel import cancel
from engine.control.holds import Node
from engine.dispatch.work_orders import create_work_order
from engine.engine import Engine
from engine.errors import InvalidValue, Refused
from engine.settings import HOUR_MS, EngineSettings, RequestLimits
from engine.states import NodeKind
from engine.work_order import WorkOrderSpec
from tests.ledger import AGENT, PERSON, Ledger, sealed, spec

OTHER = Actor(ActorKind.AGENT, "codex-2")
SCRIPT = Actor(ActorKind.SCRIPT, AGENT.name)


@pytest.fixture
async def ledger(folder: Path, clock: ManualClock) -> AsyncIterator[Ledger]:
    opened = await Ledger.open(folder, clock)
    yield opened
    await opened.close()


async def ask(ledger: Ledger, limits: RequestLimits, actor: Actor = AGENT, key: str | None = None) -> str:
    create = partial(create_work_order, limits=limits)
    return await ledger.write(create, spec("/work"), "/work", sealed(), actor, key)


async def orders(ledger: Ledger) -> int:
    return len(await ledger.all("SELECT id FROM work_order"))


async def test_the_last_open_one_is_taken_and_one_more_is_not(ledger: Ledger) -> None:
    limits = RequestLimits(open=3, per_hour=100)
    first = await ask(ledger, limits, key="first")
    await ask(ledger, limits)
    await ask(ledger, limits)
    rows = await ledger.all("SELECT sequence FROM journal")
    with pytest.raises(Refused, match="codex-1 has 3 work orders that have not ended"):
        await ask(ledger, limits)
    assert await ledger.all("SELECT sequence FROM journal") == rows, "what is refused changes nothing"
    assert await ask(ledger, limits, key="first") == first, "a repeat asks for nothing new"
    await ledger.write(cancel, Node(NodeKind.WORK_ORDER, first), PERSON, "not needed")
    await ask(ledger, limits)
    with pytest.raises(Refused):
        await ask(ledger, limits)


async def test_an_hour_is_over_when_it_is_over(ledger: Ledger, clock: ManualClock) -> None:
    limits = RequestLimits(open=100, per_hour=2)
    await ask(ledger, limits)
    clock.advance(10)
    await ask(ledger, limits)
    clock.advance(HOUR_MS - 11)
    with pytest.raises(Refused, match="2 work orders within an hour"):
        await ask(ledger, limits)
    clock.advance(1)
    await ask(ledger, limits)
    with pytest.raises(Refused):
        await ask(ledger, limits)


async def test_a_clock_that_is_set_back_makes_no_room(ledger: Ledger, clock: ManualClock) -> None:
    limits = RequestLimits(open=100, per_hour=1)
    await ask(ledger, limits)
    clock.step_wall(-5 * HOUR_MS)
    with pytest.raises(Refused, match="within an hour"):
        await ask(ledger, limits)


async def test_each_has_limits_of_its_own_and_a_person_none(ledger: Ledger) -> None:
    """An agent and a script of the same name are two."""
    limits = RequestLimits(open=1, per_hour=1)
    for actor in (AGENT, OTHER, SCRIPT):
        await ask(ledger, limits, actor)
        with pytest.raises(Refused):
            await ask(ledger, limits, actor)
    for _ in range(3):
        await ask(ledger, limits, PERSON)
    assert await orders(ledger) == 6


@pytest.mark.parametrize("limits", [RequestLimits(open=0), RequestLimits(per_hour=0)])
async def test_nothing_means_nothing(ledger: Ledger, limits: RequestLimits) -> None:
    with pytest.raises(Refused):
        await ask(ledger, limits)
    assert await orders(ledger) == 0


@pytest.mark.parametrize("odd", [-1, True, 1.5, "3", None])
def test_limits_are_whole_numbers(odd: object) -> None:
    for name in ("open", "per_hour"):
        with pytest.raises(InvalidValue, match=name):
            RequestLimits(**{name: odd})  # type: ignore[arg-type]


def test_the_engine_has_limits_unless_it_is_told_otherwise() -> None:
    assert EngineSettings().request_limits == RequestLimits(open=100, per_hour=240)


async def test_the_engine_holds_agents_to_its_settings(
    folder: Path, clock: ManualClock, work_order: Callable[..., WorkOrderSpec]
) -> None:
    """Through the façade: refused as a limit (exit code 5), while a repeat and a person are answered."""
    settings = EngineSettings(request_limits=RequestLimits(open=1, per_hour=5))
    engine = await Engine.open(folder, clock=clock, automatic=False, settings=settings)
    try:
        first = await engine.submit(work_order(), AGENT, key="k")
        with pytest.raises(Refused) as refused:
            await engine.submit(work_order(), AGENT, key="another")
        assert (refused.value.exit_code, refused.value.means) == (5, "Nothing was saved.")
        assert (await engine.submit(work_order(), AGENT, key="k")).id == first.id
        await engine.submit(work_order(), PERSON)
        assert len(await engine.work_orders()) == 2
    finally:
        await engine.close()
