"""From a program's output to lines one can read: colours, carriage return, erasing, cursor movement (B-059).

`Screen` is what a terminal would show, without its bottom: text is fed line by line and rows come out, each
with the offset of the byte it began at. Escapes that would only disturb reading (titles, cursor shapes, moves
to absolute places) are dropped, and nothing that a program printed is erased by "clear screen". With ``raw``
every control character and escape is shown instead of obeyed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntFlag
from typing import NamedTuple

REACH = 200
"""How many rows upwards a program can still reach with cursor movement."""

LONGEST_SHOWN = 2000
"""Characters of a row that are kept for showing; the rest is counted in `LogLine.hidden`."""

TAB = 8
RGB = 0x1000000
"""Colours from this value on are RGB (``colour & 0xFFFFFF``); below it are the sixteen named ones."""


class Flag(IntFlag):
    """How a run of text is set apart besides by colour. CONTROL: it stands for something invisible."""

    BOLD = 1
    DIM = 2
    ITALIC = 4
    UNDERLINE = 8
    INVERSE = 16
    STRIKE = 32
    CONTROL = 64


class Style(NamedTuple):
    """How a run of text looks: colours (None is the default one) and flags."""

    foreground: int | None = None
    background: int | None = None
    flags: int = 0


PLAIN = Style()
CONTROL = Style(flags=Flag.CONTROL)


class Span(NamedTuple):
    """A run of characters ``text[start:end]`` of one style; runs in the plain style have no span."""

    start: int
    end: int
    style: Style


@dataclass(frozen=True, slots=True)
class LogLine:
    """One row as shown: ``offset`` is where its bytes begin, ``hidden`` how many characters are cut.

    ``continued``: it goes on with the line of the row before, which has the same offset.
    """

    offset: int
    text: str
    spans: tuple[Span, ...] = ()
    hidden: int = 0
    continued: bool = False


_BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_CONTROL = re.compile(
    r"\x1b\[(?P<parameters>[0-?]*)[ -/]*(?P<final>[@-~])"
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"
    r"|\x1b[ -/]*[0-~]"
    r"|(?P<single>[\x00-\x1f\x7f-\x9f" + _BIDI + r"])"
)
_STRAY = re.compile(r"[\x00-\x1f\x7f-\x9f" + _BIDI + r"]")
_INCOMPLETE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]{0,4096}\x1b?|[ -/]*)?\Z")
_CUBE = (0, 95, 135, 175, 215, 255)


def strip_escapes(text: str) -> str:
    """The text without escapes, as a search sees it: what was overwritten stays, colours go."""
    return _CONTROL.sub(lambda match: match["single"] or "", text) if _STRAY.search(text) else text


def incomplete_escape(text: str) -> int:
    """How many characters at the end may be the beginning of an escape that is not whole yet."""
    match = _INCOMPLETE.search(text, max(len(text) - 4200, 0))
    return len(match[0]) if match else 0


class _Row:
    """One row being written: cells with styles, and how far beyond the kept cells text went."""

    __slots__ = ("cells", "offset", "reach", "styles")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.cells: list[str] = []
        self.styles: list[Style] = []
        self.reach = 0

    @classmethod
    def thawed(cls, line: LogLine) -> _Row:
        row = cls(line.offset)
        row.cells = list(line.text)
        row.styles = [PLAIN] * len(row.cells)
        for start, end, style in line.spans:
            row.styles[start:end] = [style] * (end - start)
        row.reach = len(row.cells) + line.hidden
        return row

    def put(self, column: int, text: str, style: Style) -> None:
        end = column + len(text)
        self.reach = max(self.reach, end)
        if column >= LONGEST_SHOWN:
            return
        text = text[: LONGEST_SHOWN - column]
        end = column + len(text)
        if column > len(self.cells):
            gap = column - len(self.cells)
            self.cells.extend(" " * gap)
            self.styles.extend([PLAIN] * gap)
        self.cells[column:end] = text
        self.styles[column:end] = [style] * len(text)

    def erase(self, start: int, end: int | None) -> None:
        if end is None:
            del self.cells[start:], self.styles[start:]
            self.reach = min(self.reach, start)
        else:
            end = min(end, len(self.cells))
            self.cells[start:end] = " " * max(end - start, 0)
            self.styles[start:end] = [PLAIN] * max(end - start, 0)

    def frozen(self) -> LogLine:
        spans: list[Span] = []
        start = 0
        styles = self.styles
        for index in range(1, len(styles) + 1):
            if index == len(styles) or styles[index] != styles[start]:
                if styles[start] != PLAIN:
                    spans.append(Span(start, index, styles[start]))
                start = index
        hidden = max(self.reach - len(self.cells), 0)
        return LogLine(self.offset, "".join(self.cells), tuple(spans), hidden)


class Screen:
    """Rows as they come to stand. Feed text with `write`, end lines with `newline`, collect with `take`."""

    def __init__(self, offset: int, *, raw: bool = False) -> None:
        self._raw = raw
        self._rows: list[LogLine | _Row] = [LogLine(offset, "")]
        self._base = 0
        self._row = 0
        self._column = 0
        self._style = PLAIN
        self._dirty = 0
        self._touched = 0
        self._mark: tuple[list[LogLine], int, int, int, Style] | None = None

    @property
    def untouched(self) -> bool:
        """Whether the last row is still empty, so that it need not be shown."""
        last = self._rows[-1]
        return isinstance(last, LogLine) and not last.text and not last.hidden

    def write(self, text: str) -> None:
        """Write text that holds no newline at the cursor."""
        if self._raw:
            self._write_raw(text)
            return
        text = text.removesuffix("\r") if self._at_fresh_row() and text.find("\r") == len(text) - 1 else text
        if not _STRAY.search(text):
            self._put(text, self._style)
            return
        position = 0
        for match in _CONTROL.finditer(text):
            if match.start() > position:
                self._put(text[position : match.start()], self._style)
            position = match.end()
            self._obey(match)
        self._put(text[position:], self._style)

    def newline(self, offset: int) -> None:
        """Go to the start of the next row; ``offset`` is where the next line's bytes begin."""
        self._column = 0
        self._row += 1
        if self._row == len(self._rows):
            self._rows.append(LogLine(offset, ""))

    def mark(self) -> None:
        """Remember this state: what is written from here on may be taken back with `rollback`."""
        self._freeze()
        self._touched = len(self._rows)
        self._mark = (
            [row for row in self._rows[-REACH:] if isinstance(row, LogLine)],
            self._base + max(len(self._rows) - REACH, 0),
            self._base + self._row,
            self._column,
            self._style,
        )

    def rollback(self) -> None:
        """Return to the state of the last `mark`."""
        if self._mark is None:
            return
        rows, first, row, column, style = self._mark
        self._rows[first - self._base :] = rows
        self._row, self._column, self._style = row - self._base, column, style
        self._dirty = min(self._dirty, self._touched)

    def take(self) -> tuple[int, tuple[LogLine, ...]]:
        """What changed since the last call: the first row's number since the start, and all rows from it."""
        self._freeze()
        first = min(self._dirty, len(self._rows) - 1)
        lines = tuple(row for row in self._rows[first:] if isinstance(row, LogLine))
        number = self._base + first
        self._dirty = len(self._rows) - 1
        self._forget(max(len(self._rows) - 2 * REACH, 0))
        return number, lines

    def _forget(self, count: int) -> None:
        """Let go of rows that nothing can reach any more."""
        count = min(count, self._row)
        if count:
            del self._rows[:count]
            self._base += count
            self._row -= count
            self._dirty = max(self._dirty - count, 0)
            self._touched = max(self._touched - count, 0)

    def _at_fresh_row(self) -> bool:
        return self._column == 0 and self._row == len(self._rows) - 1 and self.untouched

    def _current(self) -> _Row:
        row = self._rows[self._row]
        if isinstance(row, LogLine):
            row = self._rows[self._row] = _Row.thawed(row)
        self._touch()
        return row

    def _touch(self) -> None:
        self._dirty = min(self._dirty, self._row)
        self._touched = min(self._touched, self._row)

    def _freeze(self) -> None:
        for index in range(self._dirty, len(self._rows)):
            row = self._rows[index]
            if isinstance(row, _Row):
                self._rows[index] = row.frozen()

    def _put(self, text: str, style: Style) -> None:
        if not text:
            return
        if self._at_fresh_row():
            self._touch()
            shown = text[:LONGEST_SHOWN]
            spans = (Span(0, len(shown), style),) if style != PLAIN else ()
            offset = self._rows[self._row].offset
            self._rows[self._row] = LogLine(offset, shown, spans, len(text) - len(shown))
        else:
            self._current().put(self._column, text, style)
        self._column += len(text)

    def _write_raw(self, text: str) -> None:
        position = 0
        for match in _STRAY.finditer(text):
            self._put(text[position : match.start()], PLAIN)
            self._put(_picture(match[0]), CONTROL)
            position = match.end()
        self._put(text[position:], PLAIN)

    def _obey(self, match: re.Match[str]) -> None:
        single = match["single"]
        if single is not None:
            self._obey_single(single)
        elif match["final"] == "m":
            self._style = _select(self._style, match["parameters"])
        elif match["final"]:
            self._move(match["final"], _number(match["parameters"]))

    def _obey_single(self, single: str) -> None:
        if single == "\r":
            self._column = 0
        elif single == "\b":
            self._column = max(self._column - 1, 0)
        elif single == "\t":
            self._put(" " * (TAB - self._column % TAB), self._style)
        elif single not in "\a\x0e\x0f":
            self._put(_picture(single), CONTROL)

    def _move(self, final: str, number: int | None) -> None:
        count = max(number or 0, 1)
        if final in "AF":
            self._row = max(self._row - count, 0, len(self._rows) - REACH)
            self._column = 0 if final == "F" else self._column
        elif final in "BE":
            self._row = min(self._row + count, len(self._rows) - 1)
            self._column = 0 if final == "E" else self._column
        elif final == "C":
            self._column = min(self._column + count, LONGEST_SHOWN)
        elif final == "D":
            self._column = max(self._column - count, 0)
        elif final == "G":
            self._column = min(count - 1, LONGEST_SHOWN)
        elif final == "K":
            self._erase_line(number or 0)
        elif final == "J" and not number:
            self._erase_line(0)
            self._touch()
            for index in range(self._row + 1, len(self._rows)):
                self._rows[index] = LogLine(self._rows[index].offset, "")

    def _erase_line(self, what: int) -> None:
        if self._at_fresh_row():
            return
        row = self._current()
        if what == 0:
            row.erase(self._column, None)
        elif what == 1:
            row.erase(0, self._column + 1)
        elif what == 2:
            row.erase(0, None)


