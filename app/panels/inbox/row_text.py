"""What a row of the queue says: command line, meta line, badges, and all of it as text for screen readers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from html import escape
from typing import NamedTuple

from app.panels.inbox.model import Entry
from app.theme import Shape, Tone, state_word
from app.widgets import Times, spoken, visible
from engine.views.values import InboxRow

SOON_MS = 15 * 60_000
"""What expires within this time is marked."""

_HIDDEN_NAME = 16  # "[U+200B ZWSP]" and its like

_TIP_LINES = 40
_TIP_LENGTH = 400


class Ink(Enum):
    """How a piece of a command line is painted."""

    PLAIN = auto()
    HIDDEN = auto()
    """It stands for characters that could not be seen."""
    DIFFERS = auto()
    """It differs from a look-alike request."""


class Piece(NamedTuple):
    """A piece of a command line."""

    text: str
    ink: Ink


@dataclass(frozen=True, slots=True)
class RowBadge:
    """A badge in a row; ``short`` stands for ``word`` where there is no room for it."""

    word: str
    tone: Tone
    shape: Shape | None = None
    short: str = ""


def folder_name(path: str) -> str:
    """The last part of a path of either kind of system; the whole path if it has no parts."""
    return path.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1] or path


def one_line(text: str) -> str:
    """A title or name from outside on one line, hidden characters written out: it cannot pose as another."""
    return spoken(" ".join(text.split()))


def command_line(argv: Sequence[str], marks: Iterable[int] = (), *, short: bool = False) -> tuple[Piece, ...]:
    """A command on one line, for a glance: hidden characters written out, elements with blanks in quotes.

    ``short`` leaves out the folders of a program named by a whole path. It is not for running: the exact
    elements stand on the card.
    """
    differing = set(marks)
    pieces: list[Piece] = []
    for at, element in enumerate([_short_program(argv[0]), *argv[1:]] if short and argv else argv):
        plain = Ink.DIFFERS if at in differing else Ink.PLAIN
        if at:
            pieces.append(Piece(" ", Ink.PLAIN))
        quote = '"' if " " in element.strip() else ""
        if quote:
            pieces.append(Piece(quote, plain))
        pieces.extend(
            Piece(f"[{span.text}]", Ink.HIDDEN) if span.marked else Piece(span.text, plain)
            for span in visible(element)
        )
        if quote:
            pieces.append(Piece(quote, plain))
    return tuple(pieces)


def elide(pieces: Sequence[Piece], room: int) -> tuple[Piece, ...]:
    """Cut a command line in the middle to ``room`` characters, but never its first marked piece.

    What is marked is what a person must not miss, so it stays, cut to a third of the room if it is long,
    but never so short that the name of a hidden character is cut where there is room for it.
    """
    length = sum(len(piece.text) for piece in pieces)
    if length <= room or room < 8:
        return tuple(pieces) if length <= room else _slice(pieces, 0, max(room - 1, 0), end="…")
    marked = _first_marked(pieces)
    head = (room - 1) * 3 // 5
    tail = room - 1 - head
    if marked is None or marked[1] <= head or marked[0] >= length - tail:
        return (*_slice(pieces, 0, head, end="…"), *_slice(pieces, length - tail, length))
    longest = max(room // 3, min(_HIDDEN_NAME, room - 6))
    start, stop = marked[0], min(marked[1], marked[0] + longest)
    spare = room - (stop - start) - 2
    head, tail = spare * 2 // 3, spare - spare * 2 // 3
    if start <= head + 1:
        stop_here = room - 1 - tail
        return (*_slice(pieces, 0, stop_here, end="…"), *_slice(pieces, length - tail, length))
    return (
        *_slice(pieces, 0, head, end="…"),
        *_slice(pieces, start, stop, end="…"),
        *_slice(pieces, length - tail, length),
    )


def meta_line(entry: Entry) -> str:
    """Where it would run, for which work orders, at which stage."""
    row = entry.row
    numbers = sorted({member.number for member in entry.members} or {row.number})
    orders = ", ".join(f"WO-{number}" for number in numbers[:3])
    if len(numbers) > 3:
        orders = f"{orders} and {len(numbers) - 3} more"
    return " · ".join((one_line(folder_name(row.workspace)), orders, state_word(row.purpose)))


def meta_words(row: InboxRow, times: Times) -> str:
    """The same of one request alone, with who asked."""
    return " · ".join(
        (
            folder_name(row.workspace),
            one_line(row.title),
            state_word(row.purpose),
            f"asked {times.clock(row.asked_at)} by {one_line(str(row.asked_by))}",
        )
    )


def badges(entry: Entry, times: Times) -> tuple[RowBadge, ...]:
    """What is remarkable about a row, the weightiest first."""
    if entry.gone:
        return (RowBadge(entry.end or "no longer waiting", Tone.NEUTRAL, Shape.DASH),)
    found: list[RowBadge] = []
    left = entry.expires_at - times.judging()
    if left <= 0:
        found.append(RowBadge("expired", Tone.WARN, Shape.CLOCK))
    if entry.changed:
        found.append(RowBadge("changed since asked", Tone.BAD, Shape.TRIANGLE, short="changed"))
    if 0 < left <= SOON_MS:
        found.append(RowBadge(f"expires {times.clock(entry.expires_at)}", Tone.WARN, Shape.CLOCK))
    if entry.count > 1:
        found.append(RowBadge(f"{entry.count} alike", Tone.NEUTRAL))
    return tuple(found)


def describe(entry: Entry, times: Times) -> str:
    """The whole row for a screen reader, every element of the command included (B-118)."""
    row = entry.row
    said = [badge.word for badge in badges(entry, times)]
    parts = [
        one_line(row.title),
        *said,
        f"command {' '.join(spoken(element) for element in row.argv)}",
        meta_line(entry),
        f"asked {times.age(row.asked_at)} by {row.asked_by}",
        f"expires {times.until(entry.expires_at)}",
    ]
    if entry.marks:
        parts.append(_marked_words(row, entry.marks))
    return ". ".join(parts)


def explain(entry: Entry, times: Times) -> str:
    """The row's tooltip: every element on a line of its own. Markup, since Qt guesses at plain text."""
    row = entry.row
    lines = [_clip(spoken(element)) for element in row.argv[:_TIP_LINES]]
    if len(row.argv) > _TIP_LINES:
        lines.append(f"… {len(row.argv) - _TIP_LINES} more; the card shows all")
    facts = [
        f"Workspace {row.workspace}",
        f"Asked {times.exact(row.asked_at)} by {row.asked_by}",
        f"Expires {times.exact(entry.expires_at)}",
    ]
    if entry.marks:
        facts.append(_marked_words(row, entry.marks))
    command = "<br>".join(escape(line) for line in lines)
    rest = "<br>".join(escape(fact) for fact in facts)
    return f"<p style='white-space:pre-wrap'>{command}</p><p style='white-space:pre-wrap'>{rest}</p>"


