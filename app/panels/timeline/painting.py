"""Painting rows of bars: one call for all that look alike, columns where bars are thinner than pixels."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, QPen

from app.panels.timeline.lanes import RANKS, Lane, Row
from app.panels.timeline.scale import TimeScale
from app.panels.timeline.words import look_of_bar
from app.theme import Text, Tokens, draw_shape, font
from app.theme.states import Shape
from engine.instants import Instant
from engine.states import ClaimState, HoldKind
from engine.views.timeline import BarKind, TimelineBar

THIN_PX = 2.0
"""Bars are never narrower than this; where most of them would be, columns of pixels are painted instead."""

_GLYPH_ROOM = 22.0
_TEXT_ROOM = 64.0
_EXPIRY_SIDE = 9.0

Groups = dict[tuple[BarKind, int], list[QRectF]]


class RowPainter:
    """Gathers what is in view row by row, then paints it group by group."""

    def __init__(
        self, painter: QPainter, scale: TimeScale, now: Instant, colours: Tokens, height: float
    ) -> None:
        self._painter = painter
        self._scale = scale
        self._now = now
        self._colours = colours
        self._height = height
        self._groups: Groups = defaultdict(list)
        self._wide: list[tuple[TimelineBar, int, QRectF]] = []
        self._judgements: list[tuple[TimelineBar, QPointF]] = []
        self._leases: list[tuple[TimelineBar, float]] = []
        self._table = [0, *(tone_fill(rank, colours).rgba() for rank in range(len(RANKS)))]

    def add(self, row: Row, top: float) -> None:
        """Take in one row whose top is at ``top``."""
        scale = self._scale
        first, behind = row.within(scale.start, scale.end)
        if behind - first > scale.width / THIN_PX:
            self._add_columns(row, first, behind, top)
            return
        for place in range(first, behind):
            self._add_bar(row.bars[place], row.ranks[place], top)

    def _add_columns(self, row: Row, first: int, behind: int, top: float) -> None:
        """Bars that would be thinner than a pixel apart: each marks its column, the worst one shows."""
        scale = self._scale
        count = max(1, int(scale.width / THIN_PX))
        columns = bytearray(count)
        starts, ranks = row.starts, row.ranks
        place = first
        for column in range(count):
            after = bisect_right(starts, scale.start + (column + 1) * scale.span_ms // count, place, behind)
            if after > place:
                columns[column] = max(ranks[place:after]) + 1
                place = after
        thick = int(2 * THIN_PX / scale.per_ms)
        if row.longest > thick:
            for place in range(first, behind):
                if row.ends[place] - starts[place] > thick:
                    self._add_bar(row.bars[place], ranks[place], top)
        image = QImage(columns, count, 1, count, QImage.Format.Format_Indexed8)
        image.setColorTable(self._table)
        pad = self._height * 0.14
        self._painter.drawImage(
            QRectF(scale.left, top + pad, count * THIN_PX, self._height - 2 * pad),
            image,
            QRectF(0, 0, count, 1),
        )

    def _add_bar(self, bar: TimelineBar, rank: int, top: float) -> None:
        scale = self._scale
        if bar.kind is BarKind.VALIDATION:
            self._judgements.append((bar, QPointF(scale.x(bar.start), top + self._height / 2)))
            return
        rect = bar_rect(bar, scale, self._now, top, self._height)
        self._groups[bar.kind, rank].append(rect)
        if rect.width() >= _GLYPH_ROOM and bar.kind is not BarKind.CLAIM:
            self._wide.append((bar, rank, rect))
        if bar.kind is BarKind.CLAIM and (bar.ticks or bar.end is None or bar.state == ClaimState.EXPIRED):
            self._leases.append((bar, top))

    def paint(self) -> None:
        """Paint everything that was taken in."""
        painter = self._painter
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for (kind, rank), rects in self._groups.items():
            brush, pen = _filling(kind, rank, self._colours)
            painter.setBrush(brush)
            painter.setPen(pen)
            painter.drawRects(rects)
        for bar, top in self._leases:
            self._paint_lease(bar, top)
        painter.setFont(font(Text.SMALL))
        for bar, rank, rect in self._wide:
            self._paint_inside(bar, rank, rect)
        for bar, centre in self._judgements:
            self._paint_judgement(bar, centre)

    def _paint_lease(self, bar: TimelineBar, top: float) -> None:
        """Renewals as ticks, how far a live claim's lease still reaches, and where one expired."""
        painter, scale = self._painter, self._scale
        ink = self._colours.accent
        painter.setPen(QPen(ink, 1))
        middle = top + self._height / 2
        for tick in bar.ticks:
            x = scale.x(tick)
            painter.drawLine(QPointF(x, middle - 5), QPointF(x, middle + 5))
        if bar.end is None and bar.until is not None:
            pen = QPen(ink, 1, Qt.PenStyle.DotLine)
            painter.setPen(pen)
            right = min(scale.x(bar.until), scale.left + scale.width + 2)
            painter.drawLine(QPointF(scale.x(max(bar.start, self._now)), middle), QPointF(right, middle))
            painter.setPen(QPen(ink, 1))
            painter.drawLine(QPointF(right, middle - 4), QPointF(right, middle + 4))
        elif bar.state == ClaimState.EXPIRED and bar.until is not None:
            self._paint_expiry(QPointF(scale.x(bar.until), middle))

    def _paint_expiry(self, centre: QPointF) -> None:
        """The shape of an expired claim on ground of its own, so that it stands out from bar and line."""
        look = look_of_bar(BarKind.CLAIM, ClaimState.EXPIRED)
        box = QRectF(0, 0, _EXPIRY_SIDE, _EXPIRY_SIDE)
        box.moveCenter(centre)
        self._painter.fillRect(box.adjusted(-1, -1, 1, 1), self._colours.surface)
        draw_shape(self._painter, box, look.shape, self._colours.tone(look.tone)[0])

    def _paint_inside(self, bar: TimelineBar, rank: int, rect: QRectF) -> None:
        """The state's shape at the left of a wide bar, and words where there is room."""
        painter, colours = self._painter, self._colours
        shown = rect.intersected(QRectF(self._scale.left, rect.top(), self._scale.width, rect.height()))
        if shown.width() < _GLYPH_ROOM:
            return
        ink = colours.surface if bar.kind is BarKind.EXECUTION else tone_ink(rank, colours)
        side = min(9.0, rect.height() - 4)
        place = QRectF(shown.left() + 5, rect.center().y() - side / 2, side, side)
        draw_shape(painter, place, _shape(bar), ink)
        if shown.width() >= _TEXT_ROOM:
            room = QRectF(place.right() + 5, rect.top(), shown.right() - place.right() - 9, rect.height())
            text = painter.fontMetrics().elidedText(
                _inside(bar), Qt.TextElideMode.ElideRight, int(room.width())
            )
            if bar.kind is BarKind.HOLD:
                # Words cannot be read through a hatching.
                wide = painter.fontMetrics().horizontalAdvance(text) + 4
                ground = QRectF(
                    place.left() - 3, rect.top() + 1, room.left() + wide - place.left(), rect.height() - 2
                )
                painter.fillRect(ground, colours.tone(RANKS[rank])[1])
                draw_shape(painter, place, _shape(bar), ink)
            painter.setPen(ink)
            painter.drawText(room, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), text)

    def _paint_judgement(self, bar: TimelineBar, centre: QPointF) -> None:
        painter, colours = self._painter, self._colours
        look = look_of_bar(bar.kind, bar.state)
        side = min(self._height - 3, 15.0)
        box = QRectF(0, 0, side, side)
        box.moveCenter(centre)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(colours.tone(look.tone)[0], 1.2))
        painter.setBrush(colours.surface)
        painter.drawEllipse(box)
        draw_shape(painter, box.adjusted(4, 4, -4, -4), look.shape, colours.tone(look.tone)[0])


