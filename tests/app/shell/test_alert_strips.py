"""The strips: what the engine's status calls for, each with what happened, what it means and what to do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from PySide6.QtWidgets import QLabel, QPushButton

from app.alerts import Alert
from app.session import Session
from app.shell.window import MainWindow
from app.theme import Tone
from engine.clock_watch import AnomalyKind
from engine.states import HoldKind, NodeKind
from engine.views.clock import AnomalyRow
from tests.app.fake_engine import ADA, FakeEngine, hold
from tests.app.shell.test_commands import say, write
from tests.app.shell.test_window import press, question


def strips(window: MainWindow) -> list[str]:
    column = window.strips.layout()
    shown = [column.itemAt(place).widget() for place in range(column.count())]
    return [strip.accessibleName() for strip in shown if strip.isVisible()]


async def test_a_quiet_engine_has_no_strips(window: MainWindow) -> None:
    assert strips(window) == []
    assert not window.strips.isVisible()


async def test_a_pause_can_be_lifted_from_its_strip(
    window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    await say(session, fake, holds=(hold(HoldKind.PAUSE),))
    assert strips(window) == ["Dispatch is paused."]
    press(window.strips, "Resume")
    await session.settled()
    assert [call[0] for call in fake.calls] == ["resume"]
    await say(session, fake)
    assert strips(window) == []


async def test_a_hold_is_answered_from_its_strip(
    window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    await say(session, fake, holds=(hold(HoldKind.HOLD, "is the branch right?"),))
    texts = [found.text() for found in window.strips.findChildren(QLabel)]
    assert any("“is the branch right?” By ada" in text for text in texts)
    press(window.strips, "Answer and resume…")
    dialog = await question()
    write(dialog, "yes")
    press(dialog, "Resume")
    await session.settled()
    assert fake.calls[0][2] == "yes"


async def test_e82_a_restore_hold_is_lifted_by_who_says_what_they_saw(
    window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    await say(session, fake, holds=(hold(HoldKind.RESTORE),))
    assert strips(window) == ["Dispatch is held after a restore."]
    press(window.strips, "I have looked…")
    dialog = await question()
    write(dialog, "both lists compared")
    press(dialog, "I have looked")
    await session.settled()
    assert fake.calls == [("acknowledge_restore", ADA, "both lists compared")]


async def test_a_distrusted_clock_leads_to_the_steps_that_restore_trust(
    window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    """E-33: no resume lifts it."""
    opened: list[tuple[str, str]] = []
    session.navigated.connect(lambda page, subject: opened.append((page, subject)))
    await say(session, fake, holds=(hold(HoldKind.CLOCK, "The wall clock jumped back by 1.0 h."),))
    assert strips(window) == ["The clock cannot be trusted."]
    press(window.strips, "Restore trust…")
    assert opened == [("clock", "restore")]


async def test_sleep_is_told_once_and_can_be_dismissed(
    window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    """E-30: a gap, no fault."""
    slept = AnomalyRow("a", AnomalyKind.SUSPEND, "", 27_720_000, 0, 27_720_000, 1, 27_720_001, True, 7)

    async def anomalies(**_: object) -> tuple[AnomalyRow, ...]:
        return (slept,)

    fake.clock_trust = SimpleNamespace(anomalies=anomalies)  # type: ignore[attr-defined]
    fake.tell(("clock.suspend", "clock", "a", None))
    await session.settled()
    assert strips(window) == ["The machine slept 7 h 42 min."]
    press(window.strips, "Dismiss")
    assert strips(window) == []


async def test_recovery_that_fails_is_told(window: MainWindow, session: Session, fake: FakeEngine) -> None:
    """B-040: with what it means, and gone once it works."""
    await say(session, fake, recovery_error="The disk is full.")
    assert strips(window) == ["What an earlier run left cannot be judged."]
    await say(session, fake)
    assert strips(window) == []


async def test_an_overrun_scope_is_told_a_held_work_order_is_not(
    window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    await say(
        session,
        fake,
        holds=(
            hold(HoldKind.OVERRUN, "12 of 10 used", NodeKind.SCOPE, "scope", "payments"),
            hold(HoldKind.PAUSE, "", NodeKind.WORK_ORDER, "order", "Mend rounding"),
        ),
    )
    assert strips(window) == ["“payments” is held: a budget was overrun."]


async def test_unknown_is_violet_and_leads_to_its_page(
    window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    await say(session, fake, unknown=2)
    assert strips(window) == ["2 attempts are UNKNOWN."]
    (alert,) = session.alerts.shown()
    assert alert.tone is Tone.UNKNOWN
    assert "fail" not in (alert.what + alert.means).lower()
    press(window.strips, "Decide…")
    assert window.current_page == "unknown"
    press(window.strips, "Dismiss")
    assert strips(window) == []
    session.refresh_status()
    await session.settled()
    assert strips(window) == []
    await say(session, fake, unknown=3)
    assert strips(window) == ["3 attempts are UNKNOWN."]


async def test_decisions_that_wait_lead_to_the_work_orders(
    window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    await say(session, fake, awaiting_decision=1)
    assert strips(window) == ["1 work order waits for your decision."]
    press(window.strips, "Show")
    assert window.current_page == "work_orders"


async def test_being_superseded_is_told(window: MainWindow, session: Session, fake: FakeEngine) -> None:
    await say(session, fake, superseded=True)
    assert strips(window) == ["Another console has taken over this data folder."]


async def test_many_alerts_do_not_push_the_page_out(window: MainWindow, session: Session) -> None:
    for number in range(9):
        session.alerts.show(Alert(str(number), f"Alert {number}."))
    assert strips(window) == ["Alert 8.", "Alert 7.", "Alert 6.", "Alert 5.", "5 more."]
    texts = [found.text() for found in window.strips.findChildren(QLabel)]
    assert "Alert 4. Alert 3. Alert 2. Alert 1. Alert 0." in texts, "what is not shown is named"
    assert window.stack.height() > 200


async def test_the_strips_that_do_not_fit_are_shown_when_asked_for(
    window: MainWindow, session: Session
) -> None:
    for number in range(5):
        session.alerts.show(Alert(f"key {number}", f"Alert {number}.", "", Tone.WARN))
    press(window.strips, "Show all")
    assert strips(window) == [f"Alert {number}." for number in range(4, -1, -1)] + ["That is all."]
    press(window.strips, "Show fewer")
    assert strips(window) == ["Alert 4.", "Alert 3.", "Alert 2.", "Alert 1.", "1 more."]
    press(window.strips, "Show all")
    session.alerts.clear("key 4")
    assert strips(window) == ["Alert 3.", "Alert 2.", "Alert 1.", "Alert 0."]
    session.alerts.show(Alert("key 4", "Alert 4.", "", Tone.WARN))
    assert strips(window)[-1] == "1 more.", "a new burst begins small again"


async def test_strips_never_take_the_focus(window: MainWindow, session: Session) -> None:
    field: Any = window.bar.search
    field.setFocus()
    session.alerts.show(Alert("a", "Something.", action="Do", pressed=lambda: None))
    assert window.focusWidget() is field


async def test_e85_the_docket_and_dead_wakes_are_told_of_until_they_are_settled(
    window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    opened: list[tuple[str, str]] = []
    session.navigated.connect(lambda page, subject: opened.append((page, subject)))
    await say(session, fake, undecided=2, dead_wakes=1)
    assert strips(window) == ["1 wake is dead.", "2 decisions about what was missed wait for you."]
    press(window.strips, "Open docket")
    press(window.strips, "Show")
    assert opened == [("wakes", "docket"), ("wakes", "dead")]
    await say(session, fake)
    assert strips(window) == []


async def test_a_count_that_changes_leaves_its_strip_and_the_focus_in_it(
    window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    pressed: list[int] = []

    def count(number: int) -> Alert:
        return Alert(
            "count",
            f"{number} wait.",
            "Look.",
            action="Show",
            pressed=lambda: pressed.append(number),
            dismissable=True,
        )

    window.show()
    session.alerts.show(count(1))
    show = next(found for found in window.strips.findChildren(QPushButton) if found.text() == "Show")
    show.setFocus()
    for number in (2, 3):
        session.alerts.show(count(number))
    assert strips(window) == ["3 wait."]
    assert [found.text() for found in window.strips.findChildren(QPushButton)] == ["Show", "Dismiss"]
    assert show.toolTip() == "Show: 3 wait."
    assert window.focusWidget() is show
    show.click()
    assert pressed == [3]
    session.alerts.dismiss("count")
    assert strips(window) == []
