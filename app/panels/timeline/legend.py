"""What the forms and colours of the timeline mean."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.panels.timeline.painting import hatch, paint_legend_bar
from app.panels.timeline.words import KIND_WORDS, look_of_bar
from app.theme import Shape, Text, Tokens, draw_shape, font, tokens
from engine.states import ApprovalState, AttemptState, ClaimState, HoldKind, Outcome, Verdict
from engine.views.timeline import BarKind

_SAMPLES: tuple[tuple[BarKind, str], ...] = (
    (BarKind.APPROVAL, ApprovalState.PENDING),
    (BarKind.CLAIM, ClaimState.CONSUMED),
    (BarKind.CLAIM, ClaimState.EXPIRED),
    (BarKind.DISPATCH, AttemptState.SETTLED),
    (BarKind.EXECUTION, AttemptState.RUNNING),
    (BarKind.EXECUTION, Outcome.SUCCEEDED),
    (BarKind.EXECUTION, Outcome.FAILED),
    (BarKind.EXECUTION, Outcome.UNKNOWN),
    (BarKind.VALIDATION, Verdict.PASSED),
    (BarKind.HOLD, HoldKind.HOLD),
)
_SLEEP, _STEP = "machine slept", "clock step"
_SAMPLE_WIDTH, _GAP = 20, 14


class Legend(QWidget):
    """A sample and a word for each form; it wraps to the width it has."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFont(font(Text.SMALL))
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAccessibleName("Legend: " + ", ".join([*(_word(*one) for one in _SAMPLES), _SLEEP, _STEP]))

    def hasHeightForWidth(self) -> bool:
        """It wraps."""
        return True

    def heightForWidth(self, width: int) -> int:
        """As many lines as it takes."""
        return int(self._places(width)[-1][1].bottom()) + 2

    def sizeHint(self) -> QSize:
        """One line; `heightForWidth` says more."""
        return QSize(400, self.fontMetrics().height() + 6)

    def minimumSizeHint(self) -> QSize:
        """One line."""
        return QSize(200, self.fontMetrics().height() + 6)

    def _places(self, width: int) -> list[tuple[str, QRectF]]:
        metrics = self.fontMetrics()
        line = metrics.height() + 4
        places: list[tuple[str, QRectF]] = []
        x, y = 0.0, 0.0
        for word in [*(_word(*one) for one in _SAMPLES), _SLEEP, _STEP]:
            wide = _SAMPLE_WIDTH + 5 + metrics.horizontalAdvance(word)
            if x and x + wide > width:
                x, y = 0.0, y + line
            places.append((word, QRectF(x, y, wide, line)))
            x += wide + _GAP
        return places

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the samples."""
        colours = tokens()
        painter = QPainter(self)
        for at, (word, place) in enumerate(self._places(self.width())):
            sample = QRectF(place.left(), place.center().y() - 5, _SAMPLE_WIDTH, 10)
            if at < len(_SAMPLES):
                paint_legend_bar(painter, sample, *_SAMPLES[at], colours)
            elif word == _SLEEP:
                painter.fillRect(sample, colours.chip)
                painter.fillRect(sample, hatch(colours.muted, 160))
            else:
                _paint_step(painter, sample, colours)
            painter.setPen(colours.muted)
            painter.drawText(
                place.adjusted(_SAMPLE_WIDTH + 5, 0, 0, 0),
                int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft),
                word,
            )


def _paint_step(painter: QPainter, sample: QRectF, colours: Tokens) -> None:
    painter.setPen(QPen(colours.bad, 1.5))
    painter.drawLine(
        int(sample.right() - 4), int(sample.top()), int(sample.right() - 4), int(sample.bottom())
    )
    draw_shape(painter, QRectF(sample.left(), sample.top(), 10, 10), Shape.TRIANGLE, colours.bad)


def _word(kind: BarKind, state: str) -> str:
    if kind is BarKind.EXECUTION:
        return look_of_bar(kind, state).word
    if kind is BarKind.CLAIM:
        return "lease expired" if state == ClaimState.EXPIRED else "claim (ticks: renewals)"
    return KIND_WORDS[kind]
