"""The clock page over a real engine whose clock goes where it is told (E-30 to E-33, B-076)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QLabel, QPlainTextEdit, QPushButton

from app.panels.clock.page import RESTORE, ClockPage
from app.panels.clock.words import offsets, plot_sentence, signed
from app.session import Session
from app.settings import Settings
from app.theme import Theme
from app.widgets import Times, Zone
from engine.actors import Actor
from engine.clock import ManualClock
from engine.clock_watch import AnomalyKind
from engine.engine import Engine
from engine.work_order import WorkOrderSpec
from tests.app.conftest import until
from tests.app.shell.test_window import press, question

HOUR = 3_600_000


class Desk:
    """An engine on a clock of the test's, its session and the page."""

    def __init__(self, engine: Engine, clock: ManualClock, session: Session) -> None:
        self.engine = engine
        self.clock = clock
        self.session = session
        self.opened: list[tuple[str, str]] = []
        session.navigated.connect(lambda page, subject: self.opened.append((page, subject)))
        self.page = ClockPage(session)
        self.page.resize(1000, 640)
        self.page.show()

    async def go(self, seconds: int = 1) -> None:
        """Let seconds pass, the engine look at its clocks, and the page read them."""
        for _ in range(seconds):
            self.clock.advance(1_000)
            await self.engine.reconcile_once()
        await self.look()

    async def look(self) -> None:
        await self.engine.reconcile_once()
        self.page._readings.ask()
        self.page._findings.ask()
        await self.session.settled()

    def said(self) -> str:
        return " ".join(label.text() for label in self.page.findChildren(QLabel) if label.isVisible())


@pytest.fixture
async def desk(themed: Theme, folder: Path, clock: ManualClock, actor: Actor) -> AsyncIterator[Desk]:
    engine = await Engine.open(folder, clock=clock, automatic=False)
    session = Session(engine, actor, Settings(folder), Times(engine.clock.now, Zone.UTC))
    unsubscribe = engine.subscribe(lambda told: session.take(told.changes, told.last_sequence))
    made = Desk(engine, clock, session)
    await session.settled()
    yield made
    unsubscribe()
    await session.close()
    made.page.hide()
    made.page.deleteLater()
    await engine.close()
    session.deleteLater()


def shows(desk: Desk) -> dict[str, QPushButton]:
    """The buttons that lead to what a finding touched, by their names."""
    buttons = desk.page.findChildren(QPushButton)
    return {
        found.accessibleName(): found for found in buttons if found.text() == "Show" and found.isVisible()
    }


async def test_a_clock_that_was_never_wrong(desk: Desk) -> None:
    await desk.go(5)
    assert desk.page._badge.word == "trusted"
    assert not desk.page._restore_button.isVisible()
    assert desk.page._lists.currentWidget() is desk.page._none
    assert "agree within 2 s" in desk.said()
    assert desk.page.plot.accessibleDescription().startswith("Over 5 s, wall time and elapsed time agree")


async def test_a_step_is_shown_with_both_readings_and_what_it_touched(
    desk: Desk, work_order: Callable[..., WorkOrderSpec], actor: Actor
) -> None:
    waits = await desk.engine.submit(work_order(title="Mend rounding"), actor)
    due = await desk.engine.submit(work_order(title="Publish docs", due_at=desk.clock.now() + HOUR), actor)
    before = desk.clock.now()
    desk.clock.step_wall(2 * HOUR)
    await desk.look()
    assert desk.page._badge.word == "distrusted"
    assert desk.page._restore_button.isVisible()
    assert desk.page._model.rowCount() == 1
    await until(lambda: any("Publish docs" in name for name in shows(desk)))
    said = desk.said()
    assert "The wall clock jumped forward by 2.0 h." in said
    assert desk.session.times.exact(before) in said
    assert desk.session.times.exact(before + 2 * HOUR) in said
    found = next(
        name for name in shows(desk) if name.startswith("Show WO-2 · implement · Publish docs · due")
    )
    shows(desk)[found].click()
    assert desk.opened == [("work_orders", due.id)]
    assert waits.id != due.id
    press(desk.page, "Show on the timeline")
    assert desk.opened[-1][0] == "timeline"


