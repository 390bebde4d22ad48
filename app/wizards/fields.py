"""Fields of a form: a name, a control, what is expected, and what is wrong with it, right where it is."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QGridLayout,
    QLineEdit,
    QPlainTextEdit,
    QSpinBox,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QWidget,
)

from app.theme import Text, font
from app.widgets import column, label, set_role

MOST_UNITS = 1_000_000_000
_GAP = 10


class Problems(QWidget):
    """The line under a field that says what is wrong with it; away while nothing is."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        lines = column(self)
        self._words = label("", Text.SMALL, wrap=True, selectable=True, parent=self)
        set_role(self._words, "danger")
        lines.addWidget(self._words)
        self.hide()

    def say(self, messages: Sequence[str]) -> None:
        """Say these; none of them takes the line away."""
        self._words.setText("\n".join(messages))
        self._words.setAccessibleName("Problem: " + " ".join(messages) if messages else "")
        self.setVisible(bool(messages))

    def text(self) -> str:
        """What is said."""
        return self._words.text()


class FieldGrid(QWidget):
    """Fields under each other: names at the left, controls at the right, problems under each control.

    ``changed`` comes when anything was edited.
    """

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(18, 14, 18, 14)
        self._grid.setHorizontalSpacing(14)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(1, 1)
        self._grid.setColumnMinimumWidth(0, QFontMetrics(font()).averageCharWidth() * 17)
        self._rows = 0
        self._parts: dict[str, tuple[QWidget, Problems, list[QWidget]]] = {}
        self._gaps: dict[str, int] = {}

    def add(self, field: str, name: str, control: QWidget, hint: str = "") -> None:
        """Add a control under ``name``; ``field`` is what the work order file calls it."""
        head = label(name, parent=self)
        head.setBuddy(_focus_of(control))
        top = Qt.AlignmentFlag.AlignTop
        head.setContentsMargins(0, 6, 0, 0)
        self._grid.addWidget(head, self._rows, 0, top | Qt.AlignmentFlag.AlignLeft)
        self._grid.addWidget(control, self._rows, 1)
        whole: list[QWidget] = [head, control]
        if hint:
            said = label(hint, Text.SMALL, muted=True, wrap=True, parent=self)
            self._grid.addWidget(said, self._rows + 1, 1)
            whole.append(said)
        problems = Problems(self)
        self._grid.addWidget(problems, self._rows + 2, 1)
        self._gaps[field] = self._rows + 3
        self._grid.setRowMinimumHeight(self._gaps[field], _GAP)
        self._rows += 4
        self._parts[field] = (control, problems, whole)

    def finish(self) -> None:
        """Let fields stay at the top when there is more room."""
        self._grid.setRowStretch(self._rows, 1)

    def show_fields(self, fields: Sequence[str], shown: bool) -> None:
        """Show or hide fields that have a meaning only sometimes."""
        for field in fields:
            _, problems, whole = self._parts[field]
            for widget in whole:
                widget.setVisible(shown)
            self._grid.setRowMinimumHeight(self._gaps[field], _GAP if shown else 0)
            if not shown:
                problems.say(())

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields here, as the work order file calls them."""
        return tuple(self._parts)

    def say(self, field: str, messages: Sequence[str]) -> None:
        """Say what is wrong with a field."""
        self._parts[field][1].say(messages)

    def said(self, field: str) -> str:
        """What is said to be wrong with a field."""
        return self._parts[field][1].text()

    def focus(self, field: str) -> None:
        """Go to a field."""
        _focus_of(self._parts[field][0]).setFocus(Qt.FocusReason.OtherFocusReason)

    # ---------------------------------------------------------------------------- controls of the usual kinds

    def line(self, field: str, name: str, tip: str, *, hint: str = "", placeholder: str = "") -> QLineEdit:
        """A field of one line."""
        made = QLineEdit(self)
        _describe(made, name, tip)
        made.setPlaceholderText(placeholder)
        made.textChanged.connect(self.changed)
        self.add(field, name, made, hint)
        return made

    def text(
        self, field: str, name: str, tip: str, *, lines: int = 3, code: bool = False, hint: str = ""
    ) -> QPlainTextEdit:
        """A field of several lines; Tab goes on to the next field."""
        made = QPlainTextEdit(self)
        if code:
            made.setFont(font(Text.CODE))
            made.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        _describe(made, name, tip)
        made.setTabChangesFocus(True)
        made.setFixedHeight(made.fontMetrics().lineSpacing() * lines + 18)
        made.textChanged.connect(self.changed)
        self.add(field, name, made, hint)
        return made

    def number(
        self,
        field: str,
        name: str,
        tip: str,
        *,
        unit: str = "",
        least: int = 0,
        none: str = "",
        hint: str = "",
    ) -> QSpinBox:
        """A field for a whole number; ``none`` is what ``least`` is called when it stands for nothing given."""
        made = CalmSpinBox(self)
        _describe(made, name, tip)
        made.setRange(least, MOST_UNITS)
        made.setGroupSeparatorShown(True)
        made.setSuffix(f" {unit}" if unit else "")
        made.setSpecialValueText(none)
        made.setMaximumWidth(made.fontMetrics().averageCharWidth() * 34)
        made.valueChanged.connect(self.changed)
        self.add(field, name, made, hint)
        return made


_TEXT_MARGIN = 6


class CalmSpinBox(QSpinBox):
    """A spin box that does not change under the wheel while one scrolls past it, nor submits on Enter."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setKeyboardTracking(False)
        # A style sheet gives a spin box no padding at the left.
        self.lineEdit().setTextMargins(_TEXT_MARGIN, 0, 0, 0)

    def sizeHint(self) -> QSize:
        """Room for the margin of the text too."""
        return super().sizeHint() + QSize(_TEXT_MARGIN, 0)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave the wheel to what is around."""
        event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Take a number in on Enter without pressing a button of the dialog."""
        super().keyPressEvent(event)
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            event.accept()


class CalmComboBox(QComboBox):
    """A combo box that does not change under the wheel while one scrolls past it; long words end with an ellipsis."""

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint it with its words cut as they fit."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        painter = QStylePainter(self)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        room = self.style().subControlRect(
            QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, self
        )
        option.currentText = self.fontMetrics().elidedText(
            self.currentText(), Qt.TextElideMode.ElideRight, room.width() - 8
        )
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave the wheel to what is around."""
        event.ignore()


def lines_of(edit: QPlainTextEdit) -> list[str]:
    """What stands in a field of one thing per line: blanks around and empty lines do not count."""
    return [line.strip() for line in edit.toPlainText().splitlines() if line.strip()]


def _describe(widget: QWidget, name: str, tip: str) -> None:
    widget.setAccessibleName(name)
    widget.setAccessibleDescription(tip)
    widget.setToolTip(tip)


def _focus_of(control: QWidget) -> QWidget:
    return control.focusProxy() or control


def fit_dialog(dialog: QDialog, wanted: QSize) -> None:
    """Give a dialog its size, no larger than the screen it opens on."""
    parent = dialog.parentWidget()
    screen = (parent or dialog).screen()
    room = screen.availableSize() if screen is not None else wanted
    width = min(wanted.width(), room.width() - 40)
    layout = dialog.layout()
    # What is narrower than it would like to be breaks its lines, and is higher.
    needed = layout.totalHeightForWidth(width) if layout is not None and layout.hasHeightForWidth() else 0
    dialog.resize(width, min(max(wanted.height(), needed), room.height() - 80))
