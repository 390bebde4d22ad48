"""The part "Docket" over a real engine (E-85): nothing of the kind "ask" starts before a person decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtTest import QAbstractItemModelTester

from app.panels.wakes.docket import choice_words
from app.panels.wakes.page import DOCKET, SCHEDULES, WAKES
from app.panels.wakes.since import held_sentence, quiet_sentence
from engine.actors import Actor
from engine.states import HoldKind
from engine.wakes import CatchUp, WakeState
from engine.work_order import WorkOrderSpec
from tests.app.conftest import until
from tests.app.panels.wakes.conftest import DAY, HOUR, MINUTE, SECOND, Desk


async def asleep(desk: Desk, milliseconds: int) -> None:
    """Let the machine sleep, and the engine look at what came of it."""
    await desk.engine.reconcile_once()
    desk.clock.suspend(milliseconds)
    desk.clock.advance(SECOND)
    await desk.engine.reconcile_once()
    await desk.settle()


async def in_front(desk: Desk) -> None:
    desk.page.show_subject("docket")
    await desk.settle()
    assert desk.page.tabs.currentIndex() == DOCKET


async def test_an_empty_docket_says_what_would_stand_there(desk: Desk) -> None:
    await in_front(desk)
    said = desk.shown(desk.page.docket)
    assert "Nothing waits for your decision" in said
    assert "No pause of more than a minute" in said
    assert not desk.page.docket.since.isVisible()


async def test_e85_what_was_missed_waits_and_the_latest_alone_is_submitted(
    desk: Desk, spec: WorkOrderSpec, actor: Actor
) -> None:
    made = await desk.engine.schedules.add(spec, actor, every="6h", catch_up=CatchUp.ASK)
    await asleep(desk, DAY)
    await in_front(desk)
    docket = desk.page.docket.docket
    assert docket is not None
    (waiting,) = docket.undecided
    assert (await desk.engine.status()).undecided == 1
    assert await desk.engine.approvals.inbox() == ()
    said = desk.shown(desk.page.docket)
    assert "Run the slow tests" in said
    assert "4 occurrences were missed, from yesterday 06:00 to" in said
    assert "The machine slept 1 d" in said
    block = desk.page.docket.block(waiting.id)
    assert [made.text() for made in block.choices.values()] == [
        "Fire all 4…",
        "Fire the latest…",
        "Fire none…",
    ]
    said = await desk.decide(block.choices[CatchUp.LATEST], "Fire the latest", "One run is enough.")
    assert "older ones are skipped" in said
    await until(lambda: desk.page.docket.docket is not docket)
    assert desk.page.docket._nothing.isVisible()
    await desk.engine.reconcile_once()
    await desk.settle()
    (asked,) = await desk.engine.approvals.inbox()
    assert asked.title == "Run the slow tests"
    assert (await desk.engine.schedules.show(made.id)).row.skipped == 3


async def test_all_of_one_and_none_of_another(desk: Desk, spec: WorkOrderSpec, actor: Actor) -> None:
    await desk.engine.schedules.add(spec, actor, every="6h", catch_up=CatchUp.ASK)
    await desk.engine.schedules.add(
        replace(spec, title="Tidy up"), actor, cron="0 12 * * *", catch_up=CatchUp.ASK
    )
    await asleep(desk, DAY)
    await in_front(desk)
    part = desk.page.docket
    assert part.docket is not None
    by_title = {one.title: part.block(one.id) for one in part.docket.undecided}
    assert list(by_title["Tidy up"].choices) == [CatchUp.LATEST, CatchUp.NONE]
    assert part._for_all[CatchUp.ALL].isVisible()
    await desk.decide(by_title["Tidy up"].choices[CatchUp.NONE], "Fire none", "It is tidy.")
    await until(lambda: part.docket is not None and len(part.docket.undecided) == 1)
    assert not part._for_all[CatchUp.ALL].isVisible()
    await desk.decide(by_title["Run the slow tests"].choices[CatchUp.ALL], "Fire all", "Each counts.")
    await desk.engine.reconcile_once()
    await desk.settle()
    assert {row.title for row in await desk.engine.approvals.inbox()} == {"Run the slow tests"}
    assert len(await desk.engine.approvals.inbox()) == 4


async def test_one_decision_for_everything(desk: Desk, spec: WorkOrderSpec, actor: Actor) -> None:
    for title in ("One", "Two", "Three"):
        await desk.engine.schedules.add(replace(spec, title=title), actor, every="6h", catch_up=CatchUp.ASK)
    await asleep(desk, DAY)
    await in_front(desk)
    said = await desk.decide(desk.page.docket._for_all[CatchUp.NONE], "Fire none", "A free day.")
    assert "12 occurrences were missed" in said
    await until(lambda: desk.page.docket.docket is not None and not desk.page.docket.docket.undecided)
    assert (await desk.engine.status()).undecided == 0


async def test_what_the_pause_made_late_is_listed_and_leads_on(
    desk: Desk, spec: WorkOrderSpec, actor: Actor
) -> None:
    QAbstractItemModelTester(
        desk.page.docket.since.rows, QAbstractItemModelTester.FailureReportingMode.Fatal, desk.page
    )
    order = await desk.engine.submit(replace(spec, due_at=desk.clock.now() + HOUR), actor)
    late = await desk.book(in_="2h", intent={"title": "Send the report"})
    await asleep(desk, 10 * HOUR)
    await in_front(desk)
    rows = desk.page.docket.since.rows
    found = {rows.row(number).what: rows.row(number) for number in range(rows.rowCount())}
    assert found["WO-1 · Run the slow tests"].look.word == "fired late"
    assert found["WO-1 · Run the slow tests"].late_ms >= 9 * HOUR
    desk.page.docket.since.choose(rows.number_of(found["WO-1 · Run the slow tests"].key))
    desk.page.docket.since.opened.emit()
    assert desk.opened == [("work_orders", order.id)]
    other = next(row for row in found.values() if row.subject == late.id)
    desk.page.docket.since.choose(rows.number_of(other.key))
    desk.page.docket.since.opened.emit()
    await desk.settle()
    assert desk.page.tabs.currentIndex() == WAKES
    assert desk.page.wakes.card.view is not None
    assert desk.page.wakes.card.view.wake.state is WakeState.FIRED


async def test_the_docket_leads_to_the_schedule(
    desk: Desk, work_order: Callable[..., WorkOrderSpec], actor: Actor
) -> None:
    made = await desk.engine.schedules.add(work_order(), actor, every="6h", catch_up=CatchUp.ASK)
    await asleep(desk, DAY)
    await in_front(desk)
    desk.page.docket._open_series(made.id)
    await desk.settle()
    assert desk.page.tabs.currentIndex() == SCHEDULES
    assert desk.page.schedules.card.view is not None
    assert desk.page.schedules.card.view.series.id == made.id


async def test_sentences_about_what_holds_everything_back(desk: Desk) -> None:
    assert "I have looked…" in held_sentence(HoldKind.RESTORE)
    assert "clock is trusted" in held_sentence(HoldKind.CLOCK)
    assert held_sentence(None) == ""
    assert "Of so many" in choice_words(CatchUp.ALL, 101)[1]
    assert "Of so many" not in choice_words(CatchUp.ALL, 100)[1]
    await asleep(desk, 2 * MINUTE)
    docket = await desk.engine.docket()
    assert quiet_sentence(docket.quiet, desk.session.times) == (
        "The machine slept 2 min 1 s, from today 00:00 to today 00:02."
    )
