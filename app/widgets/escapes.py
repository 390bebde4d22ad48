"""Make every character of a command visible (B-008): what cannot be seen is written out and marked."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

_SHORT_NAMES = {
    0x00: "NUL",
    0x07: "BEL",
    0x08: "BS",
    0x09: "TAB",
    0x0A: "LF",
    0x0B: "VT",
    0x0C: "FF",
    0x0D: "CR",
    0x1B: "ESC",
    0x7F: "DEL",
    0x85: "NEL",
    0xA0: "NBSP",
    0xAD: "SHY",
    0x034F: "CGJ",
    0x061C: "ALM",
    0x200B: "ZWSP",
    0x200C: "ZWNJ",
    0x200D: "ZWJ",
    0x200E: "LRM",
    0x200F: "RLM",
    0x2028: "LSEP",
    0x2029: "PSEP",
    0x202A: "LRE",
    0x202B: "RLE",
    0x202C: "PDF",
    0x202D: "LRO",
    0x202E: "RLO",
    0x202F: "NNBSP",
    0x2060: "WJ",
    0x2066: "LRI",
    0x2067: "RLI",
    0x2068: "FSI",
    0x2069: "PDI",
    0xFEFF: "BOM",
}
_BLANKS = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0}
"""Letters and marks by category that show nothing."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a text as it is shown; ``marked`` where it stands for characters one could not see."""

    text: str
    marked: bool


def is_hidden(character: str) -> bool:
    """Whether a character shows nothing, moves text about, or cannot be shown: it must be written out.

    Controls, format characters (bidirectional ones among them), separators other than the plain space,
    surrogates, private and unassigned code points, variation selectors and blank letters.
    """
    code = ord(character)
    if character == " ":
        return False
    if code in _BLANKS or 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:
        return True
    return unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"}


def visible(text: str) -> tuple[Span, ...]:
    """Split a text into what is shown as it is and what is written out.

    Leading and trailing spaces are written out with their number, and so is a text of no characters.
    """
    if not text:
        return (Span("empty", True),)
    body = text.strip(" ")
    leading = len(text) - len(text.lstrip(" "))
    trailing = len(text) - leading - len(body)
    spans: list[Span] = []
    if leading:
        spans.append(Span(_spaces(leading), True))
    spans.extend(_split(body))
    if trailing:
        spans.append(Span(_spaces(trailing), True))
    return tuple(spans)


def spoken(text: str) -> str:
    """The text for a screen reader and for copying beside the exact one: marks stand in angle brackets."""
    return "".join(f"⟨{span.text}⟩" if span.marked else span.text for span in visible(text))


def _spaces(number: int) -> str:
    return "1 space" if number == 1 else f"{number} spaces"


def _split(body: str) -> Iterator[Span]:
    if body and body.isascii() and body.isprintable():
        # Nearly every argument there is; one by one would block the window on a thousand of them.
        yield Span(body, False)
        return
    plain: list[str] = []
    for character in body:
        if not is_hidden(character):
            plain.append(character)
            continue
        if plain:
            yield Span("".join(plain), False)
            plain.clear()
        code = ord(character)
        name = _SHORT_NAMES.get(code, "")
        yield Span(f"U+{code:04X} {name}".rstrip(), True)
    if plain:
        yield Span("".join(plain), False)
