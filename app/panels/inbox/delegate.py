"""Paints a row of the queue: title and badges, the command on one line, where and since when."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.panels.inbox.model import Entry, Roles
from app.panels.inbox.row_text import Ink, Piece, badges, command_line, elide, meta_line, one_line
from app.theme import Text, Tokens, font, spacing, tokens
from app.widgets import Times, badge_size, paint_badge

_SIDE = 13
_LINE_GAP = 3.0
_BADGE_GAP = 6.0
_AT_LEFT = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
_AT_RIGHT = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight)


class QueueDelegate(QStyledItemDelegate):
    """Paints entries of a `QueueModel`; all rows have the same height."""

    def __init__(self, times: Times, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._times = times

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        """The one height of all rows."""
        lines = sum(self._heights())
        return QSize(120, int(lines + 2 * _LINE_GAP + 2 * spacing().row_pad + 1.999))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Paint one row."""
        entry = index.data(Roles.ENTRY)
        if not isinstance(entry, Entry):
            return
        colours = tokens()
        rect = QRectF(option.rect)
        state = option.state
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_ground(painter, rect, state, colours)
        inner = rect.adjusted(_SIDE, spacing().row_pad, -_SIDE, -spacing().row_pad - 1)
        first, second, third = self._heights()
        top = QRectF(inner.left(), inner.top(), inner.width(), first)
        middle = QRectF(inner.left(), top.bottom() + _LINE_GAP, inner.width(), second)
        bottom = QRectF(inner.left(), middle.bottom() + _LINE_GAP, inner.width(), third)
        left_over = self._paint_badges(painter, top, entry)
        painter.setFont(font(Text.STRONG))
        painter.setPen(colours.muted if entry.gone else colours.text)
        metrics = QFontMetricsF(painter.font())
        title = metrics.elidedText(one_line(entry.row.title), Qt.TextElideMode.ElideRight, left_over.width())
        painter.drawText(left_over, _AT_LEFT, title)
        self._paint_command(painter, middle, entry, colours)
        painter.setFont(font(Text.SMALL))
        painter.setPen(colours.muted)
        metrics = QFontMetricsF(painter.font())
        age = self._times.age(entry.row.asked_at)
        painter.drawText(bottom, _AT_RIGHT, age)
        bottom.setRight(bottom.right() - metrics.horizontalAdvance(age) - _BADGE_GAP)
        meta = metrics.elidedText(meta_line(entry), Qt.TextElideMode.ElideRight, bottom.width())
        painter.drawText(bottom, _AT_LEFT, meta)
        painter.restore()

    def _heights(self) -> tuple[float, float, float]:
        badge = badge_size("x", None, font(Text.SMALL_STRONG)).height()
        return (
            max(QFontMetricsF(font(Text.STRONG)).height(), badge),
            QFontMetricsF(font(Text.CODE)).height(),
            QFontMetricsF(font(Text.SMALL)).height(),
        )

    def _paint_ground(
        self, painter: QPainter, rect: QRectF, state: QStyle.StateFlag, colours: Tokens
    ) -> None:
        selected = bool(state & QStyle.StateFlag.State_Selected)
        if selected:
            painter.fillRect(rect, colours.select)
            painter.fillRect(QRectF(rect.left(), rect.top(), 3, rect.height() - 1), colours.accent)
        elif state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, colours.window)
        painter.fillRect(QRectF(rect.left(), rect.bottom() - 1, rect.width(), 1), colours.border)
        if selected and state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(colours.accent)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -1.5))

    def _paint_badges(self, painter: QPainter, line: QRectF, entry: Entry) -> QRectF:
        """Paint the badges from the right and return what is left of the line for the title."""
        small = font(Text.SMALL_STRONG)
        right = line.right()
        shortest = line.left() + line.width() * 0.35
        for badge in badges(entry, self._times):
            word, size = badge.word, badge_size(badge.word, badge.shape, small)
            if right - size.width() < shortest:
                if not badge.short:
                    break
                # What has a short word is an alarm: it takes the title's room rather than be left out.
                word, size = badge.short, badge_size(badge.short, badge.shape, small)
            place = QPointF(right - size.width(), line.top() + (line.height() - size.height()) / 2)
            paint_badge(painter, place, word, badge.tone, badge.shape, small)
            right = place.x() - _BADGE_GAP
        return QRectF(line.left(), line.top(), right - line.left(), line.height())

    def _paint_command(self, painter: QPainter, line: QRectF, entry: Entry, colours: Tokens) -> None:
        painter.setFont(font(Text.CODE))
        metrics = QFontMetricsF(painter.font())
        room = int(line.width() / max(metrics.horizontalAdvance("0"), 1.0))
        painter.setClipRect(line.adjusted(-1, 0, 1, 0), Qt.ClipOperation.IntersectClip)
        left = line.left()
        for piece in elide(command_line(entry.row.argv, entry.marks, short=True), room):
            left += self._paint_piece(painter, QPointF(left, line.top()), piece, metrics, entry, colours)
        painter.setClipping(False)

    def _paint_piece(
        self,
        painter: QPainter,
        place: QPointF,
        piece: Piece,
        metrics: QFontMetricsF,
        entry: Entry,
        colours: Tokens,
    ) -> float:
        width = metrics.horizontalAdvance(piece.text)
        rect = QRectF(place.x(), place.y(), width, metrics.height())
        ink = colours.muted if entry.gone else colours.text
        if not entry.gone and piece.ink is Ink.HIDDEN:
            ink = colours.bad
            painter.fillRect(rect, colours.bad_back)
        elif piece.ink is Ink.DIFFERS:
            painter.fillRect(QRectF(rect.left(), rect.bottom() - 2, rect.width(), 2), colours.warn)
        painter.setPen(ink)
        painter.drawText(rect.adjusted(0, 0, 2, 0), _AT_LEFT, piece.text)
        return width
