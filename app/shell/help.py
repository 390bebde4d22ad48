"""Help: the keys, and what this is."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Sequence

import PySide6
from PySide6.QtCore import qVersion
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QScrollArea, QWidget

from app.session import Session
from app.shell.pages import Page
from app.widgets import KeyValueGrid, Question, SectionLabel, column, opened
from engine.version import VERSION


async def show_about(window: QWidget, session: Session) -> None:
    """Say what this is."""
    dialog = Question(
        window, "Praxis Console", "Look, approve, watch, prove: supervision of work that machines do."
    )
    facts = KeyValueGrid("About", dialog)
    for name, value in versions():
        facts.add(name, value)
    facts.add("Data folder", str(session.engine.folder), code=True)
    facts.add("Licence", "MIT; Qt and PySide6 under LGPL-3.0")
    dialog.body.addWidget(facts)
    dialog.add_back("Close").setFocus()
    await opened(dialog)


async def show_keyboard(window: QWidget, actions: Iterable[QAction], pages: Sequence[Page]) -> None:
    """List every key: those of the window, then those of each page."""
    dialog = Question(window, "Keyboard")
    inner = QWidget(dialog)
    lines = column(inner, margins=(0, 0, 12, 0), gap=6)
    everywhere = [
        (action.shortcut().toString(QKeySequence.SequenceFormat.NativeText), action.text().rstrip("…"))
        for action in actions
        if not action.shortcut().isEmpty()
    ]
    everywhere.append(("Tab, Shift+Tab", "To the next or previous control, in the order of reading"))
    everywhere.append(("Ctrl+Enter", "In a dialog that asks why: do it"))
    everywhere.append(("Esc", "In a dialog: go back and change nothing"))
    for title, keys in (("Everywhere", everywhere), *((page.title, page.keys) for page in pages)):
        if keys:
            lines.addWidget(SectionLabel(title, inner))
            grid = KeyValueGrid(title, inner)
            for key, does in keys:
                grid.add(key, does)
            lines.addWidget(grid)
            lines.addSpacing(6)
    lines.addStretch(1)
    area = QScrollArea(dialog)
    area.setWidget(inner)
    area.setWidgetResizable(True)
    area.setMinimumHeight(360)
    area.setAccessibleName("Keys")
    dialog.body.addWidget(area)
    dialog.add_back("Close").setFocus()
    await opened(dialog)


def versions() -> list[tuple[str, str]]:
    """What runs here, by name."""
    return [
        ("Version", VERSION),
        ("Python", f"{platform.python_version()} ({sys.platform}, {platform.machine()})"),
        ("Qt", f"{qVersion()}, PySide6 {PySide6.__version__}"),
    ]
