"""Keys held down for ten seconds while five requests come in approve nothing (B-002, B-005).

Time is the engine's clock, moved by hand; the keys are real key events with their repeats, as a keyboard sends them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from app.main import open_console
from app.panels.inbox.page import InboxView
from app.panels.inbox.sheet import Act
from engine.actors import Actor, ActorKind
from engine.clock import ManualClock
from engine.interfaces.scratch import create_scratch_workspace
from tests.app.conftest import until
from tests.app.panels.inbox.conftest import MakeDesk
from tests.app.panels.inbox.test_page import cards

HELD_MS = 10_000
REPEAT_MS = 33
LETTERS = tuple(Qt.Key(code) for code in range(Qt.Key.Key_A.value, Qt.Key.Key_Z.value + 1))
PLAIN = Qt.KeyboardModifier.NoModifier
CONTROL = Qt.KeyboardModifier.ControlModifier


def send(kind: QEvent.Type, key: Qt.Key, modifiers: Qt.KeyboardModifier, *, repeat: bool) -> None:
    """One key event, to whatever has the focus then."""
    target = QApplication.focusWidget()
    if target is None:
        return
    text = "\r" if key is Qt.Key.Key_Return else chr(key.value).lower()
    QCoreApplication.sendEvent(target, QKeyEvent(kind, key, modifiers, text, repeat))


class Held:
    """Keys that lie under a hand: pressed once, repeated, and let go at the end."""

    def __init__(self, keys: Sequence[Qt.Key], modifiers: Qt.KeyboardModifier) -> None:
        self._keys = keys
        self._modifiers = modifiers
        for key in keys:
            send(QEvent.Type.KeyPress, key, modifiers, repeat=False)

    def repeat(self) -> None:
        for key in self._keys:
            send(QEvent.Type.KeyRelease, key, self._modifiers, repeat=True)
            send(QEvent.Type.KeyPress, key, self._modifiers, repeat=True)

    def release(self) -> None:
        for key in self._keys:
            send(QEvent.Type.KeyRelease, key, self._modifiers, repeat=False)


def put_focus(place: str, view: InboxView) -> None:
    match place:
        case "list":
            view._list.setFocus()
        case "card":
            view._card.focus_body()
        case "approve":
            approve = view._card.button(Act.APPROVE)
            if approve is not None and approve.isEnabled():
                approve.setFocus()


@pytest.mark.parametrize("place", ["list", "card", "approve"])
@pytest.mark.parametrize(
    ("keys", "modifiers"),
    [
        ((Qt.Key.Key_Return,), PLAIN),
        ((Qt.Key.Key_Space,), PLAIN),
        ((Qt.Key.Key_Return, Qt.Key.Key_Space, *LETTERS), PLAIN),
        ((Qt.Key.Key_Return,), CONTROL),
    ],
    ids=["Enter", "Space", "everything", "Ctrl+Enter"],
)
async def test_five_requests_under_held_keys_are_not_approved(
    desk: MakeDesk, place: str, keys: tuple[Qt.Key, ...], modifiers: Qt.KeyboardModifier
) -> None:
    """The focus is put, each time one came, to where a press could do most harm."""
    one = await desk()
    coming = cards(5)
    one.view.focus_first()
    held = Held(keys, modifiers)
    for step in range(HELD_MS // REPEAT_MS):
        if coming and step % 60 == 5:
            card = coming.pop(0)
            one.engine.put(**{name: getattr(card, name) for name in type(card).__dataclass_fields__})
            await one.settle()
        one.clock.advance(REPEAT_MS)
        one.card._on_tick()
        if step % 60 in (10, 40):
            put_focus(place, one.view)
        held.repeat()
    held.release()
    await one.settle()
    assert not coming
    assert len(one.titles()) == 5
    assert one.commands() == []


async def test_a_press_that_began_on_one_card_does_not_end_on_another(desk: MakeDesk) -> None:
    """Space goes down on Approve, what is asked changes under it, and only then the key is let go."""
    one = await desk(cards(1))
    await one.look_to_the_end()
    put_focus("approve", one.view)
    assert QApplication.focusWidget() is one.card.button(Act.APPROVE)
    held = Held((Qt.Key.Key_Space,), PLAIN)
    changed = cards(1)[0]
    one.engine.put(
        **{
            **{name: getattr(changed, name) for name in type(changed).__dataclass_fields__},
            "seal": "f" * 64,
            "plan": cards(2)[1].plan,
        }
    )
    await one.settle()
    for _ in range(HELD_MS // REPEAT_MS):
        one.clock.advance(REPEAT_MS)
        one.card._on_tick()
        held.repeat()
    assert one.card.readiness().ready, "armed again, for the new content"
    held.release()
    await one.settle()
    assert one.commands() == []


async def test_the_whole_window_under_held_keys_approves_nothing(
    qapp: QApplication, folder: Path, clock: ManualClock
) -> None:
    """With everything around the inbox that could know a key: menus, command bar, strips, rail."""
    async with open_console(qapp, folder, clock) as window:
        window.show()
        window.activateWindow()
        await until(window.isActiveWindow)
        session = window.session
        window.go_to_page("inbox")
        specs = create_scratch_workspace(folder / "scratch")[:5]
        view = window.view("inbox")
        assert isinstance(view, InboxView)
        held = Held((Qt.Key.Key_Return, Qt.Key.Key_Space, *LETTERS), PLAIN)
        for number, spec in enumerate(specs, start=1):
            await session.engine.submit(spec, Actor(ActorKind.AGENT, "codex-1"))
            await until(
                lambda wanted=number: (
                    session.status is not None and session.status.pending_approvals == wanted
                )
            )
            await session.settled(1.0)
            for _ in range(HELD_MS // REPEAT_MS // len(specs)):
                clock.advance(REPEAT_MS)
                view._card._on_tick()
                held.repeat()
            put_focus(("list", "card", "approve")[number % 3], view)
        held.release()
        await session.settled(1.0)
        assert len(await session.engine.approvals.inbox()) == 5
        assert await session.engine.attempts() == ()
        assert not any(isinstance(found, QDialog) and found.isVisible() for found in _windows())


def _windows() -> list[QWidget]:
    return QApplication.topLevelWidgets()