def _short_program(path: str) -> str:
    name = folder_name(path)
    plain = name != path and not any(span.marked for span in visible(path))
    return f"…/{name}" if plain and (path.startswith("/") or path[1:3] == ":\\") else path


def _marked_words(row: InboxRow, marks: frozenset[int]) -> str:
    which = ", ".join(f"{at} ({_clip(spoken(row.argv[at]), 60)})" for at in sorted(marks))
    return f"Differs from a look-alike request in argument {which}"


def _clip(text: str, length: int = _TIP_LENGTH) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _first_marked(pieces: Sequence[Piece]) -> tuple[int, int] | None:
    found: dict[Ink, tuple[int, int]] = {}
    at = 0
    for piece in pieces:
        if piece.ink is not Ink.PLAIN:
            found.setdefault(piece.ink, (at, at + len(piece.text)))
        at += len(piece.text)
    return found.get(Ink.HIDDEN) or found.get(Ink.DIFFERS)


def _slice(pieces: Sequence[Piece], start: int, stop: int, end: str = "") -> tuple[Piece, ...]:
    cut: list[Piece] = []
    at = 0
    for piece in pieces:
        first, last = max(start - at, 0), min(stop - at, len(piece.text))
        if first < last:
            cut.append(Piece(piece.text[first:last], piece.ink))
        at += len(piece.text)
    if end:
        cut.append(Piece(end, Ink.PLAIN))
    return tuple(cut)
