"""The log view over real files: opens at the end, follows, pages, searches, copies (B-055 to B-062)."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLineEdit, QTableView

from app.panels.evidence import log_source
from app.panels.evidence.ansi import RGB, Flag, Style
from app.panels.evidence.log_colours import READABLE, ink_of
from app.panels.evidence.log_view import LogView
from app.theme.tokens import THEMES, contrast


@pytest.fixture
def view(qtbot, themed, tasks):
    made = LogView(tasks, "Standard output")
    qtbot.addWidget(made)
    made.resize(700, 300)
    made.show()
    return made


def write(path, data):
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def numbered(count, first=0):
    return "".join(f"line {number}\n" for number in range(first, first + count))


def rows(view):
    model = view.table.model()
    return [model.index(row, 0).data() for row in range(model.rowCount())]


def at_bottom(view):
    bar = view.table.verticalScrollBar()
    return bar.value() == bar.maximum() and bar.maximum() > 0


async def test_b056_opens_at_the_end(view, tasks, tmp_path):
    view.show_file(write(tmp_path / "log", numbered(3000)), live=False)
    await tasks.settle()
    assert rows(view)[-1] == "line 2999"
    assert at_bottom(view)
    assert view.following


async def test_follow_is_being_at_the_bottom(view, tasks, tmp_path, until):
    path = write(tmp_path / "log", numbered(300))
    view.show_file(path, live=True)
    await tasks.settle()
    with path.open("ab", buffering=0) as file:
        file.write(b"line 300\n")
        await until(lambda: rows(view)[-1] == "line 300")
        assert at_bottom(view)
        view.table.verticalScrollBar().setValue(100)
        assert not view.following
        top = view.table.rowAt(0)
        file.write(b"line 301\n")
        await until(lambda: rows(view)[-1] == "line 301")
        assert view.table.rowAt(0) == top
        view.go_to_end()
        assert view.following
        file.write(b"line 302\n")
        await until(lambda: rows(view)[-1] == "line 302")
        assert at_bottom(view)


async def test_scrolling_to_the_top_loads_earlier_rows_and_stays_in_place(view, tasks, tmp_path, monkeypatch):
    monkeypatch.setattr(log_source, "BLOCK", 4096)
    view.show_file(write(tmp_path / "log", numbered(3000)), live=False)
    await tasks.settle()
    before = rows(view)[0]
    view.table.verticalScrollBar().setValue(0)
    await tasks.settle()
    assert len(rows(view)) > 500
    assert rows(view)[view.table.rowAt(0)] == before


async def test_going_to_the_start_and_back(view, tasks, tmp_path, monkeypatch):
    monkeypatch.setattr(log_source, "BLOCK", 4096)
    view.show_file(write(tmp_path / "log", numbered(3000)), live=False)
    await tasks.settle()
    QTest.keyClick(view.table, Qt.Key.Key_Home, Qt.KeyboardModifier.ControlModifier)
    await tasks.settle()
    assert rows(view)[0] == "line 0"
    assert view.table.rowAt(0) == 0
    QTest.keyClick(view.table, Qt.Key.Key_End)
    await tasks.settle()
    assert rows(view)[-1] == "line 2999"
    assert at_bottom(view)


async def test_the_live_file_becoming_a_blob_keeps_its_place(view, tasks, tmp_path):
    view.show_file(write(tmp_path / "live", numbered(500)), live=True)
    await tasks.settle()
    view.table.verticalScrollBar().setValue(1000)
    text = rows(view)[view.table.rowAt(0)]
    view.show_file(write(tmp_path / "blob", numbered(500)), live=False)
    await tasks.settle()
    shown = [rows(view)[row] for row in range(view.table.rowAt(0), view.table.rowAt(250))]
    assert text in shown
    assert not view.following


async def test_b061_the_encoding_is_shown_and_can_be_changed(view, tasks, tmp_path):
    view.show_file(write(tmp_path / "log", "größer und schöner\n".encode("cp850")), live=False)
    await tasks.settle()
    assert view._bar._encoding.itemText(0) == "CP850 (detected)"
    assert rows(view) == ["größer und schöner"]
    view._bar._encoding.setCurrentIndex(view._bar._encoding.findData("cp1252"))
    view._bar._encoding.activated.emit(view._bar._encoding.currentIndex())
    await tasks.settle()
    assert rows(view) == ["gr”áer und sch”ner"]
    assert view.detection.chosen


async def test_b059_raw_shows_escapes(view, tasks, tmp_path):
    view.show_file(write(tmp_path / "log", "\x1b[31mred\x1b[0m\n"), live=False)
    await tasks.settle()
    assert rows(view) == ["red"]
    view._bar._raw.click()
    await tasks.settle()
    assert rows(view) == ["␛[31mred␛[0m"]


async def test_b122_missing_says_missing(view, tasks, tmp_path):
    view.show_file(tmp_path / "gone", live=False)
    await tasks.settle()
    assert view._empty.accessibleName() == "Standard output is missing"
    assert view._empty.isVisible()


async def test_search_goes_to_matches_outside_the_window(view, tasks, tmp_path, monkeypatch):
    monkeypatch.setattr(log_source, "BLOCK", 4096)
    text = numbered(2000) + "a Needle\n" + numbered(6000)
    view.show_file(write(tmp_path / "log", text), live=False)
    await tasks.settle()
    view.search_field.setText("needle")
    QTest.keyClick(view.search_field, Qt.Key.Key_Return)
    await tasks.settle()
    current = view.table.currentIndex()
    assert current.data() == "a Needle"
    assert view._bar.found_words == "1 of 1"
    assert view.table.rowAt(0) <= current.row() <= view.table.rowAt(view.table.viewport().height() - 1)


async def test_search_goes_round_both_ways(view, tasks, tmp_path):
    view.show_file(write(tmp_path / "log", numbered(120)), live=False)
    await tasks.settle()
    view.search_field.setText("line 11")
    QTest.keyClick(view.search_field, Qt.Key.Key_Return)
    await tasks.settle()
    seen = [view.table.currentIndex().data()]
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Return):
        QTest.keyClick(view.search_field, key)
        await tasks.settle()
        seen.append(view.table.currentIndex().data())
    QTest.keyClick(view.search_field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    await tasks.settle()
    seen.append(view.table.currentIndex().data())
    assert seen == ["line 119", "line 11", "line 110", "line 11"]


async def test_search_says_when_there_is_nothing(view, tasks, tmp_path):
    view.show_file(write(tmp_path / "log", numbered(10)), live=False)
    await tasks.settle()
    view.search_field.setText("absent")
    QTest.keyClick(view.search_field, Qt.Key.Key_Return)
    await tasks.settle()
    assert view._bar.found_words == "not found"
    assert not view._bar._stop.isVisible()


async def test_copy_gives_cut_rows_whole(view, tasks, tmp_path):
    long = "z" * 5000
    view.show_file(write(tmp_path / "log", f"one\n{long}\nthree\n"), live=False)
    await tasks.settle()
    view.table.selectAll()
    view.copy_selection()
    await tasks.settle()
    assert QGuiApplication.clipboard().text() == f"one\n{long}\nthree"


async def test_another_attempt_begins_anew(view, tasks, tmp_path):
    view.show_file(write(tmp_path / "log", numbered(500)), live=False)
    await tasks.settle()
    view.table.verticalScrollBar().setValue(0)
    view.forget()
    assert rows(view) == []
    view.show_file(write(tmp_path / "other", numbered(500)), live=False)
    await tasks.settle()
    assert at_bottom(view)


async def test_b119_every_control_has_a_name_and_a_tooltip(view, tasks, tmp_path):
    view.show_file(write(tmp_path / "log", numbered(9)), live=True)
    await tasks.settle()
    controls = [
        control
        for kind in (QAbstractButton, QComboBox, QLineEdit, QTableView)
        for control in view.findChildren(kind)
        if control.isVisible() and not isinstance(control.parent(), QLineEdit)
    ]
    assert len(controls) >= 5
    for control in controls:
        assert control.accessibleName(), control
        assert control.toolTip() or isinstance(control, QTableView), control


@pytest.mark.parametrize("tokens", THEMES, ids=lambda tokens: tokens.name)
def test_b059_every_colour_is_readable_in_every_theme(qapp, tokens):
    colours = [
        None,
        *range(16),
        RGB,
        RGB | 0xFFFFFF,
        RGB | 0xFF0000,
        RGB | 0x00FF00,
        RGB | 0x0000FF,
        RGB | 0x808080,
    ]
    for foreground in colours:
        for background in colours:
            for flags in (0, Flag.INVERSE, Flag.DIM, Flag.INVERSE | Flag.DIM):
                ink = ink_of(Style(foreground, background, flags), tokens)
                assert contrast(ink.text, ink.ground or tokens.code) >= READABLE, (
                    foreground,
                    background,
                    flags,
                )
