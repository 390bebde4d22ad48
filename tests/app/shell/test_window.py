"""The main window: pages, keys, search, menus, what it remembers, and how it ends."""

from __future__ import annotations

import asyncio
import zipfile
from pathlib import Path

import pytest
from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractButton, QApplication, QDialog, QLineEdit, QMenu, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.crash import Fault
from app.session import WHOLE_ENGINE, Selection, Session
from app.settings import Settings
from app.shell import diagnostics as diagnosing
from app.shell.commands import Extras
from app.shell.geometry import SMALLEST_SIZE
from app.shell.window import MainWindow
from app.theme import Density, Theme, ThemeChoice, tokens
from app.theme.tokens import DARK
from app.widgets import Question, Zone
from engine.errors import Refused
from engine.states import NodeKind
from tests.app.conftest import until
from tests.app.fake_engine import FakeEngine, attempt, status
from tests.app.shell.conftest import PAGES, Asked, Recording


def action(window: MainWindow, text: str) -> QAction:
    return next(found for found in window.findChildren(QAction) if found.text() == text)


def dialogs() -> list[QDialog]:
    return [
        widget
        for widget in QApplication.topLevelWidgets()
        if isinstance(widget, QDialog) and widget.isVisible()
    ]


async def question() -> Question:
    await until(dialogs)
    (found,) = dialogs()
    assert isinstance(found, Question)
    return found


def press(widget: QWidget, text: str) -> None:
    next(found for found in widget.findChildren(QPushButton) if found.text() == text).click()


def page_of(window: MainWindow, key: str) -> Recording:
    view = window.view(key)
    assert isinstance(view, Recording)
    return view


# ------------------------------------------------------------------------------------------------- pages


async def test_the_inbox_is_open_first_and_pages_are_built_when_needed(window: MainWindow) -> None:
    assert window.current_page == "inbox"
    assert window.windowTitle() == "Inbox – Praxis Console"
    assert window.stack.count() == 1
    window.rail.button("journal").click()
    assert window.current_page == "journal"
    assert window.stack.currentWidget() is window.view("journal")
    assert window.stack.count() == 2


async def test_keys_open_pages_and_put_the_focus_there(window: MainWindow, qtbot: QtBot) -> None:
    window.activateWindow()
    await until(window.isActiveWindow)
    qtbot.keyClick(window, Qt.Key.Key_3, Qt.KeyboardModifier.ControlModifier)
    assert window.current_page == "unknown"
    assert QApplication.focusWidget() is page_of(window, "unknown").first


async def test_arrow_keys_move_along_the_rail(window: MainWindow, qtbot: QtBot) -> None:
    window.activateWindow()
    await until(window.isActiveWindow)
    window.rail.button("inbox").setFocus()
    qtbot.keyClick(window.rail.button("inbox"), Qt.Key.Key_Down)
    assert window.current_page == "work_orders"
    assert window.rail.button("work_orders").hasFocus()


async def test_navigation_from_elsewhere_shows_the_subject(window: MainWindow, session: Session) -> None:
    session.open_page("unknown", "attempt-1")
    assert window.current_page == "unknown"
    assert page_of(window, "unknown").subjects == ["attempt-1"]
    session.open_page("no such page", "x")
    assert window.current_page == "unknown"


async def test_focus_follows_when_the_page_it_was_in_is_left(window: MainWindow, session: Session) -> None:
    window.activateWindow()
    await until(window.isActiveWindow)
    page_of(window, "inbox").first.setFocus()
    session.open_page("journal", "x")
    assert page_of(window, "journal").first.hasFocus()


async def test_counts_stand_in_the_rail(window: MainWindow, session: Session, fake: FakeEngine) -> None:
    fake.said = status(pending_approvals=3, open_work_orders=24, unknown=1)
    session.refresh_status()
    await session.settled()
    assert [window.rail.button(page.key).count for page in PAGES] == [3, 24, 1, 0]
    assert window.rail.button("inbox").accessibleName() == "Inbox, 3"


# ------------------------------------------------------------------------------------------------ search


