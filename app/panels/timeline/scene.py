"""Painting the timeline whole: ground, lanes, marks across them, the selected bar, titles and the time axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from app.panels.timeline.layout import LANE_PAD, Layout
from app.panels.timeline.painting import RowPainter, bar_rect, hatch, paint_counts
from app.panels.timeline.scale import ticks
from app.panels.timeline.words import lane_title
from app.theme import Shape, Text, Tokens, draw_shape, font
from app.widgets import Times
from engine.instants import Instant
from engine.views.timeline import Grouping, MarkKind, TimelineBar, TimelineMark, TimelineView

_TICK_ROOM = 92.0
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_CENTRE = int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap)

_HEADS = {
    MarkKind.CLOCK_STEP: (Shape.TRIANGLE, "bad"),
    MarkKind.SUSPEND: (Shape.PAUSE, "muted"),
    MarkKind.EPOCH: (Shape.RING, "muted"),
}


@dataclass(frozen=True, slots=True)
class Scene:
    """What is to be seen at ``now``.

    ``distrusted`` are the spans in which the clock was distrusted, ``marked_lane`` is the key of the lane of what is
    selected elsewhere, ``nothing`` is said where no bars are.
    """

    layout: Layout
    view: TimelineView | None
    distrusted: Sequence[TimelineBar]
    selected: TimelineBar | None
    marked_lane: str
    nothing: str
    focused: bool
    now: Instant


def paint_scene(painter: QPainter, scene: Scene, times: Times, colours: Tokens) -> None:
    """Paint everything; only lanes and bars in view are looked at."""
    at = scene.layout
    painter.fillRect(QRect(0, 0, at.width, at.height), colours.surface)
    painter.setClipRect(QRect(at.gutter, 0, at.width - at.gutter, at.height))
    _paint_ground(painter, scene, times, colours)
    painter.setClipRect(QRect(at.gutter, at.axis, at.width - at.gutter, at.height - at.axis))
    _paint_lanes(painter, scene, colours)
    _paint_marks_over(painter, scene, colours)
    _paint_selected(painter, scene, colours)
    painter.setClipRect(QRect(0, at.axis, at.width, at.height - at.axis))
    _paint_titles(painter, scene, colours)
    painter.setClipping(False)
    if scene.nothing:
        _paint_nothing(painter, scene, colours)
    _paint_axis(painter, scene, times, colours)
    _paint_now(painter, scene, colours)


def _paint_ground(painter: QPainter, scene: Scene, times: Times, colours: Tokens) -> None:
    """Grid, time to come, sleep, and spans in which the clock was distrusted."""
    at, scale = scene.layout, scene.layout.scale
    ahead = scale.x(scene.now)
    if ahead < scale.left + scale.width:
        painter.fillRect(QRectF(max(ahead, scale.left), 0, scale.width, at.height), colours.window)
    for tick in ticks(scale, times, _TICK_ROOM):
        x = round(scale.x(tick.instant))
        style = Qt.PenStyle.SolidLine if tick.strong else Qt.PenStyle.DotLine
        painter.setPen(QPen(colours.border, 1, style))
        painter.drawLine(x, at.axis, x, at.height)
    faint = QColor(colours.bad_back)
    faint.setAlpha(130)
    for bar in scene.distrusted:
        rect = bar_rect(bar, scale, scene.now, at.axis, at.height - at.axis)
        rect.setTop(at.axis)
        rect.setBottom(at.height)
        painter.fillRect(rect, faint)
    for mark in _marks(scene):
        if mark.kind is MarkKind.SUSPEND:
            left, right = sorted((scale.x(mark.start), scale.x(mark.end)))
            rect = QRectF(left, at.axis, max(right - left, 2.0), at.height)
            painter.fillRect(rect, colours.chip)
            painter.fillRect(rect, hatch(colours.muted, 120))


def _paint_lanes(painter: QPainter, scene: Scene, colours: Tokens) -> None:
    at = scene.layout
    rows = RowPainter(painter, at.scale, scene.now, colours, at.row)
    for number in range(*at.lanes_in_view()):
        lane = at.lanes[number]
        bottom = at.shown(at.tops[number + 1])
        painter.setPen(QPen(colours.border, 1))
        painter.drawLine(QPointF(at.gutter, bottom), QPointF(at.width, bottom))
        top = at.shown(at.tops[number]) + LANE_PAD
        if lane.columns and scene.view is not None:
            place = QRectF(at.gutter, top, at.scale.width, at.row - 2)
            paint_counts(painter, lane, place, at.scale, scene.view.start, scene.view.slice_ms, colours)
            top += at.row
        for row in lane.rows:
            rows.add(row, top)
            top += at.row
    rows.paint()


def _paint_marks_over(painter: QPainter, scene: Scene, colours: Tokens) -> None:
    """Steps of the clock and takeovers as lines across all lanes."""
    at = scene.layout
    for mark in _marks(scene):
        if mark.kind is MarkKind.SUSPEND:
            continue
        step = mark.kind is MarkKind.CLOCK_STEP
        style = Qt.PenStyle.SolidLine if step else Qt.PenStyle.DashDotLine
        painter.setPen(QPen(colours.bad if step else colours.muted, 1.5 if step else 1, style))
        for instant in {mark.start, mark.end}:
            x = round(at.scale.x(instant))
            painter.drawLine(x, at.axis, x, at.height)


def _paint_selected(painter: QPainter, scene: Scene, colours: Tokens) -> None:
    at, bar = scene.layout, scene.selected
    place = at.place_of(bar) if bar is not None else None
    if bar is None or place is None:
        return
    rect = bar_rect(bar, at.scale, scene.now, at.shown(at.row_top(*place)), at.row)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for pen in (QPen(colours.surface, 4), QPen(colours.accent, 2)):
        painter.setPen(pen)
        painter.drawRoundedRect(rect.adjusted(-3, -3, 3, 3), 3, 3)


def _paint_titles(painter: QPainter, scene: Scene, colours: Tokens) -> None:
    at = scene.layout
    painter.fillRect(QRect(0, at.axis, at.gutter, at.height), colours.surface)
    grouping = scene.view.grouping if scene.view is not None else Grouping.WORK_ORDER
    for number in range(*at.lanes_in_view()):
        lane = at.lanes[number].lane
        top, bottom = at.shown(at.tops[number]), at.shown(at.tops[number + 1])
        of_selected = scene.selected is not None and scene.selected.lane == lane.key
        if of_selected or lane.key == scene.marked_lane:
            painter.fillRect(QRect(0, top, at.gutter, bottom - top), colours.select)
        painter.setPen(QPen(colours.border, 1))
        painter.drawLine(0, bottom, at.gutter, bottom)
        place = QRectF(12, top + 2, at.gutter - 18, min(bottom - top, at.row + 8) - 4)
        _paint_title(painter, place, *lane_title(lane, grouping), colours)
    painter.setPen(QPen(colours.border, 1))
    painter.drawLine(at.gutter, 0, at.gutter, at.height)
    if scene.focused:
        painter.setPen(QPen(colours.accent, 1))
        painter.drawLine(at.gutter, at.axis, at.gutter, at.height)


def _paint_title(painter: QPainter, place: QRectF, name: str, words: str, colours: Tokens) -> None:
    painter.setFont(font(Text.STRONG))
    painter.setPen(colours.text)
    letters = painter.fontMetrics()
    painter.drawText(place, _LEFT, letters.elidedText(name, Qt.TextElideMode.ElideMiddle, int(place.width())))
    place.setLeft(place.left() + letters.horizontalAdvance(name) + 7)
    if place.width() > 24:
        painter.setFont(font(Text.SMALL))
        painter.setPen(colours.muted)
        words = painter.fontMetrics().elidedText(words, Qt.TextElideMode.ElideRight, int(place.width()))
        painter.drawText(place, _LEFT, words)


def _paint_nothing(painter: QPainter, scene: Scene, colours: Tokens) -> None:
    """Words on ground of their own: the grid does not run through them."""
    at = scene.layout
    place = QRect(at.gutter + 20, at.axis, at.width - at.gutter - 40, at.height - at.axis)
    painter.setFont(font(Text.BODY))
    words = painter.fontMetrics().boundingRect(place, _CENTRE, scene.nothing)
    painter.fillRect(words.adjusted(-8, -4, 8, 4), colours.surface)
    painter.setPen(colours.muted)
    painter.drawText(place, _CENTRE, scene.nothing)


def _paint_axis(painter: QPainter, scene: Scene, times: Times, colours: Tokens) -> None:
    at, scale = scene.layout, scene.layout.scale
    painter.fillRect(QRect(0, 0, at.width, at.axis), colours.window)
    painter.setPen(QPen(colours.border, 1))
    painter.drawLine(0, at.axis - 1, at.width, at.axis - 1)
    painter.setFont(font(Text.SMALL))
    painter.setPen(colours.muted)
    line = _line(at)
    day = times.moment(scale.start)
    painter.drawText(QRectF(12, 3, at.gutter - 16, line), _LEFT, f"{day:%a} {day.day} {day:%b} {day.year}")
    painter.drawText(QRectF(12, 3 + line, at.gutter - 16, line), _LEFT, times.zone_name())
    painter.setClipRect(QRect(at.gutter, 0, at.width - at.gutter, at.axis))
    for tick in ticks(scale, times, _TICK_ROOM):
        x = scale.x(tick.instant)
        painter.setPen(QPen(colours.border, 1))
        painter.drawLine(QPointF(x, at.axis - 6), QPointF(x, at.axis - 1))
        painter.setPen(colours.text if tick.strong else colours.muted)
        half = painter.fontMetrics().horizontalAdvance(tick.text) / 2
        if at.gutter <= x - half and x + half <= at.width:
            place = QRectF(x - 60, at.axis - line - 8, 120, line)
            painter.drawText(place, int(Qt.AlignmentFlag.AlignCenter), tick.text)
    for mark in _marks(scene):
        shape, ink = _HEADS[mark.kind]
        middle = (scale.x(mark.start) + scale.x(mark.end)) / 2
        x = scale.x(mark.end) if mark.kind is MarkKind.CLOCK_STEP else middle
        draw_shape(painter, QRectF(x - 5, 5, 10, 10), shape, getattr(colours, ink))
    painter.setClipping(False)


def _paint_now(painter: QPainter, scene: Scene, colours: Tokens) -> None:
    at, scale = scene.layout, scene.layout.scale
    x = scale.x(scene.now)
    if not scale.left <= x <= scale.left + scale.width:
        return
    painter.setPen(QPen(colours.accent, 1.5))
    painter.drawLine(QPointF(x, 4), QPointF(x, at.height))
    wide = painter.fontMetrics().horizontalAdvance("now") + 8
    box = QRectF(min(x + 3, at.width - wide), 3, wide, _line(at))
    painter.fillRect(box, colours.accent)
    painter.setPen(colours.on_accent)
    painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), "now")


def _line(at: Layout) -> int:
    """The height of one of the axis' two lines."""
    return (at.axis - 10) // 2


def _marks(scene: Scene) -> Sequence[TimelineMark]:
    return scene.view.marks if scene.view is not None else ()
