"""A button within a line of text: only its words, without the room that a button takes."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QEnterEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QWidget

from app.theme import Text, font, tokens

_EDGE = 2


class InlineButton(QPushButton):
    """Words in the accent colour that can be pressed; underlined under the pointer, framed in focus."""

    def __init__(
        self,
        text: str,
        tip: str,
        pressed: Callable[[], object] | None = None,
        *,
        name: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(text, parent)
        self.setFont(font(Text.SMALL))
        self.setAutoDefault(False)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(name or text)
        self.setAccessibleDescription(tip)
        self.setToolTip(tip)
        if pressed is not None:
            self.clicked.connect(lambda: pressed())

    def sizeHint(self) -> QSize:
        """Just the words."""
        metrics = self.fontMetrics()
        return QSize(metrics.horizontalAdvance(self.text()) + 2 * _EDGE, metrics.height())

    def minimumSizeHint(self) -> QSize:
        """Just the words."""
        return self.sizeHint()

    def enterEvent(self, event: QEnterEvent) -> None:
        """Show the underline."""
        super().enterEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the words."""
        colours = tokens()
        painter = QPainter(self)
        face = self.font()
        # In high contrast its colour alone would not tell that it can be pressed.
        plain = colours.border == colours.edge
        face.setUnderline((plain or self.underMouse()) and self.isEnabled())
        painter.setFont(face)
        painter.setPen(colours.accent if self.isEnabled() else colours.muted)
        place = QRect(self.rect()).adjusted(_EDGE, 0, 0, 0)
        painter.drawText(place, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), self.text())
        if self.hasFocus():
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
