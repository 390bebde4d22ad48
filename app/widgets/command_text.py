"""A command as the machine reads it: one element per line, nothing hidden, nothing cut (B-008)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QFontMetricsF,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextCharFormat,
    QTextLayout,
    QTextLine,
    QTextOption,
)
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from app.theme import Text, Tokens, font, tokens
from app.widgets.clipboard import copy_text
from engine.dispatch.display import visible
from engine.dispatch.display import visible_text as spoken

_PAD = 10
_GAP = 12
_LINE_PAD = 1.5
_STORED_ORDER = "\u202d"
"""Left-to-right override before each element: letters of right-to-left scripts stand in stored order."""


@dataclass(frozen=True, slots=True)
class Element:
    """One element of an argument vector, with a remark beside it ("sha256 77d0…1e52") and its own mark."""

    text: str
    note: str = ""
    changed: bool = False


@dataclass(slots=True)
class _Line:
    layout: QTextLayout
    element: Element
    length: str
    marks: list[tuple[int, int]] = field(default_factory=list)
    top: float = 0.0
    height: float = 0.0


class CommandText(QLabel):
    """An argument vector, numbered, with the length of each element in characters.

    Characters that cannot be seen are written out in boxes; long elements wrap and are never cut. It grows as
    high as it needs: put it into a scroll area. Ctrl+C copies the exact vector as JSON. ``changed`` elements
    are marked with a bar at the left. It is a label that paints itself: screen readers take it for text.
    """

    def __init__(
        self, elements: Sequence[str | Element] = (), name: str = "Command", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._name = name
        self._lines: list[_Line] = []
        self._height = 0.0
        self._width = 0
        self._heights: dict[int, int] = {}
        self.setFont(font(Text.CODE))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setToolTip("One element of the command per line, with its length. Ctrl+C copies it as JSON.")
        self.set_elements(elements)

    def set_elements(self, elements: Sequence[str | Element]) -> None:
        """Show another command."""
        self._lines = [
            _Line(QTextLayout(), item, str(len(item.text)))
            for item in (Element(part) if isinstance(part, str) else part for part in elements)
        ]
        for line in self._lines:
            self._fill(line)
        self.setAccessibleName(f"{self._name}, {len(self._lines)} elements")
        self.setAccessibleDescription(
            "\n".join(f"{number}: {spoken(line.element.text)}" for number, line in enumerate(self._lines))
        )
        self._heights.clear()
        self._arrange(self.width())
        self.updateGeometry()
        self.update()

    def argv(self) -> tuple[str, ...]:
        """The exact elements."""
        return tuple(line.element.text for line in self._lines)

    def end_is_visible(self) -> bool:
        """Whether the last line is on the screen now (and so the end of the command was reachable)."""
        bottom = self.rect().adjusted(0, self.height() - 4, 0, 0)
        return not self.visibleRegion().intersected(bottom).isEmpty()

    def hasHeightForWidth(self) -> bool:
        """Its height follows from its width, since elements wrap."""
        return True

    def heightForWidth(self, width: int) -> int:
        """The height for a width."""
        if width not in self._heights:
            before = self._width
            self._arrange(width)
            self._heights[width] = int(self._height + 0.999)
            self._arrange(before)
        return self._heights[width]

    def sizeHint(self) -> QSize:
        """A usual width and the height for it."""
        width = max(self.width(), 320)
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        """Narrow, at the present height."""
        return QSize(160, int(self._height + 0.999))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Wrap anew when the width changes."""
        if event.size().width() != event.oldSize().width():
            self._arrange(event.size().width())
            self.updateGeometry()
        super().resizeEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy on the copy key; leave all others alone."""
        if event.matches(QKeySequence.StandardKey.Copy):
            copy_text(json.dumps(self.argv(), ensure_ascii=True))
            return
        super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the lines that meet the exposed part."""
        colours = tokens()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(colours.accent if self.hasFocus() else colours.border)
        painter.setBrush(colours.code)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        exposed = QRectF(event.rect())
        for number, line in enumerate(self._lines):
            if line.top + line.height >= exposed.top() and line.top <= exposed.bottom():
                self._paint_line(painter, number, line, colours, exposed)

    def _paint_line(
        self, painter: QPainter, number: int, line: _Line, colours: Tokens, exposed: QRectF
    ) -> None:
        metrics = QFontMetricsF(self.font())
        first = QRectF(0, line.top, self._gutter() - _GAP, metrics.height())
        if line.element.changed:
            painter.fillRect(QRectF(2, line.top, 3, line.height - 2 * _LINE_PAD), colours.bad)
        painter.setFont(self.font())
        painter.setPen(colours.muted)
        painter.drawText(first, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), str(number))
        length = QRectF(0, line.top, self.width() - _PAD, metrics.height())
        painter.setFont(font(Text.CODE_SMALL))
        painter.drawText(
            length, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), line.length
        )
        origin = QPointF(self._gutter(), line.top)
        self._paint_boxes(painter, line, origin, colours)
        painter.setPen(colours.text)
        formats = []
        for start, size in line.marks:
            mark = QTextLayout.FormatRange()
            mark.start, mark.length = start, size
            look = QTextCharFormat()
            look.setForeground(colours.bad)
            mark.format = look
            formats.append(mark)
        line.layout.draw(painter, origin, formats, exposed)
        if line.element.note:
            self._paint_note(painter, line, origin, colours)

    def _paint_boxes(self, painter: QPainter, line: _Line, origin: QPointF, colours: Tokens) -> None:
        """Put a bordered box behind each mark: it must not be told from the text by colour alone."""
        painter.setPen(colours.bad)
        painter.setBrush(colours.bad_back)
        for start, size in line.marks:
            for index in range(line.layout.lineCount()):
                text_line = line.layout.lineAt(index)
                left = max(start, text_line.textStart())
                right = min(start + size, text_line.textStart() + text_line.textLength())
                if left < right:
                    begin, end = _x_of(text_line, left), _x_of(text_line, right)
                    box = QRectF(begin, text_line.y(), end - begin, text_line.height())
                    painter.drawRoundedRect(box.translated(origin).adjusted(0.5, 1, -0.5, -0.5), 3, 3)

    def _paint_note(self, painter: QPainter, line: _Line, origin: QPointF, colours: Tokens) -> None:
        last = line.layout.lineAt(line.layout.lineCount() - 1)
        left = origin.x() + last.naturalTextWidth() + _GAP
        room = self.width() - _PAD - self._length_width() - _GAP - left
        painter.setFont(font(Text.CODE_SMALL))
        painter.setPen(colours.muted)
        metrics = QFontMetricsF(painter.font())
        note = metrics.elidedText(line.element.note, Qt.TextElideMode.ElideMiddle, max(room, 0.0))
        place = QRectF(left, origin.y() + last.y(), max(room, 0.0), last.height())
        painter.drawText(place, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), note)

    def _fill(self, line: _Line) -> None:
        text = [_STORED_ORDER]
        at = 1
        for span in visible(line.element.text):
            shown = f" {span.text} " if span.marked else span.text
            if span.marked:
                line.marks.append((at, len(shown)))
            text.append(shown)
            # QTextLayout counts UTF-16 units, Python code points.
            at += len(shown.encode("utf-16-le", "surrogatepass")) // 2
        line.layout.setText("".join(text))
        line.layout.setFont(self.font())
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        option.setFlags(QTextOption.Flag.IncludeTrailingSpaces)
        line.layout.setTextOption(option)
        line.layout.setCacheEnabled(True)

    def _arrange(self, width: int) -> None:
        self._width = width
        room = max(width - self._gutter() - _PAD - self._length_width() - _GAP, 60.0)
        top = float(_PAD)
        for line in self._lines:
            line.layout.beginLayout()
            height = 0.0
            while (text_line := line.layout.createLine()).isValid():
                text_line.setLineWidth(room)
                text_line.setPosition(QPointF(0, height))
                height += text_line.height()
            line.layout.endLayout()
            line.top = top
            line.height = height + 2 * _LINE_PAD
            top += line.height
        self._height = top + _PAD - 2 * _LINE_PAD if self._lines else 2.0 * _PAD

    def _gutter(self) -> float:
        digits = max(2, len(str(max(len(self._lines) - 1, 0))))
        return _PAD + QFontMetricsF(self.font()).horizontalAdvance("0") * digits + _GAP

    def _length_width(self) -> float:
        longest = max((len(line.length) for line in self._lines), default=1)
        return QFontMetricsF(font(Text.CODE_SMALL)).horizontalAdvance("0") * longest


def _x_of(line: QTextLine, cursor: int) -> float:
    found: Any = line.cursorToX(cursor)
    return float(found[0] if isinstance(found, tuple) else found)
