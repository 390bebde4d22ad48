"""A session over a real engine in a scratch folder, driven step by step."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from app.panels.rows import refresh
from app.session import Selection, Session
from app.settings import Settings
from app.widgets import Times
from engine.actors import Actor, ActorKind
from engine.engine import Engine
from engine.errors import PraxisError
from engine.views.values import WorkOrderStory
from engine.work_order import (
    BudgetLimits,
    CommandSpec,
    CorrectionRule,
    ValidatedBy,
    ValidationSpec,
    WorkOrderSpec,
)

AGENT = Actor(ActorKind.AGENT, "codex-1")


def python(code: str, **fields: Any) -> CommandSpec:
    """A command that runs ``code`` with this Python."""
    environment = MappingProxyType({"PYTHONDONTWRITEBYTECODE": "1"})
    values: dict[str, Any] = {"max_cost": 30, "time_limit_ms": 20_000, "environment": environment}
    return CommandSpec(argv=(sys.executable, "-c", code), **{**values, **fields})


class Console:
    """The session, its engine, and short ways to bring work orders about."""

    def __init__(self, engine: Engine, session: Session, workspace: Path) -> None:
        self.engine = engine
        self.session = session
        self.workspace = workspace
        self.opened: list[tuple[str, str]] = []
        self.selected: list[Selection] = []
        self.failures: list[PraxisError] = []
        session.navigated.connect(lambda page, subject: self.opened.append((page, subject)))
        session.selection_changed.connect(self.selected.append)
        session.failed.connect(self.failures.append)

    def order(
        self,
        title: str = "Say done",
        code: str = "print('done')",
        check: str = "print('checked')",
        *,
        corrections: int = 0,
        by_person: bool = False,
        **fields: Any,
    ) -> WorkOrderSpec:
        """A work order of two one-liners."""
        judged = (
            ValidationSpec("it reads well", by=ValidatedBy.PERSON)
            if by_person
            else ValidationSpec("the check exits 0", command=python(check))
        )
        values: dict[str, Any] = {
            "title": title,
            "workspace": str(self.workspace),
            "implementation": python(code),
            "validation": judged,
            "limits": BudgetLimits(1_000, 600_000, 100, 60_000),
            "correction": CorrectionRule(max_corrections=corrections),
        }
        return WorkOrderSpec(**{**values, **fields})

    async def submit(self, *arguments: Any, **fields: Any) -> str:
        """Submit such a work order as an agent; gives its id."""
        row = await self.engine.submit(self.order(*arguments, **fields), AGENT)
        return row.id

    async def go_on(self, steps: int = 1) -> None:
        """Approve what waits and run it, so many times."""
        for _ in range(steps):
            await self.engine.reconcile_once()
            for row in await self.engine.approvals.inbox():
                await self.engine.approvals.approve(row.approval_id, self.session.actor, seal=row.seal)
            await self.engine.work_once()
        await self.engine.reconcile_once()

    async def finished(self, *arguments: Any, steps: int = 2, **fields: Any) -> str:
        """Submit a work order and carry it to where it waits for a person."""
        identity = await self.submit(*arguments, **fields)
        await self.go_on(steps)
        return identity

    async def story(self, identity: str) -> WorkOrderStory:
        """The story as the engine has it now."""
        return await self.engine.work_order(identity)

    async def settle(self) -> None:
        """Wait until the session has told its changes and everything it started has ended."""
        session = self.session
        await asyncio.sleep(0)
        while session._tasks or session._quiet.isActive():
            await asyncio.gather(*session._tasks, return_exceptions=True)
            await asyncio.sleep(0.005)


@pytest.fixture
async def console(
    themed, folder: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Console]:
    """A console on an engine that does nothing by itself; failures of its tasks fail the test."""
    monkeypatch.setattr(refresh, "PAUSE_SECONDS", 0.0)
    engine = await Engine.open(folder, automatic=False)
    times = Times(engine.clock.now)
    session = Session(engine, Actor(ActorKind.PERSON, "ada"), Settings(folder), times)
    times.setParent(session)
    # Not `session.start`: its timer would fire between tests, when no loop runs.
    unsubscribe = engine.subscribe(lambda changes: session.take(changes.changes, changes.last_sequence))
    made = Console(engine, session, workspace)
    yield made
    await made.settle()
    unsubscribe()
    await session.close()
    await engine.close()
    session.deleteLater()
