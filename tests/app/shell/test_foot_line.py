"""The foot line says what is true of the engine, and nothing it does not know."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.session import Session
from app.shell.window import MainWindow
from app.widgets import Zone
from engine.states import HoldKind, NodeKind
from tests.app.fake_engine import FakeEngine, hold
from tests.app.shell.test_commands import say


def facts(window: MainWindow) -> set[str]:
    return {
        found.accessibleName()
        for found in window.foot.children()
        if isinstance(found, QWidget) and found.accessibleName()
    }


async def test_a_quiet_engine(window: MainWindow) -> None:
    assert facts(window) == {
        "clock trusted",
        "dispatch open",
        "epoch 41",
        "running 0",
        "UNKNOWN 0",
        "proven backup none",
        "times in UTC",
        "writer 0 · 0.3 ms",
    }


async def test_held_and_why(window: MainWindow, session: Session, fake: FakeEngine) -> None:
    await say(
        session,
        fake,
        holds=(hold(HoldKind.HOLD, "docket open"),),
        running=2,
        unknown=1,
        waiting_control=3,
        waiting_background=1200,
        latency_ms=12.34,
    )
    assert {
        "dispatch held: docket open",
        "running 2",
        "UNKNOWN 1",
        "writer 1\u202f203 · 12.3 ms",
    } <= facts(window)


async def test_paused_below(window: MainWindow, session: Session, fake: FakeEngine) -> None:
    await say(session, fake, holds=(hold(HoldKind.PAUSE, "", NodeKind.WORK_ORDER, "order", "Mend"),))
    assert "dispatch open, 1 held below" in facts(window)


async def test_superseded(window: MainWindow, session: Session, fake: FakeEngine) -> None:
    await say(session, fake, superseded=True)
    assert "dispatch stopped: another console took over" in facts(window)


async def test_the_zone_follows(window: MainWindow, session: Session) -> None:
    session.times.set_zone(Zone.LOCAL)
    assert any(fact.startswith("times in UTC") for fact in facts(window))


async def test_a_distrusted_clock(window: MainWindow, session: Session, fake: FakeEngine) -> None:
    await say(session, fake, clock_trusted=False, holds=(hold(HoldKind.CLOCK, "It jumped."),))
    assert {"clock distrusted", "dispatch held: clock distrusted"} <= facts(window)


async def test_recovery_that_fails(window: MainWindow, session: Session, fake: FakeEngine) -> None:
    """B-040: dispatch is held while what was left cannot be judged."""
    await say(session, fake, recovery_error="The disk is full.")
    assert "dispatch held: recovery fails" in facts(window)
