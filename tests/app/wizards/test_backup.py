"""Backing up, verifying, rehearsing and restoring in the console, on a real engine (console.md §8)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QDialog,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QSpinBox,
    QWidget,
)

from app.shell import quitting
from app.shell.alert_strips import StandingAlerts
from app.theme import Theme
from app.widgets import Badge, Question
from app.wizards import backup as backing_up
from app.wizards import restore as restoring
from app.wizards.backup import BackupDialog
from app.wizards.backup_schedule import ScheduleDialog, schedule_backups
from app.wizards.copies import CopyChoice
from app.wizards.recovery import RECOVERABLE, RecoveryScreen, recover
from app.wizards.restore import ConfirmRestore, carry_out, tell_restored
from engine.backup import CopyKind, list_copies
from engine.backup.schedule import BackupSchedule
from engine.engine import Engine
from engine.errors import DatabaseDamaged, DiskFull
from engine.states import HoldKind
from tests.app.conftest import until
from tests.app.panels.work_orders.console import Console


@pytest.fixture
def window(console: Console) -> Any:
    """A window for dialogs to belong to."""
    made = QWidget()
    made.show()
    yield made
    made.close()
    made.deleteLater()


async def dialog(kind: type[QDialog], title: str = "") -> Any:
    """The visible dialog of a kind, once it is there."""

    def found() -> list[QDialog]:
        return [
            one
            for one in QApplication.topLevelWidgets()
            if isinstance(one, kind) and one.isVisible() and one.windowTitle().startswith(title)
        ]

    await until(found)
    return found()[0]


def press(widget: QWidget, text: str) -> None:
    (found,) = [one for one in widget.findChildren(QPushButton) if one.text() == text]
    assert found.isEnabled(), text
    found.click()


def said(widget: QWidget) -> str:
    return "\n".join(one.text() for one in widget.findChildren(QLabel) if one.isVisible())


async def made_backup(console: Console) -> Path:
    return (await console.engine.backups.back_up(console.session.actor)).path


async def test_a_backup_is_made_verified_rehearsed_and_then_green(console: Console, window: QWidget) -> None:
    await console.submit()
    working = asyncio.ensure_future(backing_up.back_up(window, console.session))
    asking = await dialog(BackupDialog)
    shown = said(asking)
    assert "1 work order," in shown
    assert "Free there" in shown
    assert "This is the disk that your data is on" in shown
    assert "key of sealed secrets" in shown
    press(asking, "Back up now")
    result = await dialog(Question, "The backup is proven")
    assert "1, open or approved and not used, would be void" in said(result)
    assert "held until you have looked" in said(result)
    assert "PROVEN" in {one.accessibleName() for one in result.findChildren(Badge)}
    press(result, "Close")
    await working
    assert (await console.engine.status()).proven_backup_at is not None


async def test_a_failed_backup_is_a_strip_until_one_succeeds(
    console: Console, window: QWidget, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object, **__: object) -> None:
        raise DiskFull("There is not enough room.", do="Make room.")

    with monkeypatch.context() as patch:
        patch.setattr(console.engine.backups, "back_up", full)
        working = asyncio.ensure_future(backing_up.back_up(window, console.session))
        press(await dialog(BackupDialog), "Back up now")
        with pytest.raises(DiskFull):
            await working
    assert [one.what for one in console.session.alerts.shown()] == ["The backup failed."]
    working = asyncio.ensure_future(backing_up.back_up(window, console.session))
    press(await dialog(BackupDialog), "Back up now")
    press(await dialog(Question, "The backup is proven"), "Close")
    await working
    assert console.session.alerts.shown() == ()


async def test_too_little_room_cannot_be_pressed(console: Console, window: QWidget) -> None:
    from dataclasses import replace

    estimate = await console.engine.backups.estimate()
    asking = BackupDialog(window, console.session, Path("/somewhere"), replace(estimate, free=1_000))
    asking.show()
    assert not asking.start.isEnabled()
    assert "not enough room" in said(asking)
    asking.show_estimate(Path("/elsewhere"), replace(estimate, same_disk=False))
    assert asking.start.isEnabled()
    assert "disk" not in said(asking)
    asking.close()
    asking.deleteLater()


async def test_stopping_a_backup_leaves_nothing(console: Console, window: QWidget) -> None:
    working = asyncio.ensure_future(backing_up.back_up(window, console.session))
    press(await dialog(BackupDialog), "Back up now")
    press(await dialog(Question, "Backing up"), "Stop")
    await working
    assert list_copies(console.engine.folder) == ()


async def test_a_backup_is_verified_and_what_is_wrong_is_said(console: Console, window: QWidget) -> None:
    path = await made_backup(console)
    for title, damage in (("The backup is good", False), ("The backup is not good", True)):
        if damage:
            (path / "secret.key").write_bytes(b"x" * 32)
        working = asyncio.ensure_future(backing_up.verify_backup(window, console.session))
        press(await dialog(CopyChoice), "Verify")
        result = await dialog(Question, title)
        assert ("secret.key is not the one that was written" in said(result)) is damage
        press(result, "Close")
        await working


async def test_a_rehearsal_from_the_list_proves_it(console: Console, window: QWidget) -> None:
    await made_backup(console)
    assert (await console.engine.status()).proven_backup_at is None
    working = asyncio.ensure_future(backing_up.rehearse_restore(window, console.session))
    press(await dialog(CopyChoice), "Rehearse")
    press(await dialog(Question, "The backup is proven"), "Close")
    await working
    assert (await console.engine.status()).proven_backup_at is not None


async def test_a_copy_that_cannot_be_opened_cannot_be_chosen(
    console: Console, window: QWidget, tmp_path: Path
) -> None:
    path = await made_backup(console)
    (path / "manifest.json").write_text("{}")
    choice = CopyChoice(
        window, console.session, await console.engine.backups.listed(), "Restore", "", "Restore"
    )
    assert choice.chosen is None
    assert not choice.action.isEnabled()
    other = (await console.engine.backups.back_up(console.session.actor, place=tmp_path / "disk")).path
    choice.take(other)
    assert choice.chosen is not None
    assert choice.action.isEnabled()
    choice.take(tmp_path)
    error = await dialog(Question, "There is no backup")
    error.reject()
    choice.deleteLater()


async def test_e83_a_schedule_is_set_shown_and_ended(
    console: Console, window: QWidget, tmp_path: Path
) -> None:
    """With a strip while the latest one has failed."""
    engine, session = console.engine, console.session
    working = asyncio.ensure_future(schedule_backups(window, session))
    asking = await dialog(ScheduleDialog)
    assert asking.schedule is None
    asking.findChild(QCheckBox).click()
    hours, keep = asking.findChildren(QSpinBox)
    hours.setValue(6)
    keep.setValue(3)
    asking.show_place(tmp_path / "disk")
    press(asking, "Set")
    await working
    assert await engine.scheduled_backups.schedule() == BackupSchedule(
        6 * 3_600_000, 3, str(tmp_path / "disk")
    )
    (tmp_path / "disk").write_text("in the way")
    assert await engine.scheduled_backups.run_due()
    StandingAlerts(window, session, ()).update(await engine.status())
    (strip,) = session.alerts.shown()
    assert strip.what == "The scheduled backup failed."
    assert "cannot be written to" in strip.means
    working = asyncio.ensure_future(schedule_backups(window, session))
    asking = await dialog(ScheduleDialog)
    assert asking.schedule is not None
    asking.findChild(QCheckBox).click()
    press(asking, "Set")
    await working
    assert await engine.scheduled_backups.schedule() is None
    assert (await engine.status()).backup_error == ""


# --------------------------------------------------------------------------------------------- restoring


async def confirmed(
    console: Console, window: QWidget, name: str
) -> tuple[asyncio.Future[None], ConfirmRestore]:
    working = asyncio.ensure_future(restoring.restore_backup(window, console.session))
    press(await dialog(CopyChoice), "Verify and compare")
    asking = await dialog(ConfirmRestore)
    fields = {one.accessibleName(): one for one in asking.findChildren(QLineEdit)}
    fields["Name of the data folder"].setText(name)
    fields["Reason"].setText("drill")
    return working, asking


async def test_what_would_be_lost_is_shown_and_the_name_must_be_typed(
    console: Console, window: QWidget
) -> None:
    await console.submit("Before")
    await made_backup(console)
    await console.go_on()
    await console.submit("After")
    working, asking = await confirmed(console, window, "dat")
    assert not asking.action.isEnabled()
    shown = said(asking)
    assert "1 attempt was started after the backup" in shown
    assert "new or changed: 2 work orders" in shown
    (details,) = asking.findChildren(QPlainTextEdit)
    assert "WO-1 implement" in details.toPlainText()
    assert "new: WO-2 After" in details.toPlainText()
    asking.reject()
    await working
    assert console.session.then is None


async def test_the_confirmed_restore_is_carried_out_on_the_closed_folder(
    console: Console, window: QWidget
) -> None:
    """Through to the console that is opened again: held, told, and with the way back."""
    await console.submit("Before")
    await made_backup(console)
    await console.submit("After")
    left: list[bool] = []
    console.session.left.connect(lambda: left.append(True))
    working, asking = await confirmed(console, window, console.engine.folder.name)
    press(asking, "Close and restore")
    await working
    wish = console.session.then
    assert wish is not None
    assert left == [True]
    assert wish.reason == "drill"
    await console.settle()
    await console.engine.close()
    report = await carry_out(None, wish)
    assert report is not None
    engine = await Engine.open(wish.folder, automatic=False)
    try:
        assert [one.kind for one in (await engine.status()).holds] == [HoldKind.RESTORE]
        assert [one.title for one in await engine.work_orders()] == ["Before"]
        console.session.engine = engine
        tell_restored(window, console.session, report)
        (strip,) = console.session.alerts.shown()
        assert "0 attempts UNKNOWN, 1 approval void" in strip.means
        assert strip.pressed is not None
        strip.pressed()
        asking = await dialog(ConfirmRestore, "Bring the other data back?")
        assert "new or changed: 1 work order" in said(asking)
        asking.reject()
        await console.session.settled()
        acknowledging = asyncio.ensure_future(restoring.acknowledge(window, console.session))
        asking = await dialog(Question, "Let work begin again?")
        (field,) = asking.findChildren(QPlainTextEdit)
        field.setPlainText("looked")
        press(asking, "I have looked")
        await acknowledging
        assert (await engine.status()).holds == ()
    finally:
        await engine.close()


async def test_b089_with_runs_active_it_asks_what_becomes_of_them(
    console: Console, window: QWidget, monkeypatch: pytest.MonkeyPatch
) -> None:
    await made_backup(console)
    asked: list[bool] = []

    async def may_not(*_: object, to_restore: bool) -> bool:
        assert to_restore
        asked.append(True)
        return False

    monkeypatch.setattr(restoring, "may_quit", may_not)
    assert quitting.may_quit is not may_not
    working, asking = await confirmed(console, window, console.engine.folder.name)
    press(asking, "Close and restore")
    await working
    assert asked == [True]
    assert console.session.then is None


async def test_a_bad_backup_is_not_offered_for_confirmation(console: Console, window: QWidget) -> None:
    path = await made_backup(console)
    (path / "secret.key").unlink()
    working = asyncio.ensure_future(restoring.restore_backup(window, console.session))
    press(await dialog(CopyChoice), "Verify and compare")
    result = await dialog(Question, "The backup is not good")
    assert "It will not be restored" in said(result)
    press(result, "Close")
    await working


# --------------------------------------------------------------------------------------------- recovery


async def test_the_recovery_screen_offers_only_what_is_true(
    console: Console, themed: Theme, tmp_path: Path
) -> None:
    """Every backup is verified while it stands; one press restores."""
    folder = console.engine.folder
    bad = await made_backup(console)
    await console.submit("Later")
    good = await made_backup(console)
    (bad / "secret.key").write_bytes(b"x" * 32)
    await console.settle()
    error = DatabaseDamaged("The database is damaged.", means="It was left as it is.")
    assert isinstance(error, RECOVERABLE)
    recovering = asyncio.ensure_future(recover(folder, error, console.engine.clock))
    screen = await dialog(RecoveryScreen)
    offers = {one.accessibleName(): one for one in screen.findChildren(QPushButton)}
    await until(
        lambda: {"VERIFIED", "NOT GOOD"} <= {one.accessibleName() for one in screen.findChildren(Badge)}
    )
    assert offers[f"Restore {good.name}"].isEnabled()
    assert not offers[f"Restore {bad.name}"].isEnabled()
    offers[f"Restore {good.name}"].click()
    wish = await recovering
    assert wish is not None
    assert (wish.copy.path, wish.copy.kind) == (good, CopyKind.BACKUP)


async def test_the_recovery_screen_without_backups_says_what_to_do(console: Console, tmp_path: Path) -> None:
    recovering = asyncio.ensure_future(
        recover(tmp_path / "nothing", DatabaseDamaged("It is damaged."), console.engine.clock)
    )
    screen = await dialog(RecoveryScreen)
    assert "There is no backup in this data folder" in said(screen)
    press(screen, "Quit")
    assert await recovering is None