def _picture(char: str) -> str:
    """Something visible for an invisible character."""
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"\\x{code:02x}" if code < 0x100 else f"U+{code:04X}"


def _number(parameters: str) -> int | None:
    digits = parameters.split(";", 1)[0]
    return int(digits[:6]) if digits.isdecimal() and digits.isascii() else None


def _select(style: Style, parameters: str) -> Style:
    """Apply one SGR sequence to a style; unknown codes change nothing."""
    if parameters[:1] in ("?", ">", "<", "="):
        return style
    foreground, background, flags = style
    codes = _codes(parameters)
    for code in codes:
        if code == 0:
            foreground, background, flags = PLAIN
        elif code in _SET:
            flags |= _SET[code]
        elif code in _UNSET:
            flags &= ~_UNSET[code]
        elif 30 <= code <= 37 or 90 <= code <= 97:
            foreground = code - 30 if code < 90 else code - 82
        elif 40 <= code <= 47 or 100 <= code <= 107:
            background = code - 40 if code < 100 else code - 92
        elif code == 38:
            foreground = _extended(codes, foreground)
        elif code == 48:
            background = _extended(codes, background)
        elif code == 39:
            foreground = None
        elif code == 49:
            background = None
    return Style(foreground, background, int(flags))


_SET = {
    1: Flag.BOLD,
    2: Flag.DIM,
    3: Flag.ITALIC,
    4: Flag.UNDERLINE,
    7: Flag.INVERSE,
    9: Flag.STRIKE,
}
_UNSET = {
    22: Flag.BOLD | Flag.DIM,
    23: Flag.ITALIC,
    24: Flag.UNDERLINE,
    27: Flag.INVERSE,
    29: Flag.STRIKE,
}


