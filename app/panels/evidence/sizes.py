"""Sizes of files as people read them."""

from __future__ import annotations

_UNITS = ("kB", "MB", "GB", "TB")


def size_text(size: int) -> str:
    """A number of bytes: "512 bytes", "1.4 MB", "700 MB"; three digits say enough."""
    if size < 1000:
        return "1 byte" if size == 1 else f"{size} bytes"
    value = float(size)
    for unit in _UNITS:
        value /= 1000
        if value < 999.5 or unit == _UNITS[-1]:
            break
    return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"
