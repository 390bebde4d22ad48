"""The widget: what is under the pointer, keys, following, and that it paints what it should."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.panels.timeline.canvas import TimelineCanvas
from app.panels.timeline.lanes import RANKS
from app.panels.timeline.painting import tone_fill, tone_ink
from app.theme import Theme, Tone, tokens
from app.widgets import Times, Zone
from engine.clock import ManualClock
from engine.clock_watch import AnomalyKind
from engine.views.timeline import BarKind, MarkKind, TimelineBar, TimelineCell, TimelineMark
from tests.app.panels.timeline.samples import HOUR, START, bar, view


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def canvas(themed: Theme, clock: ManualClock) -> Iterator[TimelineCanvas]:
    """600 by 300 pixels beside the titles, showing the hour up to a little after `START`."""
    made = TimelineCanvas(Times(clock.now, Zone.UTC))
    made.resize(800, 400)
    made.show()
    yield made
    made.hide()
    made.deleteLater()


def place_of(canvas: TimelineCanvas, one: TimelineBar) -> QPointF:
    """The middle of a bar on the viewport."""
    found = canvas._place().place_of(one)
    assert found is not None
    top = canvas._place().shown(canvas._place().row_top(*found))
    end = one.end if one.end is not None else START
    return QPointF((canvas.scale.x(one.start) + canvas.scale.x(end)) / 2, top + canvas._row / 2)


def click(canvas: TimelineCanvas, place: QPointF) -> None:
    QTest.mouseClick(
        canvas.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place.toPoint()
    )


def test_a_click_selects_and_a_click_beside_deselects(canvas: TimelineCanvas) -> None:
    one, other = bar("1", -HOUR // 2, -HOUR // 4), bar("2", -HOUR // 2, None, "b")
    canvas.show_view(view(one, other))
    chosen: list[object] = []
    canvas.chosen.connect(chosen.append)
    click(canvas, place_of(canvas, one))
    click(canvas, place_of(canvas, other))
    click(canvas, QPointF(canvas.scale.left + 4, canvas.viewport().height() - 4))
    assert chosen == [one, other, None]


def test_a_double_click_opens(canvas: TimelineCanvas) -> None:
    one = bar("1", -HOUR // 2, -HOUR // 4)
    canvas.show_view(view(one))
    opened: list[object] = []
    canvas.opened.connect(opened.append)
    place = place_of(canvas, one).toPoint()
    QTest.mouseDClick(canvas.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)
    assert opened == [one]


def test_a_bar_thinner_than_a_pixel_can_be_hit(canvas: TimelineCanvas) -> None:
    one = bar("1", -HOUR // 2, -HOUR // 2 + 5)
    canvas.show_view(view(one))
    assert canvas.bar_at(place_of(canvas, one) + QPointF(3, 0)) is one
    assert canvas.bar_at(place_of(canvas, one) + QPointF(9, 0)) is None


def test_keys_go_from_bar_to_bar_and_lane_to_lane(canvas: TimelineCanvas) -> None:
    """B-118: everything by keyboard, and said in words."""
    first, second = bar("1", -3000_000, -2900_000), bar("2", -2000_000, -1900_000)
    below = bar("3", -2050_000, -1000_000, "b", state="UNKNOWN")
    canvas.show_view(view(first, second, below))
    QTest.keyClick(canvas, Qt.Key.Key_Down)
    assert canvas.selected is second
    QTest.keyClick(canvas, Qt.Key.Key_Left)
    assert canvas.selected is first
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    QTest.keyClick(canvas, Qt.Key.Key_Down)
    assert canvas.selected is below
    assert "WO-7 · implement: execution, UNKNOWN" in canvas.accessibleDescription()
    opened: list[object] = []
    canvas.opened.connect(opened.append)
    QTest.keyClick(canvas, Qt.Key.Key_Return)
    assert opened == [below]
    QTest.keyClick(canvas, Qt.Key.Key_Escape)
    assert canvas.selected is None


def test_a_bar_out_of_view_is_brought_into_it(canvas: TimelineCanvas) -> None:
    far = bar("1", -20 * HOUR, -19 * HOUR)
    canvas.show_view(view(far, bar("2", -1000, None)))
    canvas.select(far, reveal=True)
    assert canvas.scale.start <= far.start <= canvas.scale.end
    assert not canvas.following


def test_following_moves_on_with_time_until_the_person_pans(
    canvas: TimelineCanvas, clock: ManualClock
) -> None:
    before = canvas.scale
    clock.advance(10_000)
    canvas.tick()
    assert canvas.scale.start == before.start + 10_000
    told: list[bool] = []
    canvas.followed.connect(told.append)
    QTest.keyClick(canvas, Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    stood = canvas.scale
    clock.advance(10_000)
    canvas.tick()
    assert canvas.scale == stood
    QTest.keyClick(canvas, Qt.Key.Key_End)
    assert canvas.scale.start == before.start + 20_000
    assert told == [False, True]


def test_ctrl_and_wheel_zoom_time_only(canvas: TimelineCanvas) -> None:
    canvas.show_view(view(bar("1", -HOUR // 2, None)))
    canvas.follow(False)
    rows, place = canvas._row, QPointF(500, 200)
    under = canvas.scale.instant(500)
    event = QWheelEvent(
        place,
        canvas.viewport().mapToGlobal(place),
        QPoint(0, 0),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.ControlModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    span = canvas.scale.span_ms
    QApplication.sendEvent(canvas.viewport(), event)
    assert canvas.scale.span_ms < span
    assert abs(canvas.scale.instant(500) - under) < span / 100
    assert canvas._row == rows


def test_fit_shows_everything(canvas: TimelineCanvas) -> None:
    canvas.show_view(view(bar("1", -HOUR, None)))
    QTest.keyClick(canvas, Qt.Key.Key_Home)
    assert canvas.scale.start < START - HOUR
    assert canvas.scale.end > START


def test_dragging_moves_time_and_selects_nothing(canvas: TimelineCanvas) -> None:
    one = bar("1", -HOUR // 2, -HOUR // 4)
    canvas.show_view(view(one))
    start = canvas.scale.start
    place = place_of(canvas, one).toPoint()
    port = canvas.viewport()
    QTest.mousePress(port, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)
    QTest.mouseMove(port, place + QPoint(30, 0))
    QTest.mouseMove(port, place + QPoint(60, 0))
    QTest.mouseRelease(port, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place + QPoint(60, 0))
    assert canvas.scale.start < start
    assert canvas.selected is None


def test_lanes_that_are_not_loaded_are_asked_for_at_the_end(canvas: TimelineCanvas) -> None:
    asked: list[int] = []
    canvas.lanes_wanted.connect(lambda: asked.append(1))
    many = [bar(str(number), -1000, None, f"{number:03d}") for number in range(50)]
    canvas.show_view(view(*many, more_lanes=True))
    assert asked == []
    canvas.verticalScrollBar().setValue(canvas.verticalScrollBar().maximum())
    assert asked


def test_the_worst_of_many_shows_in_a_column(canvas: TimelineCanvas) -> None:
    """Thousands of bars on some hundred pixels: one UNKNOWN among them is seen."""
    step = HOUR // 5_000
    many = [
        bar(str(number), -HOUR + number * step, -HOUR + number * step + step, state="SUCCEEDED")
        for number in range(5_000)
    ]
    many[2_500] = bar("x", -HOUR + 2_500 * step, -HOUR + 2_500 * step + step, state="UNKNOWN")
    canvas.show_view(view(*many))
    picture = canvas.viewport().grab().toImage()
    place = place_of(canvas, many[2_500])
    violet = tone_fill(RANKS.index(Tone.UNKNOWN), tokens()).rgb()
    near = {picture.pixel(int(place.x()) + by, int(place.y())) for by in range(-3, 4)}
    assert violet in near
    green = tone_fill(RANKS.index(Tone.OK), tokens()).rgb()
    assert picture.pixel(int(place.x()) - 60, int(place.y())) == green


def test_tips_say_marks_counts_and_lanes(canvas: TimelineCanvas) -> None:
    marks = (
        TimelineMark(MarkKind.SUSPEND, "s", START - HOUR, START - HOUR // 2, HOUR // 2, AnomalyKind.SUSPEND),
        TimelineMark(
            MarkKind.CLOCK_STEP, "c", START - 60_000, START - 180_000, 120_000, AnomalyKind.WALL_BACK
        ),
        TimelineMark(MarkKind.EPOCH, "3", START - 600_000, START - 600_000, 0, None),
    )
    start = START - HOUR
    cells = (TimelineCell("a", 10, BarKind.EXECUTION, "FAILED", 12),)
    canvas.show_view(view(cells=cells, marks=marks, start=start))
    slept = canvas._tip_at(QPointF(canvas.scale.x(START - 45 * 60_000), 10))
    assert slept[0] == "The machine slept for 30 min."
    stepped = canvas._tip_at(QPointF(canvas.scale.x(START - 120_000), 10))
    assert stepped[0] == "The clock stepped back by 2 min."
    epoch = canvas._tip_at(QPointF(canvas.scale.x(START - 600_000), 10))
    assert epoch[0].startswith("Epoch 3 began")
    counted = canvas._tip_at(QPointF(canvas.scale.x(start + 10 * 60_000 + 30_000), canvas._axis + 10))
    assert counted[0].startswith("12 executions, failed, beginning within 1 min from")
    lane = canvas._tip_at(QPointF(20, canvas._axis + 10))
    assert lane[0] == "WO-7"


def test_nothing_at_all_is_said(canvas: TimelineCanvas) -> None:
    canvas.show_view(view())
    canvas.say_nothing("Nothing happened in this window.")
    assert not canvas.viewport().grab().isNull()
    assert canvas.bar_at(QPointF(400, 100)) is None
    QTest.keyClick(canvas, Qt.Key.Key_Down)
    assert canvas.selected is None


def test_no_label_of_the_axis_is_cut_at_an_edge(canvas: TimelineCanvas) -> None:
    """A label that does not fit whole is not drawn; its tick is."""
    canvas.show_view(view(bar("1", -HOUR, None)))
    # The labels stand between the marks above them and the ticks below.
    rows = range(canvas._axis - canvas.fontMetrics().height() - 7, canvas._axis - 9)
    for _ in range(20):
        image = canvas.viewport().grab().toImage()
        assert len({image.pixel(image.width() - 1, y) for y in rows}) == 1
        canvas.follow(False)
        canvas.pan(0.01)


def test_an_expired_lease_is_marked_where_it_ended(canvas: TimelineCanvas) -> None:
    """Issue 3: renewals and expiry are seen; a released claim has no such mark."""
    gone = bar("1", -HOUR // 2, -HOUR // 4, kind=BarKind.CLAIM, state="EXPIRED", until=START - HOUR // 4)
    given = bar(
        "2", -HOUR // 2, -HOUR // 4, "b", kind=BarKind.CLAIM, state="RELEASED", until=START - HOUR // 4
    )
    canvas.show_view(view(gone, given))
    picture = canvas.viewport().grab().toImage()
    ink = tone_ink(RANKS.index(Tone.WARN), tokens()).rgb()

    def marked(one: TimelineBar) -> bool:
        y, x = int(place_of(canvas, one).y()), round(canvas.scale.x(START - HOUR // 4))
        near = range(-5, 6)
        return any(picture.pixel(x + by, y + down) == ink for by in near for down in near)

    assert marked(gone)
    assert not marked(given)
