"""Paints one row of a log: runs in their colours, what a search looks for, what was cut."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QPointF, QRectF
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.panels.evidence.ansi import PLAIN, Flag, LogLine, Style
from app.panels.evidence.log_colours import Ink, ink_of
from app.panels.evidence.log_model import LogModel, Roles, cut_note
from app.theme import Text, Tokens, font, tokens

PAD = 10
"""Room at the left of every row."""


class LogDelegate(QStyledItemDelegate):
    """Text is painted run by run in one monospace font; ``needle`` is marked wherever it stands."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.needle = ""
        self._font = font(Text.CODE_SMALL)
        self._metrics = QFontMetricsF(self._font)
        self._inks: dict[Style, Ink] = {}
        self._inks_of = ""

    @property
    def font(self) -> QFont:
        """The font of rows in the plain style."""
        return self._font

    @property
    def row_height(self) -> int:
        """The height of every row."""
        return round(self._metrics.height()) + 2

    def width_of(self, characters: int) -> int:
        """The width that a row of so many characters takes."""
        return round(self._metrics.horizontalAdvance("0") * (characters + 2)) + 2 * PAD

    def columns_in(self, width: int) -> int:
        """How many characters a row of this width has room for."""
        return int((width - 2 * PAD) / self._metrics.horizontalAdvance("0"))

    def refont(self) -> None:
        """Take the font of the theme as it is now."""
        self._font = font(Text.CODE_SMALL)
        self._metrics = QFontMetricsF(self._font)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Paint ground, marks, runs and the note about what was cut."""
        line = index.data(Roles.LINE)
        if not isinstance(line, LogLine):
            return
        colours = tokens()
        rect = QRectF(option.rect)
        state = option.state
        painter.save()
        if state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, colours.select)
            painter.fillRect(QRectF(rect.left(), rect.top(), 3, rect.height()), colours.accent)
        origin = QPointF(rect.left() + PAD, rect.top() + 1)
        if line.continued:
            painter.fillRect(QRectF(rect.left() + 4, rect.top(), 2, rect.height()), colours.border)
        if self.needle:
            self._paint_marks(painter, origin, line.text, _around(index, len(self.needle) - 1), colours)
        left = origin.x()
        for start, end, style in _runs(line):
            left += self._paint_run(painter, QPointF(left, origin.y()), line.text[start:end], style, colours)
        if line.hidden:
            painter.setFont(self._font)
            painter.setPen(colours.muted)
            painter.drawText(QPointF(left, origin.y() + self._metrics.ascent()), f" {cut_note(line)}")
        if state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(colours.accent)
            painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5))
        painter.restore()

    def _paint_run(
        self, painter: QPainter, place: QPointF, text: str, style: Style, colours: Tokens
    ) -> float:
        width = self._metrics.horizontalAdvance(text)
        ink = self._ink(style, colours)
        if ink.ground is not None:
            painter.fillRect(QRectF(place.x(), place.y(), width, self._metrics.height()), ink.ground)
        painter.setFont(self._styled(style.flags))
        painter.setPen(ink.text)
        painter.drawText(QPointF(place.x(), place.y() + self._metrics.ascent()), text)
        return width

    def _paint_marks(
        self, painter: QPainter, origin: QPointF, text: str, around: tuple[str, str], colours: Tokens
    ) -> None:
        ground = QColor(colours.warn_back)
        before, after = around
        folded = (before + text + after).casefold()
        # Where folding changes the length, places in the two texts no longer match: mark the row instead.
        exact = len(folded) == len(before) + len(text) + len(after)
        at = folded.find(self.needle)
        while at >= 0:
            first = min(max(at - len(before), 0), len(text)) if exact else 0
            behind = min(max(at - len(before) + len(self.needle), 0), len(text)) if exact else len(text)
            if first < behind:
                left = self._metrics.horizontalAdvance(text[:first])
                width = self._metrics.horizontalAdvance(text[first:behind])
                mark = QRectF(origin.x() + left - 1, origin.y(), width + 2, self._metrics.height())
                painter.fillRect(mark, ground)
                painter.setPen(colours.warn)
                painter.drawRect(mark.adjusted(0.5, 0.5, -0.5, -0.5))
            at = folded.find(self.needle, at + len(self.needle)) if exact else -1

    def _styled(self, flags: int) -> QFont:
        if not flags & ~(Flag.DIM | Flag.INVERSE | Flag.CONTROL):
            return self._font
        made = QFont(self._font)
        made.setBold(bool(flags & Flag.BOLD))
        made.setItalic(bool(flags & Flag.ITALIC))
        made.setUnderline(bool(flags & Flag.UNDERLINE))
        made.setStrikeOut(bool(flags & Flag.STRIKE))
        return made

    def _ink(self, style: Style, colours: Tokens) -> Ink:
        if self._inks_of != colours.name:
            self._inks.clear()
            self._inks_of = colours.name
        found = self._inks.get(style)
        if found is None:
            if len(self._inks) > 4096:
                self._inks.clear()
            found = self._inks[style] = ink_of(style, colours)
        return found


def _around(index: QModelIndex | QPersistentModelIndex, most: int) -> tuple[str, str]:
    """The neighbouring text in the same line, so that what is found across a wrap is marked too."""
    model = index.model()
    return model.around(index.row(), most) if isinstance(model, LogModel) else ("", "")


def _runs(line: LogLine) -> list[tuple[int, int, Style]]:
    """The whole row as runs, plain ones included."""
    runs: list[tuple[int, int, Style]] = []
    at = 0
    for start, end, style in line.spans:
        if start > at:
            runs.append((at, start, PLAIN))
        runs.append((start, end, style))
        at = end
    if at < len(line.text):
        runs.append((at, len(line.text), PLAIN))
    return runs
