"""Help > Diagnostics: what a report of a fault should contain, to be read whole before it is copied or saved."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.crash import log_folder
from app.session import Session
from app.shell.help import versions
from app.theme import Text, font, theme
from app.widgets import Question, Role, ask_save_file, button, copy_text, opened
from engine.errors import PraxisError
from engine.interfaces.bundle import NOT_IN_IT, Bundle, Part, default_name, make_bundle


async def show_diagnostics(window: QWidget, session: Session) -> None:
    """Show the whole bundle as text; it is copied or saved only from here, exactly as it is shown."""
    bundle = await gather(session)
    dialog = Question(window, "Diagnostics", f"For a report of a fault. This is all of it. {NOT_IN_IT}")
    dialog.setMinimumWidth(720)
    shown = QPlainTextEdit(bundle.as_text(), dialog)
    shown.setReadOnly(True)
    shown.setFont(font(Text.CODE_SMALL))
    shown.setAccessibleName("Diagnostics")
    shown.setToolTip("Read it before you pass it on")
    shown.setTabChangesFocus(True)
    shown.setMinimumHeight(340)
    dialog.body.addWidget(shown)
    save = button("Save…", "Write what is shown here into one zip file", role=Role.PRIMARY, parent=dialog)
    save.clicked.connect(lambda: session.spawn(_save(dialog, session, bundle), "save diagnostics"))
    copy = button("Copy", "Copy all of it", parent=dialog)
    copy.clicked.connect(lambda: copy_text(shown.toPlainText(), copy))
    logs = button(
        "Open log folder",
        "Show the log files",
        lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(log_folder(session.engine.folder)))),
        role=Role.QUIET,
        parent=dialog,
    )
    for one in (save, copy, logs):
        dialog.add_aside(one)
    dialog.add_back("Close").setFocus()
    await opened(dialog)


async def gather(session: Session) -> Bundle:
    """Make the bundle of this console; what cannot be asked of the engine now is named in it."""
    problems: list[str] = []
    told = None
    try:
        told = await session.engine.diagnostics()
    except PraxisError as error:
        problems = [error.what, error.means]
    return await asyncio.to_thread(
        make_bundle,
        session.engine.folder,
        session.engine.clock.now(),
        engine=told.engine if told is not None else None,
        stored=told.stored if told is not None else None,
        problems=problems,
        more=(
            Part(
                "console.txt", "The window: Qt, screens, theme, what the foot line says.", _console(session)
            ),
        ),
    )


async def _save(dialog: Question, session: Session, bundle: Bundle) -> None:
    name = default_name(session.engine.clock.now())
    target = await ask_save_file(dialog, "Save diagnostics", filters="Archives (*.zip)", name=name)
    if target is not None:
        await asyncio.to_thread(bundle.write, target)
        dialog.accept()


def _console(session: Session) -> str:
    """What the window knows. It names no environment values, no commands, no output and no people."""
    status = session.status
    screens = ", ".join(
        f"{screen.size().width()}x{screen.size().height()} at {screen.devicePixelRatio():g}"
        for screen in QGuiApplication.screens()
    )
    look = theme()
    facts = [
        *versions(),
        ("Platform", f"{QGuiApplication.platformName()}; screens {screens}"),
        ("Theme", f"{look.choice}, shown {look.tokens.name}, {look.density}" if look else "none"),
        ("Times", f"{session.times.zone}, {session.times.zone_name()}"),
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
    return "".join(f"{name}: {value}\n" for name, value in facts)
