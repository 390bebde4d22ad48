"""A bounded window of rows over one output file, read by offset (B-055, B-056).

`LogSource` belongs to one log view and is called from a worker thread, one call at a time. It never reads
more than a block per call, never holds more than `MOST_ROWS` rows, and knows where in the file its rows
begin, so that a file of any size opens at its end at once. What each call changed comes back as a `Patch`,
which the model applies to its own copy of the rows.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.panels.evidence.ansi import LogLine, Screen, incomplete_escape, strip_escapes
from app.panels.evidence.text_encoding import (
    AUTOMATIC,
    Detection,
    Piece,
    decode,
    detect,
    line_start_after,
    pieces,
)

BLOCK = 256 * 1024
"""Bytes read for one page of rows."""

MOST_ROWS = 20_000
"""Rows that a window holds at most; further ones push out rows at the other end."""

MOST_BEHIND = 4 * BLOCK
"""When more than this has been written since the last look, a follower jumps to the end."""

MOST_PARTIAL = 64 * 1024
"""Bytes of an unfinished line that are looked at again with each poll."""

MOST_COPIED = 16 * 1024 * 1024
"""Bytes that one copy reads at most."""

MOST_MATCHES = 100_000
SEARCH_BLOCK = 128 * 1024
"""Bytes that a search decodes and folds at once: nothing else of the program runs during that."""

SEARCH_STEP = 8 * SEARCH_BLOCK
"""Bytes after which a search says how far it is."""


@dataclass(frozen=True, slots=True)
class Splice:
    """Rows ``index`` to ``index + removed`` are replaced by ``lines``."""

    index: int
    removed: int
    lines: tuple[LogLine, ...]


@dataclass(frozen=True, slots=True)
class Patch:
    """What one call changed, in order, and where the window now stands in the file.

    ``fresh``: all rows before are gone, the splices begin with none.
    ``missing``: the file is not there. ``size`` is the file's size, ``begin`` and ``end`` the window's bytes.
    """

    splices: tuple[Splice, ...]
    fresh: bool
    detection: Detection
    size: int
    begin: int
    end: int
    missing: bool = False
    problem: str = ""

    @property
    def at_start(self) -> bool:
        """Whether the window begins where the file begins."""
        return self.begin == 0

    @property
    def at_end(self) -> bool:
        """Whether the window ends where the file ends."""
        return self.end >= self.size


@dataclass(frozen=True, slots=True)
class SearchStep:
    """What a search found in one more block: offsets of lines, and how far it has read."""

    offsets: tuple[int, ...]
    searched: int
    size: int


class LogSource:
    """See the module. Errors of the file come back in the patch, never as exceptions."""

    def __init__(self, path: Path, *, encoding: str = AUTOMATIC, raw: bool = False) -> None:
        self._path = path
        self._choice = encoding
        self._raw = raw
        self._detection = Detection("utf-8", "nothing read yet")
        self._lines: list[LogLine] = []
        self._begin = 0
        self._end = 0
        self._size = 0
        self._screen: Screen | None = None
        self._screen_first = 0
        self._committed = 0

    @property
    def encoding(self) -> str:
        """The encoding that the stream is read in now."""
        return self._detection.encoding

    def open_end(self) -> Patch:
        """Begin anew with the last rows of the file."""
        return self._guarded(self._open_end)

    def open_start(self) -> Patch:
        """Begin anew with the first rows of the file."""
        return self._guarded(lambda: self._open_at(0, 0))

    def open_around(self, offset: int) -> Patch:
        """Begin anew with rows before and after the line that begins at ``offset``."""
        return self._guarded(lambda: self._open_at(max(offset - BLOCK // 2, 0), offset))

    def poll(self, *, following: bool) -> Patch | None:
        """Take in what was written since; None if nothing was.

        A window that does not reach the end is only told the new size. One that is not ``following`` stops
        growing at its bound instead of pushing out what is being read.
        """
        try:
            size = self._path.stat().st_size
        except OSError:
            return None if not self._lines and not self._size else self._guarded(self._refuse)
        if size == self._size:
            return None
        if size < self._size or not self._size:
            return self.open_end()
        at_end = self._end >= self._size and self._screen is not None
        if not at_end or (not following and len(self._lines) >= MOST_ROWS):
            self._size = size
            return self._patch(())
        if following and size - self._end > MOST_BEHIND:
            return self.open_end()
        return self._guarded(lambda: self._grow(size, following))

    def earlier(self) -> Patch:
        """Put the rows before the window in front of it; rows at the end may fall out."""
        return self._guarded(self._earlier)

    def later(self) -> Patch:
        """Put the rows after the window behind it; rows at the start may fall out."""
        return self._guarded(self._later)

    def text(self, lines: Sequence[LogLine], end: int) -> str:
        """The text of neighbouring rows; if one is cut, all is read again from the file up to ``end``."""
        if not any(line.hidden for line in lines):
            return "".join(
                line.text if line.continued or not at else f"\n{line.text}" for at, line in enumerate(lines)
            )
        begin = lines[0].offset
        with self._path.open("rb") as file:
            file.seek(begin)
            block = file.read(min(end - begin, MOST_COPIED))
        whole = "\n".join(self._text(block, piece) for piece in self._pieces(block, begin))
        left = end - begin - len(block)
        return f"{whole}\n[{left:,} more bytes not copied]" if left > 0 else whole

    def search(self, needle: str, stopped: Callable[[], bool]) -> Iterator[SearchStep]:
        """Look for ``needle`` in every line of the file, letter case ignored, until done or ``stopped``."""
        wanted = needle.casefold()
        found = 0
        with self._path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            position = said = 0
            carry = b""
            gathered: list[int] = []
            while not stopped() and found < MOST_MATCHES:
                data = file.read(SEARCH_BLOCK)
                block = carry + data
                origin = position - len(carry)
                position += len(data)
                offsets, rest = self._matches(block, origin, wanted, last=not data)
                found += len(offsets)
                gathered += offsets
                if not data or position - said >= SEARCH_STEP or found >= MOST_MATCHES:
                    yield SearchStep(tuple(gathered), position, size)
                    gathered.clear()
                    said = position
                if not data:
                    return
                carry = rest
                # A search that reads on and on must leave the interpreter to the window now and then.
                time.sleep(0)

    def _matches(
        self, block: bytes, origin: int, wanted: str, *, last: bool
    ) -> tuple[tuple[int, ...], bytes]:
        if not last and len(block) < 4 * SEARCH_BLOCK:
            newline = block.rfind(b"\n")
            cut = newline + 1 if newline >= 0 else 0
            if self.encoding == "utf-16-le" and cut:
                cut += 1 if block[cut : cut + 1] == b"\0" else 0
        else:
            cut = len(block)
        body, rest = block[:cut], block[cut:]
        if b"\0" not in body and wanted not in strip_escapes(decode(body, self.encoding)).casefold():
            return (), rest
        return (
            tuple(
                origin + piece.start
                for piece in self._pieces(body, origin)
                if wanted in strip_escapes(self._text(body, piece)).casefold()
            ),
            rest,
        )

    def _guarded(self, action: Callable[[], Patch]) -> Patch:
        try:
            return action()
        except FileNotFoundError:
            return self._refuse()
        except OSError as error:
            return self._refuse(f"The file cannot be read: {error.strerror or error}.")

    def _refuse(self, problem: str = "") -> Patch:
        self._lines.clear()
        self._begin = self._end = self._size = self._committed = 0
        self._screen = None
        return self._patch((), fresh=True, missing=not problem, problem=problem)

    def _open_end(self) -> Patch:
        with self._path.open("rb") as file:
            size = self._look(file.fileno(), file.read(4096))
            begin = max(size - BLOCK, 0)
            file.seek(begin)
            block = file.read(BLOCK)
        begin, block = self._aligned(begin, block)
        return self._start(begin, block, size)

    def _open_at(self, begin: int, wanted: int) -> Patch:
        with self._path.open("rb") as file:
            size = self._look(file.fileno(), file.read(4096))
            file.seek(begin)
            block = file.read(BLOCK + wanted - begin)
        begin, block = self._aligned(begin, block, at_most=wanted - begin)
        return self._start(begin, block, size)

    def _look(self, descriptor: int, head: bytes) -> int:
        """Judge the encoding anew, and give the file's size."""
        size = os.fstat(descriptor).st_size
        if self._choice != AUTOMATIC:
            self._detection = Detection(self._choice, "chosen by you", chosen=True)
            return size
        tail = b""
        if size > 2 * 4096:
            with self._path.open("rb") as file:
                file.seek((size - 32 * 1024) // 2 * 2 if size > 64 * 1024 else 4096)
                tail = file.read(32 * 1024)
        self._detection = detect(head, tail)
        return size

    def _aligned(self, begin: int, block: bytes, *, at_most: int | None = None) -> tuple[int, bytes]:
        """Move a block's begin to the next line start, if there is one before ``at_most``."""
        if begin == 0:
            return begin, block
        skip = line_start_after(block, self.encoding, begin)
        if skip is None or skip > (len(block) - 1 if at_most is None else at_most):
            skip = begin % 2 if self.encoding.startswith("utf-16") else _inside_character(block)
        return begin + skip, block[skip:]

    def _start(self, begin: int, block: bytes, size: int) -> Patch:
        self._begin = self._end = self._committed = begin
        self._size = max(size, begin + len(block))
        self._screen = Screen(begin, raw=self._raw)
        self._screen_first = 0
        self._lines.clear()
        self._feed(block)
        splices = self._take()
        return self._patch(splices + self._trim_front(), fresh=True)

    def _grow(self, size: int, following: bool) -> Patch:
        with self._path.open("rb") as file:
            file.seek(self._committed)
            block = file.read(MOST_BEHIND + MOST_PARTIAL if following else BLOCK)
        self._size = max(size, self._committed + len(block))
        if self._detection.why.startswith(("plain", "nothing")):
            self._redetect(block)
        self._feed(block)
        splices = self._take()
        return self._patch(splices + (self._trim_front() if following else ()))

    def _redetect(self, block: bytes) -> None:
        """Only ASCII so far says nothing about what comes; the first other bytes do."""
        if self._choice == AUTOMATIC:
            found = detect(block)
            if not found.encoding.startswith("utf-16"):
                self._detection = found

    def _earlier(self) -> Patch:
        if self._begin == 0:
            return self._patch(())
        wanted = max(self._begin - BLOCK, 0)
        with self._path.open("rb") as file:
            file.seek(wanted)
            block = file.read(self._begin - wanted)
        begin, block = self._aligned(wanted, block)
        screen = Screen(begin, raw=self._raw)
        lines = self._draw(screen, block, begin)
        self._lines[:0] = lines
        self._begin = begin
        self._screen_first += len(lines)
        return self._patch((Splice(0, 0, lines), *self._trim_back()))

    def _later(self) -> Patch:
        if self._end >= self._size:
            return self._patch(())
        if self._screen is None:
            self._screen = Screen(self._end, raw=self._raw)
            self._screen_first = len(self._lines)
            self._committed = self._end
        with self._path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(self._committed)
            block = file.read(BLOCK)
        self._size = max(size, self._committed + len(block))
        self._feed(block)
        splices = self._take()
        return self._patch(splices + self._trim_front())

    def _draw(self, screen: Screen, block: bytes, origin: int) -> tuple[LogLine, ...]:
        """Rows of a block that other rows follow."""
        terminated = True
        for piece in self._pieces(block, origin):
            screen.write(self._text(block, piece))
            terminated = piece.terminated
            if terminated:
                screen.newline(origin + piece.following)
        _, lines = screen.take()
        return lines[:-1] if terminated and lines and screen.untouched else lines

    def _feed(self, block: bytes) -> None:
        """Write a block that begins at the committed offset; its unfinished line may be taken back later."""
        screen = self._screen
        assert screen is not None
        screen.rollback()
        origin = self._committed
        for piece in self._pieces(block, origin):
            if piece.terminated:
                screen.write(self._text(block, piece))
                screen.newline(origin + piece.following)
                self._committed = origin + piece.following
                continue
            rest = block[piece.start : piece.end]
            if len(rest) > MOST_PARTIAL:
                whole = _whole_part(rest, piece.encoding)
                screen.write(decode(rest[:whole], piece.encoding, raw=self._raw))
                self._committed = origin + piece.start + whole
                rest = rest[whole:]
            screen.mark()
            if origin + len(block) < self._size:
                # The rest of this line comes with the next block.
                self._end = self._committed
                return
            text = decode(rest, piece.encoding, raw=self._raw, final=False)
            screen.write(text if self._raw else text[: len(text) - incomplete_escape(text)])
            self._end = origin + len(block)
            return
        screen.mark()
        self._end = origin + len(block)

    def _take(self) -> tuple[Splice, ...]:
        """Bring the screen's changed rows into the window."""
        screen = self._screen
        assert screen is not None
        number, lines = screen.take()
        first = self._screen_first + number
        if screen.untouched and lines:
            lines = lines[:-1]
        removed = max(len(self._lines) - first, 0)
        self._lines[first:] = lines
        return (Splice(first, removed, lines),) if removed or lines else ()

    def _trim_front(self) -> tuple[Splice, ...]:
        surplus = len(self._lines) - MOST_ROWS
        if surplus <= 0:
            return ()
        del self._lines[:surplus]
        self._begin = self._lines[0].offset
        self._screen_first -= surplus
        return (Splice(0, surplus, ()),)

    def _trim_back(self) -> tuple[Splice, ...]:
        surplus = len(self._lines) - MOST_ROWS
        if surplus <= 0:
            return ()
        self._end = self._lines[MOST_ROWS].offset
        del self._lines[MOST_ROWS:]
        self._screen = None
        return (Splice(MOST_ROWS, surplus, ()),)

    def _pieces(self, block: bytes, origin: int) -> Iterator[Piece]:
        return pieces(block, self.encoding, automatic=self._choice == AUTOMATIC, origin=origin)

    def _text(self, block: bytes, piece: Piece) -> str:
        return decode(block[piece.start : piece.end], piece.encoding, raw=self._raw)

    def _patch(
        self, splices: tuple[Splice, ...], *, fresh: bool = False, missing: bool = False, problem: str = ""
    ) -> Patch:
        return Patch(splices, fresh, self._detection, self._size, self._begin, self._end, missing, problem)


def _inside_character(block: bytes) -> int:
    """How many bytes at the start continue a UTF-8 character that began before."""
    count = 0
    while count < min(3, len(block)) and 0x80 <= block[count] < 0xC0:
        count += 1
    return count


def _whole_part(data: bytes, encoding: str) -> int:
    """How much of an unfinished line can be written for good: no half character, no half escape."""
    end = len(data)
    if encoding.startswith("utf-16"):
        end -= end % 2
    elif encoding == "utf-8":
        back = end
        while back > 0 and end - back < 3 and 0x80 <= data[back - 1] < 0xC0:
            back -= 1
        if back > 0 and data[back - 1] >= 0xC0:
            end = back - 1
    escape = data.rfind(b"\x1b", max(end - 256, 0), end)
    return escape if escape > 0 else end
