"""Long lines of a log laid out over several rows of one height, so that the table needs no heights of its own.

`RowWrap` stands between a `LogSource` and the model: it turns patches of lines into patches of rows. Like the source it
is called from a worker thread, one call at a time, and holds the same bounded window.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.panels.evidence.ansi import LogLine, Span
from app.panels.evidence.log_source import Patch, Splice

FEWEST_COLUMNS = 20
"""A view narrower than this scrolls sideways."""

_NOTE_ROOM = 20
"""Columns that the note about what was cut takes at most."""


class RowWrap:
    """The rows for the lines of one window, ``columns`` wide; 0 leaves each line one row."""

    def __init__(self, columns: int = 0) -> None:
        self._columns = columns
        self._lines: list[LogLine] = []
        self._counts: list[int] = []

    def begin(self, columns: int) -> None:
        """Lay out in this width what comes from here on; there is nothing yet."""
        self._columns = columns

    def rows(self, patch: Patch) -> Patch:
        """The same change told in rows."""
        if patch.fresh:
            self._lines.clear()
            self._counts.clear()
        return replace(patch, splices=tuple(self._splice(splice) for splice in patch.splices))

    def relaid(self, columns: int, last: Patch) -> Patch:
        """All lines of the window anew in another width; ``last`` is the patch that was shown last."""
        self._columns = columns
        parts = [self._parts(line) for line in self._lines]
        self._counts = [len(part) for part in parts]
        rows = tuple(row for part in parts for row in part)
        return replace(last, splices=(Splice(0, 0, rows),), fresh=True)

    def _splice(self, splice: Splice) -> Splice:
        first, behind = splice.index, splice.index + splice.removed
        parts = [self._parts(line) for line in splice.lines]
        begin = sum(self._counts[:first])
        removed = sum(self._counts[first:behind])
        self._lines[first:behind] = splice.lines
        self._counts[first:behind] = [len(part) for part in parts]
        return Splice(begin, removed, tuple(row for part in parts for row in part))

    def _parts(self, line: LogLine) -> Sequence[LogLine]:
        width = self._columns
        room = width - _NOTE_ROOM if line.hidden else width
        if not width or (len(line.text) * 2 <= room or (line.text.isascii() and len(line.text) <= room)):
            return (line,)
        return tuple(_parts(line, width))


def _parts(line: LogLine, width: int) -> Iterator[LogLine]:
    text = line.text
    cuts = list(_cuts(text, width))
    if line.hidden and cells(text[cuts[-1] :]) > width - _NOTE_ROOM:
        cuts.append(len(text))
    spans = list(line.spans)
    for number, start in enumerate(cuts):
        last = number + 1 == len(cuts)
        end = len(text) if last else cuts[number + 1]
        yield LogLine(
            line.offset,
            text[start:end],
            tuple(_within(spans, start, end)),
            line.hidden if last else 0,
            continued=number > 0,
        )


def _cuts(text: str, width: int) -> Iterator[int]:
    """Where each row begins."""
    if text.isascii():
        yield from range(0, max(len(text), 1), width)
        return
    yield 0
    used = 0
    for place, char in enumerate(text):
        needs = _cells(char)
        if needs and used + needs > width:
            yield place
            used = 0
        used += needs


def _within(spans: list[Span], start: int, end: int) -> Iterator[Span]:
    """The styled runs of ``text[start:end]``, counted from ``start``; runs that end before are forgotten."""
    while spans and spans[0].end <= start:
        spans.pop(0)
    for span in spans:
        if span.start >= end:
            return
        yield Span(max(span.start, start) - start, min(span.end, end) - start, span.style)


def cells(text: str) -> int:
    """How many columns of a monospace font the text takes."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(char: str) -> int:
    if char < "\u0300":
        return 1
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
