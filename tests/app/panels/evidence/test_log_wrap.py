"""Long lines over several rows: nothing lost, nothing doubled, in patches as in one piece; by switch and by key."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox

from app.panels.evidence.ansi import Flag, LogLine, Span, Style
from app.panels.evidence.log_model import LogModel
from app.panels.evidence.log_source import Patch, Splice
from app.panels.evidence.log_view import LogView
from app.panels.evidence.log_wrap import RowWrap, cells
from app.panels.evidence.text_encoding import Detection
from app.settings import Settings

RED, BOLD = Style(foreground=1), Style(flags=Flag.BOLD)
UTF8 = Detection("utf-8", "said so")


def patch(*splices, fresh=False):
    return Patch(splices, fresh, UTF8, 1000, 0, 1000)


def line(offset, text, spans=(), hidden=0):
    return LogLine(offset, text, tuple(spans), hidden)


def laid(columns, *lines):
    return RowWrap(columns).rows(patch(Splice(0, 0, lines), fresh=True)).splices[0].lines


def test_a_long_line_takes_rows_of_the_width_and_says_that_they_go_on() -> None:
    rows = laid(20, line(7, "a" * 45), line(60, "short"))
    assert [(row.offset, len(row.text), row.continued) for row in rows] == [
        (7, 20, False),
        (7, 20, True),
        (7, 5, True),
        (60, 5, False),
    ]


def test_colours_go_on_in_the_next_row() -> None:
    rows = laid(20, line(0, "x" * 50, [Span(5, 25, RED), Span(25, 45, BOLD)]))
    assert [row.spans for row in rows] == [
        (Span(5, 20, RED),),
        (Span(0, 5, RED), Span(5, 20, BOLD)),
        (Span(0, 5, BOLD),),
    ]


def test_wide_characters_take_two_columns_and_accents_none() -> None:
    rows = laid(20, line(0, "測" * 15 + "e\u0301" * 30))
    assert [row.text for row in rows] == [
        "測" * 10,
        "測" * 5 + "e\u0301" * 10,
        "e\u0301" * 20,
    ]


def test_what_was_cut_is_said_once_and_has_room() -> None:
    rows = laid(40, line(0, "x" * 80, hidden=1234))
    assert [(len(row.text), row.hidden) for row in rows] == [(40, 0), (40, 0), (0, 1234)]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.text("ab測é\u0301🙂", max_size=120), max_size=8),
    st.lists(
        st.tuples(st.integers(0, 8), st.integers(0, 3), st.lists(st.text("cd 測", max_size=90), max_size=3))
    ),
    st.integers(20, 60),
)
def test_patch_by_patch_gives_the_rows_of_the_whole(texts, edits, columns) -> None:
    lines = [line(number, text) for number, text in enumerate(texts)]
    wrap, model = RowWrap(columns), LogModel()
    model.apply(wrap.rows(patch(Splice(0, 0, tuple(lines)), fresh=True)))
    for place, removed, added in edits:
        index = min(place, len(lines))
        removed = min(removed, len(lines) - index)
        new = tuple(line(100, text) for text in added)
        lines[index : index + removed] = new
        model.apply(wrap.rows(patch(Splice(index, removed, new))))
        assert tuple(model.lines(0, model.rowCount())) == laid(columns, *lines)
    assert all(cells(row.text) <= columns for row in model.lines(0, model.rowCount()))
    anew = wrap.relaid(0, patch())
    assert list(anew.splices[0].lines) == lines


# ------------------------------------------------------------------------------------------ in the view


@pytest.fixture
def kept(tmp_path):
    return Settings(tmp_path)


@pytest.fixture
def view(qtbot, themed, tasks, kept):
    made = LogView(tasks, "Standard output", settings=kept)
    qtbot.addWidget(made)
    made.resize(900, 300)
    made.show()
    return made


def switch(view):
    return next(box for box in view.findChildren(QCheckBox) if box.text() == "Wrap")


def rows(view):
    model = view.table.model()
    return [model.index(row, 0).data() for row in range(model.rowCount())]


LONG = "".join(f"{number:>9}," for number in range(60))


async def test_the_switch_wraps_is_remembered_and_holds_for_the_other_stream(
    view, tasks, tmp_path, kept, qtbot
) -> None:
    path = tmp_path / "log"
    path.write_text("".join(f"line {number}\n" for number in range(300)) + LONG + "\n")
    view.show_file(path, live=False)
    await tasks.settle()
    assert rows(view)[-1] == LONG
    assert view.table.horizontalScrollBar().maximum() > 0
    switch(view).click()
    await tasks.settle()
    assert "".join(rows(view)[300:]) == LONG
    assert len(rows(view)) > 303
    assert view.table.horizontalScrollBar().maximum() == 0
    assert view.following
    assert kept.wrap_output
    other = LogView(tasks, "Standard error", settings=Settings(tmp_path))
    qtbot.addWidget(other)
    assert switch(other).isChecked()
    switch(view).click()
    await tasks.settle()
    assert rows(view)[-1] == LONG
    other.show()
    assert not switch(other).isChecked()


async def test_by_key_and_the_top_line_stays_with_what_was_chosen(view, tasks, tmp_path) -> None:
    path = tmp_path / "log"
    path.write_text("".join(f"{number} {LONG if number % 3 else ''}\n" for number in range(200)))
    view.show_file(path, live=False)
    await tasks.settle()
    bar = view.table.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    model = view.table.model()
    top = model.line(view.table.rowAt(0)).offset
    view.table.selectRow(100)
    chosen = model.line(100).offset
    view.table.setFocus()
    QTest.keyClick(view.table, Qt.Key.Key_Z, Qt.KeyboardModifier.AltModifier)
    await tasks.settle()
    assert switch(view).isChecked()
    assert model.line(view.table.rowAt(0)).offset == top
    offsets = {model.line(index.row()).offset for index in view.table.selectionModel().selectedRows()}
    assert offsets == {chosen}
    view.copy_selection()
    await tasks.settle()
    assert QGuiApplication.clipboard().text() == f"100 {LONG}"


async def test_another_width_lays_out_anew(view, tasks, tmp_path, until) -> None:
    path = tmp_path / "log"
    path.write_text(LONG + "\n")
    view.show_file(path, live=False)
    switch(view).click()
    await tasks.settle()
    wide = len(rows(view))
    view.resize(560, 300)
    await until(lambda: len(rows(view)) > wide)
    assert "".join(rows(view)) == LONG


async def test_a_match_across_two_rows_is_gone_to(view, tasks, tmp_path) -> None:
    path = tmp_path / "log"
    path.write_text("".join(f"line {number}\n" for number in range(50)) + LONG + "\n")
    view.show_file(path, live=False)
    switch(view).click()
    await tasks.settle()
    model = view.table.model()
    first = model.line(50).text
    view.search_field.setText((first[-3:] + model.line(51).text[:12]).strip())
    QTest.keyClick(view.search_field, Qt.Key.Key_Return)
    await tasks.settle()
    assert view.table.currentIndex().row() == 50
    view.search_field.setText("25,")
    QTest.keyClick(view.search_field, Qt.Key.Key_Return)
    await tasks.settle()
    assert (
        "25,"
        in model.line(view.table.currentIndex().row()).text
        + model.around(view.table.currentIndex().row(), 3)[1]
    )
