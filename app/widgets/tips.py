"""Tooltips of text from outside: Qt guesses whether a tooltip is markup, and must never be right about it."""

from __future__ import annotations

from html import escape


def plain_tip(text: str) -> str:
    """Give what to pass to ``setToolTip`` so that ``text`` is shown as it is, whatever it looks like."""
    if "<" not in text:
        # Qt takes nothing without a tag for markup.
        return text
    lines = "<br>".join(escape(line) for line in text.splitlines())
    return f"<p style='white-space:pre-wrap'>{lines}</p>"