def _codes(parameters: str) -> Iterator[int]:
    for part in parameters.split(";"):
        fields = part.split(":")
        if fields[0] in ("38", "48") and len(fields) > 2:
            values = [int(field[:6]) if field.isdecimal() else 0 for field in fields]
            # ISO 8613-6 puts a colour space between the 2 and the three values; many programs leave it out.
            yield from (*values[:2], *(values[-3:] if values[1] == 2 else values[2:3]))
        elif not fields[0]:
            yield 0
        elif fields[0].isdecimal() and fields[0].isascii():
            yield 24 if fields[:2] == ["4", "0"] else int(fields[0][:6])


def _extended(codes: Iterator[int], present: int | None) -> int | None:
    kind = next(codes, None)
    if kind == 5:
        return _indexed(next(codes, 0), present)
    if kind == 2:
        red, green, blue = (min(next(codes, 0), 255) for _ in range(3))
        return RGB | red << 16 | green << 8 | blue
    return present


def _indexed(index: int, present: int | None) -> int | None:
    if index < 16:
        return index
    if index < 232:
        index -= 16
        red, green, blue = _CUBE[index // 36], _CUBE[index // 6 % 6], _CUBE[index % 6]
        return RGB | red << 16 | green << 8 | blue
    if index < 256:
        grey = 8 + (index - 232) * 10
        return RGB | grey << 16 | grey << 8 | grey
    return present
