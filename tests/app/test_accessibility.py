"""Every control of every page and dialog has name, role and tooltip, and the keyboard reaches it (B-118, B-119)."""

from __future__ import annotations

import asyncio
from pathlib import Path

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAccessible, QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDialog,
    QFileDialog,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QTabBar,
    QTextEdit,
    QWidget,
)

from app.alerts import Alert
from app.guide import guided_tour
from app.main import open_console
from app.shell.rail import RailButton
from app.shell.window import MainWindow
from app.widgets import CommandText, stops
from engine.actors import Actor, ActorKind
from engine.interfaces.scratch import create_scratch_workspace
from tests.app.conftest import until

CONTROLS = (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
)


def controls_of(widget: QWidget) -> list[QWidget]:
    """What a person can act on, without the parts that Qt puts into its own controls."""
    return [
        found
        for found in widget.findChildren(QWidget)
        if isinstance(found, CONTROLS)
        and not isinstance(found, QHeaderView)
        and found.isVisible()
        and not isinstance(found.parent(), QLineEdit | QComboBox | QAbstractSpinBox | QTabBar)
        and not found.objectName().startswith("qt_")
    ]


def name_of(control: QWidget) -> str:
    """What a screen reader says of a control."""
    if control.accessibleName():
        return control.accessibleName()
    return control.text() if isinstance(control, QAbstractButton) else ""


def role_of(control: QWidget) -> QAccessible.Role:
    interface = QAccessible.queryAccessibleInterface(control)
    return interface.role() if interface is not None else QAccessible.Role.NoRole


async def each_page(window: MainWindow) -> dict[str, QWidget]:
    """All pages, opened once, settled and filled."""
    await guided_tour(window, window.session)
    session = window.session
    await until(lambda: session.status is not None and session.status.pending_approvals == 7)
    pages: dict[str, QWidget] = {}
    for page in window.pages:
        window.go_to_page(page.key)
        await session.settled(1.0)
        pages[page.key] = window.view(page.key)
    return pages


async def test_every_control_has_a_name_and_a_tooltip(qapp: QApplication, folder: Path) -> None:
    async with open_console(qapp, folder) as window:
        window.show()
        nameless, silent, count = [], [], 0
        for key in await each_page(window):
            window.open_page(key)
            for control in controls_of(window):
                count += 1
                if not name_of(control):
                    nameless.append(f"{key}: {control}")
                is_list = isinstance(control, QAbstractItemView | QTabBar)
                if not is_list and not control.toolTip():
                    silent.append(f"{key}: {name_of(control)}")
                if role_of(control) in {QAccessible.Role.NoRole, QAccessible.Role.Client}:
                    nameless.append(f"{key}: no role: {control}")
        assert count > 60
        assert nameless == []
        assert silent == []


def walked(window: QWidget) -> list[QWidget]:
    """Where Tab comes, pressed until it is round."""
    reached: list[QWidget] = []
    for _ in range(200):
        focused = QApplication.focusWidget()
        if focused is None or focused in reached:
            break
        reached.append(focused)
        QTest.keyClick(focused, Qt.Key.Key_Tab)
    return reached


async def test_the_keyboard_reaches_every_control(qapp: QApplication, folder: Path) -> None:
    async with open_console(qapp, folder) as window:
        window.show()
        window.activateWindow()
        await until(window.isActiveWindow)
        missed = []
        for key in await each_page(window):
            window.go_to_page(key)
            reached = walked(window)
            for control in controls_of(window):
                if isinstance(control, RailButton) and not control.isChecked():
                    continue  # arrow keys, as in every group of which one is chosen
                proxied = control.focusProxy() or control
                wants = proxied.focusPolicy() & Qt.FocusPolicy.TabFocus
                if control.isEnabled() and wants and proxied not in reached:
                    missed.append(f"{key}: {name_of(control)}")
        assert missed == []


