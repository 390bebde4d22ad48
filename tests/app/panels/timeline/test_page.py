"""The page over a real engine: reads what is in view, follows changes, selects and opens everywhere."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDateTimeEdit

from app.panels.timeline.page import TimelinePage
from engine.control.holds import WHOLE_ENGINE
from engine.states import NodeKind
from engine.views.timeline import BarKind
from tests.app.conftest import until
from tests.app.panels.work_orders.console import Console
from tests.app.shell.test_window import press, question


@pytest.fixture
async def page(console: Console) -> AsyncIterator[TimelinePage]:
    made = TimelinePage(console.session)
    made.resize(1000, 600)
    made.show()
    await console.settle()
    yield made
    made.hide()
    made.deleteLater()


def kinds(page: TimelinePage) -> list[BarKind]:
    assert page._view is not None
    return [bar.kind for bar in page._view.bars]


async def test_an_empty_engine_says_so(page: TimelinePage, console: Console) -> None:
    assert page._stack.currentWidget() is page._nothing
    assert page._nothing.button is not None
    page._nothing.button.click()
    assert console.opened == [("inbox", "")]


async def test_what_happens_appears_by_itself(page: TimelinePage, console: Console) -> None:
    await console.submit()
    await until(lambda: page._view is not None and page._view.bars)
    assert page._stack.currentWidget() is page.canvas
    assert kinds(page) == [BarKind.APPROVAL]
    await console.go_on(1)
    await until(lambda: page._view is not None and BarKind.EXECUTION in kinds(page))


async def test_a_selected_bar_is_what_the_commands_act_on(page: TimelinePage, console: Console) -> None:
    order = await console.submit("Mend rounding")
    await until(lambda: page._view is not None and page._view.bars)
    QTest.keyClick(page.canvas, Qt.Key.Key_Down)
    assert page.selection is not None
    assert (page.selection.kind, page.selection.id) == (NodeKind.WORK_ORDER, order)
    assert page._detail.text().startswith("WO-1 · implement: wait for approval, pending · Mend rounding")
    QTest.keyClick(page.canvas, Qt.Key.Key_Return)
    (row,) = await console.engine.approvals.inbox()
    assert console.opened == [("inbox", row.approval_id)]
    press(page, "Work order")
    assert console.opened[-1] == ("work_orders", order)


async def test_each_kind_of_bar_opens_its_page(page: TimelinePage, console: Console) -> None:
    order = await console.finished()
    await console.engine.hold(WHOLE_ENGINE, console.session.actor, reason="look")
    await until(lambda: page._view is not None and BarKind.HOLD in kinds(page))
    assert page._view is not None
    bars = {bar.kind: bar for bar in page._view.bars if bar.purpose in ("IMPLEMENT", None)}
    for kind, (key, subject) in {
        BarKind.APPROVAL: ("work_orders", order),
        BarKind.CLAIM: ("work_orders", order),
        BarKind.EXECUTION: ("evidence", bars[BarKind.EXECUTION].subject),
        BarKind.VALIDATION: ("evidence", bars[BarKind.EXECUTION].subject),
        BarKind.HOLD: ("journal", ""),
    }.items():
        page._open(bars[kind])
        assert console.opened[-1] == (key, subject), kind


async def test_the_table_says_the_same(page: TimelinePage, console: Console) -> None:
    """B-118: every bar in view is a row with its whole text."""
    await console.finished()
    await until(lambda: page._view is not None and BarKind.VALIDATION in kinds(page))
    page._as_table.setChecked(True)
    model = page.table._model
    assert page._view is not None
    assert model.rowCount() == len(page._view.bars) + len(page._view.marks)
    said = [
        str(model.data(model.index(number, 0), Qt.ItemDataRole.AccessibleTextRole))
        for number in range(model.rowCount())
    ]
    assert any("WO-1 · implement: execution, succeeded" in text for text in said)
    place = next(number for number, text in enumerate(said) if "execution, succeeded" in text)
    page.table.table.choose(place)
    assert page.canvas.selected is model.row(place)


async def test_search_and_grouping_are_asked_of_the_engine(page: TimelinePage, console: Console) -> None:
    await console.submit("Mend rounding")
    await console.submit("Publish docs")
    await until(lambda: page._view is not None and len(page._view.lanes) == 2)
    page.search("publish")
    await until(lambda: page._view is not None and len(page._view.lanes) == 1)
    page.search("nothing like it")
    await until(lambda: page._view is not None and not page._view.lanes)
    assert "matches “nothing like it”" in page.canvas._nothing
    page.search("")
    page._grouping.setCurrentIndex(1)
    await until(lambda: page._view is not None and page._view.lanes and page._view.lanes[0].number is None)
    assert page._view is not None
    assert [lane.key for lane in page._view.lanes] == [str(console.workspace)]


async def test_a_selection_made_elsewhere_marks_its_lane(page: TimelinePage, console: Console) -> None:
    order = await console.submit()
    await until(lambda: page._view is not None and page._view.lanes)
    page.show_subject(order)
    await console.settle()
    assert page.canvas._marked_lane == order
    assert not page.canvas.following


async def test_jump_to_a_time(page: TimelinePage, console: Console) -> None:
    await console.submit()
    page._jump()
    dialog = await question()
    field = dialog.findChild(QDateTimeEdit)
    assert field is not None
    field.setDateTime(field.dateTime().addDays(-2))
    wanted = field.dateTime().toMSecsSinceEpoch()
    press(dialog, "Jump")
    await console.settle()
    assert abs(page.canvas.scale.instant(page.canvas.scale.x(wanted)) - wanted) <= 1000
    assert page.canvas.scale.start < wanted < page.canvas.scale.end
