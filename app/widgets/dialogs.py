"""Dialogs that a coroutine can wait for. None of them runs an event loop of its own.

Each opens with ``open()`` and gives its answer through a future. If the window behind it goes away, or the
waiting task is cancelled, the dialog closes and the answer is the harmless one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFileDialog,
    QPlainTextEdit,
    QPushButton,
    QWidget,
)
from shiboken6 import isValid

from app.theme import Text
from app.widgets.buttons import Role, button
from app.widgets.clipboard import copy_text
from app.widgets.frames import column, frame, row, rule
from app.widgets.labels import label
from app.widgets.reading_order import focus_next
from engine.errors import PraxisError

_MOST_LINES = 10
"""Longer details scroll."""

_SIZE_WAS_GIVEN = Qt.WidgetAttribute.WA_Resized


async def opened(dialog: QDialog) -> bool:
    """Open ``dialog`` and wait until it is closed; True if it was accepted.

    The dialog is deleted afterwards; read its fields before control returns to Qt, that is at once.
    """
    answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def settle(accepted: bool) -> None:
        if not answer.done():
            answer.set_result(accepted)

    dialog.finished.connect(lambda result: settle(result == QDialog.DialogCode.Accepted.value))
    dialog.destroyed.connect(lambda: settle(False))
    dialog.open()
    try:
        return await answer
    finally:
        if isValid(dialog):
            dialog.hide()
            dialog.deleteLater()


class Question(QDialog):
    """A dialog with a heading, a text, room for fields, and buttons at the lower right.

    No button is a default for Enter. The first focus goes to the first field, or else to the way back.
    """

    def __init__(self, parent: QWidget | None, title: str, text: str = "") -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setAccessibleName(title)
        self.setAccessibleDescription(text)
        self.setMinimumWidth(440)
        outer = column(self)
        self.body = column(margins=(22, 18, 22, 18), gap=10)
        outer.addLayout(self.body)
        self.body.addWidget(label(title, Text.TITLE, wrap=True, parent=self))
        if text:
            self.body.addWidget(label(text, wrap=True, selectable=True, parent=self))
        outer.addStretch(1)
        outer.addWidget(rule(self))
        foot = frame("surface", self)
        self._buttons = row(foot, margins=(22, 12, 22, 12))
        self._buttons.addStretch(1)
        outer.addWidget(foot)

    def showEvent(self, event: QShowEvent) -> None:
        """Take the width that the parts need and no more height than their words do, unless a size was given."""
        super().showEvent(event)
        layout = self.layout()
        if layout is None or self.testAttribute(_SIZE_WAS_GIVEN):
            return
        # Qt stops at two thirds of the screen, even where a part is wider than that.
        width = max(self.width(), layout.totalMinimumSize().width())
        self.resize(width, layout.totalHeightForWidth(width) if layout.hasHeightForWidth() else self.height())

    def focusNextPrevChild(self, next: bool) -> bool:
        """Tab goes as one reads."""
        return focus_next(self, next)

    def add_back(self, text: str = "Go back") -> QPushButton:
        """The button that changes nothing; Escape does the same."""
        made = button(
            text, "Close this and change nothing", self.reject, key="Esc", shortcut=False, parent=self
        )
        self._buttons.addWidget(made)
        return made

    def add_action(self, text: str, tip: str, role: Role = Role.PRIMARY) -> QPushButton:
        """A button that accepts."""
        made = button(text, tip, self.accept, role=role, parent=self)
        self._buttons.addWidget(made)
        return made

    def add_aside(self, widget: QWidget) -> None:
        """Put something at the lower left."""
        self._buttons.insertWidget(0, widget)

    def add_show_in_folder(self, path: Path, what: str) -> None:
        """Put a button at the lower left that opens the folder of a file; ``what`` is the word for it."""
        self.add_aside(
            button(
                "Show in folder",
                f"Open the folder of the {what}",
                lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(path.parent))),
                parent=self,
            )
        )


async def confirm(
    parent: QWidget | None,
    title: str,
    text: str,
    *,
    action: str,
    danger: bool = False,
    details: Sequence[str] = (),
) -> bool:
    """Ask for a yes. ``action`` is the verb on the button; ``details`` lists what it will touch."""
    dialog = Question(parent, title, text)
    if details:
        dialog.body.addWidget(_list_of(details, dialog))
    back = dialog.add_back()
    dialog.add_action(action, text or title, Role.DANGER if danger else Role.PRIMARY)
    back.setFocus()
    return await opened(dialog)


async def ask_reason(
    parent: QWidget | None,
    title: str,
    text: str,
    *,
    action: str,
    required: bool = True,
    danger: bool = False,
    details: Sequence[str] = (),
    placeholder: str = "Why? This is kept in the journal.",
) -> str | None:
    """Ask for a reason; None if the person went back. If ``required``, nothing is done without one."""
    dialog = Question(parent, title, text)
    if details:
        dialog.body.addWidget(_list_of(details, dialog))
    reason = QPlainTextEdit(dialog)
    reason.setAccessibleName("Reason")
    reason.setToolTip("The reason, kept with your name and the time (Ctrl+Enter when done)")
    reason.setPlaceholderText(placeholder)
    reason.setTabChangesFocus(True)
    reason.setFixedHeight(_height(reason, 4))
    dialog.body.addWidget(reason)
    dialog.add_back()
    done = dialog.add_action(action, f"{title} (Ctrl+Enter)", Role.DANGER if danger else Role.PRIMARY)
    done.setShortcut("Ctrl+Return")

    tip = done.toolTip()

    def enable() -> None:
        can = not required or bool(reason.toPlainText().strip())
        done.setEnabled(can)
        done.setToolTip(tip if can else "Give a reason first")

    reason.textChanged.connect(enable)
    enable()
    reason.setFocus()
    if not await opened(dialog):
        return None
    return reason.toPlainText().strip()


@dataclass(frozen=True, slots=True)
class Option:
    """One of several ways on: its key, the words on the button, and what it means."""

    key: str
    text: str
    means: str
    danger: bool = False


async def choose(
    parent: QWidget | None,
    title: str,
    text: str,
    options: Sequence[Option],
    *,
    details: Sequence[str] = (),
    back: str = "Go back",
) -> str | None:
    """Let a person choose one of several ways on; None if they went back."""
    dialog = Question(parent, title, text)
    if details:
        dialog.body.addWidget(_list_of(details, dialog))
    chosen: list[str] = []

    def take(key: str) -> None:
        chosen.append(key)
        dialog.accept()

    for option in options:
        box = frame("raised", dialog)
        line = row(box, margins=(12, 8, 8, 8), gap=12)
        line.addWidget(label(option.means, wrap=True, parent=box), 1)
        pressed = button(
            option.text,
            option.means,
            partial(take, option.key),
            role=Role.DANGER if option.danger else Role.PLAIN,
            parent=box,
        )
        line.addWidget(pressed)
        dialog.body.addWidget(box)
    dialog.add_back(back).setFocus()
    return chosen[0] if await opened(dialog) and chosen else None


def error_dialog(parent: QWidget | None, error: PraxisError, *, details: str = "") -> Question:
    """The dialog for an error: what happened, what it means, what to do, and details to copy."""
    dialog = Question(parent, error.what)
    if error.means:
        dialog.body.addWidget(label(error.means, wrap=True, selectable=True, parent=dialog))
    if error.do:
        dialog.body.addWidget(label(error.do, Text.STRONG, wrap=True, selectable=True, parent=dialog))
    facts = "\n".join(f"{name}: {value}" for name, value in error.facts.items())
    shown = "\n\n".join(part for part in (details, facts) if part)
    told = "\n".join(part for part in (f"{error} [{error.code}]", shown) if part)
    copy = button("Copy details", "Copy what this says, and the details", role=Role.QUIET, parent=dialog)
    copy.clicked.connect(lambda: copy_text(told, copy))
    dialog.add_aside(copy)
    if shown:
        dialog.body.addWidget(_details(shown, dialog))
    dialog.add_back("Close").setFocus()
    return dialog


def show_error(parent: QWidget | None, error: PraxisError, *, details: str = "") -> QDialog:
    """Show an error without waiting for it. The dialog deletes itself when it is closed."""
    dialog = error_dialog(parent, error, details=details)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
    return dialog


async def ask_open_file(
    parent: QWidget, title: str, *, filters: str, folder: Path | None = None
) -> Path | None:
    """Let a person choose a file that exists; None if they went back."""
    dialog = QFileDialog(parent, title, str(folder or Path.home()), filters)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    return await _chosen_file(dialog)


async def ask_save_file(parent: QWidget, title: str, *, filters: str, name: str) -> Path | None:
    """Let a person choose where to write; asks before overwriting. None if they went back."""
    dialog = QFileDialog(parent, title, str(Path.home() / name), filters)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.selectFile(name)
    return await _chosen_file(dialog)


async def ask_folder(parent: QWidget, title: str, *, folder: Path | None = None) -> Path | None:
    """Let a person choose a folder; None if they went back."""
    dialog = QFileDialog(parent, title, str(folder or Path.home()))
    dialog.setFileMode(QFileDialog.FileMode.Directory)
    dialog.setOption(QFileDialog.Option.ShowDirsOnly)
    return await _chosen_file(dialog)


async def _chosen_file(dialog: QFileDialog) -> Path | None:
    if not await opened(dialog):
        return None
    files = dialog.selectedFiles()
    return Path(files[0]) if files else None


def check_box(text: str, tip: str, *, on: bool = False, parent: QWidget | None = None) -> QCheckBox:
    """A check box with its name and tooltip."""
    made = QCheckBox(text, parent)
    made.setChecked(on)
    made.setAccessibleName(text)
    made.setToolTip(tip)
    return made


def _list_of(lines: Sequence[str], parent: QWidget) -> QPlainTextEdit:
    made = _details("\n".join(lines), parent)
    made.setAccessibleName("What it touches")
    return made


def _details(text: str, parent: QWidget) -> QPlainTextEdit:
    made = QPlainTextEdit(text, parent)
    made.setReadOnly(True)
    made.setTabChangesFocus(True)
    made.setAccessibleName("Details")
    made.setToolTip("Details; select and copy what you need")
    made.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
    made.setFixedHeight(_height(made, min(max(text.count("\n") + 1, 2), _MOST_LINES)))
    return made


def _height(field: QPlainTextEdit, lines: int) -> int:
    """The height for so many lines, with the document's margins and the style sheet's padding and border."""
    return field.fontMetrics().lineSpacing() * lines + 2 * int(field.document().documentMargin()) + 16
