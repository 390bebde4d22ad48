"""B-008: what cannot be seen in a command is written out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.widgets.escapes import Span, is_hidden, spoken, visible


def test_ordinary_text_stays_as_it_is() -> None:
    for text in (
        "python",
        "tools/apply_fix.py",
        "größe",
        "日本語",
        "a b c",
        "C:\\Program Files\\x",
        "100% %PATH% !x!",
    ):
        assert visible(text) == (Span(text, False),)


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("a\nb", "U+000A LF"),
        ("a\tb", "U+0009 TAB"),
        ("a\x1bb", "U+001B ESC"),
        ("a\x00b", "U+0000 NUL"),
        ("a\u200bb", "U+200B ZWSP"),
        ("a\u202eb", "U+202E RLO"),
        ("a\u2066b", "U+2066 LRI"),
        ("a\u00a0b", "U+00A0 NBSP"),
        ("a\ufeffb", "U+FEFF BOM"),
        ("a\u3164b", "U+3164"),
        ("a\ufe0fb", "U+FE0F"),
        ("a\U000e0041b", "U+E0041"),
        ("a\ud800b", "U+D800"),
        ("a\ue000b", "U+E000"),
        ("a\u2028b", "U+2028 LSEP"),
    ],
)
def test_hidden_characters_are_written_out(text: str, mark: str) -> None:
    assert visible(text) == (Span("a", False), Span(mark, True), Span("b", False))


def test_outer_spaces_and_nothing_are_written_out() -> None:
    assert visible("  a b ") == (Span("2 spaces", True), Span("a b", False), Span("1 space", True))
    assert visible("") == (Span("empty", True),)
    assert visible("   ") == (Span("3 spaces", True),)


def test_a_backslash_n_is_not_a_line_break() -> None:
    assert spoken("a\\nb") == "a\\nb"
    assert spoken("a\nb") == "a⟨U+000A LF⟩b"


@given(st.text())
def test_no_shown_piece_has_a_hidden_character(text: str) -> None:
    spans = visible(text)
    assert spans
    for span in spans:
        assert span.text
        assert not any(is_hidden(character) for character in span.text)


@given(st.text(min_size=1))
def test_texts_without_hidden_characters_or_outer_spaces_are_unchanged(text: str) -> None:
    plain = "".join(character for character in text if not is_hidden(character)).strip(" ")
    if plain:
        assert visible(plain) == (Span(plain, False),)
