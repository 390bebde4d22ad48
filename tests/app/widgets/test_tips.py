"""Tooltips show text from outside as it is."""

from __future__ import annotations

import pytest

from app.widgets import plain_tip


@pytest.mark.parametrize("text", ["plain", "b > a & c", "two\nlines"])
def test_what_is_no_markup_stays_as_it_is(text: str) -> None:
    assert plain_tip(text) == text


@pytest.mark.parametrize(
    "text", ["<b>bold</b>", "<img src='file:///x'>\n<i>next", "run <table><tr>", "a < b"]
)
def test_what_looks_like_markup_is_shown_letter_by_letter(text: str) -> None:
    shown = plain_tip(text)
    assert "&lt;" in shown
    assert "<b>" not in shown
    assert "<img" not in shown
    assert "<table" not in shown
