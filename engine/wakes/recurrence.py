"""Recurrence: the grid of a series, as pure functions of instants.

A grid never depends on when anything fired. `Every` is a fixed UTC grid of equal steps. `Cron` is a five-field
expression in an IANA time zone, with this rule for days on which the clocks change:

- A fixed local time that does not exist fires at the first instant after the gap.
- A fixed local time that occurs twice fires once, the first time.
- Interval-like expressions (every hour, or minutes in steps) fire at every real occurrence and no other.

The expression is read and its days are matched by the cronsim library; the mapping of local times to instants
is ours, since it must also hold for gaps of a whole day and for jumping over many occurrences at once.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from typing import Protocol
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from engine.durations import format_duration
from engine.errors import InvalidValue
from engine.instants import EARLIEST, LATEST, Instant, format_instant

YEARS_SEARCHED = 50
"""An expression that matches no day within so many years matches never."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_DAY = timedelta(days=1)
_MARGIN = timedelta(days=2)
_MINUTE_MS = 60_000
_DAYS_KEPT = 16


class Mark(StrEnum):
    """What is special about an occurrence on a day whose clocks change."""

    MOVED = "moved"
    FIRST_OF_TWO = "first of two"
    SECOND_OF_TWO = "second of two"
    CHANGED_DAY = "clocks change"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One coming occurrence: its instant, its UTC and local text, and what is special about it."""

    at: Instant
    utc: str
    local: str
    mark: Mark | None = None


class Rule(Protocol):
    """The grid of a series."""

    def after(self, instant: Instant) -> Instant | None:
        """The first occurrence strictly later; None if there is none."""

    def newest(self, upto: Instant, number: int = 1) -> Instant | None:
        """The newest occurrence at or before ``upto``, or the ``number``-th newest; None if there is none."""

    def count(self, after: Instant, upto: Instant) -> int:
        """How many occurrences lie after ``after`` and not later than ``upto``."""

    def shortest_period(self) -> int:
        """The least distance of two neighbouring occurrences, in milliseconds."""

    def occurrence(self, instant: Instant) -> Occurrence:
        """Show one occurrence of this grid."""

    def to_json(self) -> dict[str, object]:
        """The rule as it is stored."""


@dataclass(frozen=True, slots=True)
class Every:
    """A fixed UTC grid: ``anchor`` plus any whole number of ``period_ms``."""

    period_ms: int
    anchor: Instant

    def after(self, instant: Instant) -> Instant | None:
        """The first grid point strictly later."""
        point = instant - (instant - self.anchor) % self.period_ms + self.period_ms
        return point if point <= LATEST else None

    def newest(self, upto: Instant, number: int = 1) -> Instant | None:
        """The ``number``-th newest grid point at or before ``upto``."""
        point = upto - (upto - self.anchor) % self.period_ms - (number - 1) * self.period_ms
        return point if point >= EARLIEST else None

    def count(self, after: Instant, upto: Instant) -> int:
        """How many grid points lie in (after, upto]."""
        return max(0, (upto - self.anchor) // self.period_ms - (after - self.anchor) // self.period_ms)

    def shortest_period(self) -> int:
        """The period."""
        return self.period_ms

    def occurrence(self, instant: Instant) -> Occurrence:
        """A grid point; UTC has no days on which clocks change."""
        return Occurrence(instant, format_instant(instant), format_instant(instant))

    def to_json(self) -> dict[str, object]:
        """The rule as it is stored."""
        return {"every": self.period_ms, "anchor": self.anchor}

    def __str__(self) -> str:
        return f"every {format_duration(self.period_ms)}"


class Cron:
    """A five-field cron expression in an IANA time zone; make it with `cron`."""

    def __init__(self, expression: str, zone: str) -> None:
        self.expression = " ".join(expression.split())
        self.zone = zone
        self._zone = _zone(zone)
        fields = _Fields(self.expression)
        minute, hour = self.expression.split()[:2]
        self._fields = fields
        self._interval_like = (
            minute.startswith("*") or "/" in minute or len(fields.hours) == 24 or hour[0] == "*"
        )
        self._minutes = sorted(hour * 60 + minute for hour in fields.hours for minute in fields.minutes)
        # Rules are shared by threads, which an lru_cache allows.
        self._instants = lru_cache(maxsize=_DAYS_KEPT)(self._reckon_day)

    def after(self, instant: Instant) -> Instant | None:
        """The first occurrence strictly later; None if there is none within `YEARS_SEARCHED` years."""
        found: Instant | None = None
        last: date | None = None
        for day in self._matching(_local(instant, self._zone).date() - _MARGIN, 1):
            # A day whose clocks go back over midnight may hold an earlier occurrence than the day before it.
            if last is not None and day > last + _MARGIN:
                break
            instants = self._instants(day)
            place = bisect_right(instants, instant)
            if place < len(instants):
                found = instants[place] if found is None else min(found, instants[place])
                last = last or day
        return found

    def newest(self, upto: Instant, number: int = 1) -> Instant | None:
        """The ``number``-th newest occurrence at or before ``upto``."""
        found: set[Instant] = set()
        last: date | None = None
        for day in self._matching(_local(upto, self._zone).date() + _MARGIN, -1):
            if last is not None and day < last - _MARGIN:
                break
            found.update(instant for instant in self._instants(day) if instant <= upto)
            if len(found) >= number:
                last = last or day
        return sorted(found)[-number] if len(found) >= number else None

    def count(self, after: Instant, upto: Instant) -> int:
        """How many occurrences lie in (after, upto]; days without a change are counted, not walked."""
        first = _local(after, self._zone).date() + _MARGIN
        last = _local(upto, self._zone).date() - _MARGIN
        whole_days = 0
        single: set[Instant] = set()
        for day in self._matching(first - 2 * _MARGIN, 1):
            if day > last + 2 * _MARGIN:
                break
            if first < day < last and self._start_of_plain_day(day) is not None:
                whole_days += len(self._minutes)
            else:
                single.update(instant for instant in self._instants(day) if after < instant <= upto)
        return whole_days + len(single)

    def shortest_period(self) -> int:
        """The least distance of two times of a day, the next day's first included."""
        times = [*self._minutes, self._minutes[0] + 24 * 60]
        return min(later - earlier for earlier, later in pairwise(times)) * _MINUTE_MS

    def occurrence(self, instant: Instant) -> Occurrence:
        """Show one occurrence with its local time and what is special about its day."""
        local = _local(instant, self._zone)
        wall = local.replace(tzinfo=None)
        mark = None
        if (
            not self._fields.match_day(wall.date())
            or wall.hour * 60 + wall.minute not in self._minutes
            or wall.second
        ):
            mark = Mark.MOVED
        elif local.fold:
            mark = Mark.SECOND_OF_TWO
        elif len(self._real(wall)) == 2:
            mark = Mark.FIRST_OF_TWO
        elif self._offset(wall.date()) != self._offset(wall.date() + _DAY):
            mark = Mark.CHANGED_DAY
        return Occurrence(instant, format_instant(instant), local.isoformat(timespec="minutes"), mark)

    def to_json(self) -> dict[str, object]:
        """The rule as it is stored."""
        return {"cron": self.expression, "zone": self.zone}

    def __str__(self) -> str:
        return f"cron {self.expression} ({self.zone})"

    def _matching(self, start: date, step: int) -> Iterator[date]:
        """Give the local days that match, from ``start`` on, forwards or backwards."""
        day = start
        try:
            end = start.year + step * YEARS_SEARCHED
            while (end - day.year) * step >= 0:
                if day.month not in self._fields.months:
                    day = _other_month(day, step)
                    continue
                if self._fields.match_month_day(day):
                    yield day
                day += step * _DAY
        except (OverflowError, ValueError):  # beyond the years 0001 to 9999 there is nothing
            return

    def _reckon_day(self, day: date) -> list[Instant]:
        """All occurrences whose local day is ``day``, or that were moved out of a gap in it, in order."""
        start = self._start_of_plain_day(day)
        if start is not None:
            instants = [start + minute * _MINUTE_MS for minute in self._minutes]
        else:
            midnight = datetime(day.year, day.month, day.day)
            found: set[Instant] = set()
            for minute in self._minutes:
                wall = midnight + timedelta(minutes=minute)
                real = self._real(wall)
                if self._interval_like:
                    found.update(real)
                else:
                    found.add(min(real) if real else self._end_of_gap(wall))
            instants = sorted(found)
        return [instant for instant in instants if EARLIEST <= instant <= LATEST]

    def _start_of_plain_day(self, day: date) -> Instant | None:
        """The instant at which a day begins if no clock changes on it or near it; None otherwise."""
        try:
            offset = self._offset(day)
            if any(self._offset(day + days * _DAY) != offset for days in (-1, 1, 2)):
                return None
            midnight = datetime(day.year, day.month, day.day, tzinfo=UTC) - offset
        except (OverflowError, ValueError):
            return None
        return (midnight - _EPOCH) // _MILLISECOND

    def _offset(self, day: date) -> timedelta:
        return _offset(datetime(day.year, day.month, day.day, tzinfo=self._zone))

    def _real(self, wall: datetime) -> list[Instant]:
        """The instants at which the local clock really shows ``wall``: none in a gap, two in an overlap."""
        found = []
        for fold in (0, 1):
            try:
                instant = (wall.replace(tzinfo=self._zone, fold=fold) - _EPOCH) // _MILLISECOND
            except OverflowError:
                continue
            if instant not in found and _local(instant, self._zone).replace(tzinfo=None) == wall:
                found.append(instant)
        return found

    def _end_of_gap(self, wall: datetime) -> Instant:
        """The first instant after the gap that swallows ``wall``."""
        # With the offset of after the gap the time lies before it, with that of before the gap behind it.
        after = _offset(wall.replace(tzinfo=self._zone, fold=1))
        low = (wall.replace(tzinfo=self._zone, fold=1) - _EPOCH) // timedelta(seconds=1)
        high = (wall.replace(tzinfo=self._zone, fold=0) - _EPOCH) // timedelta(seconds=1)
        while high - low > 1:
            middle = (low + high) // 2
            if _offset(_local(middle * 1000, self._zone)) == after:
                high = middle
            else:
                low = middle
        return high * 1000


