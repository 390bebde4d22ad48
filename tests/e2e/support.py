"""Driving an engine step by step, for tests of whole work orders."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

from engine.actors import Actor, ActorKind
from engine.engine import Engine
from engine.settings import EngineSettings
from engine.work_order import BudgetLimits, CommandSpec, CorrectionRule, ValidationSpec, WorkOrderSpec
from tests.conftest import python_command

PERSON = Actor(ActorKind.PERSON, "ada")
AGENT = Actor(ActorKind.AGENT, "codex-1")
QUICK = EngineSettings(grace_ms=300)


async def manual(folder: Path) -> Engine:
    """An engine that does nothing by itself."""
    return await Engine.open(folder, automatic=False, settings=QUICK)


async def approve_all(engine: Engine, *, covers: bool = False) -> int:
    """Approve everything that is pending; how much that was."""
    rows = await engine.approvals.inbox()
    for row in rows:
        card = await engine.approvals.card(row.approval_id)
        await engine.approvals.approve(
            row.approval_id,
            PERSON,
            seal=card.seal,
            covers_validation=covers and card.validation_seal is not None,
        )
    return len(rows)


async def step(engine: Engine, *, covers: bool = False) -> None:
    """One pass, everything approved that waits, and what can run run to its end."""
    await engine.reconcile_once()
    await approve_all(engine, covers=covers)
    await engine.work_once()
    await engine.reconcile_once()


async def until(condition: Callable[[], Awaitable[object]], seconds: float = 20) -> None:
    """Wait for something that another process brings about."""
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.01)


def spec(
    workspace: Path, code: str = "print('done')", check: str = "print('ok')", **fields: Any
) -> WorkOrderSpec:
    """A work order of two one-liners."""
    corrections = fields.pop("corrections", 0)
    values: dict[str, Any] = {
        "title": "Try it",
        "workspace": str(workspace),
        "implementation": python_command(code),
        "validation": ValidationSpec("the check exits 0", command=python_command(check)),
        "limits": BudgetLimits(1_000, 600_000, 100, 60_000),
        "correction": CorrectionRule(max_corrections=corrections),
    }
    return WorkOrderSpec(**{**values, **fields})


def command(*argv: str, **fields: Any) -> CommandSpec:
    """A command of its own."""
    return CommandSpec(argv, environment=MappingProxyType({"PYTHONDONTWRITEBYTECODE": "1"}), **fields)
