"""Find anything, in the real window: typed, chosen by keyboard, shown on its page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.main import open_console
from app.shell.finding import FindDialog, place_of
from engine.views.finding import Found
from engine.work_order import WorkOrderSpec
from tests.app.conftest import until
from tests.app.shell.test_window import action, question


async def test_a_thing_is_found_by_keyboard_and_shown_on_its_page(
    qapp: QApplication, folder: Path, work_order: Callable[..., WorkOrderSpec]
) -> None:
    async with open_console(qapp, folder) as window:
        window.show()
        for title in ("Mend rounding", "Mend the roof"):
            await window.session.engine.submit(work_order(title=title), window.session.actor)
        action(window, "Find anything…").trigger()
        dialog = await question()
        assert isinstance(dialog, FindDialog)
        QTest.keyClicks(dialog._field, "mend")
        await until(lambda: dialog._model.rowCount() == 2)
        QTest.keyClick(dialog._field, Qt.Key.Key_Down)
        QTest.keyClick(dialog._field, Qt.Key.Key_Down)
        assert dialog._table.currentIndex().row() == 1
        QTest.keyClicks(dialog._field, " the")
        await until(lambda: dialog._model.rowCount() == 1)
        QTest.keyClick(dialog._field, Qt.Key.Key_Return)
        await until(lambda: window.current_page == "work_orders")
        await window.session.settled()


async def test_nothing_found_says_so_and_goes_nowhere(qapp: QApplication, folder: Path) -> None:
    async with open_console(qapp, folder) as window:
        window.show()
        action(window, "Find anything…").trigger()
        dialog = await question()
        assert isinstance(dialog, FindDialog)
        QTest.keyClicks(dialog._field, "no such thing")
        await until(lambda: dialog._table._empty == "Nothing is called so.")
        assert not dialog._go.isEnabled()
        QTest.keyClick(dialog._field, Qt.Key.Key_Return)
        assert dialog.isVisible()
        dialog.reject()
        await window.session.settled()


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (Found("work_order", "O", "n", "l"), ("work_orders", "O")),
        (Found("attempt", "A", "n", "l"), ("evidence", "A")),
        (Found("attempt", "A", "n", "l", unknown=True), ("unknown", "A")),
        (Found("approval", "P", "n", "l"), ("inbox", "P")),
        (Found("grant", "G", "n", "l"), ("inbox", "grant:G")),
        (Found("project", "S", "n", "l"), ("budgets", "S")),
        (Found("schedule", "E", "n", "l"), ("wakes", "E")),
        (Found("wake", "W", "n", "l"), ("wakes", "W")),
    ],
)
def test_each_thing_has_its_page(found: Found, place: tuple[str, str]) -> None:
    assert place_of(found) == place
