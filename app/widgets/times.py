"""Times as people read them: local zone or UTC, always with the exact UTC at hand; ages never negative."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum

from PySide6.QtCore import QObject, QTimer, Signal

from engine.errors import InvalidValue
from engine.instants import EARLIEST, Instant, format_instant, parse_instant

_INSTANT = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_TYPED = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND, _MINUTE, _HOUR, _DAY = 1000, 60_000, 3_600_000, 86_400_000


class Zone(StrEnum):
    """In which zone times are written."""

    LOCAL = "local"
    UTC = "utc"


def duration_text(milliseconds: int) -> str:
    """A length of time in at most two units: "850 ms", "42 s", "7 h 42 min", "3 d 4 h"; never negative."""
    value = max(milliseconds, 0)
    if value < _SECOND:
        return f"{value} ms"
    for size, unit, lower, lower_unit in (
        (_DAY, "d", _HOUR, "h"),
        (_HOUR, "h", _MINUTE, "min"),
        (_MINUTE, "min", _SECOND, "s"),
    ):
        if value >= size:
            rest = value % size // lower
            return f"{value // size} {unit}" + (f" {rest} {lower_unit}" if rest else "")
    return f"{value // _SECOND} s"


def age_text(milliseconds: int) -> str:
    """How long ago in one unit: "just now", "14 min ago", "2 h ago", "3 d ago"; a future instant is now."""
    if milliseconds < 5 * _SECOND:
        return "just now"
    return f"{_one_unit(milliseconds)} ago"


def until_text(milliseconds: int) -> str:
    """How long until in one unit, rounded down: "in 14 min"; what has passed is "now"."""
    return "now" if milliseconds < _SECOND else f"in {_one_unit(milliseconds)}"


def _one_unit(milliseconds: int) -> str:
    for size, unit in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if milliseconds >= size:
            return f"{milliseconds // size} {unit}"
    return f"{milliseconds // _SECOND} s"


class Times(QObject):
    """Writes instants for the console.

    ``ticked`` comes once a second so that ages move on, ``changed`` when the zone setting changes. ``now`` is
    the engine's clock; ``local`` overrides the machine's zone (tests).
    """

    ticked = Signal()
    changed = Signal()

    def __init__(
        self,
        now: Callable[[], Instant],
        zone: Zone = Zone.LOCAL,
        *,
        local: tzinfo | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.now = now
        self.trusted = True
        self._zone = zone
        self._local = local
        self._timer = QTimer(self, interval=1000)
        self._timer.timeout.connect(self.ticked)
        self._timer.start()

    @property
    def zone(self) -> Zone:
        """The zone times are written in."""
        return self._zone

    def set_zone(self, zone: Zone) -> None:
        """Write times in ``zone`` from now on."""
        if zone is not self._zone:
            self._zone = zone
            self.changed.emit()

    def zone_name(self) -> str:
        """The zone as an offset, "UTC" or "UTC+02:00", as it is at this moment."""
        return _offset(self._place(self.now()))

    def stamp(self, instant: Instant, *, seconds: bool = False) -> str:
        """A short time: "today 03:00", "yesterday 17:20", "3 Sep 14:05", with the year if it is another."""
        moment, present = self._place(instant), self._place(self.now())
        clock = f"{moment:%H:%M:%S}" if seconds else f"{moment:%H:%M}"
        days = (present.date() - moment.date()).days
        if days in _NEAR_DAYS:
            return f"{_NEAR_DAYS[days]} {clock}"
        day = f"{moment.day} {_MONTHS[moment.month - 1]}"
        return f"{day} {clock}" if moment.year == present.year else f"{day} {moment.year:04d} {clock}"

    def typed(self, text: str) -> str:
        """What a person typed as date and time of day in the zone in force, as canonical text of the engine (E-01).

        "2026-09-10 08:00" and "2026-09-10 08:00:30" are read so, also with a T between. Anything else comes back as
        it is, for the engine to judge; a time that the clocks jump over is taken as they went on.
        """
        try:
            moment = datetime.fromisoformat(text) if _TYPED.fullmatch(text) else None
            if moment is None:
                return text
            zone = UTC if self._zone is Zone.UTC else self._local
            placed = moment.replace(tzinfo=zone) if zone is not None else moment.astimezone()
            return format_instant((placed - _EPOCH) // timedelta(milliseconds=1))
        except (InvalidValue, OSError, OverflowError, ValueError):
            return text

    def judging(self) -> Instant:
        """The instant by which it is judged what has expired: now, or none while the clock is distrusted (E-32)."""
        return self.now() if self.trusted else EARLIEST

    def sentence(self, text: str) -> str:
        """What the engine says, with each instant in it as a person reads it: "Waits until today 18:37."."""
        return _INSTANT.sub(self._read, text)

    def _read(self, found: re.Match[str]) -> str:
        try:
            return self.stamp(parse_instant(found[0]))
        except InvalidValue:
            return found[0]

    def clock(self, instant: Instant) -> str:
        """The time of day alone if it is today ("12:40"), else `stamp`."""
        moment, present = self._place(instant), self._place(self.now())
        return f"{moment:%H:%M}" if moment.date() == present.date() else self.stamp(instant)

    def exact(self, instant: Instant) -> str:
        """Date, time to the millisecond and zone, for tooltips, details and copying; UTC beside local."""
        moment = self._place(instant)
        utc = format_instant(instant)
        if self._zone is Zone.UTC or not moment.utcoffset():
            return utc
        milli = moment.microsecond // 1000
        return f"{moment.year:04d}-{moment:%m-%d %H:%M:%S}.{milli:03d} {_offset(moment)} · {utc}"

    def age(self, instant: Instant) -> str:
        """How long ago; never negative."""
        return age_text(self.now() - instant)

    def until(self, instant: Instant) -> str:
        """How long until; never negative."""
        return until_text(instant - self.now())

    def moment(self, instant: Instant) -> datetime:
        """The instant in the zone that times are written in, for axes and calendars."""
        return self._place(instant)

    def _place(self, instant: Instant) -> datetime:
        moment = _EPOCH + timedelta(milliseconds=instant)
        if self._zone is Zone.UTC:
            return moment
        try:
            return moment.astimezone(self._local)
        except (OSError, OverflowError, ValueError):
            # Windows knows no local zone before 1970, and no platform beyond the year 9999.
            return moment


_NEAR_DAYS = {0: "today", 1: "yesterday", -1: "tomorrow"}
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _offset(moment: datetime) -> str:
    minutes = int((moment.utcoffset() or timedelta()).total_seconds()) // 60
    if minutes == 0:
        return "UTC"
    sign = "+" if minutes > 0 else "-"
    return f"UTC{sign}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
