"""The page "Work orders" over a real engine: the list, the story, what a person decides (E-60 to E-74)."""

from __future__ import annotations

import asyncio

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QDialog,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QWidget,
)

from app.panels.inbox.wrapped_text import WrappedText
from app.panels.work_orders.blocks import DecisionBlock, HoldBlock, StageBlock, VerdictBlock
from app.panels.work_orders.page import FILTERS, WorkOrdersView
from app.widgets import Badge
from app.wizards.new_work_order import NewWorkOrderDialog
from engine.control.holds import Node
from engine.states import NodeKind, Verdict, WorkOrderState
from tests.app.panels.work_orders.console import python


@pytest.fixture
async def make_page(console, qtbot):
    def make():
        made = WorkOrdersView(console.session)
        made.acts = []
        made.acts_on.connect(made.acts.append)
        qtbot.addWidget(made)
        made.resize(1100, 700)
        made.show()
        return made

    yield make
    await console.settle()


async def test_e42a_a_stage_says_by_which_use_of_which_grant_it_was_approved(console, make_page):
    order = await console.submit("Granted")
    (row,) = await console.engine.approvals.inbox()
    view = await console.engine.grants.give(
        row.approval_id,
        console.session.actor,
        seal=row.seal,
        ends_at=console.engine.clock.now() + 3_600_000,
        uses=2,
    )
    story = await shown(console, make_page(), order)
    said = [label.text() for block in story.findChildren(StageBlock) for label in block.findChildren(QLabel)]
    assert "Approved by the standing grant of ada · use 1 of 2" in said
    next(one for one in story.findChildren(QAbstractButton) if one.text() == "Show grant").click()
    assert console.opened[-1] == ("inbox", f"grant:{view.row.id}")


async def shown(console, page, identity):
    page.show_subject(identity)
    await console.settle()
    return page._story


def titles(page):
    return [page._model.row(place).title for place in range(page._model.rowCount())]


def words_of(widget):
    """Everything that is written in a widget and can be seen."""
    found = [part.text() for part in widget.findChildren(QLabel) if part.isVisibleTo(widget)]
    found += [part.text() for part in widget.findChildren(WrappedText) if part.isVisibleTo(widget)]
    found += [part.word for part in widget.findChildren(Badge) if part.isVisibleTo(widget)]
    return "\n".join(found)


def button_named(widget, start):
    found = [
        made
        for made in widget.findChildren(QAbstractButton)
        if made.isVisibleTo(widget)
        and (made.text().startswith(start) or made.accessibleName().startswith(start))
    ]
    assert found, f"no button {start!r}"
    return found[0]


def dialog_of(page):
    (found,) = [child for child in page.findChildren(QDialog) if child.isVisible()]
    return found


async def answer(console, page, action, reason=""):
    """Fill the reason of the open dialog and press the button."""
    await asyncio.sleep(0)
    dialog = dialog_of(page)
    if reason:
        field = next(edit for edit in dialog.findChildren(QPlainTextEdit) if not edit.isReadOnly())
        field.setPlainText(reason)
    pressed = next(made for made in dialog.findChildren(QPushButton) if made.text() == action)
    assert pressed.isEnabled()
    pressed.click()
    await console.settle()


