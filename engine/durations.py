"""Durations and sizes as people write them: ``90s``, ``1h30m``, ``64MiB``."""

from __future__ import annotations

import re

from engine.errors import InvalidValue

LONGEST_MS = 3_660 * 86_400_000
"""Ten years: a longer limit is a mistake, and the sum of several still ends before the year 9999."""

LARGEST_BYTES = 1 << 50
"""The largest size: a limit beyond it limits nothing."""

_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1))
_DURATION = re.compile(r"\s*".join(rf"(?:([0-9]{{1,12}})\s*{unit})?" for unit, _ in _UNITS), re.ASCII)
_KIB = 1 << 10
_SIZES = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1))
_SIZE = re.compile(r"([0-9]{1,16})\s*(GiB|MiB|KiB|B)", re.ASCII)


def read_duration(value: object) -> int | None:
    """Turn ``90s``, ``5m``, ``1h30m``, ``250ms`` or a whole number of ms into ms; None for anything else.

    Zero, negatives, fractions, bools and more than ten years are None; spaces between the parts are not.
    """
    total: object = value
    if isinstance(value, str):
        match = _DURATION.fullmatch(value.strip())
        parts = match.groups() if match else ()
        total = sum(int(part or 0) * size for part, (_, size) in zip(parts, _UNITS, strict=False))
    return total if type(total) is int and 0 < total <= LONGEST_MS else None


def parse_duration(value: object) -> int:
    """Turn a duration as `read_duration` takes it into ms; `InvalidValue` for anything else."""
    total = read_duration(value)
    if total is None:
        raise InvalidValue(
            f"{_short(value)} is no duration.",
            do="Write it like 90s, 5m or 1h30m, or as whole milliseconds, above zero and up to ten years.",
        )
    return total


def format_duration(milliseconds: int) -> str:
    """Write whole milliseconds as the shortest exact text, such as ``1h30m``."""
    text, rest = "", milliseconds
    for unit, size in _UNITS:
        count, rest = divmod(rest, size)
        text += f"{count}{unit}" if count else ""
    return text or "0ms"


def parse_size(value: object) -> int:
    """Turn ``64MiB``, ``10 KiB`` or a whole number of bytes into bytes; `InvalidValue` otherwise."""
    total: object = value
    if isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        total = int(match[1]) * dict(_SIZES)[match[2]]
    if type(total) is not int or not 0 < total <= LARGEST_BYTES:
        raise InvalidValue(
            f"{_short(value)} is no size.",
            do="Write it like 64MiB, or as whole bytes, above zero and up to 1048576GiB.",
        )
    return total


def format_size(count: int) -> str:
    """Write bytes with the largest unit that is exact, such as ``64MiB``."""
    unit, size = next((unit, size) for unit, size in _SIZES if count % size == 0)
    return f"{count // size}{unit}"


def size_text(size: int) -> str:
    """A size in bytes for a glance: "812 bytes", "4.2 KiB", "1 GiB"."""
    if size < _KIB:
        return "1 byte" if size == 1 else f"{size} bytes"
    value = float(size)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        value /= _KIB
        if value < _KIB or unit == "TiB":
            break
    return f"{value:.1f}".removesuffix(".0") + f" {unit}"


def _short(value: object) -> str:
    if isinstance(value, str | int | float) and len(text := repr(value)) <= 60:
        return text
    return f"This {type(value).__name__}"
