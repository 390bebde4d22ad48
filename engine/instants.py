"""Instants and durations: how the engine speaks of time (E-01, E-03).

Inside, an instant is an ``int`` of milliseconds since 1970-01-01 UTC. At every boundary it is canonical UTC
text with exactly three fractional digits, ``2026-09-10T00:00:00.000Z``, and nothing else is accepted.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from engine.errors import InvalidValue

Instant: TypeAlias = int
"""Milliseconds since the Unix epoch, UTC; negative before 1970."""

_CANONICAL = re.compile(r"(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})\.(\d{3})Z", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

EARLIEST: Instant = (datetime(1, 1, 1, tzinfo=UTC) - _EPOCH) // _MILLISECOND
LATEST: Instant = (datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=UTC) - _EPOCH) // _MILLISECOND


def parse_instant(text: object) -> Instant:
    """Turn canonical UTC text into an instant.

    Offsets, missing or extra fractional digits, invalid dates, leap seconds and years outside 0001-9999
    raise `InvalidValue`, which names the text and the right form.
    """
    match = _CANONICAL.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise InvalidValue(
            f"{text!r} is not a canonical UTC time.",
            do="Write it like 2026-09-10T00:00:00.000Z: UTC, exactly three digits of milliseconds.",
        )
    year, month, day, hour, minute, second, milli = (int(part) for part in match.groups())
    try:
        moment = datetime(year, month, day, hour, minute, second, milli * 1000, tzinfo=UTC)
    except ValueError as error:
        raise InvalidValue(
            f"{text!r} is not a time that exists: {error}.",
            do="Use a real date of the years 0001 to 9999 and a time from 00:00:00 to 23:59:59.",
        ) from error
    return (moment - _EPOCH) // _MILLISECOND


def format_instant(instant: Instant) -> str:
    """Give the canonical UTC text of an instant; `InvalidValue` outside the years 0001-9999."""
    moment = _EPOCH + timedelta(milliseconds=require_instant(instant, "instant"))
    return f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def require_instant(value: object, name: str) -> Instant:
    """Return ``value`` if it is a whole number of milliseconds within the years 0001-9999."""
    if type(value) is not int or not EARLIEST <= value <= LATEST:
        raise InvalidValue(
            f"{name} {value!r} is not an instant.",
            do="Give whole milliseconds since 1970 UTC, within the years 0001 to 9999.",
        )
    return value


def require_duration(value: object, name: str) -> int:
    """Return ``value`` if it is a positive whole number of milliseconds.

    Zero, negatives, fractions, NaN, infinities and bools raise `InvalidValue`; nothing is clamped (E-03).
    """
    return _require_positive(value, name, "a positive whole number of milliseconds")


def require_batch(value: object, name: str = "limit") -> int:
    """Return ``value`` if it is a positive whole number of rows; there is no upper bound (E-03)."""
    return _require_positive(value, name, "a positive whole number of rows")


def add_duration(instant: Instant, duration: int, name: str = "duration") -> Instant:
    """Add a positive duration; the result must not pass the year 9999 (E-03)."""
    end = require_instant(instant, "instant") + require_duration(duration, name)
    if end > LATEST:
        raise InvalidValue(
            f"{name} of {duration} ms ends after the year 9999.", do="Give a shorter duration."
        )
    return end


def _require_positive(value: object, name: str, form: str) -> int:
    if type(value) is not int or value <= 0:
        raise InvalidValue(f"{name} {value!r} is not {form}.", do=f"Give {form}, such as 100.")
    return value
