"""One question over everything: what a name, an identity, a seal, a digest and words find."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from engine.actors import Actor
from engine.clock import ManualClock
from engine.engine import Engine
from engine.errors import InvalidValue
from engine.wakes import CancelResult


@pytest.fixture
async def engine(folder: Path, clock: ManualClock) -> AsyncIterator[Engine]:
    opened = await Engine.open(folder, clock=clock, automatic=False)
    yield opened
    await opened.close()


async def kinds(engine: Engine, text: str) -> list[str]:
    return [f"{one.kind} {one.name}" for one in await engine.find(text)]


async def test_everything_is_found_by_what_it_is_called(
    engine: Engine, work_order: Callable[..., Any], actor: Actor, clock: ManualClock
) -> None:
    order = await engine.submit(
        work_order("print('kept')", title="Mend 100% of it", project="payments"), actor
    )
    (row,) = await engine.approvals.inbox()
    view = await engine.grants.give(
        row.approval_id, actor, seal=row.seal, ends_at=clock.now() + 60_000, uses=2, any_state=True
    )
    await engine.work_once()
    (attempt,) = await engine.attempts()
    whole = "work_order WO-1 · Mend 100% of it"
    run = "attempt WO-1/1/1 · Mend 100% of it"
    request = "approval WO-1 · implement · Mend 100% of it"
    for text in ("WO-1", "wo-1", " 1 ", order.id, order.id.lower(), "100%", "mend"):
        assert whole in await kinds(engine, text), text
    for text in ("1/1", "WO-1/1/1", attempt.id, attempt.evidence_id or ""):
        assert (await kinds(engine, text))[0] == run, text
    assert await kinds(engine, row.approval_id) == [request]
    assert request in await kinds(engine, row.seal[:8])
    assert request in await kinds(engine, row.seal.upper())
    assert await kinds(engine, view.row.id) == ["grant Grant from WO-1 · Mend 100% of it"]
    assert (await kinds(engine, "pay"))[0] == "project payments"
    evidence = await engine.evidence.of(attempt.id)
    digest = next(blob.sha256 for blob in evidence.blobs if blob.role == "stdout")
    assert run in await kinds(engine, digest[:12])
    for text in ("", "  ", "nothing like it", "WO-99", "%%", "0" * 26, "f" * 65):
        assert whole not in await kinds(engine, text), text
    assert len(await engine.find("mend", limit=1)) == 1
    assert not any(name.startswith("wake ") for name in await kinds(engine, "mend")), "the engine's own"
    with pytest.raises(InvalidValue):
        await engine.find("mend", limit=0)


async def test_schedules_and_wakes_are_found_by_title_and_identity(
    engine: Engine, work_order: Callable[..., Any], actor: Actor, agent: Actor
) -> None:
    schedule = await engine.schedules.add(work_order(title="Nightly build"), actor, every="1d")
    booked = await engine.wakes.schedule(
        workspace="w", actor=agent, kind="session_turn", intent={"title": "Look at the build again"}, in_="1h"
    )
    nameless = await engine.wakes.schedule(
        workspace="w", actor=agent, kind="session_turn", intent={}, in_="2h"
    )
    assert await kinds(engine, "build") == ["schedule Nightly build", "wake Look at the build again"]
    assert await kinds(engine, schedule.id) == ["schedule Nightly build"]
    assert await kinds(engine, booked.id.lower()) == ["wake Look at the build again"]
    assert await kinds(engine, nameless.id) == ["wake session_turn"]
    (found,) = await engine.find("nightly")
    assert found.line == "every 1d, active"
    assert await engine.wakes.cancel(booked.id, actor, workspace="w") is CancelResult.OK
    assert await kinds(engine, "build") == ["schedule Nightly build"], "words find what is open"
    assert await kinds(engine, booked.id) == ["wake Look at the build again"]