class _Fields:
    """What cronsim read of an expression."""

    def __init__(self, expression: str) -> None:
        parts = expression.split()
        try:
            if len(parts) != 5:
                raise CronSimError(f"{len(parts)} field{'' if len(parts) == 1 else 's'} instead of five")
            parsed = CronSim(expression, datetime(2000, 1, 1))
        except (CronSimError, ValueError) as error:
            raise InvalidValue(
                f"{expression!r} is not a cron expression: {error}.",
                do="Write five fields: minute, hour, day of month, month, day of week.",
            ) from error
        self.hours = parsed.hours
        self.minutes = parsed.minutes
        self.months = parsed.months
        self.match_month_day = parsed.match_day

    def match_day(self, day: date) -> bool:
        """Whether a day matches month, day of month and day of week."""
        return day.month in self.months and self.match_month_day(day)


@lru_cache(maxsize=512)
def cron(expression: str, zone: str = "UTC") -> Cron:
    """Read a cron expression; `InvalidValue` if it, or the zone, is not one, or if it never matches."""
    rule = Cron(expression, zone)
    if next(rule._matching(date(2000, 1, 1), 1), None) is None:  # noqa: SLF001 - its own maker
        raise InvalidValue(f"{expression!r} matches no day that exists.", do="Look at its day and month.")
    return rule


