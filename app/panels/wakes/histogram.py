"""How long things took, painted: one bar per bucket of a histogram, with what the bars say in words."""

from __future__ import annotations

from itertools import pairwise

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.panels.words import plain_tip, span_words
from app.theme import Text, font, theme, tokens
from app.widgets import number
from engine.wakes.metrics import BUCKETS_MS, Histogram

_BOTTOM = 20
_TOP = 16
_GAP = 3.0
EMPTY = Histogram()


def bucket_words(place: int) -> str:
    """What a bucket holds: "up to 50 ms", "above 1 h"."""
    if place < len(BUCKETS_MS):
        return f"up to {span_words(BUCKETS_MS[place])}"
    return f"above {span_words(BUCKETS_MS[-1])}"


def within(histogram: Histogram, share: float) -> str:
    """Within what so large a share of the samples fell: "≤ 50 ms", "> 1 h"; "–" without samples."""
    counted = 0
    for place, found in enumerate(histogram.buckets):
        counted += found
        if histogram.count and counted >= share * histogram.count:
            return (
                f"≤ {span_words(BUCKETS_MS[place])}"
                if place < len(BUCKETS_MS)
                else f"> {span_words(BUCKETS_MS[-1])}"
            )
    return "–"


def histogram_words(histogram: Histogram) -> str:
    """The histogram in a sentence."""
    if not histogram.count:
        return "None yet, since this console was started."
    mean = span_words(histogram.total_ms // histogram.count)
    return (
        f"{number(histogram.count)} measured: half took {within(histogram, 0.5)}, 99 % took "
        f"{within(histogram, 0.99)}; {mean} on average."
    )


class HistogramView(QWidget):
    """Bars of one histogram; the numbers stand above them, the bounds below."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._histogram = EMPTY
        self.setAccessibleName(name)
        self.setFont(font(Text.SMALL))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        if (look := theme()) is not None:
            look.changed.connect(self.update)

    def show_histogram(self, histogram: Histogram) -> None:
        """Show another one."""
        self._histogram = histogram
        self.setAccessibleDescription(histogram_words(histogram))
        self.update()

    def sizeHint(self) -> QSize:
        """Wide enough for every bound."""
        return QSize(520, 104)

    def minimumSizeHint(self) -> QSize:
        """The bars stay readable."""
        return QSize(300, 104)

    def _bars(self) -> list[QRectF]:
        count = len(BUCKETS_MS) + 1
        width = self.width() / count
        edges = [place * width for place in range(count + 1)]
        return [
            QRectF(left, _TOP, right - left - _GAP, self.height() - _TOP - _BOTTOM)
            for left, right in pairwise(edges)
        ]

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint bars, numbers and bounds."""
        colours = tokens()
        painter = QPainter(self)
        metrics = self.fontMetrics()
        most = max(self._histogram.buckets, default=0)
        every = 1 if self.width() >= 620 else 2
        for place, (bar, found) in enumerate(zip(self._bars(), self._histogram.buckets, strict=True)):
            painter.fillRect(QRectF(bar.left(), bar.bottom() - 1, bar.width() + _GAP, 1), colours.border)
            if found:
                height = max(2.0, bar.height() * found / most)
                painter.fillRect(
                    QRectF(bar.left(), bar.bottom() - height, bar.width(), height), colours.accent
                )
                painter.setPen(colours.text)
                words = number(found)
                if metrics.horizontalAdvance(words) <= bar.width() + 2 * _GAP:
                    painter.drawText(
                        QRectF(bar.left() - _GAP, 0, bar.width() + 2 * _GAP, _TOP),
                        int(Qt.AlignmentFlag.AlignCenter),
                        words,
                    )
            if place % every == 0:
                painter.setPen(colours.muted)
                words = _short(place)
                room = (every - 1) * (bar.width() + _GAP) / 2
                painter.drawText(
                    QRectF(bar.left() - room, bar.bottom() + 2, bar.width() + 2 * room, _BOTTOM - 2),
                    int(Qt.AlignmentFlag.AlignCenter),
                    words,
                )

    def event(self, event: QEvent) -> bool:
        """Say what a bar holds under the pointer."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            place = QPointF(event.pos())
            for bucket, bar in enumerate(self._bars()):
                if bar.left() <= place.x() <= bar.right() + _GAP:
                    found = self._histogram.buckets[bucket]
                    QToolTip.showText(
                        event.globalPos(), plain_tip(f"{bucket_words(bucket)}: {number(found)}"), self
                    )
                    return True
        return super().event(event)


def _short(place: int) -> str:
    if place >= len(BUCKETS_MS):
        return "more"
    value = BUCKETS_MS[place]
    return f"{value} ms" if value < 1000 else span_words(value)
