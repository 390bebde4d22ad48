import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.dispatch.display import (
    Span,
    SpanKind,
    command_line,
    length_in_words,
    visible,
    visible_text,
)

TEXTS = st.text(st.characters(exclude_categories=()) | st.sampled_from(" \t\n\r\u200b\u202e\u0301a"))


@pytest.mark.parametrize(
    ("raw", "text", "kind"),
    [
        ("\n", "U+000A LF", SpanKind.NEWLINE),
        ("\r", "U+000D CR", SpanKind.NEWLINE),
        ("\u2028", "U+2028 LSEP", SpanKind.NEWLINE),
        ("\t", "U+0009 TAB", SpanKind.TAB),
        ("\x00", "U+0000 NUL", SpanKind.CONTROL),
        ("\x1b", "U+001B ESC", SpanKind.CONTROL),
        ("\x7f", "U+007F DEL", SpanKind.CONTROL),
        ("\x9b", "U+009B", SpanKind.CONTROL),
        ("\u202e", "U+202E RLO", SpanKind.BIDI),
        ("\u2066", "U+2066 LRI", SpanKind.BIDI),
        ("\u061c", "U+061C ALM", SpanKind.BIDI),
        ("\u200b", "U+200B ZWSP", SpanKind.INVISIBLE),
        ("\ufeff", "U+FEFF BOM", SpanKind.INVISIBLE),
        ("\u00ad", "U+00AD SHY", SpanKind.INVISIBLE),
        ("\u3164", "U+3164", SpanKind.INVISIBLE),
        ("\ufe0f", "U+FE0F", SpanKind.INVISIBLE),
        ("\U000e0041", "U+E0041", SpanKind.INVISIBLE),
        ("\u2800", "U+2800", SpanKind.INVISIBLE),
        ("\u00a0", "U+00A0 NBSP", SpanKind.SPACE),
        ("\u3000", "U+3000", SpanKind.SPACE),
        ("\ud800", "U+D800", SpanKind.UNASSIGNED),
        ("\ue000", "U+E000", SpanKind.UNASSIGNED),
        ("\U0003fffd", "U+3FFFD", SpanKind.UNASSIGNED),
    ],
)
def test_b008_what_cannot_be_seen_is_spelled_out(raw, text, kind):
    assert visible(f"a{raw}b") == (
        Span("a", SpanKind.PLAIN, "a"),
        Span(text, kind, raw),
        Span("b", SpanKind.PLAIN, "b"),
    )


@pytest.mark.parametrize(
    "text", ["plain", "a b c", "größe", "漢字", "🙂", "e\u0301", "nội", "हिन्दी", "±≥→", "x' \"y"]
)
def test_ordinary_text_is_shown_as_it_is(text):
    assert visible(text) == (Span(text, SpanKind.PLAIN, text),)


def test_nothing_is_said_to_be_empty():
    assert visible("") == (Span("empty", SpanKind.EMPTY, ""),)
    assert visible_text("") == "⟨empty⟩"


@pytest.mark.parametrize("text", [" a", "a ", "a  b", "a \nb", "a\n b", " "])
def test_b008_spaces_that_are_easily_missed_are_spelled_out(text):
    assert any(span.kind is SpanKind.SPACE for span in visible(text))


def test_a_run_is_one_span_with_its_count():
    assert visible("a" + " " * 12_000) == (
        Span("a", SpanKind.PLAIN, "a"),
        Span("12,000 spaces", SpanKind.SPACE, " " * 12_000),
    )
    assert [span.text for span in visible("\x00\x01\x01")] == ["U+0000 NUL", "U+0001 ×2"]


@pytest.mark.parametrize("text", ["\u0301a", "/\u0338x", "a" + "\u0301" * 9, "1 \u0301"])
def test_marks_that_would_hide_or_merge_with_what_is_around_are_spelled_out(text):
    assert any(span.kind is SpanKind.MARK for span in visible(text))


@given(TEXTS)
def test_b008_every_character_comes_back_once_and_nothing_hidden_is_plain(text):
    spans = visible(text)
    assert "".join(span.raw for span in spans) == text
    for span in spans:
        if span.kind is SpanKind.PLAIN:
            assert span.text == span.raw
            assert not any(
                unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") for c in span.raw
            )
        else:
            assert span.text.isprintable()
            assert span.marked
            assert "U+" in span.text or "space" in span.text or span.text == "empty"


@given(TEXTS)
def test_text_for_places_without_spans_is_printable_and_one_line(text):
    shown = visible_text(text)
    assert shown.isprintable()
    plain = all(span.kind is SpanKind.PLAIN for span in visible(text))
    assert (shown == text) == (plain and text != "")


def test_lengths_are_in_characters():
    assert length_in_words("") == "0 characters"
    assert length_in_words("🙂") == "1 character"
    assert length_in_words("x" * 12_000) == "12,000 characters"


def test_a_command_in_one_line_is_for_reading():
    assert command_line(("python", "tools/x.py", "--a=b")) == "python tools/x.py --a=b"
    assert command_line(("echo", "", "two words", "it's", "a\nb")) == (
        "echo '' 'two words' \"it's\" 'a⟨U+000A LF⟩b'"
    )


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_a_command_line_is_printable_whatever_is_in_it(argv):
    assert command_line(argv).isprintable()


@pytest.mark.parametrize("text", ["python", "a b c", "C:\\Program Files\\x", "100% %PATH% !x!", "a\\nb"])
def test_the_short_way_for_plain_arguments_says_the_same(text):
    """A thousand arguments must not block a window; what is taken for plain at a glance is plain."""
    assert visible(text) == (Span(text, SpanKind.PLAIN, text),)
