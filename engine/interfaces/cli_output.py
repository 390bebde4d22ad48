"""How `praxis` prints: text for people, or one JSON document for their programs.

Whatever comes from work orders, commands and agents is shown with every hidden character spelled out, so that
nothing in it can move the cursor, change colours or read in another order than it is.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from engine.dispatch.display import visible_text
from engine.durations import format_duration
from engine.errors import PraxisError
from engine.instants import Instant, format_instant
from engine.interfaces import wire

UNLIMITED_COLUMNS = 10_000
"""The width for what is no terminal: whoever reads a pipe or file gets every line whole."""

LONGEST_WHOLE_WORD = 26
"""Times, ids and names of backups stay whole. Longer words, such as paths and digests, may be broken in a table."""

_SMALL_NEED = 6
"""A column that would be whole with so few more characters gets them first: "2 min ago" stays in one line."""

NOBODY_WORKS = "Nothing runs now: start the console, or praxis serve."
"""What is said when no process owns the data folder for longer than a command."""

_STYLES = {
    "UNKNOWN": "magenta",
    "FROZEN": "magenta",
    "FAILED": "red",
    "REJECTED": "red",
    "DECISION_NEEDED": "yellow",
    "AWAITING_ACCEPTANCE": "yellow",
    "PENDING": "yellow",
    "CHANGED": "yellow",
    "SUCCEEDED": "green",
    "PASSED": "green",
    "ACCEPTED": "green",
    "APPROVED": "green",
    "RUNNING": "cyan",
    "DISPATCHED": "cyan",
}


def counted(number: int, word: str, words: str = "") -> str:
    """A number of things: "1 work order", "1,200 work orders"; ``words`` is a plural that does not just end with s."""
    return f"{number:,} {word if number == 1 else words or word + 's'}"


class Output:
    """Where a command prints: results to stdout, everything else to stderr."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._out = _console(sys.stdout)
        self._err = _console(sys.stderr)

    def result(self, value: object, people: Callable[[], Iterable[str | Text | Table]]) -> None:
        """Print a command's result: ``value`` as JSON, or what ``people`` gives, line by line."""
        if self.as_json:
            self.document(wire.document(value))
            return
        for line in people():
            self.line(line)

    def document(self, value: wire.Json) -> None:
        """Print one JSON document, in ASCII."""
        sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False) + "\n")
        sys.stdout.flush()

    def line(self, line: str | Text | Table) -> None:
        """Print a line or a table for people; nothing when the result is JSON."""
        if self.as_json:
            return
        if isinstance(line, Table):
            self._out.print(fitted(line, self._out.width))
        else:
            self._out.print(line, soft_wrap=True)

    def note(self, line: str) -> None:
        """Say something beside the result, on stderr."""
        self._err.print(line, soft_wrap=True)

    def error(self, error: PraxisError) -> None:
        """Print an error on stderr: as JSON with its code, or in sentences."""
        if self.as_json:
            sys.stderr.write(json.dumps(wire.document_error(error), ensure_ascii=True) + "\n")
            return
        first, *more = (part for part in (error.what, error.means, error.do) if part)
        self._err.print(Text.assemble(("praxis: ", "bold red"), shown_lines(first)))
        for part in more:
            # A command stays in one piece, so that it can be copied; sentences are broken between words.
            self._err.print(shown_lines(part), soft_wrap=": praxis " in part)


def prepare_streams() -> None:
    """Let stdout and stderr take any text: what their encoding lacks is written as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def shown(text: str) -> str:
    """Give text from anywhere in one line, with everything hidden spelled out; nothing stays nothing."""
    return visible_text(text) if text else ""


def shown_lines(text: str) -> str:
    """As `shown`, but the text keeps its lines."""
    return "\n".join(shown(line) for line in text.split("\n"))


def word(state: str | None) -> Text:
    """A state's word in its colour; the word alone says all."""
    return Text(state or "-", style=_STYLES.get(state or "", ""))