def paint_counts(
    painter: QPainter,
    lane: Lane,
    place: QRectF,
    scale: TimeScale,
    view_start: Instant,
    slice_ms: int,
    colours: Tokens,
) -> None:
    """Counts of one lane as columns whose height grows with the count, each tone's share in its colour."""
    groups: dict[int, list[QRectF]] = defaultdict(list)
    highest = math.log1p(lane.most)
    width = max(slice_ms * scale.per_ms - 0.5, 1.0)
    for at, total, shares in lane.columns:
        x = scale.x(view_start + at * slice_ms)
        if x + width < scale.left or x > scale.left + scale.width:
            continue
        height = place.height() * (0.25 + 0.75 * math.log1p(total) / highest)
        bottom = place.bottom()
        for rank, count in shares:
            part = max(height * count / total, 2.0)
            groups[rank].append(QRectF(x, bottom - part, width, part))
            bottom -= part
    painter.setPen(Qt.PenStyle.NoPen)
    for rank in sorted(groups):
        painter.setBrush(tone_fill(rank, colours))
        painter.drawRects(groups[rank])


def bar_rect(bar: TimelineBar, scale: TimeScale, now: Instant, top: float, height: float) -> QRectF:
    """Where a bar is painted; never narrower than `THIN_PX`, never much wider than the window."""
    end = max(now, bar.start) if bar.end is None else max(bar.end, bar.start)
    left = max(scale.x(bar.start), scale.left - 20)
    right = min(scale.x(end), scale.left + scale.width + 20)
    share = 0.36 if bar.kind in (BarKind.CLAIM, BarKind.DISPATCH) else 0.14
    pad = round(height * share)
    return QRectF(round(left), top + pad, max(round(right) - round(left), THIN_PX), height - 2 * pad)


