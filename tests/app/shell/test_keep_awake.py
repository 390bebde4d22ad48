"""The machine is kept awake while something runs, and not a moment longer."""

from __future__ import annotations

import pytest

from app.session import Session
from app.shell import keep_awake
from app.shell.keep_awake import KeepAwake
from app.shell.window import MainWindow
from tests.app.fake_engine import FakeEngine
from tests.app.shell.test_commands import say


@pytest.fixture
def wishes(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    said: list[bool] = []
    monkeypatch.setattr(keep_awake.KeepAwake.__init__, "__defaults__", (said.append,))
    return said


def test_each_wish_is_said_once() -> None:
    said: list[bool] = []
    awake = KeepAwake(said.append)
    for running in (0, 0, 1, 3, 2, 0, 0, 1):
        awake.follow(running)
    assert said == [True, False, True]


async def test_the_window_follows_what_runs(
    wishes: list[bool], window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    await say(session, fake, pending_approvals=3)
    assert wishes == [], "waiting for a person keeps no machine awake"
    await say(session, fake, running=2)
    await say(session, fake, running=1)
    assert wishes == [True]
    window.finish()
    assert wishes == [True, False]
