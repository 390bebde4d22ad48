"""Standing grants in the inbox over the real engine: given from a card, shown with each use, revoked (E-42a)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox, QPlainTextEdit, QPushButton, QRadioButton

from app.panels.inbox.granting import GrantDialog
from app.panels.inbox.page import GRANTS
from app.panels.inbox.sheet import Act
from engine.actors import Actor
from engine.clock import ManualClock
from engine.states import ApprovalState, GrantState
from engine.work_order import CommandSpec, WorkOrderSpec
from tests.app.panels.inbox.test_with_engine import Desk, console
from tests.app.shell.test_window import press, question

pytestmark = pytest.mark.usefixtures("themed")

HOUR = 3_600_000


@pytest.fixture
def convert(workspace: Path, work_order: Callable[..., WorkOrderSpec]) -> WorkOrderSpec:
    (workspace / "task.py").write_text("print('done')")
    command = CommandSpec(
        (sys.executable, "task.py", "alpha"),
        environment=MappingProxyType({"PYTHONDONTWRITEBYTECODE": "1"}),
    )
    return work_order(title="Convert", implementation=command)


async def opened_dialog(desk: Desk) -> GrantDialog:
    await desk.ready()
    grant = desk.card.button(Act.GRANT)
    assert grant is not None
    assert grant.isEnabled()
    grant.click()
    dialog = await question()
    assert isinstance(dialog, GrantDialog)
    return dialog


async def test_a_grant_is_given_from_the_card_with_what_it_covers_before_the_eyes(
    folder: Path, clock: ManualClock, actor: Actor, agent: Actor, convert: WorkOrderSpec
) -> None:
    async with console(folder, clock, actor) as desk:
        await desk.engine.submit(convert, agent)
        await desk.until(lambda: desk.shown() == "Convert")
        grant = desk.card.button(Act.GRANT)
        assert grant is not None
        assert not grant.isEnabled(), "it approves, so it is armed as Approve is"
        dialog = await opened_dialog(desk)
        assert "The workspace must be as it is now" in dialog.covers() or "Every file" in dialog.covers()
        assert "Its validation is not covered." in dialog.covers()
        assert "Only what agent “codex” asks for" in dialog.covers()
        (done,) = (
            one for one in dialog.findChildren(QPushButton) if one.text().startswith("Grant 3 uses until")
        )
        assert not done.isDefault()
        if not done.isEnabled():
            dialog._bar.setValue(dialog._bar.maximum())
        assert done.isEnabled(), "its end was in view"
        for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            QTest.keyClick(dialog, key)
        assert dialog.isVisible(), "Enter alone gives nothing (B-005)"
        (free,) = dialog.findChildren(QCheckBox)
        assert free.text() == "Leave argument 2 free, now “alpha”"
        free.setChecked(True)
        assert "Free: argument 2" in dialog.covers()
        same, any_state = dialog.findChildren(QRadioButton)
        assert same.isChecked()
        any_state.setChecked(True)
        assert "may change" in dialog.covers()
        done.click()
        await desk.until(lambda: "1 standing grant in force · 2 uses left" in desk.view._in_force.text())
        await desk.until(lambda: "use 1 of 3 until" in desk.view._done.text())
        (row,) = await desk.engine.grants.listed()
        assert (row.uses, row.max_uses, row.free, row.any_state) == (1, 3, (2,), True)
        assert row.ends_at == clock.now() + HOUR
        assert desk.view._undo.isVisibleTo(desk.view._done)


async def test_the_card_of_a_use_says_so_and_leads_to_its_grant_where_it_is_revoked(
    folder: Path, clock: ManualClock, actor: Actor, agent: Actor, convert: WorkOrderSpec
) -> None:
    async with console(folder, clock, actor) as desk:
        await desk.engine.submit(convert, agent)
        await desk.until(lambda: desk.shown() == "Convert")
        dialog = await opened_dialog(desk)
        dialog._bar.setValue(dialog._bar.maximum())
        next(one for one in dialog.findChildren(QPushButton) if one.text().startswith("Grant 3")).click()
        await desk.until(lambda: "in force" in desk.view._in_force.text())
        order = await desk.engine.submit(replace(convert, title="Convert again"), agent)
        approval_id = (await desk.engine.work_order(order.id)).tasks[0].approval_id
        assert approval_id is not None
        desk.view.show_subject(approval_id)
        await desk.until(lambda: desk.shown() == "Convert again")
        assert "Approved by the standing grant of ada (use 2 of 3)" in desk.card._ending.text()
        shown = desk.card.button(Act.SHOW_GRANT)
        assert shown is not None
        shown.click()
        grants = desk.view._grants
        await desk.until(lambda: grants._uses.rowCount() == 2)
        assert grants.isVisible()
        assert grants._model.data(grants._model.index(0, 1)) == "2 of 3"
        press(grants, "Revoke…")
        asked = await question()
        assert (
            "2 that it approved and that have not started are asked for again."
            in asked.accessibleDescription()
        )
        asked.findChildren(QPlainTextEdit)[-1].setPlainText("enough")
        press(asked, "Revoke")
        await desk.until(lambda: "Revoked by ada" in grants._ended.text())
        assert "enough" in grants._ended.text()
        await desk.until(lambda: desk.view._in_force.isHidden())
        await desk.engine.reconcile_once()
        await desk.until(lambda: desk.view._model.waiting() == 2)
        assert grants.isVisible(), "a request that arrives does not take the page away"
        press(grants, "Back to the requests")
        assert not grants.isVisible()


async def test_a_grant_ends_before_the_eyes_when_its_time_comes(
    folder: Path, clock: ManualClock, actor: Actor, agent: Actor, convert: WorkOrderSpec
) -> None:
    async with console(folder, clock, actor) as desk:
        order = await desk.engine.submit(convert, agent)
        card = await desk.engine.approvals.card((await desk.engine.approvals.inbox())[0].approval_id)
        await desk.engine.grants.give(
            card.approval_id, actor, seal=card.seal, ends_at=clock.now() + HOUR, uses=2
        )
        desk.view.show_subject(GRANTS)
        grants = desk.view._grants
        await desk.until(lambda: grants._model.rowCount() == 1)
        await desk.until(lambda: grants._ended.isHidden() and grants._revoke.isVisible())
        clock.advance(HOUR)
        desk.session.times.ticked.emit()
        await desk.until(lambda: "Its time ended" in grants._ended.text())
        assert not grants._revoke.isVisible()
        assert grants._model.row(0).state is GrantState.EXPIRED
        assert order.number == 1


async def test_what_cannot_be_left_free_is_not_offered(
    folder: Path, clock: ManualClock, actor: Actor, agent: Actor, work_order: Callable[..., WorkOrderSpec]
) -> None:
    async with console(folder, clock, actor) as desk:
        await desk.engine.submit(work_order(title="Code in argv"), agent)
        await desk.until(lambda: desk.shown() == "Code in argv")
        dialog = await opened_dialog(desk)
        assert dialog.findChildren(QCheckBox) == []
        dialog.reject()
        await desk.session.settled()
        assert await desk.engine.grants.listed() == ()
        assert desk.card.card is not None
        assert desk.card.card.state is ApprovalState.PENDING
