"""Wall time against elapsed time: a flat line while they agree, a step where the clock was set, hatching for sleep."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from itertools import pairwise

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QHelpEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.panels.clock.words import offsets, plot_sentence, signed
from app.panels.timeline.painting import hatch
from app.panels.words import plain_tip
from app.theme import Shape, Text, Tokens, draw_shape, font, theme, tokens
from app.widgets import Times, duration_text
from engine.clock_watch import Reading
from engine.views.clock import ClockView

Axis = Callable[[float], float]
"""From a value to its pixel."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 14, 12, 24
_SECOND, _MINUTE, _HOUR = 1_000, 60_000, 3_600_000
_STEPS = (
    *(size * _SECOND for size in (1, 2, 5, 10, 15, 30)),
    *(size * _MINUTE for size in (1, 2, 5, 10, 15, 30)),
    *(size * _HOUR for size in (1, 2, 3, 6, 12, 24, 48, 168)),
)


class ClockPlot(QWidget):
    """Elapsed time runs across; up and down is how far wall time has moved against it since the first reading.

    The band is the tolerance: inside it the clocks agree.
    """

    def __init__(self, times: Times, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._times = times
        self._state: ClockView | None = None
        self._points: tuple[tuple[Reading, int], ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Wall time against elapsed time")
        self.setFont(font(Text.SMALL))
        times.changed.connect(self.update)
        if (look := theme()) is not None:
            look.changed.connect(self.update)

    def show_state(self, state: ClockView) -> None:
        """Show another state of the clock."""
        self._state = state
        self._points = offsets(state.history)
        self.setAccessibleDescription(plot_sentence(state))
        self.update()

    def sizeHint(self) -> QSize:
        """Room for a curve and its axes."""
        return QSize(480, 150)

    def minimumSizeHint(self) -> QSize:
        """Room for a curve and its axes."""
        return QSize(240, 96)

    def _place(self) -> QRectF:
        return QRectF(self.rect()).adjusted(_LEFT, _TOP, -_RIGHT, -_BOTTOM)

    def _range(self, tolerance: int) -> tuple[float, float]:
        low = min([offset for _, offset in self._points] + [-tolerance])
        high = max([offset for _, offset in self._points] + [tolerance])
        room = (high - low) * 0.12
        return low - room, high + room

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint band, sleep, curve and axes."""
        colours = tokens()
        painter = QPainter(self)
        place = self._place()
        painter.fillRect(place, colours.surface)
        if self._state is None or len(self._points) < 2:
            painter.setPen(colours.muted)
            painter.drawText(place, int(Qt.AlignmentFlag.AlignCenter), "Readings come every second.")
            return
        tolerance = self._state.tolerance_ms
        low, high = self._range(tolerance)
        first, last = self._points[0][0].elapsed, self._points[-1][0].elapsed

        def x(elapsed: float) -> float:
            return place.left() + (elapsed - first) / max(last - first, 1) * place.width()

        def y(offset: float) -> float:
            return place.bottom() - (offset - low) / (high - low) * place.height()

        band = QRectF(QPointF(place.left(), y(tolerance)), QPointF(place.right(), y(-tolerance)))
        painter.fillRect(band, colours.ok_back)
        self._paint_sleep(painter, colours, place, x)
        self._paint_axes(painter, colours, place, x, y, (low, high))
        line = QPolygonF([QPointF(x(reading.elapsed), y(offset)) for reading, offset in self._points])
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(colours.accent, 1.8))
        painter.drawPolyline(line)
        for (_, one), (reading, other) in pairwise(self._points):
            if abs(other - one) > tolerance:
                middle = QPointF(x(reading.elapsed), (y(one) + y(other)) / 2)
                painter.setPen(QPen(colours.bad, 2))
                painter.drawLine(QPointF(middle.x(), y(one)), QPointF(middle.x(), y(other)))
                draw_shape(
                    painter, QRectF(middle.x() - 6, middle.y() - 6, 12, 12), Shape.TRIANGLE, colours.bad
                )
        end = QPointF(x(last), y(self._points[-1][1]))
        painter.setPen(QPen(colours.surface, 2))
        painter.setBrush(colours.accent if self._state.trusted else colours.bad)
        painter.drawEllipse(end, 4.5, 4.5)

    def _paint_sleep(self, painter: QPainter, colours: Tokens, place: QRectF, x: Axis) -> None:
        assert self._state is not None
        for (one, _), (other, _) in pairwise(self._points):
            slept = (other.elapsed - one.elapsed) - (other.awake - one.awake)
            if slept > self._state.tolerance_ms:
                gap = QRectF(QPointF(x(one.elapsed), place.top()), QPointF(x(other.elapsed), place.bottom()))
                painter.fillRect(gap, colours.chip)
                painter.fillRect(gap, hatch(colours.muted, 120))

    def _paint_axes(
        self,
        painter: QPainter,
        colours: Tokens,
        place: QRectF,
        x: Axis,
        y: Axis,
        limits: tuple[float, float],
    ) -> None:
        assert self._state is not None
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setPen(colours.border)
        painter.drawRect(place)
        tolerance = self._state.tolerance_ms
        highest = max(offset for _, offset in self._points)
        lowest = min(offset for _, offset in self._points)
        line = self.fontMetrics().height()
        taken: list[float] = []
        for offset in (0, tolerance, -tolerance, highest, lowest):
            at = y(offset)
            if any(abs(at - other) < line for other in taken) or not limits[0] <= offset <= limits[1]:
                continue
            taken.append(at)
            painter.setPen(QPen(colours.border, 1, Qt.PenStyle.DotLine))
            painter.drawLine(QPointF(place.left(), at), QPointF(place.right(), at))
            painter.setPen(colours.muted)
            painter.drawText(
                QRectF(0, at - line / 2, _LEFT - 8, line),
                int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter),
                signed(offset),
            )
        last = self._points[-1][0].elapsed
        for before in _ticks(last - self._points[0][0].elapsed, max(2, int(place.width() // 110))):
            elapsed = last - before
            ago = f"−{duration_text(before)}" if before else "now"
            wide = self.fontMetrics().horizontalAdvance(ago) + 4
            left = min(max(x(elapsed) - wide / 2, 0), self.width() - wide)
            painter.drawText(
                QRectF(left, place.bottom() + 4, wide, line), int(Qt.AlignmentFlag.AlignCenter), ago
            )

    def event(self, event: QEvent) -> bool:
        """Say what the reading under the pointer was."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent) and self._points:
            place = self._place()
            first, last = self._points[0][0].elapsed, self._points[-1][0].elapsed
            elapsed = first + (event.pos().x() - place.left()) / max(place.width(), 1) * (last - first)
            at = bisect_left(self._points, elapsed, key=lambda point: point[0].elapsed)
            reading, offset = self._points[min(at, len(self._points) - 1)]
            QToolTip.showText(
                event.globalPos(),
                plain_tip(
                    f"wall {self._times.exact(reading.now)}",
                    f"elapsed {duration_text(reading.elapsed)} since boot, awake {duration_text(reading.awake)}",
                    f"{signed(offset)} against elapsed time since the first reading",
                ),
                self,
            )
            return True
        return super().event(event)


def _ticks(span: int, most: int) -> range:
    """How long ago the ticks stand, in milliseconds: now, and round times before it, at most so many."""
    step = next((size for size in _STEPS if span // size < most), max(span, 1))
    return range(0, span + 1, step)