def rule_from_json(text: str) -> Rule:
    """Read a stored rule; `InvalidValue` if it no longer can be understood, such as a zone that is gone."""
    value = json.loads(text)
    if "cron" in value:
        return cron(value["cron"], value["zone"])
    return Every(value["every"], value["anchor"])


def preview(rule: Rule, after: Instant, number: int, until: Instant | None = None) -> tuple[Occurrence, ...]:
    """List the next ``number`` occurrences after an instant, none later than ``until``."""
    found: list[Occurrence] = []
    while len(found) < number:
        following = rule.after(after)
        if following is None or (until is not None and following > until):
            break
        found.append(rule.occurrence(following))
        after = following
    return tuple(found)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError, TypeError) as error:
        raise InvalidValue(
            f"{name!r} is not a time zone.", do="Give an IANA name, such as Europe/Berlin or UTC."
        ) from error


def _local(instant: Instant, zone: ZoneInfo) -> datetime:
    return (_EPOCH + timedelta(milliseconds=instant)).astimezone(zone)


def _offset(moment: datetime) -> timedelta:
    offset = moment.utcoffset()
    assert offset is not None
    return offset


def _other_month(day: date, step: int) -> date:
    first = day.replace(day=1)
    return (first + 32 * _DAY).replace(day=1) if step > 0 else first - _DAY