def tone_ink(rank: int, colours: Tokens) -> QColor:
    """The ink of a rank's tone."""
    return colours.tone(RANKS[rank])[0]


def tone_fill(rank: int, colours: Tokens) -> QColor:
    """The filling of a rank's tone where no words stand on it."""
    return colours.bar_spent if rank == 0 else tone_ink(rank, colours)


def paint_legend_bar(painter: QPainter, rect: QRectF, kind: BarKind, state: str, colours: Tokens) -> None:
    """A sample of how a kind of bar looks."""
    look = look_of_bar(kind, state)
    rank = RANKS.index(look.tone)
    if kind is BarKind.VALIDATION:
        side = rect.height()
        box = QRectF(rect.center().x() - side / 2, rect.top(), side, side)
        draw_shape(painter, box.adjusted(1, 1, -1, -1), look.shape, colours.tone(look.tone)[0])
        return
    brush, pen = _filling(kind, rank, colours)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setBrush(brush)
    painter.setPen(pen)
    thin = rect.height() * 0.3 if kind in (BarKind.CLAIM, BarKind.DISPATCH) else 0.0
    painter.drawRects([rect.adjusted(0, thin, 0, -thin)])
    if (kind, state) == (BarKind.CLAIM, ClaimState.EXPIRED):
        box = QRectF(
            rect.right() - _EXPIRY_SIDE, rect.center().y() - _EXPIRY_SIDE / 2, _EXPIRY_SIDE, _EXPIRY_SIDE
        )
        painter.fillRect(box.adjusted(-1, -1, 1, 1), colours.window)
        draw_shape(painter, box, look.shape, colours.tone(look.tone)[0])


def hatch(ink: QColor, alpha: int, pattern: Qt.BrushStyle = Qt.BrushStyle.BDiagPattern) -> QBrush:
    """A hatching of this ink, faint."""
    faint = QColor(ink)
    faint.setAlpha(alpha)
    return QBrush(faint, pattern)


def _filling(kind: BarKind, rank: int, colours: Tokens) -> tuple[QBrush, QPen]:
    ink, back = colours.tone(RANKS[rank])
    if kind is BarKind.EXECUTION:
        return QBrush(tone_fill(rank, colours)), QPen(Qt.PenStyle.NoPen)
    if kind is BarKind.APPROVAL:
        return QBrush(back), QPen(ink, 1)
    if kind is BarKind.HOLD:
        return hatch(ink, 150), QPen(ink, 1)
    if kind is BarKind.DISPATCH:
        return QBrush(colours.bar_this), QPen(Qt.PenStyle.NoPen)
    return QBrush(colours.bar_reserved), QPen(Qt.PenStyle.NoPen)


def _shape(bar: TimelineBar) -> Shape:
    return look_of_bar(bar.kind, bar.state).shape


def _inside(bar: TimelineBar) -> str:
    word = look_of_bar(bar.kind, bar.state).word
    if bar.kind is BarKind.EXECUTION and bar.purpose is not None:
        return (
            f"{bar.purpose.lower()} · {word}"
            if bar.number is None
            else f"WO-{bar.number} {bar.purpose.lower()}"
        )
    if bar.kind is BarKind.APPROVAL:
        return "waits for approval" if bar.end is None else word
    if bar.kind is BarKind.HOLD and bar.note and bar.state != HoldKind.CLOCK:
        return f"{word}: {bar.note}"
    return word
