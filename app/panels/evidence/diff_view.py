"""One changed file as a difference of texts; where a text was not kept, that is said."""

from __future__ import annotations

from PySide6.QtGui import QSyntaxHighlighter, QTextCharFormat, QTextDocument
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.panels.prose import prose
from app.theme import Text, font, theme, tokens
from app.widgets import column, number, spoken
from engine.execution.since import MOST_DIFF_LINES, NOT_THERE, FileComparison, FileText

FEWEST_LINES, MOST_LINES = 4, 18
"""How many lines are shown at once; longer differences scroll."""


class DiffColours(QSyntaxHighlighter):
    """Lines that came and went, in the colours of the theme; the sign at their start says the same."""

    def highlightBlock(self, text: str) -> None:
        """Colour one line by its first character."""
        colours = tokens()
        ink = QTextCharFormat()
        if text.startswith("@@") or text.startswith(("+++", "---")):
            ink.setForeground(colours.muted)
        elif text.startswith("+"):
            ink.setForeground(colours.ok)
            ink.setBackground(colours.ok_back)
        elif text.startswith("-"):
            ink.setForeground(colours.bad)
            ink.setBackground(colours.bad_back)
        else:
            return
        self.setFormat(0, len(text), ink)


class DiffView(QWidget):
    """Shows a `FileComparison`; as high as its text needs, or, with ``fills``, as high as there is room."""

    def __init__(self, parent: QWidget | None = None, *, fills: bool = False) -> None:
        super().__init__(parent)
        self._fills = fills
        lines = column(self, margins=(0, 6, 0, 0), gap=6)
        self._said = prose("", Text.SMALL, muted=True, name="What is compared", parent=self)
        lines.addWidget(self._said)
        self._text = QPlainTextEdit(self)
        self._text.setReadOnly(True)
        self._text.setTabChangesFocus(True)
        self._text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._text.setAccessibleName("Difference of the file")
        self._text.setToolTip("The difference of the file; select and copy what you need")
        self._colours = DiffColours(self._document())
        lines.addWidget(self._text, 1)
        look = theme()
        if look is not None:
            look.changed.connect(self._refont)
        self._refont()
        self.forget()

    @property
    def text(self) -> str:
        """What is shown."""
        return self._text.toPlainText()

    @property
    def said(self) -> str:
        """What is said of it."""
        return self._said.text()

    def forget(self) -> None:
        """Show nothing."""
        self._said.set_text("Choose a file to see how it changed.")
        self._text.clear()
        self._text.hide()

    def show_comparison(self, found: FileComparison) -> None:
        """Show how a file changed, or the one text there is, or why there is none."""
        self._said.set_text(_words(found))
        if found.before.text is not None and found.after.text is not None:
            shown = "\n".join(found.lines)
        else:
            only = found.after.text if found.after.text is not None else found.before.text
            shown = only or ""
        self._text.setPlainText(shown)
        self._text.setVisible(bool(shown))
        self._fit()

    def _refont(self) -> None:
        self._text.setFont(font(Text.CODE_SMALL))
        self._colours.rehighlight()
        self._fit()

    def _fit(self) -> None:
        if self._fills:
            return
        lines = min(max(self._text.blockCount() + 1, FEWEST_LINES), MOST_LINES)
        self._text.setFixedHeight(self._text.fontMetrics().lineSpacing() * lines + 20)

    def _document(self) -> QTextDocument:
        return self._text.document()


def _words(found: FileComparison) -> str:
    before, after = found.before, found.after
    said = [spoken(found.path)]
    if before.text is not None and after.text is not None:
        said.append(f"before {before.found}, after {after.found}.")
        if before.text == after.text:
            said.append("The texts are equal; what changed is its mode or its line ends.")
        if found.cut:
            said.append(f"Only the first {number(MOST_DIFF_LINES)} lines of the difference are shown.")
        return " · ".join(said[:2]) + "".join(f" {one}" for one in said[2:])
    said += [f"before {_side(before)}", f"after {_side(after)}."]
    if before.found != NOT_THERE and after.found != NOT_THERE and (before.text or after.text):
        said.append(f"Only the text {'after' if after.text is not None else 'before'} is shown.")
    return " · ".join(said[:2]) + ", " + " ".join(said[2:])


def _side(side: FileText) -> str:
    return side.found if side.text is not None else side.why_not
