"""The small figures that stand beside a state's word, painted so that they stay sharp at every scaling."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

from app.theme.states import Shape


def draw_shape(painter: QPainter, rect: QRectF, shape: Shape, colour: QColor) -> None:
    """Paint ``shape`` in ``colour`` into the largest centred square of ``rect``."""
    side = min(rect.width(), rect.height())
    stroke = max(1.25, side * 0.16)
    box = QRectF(0, 0, side, side)
    box.moveCenter(rect.center())
    inner = box.adjusted(stroke / 2, stroke / 2, -stroke / 2, -stroke / 2)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    line = QPen(colour, stroke)
    line.setCapStyle(Qt.PenCapStyle.RoundCap)
    line.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    painter.setPen(line)
    painter.setBrush(Qt.BrushStyle.NoBrush)

    def at(x: float, y: float) -> QPointF:
        return QPointF(box.left() + x * side, box.top() + y * side)

    def fill(*points: tuple[float, float]) -> None:
        painter.setBrush(colour)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.drawPolygon(QPolygonF([at(x, y) for x, y in points]))

    match shape:
        case Shape.DOT:
            painter.setBrush(colour)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.drawEllipse(box.adjusted(side * 0.08, side * 0.08, -side * 0.08, -side * 0.08))
        case Shape.RING:
            painter.drawEllipse(inner)
        case Shape.HALF:
            painter.drawEllipse(inner)
            painter.setBrush(colour)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.drawPie(inner, 90 * 16, 180 * 16)
        case Shape.PLAY:
            fill((0.16, 0.04), (0.96, 0.5), (0.16, 0.96))
        case Shape.PAUSE:
            fill((0.14, 0.06), (0.4, 0.06), (0.4, 0.94), (0.14, 0.94))
            fill((0.6, 0.06), (0.86, 0.06), (0.86, 0.94), (0.6, 0.94))
        case Shape.SQUARE:
            fill((0.1, 0.1), (0.9, 0.1), (0.9, 0.9), (0.1, 0.9))
        case Shape.CHECK:
            painter.drawPolyline(QPolygonF([at(0.1, 0.55), at(0.4, 0.84), at(0.92, 0.2)]))
        case Shape.CROSS:
            painter.drawLine(at(0.15, 0.15), at(0.85, 0.85))
            painter.drawLine(at(0.85, 0.15), at(0.15, 0.85))
        case Shape.DASH:
            painter.drawLine(at(0.1, 0.5), at(0.9, 0.5))
        case Shape.DIAMOND:
            fill((0.5, 0.0), (1.0, 0.5), (0.5, 1.0), (0.0, 0.5))
        case Shape.TRIANGLE:
            fill((0.5, 0.02), (1.0, 0.94), (0.0, 0.94))
        case Shape.CLOCK:
            painter.drawEllipse(inner)
            painter.drawPolyline(QPolygonF([at(0.5, 0.26), at(0.5, 0.52), at(0.68, 0.62)]))
    painter.restore()
