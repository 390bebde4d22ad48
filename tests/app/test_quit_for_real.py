"""Quitting while something really runs: waiting lets it end, stopping makes it UNKNOWN, and the next start says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QApplication

from app.main import open_console
from app.session import Session
from engine.states import AttemptState, Outcome
from engine.work_order import WorkOrderSpec
from tests.app.conftest import until
from tests.app.shell.test_window import press, question

UNTIL_TOLD = """
import pathlib, time
print("working", flush=True)
while not pathlib.Path("go").exists():
    time.sleep(0.01)
print("ended", flush=True)
"""


async def start(session: Session, spec: WorkOrderSpec) -> None:
    """Submit and approve, and wait until it runs."""
    engine = session.engine
    await engine.submit(spec, session.actor)
    (row,) = await engine.approvals.inbox()
    await engine.approvals.approve(
        row.approval_id, session.actor, seal=(await engine.approvals.card(row.approval_id)).seal
    )
    async with asyncio.timeout(30):
        while [found.state for found in await engine.running()] != [AttemptState.RUNNING]:
            await asyncio.sleep(0.01)


async def test_waiting_lets_it_end(
    qapp: QApplication, folder: Path, workspace: Path, work_order: Callable[..., WorkOrderSpec]
) -> None:
    async with open_console(qapp, folder) as window:
        window.show()
        await start(window.session, work_order(UNTIL_TOLD))
        window.ask_to_quit()
        press(await question(), "Wait, then quit")
        await until(lambda: any(alert.key == "quitting" for alert in window.session.alerts.shown()))
        assert not window.quit_asked.is_set()
        (workspace / "go").touch()
        await window.quit_asked.wait()
        (attempt,) = await window.session.engine.attempts()
        assert attempt.outcome is Outcome.SUCCEEDED


async def test_waiting_can_be_taken_back_and_work_goes_on(
    qapp: QApplication, folder: Path, workspace: Path, work_order: Callable[..., WorkOrderSpec]
) -> None:
    async with open_console(qapp, folder) as window:
        window.show()
        session = window.session
        await start(session, work_order(UNTIL_TOLD))
        window.ask_to_quit()
        press(await question(), "Wait, then quit")
        await until(lambda: any(alert.key == "quitting" for alert in session.alerts.shown()))
        press(window.strips, "Do not quit")
        await until(lambda: not any(alert.key == "quitting" for alert in session.alerts.shown()))
        (workspace / "go").touch()
        await until(lambda: session.status is not None and session.status.running == 0)
        assert not window.quit_asked.is_set()
        async with asyncio.timeout(30):
            while not await session.engine.approvals.inbox():
                await asyncio.sleep(0.01)
        (validation,) = await session.engine.approvals.inbox()
        assert validation.purpose == "VALIDATE", "the next step is asked for as ever"


async def test_stopping_makes_it_unknown_and_the_next_start_says_so(
    qapp: QApplication, folder: Path, work_order: Callable[..., WorkOrderSpec]
) -> None:
    async with open_console(qapp, folder) as window:
        window.show()
        await start(window.session, work_order(UNTIL_TOLD))
        window.ask_to_quit()
        press(await question(), "Stop it and quit")
        await window.quit_asked.wait()
    async with open_console(qapp, folder) as window:
        window.show()
        session = window.session
        await until(lambda: session.status is not None and session.status.unknown == 1)
        assert [alert.what for alert in session.alerts.shown()] == ["1 attempt is UNKNOWN."]
        (attempt,) = await session.engine.attempts()
        assert attempt.state is AttemptState.UNKNOWN
