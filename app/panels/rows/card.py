"""Rows painted as cards: title and badges, one line of words, one quiet line of facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.panels.rows.model import Roles
from app.theme import Look, Shape, Text, Tokens, Tone, font, spacing, tokens
from app.widgets import badge_size, paint_badge

Row = TypeVar("Row")

_SIDE = 13
_LINE_GAP = 3.0
_BADGE_GAP = 6.0
_ALIGNED = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)


@dataclass(frozen=True, slots=True)
class CardBadge:
    """A badge at the right of the title."""

    word: str
    tone: Tone = Tone.NEUTRAL
    shape: Shape | None = None

    @classmethod
    def of(cls, look: Look) -> CardBadge:
        """The badge of a state's look."""
        return cls(look.word, look.tone, look.shape)


@dataclass(frozen=True, slots=True)
class CardLine:
    """The middle line: words, or with ``code`` what a machine reads; ``tone`` colours it."""

    text: str
    code: bool = False
    tone: Tone | None = None


@dataclass(frozen=True, slots=True)
class Card:
    """What a card shows. ``dim`` sets the title back: the matter is over."""

    title: str
    badges: tuple[CardBadge, ...]
    line: CardLine
    facts: str
    dim: bool = False


class CardDelegate(QStyledItemDelegate, Generic[Row]):
    """Paints what ``card`` says of each row; all rows have the same height."""

    def __init__(self, card: Callable[[Row], Card], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._card = card

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        """The one height of all rows."""
        return QSize(120, int(sum(_heights()) + 2 * _LINE_GAP + 2 * spacing().row_pad + 1.999))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Paint one row."""
        row = index.data(Roles.ROW)
        if row is None:
            return
        card = self._card(row)
        colours = tokens()
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rect = QRectF(option.rect)
        paint_ground(painter, rect, option.state, colours)
        inner = rect.adjusted(_SIDE, spacing().row_pad, -_SIDE, -spacing().row_pad - 1)
        first, second, third = _heights()
        top = QRectF(inner.left(), inner.top(), inner.width(), first)
        middle = QRectF(inner.left(), top.bottom() + _LINE_GAP, inner.width(), second)
        bottom = QRectF(inner.left(), middle.bottom() + _LINE_GAP, inner.width(), third)
        room = _paint_badges(painter, top, card.badges)
        _paint_text(painter, room, card.title, Text.STRONG, colours, Tone.NEUTRAL if card.dim else None)
        role = Text.CODE if card.line.code else Text.BODY
        _paint_text(painter, middle, card.line.text, role, colours, card.line.tone)
        _paint_text(painter, bottom, card.facts, Text.SMALL, colours, Tone.NEUTRAL)
        painter.restore()


def paint_ground(painter: QPainter, rect: QRectF, state: QStyle.StateFlag, colours: Tokens) -> None:
    """The ground of a row: selected with a bar at its left, touched by the pointer, focused."""
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


def _heights() -> tuple[float, float, float]:
    badge = badge_size("x", None, font(Text.SMALL_STRONG)).height()
    return (
        max(QFontMetricsF(font(Text.STRONG)).height(), badge),
        max(QFontMetricsF(font(Text.BODY)).height(), QFontMetricsF(font(Text.CODE)).height()),
        QFontMetricsF(font(Text.SMALL)).height(),
    )


def _paint_text(
    painter: QPainter, place: QRectF, text: str, role: Text, colours: Tokens, tone: Tone | None
) -> None:
    painter.setFont(font(role))
    painter.setPen(colours.text if tone is None else colours.tone(tone)[0])
    metrics = QFontMetricsF(painter.font())
    one_line = " ".join(text.split())
    painter.drawText(
        place, _ALIGNED, metrics.elidedText(one_line, Qt.TextElideMode.ElideRight, place.width())
    )


def _paint_badges(painter: QPainter, line: QRectF, badges: tuple[CardBadge, ...]) -> QRectF:
    """Paint the badges from the right and return what is left of the line for the title."""
    small = font(Text.SMALL_STRONG)
    right = line.right()
    shortest = line.left() + line.width() * 0.3
    for badge in badges:
        size = badge_size(badge.word, badge.shape, small)
        if right - size.width() < shortest:
            break
        place = QPointF(right - size.width(), line.top() + (line.height() - size.height()) / 2)
        paint_badge(painter, place, badge.word, badge.tone, badge.shape, small)
        right = place.x() - _BADGE_GAP
    return QRectF(line.left(), line.top(), right - line.left(), line.height())
