"""A cell of a table painted as a badge: word, shape and colour."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QPointF
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.theme import Look, Text, font, tokens
from app.widgets import badge_size, paint_badge


class BadgeDelegate(QStyledItemDelegate):
    """Paints what ``look`` says of a row's number."""

    def __init__(self, look: Callable[[int], Look], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._look = look

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Paint ground and badge."""
        look = self._look(index.row())
        painter.save()
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, tokens().select)
        small = font(Text.SMALL_STRONG)
        size = badge_size(look.word, look.shape, small)
        rect = option.rect
        place = QPointF(rect.left() + 6, rect.top() + (rect.height() - size.height()) / 2)
        painter.setClipRect(rect)
        paint_badge(painter, place, look.word, look.tone, look.shape, small)
        painter.restore()
