"""Copying."""

from __future__ import annotations

from PySide6.QtGui import QCursor, QGuiApplication
from PySide6.QtWidgets import QToolTip, QWidget


def copy_text(text: str, said_by: QWidget | None = None) -> None:
    """Put ``text`` on the clipboard; with ``said_by`` a short "Copied" appears at that widget."""
    QGuiApplication.clipboard().setText(text)
    if said_by is not None and said_by.isVisible():
        inside = said_by.rect().contains(said_by.mapFromGlobal(QCursor.pos()))
        place = QCursor.pos() if inside else said_by.mapToGlobal(said_by.rect().bottomLeft())
        QToolTip.showText(place, "Copied", said_by)
