"""Every control of every page has a name and a tooltip, and the keyboard reaches it (B-118, B-119)."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QHeaderView,
    QLineEdit,
    QPlainTextEdit,
    QScrollArea,
    QTabBar,
    QTextEdit,
    QWidget,
)

from app.first_start import open_scratch_workspace
from app.main import open_console
from app.shell.window import MainWindow
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


async def each_page(window: MainWindow) -> dict[str, QWidget]:
    """All pages, opened once, settled and filled."""
    await open_scratch_workspace(window, window.session)
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
        for key, view in (await each_page(window)).items():
            window.open_page(key)
            for control in controls_of(view):
                count += 1
                if not name_of(control):
                    nameless.append(f"{key}: {control}")
                is_list = isinstance(control, QAbstractItemView | QTabBar)
                if not is_list and not control.toolTip():
                    silent.append(f"{key}: {name_of(control)}")
        assert count > 20
        assert nameless == []
        assert silent == []


async def test_the_keyboard_reaches_every_control(qapp: QApplication, folder: Path) -> None:
    async with open_console(qapp, folder) as window:
        window.show()
        window.activateWindow()
        await until(window.isActiveWindow)
        missed = []
        for key, view in (await each_page(window)).items():
            window.go_to_page(key)
            reached: set[QWidget] = set()
            for _ in range(200):
                focused = QApplication.focusWidget()
                if focused is None or focused in reached:
                    break
                reached.add(focused)
                window.focusNextChild()
            for control in controls_of(view):
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
            areas = [area for area in view.findChildren(QScrollArea) if area.isVisible()]
            cut += [
                f"{key}: scrolls sideways"
                for area in areas
                if area.horizontalScrollBar().maximum() > area.horizontalScrollBar().minimum()
            ]
        assert cut == []
        assert window.size() == QSize(1024, 640)
