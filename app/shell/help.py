"""Help: the keys, what this is, and what a report of a fault should contain."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Sequence

import PySide6
from PySide6.QtCore import QUrl, qVersion
from PySide6.QtGui import QAction, QDesktopServices, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QPlainTextEdit, QScrollArea, QWidget

from app.crash import log_folder, recent_log_lines
from app.session import Session
from app.shell.pages import Page
from app.theme import Text, font, theme
from app.widgets import KeyValueGrid, Question, Role, SectionLabel, button, column, copy_text, opened
from engine.version import VERSION


async def show_about(window: QWidget, session: Session) -> None:
    """Say what this is."""
    dialog = Question(
        window, "Praxis Console", "Look, approve, watch, prove: supervision of work that machines do."
    )
    facts = KeyValueGrid("About", dialog)
    for name, value in _versions():
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
    everywhere.append(("Tab, Shift+Tab", "To the next or previous control"))
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


def diagnostics(session: Session) -> str:
    """What a report of a fault should contain. It has no environment values, no commands and no output."""
    status = session.status
    screens = ", ".join(
        f"{screen.size().width()}x{screen.size().height()} at {screen.devicePixelRatio():g}"
        for screen in QGuiApplication.screens()
    )
    look = theme()
    facts = [
        *_versions(),
        ("Platform", f"{QGuiApplication.platformName()}; screens {screens}"),
        ("Theme", f"{look.choice}, shown {look.tokens.name}, {look.density}" if look else "none"),
        ("Times", f"{session.times.zone}, {session.times.zone_name()}"),
        ("Data folder", str(session.engine.folder)),
    ]
    if status is not None:
        facts += [
            ("Epoch", str(status.epoch)),
            (
                "Counts",
                f"{status.pending_approvals} pending, {status.running} running, {status.unknown} UNKNOWN",
            ),
            ("Holds", ", ".join(f"{hold.kind} on {hold.node_kind}" for hold in status.holds) or "none"),
            (
                "Writer",
                f"{status.waiting_control}+{status.waiting_background} waiting, {status.latency_ms:.2f} ms",
            ),
            ("Journal", f"up to {status.last_sequence}"),
        ]
    lines = [f"{name}: {value}" for name, value in facts]
    return "\n".join([*lines, "", "Last lines of the log:", *recent_log_lines()])


async def show_diagnostics(window: QWidget, session: Session) -> None:
    """Show the diagnostics, to be copied."""
    dialog = Question(
        window, "Diagnostics", "For a report of a fault. It holds no environment values, commands or output."
    )
    dialog.setMinimumWidth(720)
    shown = QPlainTextEdit(diagnostics(session), dialog)
    shown.setReadOnly(True)
    shown.setFont(font(Text.CODE_SMALL))
    shown.setAccessibleName("Diagnostics")
    shown.setToolTip("Read it before you pass it on")
    shown.setTabChangesFocus(True)
    shown.setMinimumHeight(340)
    dialog.body.addWidget(shown)
    copy = button("Copy", "Copy all of it", role=Role.PRIMARY, parent=dialog)
    copy.clicked.connect(lambda: copy_text(shown.toPlainText(), copy))
    logs = button(
        "Open log folder",
        "Show the log files",
        lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(log_folder(session.engine.folder)))),
        role=Role.QUIET,
        parent=dialog,
    )
    dialog.add_aside(copy)
    dialog.add_aside(logs)
    dialog.add_back("Close").setFocus()
    await opened(dialog)


def _versions() -> list[tuple[str, str]]:
    return [
        ("Version", VERSION),
        ("Python", f"{platform.python_version()} ({sys.platform}, {platform.machine()})"),
        ("Qt", f"{qVersion()}, PySide6 {PySide6.__version__}"),
    ]
