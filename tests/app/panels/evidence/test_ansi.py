"""B-059: what a program draws on a terminal is readable as lines."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.panels.evidence.ansi import (
    CONTROL,
    LONGEST_SHOWN,
    REACH,
    RGB,
    Flag,
    LogLine,
    Screen,
    Span,
    Style,
    strip_escapes,
)


def drawn(text: str, *, raw: bool = False) -> list[LogLine]:
    screen = Screen(0, raw=raw)
    lines = text.split("\n")
    for index, line in enumerate(lines):
        screen.write(line)
        if index < len(lines) - 1:
            screen.newline(index + 1)
    _, rows = screen.take()
    return list(rows)


def shown(text: str) -> list[str]:
    return [line.text for line in drawn(text)]


@pytest.mark.parametrize(
    ("written", "rows"),
    [
        ("one\r\ntwo\r\n", ["one", "two", ""]),
        ("10 %\r50 %\r100 %", ["100 %"]),
        ("downloading 100\rdone", ["doneloading 100"]),
        ("downloading 100\r\x1b[Kdone", ["done"]),
        ("downloading\x1b[2K\rdone", ["done"]),
        ("abc\x1b[1Kd", ["   d"]),
        ("abc\b\bX", ["aXc"]),
        ("a\tb", ["a       b"]),
        ("12345678\tb", ["12345678        b"]),
        ("\x1b]0;a title\x07text", ["text"]),
        ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", ["link"]),
        ("\x1b[?25lhidden cursor\x1b[?25h", ["hidden cursor"]),
        ("\x1b(Bcharset", ["charset"]),
        ("kept\x1b[2J\x1b[Hnot erased", ["keptnot erased"]),
        ("bell\a", ["bell"]),
        ("abc\x1b[5Cd", ["abc     d"]),
        ("abcdef\x1b[3Gx", ["abxdef"]),
        ("abcdef\x1b[3Dx", ["abcxef"]),
    ],
)
def test_b059_carriage_return_erasing_and_movement(written, rows):
    assert shown(written) == rows


def test_b059_cursor_up_rewrites_rows_of_a_multi_line_progress():
    text = "layer a: 10%\nlayer b: 10%\n\x1b[2A\x1b[2Klayer a: done\n\x1b[2Klayer b: done\nfinished"
    assert shown(text) == ["layer a: done", "layer b: done", "finished"]


def test_b059_erase_below_clears_only_what_stands_below():
    assert shown("keep\nold 1\nold 2\n\x1b[2A\x1b[Jnew") == ["keep", "new", "", ""]


def test_b059_cursor_up_stops_at_its_reach():
    rows = shown("\n" * (REACH + 50) + f"\x1b[{REACH * 3}Atop")
    assert rows.index("top") == 51


def test_invisible_characters_are_shown_not_obeyed():
    assert shown("a\x00b\x0bc\x7fd\u202ee\x85") == ["a\u2400b\u240bc\u2421dU+202Ee\\x85"]
    assert drawn("a\u202eb")[0].spans == (Span(1, 7, CONTROL),)


def test_raw_shows_every_escape():
    assert drawn("\x1b[31mred\r", raw=True)[0].text == "\u241b[31mred\u240d"


@pytest.mark.parametrize(
    ("codes", "style"),
    [
        ("31", Style(1)),
        ("1;92", Style(10, None, Flag.BOLD)),
        ("44;97", Style(15, 4)),
        ("38;5;9", Style(9)),
        ("38;5;196", Style(RGB | 0xFF0000)),
        ("38;5;244", Style(RGB | 0x808080)),
        ("48;2;1;2;3", Style(None, RGB | 0x010203)),
        ("38:2::10:20:30", Style(RGB | 0x0A141E)),
        ("38:5:3", Style(3)),
        ("4:3", Style(None, None, Flag.UNDERLINE)),
        ("7;9;3;2", Style(None, None, Flag.INVERSE | Flag.STRIKE | Flag.ITALIC | Flag.DIM)),
        ("31;39;1;22", Style()),
        ("31;", Style()),
        ("999;31", Style(1)),
    ],
)
def test_b059_colours(codes, style):
    line = drawn(f"\x1b[{codes}mtext\x1b[0m after")[0]
    assert line.text == "text after"
    assert line.spans == ((Span(0, 4, style),) if style != Style() else ())


def test_colour_goes_on_over_lines_until_it_is_reset():
    first, second = drawn("\x1b[32mone\ntwo\x1b[m three")
    assert first.spans == (Span(0, 3, Style(2)),)
    assert second.spans == (Span(0, 3, Style(2)),)


def test_long_lines_are_cut_and_counted():
    line = drawn("x" * (LONGEST_SHOWN + 1234))[0]
    assert (len(line.text), line.hidden) == (LONGEST_SHOWN, 1234)
    pieces = drawn("\x1b[1m" + "x" * LONGEST_SHOWN + "\x1b[0m" + "y" * 70)[0]
    assert (len(pieces.text), pieces.hidden) == (LONGEST_SHOWN, 70)


def test_take_gives_only_what_changed():
    screen = Screen(0)
    for number in range(5):
        screen.write(f"line {number}")
        screen.newline(number + 1)
    assert len(screen.take()[1]) == 6
    screen.write("line 5")
    number, rows = screen.take()
    assert number == 5
    assert [row.text for row in rows] == ["line 5"]
    screen.write("\x1b[2A\rchanged")
    number, rows = screen.take()
    assert number == 3
    assert [row.text for row in rows] == ["changed", "line 4", "line 5"]


def test_rollback_takes_back_an_unfinished_line_with_its_cursor_movement():
    screen = Screen(0)
    screen.write("first")
    screen.newline(1)
    screen.mark()
    screen.write("\x1b[A\x1b[2Kspoiled")
    screen.take()
    screen.rollback()
    number, rows = screen.take()
    assert number == 0
    assert [row.text for row in rows] == ["first", ""]


def test_rows_out_of_reach_are_let_go():
    screen = Screen(0)
    for number in range(5 * REACH):
        screen.write("x")
        screen.newline(number + 1)
        screen.take()
    assert len(screen._rows) <= 2 * REACH + 1
    screen.write("last")
    assert screen.take()[0] == 5 * REACH


def test_strip_escapes_for_searching():
    assert strip_escapes("\x1b[31mfo\x1b[0mo\r") == "foo\r"


ESCAPES = st.sampled_from(
    ["\x1b[A", "\x1b[2K", "\x1b[1;31m", "\x1b[J", "\x1b[3D", "\x1b[40C", "\x1b]0;t\x07", "\x1b[", "\x1b"]
)
TEXT = st.lists(
    st.one_of(ESCAPES, st.text(max_size=8), st.sampled_from(["\r", "\b", "\t", "\n", "\0"])), max_size=30
)


@given(TEXT, st.booleans())
def test_any_text_is_drawn_without_an_error_and_shows_no_control_characters(parts, raw):
    for line in drawn("".join(parts), raw=raw):
        assert not re.search(r"[\x00-\x1f\x7f-\x9f]", line.text)
        assert all(0 <= span.start < span.end <= len(line.text) for span in line.spans)


@given(TEXT)
def test_marking_and_rolling_back_leaves_no_trace(parts):
    lines = "".join(parts).split("\n")
    plain, marked = Screen(0), Screen(0)
    for index, line in enumerate(lines):
        plain.write(line)
        plain.newline(index + 1)
        marked.mark()
        marked.write(line[: len(line) // 2])
        marked.take()
        marked.rollback()
        marked.write(line)
        marked.newline(index + 1)
    plain._dirty = marked._dirty = 0
    assert plain.take() == marked.take()
