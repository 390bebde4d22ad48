"""The timeline itself: one widget that paints what is in view, and nothing else.

Lanes run down, time runs across. Only the lanes and bars in view are looked at; bars thinner than pixels are painted as
columns. The text twin beside it (`app.panels.timeline.table`) says the same to screen readers.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QToolTip, QWidget

from app.panels.timeline.lanes import Lane, Row, arranged
from app.panels.timeline.painting import RowPainter, bar_rect, hatch, paint_counts
from app.panels.timeline.scale import TimeScale, ticks
from app.panels.timeline.words import bar_lines, cell_line, lane_title, mark_lines
from app.panels.words import plain_tip
from app.theme import Density, Shape, Text, Tokens, draw_shape, font, theme, tokens
from app.widgets import Times
from engine.instants import Instant
from engine.states import HoldKind
from engine.views.timeline import BarKind, Grouping, MarkKind, TimelineBar, TimelineMark, TimelineView

HOUR_MS = 3_600_000
_TICK_ROOM = 92.0
_NEAR_PX = 4.0
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
            same = next((bar for bar in view.bars if _same(bar, self._selected)), None)
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
        pad = 4
        heights = [lane.height * self._row + 2 * pad for lane in self._lanes]
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
        place = self._place_of(bar)
        if place is not None:
            top = self._row_top(*place)
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
        colours = tokens()
        painter = QPainter(self.viewport())
        width, height = self.viewport().width(), self.viewport().height()
        painter.fillRect(self.viewport().rect(), colours.surface)
        now = self._times.now()
        first, behind = self._lanes_in_view()
        offset = self._axis - self.verticalScrollBar().value()
        painter.setClipRect(QRect(self._gutter, 0, width - self._gutter, height))
        self._paint_ground(painter, colours, now)
        painter.setClipRect(QRect(self._gutter, self._axis, width - self._gutter, height - self._axis))
        self._paint_lanes(painter, colours, now, first, behind, offset)
        self._paint_marks_over(painter, colours)
        self._paint_selected(painter, colours, now)
        painter.setClipRect(QRect(0, self._axis, width, height - self._axis))
        self._paint_titles(painter, colours, first, behind, offset)
        painter.setClipping(False)
        if self._nothing:
            painter.setPen(colours.muted)
            painter.setFont(font(Text.BODY))
            place = QRect(self._gutter + 20, self._axis, width - self._gutter - 40, height - self._axis)
            painter.drawText(
                place, int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap), self._nothing
            )
        self._paint_axis(painter, colours, now)

    def _lanes_in_view(self) -> tuple[int, int]:
        top = self.verticalScrollBar().value()
        bottom = top + self.viewport().height() - self._axis
        first = max(0, bisect_right(self._tops, top) - 1)
        return first, min(bisect_left(self._tops, bottom), len(self._lanes))

    def _paint_ground(self, painter: QPainter, colours: Tokens, now: Instant) -> None:
        """Grid, time to come, sleep, and spans in which the clock was distrusted."""
        scale = self._scale
        height = self.viewport().height()
        ahead = scale.x(now)
        if ahead < scale.left + scale.width:
            painter.fillRect(QRectF(max(ahead, scale.left), 0, scale.width, height), colours.window)
        for tick in ticks(scale, self._times, _TICK_ROOM):
            x = round(scale.x(tick.instant))
            painter.setPen(
                QPen(colours.border, 1, Qt.PenStyle.SolidLine if tick.strong else Qt.PenStyle.DotLine)
            )
            painter.drawLine(x, self._axis, x, height)
        if self._view is None:
            return
        faint = QColor(colours.bad_back)
        faint.setAlpha(130)
        for bar in self._distrusted:
            rect = bar_rect(bar, scale, now, self._axis, height - self._axis)
            rect.setTop(self._axis)
            rect.setBottom(height)
            painter.fillRect(rect, faint)
        for mark in self._view.marks:
            if mark.kind is MarkKind.SUSPEND:
                left, right = sorted((scale.x(mark.start), scale.x(mark.end)))
                rect = QRectF(left, self._axis, max(right - left, 2.0), height)
                painter.fillRect(rect, colours.chip)
                painter.fillRect(rect, hatch(colours.muted, 120))

    def _paint_lanes(
        self, painter: QPainter, colours: Tokens, now: Instant, first: int, behind: int, offset: int
    ) -> None:
        rows = RowPainter(painter, self._scale, now, colours, self._row)
        for number in range(first, behind):
            lane = self._lanes[number]
            top = offset + self._tops[number]
            painter.setPen(QPen(colours.border, 1))
            bottom = offset + self._tops[number + 1]
            painter.drawLine(QPointF(self._gutter, bottom), QPointF(self.viewport().width(), bottom))
            top += 4
            if lane.columns and self._view is not None:
                place = QRectF(self._gutter, top, self._scale.width, self._row - 2)
                paint_counts(
                    painter, lane, place, self._scale, self._view.start, self._view.slice_ms, colours
                )
                top += self._row
            for row in lane.rows:
                rows.add(row, top)
                top += self._row
        rows.paint()

    def _paint_marks_over(self, painter: QPainter, colours: Tokens) -> None:
        """Steps of the clock and takeovers as lines across all lanes."""
        if self._view is None:
            return
        height = self.viewport().height()
        for mark in self._view.marks:
            if mark.kind is MarkKind.SUSPEND:
                continue
            ink = colours.bad if mark.kind is MarkKind.CLOCK_STEP else colours.muted
            style = Qt.PenStyle.SolidLine if mark.kind is MarkKind.CLOCK_STEP else Qt.PenStyle.DashDotLine
            painter.setPen(QPen(ink, 1.5 if mark.kind is MarkKind.CLOCK_STEP else 1, style))
            for instant in {mark.start, mark.end}:
                x = round(self._scale.x(instant))
                painter.drawLine(x, self._axis, x, height)

    def _paint_selected(self, painter: QPainter, colours: Tokens, now: Instant) -> None:
        bar = self._selected
        place = self._place_of(bar) if bar is not None else None
        if bar is None or place is None:
            return
        top = self._row_top(*place) + self._axis - self.verticalScrollBar().value()
        rect = bar_rect(bar, self._scale, now, top, self._row)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(colours.surface, 4))
        painter.drawRoundedRect(rect.adjusted(-3, -3, 3, 3), 3, 3)
        painter.setPen(QPen(colours.accent, 2))
        painter.drawRoundedRect(rect.adjusted(-3, -3, 3, 3), 3, 3)

    def _paint_titles(self, painter: QPainter, colours: Tokens, first: int, behind: int, offset: int) -> None:
        painter.fillRect(QRect(0, self._axis, self._gutter, self.viewport().height()), colours.surface)
        grouping = self._view.grouping if self._view is not None else Grouping.WORK_ORDER
        strong, small = font(Text.STRONG), font(Text.SMALL)
        for number in range(first, behind):
            lane = self._lanes[number]
            top, bottom = offset + self._tops[number], offset + self._tops[number + 1]
            of_selected = self._selected is not None and self._selected.lane == lane.lane.key
            if of_selected or lane.lane.key == self._marked_lane:
                painter.fillRect(QRect(0, top, self._gutter, bottom - top), colours.select)
            painter.setPen(QPen(colours.border, 1))
            painter.drawLine(0, bottom, self._gutter, bottom)
            name, words = lane_title(lane.lane, grouping)
            place = QRectF(12, top + 2, self._gutter - 18, min(bottom - top, self._row + 8) - 4)
            painter.setFont(strong)
            painter.setPen(colours.text)
            wide = painter.fontMetrics().horizontalAdvance(name)
            shown = painter.fontMetrics().elidedText(name, Qt.TextElideMode.ElideMiddle, int(place.width()))
            aligned = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
            painter.drawText(place, aligned, shown)
            painter.setFont(small)
            painter.setPen(colours.muted)
            place.setLeft(place.left() + wide + 7)
            if place.width() > 24:
                words = painter.fontMetrics().elidedText(
                    words, Qt.TextElideMode.ElideRight, int(place.width())
                )
                painter.drawText(place, aligned, words)
        painter.setPen(QPen(colours.border, 1))
        painter.drawLine(self._gutter, 0, self._gutter, self.viewport().height())
        if self.hasFocus():
            painter.setPen(QPen(colours.accent, 1))
            painter.drawLine(self._gutter, self._axis, self._gutter, self.viewport().height())

    def _paint_axis(self, painter: QPainter, colours: Tokens, now: Instant) -> None:
        scale, width = self._scale, self.viewport().width()
        painter.fillRect(QRect(0, 0, width, self._axis), colours.window)
        painter.setPen(QPen(colours.border, 1))
        painter.drawLine(0, self._axis - 1, width, self._axis - 1)
        line = self.fontMetrics().height()
        painter.setFont(font(Text.SMALL))
        painter.setPen(colours.muted)
        day = self._times.moment(scale.start)
        painter.drawText(
            QRectF(12, 3, self._gutter - 16, line),
            int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter),
            f"{day:%a} {day.day} {day:%b} {day.year}",
        )
        painter.drawText(
            QRectF(12, 3 + line, self._gutter - 16, line),
            int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter),
            self._times.zone_name(),
        )
        painter.setClipRect(QRect(self._gutter, 0, width - self._gutter, self._axis))
        for tick in ticks(scale, self._times, _TICK_ROOM):
            x = scale.x(tick.instant)
            painter.setPen(QPen(colours.border, 1))
            painter.drawLine(QPointF(x, self._axis - 6), QPointF(x, self._axis - 1))
            painter.setPen(colours.text if tick.strong else colours.muted)
            half = painter.fontMetrics().horizontalAdvance(tick.text) / 2
            if self._gutter <= x - half and x + half <= width:
                painter.drawText(
                    QRectF(x - 60, self._axis - line - 8, 120, line),
                    int(Qt.AlignmentFlag.AlignCenter),
                    tick.text,
                )
        for mark in self._view.marks if self._view is not None else ():
            self._paint_mark_head(painter, colours, mark)
        painter.setClipping(False)
        x = scale.x(now)
        if scale.left <= x <= scale.left + scale.width:
            painter.setPen(QPen(colours.accent, 1.5))
            painter.drawLine(QPointF(x, 4), QPointF(x, self.viewport().height()))
            text = "now"
            wide = painter.fontMetrics().horizontalAdvance(text) + 8
            box = QRectF(min(x + 3, width - wide), 3, wide, line)
            painter.fillRect(box, colours.accent)
            painter.setPen(colours.on_accent)
            painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), text)

    def _paint_mark_head(self, painter: QPainter, colours: Tokens, mark: TimelineMark) -> None:
        shape, ink = {
            MarkKind.CLOCK_STEP: (Shape.TRIANGLE, colours.bad),
            MarkKind.SUSPEND: (Shape.PAUSE, colours.muted),
            MarkKind.EPOCH: (Shape.RING, colours.muted),
        }[mark.kind]
        middle = (self._scale.x(mark.start) + self._scale.x(mark.end)) / 2
        x = self._scale.x(mark.end) if mark.kind is MarkKind.CLOCK_STEP else middle
        draw_shape(painter, QRectF(x - 5, 5, 10, 10), shape, ink)

    # ------------------------------------------------------------------------------------ what is where

    def _row_top(self, lane: int, row: int) -> int:
        """The top of a row in the coordinates of the scrolled content."""
        return self._tops[lane] + 4 + (row + bool(self._lanes[lane].columns)) * self._row

    def _place_of(self, wanted: TimelineBar) -> tuple[int, int] | None:
        for number, lane in enumerate(self._lanes):
            if lane.lane.key == wanted.lane:
                for place, row in enumerate(lane.rows):
                    first, behind = (
                        bisect_left(row.starts, wanted.start),
                        bisect_right(row.starts, wanted.start),
                    )
                    if any(_same(bar, wanted) for bar in row.bars[first:behind]):
                        return number, place
        return None

    def lane_at(self, y: float) -> int:
        """The number of the lane at a place of the viewport, -1 if there is none."""
        inside = int(y) - self._axis + self.verticalScrollBar().value()
        if y < self._axis or inside >= self._tops[-1]:
            return -1
        return bisect_right(self._tops, inside) - 1

    def bar_at(self, place: QPointF) -> TimelineBar | None:
        """The bar at a place of the viewport, or near it: the one on top, the nearest first."""
        number = self.lane_at(place.y())
        if number < 0 or place.x() < self._gutter:
            return None
        lane = self._lanes[number]
        inside = place.y() - self._axis + self.verticalScrollBar().value() - self._tops[number] - 4
        at = int(inside // self._row) - bool(lane.columns)
        if not 0 <= at < len(lane.rows):
            return None
        return self._nearest(lane.rows[at], place.x())

    def _nearest(self, row: Row, x: float) -> TimelineBar | None:
        scale, now = self._scale, self._times.now()
        near = round(_NEAR_PX / scale.per_ms) + 1
        judged = round(8 / scale.per_ms) + 1
        instant = scale.instant(x)
        first, behind = row.within(instant - max(near, judged), instant + max(near, judged))
        best: tuple[float, int] | None = None
        for number in range(behind - 1, first - 1, -1):
            bar = row.bars[number]
            rect = bar_rect(bar, scale, now, 0, self._row)
            if bar.kind is BarKind.VALIDATION:
                gap = max(0.0, abs(scale.x(bar.start) - x) - 8)
                gap = gap - 1 if gap == 0 else gap
            else:
                gap = max(rect.left() - x, x - rect.right(), 0.0)
            if gap <= _NEAR_PX and (best is None or gap < best[0]):
                best = (gap, number)
        return row.bars[best[1]] if best is not None else None

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
        number = self.lane_at(place.y())
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
        at = next((place for place, found in enumerate(bars) if _same(found, bar)), None)
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


def _same(one: TimelineBar, other: TimelineBar) -> bool:
    return one.id == other.id and one.kind is other.kind
