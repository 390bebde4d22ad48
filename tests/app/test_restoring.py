"""The console leaves, restores and comes back; and opens on the way back when its data cannot be opened (E-82)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton, QWidget

from app import main
from app.shell.window import MainWindow
from app.widgets import Question
from app.wizards.backup import BackupDialog
from app.wizards.copies import CopyChoice
from app.wizards.recovery import RecoveryScreen
from app.wizards.restore import ConfirmRestore
from engine.backup import take_backup
from engine.clock import SystemClock
from engine.engine import Engine
from engine.states import HoldKind
from tests.app.conftest import until
from tests.app.wizards.test_backup import dialog, press


@pytest.fixture(autouse=True)
def _no_scratch_work(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: object) -> None:
        return

    monkeypatch.setattr(main, "guided_tour", nothing)


@pytest.fixture
def _offscreen_says(expected_log: Callable[..., AbstractContextManager[object]]) -> Iterator[None]:
    """The console logs what Qt says, and the offscreen platform says of itself what it cannot do."""
    with expected_log("^This plugin does not support "):
        yield


async def shown_window(epoch_above: int = 0) -> MainWindow:
    """The main window, once it has read the engine's status."""

    def found() -> list[MainWindow]:
        return [
            one
            for one in QApplication.topLevelWidgets()
            if isinstance(one, MainWindow)
            and one.isVisible()
            and one.session.status is not None
            and one.session.status.epoch > epoch_above
        ]

    await until(found)
    return found()[0]


def choose(window: MainWindow, text: str) -> None:
    next(one for one in window.findChildren(QAction) if one.text() == text).trigger()


@pytest.mark.usefixtures("_offscreen_says")
async def test_from_backup_to_restore_and_back_in_the_real_window(qapp: QApplication, folder: Path) -> None:
    """Ctrl+B, then Data > Restore…: the console closes, restores, and stands there again, held."""
    console = asyncio.ensure_future(main._supervise(qapp, folder, "praxis-test-restoring"))
    window = await shown_window()
    keys = {one.text(): one.shortcut().toString() for one in window.findChildren(QAction)}
    assert keys["Back up now…"] == "Ctrl+B"
    choose(window, "Back up now…")
    press(await dialog(BackupDialog), "Back up now")
    press(await dialog(Question, "The backup is proven"), "Close")
    await until(
        lambda: (
            "proven backup just now" in {one.accessibleName() for one in window.foot.findChildren(QWidget)}
        )
    )
    choose(window, "Restore…")
    press(await dialog(CopyChoice), "Verify and compare")
    asking = await dialog(ConfirmRestore)
    fields = {one.accessibleName(): one for one in asking.findChildren(QLineEdit)}
    fields["Name of the data folder"].setText(folder.name)
    assert window.session.status is not None
    epoch = window.session.status.epoch
    press(asking, "Close and restore")
    window = await shown_window(epoch)
    status = window.session.status
    assert status is not None
    assert [hold.kind for hold in status.holds] == [HoldKind.RESTORE]
    assert any(one.what.startswith("Restored from") for one in window.session.alerts.shown())
    window.end_at_once()
    assert await console == 0


async def test_b089_damaged_data_opens_on_its_backups(qapp: QApplication, folder: Path) -> None:
    """Fail closed; one press restores the newest that is true, and the console opens on it, held."""
    engine = await Engine.open(folder, automatic=False)
    await engine.close()
    made = await asyncio.to_thread(lambda: take_backup(folder, folder / "backups", now=SystemClock().now()))
    database = folder / "praxis.sqlite"
    database.write_bytes(b"damaged" * 10_000)
    console = asyncio.ensure_future(main._supervise(qapp, folder, "praxis-test-recovery"))
    screen = await dialog(RecoveryScreen)
    assert database.read_bytes() == b"damaged" * 10_000
    await until(lambda: any(one.text() == "Restore" and one.isEnabled() for one in _buttons(screen)))
    press(screen, "Restore")
    window = await shown_window()
    assert window.session.status is not None
    assert [hold.kind for hold in window.session.status.holds] == [HoldKind.RESTORE]
    (aside,) = (folder / "rollback").iterdir()
    assert (aside / "praxis.sqlite").read_bytes() == b"damaged" * 10_000
    assert made.path.exists()
    window.end_at_once()
    assert await console == 0


async def test_the_recovery_screen_can_be_left(qapp: QApplication, folder: Path) -> None:
    (folder / "praxis.sqlite").write_bytes(b"damaged" * 10_000)
    console = asyncio.ensure_future(main._supervise(qapp, folder, "praxis-test-left"))
    press(await dialog(RecoveryScreen), "Quit")
    assert await console == 6
    assert (folder / "praxis.sqlite").read_bytes() == b"damaged" * 10_000


def _buttons(screen: RecoveryScreen) -> list[QPushButton]:
    return screen.findChildren(QPushButton)
