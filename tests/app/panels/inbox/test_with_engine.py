"""The inbox over the real engine: what is shown is what is stored, and what is pressed is committed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from app.panels.inbox.page import InboxView
from app.panels.inbox.sheet import Act
from app.session import Session
from app.settings import Settings
from app.widgets import Times, Zone
from engine.actors import Actor
from engine.clock import ManualClock
from engine.engine import Engine
from engine.states import ApprovalState, WorkOrderState
from engine.work_order import WorkOrderSpec
from tests.conftest import python_command

MakeOrder = Callable[..., WorkOrderSpec]


class Desk:
    """An inbox over an engine that works only when told."""

    def __init__(self, engine: Engine, session: Session, clock: ManualClock) -> None:
        self.engine = engine
        self.session = session
        self.clock = clock
        self.view = InboxView(session)
        self.card = self.view._card

    async def until(self, reached: Callable[[], bool]) -> None:
        """Wait until the page shows it."""
        async with asyncio.timeout(10):
            while not reached():
                await asyncio.sleep(0.01)

    async def ready(self) -> None:
        """Look at everything that must be seen, and let the arming delay pass."""
        await self.until(lambda: self.card.card is not None and self.view._stack.currentWidget() is self.card)
        for _ in range(6):
            if not self.card.readiness().unseen:
                break
            self.card._show_unseen()
            await asyncio.sleep(0.02)
        self.clock.advance(1_000)
        self.card._refresh()
        assert self.card.readiness().ready, self.card.hint()

    def titles(self) -> list[str]:
        model = self.view._model
        return [model.entry(row).row.title for row in range(model.rowCount())]

    def shown(self) -> str:
        return self.card.card.title if self.card.card is not None else ""


@asynccontextmanager
async def console(folder: Path, clock: ManualClock, actor: Actor) -> AsyncIterator[Desk]:
    """An engine, a session that listens to it, and the page in an active window."""
    engine = await Engine.open(folder, clock=clock, automatic=False)
    session = Session(engine, actor, Settings(folder), Times(clock.now, Zone.UTC))
    session.times.setParent(session)
    session.start()
    desk = Desk(engine, session, clock)
    desk.view.resize(1112, 650)
    desk.view.show()
    desk.view.activateWindow()
    await desk.until(lambda: desk.view._feed.started)
    try:
        yield desk
    finally:
        await session.close()
        await engine.close()
        desk.view.hide()
        desk.view.deleteLater()
        session.deleteLater()


pytestmark = pytest.mark.usefixtures("themed")


async def test_approve_is_committed_with_the_seal_and_the_look_time(
    folder: Path, clock: ManualClock, actor: Actor, agent: Actor, work_order: MakeOrder
) -> None:
    async with console(folder, clock, actor) as desk:
        await desk.until(lambda: desk.view._stack.currentWidget() is desk.view._nothing)
        await desk.engine.submit(work_order(title="Say done"), agent)
        await desk.until(lambda: desk.shown() == "Say done")
        await desk.ready()
        card = desk.card.card
        assert card is not None
        assert card.plan["argv"][0] == sys.executable
        desk.card.acted.emit(Act.APPROVE)
        await desk.until(lambda: desk.view._stack.currentWidget() is desk.view._nothing)
        stored = await desk.engine.approvals.card(card.approval_id)
        assert stored.state is ApprovalState.APPROVED
        assert stored.decided_by == "ada"
        assert not stored.covers_validation
        await desk.until(lambda: "1 decision in" in desk.view._meter.text())
        assert "median\u00a0look\u00a01\u00a0s" in desk.view._meter.text()


async def test_b011_b014_requests_survive_a_restart_with_their_age(
    folder: Path, clock: ManualClock, actor: Actor, agent: Actor, work_order: MakeOrder
) -> None:
    async with console(folder, clock, actor) as desk:
        for number in range(3):
            await desk.engine.submit(work_order(f"print({number})", title=f"Say {number}"), agent)
            clock.advance(60_000)
    async with console(folder, clock, actor) as desk:
        assert desk.titles() == ["Say 0", "Say 1", "Say 2"]
        await desk.until(lambda: desk.shown() == "Say 0")
        assert "3 min ago" in desk.card._subtitle.text()
        await desk.ready()
        desk.card.acted.emit(Act.APPROVE)
        await desk.until(lambda: desk.titles() == ["Say 1", "Say 2"])
        assert await desk.engine.running() == ()


async def test_b019_a_script_edited_after_the_approval_comes_back_with_both_digests(
    folder: Path, workspace: Path, clock: ManualClock, actor: Actor, agent: Actor, work_order: MakeOrder
) -> None:
    script = workspace / "task.py"
    script.write_text("open('ran', 'w').write('first')", encoding="utf-8")
    spec = work_order(title="Run the task")
    spec = replace(spec, implementation=replace(python_command(""), argv=(sys.executable, "task.py")))
    async with console(folder, clock, actor) as desk:
        await desk.engine.submit(spec, agent)
        await desk.until(lambda: desk.shown() == "Run the task")
        await desk.ready()
        desk.card.acted.emit(Act.APPROVE)
        await desk.until(lambda: desk.titles() == [])
        script.write_text("open('ran', 'w').write('other')", encoding="utf-8")
        await desk.engine.work_once()
        await desk.engine.reconcile_once()
        await desk.until(lambda: desk.titles() == ["Run the task"])
        await desk.until(lambda: desk.card.card is not None and bool(desk.card.card.differences))
        assert not (workspace / "ran").exists()
        assert desk.card._badge.word == "changed since asked"
        assert desk.card._differences.isVisible()
        fields = {line.field for line in desk.card.card.differences}
        assert "input task.py" in fields


async def test_a_script_edited_while_its_request_waits_is_seen_and_asked_for_anew(
    folder: Path, workspace: Path, clock: ManualClock, actor: Actor, agent: Actor, work_order: MakeOrder
) -> None:
    """What the card has sealed would be refused at the start; so it is not offered to be approved."""
    script = workspace / "task.py"
    script.write_text("open('ran', 'w').write('first')", encoding="utf-8")
    spec = work_order(title="Run the task")
    spec = replace(spec, implementation=replace(python_command(""), argv=(sys.executable, "task.py")))
    async with console(folder, clock, actor) as desk:
        await desk.engine.submit(spec, agent)
        await desk.until(lambda: desk.card._badge.word == "sealed · unchanged")
        asked = desk.card.card
        script.write_text("open('ran', 'w').write('other')", encoding="utf-8")
        desk.view._look_at_disk()
        await desk.until(lambda: desk.card._badge.word == "changed on disk")
        assert "input task.py" in desk.card._drifted.text()
        assert desk.card._buttons[Act.APPROVE].isHidden()
        assert not desk.card.readiness().ready
        desk.card.acted.emit(Act.ASK_AGAIN)
        await desk.until(lambda: desk.card.card.approval_id != asked.approval_id)
        await desk.until(lambda: desk.card._badge.word == "changed since asked")
        assert "input task.py" in {line.field for line in desk.card.card.differences}
        assert desk.card._drifted.text() == ""
        assert (await desk.engine.approvals.card(asked.approval_id)).state is ApprovalState.WITHDRAWN
        assert desk.titles() == ["Run the task"]
        script.unlink()
        desk.view._look_at_disk()
        await desk.until(lambda: desk.card._badge.word == "changed on disk")


async def test_b001_b010_identical_orders_are_one_row_and_one_decision(
    folder: Path, clock: ManualClock, actor: Actor, agent: Actor, work_order: MakeOrder
) -> None:
    async with console(folder, clock, actor) as desk:
        for _ in range(3):
            await desk.engine.submit(work_order(title="The same"), agent)
        await desk.engine.submit(work_order("print('other')", title="Another"), agent)
        await desk.until(lambda: len(desk.card._alike._boxes) == 3 and len(desk.titles()) == 2)
        assert desk.titles() == ["The same", "Another"]
        desk.card._alike.tick_all.click()
        await desk.ready()
        desk.card.acted.emit(Act.APPROVE)
        await desk.until(lambda: desk.shown() == "Another")
        assert desk.titles() == ["Another"]
        assert [row.title for row in await desk.engine.approvals.inbox()] == ["Another"]


async def test_expired_and_asked_again(
    folder: Path, clock: ManualClock, actor: Actor, agent: Actor, work_order: MakeOrder
) -> None:
    async with console(folder, clock, actor) as desk:
        await desk.engine.submit(work_order(title="Say done", approval_life_ms=60_000), agent)
        await desk.until(lambda: desk.shown() == "Say done")
        clock.advance(60_000)
        await desk.engine.reconcile_once()
        await desk.until(lambda: desk.card.button(Act.ASK_AGAIN) is not None)
        first = desk.card.card
        assert first is not None
        assert first.state is ApprovalState.EXPIRED
        desk.card.acted.emit(Act.ASK_AGAIN)
        await desk.until(lambda: desk.card.button(Act.APPROVE) is not None)
        second = desk.card.card
        assert second is not None
        assert second.approval_id != first.approval_id
        assert second.seal == first.seal


async def test_a_whole_order_goes_on_from_the_inbox(
    folder: Path, clock: ManualClock, actor: Actor, agent: Actor, work_order: MakeOrder
) -> None:
    """E-42b: one look covers both; the run and its validation need nothing more."""
    async with console(folder, clock, actor) as desk:
        order = await desk.engine.submit(work_order(title="Say done"), agent)
        await desk.until(lambda: desk.shown() == "Say done")
        desk.card._covers.click()
        await desk.ready()
        desk.card.acted.emit(Act.APPROVE)
        await desk.until(lambda: desk.titles() == [])
        for _ in range(4):
            await desk.engine.reconcile_once()
            await desk.engine.work_once()
        row = await desk.engine.work_order_row(order.id)
        assert row is not None
        assert row.state is WorkOrderState.AWAITING_ACCEPTANCE
        await desk.until(lambda: "its run was authorised" in desk.view._done.text())
        assert desk.titles() == []


async def test_after_an_approve_the_next_request_is_shown_unarmed(
    folder: Path, clock: ManualClock, actor: Actor, agent: Actor, work_order: MakeOrder
) -> None:
    """Console §2: one after another, each with its own look."""
    async with console(folder, clock, actor) as desk:
        for number in range(3):
            await desk.engine.submit(work_order(f"print({number})", title=f"Say {number}"), agent)
        for number in range(2):
            await desk.until(lambda number=number: desk.shown() == f"Say {number}")
            await desk.ready()
            desk.card.acted.emit(Act.APPROVE)
            await desk.until(lambda number=number: desk.shown() == f"Say {number + 1}")
            assert not desk.card.readiness().ready
