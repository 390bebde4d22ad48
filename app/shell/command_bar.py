"""The command bar: what can be done to what is selected, said in words, and the search field."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QFrame, QLineEdit, QSizePolicy, QWidget

from app.shell.commands import Commands
from app.widgets import ElidedLabel, Role, button, row

_SEARCH_DELAY_MS = 150


class CommandBar(QFrame):
    """Buttons for the commands, what they act on, and the search field.

    ``searched(text)`` comes shortly after the last key press, at once on Enter and when emptied. On a page that has
    nothing of its own to search, ``looked_for(text)`` comes on Enter instead.
    """

    searched = Signal(str)
    looked_for = Signal(str)

    def __init__(self, commands: Commands, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("surface", "bar")
        self.setAccessibleName("Commands")
        line = row(self, margins=(12, 8, 12, 8), gap=8)
        if commands.new_work_order is not None:
            line.addWidget(_button_of(commands.new_work_order, Role.PLAIN, self))
            line.addSpacing(12)
        for action, role in (
            (commands.pause, Role.PLAIN),
            (commands.hold, Role.PLAIN),
            (commands.resume, Role.PLAIN),
            (commands.cancel, Role.DANGER),
        ):
            line.addWidget(_button_of(action, role, self))
        self._acts_on = ElidedLabel(muted=True, parent=self)
        self._acts_on.setMinimumWidth(110)
        line.addWidget(self._acts_on, 1)
        self.search = QLineEdit(self)
        self.search.setProperty("role", "search")
        self.search.setClearButtonEnabled(True)
        self.search.setAccessibleName("Search")
        self.search.setMinimumWidth(170)
        self.search.setMaximumWidth(320)
        self.search.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        line.addWidget(self.search, 1)
        self._delay = QTimer(self, interval=_SEARCH_DELAY_MS, singleShot=True)
        self._delay.timeout.connect(self._tell)
        self.search.textEdited.connect(self._edited)
        self.search.returnPressed.connect(self._entered)
        self._page_searches = False
        self.say_selection("the whole engine")

    def say_selection(self, label: str) -> None:
        """Say what the commands act on."""
        self._acts_on.set_text(f"acts on: {label}")

    def offer_search(self, hint: str, text: str) -> None:
        """Take up the search of another page: its hint (``""``: work orders are looked for) and its text."""
        self._delay.stop()
        self._page_searches = bool(hint)
        shown = hint or "Find a work order"
        key = QKeySequence("Ctrl+F").toString(QKeySequence.SequenceFormat.NativeText)
        self.search.setPlaceholderText(f"{shown}  {key}")
        self.search.setToolTip(f"{hint} ({key})" if hint else f"Find a work order: type, then Enter ({key})")
        self.search.setText(text)

    def _entered(self) -> None:
        if self._page_searches:
            self._tell()
        elif self.search.text().strip():
            self.looked_for.emit(self.search.text())

    def _edited(self, text: str) -> None:
        if not self._page_searches:
            return
        if text:
            self._delay.start()
        else:
            self._tell()

    def _tell(self) -> None:
        self._delay.stop()
        self.searched.emit(self.search.text())


def _button_of(action: QAction, role: Role, parent: QWidget) -> QWidget:
    """A button that presses a menu action and is on and off with it."""
    made = button(
        action.text(),
        action.statusTip(),
        action.trigger,
        role=role,
        key=action.shortcut().toString(),
        shortcut=False,
        parent=parent,
    )

    def follow() -> None:
        made.setText(action.text())
        made.setEnabled(action.isEnabled())
        made.setToolTip(action.toolTip())

    action.changed.connect(follow)
    follow()
    return made