async def test_trust_is_restored_in_three_steps(desk: Desk) -> None:
    """E-33: samples, then the reason; a step forward needs nothing lowered."""
    desk.clock.step_wall(HOUR)
    await desk.look()
    desk.page.show_subject(RESTORE)
    dialog = await question()
    done = next(found for found in dialog.findChildren(QPushButton) if found.text() == "Restore trust")
    reason = dialog.findChild(QPlainTextEdit)
    lower = dialog.findChild(QCheckBox)
    assert reason is not None
    assert lower is not None
    reason.setPlainText("The time server was wrong.")
    assert not done.isEnabled()
    assert done.toolTip() == "Not enough consistent samples yet"
    for _ in range(5):
        desk.clock.advance(1_000)
        await desk.engine.reconcile_once()
    desk.session.times.ticked.emit()
    await until(done.isEnabled)
    assert not lower.isVisible()
    reason.setPlainText(" ")
    assert not done.isEnabled()
    reason.setPlainText("The time server was wrong.")
    press(dialog, "Restore trust")
    await desk.session.settled()
    await desk.look()
    assert desk.engine.clock.trusted
    assert desk.page._badge.word == "trusted"
    (row,) = [row for row in await desk.engine.journal(limit=1000) if row.kind == "clock.trusted"]
    assert (row.actor.name, row.detail["reason"]) == ("ada", "The time server was wrong.")


async def test_a_high_water_is_lowered_only_by_a_tick_beside_both_values(desk: Desk) -> None:
    """E-33."""
    high = desk.clock.now()
    desk.clock.step_wall(-HOUR)
    await desk.go(6)
    desk.page._restore()
    dialog = await question()
    done = next(found for found in dialog.findChildren(QPushButton) if found.text() == "Restore trust")
    reason = dialog.findChild(QPlainTextEdit)
    lower = dialog.findChild(QCheckBox)
    assert reason is not None
    assert lower is not None
    reason.setPlainText("It was an hour ahead before.")
    assert not done.isEnabled()
    assert desk.session.times.exact(high) in lower.text()
    assert desk.session.times.exact(desk.clock.now()) in lower.text()
    lower.setChecked(True)
    assert done.isEnabled()
    press(dialog, "Restore trust")
    await desk.session.settled()
    assert desk.engine.clock.high_water <= desk.clock.now()
    (row,) = [row for row in await desk.engine.journal(limit=1000) if row.kind == "clock.trusted"]
    assert row.detail["high_water_before"] == high
    assert row.detail["high_water_after"] == desk.clock.now()


async def test_going_back_changes_nothing(desk: Desk) -> None:
    desk.clock.step_wall(HOUR)
    await desk.go(6)
    desk.page._restore()
    press(await question(), "Go back")
    await desk.session.settled()
    assert not desk.engine.clock.trusted


async def test_sleep_is_a_gap_and_no_fault(desk: Desk) -> None:
    """E-30."""
    await desk.go(3)
    desk.clock.suspend(8 * HOUR)
    await desk.go(3)
    assert desk.page._badge.word == "trusted"
    assert desk.page._model.row(0).kind is AnomalyKind.SUSPEND
    assert "The machine slept 8 h of it." in desk.page.plot.accessibleDescription()
    assert not desk.page.plot.grab().isNull()


async def test_a_finding_can_be_asked_for(desk: Desk) -> None:
    for step in (5_000, -9_000):
        desk.clock.step_wall(step)
        await desk.engine.reconcile_once()
    await desk.look()
    older = desk.page._model.row(1)
    desk.page.show_subject(older.id)
    await desk.session.settled()
    assert desk.page._table.currentIndex().row() == 1
    text = desk.page._model.data(desk.page._model.index(1, 0), Qt.ItemDataRole.AccessibleTextRole)
    assert str(text).endswith("The wall clock jumped forward by 5.0 s.")


async def test_the_offset_is_wall_against_elapsed_of_this_boot(desk: Desk) -> None:
    await desk.go(3)
    desk.clock.step_wall(-90_000)
    await desk.go(2)
    state = await desk.engine.clock_trust.state()
    points = offsets(state.history)
    assert points[0][1] == 0
    assert points[-1][1] == -90_000
    assert "wall time moved −1 min 30 s against elapsed time" in plot_sentence(state)


@pytest.mark.parametrize(("size", "text"), [(0, "0 ms"), (1_500, "+1 s"), (-90_000, "−1 min 30 s")])
def test_signs(size: int, text: str) -> None:
    assert signed(size) == text