async def test_every_button_can_have_the_focus(qapp: QApplication, folder: Path) -> None:
    async with open_console(qapp, folder) as window:
        window.show()
        deaf = []
        for key, view in (await each_page(window)).items():
            window.open_page(key)
            deaf += [
                f"{key}: {name_of(control)}"
                for control in controls_of(view)
                if not control.focusPolicy() & Qt.FocusPolicy.TabFocus and control.focusProxy() is None
            ]
        assert deaf == []


async def test_no_word_on_a_button_is_cut_at_the_smallest_size(qapp: QApplication, folder: Path) -> None:
    async with open_console(qapp, folder) as window:
        window.resize(QSize(1024, 640))
        window.show()
        cut = []
        for key, view in (await each_page(window)).items():
            window.open_page(key)
            await window.session.settled(1.0)
            for control in controls_of(view):
                if isinstance(control, QAbstractButton) and control.text():
                    needed = control.fontMetrics().horizontalAdvance(control.text())
                    if control.width() < needed:
                        cut.append(f"{key}: {control.text()}")
            cut += [f"{key}: {found}" for found in cut_labels(window)]
            areas = [area for area in view.findChildren(QScrollArea) if area.isVisible()]
            cut += [
                f"{key}: scrolls sideways"
                for area in areas
                if area.horizontalScrollBar().maximum() > area.horizontalScrollBar().minimum()
            ]
        assert cut == []
        assert window.size() == QSize(1024, 640)


def cut_labels(window: QWidget) -> list[str]:
    """Labels whose words do not fit into them; those that are meant to be cut show an ellipsis and are no QLabel."""
    cut = []
    for label in window.findChildren(QLabel):
        words = label.text()
        if not words or not label.isVisible():
            continue
        if label.wordWrap():
            fits = label.heightForWidth(label.width()) <= label.height() + 1
        else:
            longest = max(words.splitlines(), key=len)
            fits = label.fontMetrics().horizontalAdvance(longest) <= label.contentsRect().width() + 1
        if not fits:
            cut.append(f"“{words[:50]}”")
    return cut


async def test_tab_goes_as_one_reads(qapp: QApplication, folder: Path) -> None:
    """Commands, strips, rail, page; in the card from the command down to the decision, whatever was built last."""
    async with open_console(qapp, folder) as window:
        window.resize(1280, 800)
        window.show()
        window.activateWindow()
        await until(window.isActiveWindow)
        await each_page(window)
        window.session.alerts.show(Alert("news", "Something to know.", dismissable=True))
        window.go_to_page("inbox")
        await window.session.settled(1.0)
        names = [stop.accessibleName() for stop in stops(window)]
        wanted = [
            "New work order",
            "Dismiss: Something to know.",
            "Inbox, 7",
            "Requests that wait for you, oldest first",
            next(name for name in names if name.startswith("Command, ")),
            # how many they are is the machine's: a service has neither LANG nor TERM
            next(
                name
                for name in names
                if name.startswith("Show the ") and name.endswith(" that every child gets")
            ),
            "Also approve its validation",
            "Reject",
            "End tour",
        ]
        places = [names.index(name) for name in wanted]
        assert places == sorted(places)
        assert [stop.accessibleName() for stop in walked(window)] == names[places[3] :] + names[: places[3]]
        before = QApplication.focusWidget()
        assert before is not None
        QTest.keyClick(before, Qt.Key.Key_Backtab)
        assert QApplication.focusWidget() is stops(window)[places[2]], "and back the same way"
        command = next(stop for stop in stops(window) if isinstance(stop, CommandText))
        assert "write_greeting.py" in command.accessibleDescription(), "the card is read whole (B-118)"
        assert role_of(command) is QAccessible.Role.StaticText, "a screen reader takes it for text"


