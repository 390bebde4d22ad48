"""A quiet two-column table of facts: name at the left, value at the right."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget

from app.theme import Text, Tone
from app.widgets.badge import Badge
from app.widgets.labels import label
from app.widgets.tips import plain_tip

NAME_CHARACTERS = 24
"""The longest name that stays on one line, in characters; a longer one wraps at about this width."""

_BREAK_HERE = "\u200b"  # zero width space: a place where a line may end


class KeyValueGrid(QWidget):
    """Rows of facts. Values wrap and can be selected; a value may be any widget."""

    def __init__(self, name: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        if name:
            self.setAccessibleName(name)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(14)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(1, 1)
        self._rows = 0

    def add(
        self, name: str, value: str | QWidget, *, code: bool = False, tip: str = "", tone: Tone | None = None
    ) -> QWidget:
        """Add a row and return its value widget; ``code`` sets it in monospace, ``tone`` colours it."""
        head = _name(name, parent=self)
        if isinstance(value, str):
            shown: QWidget = _value(value, code=code, tone=tone, parent=self)
            shown.setAccessibleName(f"{name}: {value}")
        else:
            shown = value
            if not shown.accessibleName():
                shown.setAccessibleName(name)
        if tip:
            shown.setToolTip(plain_tip(tip))
        head.setBuddy(shown)
        top = Qt.AlignmentFlag.AlignTop
        self._grid.addWidget(head, self._rows, 0, top | Qt.AlignmentFlag.AlignLeft)
        # A badge keeps its size; everything else takes the width there is, so that it can wrap.
        place = top | Qt.AlignmentFlag.AlignLeft if isinstance(shown, Badge) else top
        self._grid.addWidget(shown, self._rows, 1, place)
        # What height is left over goes below the last row, not between the rows.
        self._grid.setRowStretch(self._rows, 0)
        self._rows += 1
        self._grid.setRowStretch(self._rows, 1)
        return shown

    def clear(self) -> None:
        """Take all rows away."""
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self._grid.setRowStretch(self._rows, 0)
        self._rows = 0


def _name(text: str, *, parent: QWidget) -> QLabel:
    """A row's name. A long one wraps, also within a word, so that it never pushes the value out of sight."""
    # A label with a buddy reads "&" as the mark of a shortcut.
    letters = [letter if letter != "&" else "&&" for letter in text]
    if len(text) <= NAME_CHARACTERS:
        return label("".join(letters), muted=True, parent=parent)
    whole_words = all(len(word) <= NAME_CHARACTERS for word in text.split())
    breakable = ("" if whole_words else _BREAK_HERE).join(letters)
    made = label(breakable, muted=True, wrap=True, parent=parent)
    made.setAccessibleName(text)
    made.setFixedWidth(made.fontMetrics().averageCharWidth() * NAME_CHARACTERS)
    return made


def _value(text: str, *, code: bool, tone: Tone | None, parent: QWidget) -> QLabel:
    made = label(text, Text.CODE if code else Text.BODY, wrap=True, selectable=True, parent=parent)
    made.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
    policy = (
        made.sizePolicy()
    )  # changed, not replaced: it knows that a wrapped label's height follows its width
    policy.setHorizontalPolicy(QSizePolicy.Policy.Expanding)
    made.setSizePolicy(policy)
    if tone is not None:
        made.setProperty("role", _TONE_ROLES[tone])
    return made


_TONE_ROLES = {
    Tone.NEUTRAL: "muted",
    Tone.LIVE: "",
    Tone.OK: "ok",
    Tone.WARN: "warn",
    Tone.BAD: "danger",
    Tone.UNKNOWN: "unknown",
}
