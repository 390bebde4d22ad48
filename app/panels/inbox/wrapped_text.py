"""A value from a machine as wrapped text: it breaks anywhere, and what cannot be seen is written out."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QFontMetricsF,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextCharFormat,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QMenu, QSizePolicy, QWidget

from app.theme import Text, Tone, font, tokens
from app.widgets import copy_text, spoken, visible

_STORED_ORDER = "\u202d"
"""Left-to-right override: letters of right-to-left scripts stand in stored order."""

_LINE_BREAK = "\u2028"


_MOST_WIDTHS = 16


class WrappedText(QWidget):
    """Text in one font that wraps at words or, where a word is too long, anywhere.

    Hidden characters stand in boxes. With ``prose`` line breaks of the text are kept as such, else they are
    written out too. Its context menu copies the exact text. ``on_line_of_label`` sets smaller text as low as
    a label beside it stands.
    """

    def __init__(
        self,
        text: str = "",
        role: Text = Text.BODY,
        *,
        tone: Tone | None = None,
        muted: bool = False,
        prose: bool = False,
        on_line_of_label: bool = False,
        name: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setFont(font(role))
        self._tone = tone
        self._muted = muted
        self._prose = prose
        self._name = name
        self._text = ""
        self._marks: list[tuple[int, int]] = []
        self._layout = QTextLayout()
        self._height = 0.0
        self._arranged = -1
        self._heights: dict[int, int] = {}
        lower = QFontMetricsF(font()).ascent() - QFontMetricsF(self.font()).ascent()
        self._top = max(lower, 0.0) if on_line_of_label else 0.0
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._offer_copy)
        self.set_text(text, tone=tone)

    def text(self) -> str:
        """The exact text."""
        return self._text

    def set_text(self, text: str, *, tone: Tone | None = None) -> None:
        """Show another text, in another tone."""
        if text == self._text and tone is self._tone and self._layout.text():
            return
        self._text, self._tone = text, tone
        self.setAccessibleName(f"{self._name}: {spoken(text)}" if self._name else spoken(text))
        self._marks.clear()
        shown = [_STORED_ORDER]
        at = 1
        for number, line in enumerate(text.split("\n") if self._prose else [text]):
            if number:
                shown.append(_LINE_BREAK)
                at += 1
            for span in visible(line) if line or not self._prose else ():
                piece = f" {span.text} " if span.marked else span.text
                if span.marked:
                    self._marks.append((at, len(piece)))
                shown.append(piece)
                # QTextLayout counts UTF-16 units, Python code points.
                at += len(piece.encode("utf-16-le", "surrogatepass")) // 2
        self._layout.setText("".join(shown))
        self._layout.setFont(self.font())
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        self._layout.setTextOption(option)
        self._layout.setCacheEnabled(True)
        self._arranged = -1
        self._heights.clear()
        self._arrange(self.width())
        self.updateGeometry()
        self.update()

    def hasHeightForWidth(self) -> bool:
        """Its height follows from its width."""
        return True

    def heightForWidth(self, width: int) -> int:
        """The height for a width. A layout asks for the same few widths over and over: they are remembered."""
        height = self._heights.get(width)
        if height is None:
            self._arrange(width)
            height = int(self._height + 0.999)
            if len(self._heights) > _MOST_WIDTHS:
                self._heights.clear()
            self._heights[width] = height
            self._arrange(self.width())
        return height

    def sizeHint(self) -> QSize:
        """One line, if it is not too long for that."""
        width = min(int(self._layout.maximumWidth() + 2), 480)
        return QSize(width, self.heightForWidth(max(width, 1)))

    def minimumSizeHint(self) -> QSize:
        """A few letters wide."""
        return QSize(min(self.fontMetrics().averageCharWidth() * 10, self.sizeHint().width()), 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Wrap anew when the width changes."""
        self._arrange(event.size().width())
        super().resizeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the text and a bordered box behind each mark."""
        colours = tokens()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(colours.bad)
        painter.setBrush(colours.bad_back)
        formats = []
        for start, size in self._marks:
            self._paint_box(painter, start, size)
            mark = QTextLayout.FormatRange()
            mark.start, mark.length = start, size
            look = QTextCharFormat()
            look.setForeground(colours.bad)
            mark.format = look
            formats.append(mark)
        ink = colours.muted if self._muted else colours.text
        painter.setPen(ink if self._tone is None else colours.tone(self._tone)[0])
        self._layout.draw(painter, QPointF(0, 0), formats, QRectF(event.rect()))

    def _paint_box(self, painter: QPainter, start: int, size: int) -> None:
        for number in range(self._layout.lineCount()):
            line = self._layout.lineAt(number)
            left = max(start, line.textStart())
            right = min(start + size, line.textStart() + line.textLength())
            if left < right:
                begin, end = _x(line.cursorToX(left)), _x(line.cursorToX(right))
                box = QRectF(begin, line.y(), end - begin, line.height())
                painter.drawRoundedRect(box.adjusted(0.5, 1, -0.5, -0.5), 3, 3)

    def _arrange(self, width: int) -> None:
        if width == self._arranged:
            return
        self._arranged = width
        self._layout.beginLayout()
        height = self._top
        while (line := self._layout.createLine()).isValid():
            line.setLineWidth(max(width, 1))
            line.setPosition(QPointF(0, height))
            height += line.height()
        self._layout.endLayout()
        self._height = height

    def _offer_copy(self, place: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction("Copy").triggered.connect(lambda: copy_text(self._text, self))
        menu.popup(self.mapToGlobal(place))


def _x(found: object) -> float:
    """PySide gives (x, cursor) where Qt gives x."""
    value = found[0] if isinstance(found, tuple) else found
    assert isinstance(value, float | int)
    return float(value)
