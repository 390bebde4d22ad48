"""Times as callers and agents give them: strict forms only (S-46)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.durations import LONGEST_MS, format_duration
from engine.errors import InvalidValue
from engine.instants import EARLIEST, LATEST, format_instant
from engine.wakes.times import absolute, duration, tool_time

NOW = 1_788_998_400_000


@given(st.integers(1, LONGEST_MS))
def test_durations_come_back_from_their_text(milliseconds: int) -> None:
    assert duration(format_duration(milliseconds), "in_") == milliseconds


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("3d", 259_200_000), ("12h", 43_200_000), ("90s", 90_000), ("1h30m", 5_400_000), ("250ms", 250),
     ("1d2h3m4s5ms", 93_784_005)],
)  # fmt: skip
def test_durations(text: str, milliseconds: int) -> None:
    assert duration(text, "in_") == milliseconds


@pytest.mark.parametrize(
    "value",
    ["", " ", "1", "h", "1h ", " 1h", "1 h", "30m1h", "1h1h", "-1h", "+1h", "1.5h", "1e3s", "٣h", "0s", "0h0m",
     "9999999999999h", "1w", "1y", None, 1.0, float("nan"), True, 0, -1, LONGEST_MS + 1, b"1h", timedelta(hours=1)],
)  # fmt: skip
def test_what_is_no_duration_is_refused_by_name(value: Any) -> None:
    with pytest.raises(InvalidValue, match="in_"):
        duration(value, "in_")


@given(st.integers(EARLIEST, LATEST))
def test_instants_text_and_aware_datetimes_are_the_same_moment(instant: int) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=instant)
    assert (
        absolute(instant, "at")
        == absolute(format_instant(instant), "at")
        == absolute(moment, "at")
        == instant
    )


def test_an_aware_datetime_may_have_any_zone() -> None:
    moment = datetime(2026, 9, 10, 2, tzinfo=timezone(timedelta(hours=2)))
    assert absolute(moment, "at") == NOW


@pytest.mark.parametrize(
    "value",
    ["tomorrow 9", "2026-09-10", "2026-09-10T00:00:00Z", "2026-09-10T00:00:00.000", "2026-09-10T00:00:00.000+02:00",
     "2026-02-30T00:00:00.000Z", datetime(2026, 9, 10), EARLIEST - 1, LATEST + 1, 1.5, float("inf"), True, None,
     "1788998400000"],
)  # fmt: skip
def test_what_is_no_absolute_time_is_refused_by_name(value: Any) -> None:
    with pytest.raises(InvalidValue, match="at"):
        absolute(value, "at")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("+3d", (None, 259_200_000)),
        (" +1h30m ", (None, 5_400_000)),
        ("2026-09-10T02:00:00+02:00", (NOW, None)),
        ("2026-09-10T00:00Z", (NOW, None)),
        ("2026-09-10T00:00:00.5Z", (NOW + 500, None)),
        ("2026-09-09T20:00-04:00", (NOW, None)),
        (NOW, (NOW, None)),
        (str(NOW), (NOW, None)),
    ],
)
def test_times_of_tools(value: Any, expected: tuple[int | None, int | None]) -> None:
    assert tool_time(value, NOW) == expected


@pytest.mark.parametrize(
    "value",
    ["tomorrow 9", "next week 2", "2026-03-01T10:00", "2026-03-01", "3d", "-3d", "+", "+0s", "2026-13-01T10:00Z",
     "2026-03-01T10:00+25:00", "2026-03-01 10:00Z", "", "now", 1.5, True, None, [], "1772359200"],
)  # fmt: skip
def test_s46_lenient_times_are_refused(value: Any) -> None:
    with pytest.raises(InvalidValue):
        tool_time(value, NOW)


def test_s46_the_refusal_tells_what_time_it_is() -> None:
    with pytest.raises(InvalidValue) as refusal:
        tool_time("tomorrow 9", NOW)
    assert "2026-09-10T00:00:00.000Z" in str(refusal.value)
