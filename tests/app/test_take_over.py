"""Another coordinator takes over behind the console's back (E-20): it says so and decides nothing more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication, QPushButton

from app.main import open_console
from app.shell.window import MainWindow
from engine.actors import Actor, ActorKind
from engine.control.holds import WHOLE_ENGINE
from engine.engine import Engine
from engine.errors import StaleEpoch
from engine.interfaces.scratch import create_scratch_workspace
from engine.storage import Tx, take_epoch
from engine.storage.owner_lock import Owner
from tests.app.conftest import until

AGENT = Actor(ActorKind.AGENT, "codex-1")


def _take(tx: Tx, *, now: int) -> int:
    return take_epoch(tx, Owner(4242, "another console", "here", now), now)


async def take_over(engine: Engine) -> None:
    """Write a newer epoch, as a second coordinator on the same storage would."""
    await engine._storage.write(_take, control=True)


def offered(window: MainWindow) -> set[str]:
    """The buttons of the page in front that can be pressed."""
    page = window.view(window.current_page)
    return {
        found.text() for found in page.findChildren(QPushButton) if found.isVisible() and found.isEnabled()
    }


async def test_the_console_says_so_and_becomes_read_only(
    qapp: QApplication, folder: Path, tmp_path: Path
) -> None:
    async with open_console(qapp, folder) as window:
        window.show()
        session, engine = window.session, window.session.engine
        works, *_ = create_scratch_workspace(tmp_path / "scratch")
        order = await engine.submit(works, AGENT)
        window.go_to_page("inbox")
        await until(lambda: "Reject…" in offered(window))
        window.go_to_page("work_orders")
        await until(lambda: "Hold…" in offered(window) or "Cancel…" in offered(window))
        await take_over(engine)
        await until(lambda: session.status is not None and session.status.superseded)
        assert any(alert.key == "superseded" for alert in session.alerts.shown())
        commands = window.commands
        for action in (commands.pause, commands.hold, commands.cancel, commands.pause_all):
            assert not action.isEnabled()
        assert "Another console has taken over" in commands.cancel.toolTip()
        if commands.new_work_order is not None:
            assert not commands.new_work_order.isEnabled()
        window.go_to_page("inbox")
        await until(lambda: not {"Approve", "Approve both", "Reject…", "Hold…"} & offered(window))
        window.go_to_page("work_orders")
        await until(lambda: not {"Hold…", "Cancel…", "Accept…"} & offered(window))
        assert (await engine.work_order(order.id)).can == ()
        with pytest.raises(StaleEpoch):
            await engine.pause(WHOLE_ENGINE, session.actor)


@pytest.mark.parametrize("automatic", [False, True])
async def test_every_command_is_refused_before_the_engine_has_noticed(
    folder: Path, work_order: Any, actor: Actor, automatic: bool
) -> None:
    """The very first command after the take-over is refused in its own transaction; nothing is changed."""
    engine = await Engine.open(folder, automatic=automatic)
    try:
        await engine.submit(work_order(), AGENT)
        (row,) = await engine.approvals.inbox()
        await take_over(engine)
        for call in (
            engine.approvals.approve(row.approval_id, actor, seal=row.seal),
            engine.approvals.reject(row.approval_id, actor, "no"),
            engine.hold(WHOLE_ENGINE, actor, reason="x"),
            engine.cancel(WHOLE_ENGINE, actor, reason="x"),
            engine.submit(work_order(), AGENT),
        ):
            with pytest.raises(StaleEpoch):
                await call
        assert (await engine.status()).superseded
        assert [item.approval_id for item in await engine.approvals.inbox()] == [row.approval_id]
    finally:
        await engine.close()
