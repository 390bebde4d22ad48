"""A session over a real engine whose clock goes where it is told, with the page Wakes in front of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton, QWidget

from app.panels.rows import refresh
from app.panels.wakes.page import WakesPage
from app.session import Session
from app.settings import Settings
from app.theme import Theme
from app.widgets import Times, Zone
from engine.actors import Actor, ActorKind
from engine.clock import ManualClock
from engine.engine import Engine
from engine.errors import PraxisError
from engine.wakes import Booked, Wake, external
from engine.work_order import WorkOrderSpec
from tests.app.conftest import until
from tests.app.shell.test_window import press, question

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
AGENT = Actor(ActorKind.AGENT, "codex-1")


class Sink:
    """What a kind does: succeed, fail while it is told to, or wait until it is let go."""

    def __init__(self) -> None:
        self.fired: list[str] = []
        self.error: Exception | None = None
        self.parking = False
        self._go = asyncio.Event()

    async def __call__(self, wake: Wake) -> None:
        if self.parking:
            await self._go.wait()
        if self.error is not None:
            raise self.error
        self.fired.append(wake.id)

    def let_go(self) -> None:
        self.parking = False
        self._go.set()


class Desk:
    """The engine, its alarm clock, the session and the page."""

    def __init__(self, engine: Engine, clock: ManualClock, session: Session) -> None:
        self.engine = engine
        self.alarm = engine.wakes
        self.clock = clock
        self.session = session
        self.sink = Sink()
        self.alarm.register("report", external(self.sink, max_attempts=2))
        self.opened: list[tuple[str, str]] = []
        self.failures: list[PraxisError] = []
        session.navigated.connect(lambda page, subject: self.opened.append((page, subject)))
        session.failed.connect(self.failures.append)
        self.page = WakesPage(session)
        self.page.resize(1000, 640)
        self.page.show()

    async def book(self, **asked: Any) -> Booked:
        return await self.alarm.schedule(
            **{"workspace": "payments", "actor": AGENT, "kind": "report", **asked}
        )

    async def pass_time(self, milliseconds: int) -> None:
        """Let time pass, fire what is due, and have the page look."""
        self.clock.advance(milliseconds)
        await self.alarm.run_due()
        await self.settle()

    async def settle(self) -> None:
        """Wait until the session has told its changes and all that it began has ended."""
        await asyncio.sleep(0)
        while self.session._tasks or self.session._quiet.isActive():
            await asyncio.gather(*self.session._tasks, return_exceptions=True)
            await asyncio.sleep(0.005)

    async def decide(self, pressed: QPushButton, action: str, reason: str = "Looked at it.") -> str:
        """Press a button of the page, give a reason if one is asked for, and confirm; gives what was asked."""
        pressed.click()
        dialog = await question()
        if field := next(
            (found for found in dialog.findChildren(QPlainTextEdit) if not found.isReadOnly()), None
        ):
            field.setPlainText(reason)
        said = dialog.accessibleDescription()
        press(dialog, action)
        await self.settle()
        return said

    def shown(self, widget: QWidget) -> str:
        """Everything that a part says."""
        return " ".join(
            found.text() if isinstance(found, QLabel) else found.accessibleName()
            for found in widget.findChildren(QWidget)
            if found.isVisible()
        )


@pytest.fixture
async def desk(
    themed: Theme, folder: Path, clock: ManualClock, actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Desk]:
    monkeypatch.setattr(refresh, "PAUSE_SECONDS", 0.0)
    engine = await Engine.open(folder, clock=clock, automatic=False)
    session = Session(engine, actor, Settings(folder), Times(engine.clock.now, Zone.UTC))
    unsubscribe = engine.subscribe(lambda told: session.take(told.changes, told.last_sequence))
    made = Desk(engine, clock, session)
    await made.settle()
    yield made
    made.sink.let_go()
    await until(lambda: not made.alarm.running)
    unsubscribe()
    await session.close()
    made.page.hide()
    made.page.deleteLater()
    await engine.close()
    session.deleteLater()
    assert made.failures == []


@pytest.fixture
def spec(work_order: Callable[..., WorkOrderSpec]) -> WorkOrderSpec:
    """A work order that a schedule can submit."""
    return work_order(title="Run the slow tests")
