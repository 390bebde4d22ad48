"""Reading a part of what a command wrote, for those who must not see secrets: bounded, and masked."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from engine.dispatch.environment import SHORTEST_MASKED
from engine.errors import InvalidValue, NotFound

LARGEST_PART = 64 << 10
"""The most bytes that are read at once."""


@dataclass(frozen=True, slots=True)
class OutputPart:
    """A part of a file: ``text`` are the bytes from ``offset`` to ``end`` of ``size``, as text.

    What is not UTF-8 is written as an escape. ``masked`` secrets in it were replaced by as many asterisks.
    """

    text: str
    offset: int
    end: int
    size: int
    masked: int


def read_part(path: Path, offset: int, limit: int, secrets: Iterable[str]) -> OutputPart:
    """Read at most ``limit`` bytes from ``offset``, with every value of ``secrets`` masked.

    Values shorter than `SHORTEST_MASKED` are not masked (B-124). One that lies across an edge of the part is
    masked as well. Blocks; call it in a thread. Raises `NotFound` if the file is not there.
    """
    if type(offset) is not int or offset < 0:
        raise InvalidValue(f"offset {offset!r} is not a whole number from 0.")
    if type(limit) is not int or not 0 < limit <= LARGEST_PART:
        raise InvalidValue(f"limit {limit!r} is not a whole number from 1 to {LARGEST_PART}.")
    values = sorted(
        {value.encode("utf-8", "surrogateescape") for value in secrets if len(value) >= SHORTEST_MASKED},
        key=len,
        reverse=True,
    )
    around = len(values[0]) - 1 if values else 0
    begin = max(0, offset - around)
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(begin)
            content = file.read(offset - begin + limit + around)
    except OSError as error:
        raise NotFound(
            "The file is missing or cannot be read.",
            means="It was there once, or nothing was written yet.",
            do="If the attempt has ended, look for it in a backup.",
        ) from error
    masked = 0
    for value in values:
        masked += content.count(value)
        content = content.replace(value, b"*" * len(value))
    part = content[offset - begin : offset - begin + limit]
    return OutputPart(
        part.decode("utf-8", "backslashreplace"),
        offset,
        offset + len(part),
        max(size, offset + len(part)),
        masked,
    )
