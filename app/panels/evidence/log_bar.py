"""The line above a log: how it is read and laid out, how large it is, and what is looked for in it."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QComboBox, QLineEdit, QWidget

from app.panels.evidence.log_search import Search
from app.panels.evidence.text_encoding import AUTOMATIC, CHOICES, Detection
from app.theme import Text
from app.widgets import Role, button, check_box, label, number, row
from engine.durations import size_text


class LogBar(QWidget):
    """Asks by signals and is told what to show; ``step`` is 1 for the next match and -1 for the one before."""

    encoding_chosen = Signal()
    raw_toggled = Signal()
    wrap_toggled = Signal(bool)
    needle_changed = Signal(str)
    step = Signal(int)
    stop = Signal()
    left = Signal()

    def __init__(self, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        line = row(self, margins=(0, 0, 0, 8), gap=8)
        self._encoding = self._build_encoding(name)
        self._raw = check_box(
            "Raw", "Show escapes and control characters instead of obeying them", parent=self
        )
        self._raw.toggled.connect(lambda _=False: self.raw_toggled.emit())
        self._wrap = check_box(
            "Wrap", "Lay long lines out over several rows, instead of scrolling sideways (Alt+Z)", parent=self
        )
        self._wrap.toggled.connect(self.wrap_toggled)
        self._facts = label("", Text.SMALL, muted=True, parent=self)
        self.search_field = self._build_search(name)
        self._found = label("", Text.SMALL, muted=True, parent=self)
        back, on = partial(self.step.emit, -1), partial(self.step.emit, 1)
        previous = button("▲", "Previous match (Shift+F3)", back, role=Role.QUIET)
        following = button("▼", "Next match (F3)", on, role=Role.QUIET)
        previous.setAccessibleName("Previous match")
        following.setAccessibleName("Next match")
        self._stop = button("Stop", "Stop searching", self.stop.emit, role=Role.QUIET)
        for widget, stretch in (
            (self._encoding, 0),
            (self._raw, 0),
            (self._wrap, 0),
            (self._facts, 1),
            (self._found, 0),
            (self.search_field, 1),
            (previous, 0),
            (following, 0),
            (self._stop, 0),
        ):
            line.addWidget(widget, stretch)
        self._stop.hide()
        for key, do in (
            ("Ctrl+Shift+F", self.search_field.setFocus),
            ("F3", on),
            ("Shift+F3", back),
            ("Alt+Z", self._wrap.toggle),
        ):
            # The keys work wherever the focus is in the view that holds this bar.
            action = QAction(parent)
            action.setShortcut(key)
            action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            action.triggered.connect(lambda _=False, run=do: run())
            parent.addAction(action)

    @property
    def encoding(self) -> str:
        """The encoding that was chosen, or `AUTOMATIC`."""
        return str(self._encoding.currentData() or AUTOMATIC)

    @property
    def found_words(self) -> str:
        """What is said about the search."""
        return self._found.text()

    @property
    def raw(self) -> bool:
        """Whether escapes are shown instead of obeyed."""
        return self._raw.isChecked()

    @property
    def wraps(self) -> bool:
        """Whether long lines take several rows."""
        return self._wrap.isChecked()

    def set_wraps(self, on: bool) -> None:
        """Set the switch; ``wrap_toggled`` tells it if that is a change."""
        self._wrap.setChecked(on)

    def say_nothing(self) -> None:
        """There is no file."""
        self._facts.setText("")
        self._encoding.setItemText(0, CHOICES[0][1])

    def say_facts(self, size: int, detection: Detection, *, missing: bool) -> None:
        """Say how large the file is and how it is read."""
        self._facts.setText("missing" if missing else size_text(size))
        self._facts.setToolTip(f"{number(size)} bytes. Read as {detection.label}: {detection.why}.")
        automatic = f"{detection.label} (detected)" if not detection.chosen else CHOICES[0][1]
        self._encoding.setItemText(0, automatic)
        self._encoding.setToolTip(
            f"Read as {detection.label}: {detection.why}. The bytes themselves are never changed."
        )

    def say_found(self, search: Search) -> None:
        """Say how many matches there are, which one is shown, and how far the search is."""
        total = f"{number(len(search.offsets))}{'' if search.whole else '+'}"
        if search.current >= 0:
            words = f"{number(search.current + 1)} of {total}"
        elif search.offsets:
            words = f"{total} rows"
        else:
            words = "not found" if search.whole else "none so far"
        if not search.done and search.size:
            words = f"{words} · {min(search.searched * 100 // search.size, 100)} %"
        elif not search.whole:
            words = f"{words} · stopped"
        self._found.setText(words)

    def say_search_failed(self, problem: str) -> None:
        """Say why the search ended early; "" says nothing."""
        self._found.setText(problem)

    def set_searching(self, on: bool) -> None:
        """Offer to stop while a search goes on."""
        self._stop.setVisible(on)

    def eventFilter(self, watched: object, event: QEvent) -> bool:
        """Enter and Shift+Enter in the search field go through the matches, Escape leaves it."""
        if (
            watched is self.search_field
            and isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.KeyPress
        ):
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self.step.emit(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
                return True
            if event.key() == Qt.Key.Key_Escape:
                self.search_field.clear()
                self.left.emit()
                return True
        return False

    def _build_encoding(self, name: str) -> QComboBox:
        made = QComboBox(self)
        made.setAccessibleName(f"Encoding of {name.lower()}")
        made.setToolTip("How the bytes are read. The bytes themselves are never changed.")
        made.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        made.setMinimumContentsLength(17)
        made.setMinimumWidth(made.fontMetrics().averageCharWidth() * 12)
        for key, words in CHOICES:
            made.addItem(words, key)
        made.view().setMinimumWidth(made.fontMetrics().averageCharWidth() * 36)
        made.activated.connect(lambda _=0: self.encoding_chosen.emit())
        return made

    def _build_search(self, name: str) -> QLineEdit:
        made = QLineEdit(self)
        made.setProperty("role", "search")
        made.setPlaceholderText("Find")
        made.setAccessibleName(f"Find in {name.lower()}")
        made.setToolTip("Find in the whole file; Enter next, Shift+Enter previous (Ctrl+Shift+F)")
        made.setClearButtonEnabled(True)
        made.setMinimumWidth(100)
        made.setMaximumWidth(260)
        made.installEventFilter(self)
        made.textChanged.connect(self.needle_changed)
        return made
