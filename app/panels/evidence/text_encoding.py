"""Which encoding a stream of output is in, and cutting its bytes into lines without losing any.

Bytes are only ever read here, never changed. Decoding marks what it cannot read and never raises (B-062).
Programs on Windows write in several encodings, sometimes in one stream (B-061), so the automatic choice is
made for the stream and looked at again for each line that plainly is something else.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

AUTOMATIC = "auto"
"""The choice that detects; every other choice is a codec name of `CHOICES`."""

CHOICES: tuple[tuple[str, str], ...] = (
    (AUTOMATIC, "Detect"),
    ("utf-8", "UTF-8"),
    ("utf-16-le", "UTF-16 LE"),
    ("utf-16-be", "UTF-16 BE"),
    ("cp1252", "Windows-1252 (Western)"),
    ("cp850", "CP850 (console, Western)"),
    ("cp437", "CP437 (console, US)"),
    ("cp1250", "Windows-1250 (Central Europe)"),
    ("cp852", "CP852 (console, Central Europe)"),
    ("cp1251", "Windows-1251 (Cyrillic)"),
    ("cp866", "CP866 (console, Cyrillic)"),
    ("cp936", "CP936 (Chinese)"),
    ("cp932", "CP932 (Japanese)"),
    ("latin-1", "ISO-8859-1 (Latin 1)"),
)

_NAMES = {name: label.split(" (")[0] for name, label in CHOICES}
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_HIGH_RUN = re.compile(rb"[\x80-\xff]+")
_CONSOLE_LETTER = re.compile(rb"(?<=[A-Za-z])[\x80-\x9a\xa0-\xa5\xe1](?=[A-Za-z])")
_WINDOWS_LETTER = re.compile(rb"(?<=[A-Za-z])[\xc0-\xff](?=[A-Za-z])")
_BOX = re.compile(rb"[\xb3-\xda]{3,}")
_UTF16_UNITS_NEEDED = 3


@dataclass(frozen=True, slots=True)
class Detection:
    """The encoding a stream is read in, how it was found, and whether the person chose it."""

    encoding: str
    why: str
    chosen: bool = False

    @property
    def label(self) -> str:
        """The encoding's name as a person knows it."""
        return _NAMES.get(self.encoding, self.encoding.upper())


@dataclass(frozen=True, slots=True)
class Piece:
    """One line in a block: its content is ``block[start:end]``, the next line begins at ``following``.

    ``terminated`` is false for the last piece of a block that does not end in a newline.
    """

    start: int
    end: int
    following: int
    encoding: str
    terminated: bool


def detect(head: bytes, tail: bytes = b"") -> Detection:
    """Judge a stream by its first bytes and, where it is long, its last ones.

    A byte order mark decides; then NUL bytes in every second place; then valid UTF-8; the rest is a guess
    between code pages, and said to be one.
    """
    for mark, name in _BOMS:
        if head.startswith(mark):
            return Detection(name, "byte order mark")
    for sample in (head, tail):
        wide = _wide_order(sample, minimum=0.4)
        if wide:
            return Detection(wide, "every second byte is NUL")
    sample = _whole_lines(head, tail)
    runs = _HIGH_RUN.findall(sample)
    if not runs:
        return Detection("utf-8", "plain ASCII so far")
    good = sum(1 for run in runs if _is_utf8(run))
    # Bytes of a code page hardly ever form valid UTF-8 by chance, so half of them is proof enough.
    if good * 2 >= len(runs):
        return Detection("utf-8", "reads as UTF-8")
    return Detection(_guess_code_page(sample, runs), "guessed from its bytes")


def decode(data: bytes, encoding: str, *, raw: bool = False, final: bool = True) -> str:
    """Decode bytes; what cannot be read becomes U+FFFD, or its number when ``raw``. Never raises.

    With ``final`` false a character that is not whole yet at the very end is left out.
    """
    decoder = codecs.getincrementaldecoder(encoding)(errors="backslashreplace" if raw else "replace")
    text = decoder.decode(data, final)
    return text[1:] if text.startswith("\ufeff") else text


def pieces(block: bytes, encoding: str, *, automatic: bool, origin: int = 0) -> Iterator[Piece]:
    """Cut a block that begins at a line start into lines.

    ``origin`` is the block's offset in its file (UTF-16 units stand at even offsets). With ``automatic``
    single lines may be in another encoding than the stream: 8-bit text after UTF-16, or the reverse.
    """
    wide = encoding.startswith("utf-16")
    if not automatic:
        yield from _pieces_wide(block, encoding, origin) if wide else _pieces_narrow(block, encoding)
    elif not wide and b"\0" not in block:
        yield from _pieces_narrow(block, encoding)
    else:
        yield from _pieces_mixed(block, encoding)


def line_start_after(block: bytes, encoding: str, origin: int) -> int | None:
    """Where the first whole line of a block that begins anywhere starts; None if no newline is in it."""
    wide = encoding.startswith("utf-16")
    found = block.find(b"\n")
    while found >= 0:
        after = found + 1
        if not wide:
            return after + 1 if block[after : after + 1] == b"\0" else after
        aligned = (origin + found) % 2 == (0 if encoding.endswith("le") else 1)
        if encoding.endswith("le") and aligned and block[after : after + 1] == b"\0":
            return after + 1
        if encoding.endswith("be") and aligned and found > 0 and block[found - 1] == 0:
            return after
        neighbours = block[max(found - 8, 0) : found + 9]
        if b"\0" not in neighbours:
            return after
        found = block.find(b"\n", after)
    return None


