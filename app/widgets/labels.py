"""Labels: section heads, titles, quiet text, elided text, ages."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from app.theme import Text, font, tokens
from app.widgets.times import Times
from app.widgets.tips import plain_tip
from engine.instants import Instant


def label(
    text: str = "",
    role: Text = Text.BODY,
    *,
    muted: bool = False,
    wrap: bool = False,
    selectable: bool = False,
    parent: QWidget | None = None,
) -> QLabel:
    """A plain-text label in the font of ``role``. Text from outside is never read as markup."""
    made = QLabel(text, parent)
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setFont(font(role))
    made.setWordWrap(wrap)
    if muted:
        made.setProperty("role", "muted")
    if selectable:
        made.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        made.setAccessibleName(text)
    return made


class SectionLabel(QLabel):
    """The small head over a group: "WHAT RUNS". Screen readers hear it as written, not in capitals."""

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setFont(font(Text.SECTION))
        self.setProperty("role", "muted")


class ElidedLabel(QWidget):
    """One line of text that is cut with an ellipsis when it is too long; the tooltip then has all of it."""

    def __init__(
        self,
        text: str = "",
        role: Text = Text.BODY,
        *,
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
        muted: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._mode = mode
        self._muted = muted
        self.setFont(font(role))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._text = ""
        self.set_text(text)

    def text(self) -> str:
        """The whole text."""
        return self._text

    def set_text(self, text: str) -> None:
        """Show another text; line breaks become spaces."""
        self._text = " ".join(text.splitlines())
        self.setAccessibleName(self._text)
        self._update_tip()
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """Room for the whole text."""
        metrics = self.fontMetrics()
        return QSize(metrics.horizontalAdvance(self._text) + 2, metrics.height())

    def minimumSizeHint(self) -> QSize:
        """Room for a few letters and the ellipsis."""
        metrics = self.fontMetrics()
        return QSize(min(metrics.averageCharWidth() * 6, self.sizeHint().width()), metrics.height())

    def event(self, event: QEvent) -> bool:
        """Keep the tooltip true when the width changes."""
        if event.type() == QEvent.Type.Resize:
            self._update_tip()
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the text, cut to the width."""
        colours = tokens()
        painter = QPainter(self)
        painter.setPen(colours.muted if self._muted else colours.text)
        shown = self.fontMetrics().elidedText(self._text, self._mode, self.width())
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)

    def _update_tip(self) -> None:
        cut = self.fontMetrics().horizontalAdvance(self._text) > self.width()
        self.setToolTip(plain_tip(self._text) if cut else "")


class AgeLabel(QLabel):
    """How long ago an instant was, kept current; the tooltip has the exact local and UTC time."""

    def __init__(
        self,
        times: Times,
        instant: Instant,
        prefix: str = "",
        *,
        role: Text = Text.BODY,
        muted: bool = True,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._times = times
        self._instant = instant
        self._prefix = prefix
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setFont(font(role))
        if muted:
            self.setProperty("role", "muted")
        times.ticked.connect(self._refresh)
        times.changed.connect(self._refresh)
        self._refresh()

    def set_instant(self, instant: Instant) -> None:
        """Show the age of another instant."""
        self._instant = instant
        self._refresh()

    def _refresh(self) -> None:
        text = f"{self._prefix}{self._times.age(self._instant)}"
        if text != self.text():
            self.setText(text)
        self.setToolTip(self._times.exact(self._instant))
