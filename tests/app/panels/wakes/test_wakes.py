"""The part "Wakes" over a real engine: states, reasons, and what a person does with a wake."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest

from app.panels.wakes.page import DOCKET, FIGURES, SCHEDULES, WAKES
from app.panels.wakes.wake_list import Which
from app.panels.wakes.words import wake_look, when_words, why_it_waits
from engine.actors import Actor
from engine.wakes import LaneRow, WakeState, external
from tests.app.conftest import until
from tests.app.panels.wakes.conftest import DAY, HOUR, MINUTE, SECOND, Desk


def states(desk: Desk) -> list[str]:
    """The words of the states in the list, from the top."""
    model = desk.page.wakes._model
    now = desk.clock.now()
    return [wake_look(model.row(number), now).word for number in range(model.rowCount())]


async def test_what_is_coming_is_listed_by_its_time_with_its_title(desk: Desk) -> None:
    QAbstractItemModelTester(
        desk.page.wakes._model, QAbstractItemModelTester.FailureReportingMode.Fatal, desk.page
    )
    await desk.book(in_="2h", intent={"title": "Say good night"})
    first = await desk.book(in_="1h", lane="mail")
    await desk.alarm.watch(
        workspace="payments", actor=desk.session.actor, kind="report", event_key="ci:passed"
    )
    await desk.settle()
    model = desk.page.wakes._model
    rows = range(model.rowCount())
    said = [str(model.index(row, 0).data(Qt.ItemDataRole.AccessibleTextRole)) for row in rows]
    said = [words for words in said if not words.startswith("Clean-up")]
    assert said[0].startswith("report. coming. Due in 1 h")
    assert said[1].startswith("Say good night. coming. Due in 2 h")
    assert said[2].startswith("report. awaits an event. Waits for the event ci:passed")
    desk.page.show_subject(first.id)
    await desk.settle()
    assert "lane mail" in said[0]
    view = desk.page.wakes.card.view
    assert view is not None
    assert view.wake.id == first.id
    assert view.reasons[0].startswith("It fires in 1 h")


async def test_b013_changes_keep_the_chosen_wake_and_move_rows_by_signals(desk: Desk) -> None:
    QAbstractItemModelTester(
        desk.page.wakes._model, QAbstractItemModelTester.FailureReportingMode.Fatal, desk.page
    )
    resets: list[None] = []
    booked = [await desk.book(in_=f"{number + 1}m") for number in range(6)]
    await desk.settle()
    desk.page.show_subject(booked[4].id)
    await desk.settle()
    desk.page.wakes._model.modelReset.connect(lambda: resets.append(None))
    await desk.pass_time(2 * MINUTE)
    await desk.alarm.cancel(booked[3].id, desk.session.actor)
    await desk.settle()
    model = desk.page.wakes._model
    assert [model.row(number).id for number in range(3)] == [booked[2].id, booked[4].id, booked[5].id]
    assert model.row(desk.page.wakes._list.currentIndex().row()).id == booked[4].id
    assert resets == []


async def test_filters_and_search_ask_the_alarm_clock(desk: Desk, expected_log: Any) -> None:
    late = await desk.book(kind="other.kind", at=desk.clock.now() - HOUR)
    await desk.book(in_="1m", intent={"title": "Mend rounding"})
    with expected_log("no sink for other.kind"):
        await desk.pass_time(MINUTE)
    wakes = desk.page.wakes
    wakes.show_only(Which.LATE)
    await desk.settle()
    assert [wakes._model.row(0).id] == [late.id]
    wakes.show_only(Which.ENDED)
    await desk.settle()
    assert states(desk) == ["fired"]
    desk.page.search("no such thing")
    await desk.settle()
    assert wakes._model.rowCount() == 0
    assert "matches “no such thing”" in desk.shown(wakes)
    desk.page.search("ROUNDING")
    await desk.settle()
    assert wakes._model.rowCount() == 1
    desk.page.search("")
    wakes.show_only(Which.DEAD)
    await desk.settle()
    assert "Nothing is dead" in desk.shown(wakes)


async def test_a_poisoned_wake_is_shown_and_released_from_the_page(desk: Desk, expected_log: Any) -> None:
    """Wakes §3: a dead letter, its error, release with a reason, and it fires."""
    desk.sink.error = RuntimeError("the mail server said 550")
    poisoned = await desk.book(in_="1m", intent={"title": "Send the report"})
    with expected_log("failed at attempt 1"), expected_log("is dead after 2 attempts"):
        await desk.pass_time(MINUTE)
        wake = await desk.alarm.get(poisoned.id)
        desk.page.show_subject(poisoned.id)
        await desk.settle()
        assert wake is not None
        view = desk.page.wakes.card.view
        assert view is not None
        assert view.reasons[0].startswith("Back-off until")
        assert "RuntimeError: the mail server said 550" in desk.page.wakes.card._error.text()
        await desk.pass_time(HOUR)
    desk.page.show_subject("dead")
    await desk.settle()
    assert states(desk) == ["dead"]
    card = desk.page.wakes.card
    assert card._release.isVisible()
    assert card._drop.isVisible()
    assert not card._cancel.isVisible()
    desk.sink.error = None
    await desk.decide(card._release, "Release it", "The server is back.")
    await desk.pass_time(SECOND)
    assert desk.sink.fired == [poisoned.id]
    desk.page.show_subject(poisoned.id)
    await desk.settle()
    assert card.view is not None
    assert card.view.wake.state is WakeState.FIRED
    assert any(step.why == "The server is back." and step.by == "ada" for step in card.view.history)


async def test_a_dead_wake_is_dropped_and_another_cancelled_with_a_reason(
    desk: Desk, expected_log: Any
) -> None:
    desk.sink.error = RuntimeError("no")
    dead = await desk.book(in_="1m")
    with expected_log("failed at attempt 1"), expected_log("is dead after 2 attempts"):
        await desk.pass_time(MINUTE)
        await desk.pass_time(HOUR)
    coming = await desk.book(in_="1h")
    await desk.settle()
    card = desk.page.wakes.card
    desk.page.show_subject(dead.id)
    await desk.settle()
    await desk.decide(card._drop, "Drop it", "It is not needed any more.")
    wake = await desk.alarm.get(dead.id)
    assert wake is not None
    assert wake.state is WakeState.CANCELLED
    desk.page.show_subject(coming.id)
    await desk.settle()
    await desk.decide(card._cancel, "Cancel it", "Not today.")
    wake = await desk.alarm.get(coming.id)
    assert wake is not None
    assert wake.state is WakeState.CANCELLED
    assert (await desk.alarm.history(coming.id))[-1].why == "Not today."


async def test_a_wake_that_began_meanwhile_is_not_cancelled_and_the_page_says_so(desk: Desk) -> None:
    coming = await desk.book(in_="1m")
    await desk.settle()
    desk.page.show_subject(coming.id)
    await desk.settle()
    desk.clock.advance(MINUTE)
    await desk.alarm.run_due()
    card = desk.page.wakes.card
    await desk.decide(card._cancel, "Cancel it")
    (error,) = desk.failures
    assert "begun or ended" in error.means
    desk.failures.clear()


async def test_a_kind_without_a_sink_says_so_and_goes_once_it_has_one(desk: Desk, expected_log: Any) -> None:
    with expected_log("no sink for mail.send"):
        waiting = await desk.book(kind="mail.send", in_="1m")
        await desk.pass_time(MINUTE)
    desk.page.show_subject(waiting.id)
    await desk.settle()
    view = desk.page.wakes.card.view
    assert view is not None
    assert view.reasons[0].startswith("No sink for mail.send")
    assert states(desk)[0] == "no sink"
    desk.alarm.register("mail.send", external(desk.sink))
    await desk.pass_time(SECOND)
    assert view.wake.id not in {wake.id for wake in await desk.alarm.list_wakes(states=[WakeState.PENDING])}


async def test_a_lane_is_named_as_the_reason(desk: Desk) -> None:
    desk.sink.parking = True
    first = await desk.book(in_="1m", lane="deploys")
    second = await desk.book(in_="2m", lane="deploys")
    third = await desk.book(in_="3m", lane="deploys")
    desk.clock.advance(MINUTE)
    passing = asyncio.create_task(desk.alarm.run_due())
    await until(lambda: desk.alarm.running)
    desk.page.show_subject(second.id)
    await desk.settle()
    view = desk.page.wakes.card.view
    assert view is not None
    assert "deploys is busy" in view.reasons[0]
    desk.page.show_subject(first.id)
    await desk.settle()
    assert desk.page.wakes.card.view is not None
    assert desk.page.wakes.card.view.wake.state is WakeState.FIRING
    assert not desk.page.wakes.card._cancel.isVisible()
    desk.sink.let_go()
    await passing
    desk.page.show_subject(third.id)
    await desk.settle()
    assert desk.page.wakes.card.view is not None
    assert "behind report, due" in desk.page.wakes.card.view.reasons[0]


async def test_what_the_engine_booked_is_not_cancelled_here_and_leads_to_its_work_order(
    desk: Desk, spec: Any, actor: Actor
) -> None:
    order = await desk.engine.submit(replace(spec, due_at=desk.clock.now() + HOUR), actor)
    await desk.settle()
    model = desk.page.wakes._model
    assert model.row(0).title == "WO-1 · Run the slow tests"
    desk.page.show_subject(model.row(0).id)
    await desk.settle()
    card = desk.page.wakes.card
    assert not card._cancel.isVisible()
    card._order.click()
    assert desk.opened == [("work_orders", order.id)]


async def test_reasons_are_said_with_what_must_change_first_at_the_top(desk: Desk) -> None:
    booked = await desk.book(in_="1m", lane="deploys")
    wake = await desk.alarm.get(booked.id)
    assert wake is not None
    desk.clock.advance(HOUR)
    times = desk.session.times
    lane = LaneRow("payments", "deploys", 1, None, True, "another")
    said = why_it_waits(wake, lane, None, times, trusted=False, restored=True)
    assert [sentence.split()[0] for sentence in said] == ["The", "The", "Its"]
    assert said[0].startswith("The data was restored")
    assert said[1].startswith("The clock is distrusted")
    assert "is stopped" in said[2]
    assert why_it_waits(wake, None, None, times) == ("It is due; the next pass takes it.",)
    assert when_words(wake, times).endswith("59 min late")


async def test_links_lead_from_part_to_part(desk: Desk) -> None:
    booked = await desk.book(every="1h", catch_up="ask", intent={"title": "Ask me"})
    assert booked.series is not None
    await desk.pass_time(DAY)
    (row,) = await desk.alarm.docket()
    desk.page.show_subject(row.wake_id)
    await desk.settle()
    card = desk.page.wakes.card
    assert card._docket.isVisible()
    card._series.click()
    await desk.settle()
    assert desk.page.tabs.currentIndex() == SCHEDULES
    desk.page.show_subject(row.wake_id)
    await desk.settle()
    assert desk.page.tabs.currentIndex() == WAKES
    card._docket.click()
    assert desk.page.tabs.currentIndex() == DOCKET


async def test_the_keyboard_goes_from_part_to_part(desk: Desk) -> None:
    desk.page.activateWindow()
    await until(desk.page.isActiveWindow)
    desk.page.focus_first()
    for place in (SCHEDULES, DOCKET, FIGURES, WAKES):
        QTest.keyClick(desk.page, Qt.Key.Key_Tab, Qt.KeyboardModifier.ControlModifier)
        assert desk.page.tabs.currentIndex() == place
    back = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(desk.page, Qt.Key.Key_Tab, back)
    assert desk.page.tabs.currentIndex() == FIGURES


async def test_b058_the_wake_one_reads_stays_in_view_when_it_leaves_the_list(desk: Desk) -> None:
    first = await desk.book(in_="1m", intent={"title": "First"})
    await desk.book(in_="2m", intent={"title": "Second"})
    await desk.settle()
    desk.page.show_subject(first.id)
    await desk.settle()
    assert desk.page.wakes._list.currentIndex().row() == 0
    await desk.pass_time(MINUTE)
    card = desk.page.wakes.card
    assert card.view is not None
    assert (card.view.wake.id, card.view.wake.state) == (first.id, WakeState.FIRED)
    assert not desk.page.wakes._list.currentIndex().isValid()


async def test_a_long_list_keeps_its_pages_through_changes(desk: Desk) -> None:
    booked = [await desk.book(in_=f"{number + 1}m") for number in range(150)]
    desk.page.hide()
    desk.page.show()
    await desk.settle()
    model = desk.page.wakes._model
    assert model.rowCount() == 100
    assert not model.complete
    model.fetchMore(QModelIndex())
    await desk.settle()
    loaded = model.rowCount()
    assert loaded >= 150
    await desk.alarm.cancel(booked[120].id, desk.session.actor)
    await desk.settle()
    assert model.rowCount() == loaded - 1
    assert model.number_of(booked[120].id) == -1
    assert model.complete


async def test_a_notice_of_expiry_leads_to_its_request(desk: Desk, spec: Any, actor: Actor) -> None:
    await desk.engine.submit(spec, actor)
    (asked,) = await desk.engine.approvals.inbox()
    desk.page.show_subject(asked.approval_id)
    await desk.settle()
    card = desk.page.wakes.card
    assert card.view is not None
    assert card.view.wake.kind == "approval.expiring"
    assert not card._cancel.isVisible()
    assert "WO-1 · Run the slow tests" in desk.shown(card)
    card._request.click()
    assert desk.opened == [("inbox", asked.approval_id)]
