"""Names of work orders where the engine takes their ids (E-90)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.actors import Actor, ActorKind
from engine.engine import Engine
from engine.errors import NotFound
from engine.interfaces.channel_client import EngineClient, InProcess


async def test_a_number_stands_for_the_id_of_a_work_order(folder: Path, work_order: Any) -> None:
    """An agent that names WO-1 is not told that nothing happened to it."""
    engine = await Engine.open(folder, automatic=False)
    try:
        agent = EngineClient(InProcess(engine, Actor(ActorKind.AGENT, "codex")))
        row = await agent.submit(work_order())
        told = await agent.journal(work_order_id=row.id)
        assert told
        for name in ("WO-1", "wo-1", "1"):
            assert await agent.journal(work_order_id=name) == told
        with pytest.raises(NotFound):
            await agent.journal(work_order_id="WO-2")
        taken = await agent.take_back("WO-1", "not needed")
        assert taken.id == row.id
    finally:
        await engine.close()
