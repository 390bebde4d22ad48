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
    EMPTY = "empty"
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

    @property
    def marked(self) -> bool:
        """Whether it stands for characters that one could not see."""
        return self.kind is not SpanKind.PLAIN


_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Letters, marks and symbols by category that show nothing or a blank all the same.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U0001d159") | {
    chr(code)
    for first, last in ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
    for code in range(first, last + 1)
}
_LINE_ENDS = frozenset("\n\r\u2028\u2029\x85")
_ABBREVIATIONS = {
    0x00: "NUL", 0x07: "BEL", 0x08: "BS", 0x09: "TAB", 0x0A: "LF", 0x0B: "VT", 0x0C: "FF", 0x0D: "CR", 0x1B: "ESC",
    0x7F: "DEL", 0x85: "NEL", 0xA0: "NBSP", 0xAD: "SHY", 0x034F: "CGJ", 0x061C: "ALM", 0x200B: "ZWSP",
    0x200C: "ZWNJ", 0x200D: "ZWJ", 0x200E: "LRM", 0x200F: "RLM", 0x2028: "LSEP", 0x2029: "PSEP", 0x202A: "LRE",
    0x202B: "RLE", 0x202C: "PDF", 0x202D: "LRO", 0x202E: "RLO", 0x202F: "NNBSP", 0x2060: "WJ", 0x2066: "LRI",
    0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0xFEFF: "BOM",
}  # fmt: skip
"""The Unicode Standard's own abbreviations, where there are such."""
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
    characters unknown to Unicode. A run of one such character is one span, with its count. A text of no
    characters is one span that says so.
    """
    if not text:
        return (Span("empty", SpanKind.EMPTY, ""),)
    if text.isascii() and text.isprintable() and "  " not in text and text == text.strip(" "):
        # Nearly every argument there is; one by one would block a window on a thousand of them.
        return (Span(text, SpanKind.PLAIN, text),)
    spans: list[Span] = []
    for kind, raw in _runs(text):
        if kind is SpanKind.PLAIN:
            spans.append(Span(raw, kind, raw))
            continue
        for character, group in groupby(raw):
            count = len(list(group))
            spans.append(Span(_spelled(character, count), kind, character * count))
    return tuple(spans)


def visible_text(text: str) -> str:
    """Give a text in one line with everything hidden spelled out, for places that show no spans."""
    return "".join(span.text if span.kind is SpanKind.PLAIN else f"⟨{span.text}⟩" for span in visible(text))


def length_in_words(text: str) -> str:
    """Say how long a text is, in characters: ``1 character``, ``12,000 characters``."""
    return f"{len(text):,} character" + ("" if len(text) == 1 else "s")


def command_line(argv: Sequence[str]) -> str:
    """Give an argument list as one line for reading; no shell is meant to read it, and none will."""
    return " ".join(_quoted(argument) for argument in argv)


def _quoted(argument: str) -> str:
    shown = visible_text(argument) if argument else ""
    if _UNQUOTED.fullmatch(shown):
        return shown
    if "'" not in shown:
        return f"'{shown}'"
    return '"' + shown.replace('"', '\\"') + '"'


def _spelled(character: str, count: int) -> str:
    if character == " ":
        return "1 space" if count == 1 else f"{count:,} spaces"
    code = ord(character)
    name = f"U+{code:04X} {_ABBREVIATIONS.get(code, '')}".rstrip()
    return f"{name} ×{count:,}" if count > 1 else name


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
