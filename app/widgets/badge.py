"""Badges: a state as word, shape and colour together; and pills for counts and short remarks.

Delegates paint the same things with `paint_badge` and measure them with `badge_size`.
"""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import Look, Shape, Text, Tone, draw_shape, font, look_of, tokens

_PAD_X, _PAD_Y, _GAP = 7.0, 2.5, 5.0


def badge_size(word: str, shape: Shape | None, in_font: QFont) -> QSizeF:
    """The size a badge needs."""
    metrics = QFontMetricsF(in_font)
    figure = _figure(metrics) + _GAP if shape is not None else 0.0
    width = metrics.horizontalAdvance(word) + figure + 2 * _PAD_X
    return QSizeF(width, metrics.height() + 2 * _PAD_Y)


def paint_badge(
    painter: QPainter,
    top_left: QPointF,
    word: str,
    tone: Tone,
    shape: Shape | None,
    in_font: QFont,
    *,
    solid: bool = False,
) -> QRectF:
    """Paint a badge and return where it is.

    ``solid`` fills it (the count that matters) with the accent, or with the colour of UNKNOWN.
    """
    colours = tokens()
    ink, ground = colours.tone(tone)
    if solid:
        ink, ground = colours.on_accent, colours.unknown if tone is Tone.UNKNOWN else colours.accent
    metrics = QFontMetricsF(in_font)
    rect = QRectF(top_left, badge_size(word, shape, in_font))
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen if colours.name != "high contrast" else ink)
    painter.setBrush(ground)
    painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
    left = rect.left() + _PAD_X
    if shape is not None:
        side = _figure(metrics)
        draw_shape(painter, QRectF(left, rect.center().y() - side / 2, side, side), shape, ink)
        left += side + _GAP
    painter.setPen(ink)
    painter.setFont(in_font)
    painter.drawText(
        QRectF(left, rect.top(), rect.right() - left, rect.height()),
        int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft),
        word,
    )
    painter.restore()
    return rect


def _figure(metrics: QFontMetricsF) -> float:
    return round(metrics.capHeight() + 1)


class Badge(QWidget):
    """A badge on its own."""

    def __init__(
        self,
        word: str = "",
        tone: Tone = Tone.NEUTRAL,
        shape: Shape | None = None,
        *,
        solid: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setFont(font(Text.SMALL_STRONG))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._word, self._tone, self._shape, self._solid = "", tone, shape, solid
        self.show_word(word, tone, shape, solid=solid)

    @classmethod
    def of(cls, state: StrEnum, parent: QWidget | None = None) -> Badge:
        """The badge of an engine state."""
        made = cls(parent=parent)
        made.show_state(state)
        return made

    @property
    def word(self) -> str:
        """The word it shows."""
        return self._word

    @property
    def tone(self) -> Tone:
        """The tone it has."""
        return self._tone

    def show_state(self, state: StrEnum) -> None:
        """Show an engine state."""
        self.show_look(look_of(state))

    def show_look(self, look: Look) -> None:
        """Show a look."""
        self.show_word(look.word, look.tone, look.shape)

    def show_word(
        self, word: str, tone: Tone = Tone.NEUTRAL, shape: Shape | None = None, *, solid: bool = False
    ) -> None:
        """Show a word of one's own, in a tone, with a shape or without."""
        self._word, self._tone, self._shape, self._solid = word, tone, shape, solid
        self.setAccessibleName(word)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """Just the badge."""
        size = badge_size(self._word, self._shape, self.font())
        return QSize(int(size.width() + 1), int(size.height() + 1))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the badge."""
        if self._word:
            paint_badge(
                QPainter(self),
                QPointF(0, 0),
                self._word,
                self._tone,
                self._shape,
                self.font(),
                solid=self._solid,
            )
