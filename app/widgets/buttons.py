"""Buttons that say what they do: accessible name, tooltip with their key, a role for the style sheet."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QPushButton, QWidget


class Role(StrEnum):
    """What kind of button it is; at most one primary in a view, none of them a default for Enter."""

    PLAIN = ""
    PRIMARY = "primary"
    DANGER = "danger"
    QUIET = "quiet"


def button(
    text: str,
    tip: str,
    pressed: Callable[[], object] | None = None,
    *,
    role: Role = Role.PLAIN,
    key: str = "",
    shortcut: bool = True,
    name: str = "",
    parent: QWidget | None = None,
) -> QPushButton:
    """Make a button.

    ``tip`` says what it does; ``key`` ("Ctrl+N") is added to it and, if ``shortcut``, also presses it.
    ``name`` is the accessible name where the text alone would not say enough.
    """
    made = QPushButton(text, parent)
    made.setAutoDefault(False)
    made.setDefault(False)
    made.setProperty("role", role.value)
    made.setAccessibleName(name or text.rstrip("…"))
    made.setAccessibleDescription(tip)
    sequence = QKeySequence(key)
    made.setToolTip(f"{tip} ({sequence.toString(QKeySequence.SequenceFormat.NativeText)})" if key else tip)
    if key and shortcut:
        made.setShortcut(sequence)
    if pressed is not None:
        made.clicked.connect(lambda: pressed())
    return made


def set_role(widget: QWidget, role: str) -> None:
    """Give a widget another role or surface colour; the style sheet sees it at once."""
    if widget.property("role") != role:
        widget.setProperty("role", role)
        widget.style().unpolish(widget)
        widget.style().polish(widget)
