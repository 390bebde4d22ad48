"""The main job in the real window: import, look, approve, watch, read the evidence, accept (E-74, console.md §1).

The window, its event loop, the engine, the repository with its failing test and every process are real; the test
does what a person does with keys and buttons and reads what a person sees.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QCheckBox, QDialog, QPushButton, QWidget

from app.main import open_console
from app.panels.inbox.page import InboxView
from app.panels.work_orders.page import WorkOrdersView
from app.shell.window import MainWindow
from app.wizards.import_work_orders import ImportDialog, import_work_orders
from engine.interfaces.scratch import create_example_repository
from engine.states import WorkOrderState
from engine.workspace.repository import find_git
from tests.app.conftest import until


def press(widget: QWidget, text: str) -> None:
    next(
        found for found in widget.findChildren(QPushButton) if found.text() == text and found.isVisible()
    ).click()


def fails(repository: Path) -> bool:
    """Whether the repository's own test fails, run outside the product."""

    done = subprocess.run(
        [sys.executable, "-B", "-m", "unittest", "tests.test_rounding"],
        cwd=repository,
        capture_output=True,
        check=False,
    )
    return done.returncode != 0


async def import_file(window: MainWindow, file: Path) -> None:
    """File > Import work orders…, with a file and a yes."""
    importing = window.session.spawn(import_work_orders(window, window.session), "import")
    await until(lambda: window.findChildren(ImportDialog))
    (dialog,) = window.findChildren(ImportDialog)
    dialog.add_files([file])
    await until(lambda: any(b.text() == "Submit 1 work order…" and b.isEnabled() for b in buttons(dialog)))
    press(dialog, "Submit 1 work order…")
    await until(lambda: [child for child in dialog.findChildren(QDialog) if child.isVisible()])
    next(child for child in dialog.findChildren(QDialog) if child.isVisible()).accept()
    await importing


def buttons(widget: QWidget) -> list[QPushButton]:
    return widget.findChildren(QPushButton)


async def approve_in_the_card(window: MainWindow) -> None:
    """Read the card to the end of both commands, wait until it is armed, and press Ctrl+Enter inside it."""
    window.go_to_page("inbox")
    view = window.view("inbox")
    assert isinstance(view, InboxView)
    card = view._card
    await until(lambda: card.card is not None and card.card.state == "PENDING")
    assert not card.covers_validation, "the wider approval is never the default"
    assert not card.readiness().ready, "nothing is armed when it appears"
    next(box for box in card.findChildren(QCheckBox) if box.isVisible()).click()
    assert card.covers_validation
    card.focus_body()
    while not card.readiness().ready:
        if card.readiness().unseen:
            card._show_unseen()
        await asyncio.sleep(0.02)
    pressed = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier, "\r")
    QApplication.sendEvent(QApplication.focusWidget() or card, pressed)


async def test_from_submit_to_accepted_in_the_window(
    qapp: QApplication, folder: Path, tmp_path: Path
) -> None:
    repository = tmp_path / "payments-api"
    create_example_repository(repository, git=find_git(os.environ))
    assert fails(repository)
    async with open_console(qapp, folder) as window:
        window.show()
        window.activateWindow()
        await window.session.settled()
        await import_file(window, repository / "work-order.toml")
        assert fails(repository), "nothing runs unapproved"
        await approve_in_the_card(window)

        orders = await window.session.engine.work_orders()
        window.open_page("work_orders", orders[0].id)
        view = window.view("work_orders")
        assert isinstance(view, WorkOrdersView)
        await until(lambda: any(b.text() == "Accept" and b.isVisible() for b in buttons(view)))
        assert not fails(repository), "the implementation step mended it"

        attempt = (await window.session.engine.work_order(orders[0].id)).tasks[0].attempts[0]
        window.open_page("evidence", attempt.id)
        await window.session.settled()
        seen = await window.session.engine.evidence.of(attempt.id)
        assert seen.validation is not None
        assert seen.validation.outcome == "PASSED"

        window.open_page("work_orders", orders[0].id)
        press(view, "Accept")
        await until(lambda: [d for d in window.findChildren(QDialog) if d.isVisible()])
        dialog = next(d for d in window.findChildren(QDialog) if d.isVisible())
        press(dialog, "Accept")
        await until(lambda: not dialog.isVisible())
        await window.session.settled()
        (order,) = await window.session.engine.work_orders()
        assert order.state is WorkOrderState.ACCEPTED
        assert (await window.session.engine.verify_journal()).sound
