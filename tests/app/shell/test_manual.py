"""The manual: what it says is there, and its picture is made of the tables that the engine goes by."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication

import app
import engine
from app.shell.manual import PAGES, Manual, page_text
from app.shell.state_diagram import MACHINES, state_diagram
from app.shell.window import MainWindow
from app.theme import Theme, ThemeChoice, state_word
from app.theme.tokens import DARK
from engine import states
from tests.app.shell.test_window import press, question

TOP = Path(app.__file__).parent.parent


def test_the_diagram_has_every_table_every_state_and_every_step() -> None:
    tables = [table for name, table in vars(states).items() if name.endswith("_TRANSITIONS")]
    assert [id(machine.table) for machine in MACHINES if machine.table in tables] == [
        id(machine.table) for machine in MACHINES
    ]
    assert len(MACHINES) == len(tables)
    drawn = state_diagram()
    for machine in MACHINES:
        assert set(machine.places) == set(machine.table)
        assert len(set(machine.places.values())) == len(machine.places), "none stands on another"
        for state in machine.table:
            assert f">{state_word(state)}<" in drawn
    steps = sum(len(targets) for machine in MACHINES for targets in machine.table.values())
    assert drawn.count("<polygon") == drawn.count("<path") == steps


def test_the_picture_beside_the_pages_is_of_today() -> None:
    """Draw it anew: python -m app.shell.state_diagram > resources/docs/states.svg"""
    kept = (files("resources") / "docs" / "states.svg").read_text(encoding="utf-8")
    assert kept == state_diagram()


def test_the_map_names_rooms_that_exist() -> None:
    text = page_text("contributors")
    rooms = re.findall(r"`((?:engine|app|resources|tests)/[a-z_/]*)`", text)
    assert len(rooms) > 14
    assert [room for room in rooms if not (TOP / room).is_dir()] == []
    here = {path.name for path in Path(engine.__file__).parent.iterdir() if (path / "__init__.py").exists()}
    assert {name for name in here if f"`engine/{name}/`" not in text} == set(), "a room is not on the map"


@pytest.mark.parametrize("name", [name for name, _, _ in PAGES])
async def test_each_page_opens_from_the_menu(window: MainWindow, name: str) -> None:
    title = next(title for found, title, _ in PAGES if found == name)
    next(found for found in window.findChildren(QAction) if found.text() == title).trigger()
    dialog = await question()
    page = dialog.findChild(Manual)
    assert isinstance(page, Manual)
    assert len(page.toPlainText()) > 2_000
    assert "![" not in page.toPlainText()
    press(dialog, "Close")
    await window.session.settled()


def test_the_picture_follows_the_theme(themed: Theme, qapp: QApplication) -> None:
    themed.choose(ThemeChoice.DARK)
    assert DARK.surface.name() in state_diagram(DARK)
    shown = Manual(page_text("concepts"))
    image = shown._diagram()
    assert image.pixelColor(2, 2) == DARK.surface
    assert image.width() >= 400
