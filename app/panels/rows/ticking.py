"""Labels whose words change by themselves as time passes."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from app.theme import Text, font
from app.widgets import Times


class TickingLabel(QLabel):
    """Shows what ``words`` says, asked again every second; ``tip`` likewise."""

    def __init__(
        self,
        times: Times,
        words: Callable[[], str],
        tip: Callable[[], str] | None = None,
        *,
        role: Text = Text.BODY,
        muted: bool = True,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._words = words
        self._tip = tip
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setFont(font(role))
        self.setWordWrap(True)
        if muted:
            self.setProperty("role", "muted")
        times.ticked.connect(self.refresh)
        times.changed.connect(self.refresh)
        self.refresh()

    def say(self, words: Callable[[], str], tip: Callable[[], str] | None = None) -> None:
        """Show something else from now on."""
        self._words, self._tip = words, tip
        self.refresh()

    def refresh(self) -> None:
        """Ask again now."""
        text = self._words()
        if text != self.text():
            self.setText(text)
        if self._tip is not None:
            self.setToolTip(self._tip())
