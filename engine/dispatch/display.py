"""Showing text from machines so that a person sees everything that is in it (B-008).

Characters that are invisible, that change the direction of reading, that control a terminal or that merely
look like white space are spelled out as code points. Every character of a text comes back in exactly one span.
This is for reading: what is passed to a program is always the argument list itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby


class SpanKind(StrEnum):
    """What a span holds: text shown as it is, or one kind of character spelled out."""

    PLAIN = "plain"
    NEWLINE = "newline"
    TAB = "tab"
    CONTROL = "control"
    BIDI = "bidi"
    INVISIBLE = "invisible"
    SPACE = "space"
    MARK = "mark"
    UNASSIGNED = "unassigned"


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a text: ``text`` is what to show, ``kind`` what it is, ``raw`` the characters it stands for."""

    text: str
    kind: SpanKind
    raw: str


_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Letters, marks and symbols by category that show nothing or a blank all the same.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U0001d159") | {
    chr(code)
    for first, last in ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
    for code in range(first, last + 1)
}
_LINE_ENDS = {
    "\n": "⏎ U+000A",
    "\r": "␍ U+000D",
    "\u2028": "⏎ U+2028",
    "\u2029": "⏎ U+2029",
    "\x85": "⏎ U+0085",
}
_CATEGORY_KINDS = {
    "Cc": SpanKind.CONTROL,
    "Cf": SpanKind.INVISIBLE,
    "Cs": SpanKind.UNASSIGNED,
    "Co": SpanKind.UNASSIGNED,
    "Cn": SpanKind.UNASSIGNED,
    "Zs": SpanKind.SPACE,
}
_MARKS = ("Mn", "Mc", "Me")
_MOST_MARKS = 2
_UNQUOTED = re.compile(r"[A-Za-z0-9_@%+=:,./\\-]+")


def visible(text: str) -> tuple[Span, ...]:
    """Split a text into spans that show every character.

    Spaces at the beginning or end of the text or of a line are spelled out, and so are two or more in a row
    anywhere, non-breaking and other blanks, combining marks without a letter or in heaps, lone surrogates and
    characters unknown to Unicode. A run of one such character is one span, with its count.
    """
    spans: list[Span] = []
    for kind, raw in _runs(text):
        if kind is SpanKind.PLAIN:
            spans.append(Span(raw, kind, raw))
            continue
        for character, group in groupby(raw):
            count = len(list(group))
            spelled = _spelled(character) + (f" ×{count:,}" if count > 1 else "")
            spans.append(Span(spelled, kind, character * count))
    return tuple(spans)


def visible_text(text: str) -> str:
    """Give a text in one line with everything hidden spelled out, for places that show no spans."""
    return "".join(span.text if span.kind is SpanKind.PLAIN else f"⟨{span.text}⟩" for span in visible(text))


def is_plain(text: str) -> bool:
    """Tell whether a text shows all its characters as it is."""
    return all(kind is SpanKind.PLAIN for kind, _ in _runs(text))


def length_in_words(text: str) -> str:
    """Say how long a text is, in characters: ``1 character``, ``12,000 characters``."""
    return f"{len(text):,} character" + ("" if len(text) == 1 else "s")


def command_line(argv: Sequence[str]) -> str:
    """Give an argument list as one line for reading; no shell is meant to read it, and none will."""
    return " ".join(_quoted(argument) for argument in argv)


def _quoted(argument: str) -> str:
    shown = visible_text(argument)
    if _UNQUOTED.fullmatch(shown):
        return shown
    if "'" not in shown:
        return f"'{shown}'"
    return '"' + shown.replace('"', '\\"') + '"'


def _spelled(character: str) -> str:
    if character in _LINE_ENDS:
        return _LINE_ENDS[character]
    return ("⇥ " if character == "\t" else "") + f"U+{ord(character):04X}"


def _runs(text: str) -> Iterator[tuple[SpanKind, str]]:
    """Give the text in pieces of one kind each, in order."""
    start, last = 0, None
    for index, kind in enumerate(_kinds(text)):
        if kind is not last:
            if last is not None:
                yield last, text[start:index]
            start, last = index, kind
    if last is not None:
        yield last, text[start:]


def _kinds(text: str) -> Iterator[SpanKind]:
    marks = 0
    for index, character in enumerate(text):
        if character not in _BLANK and unicodedata.category(character) in _MARKS:
            if marks == 0 and not (index and text[index - 1].isalnum()):
                marks = _MOST_MARKS
            marks += 1
            yield SpanKind.PLAIN if marks <= _MOST_MARKS else SpanKind.MARK
            continue
        marks = 0
        yield _space_kind(text, index) if character == " " else _other_kind(character)


def _space_kind(text: str, index: int) -> SpanKind:
    before = text[index - 1] if index else "\n"
    after = text[index + 1] if index + 1 < len(text) else "\n"
    hidden = any(neighbour == " " or neighbour in _LINE_ENDS for neighbour in (before, after))
    return SpanKind.SPACE if hidden else SpanKind.PLAIN


def _other_kind(character: str) -> SpanKind:
    if " " < character <= "~":
        return SpanKind.PLAIN
    if character == "\t":
        return SpanKind.TAB
    if character in _LINE_ENDS:
        return SpanKind.NEWLINE
    if character in _BIDI:
        return SpanKind.BIDI
    if character in _BLANK:
        return SpanKind.INVISIBLE
    return _CATEGORY_KINDS.get(unicodedata.category(character), SpanKind.PLAIN)
