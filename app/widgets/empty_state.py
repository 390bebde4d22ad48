"""What a page says when it has nothing to show: what that means, what to do, and a button for it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.theme import Text
from app.widgets.buttons import Role, button
from app.widgets.frames import column, row
from app.widgets.labels import label


class EmptyState(QWidget):
    """Centred words in an empty place."""

    def __init__(
        self,
        what: str,
        do: str,
        action: str = "",
        pressed: Callable[[], object] | None = None,
        *,
        key: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        centre = Qt.AlignmentFlag.AlignHCenter
        self._what = label(what, Text.TITLE, wrap=True, parent=self)
        self._do = label(do, muted=True, wrap=True, parent=self)
        for part in (self._what, self._do):
            part.setAlignment(centre)
            part.setMaximumWidth(460)
        outer = column(self, margins=(24, 24, 24, 24), gap=10)
        outer.addStretch(2)
        for part in (self._what, self._do):
            middle = row()
            middle.addStretch(1)
            middle.addWidget(part, 8)
            middle.addStretch(1)
            outer.addLayout(middle)
        self.button = None
        if action:
            self.button = button(
                action, action.rstrip("…"), pressed, role=Role.PRIMARY, key=key, shortcut=False
            )
            outer.addSpacing(6)
            outer.addWidget(self.button, 0, centre)
        outer.addStretch(3)
        self.setAccessibleName(what)
        self.setAccessibleDescription(do)

    def say(self, what: str, do: str) -> None:
        """Say something else."""
        self._what.setText(what)
        self._do.setText(do)
        self.setAccessibleName(what)
        self.setAccessibleDescription(do)