def _pieces_narrow(block: bytes, encoding: str) -> Iterator[Piece]:
    start = 0
    while (found := block.find(b"\n", start)) >= 0:
        yield Piece(start, found, found + 1, encoding, True)
        start = found + 1
    if start < len(block):
        yield Piece(start, len(block), len(block), encoding, False)


def _pieces_wide(block: bytes, encoding: str, origin: int) -> Iterator[Piece]:
    newline = "\n".encode(encoding)
    start = search = 0
    while (found := block.find(newline, search)) >= 0:
        if (origin + found) % 2:
            search = found + 1
            continue
        yield Piece(start, found, found + 2, encoding, True)
        start = search = found + 2
    if start < len(block):
        yield Piece(start, len(block), len(block), encoding, False)


def _pieces_mixed(block: bytes, encoding: str) -> Iterator[Piece]:
    stream_is_wide = encoding.startswith("utf-16")
    start = 0
    search = 0
    while (found := block.find(b"\n", search)) >= 0:
        following = block[found + 1 : found + 2]
        line = block[start:found]
        if following == b"\0" and len(line) % 2 == 0 and (_looks_wide(line, "le") or not line.strip(b"\r\n")):
            yield Piece(start, found, found + 2, "utf-16-le", True)
            start = search = found + 2
        elif len(line) % 2 == 1 and line[-1:] == b"\0" and (_looks_wide(line[:-1], "be") or len(line) == 1):
            yield Piece(start, found - 1, found + 1, "utf-16-be", True)
            start = search = found + 1
        elif stream_is_wide and _looks_wide(line, encoding[-2:]):
            search = found + 1
        elif stream_is_wide and following == b"\0" and len(line) % 2 == 0 and encoding.endswith("le"):
            yield Piece(start, found, found + 2, encoding, True)
            start = search = found + 2
        else:
            narrow = _narrow_name(line) if stream_is_wide else encoding
            yield Piece(start, found, found + 1, narrow, True)
            start = search = found + 1
    if start < len(block):
        rest = block[start:]
        wide = _wide_order(rest, minimum=0.4)
        narrow = (
            _narrow_name(rest) if stream_is_wide and b"\0" not in rest and _is_printable(rest) else encoding
        )
        yield Piece(start, len(block), len(block), wide or narrow, False)


def _whole_lines(head: bytes, tail: bytes) -> bytes:
    """Both samples without the characters that their edges may have cut."""
    if tail:
        head = head[: head.rfind(b"\n") + 1] or head
        tail = tail[tail.find(b"\n") + 1 :]
    return head + tail


def _looks_wide(line: bytes, order: str) -> bool:
    high = line[1::2] if order == "le" else line[0::2]
    low = line[0::2] if order == "le" else line[1::2]
    if not high:
        return False
    if high.count(0) * 5 >= len(high) * 2 and low.count(0) * 5 < len(low) * 2:
        return True
    return not _is_printable(line) and _is_text(line, f"utf-16-{order}")


def _wide_order(sample: bytes, *, minimum: float) -> str:
    """Which UTF-16 a sample is by where its NULs stand, or ""."""
    even = sample[0::2]
    odd = sample[1::2]
    if len(odd) < _UTF16_UNITS_NEEDED:
        return ""
    even_share = even.count(0) / len(even)
    odd_share = odd.count(0) / len(odd)
    if odd_share >= minimum and even_share < minimum / 4:
        return "utf-16-le"
    if even_share >= minimum and odd_share < minimum / 4:
        return "utf-16-be"
    return ""


def _is_printable(line: bytes) -> bool:
    return all(byte >= 0x20 or byte in (0x09, 0x0D, 0x1B, 0x08) for byte in line) and (
        sum(1 for byte in line if byte < 0x7F) * 10 >= len(line) * 8
    )


def _is_text(data: bytes, encoding: str) -> bool:
    text = data[: len(data) // 2 * 2].decode(encoding, "replace")
    return bool(text) and sum(1 for char in text if char.isprintable() or char == "\r") * 10 >= len(text) * 9


def _narrow_name(line: bytes) -> str:
    return "utf-8" if _is_utf8(line) else "cp1252"


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _guess_code_page(sample: bytes, runs: list[bytes]) -> str:
    """Choose between the code pages that programs here plausibly write, by where their letters stand."""
    paired = sum(1 for run in runs if len(run) % 2 == 0 and min(run) >= 0xA1)
    if paired * 10 >= len(runs) * 7 and _decodes(sample, "cp936"):
        return "cp936"
    high = b"".join(runs)
    if len(high) >= 3 * len(runs):
        if _share(high, lambda byte: byte >= 0xC0) >= 0.9:
            return "cp1251"
        if _share(high, lambda byte: 0x80 <= byte <= 0xAF or 0xE0 <= byte <= 0xEF) >= 0.9:
            return "cp866"
    console = len(_CONSOLE_LETTER.findall(sample)) + len(_BOX.findall(sample))
    return "cp850" if console > len(_WINDOWS_LETTER.findall(sample)) else "cp1252"


def _share(data: bytes, holds: Callable[[int], bool]) -> float:
    return sum(1 for byte in data if holds(byte)) / len(data)


def _decodes(data: bytes, encoding: str) -> bool:
    text = data.decode(encoding, "replace")
    return text.count("\ufffd") * 50 <= len(text)
