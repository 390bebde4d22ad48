"""Times as callers give them: one strict form each, refused before anything else is looked at.

An absolute time is canonical UTC text, an aware ``datetime``, or whole epoch milliseconds. A duration is text
such as ``3d``, ``12h``, ``90s`` or ``1h30m``, or whole milliseconds. Everything else is an `InvalidValue`:
fractions, NaN, infinities, bools, naive datetimes, zero and negative durations.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from engine.durations import read_duration
from engine.errors import InvalidValue
from engine.instants import Instant, format_instant, parse_instant, require_instant

TimeText: TypeAlias = str | datetime | Instant
"""An absolute time as a caller gives it."""

Duration: TypeAlias = str | int
"""A duration as a caller gives it: text such as ``1h30m``, or whole milliseconds."""

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_TOOL_TIME = re.compile(
    r"(\d{4}-\d{2}-\d{2}T\d{2}:\d{2})(:\d{2})?(?:\.(\d{1,3}))?(Z|[+-]\d{2}:\d{2})", re.ASCII
)
_EPOCH_TEXT = re.compile(r"\d{12,15}", re.ASCII)


def absolute(value: object, name: str) -> Instant:
    """Turn an absolute time into an instant; ``name`` is the field that a refusal names."""
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise InvalidValue(
                f"{name} {value.isoformat()} has no time zone.", do="Give an aware datetime, or UTC text."
            )
        return (value - _EPOCH) // _MILLISECOND
    if isinstance(value, str):
        try:
            return parse_instant(value)
        except InvalidValue as error:
            raise InvalidValue(f"{name}: {error.what}", do=error.do) from error
    return require_instant(value, name)


def duration(value: object, name: str) -> int:
    """Turn a duration into whole milliseconds; ``name`` is the field that a refusal names."""
    spaced = isinstance(value, str) and value.split() != [value]
    total = None if spaced else read_duration(value)
    if total is None:
        raise InvalidValue(
            f"{name} {value!r} is not a duration.",
            do="Write it like 90s, 12h, 3d or 1h30m, or as whole milliseconds: above zero, at most ten years.",
        )
    return total


def tool_time(value: object, now: Instant) -> tuple[Instant | None, int | None]:
    """Read a time as an agent gives it: ``+3d``, ISO 8601 with an offset, or epoch milliseconds.

    Gives either an instant or a duration from now. Free text, times without a zone and everything lenient are
    refused with the present time in the message, so that the agent can reckon anew.
    """
    if isinstance(value, str):
        text = value.strip()
        if text.startswith("+"):
            return None, duration(text[1:], "when")
        if _EPOCH_TEXT.fullmatch(text):
            return require_instant(int(text), "when"), None
        if match := _TOOL_TIME.fullmatch(text):
            minute, second, fraction, offset = match.groups()
            try:
                moment = datetime.fromisoformat(
                    f"{minute}{second or ':00'}.{(fraction or '').ljust(3, '0')}{offset}"
                )
                return require_instant((moment - _EPOCH) // _MILLISECOND, "when"), None
            except (ValueError, OverflowError):
                pass
    elif type(value) is int:
        return require_instant(value, "when"), None
    raise InvalidValue(
        f"{value!r} is not a time.",
        do="Write +3d, an ISO time with its offset such as 2026-03-01T10:00:00+01:00, or epoch milliseconds."
        f" It is {format_instant(now)} now.",
    )
