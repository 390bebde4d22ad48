"""The part "Lanes and figures", and what a histogram says."""

from __future__ import annotations

import asyncio

import pytest
from PySide6.QtCore import QEvent, QPoint
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication

from app.panels.wakes.histogram import HistogramView, bucket_words, histogram_words, within
from app.theme import Theme
from engine.wakes.metrics import BUCKETS_MS, Histogram
from tests.app.conftest import until
from tests.app.panels.wakes.conftest import MINUTE, Desk


def made_of(*samples: int) -> Histogram:
    found = Histogram()
    for sample in samples:
        found.add(sample)
    return found


def test_a_histogram_in_words() -> None:
    assert histogram_words(Histogram()) == "None yet, since this console was started."
    found = made_of(*[3] * 98, 40, 9_000_000)
    assert within(found, 0.5) == "≤ 5 ms"
    assert within(found, 0.99) == "≤ 50 ms"
    assert within(found, 1.0) == "> 1 h"
    assert within(Histogram(), 0.5) == "–"
    assert histogram_words(found).startswith("100 measured: half took ≤ 5 ms, 99 % took ≤ 50 ms;")
    assert bucket_words(0) == "up to 5 ms"
    assert bucket_words(len(BUCKETS_MS)) == "above 1 h"


@pytest.mark.parametrize("width", [300, 900])
def test_a_histogram_is_painted_and_tells_a_bar_under_the_pointer(themed: Theme, width: int) -> None:
    view = HistogramView("How late")
    view.resize(width, 104)
    empty = view.grab().toImage()
    view.show_histogram(made_of(3, 3, 700))
    assert view.grab().toImage() != empty
    assert "3 measured" in view.accessibleDescription()
    help_event = QHelpEvent(QEvent.Type.ToolTip, QPoint(5, 40), view.mapToGlobal(QPoint(5, 40)))
    assert QApplication.sendEvent(view, help_event)
    view.deleteLater()


async def test_kinds_and_lanes_are_shown_as_they_are(desk: Desk) -> None:
    desk.page.show_subject("figures")
    await desk.settle()
    part = desk.page.figures
    testers = [
        QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal, desk.page)
        for model in (part.kinds, part.lanes)
    ]
    assert len(testers) == 2
    assert "No lane has anything to do" in desk.shown(part)
    assert "Nothing has fired yet" in desk.shown(part)
    await desk.book(in_="1m")
    await desk.book(in_="1m")
    await desk.pass_time(2 * MINUTE)
    desk.session.times.ticked.emit()
    await desk.settle()
    (row,) = [part.kinds.row(number) for number in range(part.kinds.rowCount())]
    assert (row.kind, row.count("fired"), row.count("late")) == ("report", "2", "2")
    assert "2 measured: half took ≤ 1 min" in desk.shown(part)
    desk.sink.parking = True
    for number in range(3):
        await desk.book(in_=f"{number + 1}m", lane="deploys")
    desk.clock.advance(MINUTE)
    passing = asyncio.create_task(desk.alarm.run_due())
    await until(lambda: desk.alarm.running)
    desk.session.times.ticked.emit()
    await desk.settle()
    lane = part.lanes.row(0)
    assert (lane.lane, lane.waiting, lane.stop_on_failure) == ("deploys", 2, False)
    assert lane.firing is not None
    assert not part._on_failure.isEnabled()
    part._lane_table.choose(0)
    said = await desk.decide(part._on_failure, "Stop when one dies")
    assert "until you release or drop" in said
    assert part.lanes.row(0).stop_on_failure
    assert part._on_failure.text() == "Go on when one dies…"
    desk.sink.let_go()
    await passing
