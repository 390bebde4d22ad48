"""Text from outside, wrapped: it takes the height its width needs, and hidden characters are written out."""

from __future__ import annotations

from PySide6.QtWidgets import QSizePolicy, QWidget

from app.panels.inbox.wrapped_text import WrappedText
from app.theme import Text, Tone


def prose(
    text: str = "",
    role: Text = Text.BODY,
    *,
    tone: Tone | None = None,
    muted: bool = False,
    name: str = "",
    parent: QWidget | None = None,
) -> WrappedText:
    """Wrapped text whose line breaks are kept; ``name`` says to screen readers what it is."""
    made = WrappedText(text, role, tone=tone, muted=muted, prose=True, name=name, parent=parent)
    policy = made.sizePolicy()
    policy.setVerticalPolicy(QSizePolicy.Policy.Preferred)
    made.setSizePolicy(policy)
    return made