async def test_every_dialog_of_the_menus_can_be_read_and_walked(qapp: QApplication, folder: Path) -> None:
    """Names, tooltips and Tab; Escape goes back; Enter on its own decides nothing (B-005)."""
    async with open_console(qapp, folder) as window:
        window.show()
        window.activateWindow()
        await until(window.isActiveWindow)
        await each_page(window)
        window.go_to_page("work_orders")
        await window.session.settled(1.0)
        wrong, seen = [], 0
        for action in window.findChildren(QAction):
            if not opens_a_dialog(action):
                continue
            action.trigger()
            await until(shown_dialogs)
            for dialog in shown_dialogs():
                if not isinstance(dialog, QFileDialog):
                    seen += 1
                    await until(lambda there=dialog: there.isAncestorOf(QApplication.focusWidget() or window))
                    wrong += [f"{action.text()}: {fault}" for fault in faults_of(dialog)]
                    QTest.keyClick(dialog, Qt.Key.Key_Escape)
                else:
                    dialog.reject()
            await until(lambda: not shown_dialogs())
            await window.session.settled(2.0)
        assert not wrong, "\n".join(wrong)
        assert seen >= 10


def opens_a_dialog(action: QAction) -> bool:
    own = {"Quit…", "Open data folder", "Resume everything…"}
    named = action.text().endswith("…") or action.text() in {
        "Keyboard",
        "About Praxis Console",
        "New work order",
    }
    return named and action.isEnabled() and action.text() not in own


def shown_dialogs() -> list[QDialog]:
    return [
        found for found in QApplication.topLevelWidgets() if isinstance(found, QDialog) and found.isVisible()
    ]


def faults_of(dialog: QDialog) -> list[str]:
    """What a person without a mouse, or without eyes, would miss in a dialog."""
    found = [] if dialog.windowTitle() and dialog.accessibleName() else ["no title"]
    controls = controls_of(dialog)
    found += [f"no name: {control}" for control in controls if not name_of(control)]
    found += [
        f"no role: {name_of(control)}" for control in controls if role_of(control) is QAccessible.Role.Client
    ]
    found += [
        f"no tooltip: {name_of(control)}"
        for control in controls
        if not isinstance(control, QAbstractItemView | QTabBar) and not control.toolTip()
    ]
    found += [
        f"Enter presses {button.text()}" for button in dialog.findChildren(QPushButton) if button.isDefault()
    ]
    found += [f"cut: {words}" for words in cut_labels(dialog)]
    reached = walked(dialog)
    found += [
        f"Tab does not come to {name_of(control)}"
        for control in controls
        if control.isEnabled() and (control.focusProxy() or control) not in reached
    ]
    return found


async def test_nothing_that_comes_in_takes_the_focus(qapp: QApplication, folder: Path) -> None:
    """A strip, requests and a page that moves: who writes goes on writing."""
    async with open_console(qapp, folder) as window:
        window.show()
        window.activateWindow()
        await until(window.isActiveWindow)
        window.go_to_page("work_orders")
        window.bar.search.setFocus()
        for spec in await asyncio.to_thread(create_scratch_workspace, folder / "scratch"):
            await window.session.engine.submit(spec, Actor(ActorKind.AGENT, "codex-1"))
        window.session.alerts.show(Alert("welcome", "Seven wait.", dismissable=True))
        await until(
            lambda: window.session.status is not None and window.session.status.pending_approvals == 7
        )
        await window.session.settled(1.0)
        assert QApplication.focusWidget() is window.bar.search
        strip = next(found for found in window.strips.findChildren(QPushButton) if "Seven" in name_of(found))
        strip.setFocus()
        window.session.alerts.show(Alert("news", "Something else.", dismissable=True))
        window.session.alerts.clear("news")
        assert QApplication.focusWidget() is strip, "a strip that says the same stays itself"
        QTest.keyClick(strip, Qt.Key.Key_Space)
        focused = QApplication.focusWidget()
        assert isinstance(focused, RailButton), "what follows in the order of reading"
