"""A list beside its details, divided as the person left it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QWidget

from app.settings import Settings

Built = QWidget | Callable[[QWidget], QWidget]
"""A widget, or what makes it in its place: moving a large one later makes Qt style all of it again."""


def side_by_side(
    settings: Settings, name: str, first: Built, second: Built, sizes: tuple[int, int], parent: QWidget
) -> QSplitter:
    """Put two widgets side by side; the division is kept in the settings under ``name``."""
    made = QSplitter(Qt.Orientation.Horizontal, parent)
    made.setChildrenCollapsible(False)
    made.setHandleWidth(1)
    for side in (first, second):
        made.addWidget(side if isinstance(side, QWidget) else side(made))
    made.setStretchFactor(0, 0)
    made.setStretchFactor(1, 1)
    made.setSizes(list(sizes))
    kept = settings.state(name)
    if not kept.isEmpty():
        made.restoreState(kept)
        # An older version may have kept another handle width with the division.
        made.setHandleWidth(1)
    made.setProperty("keeps itself", True)
    made.splitterMoved.connect(lambda: settings.set_state(name, made.saveState()))
    return made
