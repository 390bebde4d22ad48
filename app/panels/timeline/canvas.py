"""The timeline itself: one widget that paints what is in view, and nothing else.

Lanes run down, time runs across. Only the lanes and bars in view are looked at; bars thinner than pixels are painted as
columns. The text twin beside it (`app.panels.timeline.table`) says the same to screen readers.
"""

from __future__ import annotations

from itertools import accumulate

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QToolTip, QWidget

from app.panels.timeline.lanes import Lane, arranged
from app.panels.timeline.layout import LANE_PAD, Layout, same_bar
from app.panels.timeline.scale import TimeScale
from app.panels.timeline.scene import Scene, paint_scene
from app.panels.timeline.words import bar_lines, cell_line, lane_title, mark_lines
from app.panels.words import plain_tip
from app.theme import Density, theme, tokens
from app.widgets import Times
from engine.instants import Instant
from engine.states import HoldKind
from engine.views.timeline import BarKind, Grouping, TimelineBar, TimelineView

HOUR_MS = 3_600_000
_FOLLOW_SHARE = 0.06
"""How much of the window lies beyond now while it is followed."""

_ZOOM = 1.25
_SCROLL_UNITS = 100_000


class TimelineCanvas(QAbstractScrollArea):
    """Bars over time.

    ``moved`` comes when another window of time is in view, ``chosen(TimelineBar or None)`` when another bar is
    selected, ``opened(TimelineBar)`` on double click or Enter, ``lanes_wanted`` when the last lane came into view
    and there are more, ``followed(bool)`` when following now begins or ends.
    """

    moved = Signal()
    chosen = Signal(object)
    opened = Signal(object)
    lanes_wanted = Signal()
    followed = Signal(bool)

    def __init__(self, times: Times, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setAccessibleName("Timeline")
        self._say("Nothing is selected.")
        self.viewport().setMouseTracking(True)
        self._times = times
        now = times.now()
        self._view: TimelineView | None = None
        self._lanes: list[Lane] = []
        self._distrusted: list[TimelineBar] = []
        self._tops: list[int] = [0]
        self._first = now - HOUR_MS
        self._following = True
        self._scale = TimeScale(now - HOUR_MS, HOUR_MS, 0.0, 1.0)
        self._selected: TimelineBar | None = None
        self._marked_lane = ""
        self._nothing = ""
        self._pressed: QPoint | None = None
        self._dragging = False
        self._drag_start: Instant = 0
        self._syncing = False
        self._gutter = 190
        self._axis = 40
        self._row = 20
        self.horizontalScrollBar().valueChanged.connect(self._scrolled_across)
        self.verticalScrollBar().valueChanged.connect(self._scrolled_down)
        self.horizontalScrollBar().setAccessibleName("Time")
        self.verticalScrollBar().setAccessibleName("Lanes")
        times.ticked.connect(self.tick)
        times.changed.connect(self.viewport().update)
        if (look := theme()) is not None:
            look.changed.connect(self._measure)
        self._measure()
        self._follow()

    # ----------------------------------------------------------------------------- what a page asks and says

    @property
    def scale(self) -> TimeScale:
        """The window in view."""
        return self._scale

    @property
    def following(self) -> bool:
        """Whether the window moves on with time."""
        return self._following

    @property
    def selected(self) -> TimelineBar | None:
        """The selected bar."""
        return self._selected

    def show_view(self, view: TimelineView) -> None:
        """Show what was read; selection, place and window stay."""
        self._view = view
        self._first = min(view.first, view.now - 60_000)
        self._lanes = arranged(view.lanes, view.bars, view.cells)
        self._distrusted = [
            bar for bar in view.bars if bar.kind is BarKind.HOLD and bar.state == HoldKind.CLOCK
        ]
        if self._selected is not None:
            same = next((bar for bar in view.bars if same_bar(bar, self._selected)), None)
            self._selected = same or self._selected
        self._lay_out()

    def follow(self, on: bool = True) -> None:
        """Move on with time from now, or stay."""
        if on != self._following:
            self._following = on
            self.followed.emit(on)
        if on:
            self._follow()

    def fit(self) -> None:
        """Show everything from the first entry to now."""
        now = self._times.now()
        span = max(now - self._first, 60_000)
        self._go(self._scale.moved_to(self._first - span // 50, span + span // 25), stay=False)

    def jump_to(self, instant: Instant) -> None:
        """Bring an instant into the middle of the window."""
        self._go(self._scale.moved_to(instant - self._scale.span_ms // 2, self._scale.span_ms), stay=False)

    def show_span(self, span_ms: int) -> None:
        """Show so much time: up to now while following, else about the middle."""
        middle = self._scale.start + self._scale.span_ms // 2
        self._go(self._scale.zoomed(self._scale.span_ms / span_ms, middle))

    def show_window(self, start: Instant, end: Instant) -> None:
        """Show exactly this window."""
        self._go(self._scale.moved_to(start, max(end - start, 1)), stay=False)

    def zoom(self, factor: float, about: Instant | None = None) -> None:
        """Zoom about an instant: the selected bar's if it is in view, else the middle."""
        if about is None:
            bar = self._selected
            middle = self._scale.start + self._scale.span_ms // 2
            in_view = bar is not None and self._scale.start <= bar.start <= self._scale.end
            about = bar.start if bar is not None and in_view else middle
        self._go(self._scale.zoomed(factor, about))

    def pan(self, share: float) -> None:
        """Move by a share of the window; what is past stays where it is put."""
        self._go(self._scale.panned(round(share * self._scale.span_ms)), stay=False)

    def select(self, bar: TimelineBar | None, *, reveal: bool = False) -> None:
        """Select a bar; with ``reveal`` bring it into view."""
        changed = bar is not self._selected
        self._selected = bar
        self._say(", ".join(bar_lines(bar, self._times)) if bar is not None else "Nothing is selected.")
        if bar is not None and reveal:
            self._reveal(bar)
        self.viewport().update()
        if changed:
            self.chosen.emit(bar)

    def mark_lane(self, key: str, *, reveal: bool = False) -> None:
        """Mark the lane of what is selected elsewhere; with ``reveal`` bring it into view."""
        self._marked_lane = key
        number = next((at for at, lane in enumerate(self._lanes) if lane.lane.key == key), -1)
        if reveal and number >= 0:
            self.verticalScrollBar().setValue(self._tops[number])
        self.viewport().update()

    def say_nothing(self, text: str) -> None:
        """Say ``text`` where no bars are; "" if there are some."""
        self._nothing = text
        self.viewport().update()

    def tick(self) -> None:
        """A second has passed."""
        if self._following:
            self._follow()
        else:
            self.viewport().update()

    # ------------------------------------------------------------------------------------ window and layout

    def _measure(self) -> None:
        look = theme()
        compact = look is not None and look.density is Density.COMPACT
        line = self.fontMetrics().height()
        self._row = line + (2 if compact else 5)
        self._axis = 2 * line + 10
        self._gutter = min(max(self.fontMetrics().averageCharWidth() * 26, 150), 240)
        self._lay_out()

    def _lay_out(self) -> None:
        heights = [lane.height * self._row + 2 * LANE_PAD for lane in self._lanes]
        self._tops = [0, *accumulate(heights)]
        size = self.viewport().size()
        self._scale = self._scale.over(self._gutter, size.width() - self._gutter)
        room = size.height() - self._axis
        down = self.verticalScrollBar()
        down.setSingleStep(self._row)
        down.setPageStep(max(room, 1))
        down.setRange(0, max(0, self._tops[-1] - room))
        self._sync_across()
        self._want_lanes()
        self.viewport().update()

    def _sync_across(self) -> None:
        """Make the scroll bar say where the window lies between the first entry and now."""
        scale = self._scale
        first = min(self._first, scale.start)
        last = max(self._times.now(), scale.end)
        unit = max(1, (last - first) // _SCROLL_UNITS)
        across = self.horizontalScrollBar()
        self._syncing = True
        across.setPageStep(max(1, scale.span_ms // unit))
        across.setSingleStep(max(1, scale.span_ms // unit // 20))
        across.setRange(0, max(0, (last - first - scale.span_ms) // unit))
        across.setValue((scale.start - first) // unit)
        self._syncing = False
        self._unit, self._origin = unit, first

    def _scrolled_across(self, value: int) -> None:
        if not self._syncing:
            at_end = value == self.horizontalScrollBar().maximum()
            start = self._origin + value * self._unit
            self._go(self._scale.moved_to(start, self._scale.span_ms), stay=at_end and self._following)

    def _scrolled_down(self) -> None:
        self._want_lanes()
        self.viewport().update()

    def _want_lanes(self) -> None:
        if self._view is not None and self._view.more_lanes:
            bottom = self.verticalScrollBar().value() + self.viewport().height()
            if bottom >= self._tops[-1]:
                self.lanes_wanted.emit()

    def _go(self, scale: TimeScale, *, stay: bool = True) -> None:
        """Show another window; unless ``stay``, following now ends."""
        if not stay:
            self.follow(False)
        changed = scale != self._scale
        self._scale = scale
        if self._following:
            self._follow()
            return
        self._sync_across()
        self.viewport().update()
        if changed:
            self.moved.emit()

    def _follow(self) -> None:
        span = self._scale.span_ms
        ahead = max(1, round(span * _FOLLOW_SHARE))
        self._scale = self._scale.moved_to(self._times.now() + ahead - span, span)
        self._sync_across()
        self.viewport().update()
        self.moved.emit()

    def _reveal(self, bar: TimelineBar) -> None:
        scale = self._scale
        if not scale.start <= bar.start <= scale.end:
            self.jump_to(bar.start)
        layout = self._place()
        place = layout.place_of(bar)
        if place is not None:
            top = layout.row_top(*place)
            down = self.verticalScrollBar()
            room = self.viewport().height() - self._axis
            if top < down.value():
                down.setValue(top)
            elif top + self._row > down.value() + room:
                down.setValue(top + self._row - room)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Lay out for another size."""
        super().resizeEvent(event)
        self._lay_out()
        self.moved.emit()

    # ---------------------------------------------------------------------------------------------- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint what is in view."""
        scene = Scene(
            self._place(),
            self._view,
            self._distrusted,
            self._selected,
            self._marked_lane,
            self._nothing,
            self.hasFocus(),
            self._times.now(),
        )
        paint_scene(QPainter(self.viewport()), scene, self._times, tokens())

    # ------------------------------------------------------------------------------------ what is where

    def _place(self) -> Layout:
        size = self.viewport().size()
        return Layout(
            self._lanes,
            self._tops,
            self._scale,
            self._gutter,
            self._axis,
            self._row,
            self.verticalScrollBar().value(),
            size.width(),
            size.height(),
        )

    def bar_at(self, place: QPointF) -> TimelineBar | None:
        """The bar at a place of the viewport, or near it."""
        return self._place().bar_at(place, self._times.now())

    def _tip_at(self, place: QPointF) -> tuple[str, ...]:
        times = self._times
        if place.y() < self._axis:
            near = 6 / self._scale.per_ms
            instant = self._scale.instant(place.x())
            for mark in self._view.marks if self._view is not None else ():
                low, high = sorted((mark.start, mark.end))
                if low - near <= instant <= high + near:
                    return mark_lines(mark, times)
            return (times.exact(instant),) if place.x() > self._gutter else ()
        number = self._place().lane_at(place.y())
        if number < 0:
            return ()
        lane = self._lanes[number]
        if place.x() < self._gutter:
            grouping = self._view.grouping if self._view is not None else Grouping.WORK_ORDER
            return (*lane_title(lane.lane, grouping), f"{lane.lane.bars} in this window")
        bar = self.bar_at(place)
        if bar is not None:
            return (*bar_lines(bar, times), "Double click or Enter opens it.")
        if lane.columns and self._view is not None:
            at = (self._scale.instant(place.x()) - self._view.start) // self._view.slice_ms
            start = self._view.start + at * self._view.slice_ms
            return tuple(
                cell_line(cell, start, self._view.slice_ms, times) for cell in lane.cells if cell.slice == at
            )
        return ()

    # --------------------------------------------------------------------------------------- mouse and keys

    def viewportEvent(self, event: QEvent) -> bool:
        """Say what is under the pointer."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            lines = self._tip_at(QPointF(event.pos()))
            if lines:
                QToolTip.showText(event.globalPos(), plain_tip(*lines), self.viewport())
            else:
                QToolTip.hideText()
            return True
        return super().viewportEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Ctrl zooms about the pointer, Shift or a sideways wheel pans, else the lanes scroll."""
        steps = event.angleDelta()
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            about = self._scale.instant(max(event.position().x(), self._gutter))
            self.zoom(_ZOOM ** (steps.y() / 120), self._times.now() if self._following else about)
        elif event.modifiers() & Qt.KeyboardModifier.ShiftModifier or abs(steps.x()) > abs(steps.y()):
            turned = steps.x() or steps.y()
            self.pan(-turned / 120 / 10)
        else:
            down = self.verticalScrollBar()
            down.setValue(down.value() - round(steps.y() / 120 * 3 * self._row))
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin a click or a drag."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed = event.position().toPoint()
            self._dragging = False
            self._drag_start = self._scale.start

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag the time along; over a bar the pointer says that it can be clicked."""
        if self._pressed is None:
            over = self.bar_at(event.position())
            shape = Qt.CursorShape.PointingHandCursor if over is not None else Qt.CursorShape.ArrowCursor
            self.viewport().setCursor(shape)
            return
        moved = event.position().toPoint() - self._pressed
        if not self._dragging and abs(moved.x()) > 5:
            self._dragging = True
            self.viewport().setCursor(Qt.CursorShape.ClosedHandCursor)
        if self._dragging:
            start = self._drag_start - round(moved.x() / self._scale.per_ms)
            self._go(self._scale.moved_to(start, self._scale.span_ms), stay=False)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click selects what is there."""
        pressed, self._pressed = self._pressed, None
        if pressed is not None and not self._dragging:
            self.select(self.bar_at(event.position()))
        self._dragging = False
        self.viewport().setCursor(Qt.CursorShape.ArrowCursor)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Open what is there."""
        bar = self.bar_at(event.position())
        if bar is not None:
            self.select(bar)
            self.opened.emit(bar)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows go from bar to bar and from lane to lane; with Shift they move the window."""
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        match event.key():
            case Qt.Key.Key_Left | Qt.Key.Key_Right if shift:
                self.pan(0.1 if event.key() == Qt.Key.Key_Right else -0.1)
            case Qt.Key.Key_Left:
                self._step(-1)
            case Qt.Key.Key_Right:
                self._step(1)
            case Qt.Key.Key_Up:
                self._step_lane(-1)
            case Qt.Key.Key_Down:
                self._step_lane(1)
            case Qt.Key.Key_Plus | Qt.Key.Key_Equal:
                self.zoom(_ZOOM**2)
            case Qt.Key.Key_Minus:
                self.zoom(_ZOOM**-2)
            case Qt.Key.Key_Home:
                self.fit()
            case Qt.Key.Key_End:
                self.follow()
            case Qt.Key.Key_Return | Qt.Key.Key_Enter if self._selected is not None:
                if not event.isAutoRepeat():
                    self.opened.emit(self._selected)
            case Qt.Key.Key_Escape if self._selected is not None:
                self.select(None)
            case _:
                super().keyPressEvent(event)

    def _step(self, by: int) -> None:
        """Select the next or previous bar of the lane, in the order of start."""
        bar = self._selected
        if bar is None:
            self._step_lane(1)
            return
        bars = self._bars_of(bar.lane)
        at = next((place for place, found in enumerate(bars) if same_bar(found, bar)), None)
        if at is not None and 0 <= at + by < len(bars):
            self.select(bars[at + by], reveal=True)

    def _step_lane(self, by: int) -> None:
        """Select the bar nearest in time in the next lane that has one."""
        bar = self._selected
        keys = [lane.lane.key for lane in self._lanes]
        number = keys.index(bar.lane) + by if bar is not None and bar.lane in keys else 0
        wanted = bar.start if bar is not None else self._scale.end
        while 0 <= number < len(self._lanes):
            bars = self._bars_of(keys[number])
            if bars:
                self.select(min(bars, key=lambda found: abs(found.start - wanted)), reveal=True)
                return
            number += by

    def _bars_of(self, key: str) -> list[TimelineBar]:
        lane = next((lane for lane in self._lanes if lane.lane.key == key), None)
        rows = lane.rows if lane is not None else []
        return sorted((bar for row in rows for bar in row.bars), key=lambda bar: (bar.start, bar.id))

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show where the focus is."""
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Show that the focus went."""
        super().focusOutEvent(event)
        self.viewport().update()

    def _say(self, text: str) -> None:
        keys = (
            "Arrows go from bar to bar, Shift and arrows move the window, plus and minus zoom, Enter opens."
        )
        self.setAccessibleDescription(f"{text} {keys}")