async def test_the_list_has_the_latest_change_first_with_state_and_why(console, make_page):
    await console.finished("Judged well")
    await console.submit("Asked just now")
    page = make_page()
    await console.settle()
    assert titles(page) == ["Asked just now", "Judged well"]
    first = page._model.index(0, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert "WO-2, Asked just now. active. stage implement" in first
    assert "approval" in first
    second = page._model.index(1, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert "awaiting acceptance" in second
    assert "60 of 1\u202f000 units" in second


async def test_an_empty_folder_says_how_to_begin(console, make_page):
    page = make_page()
    await console.settle()
    assert page._stack.currentWidget() is page._nothing
    page.show_subject("new")
    await asyncio.sleep(0)
    dialog = dialog_of(page)
    assert isinstance(dialog, NewWorkOrderDialog)
    dialog.reject()


async def test_choosing_tells_what_the_command_bar_acts_on(console, make_page):
    identity = await console.submit("One")
    page = make_page()
    await console.settle()
    chosen = page.acts[-1]
    assert (chosen.kind, chosen.id, chosen.label) == (NodeKind.WORK_ORDER, identity, "WO-1 · workspace")


async def test_what_happens_elsewhere_appears_by_itself_and_moves_nothing(console, make_page):
    identity = await console.submit("First")
    page = make_page()
    await console.settle()
    await console.submit("Second")
    await console.settle()
    assert titles(page) == ["Second", "First"]
    assert page._model.row(page._list.currentIndex().row()).id == identity
    assert page._story.story.row.id == identity
    await console.go_on(1)
    await console.settle()
    assert any(stage.task.attempts for stage in (part.story for part in page._story.findChildren(StageBlock)))


async def test_b013_what_changed_while_the_page_was_hidden_is_there_when_it_is_shown(console, make_page):
    identity = await console.finished("Hidden")
    page = make_page()
    await console.settle()
    page.hide()
    await console.engine.accept(identity, console.session.actor)
    await console.submit("Also new")
    await console.settle()
    assert titles(page) == ["Hidden"]
    page.show()
    await console.settle()
    assert titles(page) == ["Also new", "Hidden"]
    assert page._model.row(1).state is WorkOrderState.ACCEPTED


async def test_the_division_of_the_page_is_kept(console, make_page):
    page = make_page()
    split = page._side.lists.parentWidget().parentWidget()
    split.moveSplitter(500, 1)
    split.splitterMoved.emit(500, 1)
    width = page._side.lists.width()
    again = make_page()
    again.resize(page.size())
    await console.settle()
    assert abs(again._side.lists.width() - width) <= 2


async def test_b026_e60_a_run_that_succeeded_is_no_tick_for_the_goal(console, make_page):
    identity = await console.finished("Done nothing", check="import sys; sys.exit(1)")
    page = make_page()
    story = await shown(console, page, identity)
    stage = story.findChildren(StageBlock)[0]
    badges = [badge.word for badge in stage.findChildren(Badge)]
    assert badges == ["ran, succeeded", "failed"]
    verdict = stage.findChild(VerdictBlock)
    assert "The criteria are not met." in words_of(verdict)
    assert "criteria: the check exits 0" in words_of(verdict)


async def test_the_story_goes_stage_by_stage_with_what_each_refers_to(console, make_page):
    code = "import pathlib; p = pathlib.Path('n'); p.write_text(p.read_text() + 'x' if p.exists() else 'x')"
    check = "import pathlib, sys; sys.exit(len(pathlib.Path('n').read_text()) < 2)"
    identity = await console.finished("Mend", code, check, corrections=1, steps=4)
    await console.engine.accept(identity, console.session.actor, "good")
    page = make_page()
    story = await shown(console, page, identity)
    stages = story.findChildren(StageBlock)
    assert [stage.accessibleName() for stage in stages] == [
        "Stage 1 · implement",
        "Stage 2 · validate",
        "Stage 3 · correct",
        "Stage 4 · validate",
    ]
    assert "Judges the result of stage 1 · implement" in words_of(stages[1])
    assert "Mends the result of stage 1 · implement" in words_of(stages[2])
    assert "Judges the result of stage 3 · correct" in words_of(stages[3])
    decision = story.findChild(DecisionBlock)
    assert "ada accepted the work" in words_of(decision)
    assert "“good”" in words_of(decision)
    assert "accepted" in [badge.word for badge in story.findChildren(Badge)]
    assert "has ended" in story._nothing.text()


async def test_only_what_changed_is_made_anew(console, make_page):
    identity = await console.finished("Kept", corrections=1, check="import sys; sys.exit(1)")
    page = make_page()
    story = await shown(console, page, identity)
    before = story.findChildren(StageBlock)
    await console.go_on(1)
    await console.settle()
    after = story.findChildren(StageBlock)
    assert after[0] is before[0]
    assert after[1] is before[1]
    assert len(after) > len(before) or after[2] is not before[2]


async def test_accepting_ends_the_work_order(console, make_page):
    identity = await console.finished("Accept me")
    page = make_page()
    story = await shown(console, page, identity)
    button_named(story, "Accept").click()
    await answer(console, page, "Accept", "looked at it")
    assert (await console.story(identity)).row.state is WorkOrderState.ACCEPTED
    assert not any(made.isVisibleTo(story) for made in story._choices.values())


async def test_rejecting_needs_a_reason(console, make_page):
    identity = await console.finished("Reject me")
    page = make_page()
    story = await shown(console, page, identity)
    button_named(story, "Reject").click()
    await asyncio.sleep(0)
    dialog = dialog_of(page)
    reject = next(made for made in dialog.findChildren(QPushButton) if made.text() == "Reject")
    assert not reject.isEnabled()
    await answer(console, page, "Reject", "wrong totals")
    done = await console.story(identity)
    assert done.row.state is WorkOrderState.REJECTED
    assert done.decisions[-1].reason == "wrong totals"


async def test_e63_one_more_correction_can_be_allowed(console, make_page):
    identity = await console.finished("Exhausted", check="import sys; sys.exit(1)")
    page = make_page()
    story = await shown(console, page, identity)
    assert "no corrections are left" in words_of(story.findChildren(VerdictBlock)[0])
    button_named(story, "Allow one more").click()
    await answer(console, page, "Allow it", "the idea is right")
    told = await console.story(identity)
    assert told.tasks[-1].purpose == "CORRECT"
    assert told.decisions[-1].reason == "the idea is right"


async def test_a_person_judges_by_the_criteria(console, make_page):
    identity = await console.finished("Read aloud", by_person=True, steps=1)
    page = make_page()
    story = await shown(console, page, identity)
    button_named(story, "Judge").click()
    await asyncio.sleep(0)
    dialog = dialog_of(page)
    record = next(made for made in dialog.findChildren(QPushButton) if made.text() == "Record judgement")
    assert not record.isEnabled()
    assert "it reads well" in words_of(dialog)
    dialog.findChildren(QRadioButton)[0].click()
    dialog.findChild(QPlainTextEdit).setPlainText("read it to Max")
    dialog._cost.setText("many")
    assert not record.isEnabled()
    dialog._cost.setText("7")
    record.click()
    await console.settle()
    (validation,) = (await console.story(identity)).validations
    assert (validation.outcome, validation.judged_by) == (Verdict.PASSED, "person")
    assert (validation.reason, validation.actual_cost) == ("read it to Max", 7)


async def test_asking_again_leads_to_the_new_request(console, make_page):
    identity = await console.submit("Asked twice")
    (row,) = await console.engine.approvals.inbox()
    await console.engine.approvals.reject(row.approval_id, console.session.actor, "not like this")
    page = make_page()
    story = await shown(console, page, identity)
    button_named(story, "Ask again").click()
    await console.settle()
    (row,) = await console.engine.approvals.inbox()
    assert console.opened == [("inbox", row.approval_id)]


async def test_cancel_asks_and_says_what_runs(console, make_page):
    identity = await console.submit("Cancel me")
    page = make_page()
    story = await shown(console, page, identity)
    button_named(story, "Cancel").click()
    await answer(console, page, "Cancel it", "not needed")
    assert (await console.story(identity)).row.state is WorkOrderState.CANCELLED


async def test_b032_stopping_a_run_makes_it_unknown_and_never_failed(console, make_page, until):
    identity = await console.submit("Runs long", code="import time; print('on', flush=True); time.sleep(60)")
    (row,) = await console.engine.approvals.inbox()
    await console.engine.approvals.approve(row.approval_id, console.session.actor, seal=row.seal)
    running = asyncio.get_running_loop().create_task(console.engine.work_once())
    page = make_page()
    page.show_subject(identity)
    await until(lambda: page._story.story is not None and in_state(page._story.story, "RUNNING"))
    assert "running" in [badge.word for badge in page._story.findChildren(Badge)]
    stop = next(b for b in page._story.findChildren(QPushButton) if b.text() == "Stop…")
    stop.click()
    await asyncio.sleep(0)
    assert "UNKNOWN" in words_of(dialog_of(page))
    dialog_of(page).findChild(QPlainTextEdit).setPlainText("too slow")
    next(b for b in dialog_of(page).findChildren(QPushButton) if b.text() == "Stop it").click()
    await running
    await console.settle()
    await until(lambda: page._story.story.tasks[0].state == "UNKNOWN")
    await console.settle()
    said = words_of(page._story)
    assert "UNKNOWN" in said
    assert "frozen until it is reconciled" in said
    assert "failed" not in said.lower()
    button_named(page._story, "Decide").click()
    attempt = page._story.story.tasks[0].attempts[0]
    assert console.opened[-1] == ("unknown", attempt.id)
    button_named(page._story, "Open evidence").click()
    assert console.opened[-1] == ("evidence", attempt.id)


def in_state(story, state):
    return any(attempt.state == state for task in story.tasks for attempt in task.attempts)


async def test_a_hold_is_shown_with_its_reason_and_can_be_answered(console, make_page):
    identity = await console.submit("Held")
    page = make_page()
    story = await shown(console, page, identity)
    await console.engine.hold(
        Node(NodeKind.WORK_ORDER, identity), console.session.actor, reason="wait for Max"
    )
    await console.settle()
    hold = story.findChild(HoldBlock)
    assert "is on hold" in words_of(hold)
    assert "“wait for Max”" in words_of(hold)
    console.session.status = await console.engine.status()
    button_named(hold, "Resume").click()
    await answer(console, page, "Resume", "Max agrees")
    assert (await console.story(identity)).holds == ()
    assert not story._holds._holder.isVisibleTo(story)


async def test_b028_the_reason_for_waiting_names_the_other_work_order(console, make_page, until):
    await console.submit("Has the lane", code="import time; time.sleep(60)")
    (row,) = await console.engine.approvals.inbox()
    await console.engine.approvals.approve(row.approval_id, console.session.actor, seal=row.seal)
    running = asyncio.get_running_loop().create_task(console.engine.work_once())
    second = await console.submit("Waits")
    row = next(row for row in await console.engine.approvals.inbox() if row.work_order_id == second)
    await console.engine.approvals.approve(row.approval_id, console.session.actor, seal=row.seal)
    page = make_page()
    page.show_subject(second)
    await until(lambda: page._story.story is not None and "WO-1" in words_of(page._story))
    # The lane is taken with the claim, a moment before the attempt is there.
    async with asyncio.timeout(30):
        while not await console.engine.running():
            await asyncio.sleep(0.002)
    (attempt,) = await console.engine.running()
    await console.engine.stop_attempt(attempt.id, console.session.actor, "enough")
    await running


async def test_filters_are_asked_of_the_engine(console, make_page):
    await console.finished("Finished one")
    await console.submit("Waiting one")
    page = make_page()
    await console.settle()
    place = [words for words, _ in FILTERS].index("Waiting for your decision")
    page._side.states.setCurrentIndex(place)
    await console.settle()
    assert titles(page) == ["Finished one"]
    page._side.states.setCurrentIndex(0)
    page.search("waiting")
    await console.settle()
    assert titles(page) == ["Waiting one"]
    page.search("nothing like it")
    await console.settle()
    assert titles(page) == []
    assert page._side.nothing.isVisibleTo(page)
    page.search("WO-1")
    await console.settle()
    assert titles(page) == ["Finished one"]


async def test_what_waits_for_a_decision_is_listed_and_shown_when_asked_for(console, make_page):
    waits = await console.finished("Waits for a decision")
    await console.submit("Newer, and waits for nothing but approval")
    page = make_page()
    await console.settle()
    for _ in range(2):
        page.show_subject("waiting")
        await console.settle()
        assert titles(page) == ["Waits for a decision"]
        assert page._wanted == waits
        assert page._list.currentIndex().row() == 0


async def test_a_row_that_leaves_the_filter_leaves_the_list(console, make_page):
    identity = await console.finished("Leaves")
    page = make_page()
    page._side.states.setCurrentIndex([words for words, _ in FILTERS].index("Waiting for your decision"))
    await console.settle()
    assert titles(page) == ["Leaves"]
    await console.engine.accept(identity, console.session.actor)
    await console.settle()
    assert titles(page) == []
    assert page._story.story.row.state is WorkOrderState.ACCEPTED


async def test_an_unknown_work_order_is_said_to_be_gone(console, make_page):
    page = make_page()
    page.show_subject("01ARZ3NDEKTSV4RRFFQ69G5FAV")
    await console.settle()
    assert "gone" in page._choose_one.accessibleName()
    assert page.acts[-1] is None


async def test_keyboard_goes_from_the_list_into_the_story(console, make_page):
    await console.finished("By keys")
    page = make_page()
    await console.settle()
    page.focus_first()
    QTest.keyClick(page._list, Qt.Key.Key_Return)
    assert page._story._choices["accept"].hasFocus()


async def test_long_and_odd_texts_are_whole_and_plain(console, make_page):
    title = "Mend " + "x" * 120 + " <b>bold</b>"
    identity = await console.submit(
        title, reason="line one\nline two \u202e hidden", implementation=python("1")
    )
    page = make_page()
    page.resize(900, 500)
    story = await shown(console, page, identity)
    assert story._title.text() == title
    assert story._title.height() >= story._title.heightForWidth(story._title.width())
    assert "U+202E" in "".join(part.accessibleName() for part in story.findChildren(WrappedText))
    assert "&lt;b&gt;" in page._model.index(0, 0).data(Qt.ItemDataRole.ToolTipRole)


async def test_b119_every_control_has_a_name(console, make_page):
    identity = await console.finished("Named", check="import sys; sys.exit(1)")
    page = make_page()
    await shown(console, page, identity)
    for kind in (QAbstractButton, QComboBox, QAbstractItemView):
        for control in page.findChildren(kind):
            if not control.objectName().startswith("qt_") and not isinstance(control.parent(), QComboBox):
                inner = control.parent().metaObject().className() == "QComboBoxPrivateContainer"
                assert inner or control.accessibleName(), control
    for widget in page.findChildren(QWidget):
        assert "<" not in widget.accessibleName() or "U+" in widget.accessibleName()