def table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> Table:
    """A table without lines that folds long cells and cuts nothing off."""
    made = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    for name in columns:
        made.add_column(name, overflow="fold")
    for row in rows:
        made.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return made


def fitted(made: Table, width: int) -> Table:
    """A table in which words stay whole in ``width`` columns: as it is, or each row as lines of name and value."""
    least, natural = (
        [_longest_word(one) for one in made.columns],
        [_longest_line(one) for one in made.columns],
    )
    room = width - 2 * (len(least) - 1)
    if sum(natural) <= room:
        return made
    if sum(least) <= room:
        for number in sorted(range(len(least)), key=lambda number: natural[number] - least[number]):
            need = natural[number] - least[number]
            if need <= min(_SMALL_NEED, room - sum(least)):
                least[number] += need
        for _ in range(room - sum(least)):
            neediest = max(range(len(least)), key=lambda number: natural[number] - least[number])
            least[neediest] += 1
        for column, given in zip(made.columns, least, strict=True):
            column.width = given
        return made
    rows = list(zip(*(tuple(column.cells) for column in made.columns), strict=True))
    lines = Table.grid(padding=(0, 2, 0, 0))
    lines.add_column(style="bold", no_wrap=True)
    lines.add_column(overflow="fold")
    for number, row in enumerate(rows):
        for column, cell in zip(made.columns, row, strict=True):
            if str(cell):
                lines.add_row(str(column.header), cell)
        if number < len(rows) - 1:
            lines.add_row(" ", " ")
    return lines


def _longest_word(column: Column) -> int:
    """The width below which words would be broken; beyond `LONGEST_WHOLE_WORD` they may be."""
    words = (word for text in _texts(column) for word in text.split())
    return max(column.min_width or 1, min(LONGEST_WHOLE_WORD, max(map(cell_len, words), default=1)))


def _longest_line(column: Column) -> int:
    longest = max(cell_len(line) for text in _texts(column) for line in text.split("\n"))
    return max(column.min_width or 1, longest)


def _texts(column: Column) -> list[str]:
    return [str(column.header), *map(str, column.cells)]


def heading(text: str) -> Text:
    """A line that begins a part."""
    return Text(text, style="bold")


def at(instant: Instant | None) -> str:
    """An instant as canonical UTC text, or a dash."""
    return "-" if instant is None else format_instant(instant)


def age(instant: Instant, now: Instant) -> str:
    """How long ago, in the largest unit that fits; never negative."""
    seconds = max(0, now - instant) // 1000
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def until(instant: Instant, now: Instant) -> str:
    """How long it is still, in the largest unit that fits: "in 23 h"; what has passed is "now"."""
    return "now" if instant <= now else f"in {age(now, instant)}"


def length(milliseconds: int) -> str:
    """A length of time as people read it: from a minute up without the parts of a second; "0" for nothing."""
    if milliseconds <= 0:
        return "0" if milliseconds == 0 else f"-{length(-milliseconds)}"
    return format_duration(milliseconds // 1000 * 1000 if milliseconds >= 60_000 else milliseconds)


def prose(name: str, text: str) -> Table:
    """A field whose text is broken between words and stays beside its name."""
    made = Table.grid(padding=(0, 1, 0, 0))
    made.add_column(min_width=10, no_wrap=True)
    made.add_column(overflow="fold")
    made.add_row(name, Text(text))
    return made


def point(text: str) -> Table:
    """One of several sentences, with a dash before it."""
    made = Table.grid(padding=(0, 1, 0, 0))
    made.add_column(no_wrap=True)
    made.add_column(overflow="fold")
    made.add_row("-", Text(text))
    return made


def _console(stream: io.TextIOBase | object) -> Console:
    terminal = bool(getattr(stream, "isatty", lambda: False)())
    return Console(
        file=stream,  # type: ignore[arg-type]
        markup=False,
        highlight=False,
        emoji=False,
        width=None if terminal else UNLIMITED_COLUMNS,
    )