async def test_search_goes_to_the_page_in_front_and_is_kept_for_it(window: MainWindow, qtbot: QtBot) -> None:
    window.activateWindow()
    await until(window.isActiveWindow)
    qtbot.keyClick(window, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert window.bar.search.hasFocus()
    qtbot.keyClicks(window.bar.search, "412")
    await until(lambda: page_of(window, "inbox").searches)
    assert page_of(window, "inbox").searches == ["412"], "typing is told once, after a moment"
    window.open_page("work_orders")
    assert window.bar.search.text() == ""
    assert window.bar.search.placeholderText().startswith("Search orders")
    window.open_page("inbox")
    assert window.bar.search.text() == "412"
    window.bar.search.clear()
    window.bar.search.textEdited.emit("")
    assert page_of(window, "inbox").searches == ["412", ""]


async def test_a_page_with_nothing_to_search_finds_work_orders(window: MainWindow, qtbot: QtBot) -> None:
    window.open_page("journal")
    assert window.bar.search.placeholderText().startswith("Find a work order")
    qtbot.keyClicks(window.bar.search, "412")
    assert window.current_page == "journal", "typing alone leads nowhere"
    qtbot.keyClick(window.bar.search, Qt.Key.Key_Return)
    assert window.current_page == "work_orders"
    assert window.bar.search.text() == "412"
    assert page_of(window, "work_orders").searches == ["412"]
    window.open_page("journal")
    assert window.bar.search.text() == ""
    qtbot.keyClick(window.bar.search, Qt.Key.Key_Return)
    assert window.current_page == "journal"


# ------------------------------------------------------------------------------------------------- menus


async def test_menu_entries_exist_only_for_what_there_is(themed: Theme, session: Session) -> None:
    bare = MainWindow(session, (), Extras())
    texts = {found.text() for found in bare.findChildren(QAction)}
    assert not texts & {"New work order", "Import work orders…", "Guided tour"}
    bare.finish()
    bare.deleteLater()


async def test_given_commands_are_run(window: MainWindow, asked: Asked, session: Session) -> None:
    for text in ("New work order", "Import work orders…", "Guided tour"):
        action(window, text).trigger()
        await session.settled()
    assert asked.calls == ["new", "import", "tour"]


async def test_every_menu_entry_says_what_it_does(window: MainWindow) -> None:
    entries = [
        found
        for found in window.findChildren(QAction)
        if found.text() and not found.isSeparator() and not isinstance(found.parent(), QLineEdit)
    ]
    silent = [found.text() for found in entries if not found.statusTip() and found.menu() is None]
    assert silent == []
    assert len(entries) > 20


async def test_no_key_is_given_twice(window: MainWindow) -> None:
    keys = [
        found.shortcut().toString()
        for found in window.findChildren(QAction)
        if not found.shortcut().isEmpty()
    ]
    assert len(keys) == len(set(keys))


async def test_no_side_effect_hangs_on_a_bare_key(window: MainWindow) -> None:
    for found in window.findChildren(QAction):
        key = found.shortcut().toString()
        assert not key or "+" in key or key == "F1", f"{found.text()}: {key}"


async def test_theme_density_and_zone_are_chosen_and_kept(
    window: MainWindow, session: Session, tmp_path: Path
) -> None:
    action(window, "Dark").trigger()
    assert tokens() is DARK
    action(window, "Compact").trigger()
    action(window, "Local zone").trigger()
    assert session.times.zone is Zone.LOCAL
    session.settings.save()
    again = Settings(tmp_path)
    assert (again.theme, again.density, again.zone) == (ThemeChoice.DARK, Density.COMPACT, Zone.LOCAL)
    menus = [menu for menu in window.findChildren(QMenu) if menu.title() in {"Theme", "Density", "Times in"}]
    for menu in menus:
        assert sum(found.isChecked() for found in menu.actions()) == 1


async def test_the_keyboard_page_lists_every_key(window: MainWindow, session: Session) -> None:
    action(window, "Keyboard").trigger()
    dialog = await question()
    told = " ".join(
        found.accessibleName() for found in dialog.findChildren(QWidget) if found.accessibleName()
    )
    for wanted in ("Ctrl+Shift+P: Pause", "Ctrl+F: Search", "Ctrl+Q: Quit", "Ctrl+E: Export"):
        assert wanted in told
    press(dialog, "Close")
    await session.settled()


async def test_about_and_diagnostics(
    window: MainWindow, session: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is saved is what was shown, byte for byte, and nothing is written before that."""
    target = tmp_path / "diagnostics.zip"

    async def choose(*_: object, name: str, **__: object) -> Path:
        assert name.startswith("praxis-diagnostics-")
        return target

    monkeypatch.setenv("ISSUE_TOKEN", "s3cret-value")
    monkeypatch.setattr(diagnosing, "ask_save_file", choose)
    action(window, "About Praxis Console").trigger()
    press(await question(), "Close")
    await session.settled()
    action(window, "Diagnostics…").trigger()
    dialog = await question()
    press(dialog, "Copy")
    copied = QApplication.clipboard().text()
    assert "Epoch: 41" in copied
    assert str(session.engine.folder) in copied
    assert "s3cret-value" not in copied
    assert "no database" in copied, "what cannot be asked is said"
    assert not target.exists()
    press(dialog, "Save…")
    await until(target.exists)
    await session.settled()
    with zipfile.ZipFile(target) as archive:
        saved = "\n".join(f"===== {name}\n{archive.read(name).decode()}" for name in archive.namelist())
    assert saved == copied


# -------------------------------------------------------------------------------------- errors and faults


async def test_an_error_of_a_command_is_shown(window: MainWindow, session: Session) -> None:
    async def refuse() -> None:
        raise Refused("The lane is taken.", do="Wait.")

    session.spawn(refuse(), "refuse")
    dialog = await question()
    assert dialog.windowTitle() == "The lane is taken."
    press(dialog, "Close")


async def test_a_fault_of_the_program_is_shown_with_its_traceback(window: MainWindow) -> None:
    window.show_fault(Fault("A part of the window failed.", "ValueError: odd", "Traceback: …"))
    dialog = await question()
    press(dialog, "Copy details")
    assert "Traceback: …" in QApplication.clipboard().text()
    press(dialog, "Close")


# ------------------------------------------------------------------------------------------ size and place


async def test_nothing_is_cut_at_1024_by_640(window: MainWindow) -> None:
    window.resize(QSize(1024, 640))
    await asyncio.sleep(0)
    assert window.size() == QSize(1024, 640)
    for found in window.findChildren(QAbstractButton):
        if found.isVisible() and found.text():
            needed = found.fontMetrics().horizontalAdvance(found.text())
            assert found.width() >= needed, f"{found.text()} is cut"


async def test_the_place_is_kept(themed: Theme, session: Session, tmp_path: Path) -> None:
    first = MainWindow(session, PAGES, Extras())
    first.show()
    first.setGeometry(QRect(0, 0, 1100, 700))
    first.open_page("journal")
    first.finish()
    session.settings.save()
    assert Settings(tmp_path).geometry is not None
    session.settings = Settings(tmp_path)
    second = MainWindow(session, PAGES, Extras())
    assert second.current_page == "journal"
    assert second.width() >= SMALLEST_SIZE.width()
    for made in (first, second):
        made.deleteLater()


async def test_selection_is_said(window: MainWindow, session: Session) -> None:
    session.select(Selection(NodeKind.WORK_ORDER, "id", "WO-118 · payments-api"))
    texts = [found.accessibleName() for found in window.bar.findChildren(QWidget)]
    assert "acts on: WO-118 · payments-api" in texts


async def test_commands_act_on_what_is_selected_on_the_page_in_front(
    window: MainWindow, session: Session
) -> None:
    """What a hidden page selects by itself must not become what Cancel acts on."""
    inbox, orders = page_of(window, "inbox"), page_of(window, "work_orders")
    first = Selection(NodeKind.TASK, "task", "WO-1 · implement")
    second = Selection(NodeKind.WORK_ORDER, "order", "WO-11 · ledger")
    inbox.act_on(first)
    assert session.selection == first
    orders.act_on(second)
    assert session.selection == first
    window.open_page("work_orders")
    assert session.selection == second
    inbox.act_on(None)
    assert session.selection == second
    window.open_page("journal")
    assert session.selection == WHOLE_ENGINE
    window.open_page("inbox")
    assert session.selection == WHOLE_ENGINE


# ----------------------------------------------------------------------------------------------- the end


async def test_quitting_with_nothing_running_asks_nothing(window: MainWindow, session: Session) -> None:
    action(window, "Quit…").trigger()
    await session.settled()
    assert window.quit_asked.is_set()


async def test_closing_without_a_tray_asks_to_quit(
    window: MainWindow, session: Session, fake: FakeEngine
) -> None:
    """B-110: nothing that runs is killed by closing the window."""
    fake.in_flight = (attempt(),)
    window.close()
    dialog = await question()
    assert window.isVisible()
    press(dialog, "Go back")
    await session.settled()
    assert not window.quit_asked.is_set()
    assert window.isVisible()


async def test_the_end_of_the_desktop_session_asks_nothing(window: MainWindow, fake: FakeEngine) -> None:
    fake.in_flight = (attempt(),)
    window.end_at_once()
    window.close()
    assert window.quit_asked.is_set()
    assert dialogs() == []


async def test_asking_to_quit_twice_asks_once(window: MainWindow, session: Session, fake: FakeEngine) -> None:
    fake.in_flight = (attempt(),)
    window.ask_to_quit()
    window.ask_to_quit()
    dialog = await question()
    press(dialog, "Go back")
    await session.settled()


# ----------------------------------------------------------------------------------------- accessibility


async def test_every_control_has_a_name_a_tooltip_and_is_reached_by_tab(
    window: MainWindow, fake: FakeEngine, session: Session
) -> None:
    """B-118, B-119."""
    window.activateWindow()
    await until(window.isActiveWindow)
    controls = [
        found
        for found in window.findChildren(QWidget)
        if found.isVisible()
        and found.isEnabled()
        and isinstance(found, QAbstractButton | QLineEdit)
        # The clear button inside a search field is part of the field.
        and not isinstance(found.parent(), QLineEdit)
    ]
    assert len(controls) > 6
    for control in controls:
        assert control.accessibleName() or getattr(control, "text", str)(), f"{control} has no name"
        assert control.toolTip(), f"{control.accessibleName()} has no tooltip"
    reached: set[QWidget] = set()
    window.rail.button("inbox").setFocus()
    for _ in range(60):
        focused = QApplication.focusWidget()
        if focused is None or focused in reached:
            break
        reached.add(focused)
        window.focusNextChild()
    # Of the rail only the open page is a tab stop; arrow keys reach the others.
    missed = [
        control.accessibleName()
        for control in controls
        if control not in reached and control.parent() is not window.rail
    ]
    assert missed == []
