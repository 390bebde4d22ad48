"""The part "Schedules" and the editor over a real engine (E-27), days whose clocks change included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QApplication, QPushButton

from app.panels.wakes.page import SCHEDULES
from app.panels.wakes.schedule_editor import ScheduleDialog
from app.panels.wakes.schedule_form import AT, COUNT, INTERVAL, NEVER
from app.panels.wakes.words import local_words
from engine.actors import Actor
from engine.instants import parse_instant
from engine.interfaces.work_order_file import to_toml
from engine.views.schedules import SUBMIT_KIND
from engine.wakes import CatchUp, SeriesState
from engine.work_order import WorkOrderSpec
from tests.app.conftest import until
from tests.app.panels.wakes.conftest import DAY, HOUR, Desk
from tests.app.shell.test_window import press


async def editor() -> ScheduleDialog:
    """The editor, once it has opened and previewed."""
    await until(lambda: isinstance(QApplication.activeModalWidget(), ScheduleDialog))
    dialog = QApplication.activeModalWidget()
    assert isinstance(dialog, ScheduleDialog)
    await previewed(dialog)
    return dialog


async def previewed(dialog: ScheduleDialog) -> None:
    """Preview what is entered, without waiting for the pause after the last key."""
    dialog._soon.stop()
    await dialog.preview_now()


def coming(dialog: ScheduleDialog) -> list[tuple[str, str]]:
    """What the preview says: UTC and mark."""
    rows = [dialog.coming.occurrences.row(n) for n in range(dialog.coming.occurrences.rowCount())]
    return [(one.utc, "" if one.mark is None else one.mark.value) for one in rows]


async def test_a_schedule_is_made_from_an_existing_work_order_and_submits_it(
    desk: Desk, spec: WorkOrderSpec, actor: Actor
) -> None:
    await desk.engine.submit(spec, actor)
    desk.page.show_subject("schedules")
    await desk.settle()
    QAbstractItemModelTester(
        desk.page.schedules._model, QAbstractItemModelTester.FailureReportingMode.Fatal, desk.page
    )
    assert "No schedule of yours yet" in desk.shown(desk.page.schedules)
    desk.page.schedules._new.click()
    dialog = await editor()
    await until(lambda: dialog.form._orders.count() == 2)
    dialog.form._orders.setCurrentIndex(1)
    await until(lambda: dialog.form.template)
    assert dialog.form.template is not None
    assert dialog.form.template.spec == spec
    dialog.form._kind.setCurrentIndex(INTERVAL)
    dialog.form._every.setText("6 h")
    dialog.form._missed.button(0).setChecked(True)
    dialog.form._end.setCurrentIndex(COUNT)
    dialog.form._count.setValue(3)
    await previewed(dialog)
    assert len(coming(dialog)) == 3
    QTest.keyClick(dialog, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    await desk.settle()
    (made,) = await desk.engine.schedules.listed()
    assert (made.title, made.rule, made.count) == ("Run the slow tests", "every 6h", 3)
    assert made.catch_up is CatchUp.ASK
    await desk.settle()
    view = desk.page.schedules.card.view
    assert view is not None
    assert view.series.id == made.id
    assert "Run the slow tests" in desk.shown(desk.page.schedules)
    await desk.pass_time(6 * HOUR)
    assert len(await desk.engine.approvals.inbox()) == 2


async def test_dst_the_preview_marks_days_whose_clocks_change(
    desk: Desk, spec: WorkOrderSpec, actor: Actor
) -> None:
    """Wakes §5: a local time in the gap fires after it, one that occurs twice fires the first time."""
    desk.clock.advance(parse_instant("2026-10-23T12:00:00.000Z") - desk.clock.now())
    desk.page._make_schedule(None)
    dialog = await editor()
    dialog.form._cron.setText("30 2 * * *")
    dialog.form._zone.setCurrentText("Europe/Berlin")
    await previewed(dialog)
    assert coming(dialog)[:3] == [
        ("2026-10-24T00:30:00.000Z", ""),
        ("2026-10-25T00:30:00.000Z", "first of two"),
        ("2026-10-26T01:30:00.000Z", ""),
    ]
    model = dialog.coming.occurrences
    assert model.index(1, 0).data() == "Sun 25 Oct 2026 02:30 +02:00"
    assert model.index(1, 1).data() == "25 Oct 00:30"
    assert "occurs twice" in str(model.index(1, 0).data(Qt.ItemDataRole.AccessibleTextRole))
    marked = dialog.changes.occurrences
    assert [marked.row(n).utc for n in range(marked.rowCount())] == [
        "2027-03-28T01:00:00.000Z",
        "2027-10-31T00:30:00.000Z",
    ]
    assert marked.index(0, 2).data() == "moved"
    assert local_words(marked.row(0), desk.session.times) == "Sun 28 Mar 2027 03:00 +02:00"
    dialog.reject()
    await desk.settle()


async def test_errors_stand_at_their_fields_and_nothing_is_saved(desk: Desk) -> None:
    desk.page._make_schedule(None)
    dialog = await editor()
    form = dialog.form
    form._cron.setText("61 * *")
    form._zone.setCurrentText("Europe/Atlantis")
    await previewed(dialog)
    assert "Write five fields" in form.said("cron")
    assert "not a time zone" in form.said("zone")
    assert coming(dialog) == []
    press(dialog, "Make schedule")
    assert "Choose the work order" in form.said("work_order")
    assert "3 things need mending." in desk.shown(dialog)
    form._cron.setText("0 9 * * *")
    form._zone.setCurrentText("UTC")
    await previewed(dialog)
    assert (form.said("cron"), form.said("zone")) == ("", "")
    form._kind.setCurrentIndex(INTERVAL)
    form._every.setText("soon")
    await previewed(dialog)
    assert "not a duration" in form.said("every")
    form._every.setText("5s")
    await previewed(dialog)
    assert "at most once a minute" in form.said("every")
    form._every.setText("6h")
    form._end.setCurrentIndex(AT)
    form._until.show_instant(desk.clock.now() + HOUR)
    await previewed(dialog)
    assert "Nothing occurs before" in form.said("until")
    dialog.reject()
    await desk.settle()
    assert await desk.engine.schedules.listed() == ()


async def test_a_file_is_taken_and_what_is_wrong_with_one_is_said(
    desk: Desk, spec: WorkOrderSpec, tmp_path: Path
) -> None:
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text(to_toml(spec), encoding="utf-8")
    bad.write_text("title = 3\n", encoding="utf-8")
    desk.page._make_schedule(None)
    dialog = await editor()
    await dialog.take_file(bad)
    assert "bad.toml" in dialog.form.said("work_order")
    assert dialog.form.template is None
    await dialog.take_file(good)
    assert dialog.form.said("work_order") == ""
    assert dialog.form.template is not None
    assert dialog.form.template.spec.title == spec.title
    press(dialog, "Make schedule")
    await desk.settle()
    (made,) = await desk.engine.schedules.listed()
    assert made.rule == "cron 0 9 * * * (UTC)"
    assert desk.page.tabs.currentIndex() == SCHEDULES


async def test_a_schedule_is_changed_and_its_end_taken_away(
    desk: Desk, spec: WorkOrderSpec, actor: Actor
) -> None:
    made = await desk.engine.schedules.add(
        spec, actor, cron="0 9 * * *", zone="Europe/Berlin", until=desk.clock.now() + 30 * DAY
    )
    desk.page.show_subject(made.id)
    await until(lambda: desk.page.schedules.card.view)
    card = desk.page.schedules.card
    assert desk.page.tabs.currentIndex() == SCHEDULES
    card._change.click()
    dialog = await editor()
    assert dialog.form.timing().cron == "0 9 * * *"
    assert dialog.form._end.currentIndex() == AT
    dialog.form._cron.setText("0 7 * * MON")
    dialog.form._end.setCurrentIndex(NEVER)
    await previewed(dialog)
    press(dialog, "Change schedule")
    assert "Say why" in dialog.form.said("reason")
    assert dialog.form.reason is not None
    dialog.form.reason.setText("The report is weekly now.")
    press(dialog, "Change schedule")
    await desk.settle()
    (changed,) = await desk.engine.schedules.listed()
    assert (changed.id, changed.rule, changed.until_at) == (made.id, "cron 0 7 * * MON (Europe/Berlin)", None)
    assert (await desk.alarm.series_history(made.id))[-1].why == "The report is weekly now."
    assert card.view is not None
    assert card.view.coming[0].utc == "2026-09-14T05:00:00.000Z"


async def test_a_change_of_policy_leaves_the_grid_alone(
    desk: Desk, spec: WorkOrderSpec, actor: Actor
) -> None:
    made = await desk.engine.schedules.add(spec, actor, every="6h")
    desk.clock.advance(HOUR)
    desk.page.show_subject(made.id)
    await until(lambda: desk.page.schedules.card.view)
    desk.page.schedules.card._change.click()
    dialog = await editor()
    assert dialog.form.reason is not None
    dialog.form.reason.setText("Ask me from now on.")
    dialog.form._missed.button(0).setChecked(True)
    await previewed(dialog)
    assert coming(dialog)[0][0] == "2026-09-10T06:00:00.000Z"
    press(dialog, "Change schedule")
    await desk.settle()
    (changed,) = await desk.engine.schedules.listed()
    assert (changed.catch_up, changed.next_at) == (CatchUp.ASK, made.next_at)


async def test_pause_resume_and_end(desk: Desk, spec: WorkOrderSpec, actor: Actor) -> None:
    made = await desk.engine.schedules.add(spec, actor, every="6h")
    desk.page.show_subject(made.id)
    await until(lambda: desk.page.schedules.card.view)
    card = desk.page.schedules.card
    await desk.decide(card._pause, "Pause it", "Over the holidays.")
    assert card.view is not None
    assert card.view.series.state is SeriesState.PAUSED
    assert not card._pause.isVisible()
    await desk.decide(card._resume, "Resume it", "Back at work.")
    assert card.view.series.state is SeriesState.ACTIVE
    await desk.decide(card._cancel, "End it", "The tests are fast now.")
    assert card.view.series.state is SeriesState.CANCELLED
    assert not card._foot.isVisible()
    said = [(step.event, step.why) for step in await desk.alarm.series_history(made.id)]
    assert said[1:] == [
        ("paused", "Over the holidays."),
        ("resumed", "Back at work."),
        ("cancelled", "The tests are fast now."),
    ]


async def test_a_broken_schedule_shows_its_error_and_can_be_tried_again(
    desk: Desk, spec: WorkOrderSpec, actor: Actor
) -> None:
    made = await desk.engine.schedules.add(spec, actor, cron="0 9 * * *", zone="Europe/Berlin")
    store = desk.alarm._store

    def breaks(tx: object, *, now: int) -> None:
        series = store.series.get(tx, made.id)
        assert series is not None
        store.series.save(
            tx, replace(series, state=SeriesState.BROKEN, error="'Europe/Berlin' is not a time zone.")
        )

    await store.write(breaks)
    desk.page.show_subject(made.id)
    await until(lambda: desk.page.schedules.card.view)
    card = desk.page.schedules.card
    assert "'Europe/Berlin' is not a time zone" in card._error.text()
    assert card._resume.text() == "Try again…"
    await desk.decide(card._resume, "Try again", "The zone is back.")
    assert card.view is not None
    assert card.view.series.state is SeriesState.ACTIVE


async def test_the_alarm_clocks_own_series_cannot_be_steered(desk: Desk) -> None:
    await desk.alarm.recover()
    (own,) = await desk.alarm.list_series()
    desk.page.show_subject("schedules")
    await desk.settle()
    assert desk.page.schedules._model.rowCount() == 1
    assert "No schedule of yours yet" in desk.shown(desk.page.schedules)
    assert own.kind != SUBMIT_KIND
    desk.page.show_subject(own.id)
    await until(lambda: desk.page.schedules.card.view)
    assert not desk.page.schedules.card._foot.isVisible()
    assert [made for made in desk.page.schedules.card.findChildren(QPushButton) if made.isVisible()] == []


async def test_the_form_keeps_what_is_entered_under_the_wheel(
    desk: Desk, work_order: Callable[..., WorkOrderSpec]
) -> None:
    desk.page._make_schedule(None)
    dialog = await editor()
    form = dialog.form
    form.offer_orders([("one", "WO-9 · A title that is far too long for such a narrow field of choices")])
    form._orders.setCurrentIndex(0)
    QTest.keyClick(form._orders, Qt.Key.Key_Home)
    assert not dialog.grab().isNull()
    form._pattern.setCurrentIndex(2)
    form._pattern_chosen(2)
    assert form.timing().cron == "0 9 * * MON"
    QTest.keyClicks(form._cron, "5 4 * * *")
    assert form._pattern.currentText() == "As written below"
    dialog.reject()
    await desk.settle()
