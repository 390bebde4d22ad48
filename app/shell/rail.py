"""The navigation rail: one word per page, with the number that matters beside it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeySequence, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QFrame, QRadioButton, QSizePolicy, QWidget

from app.shell.pages import Page
from app.theme import Text, font, spacing, tokens
from app.widgets import badge_size, column, paint_badge

_WIDTH = 168


class RailButton(QRadioButton):
    """One entry: one of several to choose, so that Tab comes to the chosen one and arrow keys choose another."""

    def __init__(self, page: Page, key: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.page = page
        self._count = 0
        self._key = QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText) if key else ""
        self.setText(page.title)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.show_count(0)

    @property
    def count(self) -> int:
        """The number it shows; 0 is not shown."""
        return self._count

    def show_count(self, count: int) -> None:
        """Show another number."""
        self._count = count
        self.setAccessibleName(f"{self.page.title}, {count}" if count else self.page.title)
        self.setToolTip(f"{self.page.title} ({self._key})" if self._key else self.page.title)
        self.update()

    def hitButton(self, pos: QPoint) -> bool:
        """The whole entry is pressed, not only a figure in it."""
        return self.rect().contains(pos)

    def sizeHint(self) -> QSize:
        """One line with air."""
        return QSize(_WIDTH, self.fontMetrics().height() + 2 * spacing().row_pad + 2)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the word, the number, and a bar at the left of the open page."""
        colours = tokens()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(8, 1, -8, -1)
        if self.isChecked() or self.underMouse():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colours.select if self.isChecked() else colours.chip)
            painter.drawRoundedRect(box, 4, 4)
        if self.isChecked():
            painter.setBrush(colours.accent)
            painter.drawRoundedRect(QRectF(box.left(), box.top(), 3, box.height()), 1.5, 1.5)
        if self.hasFocus():
            painter.setPen(colours.accent)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        painter.setPen(colours.text)
        painter.setFont(font(Text.STRONG if self.isChecked() else Text.BODY))
        words = box.adjusted(10, 0, -8, 0)
        painter.drawText(
            words, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), self.page.title
        )
        if self._count:
            self._paint_count(painter, words)

    def _paint_count(self, painter: QPainter, words: QRectF) -> None:
        text = str(self._count) if self._count < 10_000 else "9999+"
        small = font(Text.SMALL_STRONG)
        size = badge_size(text, None, small)
        place = QPointF(words.right() - size.width(), words.center().y() - size.height() / 2)
        paint_badge(painter, place, text, self.page.tone, None, small, solid=self.page.waits)


class NavigationRail(QFrame):
    """All pages from top to bottom. ``chosen(key)`` comes when a person picks one."""

    chosen = Signal(str)

    def __init__(self, pages: Sequence[Page], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("surface", "rail")
        self.setAccessibleName("Pages")
        self.setFixedWidth(_WIDTH)
        outer = column(self, margins=(0, 8, 1, 8), gap=1)
        self._group = QButtonGroup(self)
        self._buttons: dict[str, RailButton] = {}
        for number, page in enumerate(pages, start=1):
            made = RailButton(page, f"Ctrl+{number}" if number <= 9 else "", self)
            self._group.addButton(made)
            self._buttons[page.key] = made
            outer.addWidget(made)
        outer.addStretch(1)
        self._group.buttonToggled.connect(self._toggled)

    def button(self, key: str) -> RailButton:
        """The entry of a page."""
        return self._buttons[key]

    def show_chosen(self, key: str) -> None:
        """Mark a page as the open one."""
        self._buttons[key].setChecked(True)
        for other, entry in self._buttons.items():
            # Arrow keys move within the group; Tab comes only to the page that is open.
            entry.setFocusPolicy(Qt.FocusPolicy.StrongFocus if other == key else Qt.FocusPolicy.ClickFocus)

    def _toggled(self, button: QAbstractButton, on: bool) -> None:
        if on and isinstance(button, RailButton):
            self.chosen.emit(button.page.key)
