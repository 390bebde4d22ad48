"""Where the window opens: where it was, if that place is still on a screen (B-115)."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRect, QSize

DEFAULT_SIZE = QSize(1280, 800)
SMALLEST_SIZE = QSize(900, 500)
"""What is left of a full-HD screen at 200 %, with its task bar; nothing is cut from 1024 × 640 on."""


def fitted(wanted: QRect | None, screens: Sequence[QRect]) -> QRect:
    """Give a place for the window that is wholly on one of the screens' free areas.

    The first screen is the primary one. A wanted place keeps its screen if it overlaps one by a fifth, else it
    moves to the primary; it is shrunk to fit and moved inside. Without a wanted place the window is centred.
    """
    primary = screens[0]
    if wanted is None or not wanted.isValid():
        size = DEFAULT_SIZE.boundedTo(primary.size())
        place = QRect(QPoint(0, 0), size)
        place.moveCenter(primary.center())
        return _inside(place, primary)
    shares = [(_area(wanted.intersected(screen)), screen) for screen in screens]
    most, screen = max(shares, key=lambda share: share[0])
    if most * 5 < _area(wanted):
        screen = primary
        wanted = QRect(screen.topLeft(), wanted.size())
        wanted.moveCenter(screen.center())
    return _inside(QRect(wanted.topLeft(), wanted.size().boundedTo(screen.size())), screen)


def _inside(place: QRect, screen: QRect) -> QRect:
    left = min(max(place.left(), screen.left()), screen.left() + screen.width() - place.width())
    top = min(max(place.top(), screen.top()), screen.top() + screen.height() - place.height())
    return QRect(QPoint(left, top), place.size())


def _area(rect: QRect) -> int:
    return rect.width() * rect.height() if rect.isValid() else 0
