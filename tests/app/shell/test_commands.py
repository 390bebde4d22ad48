"""Commands act on what is selected, say so, and ask for reasons where the engine wants them (E-70)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton, QWidget

from app.session import WHOLE_ENGINE, Selection, Session
from app.shell.window import MainWindow
from engine.control.holds import WHOLE_ENGINE as ENGINE_NODE
from engine.control.holds import Node
from engine.states import HoldKind, NodeKind
from tests.app.fake_engine import FakeEngine, attempt, hold, status
from tests.app.shell.test_window import press, question

ORDER = Selection(NodeKind.WORK_ORDER, "order", "WO-118 · payments-api")


async def say(session: Session, fake: FakeEngine, **fields: object) -> None:
    fake.said = status(**fields)
    session.refresh_status()
    await session.settled()


def write(dialog: QWidget, text: str) -> None:
    field = dialog.findChild(QPlainTextEdit, "")
    fields = [found for found in dialog.findChildren(QPlainTextEdit) if not found.isReadOnly()]
    assert field is not None
    fields[0].setPlainText(text)


async def test_with_nothing_selected_they_act_on_the_engine(
    window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    window.commands.pause.trigger()
    await session.settled()
    assert fake.calls == [("pause", ENGINE_NODE, "")]
    assert session.selection == WHOLE_ENGINE


async def test_they_act_on_what_is_selected(window: MainWindow, session: Session, fake: FakeEngine) -> None:
    session.select(ORDER)
    window.commands.pause.trigger()
    await session.settled()
    assert fake.calls == [("pause", Node(NodeKind.WORK_ORDER, "order"), "")]


async def test_a_hold_needs_a_reason(window: MainWindow, session: Session, fake: FakeEngine) -> None:
    session.select(ORDER)
    window.commands.hold.trigger()
    dialog = await question()
    assert dialog.windowTitle() == "Hold WO-118 · payments-api?"
    write(dialog, "look at the invoices first")
    press(dialog, "Hold")
    await session.settled()
    assert fake.calls == [("hold", Node(NodeKind.WORK_ORDER, "order"), "look at the invoices first")]


async def test_what_was_selected_when_pressed_is_what_is_held(
    window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    """The selection may move while the dialog is open; the dialog named the first."""
    session.select(ORDER)
    window.commands.hold.trigger()
    dialog = await question()
    session.select(None)
    write(dialog, "why")
    press(dialog, "Hold")
    await session.settled()
    assert fake.calls[0][1] == Node(NodeKind.WORK_ORDER, "order")


async def test_going_back_does_nothing(window: MainWindow, session: Session, fake: FakeEngine) -> None:
    for action in (window.commands.hold, window.commands.cancel):
        action.trigger()
        press(await question(), "Go back")
        await session.settled()
    assert fake.calls == []


async def test_resuming_a_pause_asks_nothing(window: MainWindow, session: Session, fake: FakeEngine) -> None:
    await say(session, fake, holds=(hold(HoldKind.PAUSE),))
    window.commands.resume.trigger()
    await session.settled()
    assert fake.calls == [("resume", ENGINE_NODE, "")]


async def test_resuming_a_hold_answers_its_reason(
    window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    await say(session, fake, holds=(hold(HoldKind.HOLD, "is the branch right?"),))
    window.commands.resume.trigger()
    dialog = await question()
    shown = [found.toPlainText() for found in dialog.findChildren(QPlainTextEdit) if found.isReadOnly()]
    assert shown == ["is the branch right?"]
    write(dialog, "yes, it is")
    press(dialog, "Resume")
    await session.settled()
    assert fake.calls == [("resume", ENGINE_NODE, "yes, it is")]


async def test_cancelling_names_what_will_be_stopped(
    window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    fake.in_flight = (attempt(118, "order"), attempt(119, "another"))
    session.select(ORDER)
    window.commands.cancel.trigger()
    dialog = await question()
    listed = [found.toPlainText() for found in dialog.findChildren(QPlainTextEdit) if found.isReadOnly()]
    assert listed == ["WO-118 · implement · python fix.py"]
    assert "UNKNOWN" in dialog.accessibleDescription()
    write(dialog, "wrong issue")
    press(dialog, "Cancel it")
    await session.settled()
    assert fake.calls == [("cancel", Node(NodeKind.WORK_ORDER, "order"), "wrong issue")]


async def test_cancelling_a_task_names_only_its_own(
    window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    fake.in_flight = (attempt(118, "order", "task-1"), attempt(118, "order", "task-2"))
    session.select(Selection(NodeKind.TASK, "task-3", "WO-118 · validate"))
    window.commands.cancel.trigger()
    dialog = await question()
    assert "Nothing of it runs now." in dialog.accessibleDescription()
    press(dialog, "Go back")
    await session.settled()


@pytest.mark.parametrize(
    ("holds", "possible"),
    [
        ((), {"pause", "hold", "cancel"}),
        ((hold(HoldKind.PAUSE),), {"hold", "resume", "cancel"}),
        ((hold(HoldKind.HOLD, "why"),), {"pause", "resume", "cancel"}),
        ((hold(HoldKind.CLOCK),), {"pause", "hold", "cancel"}),
        ((hold(HoldKind.PAUSE, node=NodeKind.WORK_ORDER, node_id="order"),), {"pause", "hold", "cancel"}),
    ],
)
async def test_only_what_can_work_can_be_pressed(
    window: MainWindow, session: Session, fake: FakeEngine, holds: tuple[object, ...], possible: set[str]
) -> None:
    await say(session, fake, holds=holds)
    names = ("pause", "hold", "resume", "cancel")
    assert {name for name in names if getattr(window.commands, name).isEnabled()} == possible
    buttons = {found.text(): found for found in window.bar.findChildren(QPushButton)}
    resume = "Resume…" if any(one.kind is HoldKind.HOLD for one in holds) else "Resume"
    for name, text in zip(names, ("Pause", "Hold…", resume, "Cancel…"), strict=True):
        assert buttons[text].isEnabled() == (name in possible)


async def test_a_button_that_is_off_says_why(window: MainWindow, session: Session) -> None:
    resume = next(found for found in window.bar.findChildren(QPushButton) if found.text() == "Resume")
    assert resume.toolTip() == "the whole engine is neither paused nor held (Ctrl+Shift+R)"


async def test_a_superseded_console_can_do_nothing(
    window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    """E-20."""
    await say(session, fake, superseded=True)
    for name in ("pause", "hold", "resume", "cancel"):
        assert not getattr(window.commands, name).isEnabled()
        assert "Another console" in getattr(window.commands, name).toolTip()


async def test_everything_can_be_paused_whatever_is_selected(
    window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    session.select(ORDER)
    window.commands.pause_all.trigger()
    await session.settled()
    await say(session, fake, holds=(hold(HoldKind.PAUSE),))
    assert not window.commands.pause_all.isEnabled()
    window.commands.resume_all.trigger()
    await session.settled()
    assert [call[:2] for call in fake.calls] == [("pause", ENGINE_NODE), ("resume", ENGINE_NODE)]


async def test_everything_can_be_held_whatever_is_selected(
    window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    session.select(ORDER)
    window.commands.hold_all.trigger()
    dialog = await question()
    assert dialog.windowTitle() == "Hold the whole engine?"
    write(dialog, "lunch")
    press(dialog, "Hold")
    await session.settled()
    assert fake.calls == [("hold", ENGINE_NODE, "lunch")]
    await say(session, fake, holds=(hold(HoldKind.HOLD, "lunch"),))
    assert not window.commands.hold_all.isEnabled()


async def test_what_has_ended_is_neither_paused_nor_cancelled_and_a_hold_says_what_it_is_for(
    window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    """E-84: a held work order stays, whatever the retention says."""
    session.select(replace(ORDER, ended=True))
    await session.settled()
    for action in (window.commands.pause, window.commands.cancel):
        assert not action.isEnabled()
        assert "WO-118 · payments-api has ended" in action.toolTip()
    window.commands.hold.trigger()
    dialog = await question()
    assert any("Retention keeps it" in found.text() for found in dialog.findChildren(QLabel))
    dialog.reject()
    await session.settled()
