"""Entering a command as what it is, a list: one argument per line, with a look at what will be passed."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QScrollArea, QWidget

from app.theme import Text, font
from app.widgets import CommandText, button, column, label, row, set_role, spoken
from app.wizards.command_split import SplitLine, looks_like_a_line, split_line

_EDIT_LINES = 4
_PREVIEW_LINES = 5


class ArgumentsEdit(QWidget):
    """A list of arguments. ``changed`` comes when it was edited.

    Empty lines in between are empty arguments; those at the end do not count. A line that looks like a whole
    command line is offered as a list, and the list is shown before it is taken.
    """

    changed = Signal()

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        lines = column(self, gap=4)
        self._edit = QPlainTextEdit(self)
        self._edit.setFont(font(Text.CODE))
        self._edit.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._edit.setTabChangesFocus(True)
        self._edit.setAccessibleName(f"{name}, one argument per line")
        self._edit.setToolTip(
            "The program in the first line, then one argument per line. No shell reads them."
        )
        self._edit.setPlaceholderText("python\ntools/apply_fix.py\n--issue\n412")
        self._edit.setFixedHeight(self._edit.fontMetrics().lineSpacing() * _EDIT_LINES + 18)
        self.setFocusProxy(self._edit)
        lines.addWidget(self._edit)
        lines.addWidget(self._build_offer(name))
        self._said = label("", Text.SMALL, muted=True, wrap=True, parent=self)
        lines.addWidget(self._said)
        self._preview = CommandText((), f"{name} as it will be passed", self)
        self._scroll = QScrollArea(self)
        self._scroll.setWidgetResizable(True)
        self._scroll.setWidget(self._preview)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setAccessibleName(f"{name} as it will be passed")
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        lines.addWidget(self._scroll)
        self._split = SplitLine(())
        self._edit.textChanged.connect(self._edited)
        self._edited()

    def arguments(self) -> list[str]:
        """The arguments as they stand."""
        lines = self._edit.toPlainText().split("\n")
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def set_arguments(self, arguments: list[str]) -> None:
        """Show other arguments; none of them may hold a line break."""
        self._edit.setPlainText("\n".join(arguments))

    @property
    def offered(self) -> SplitLine | None:
        """The list that is offered for the line that stands there, if one is."""
        return None if self._offer.isHidden() else self._split

    def take_offer(self) -> None:
        """Put the offered list in the place of the line."""
        if self._split.arguments:
            self.set_arguments(list(self._split.arguments))
            self._edit.setFocus()

    def _build_offer(self, name: str) -> QWidget:
        self._offer = QFrame(self)
        self._offer.setProperty("surface", "alert-live")
        lines = column(self._offer, margins=(10, 8, 10, 8), gap=4)
        self._offer_words = label("", wrap=True, parent=self._offer)
        self._offer_list = label("", Text.CODE_SMALL, wrap=True, parent=self._offer)
        self._offer_warning = label("", Text.SMALL, wrap=True, parent=self._offer)
        set_role(self._offer_warning, "warn")
        self._take = button(
            "Take this list",
            "Put these arguments in the place of the line",
            self.take_offer,
            name=f"Take this list as the {name.lower()}",
            parent=self._offer,
        )
        for part in (self._offer_words, self._offer_list, self._offer_warning):
            lines.addWidget(part)
        line = row(gap=8)
        line.addWidget(self._take)
        line.addStretch(1)
        lines.addLayout(line)
        self._offer.hide()
        return self._offer

    def _edited(self) -> None:
        text = self._edit.toPlainText()
        arguments = self.arguments()
        self._show_offer(text)
        if arguments:
            count = "1 argument" if len(arguments) == 1 else f"{len(arguments)} arguments"
            self._said.setText(f"Passed exactly like this, {count} with the program:")
        else:
            self._said.setText("One argument per line, the program first. No shell reads them.")
        self._preview.set_elements(arguments)
        self._scroll.setVisible(bool(arguments))
        self._scroll.setFixedHeight(self._height_of(len(arguments)))
        self.changed.emit()

    def _height_of(self, count: int) -> int:
        line = self._preview.fontMetrics().lineSpacing() + 4
        return line * min(max(count, 1), _PREVIEW_LINES) + 14

    def _show_offer(self, text: str) -> None:
        if not looks_like_a_line(text):
            self._offer.hide()
            return
        self._split = split_line(text)
        count = len(self._split.arguments)
        self._offer_words.setText(
            self._split.problem
            or f"This looks like a command line. As it stands it is one argument; as a list it would be {count}:"
        )
        shown = "\n".join(
            f"{at}  {spoken(item) or '(empty)'}" for at, item in enumerate(self._split.arguments)
        )
        self._offer_list.setText(shown)
        self._offer_list.setVisible(bool(shown))
        self._offer_warning.setText(self._split.warning)
        self._offer_warning.setVisible(bool(self._split.warning))
        self._take.setVisible(not self._split.problem)
        self._offer.setVisible(bool(self._split.problem) or count > 1)
