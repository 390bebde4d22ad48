import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.durations import (
    LONGEST_MS,
    format_duration,
    format_size,
    parse_duration,
    parse_size,
)
from engine.errors import InvalidValue


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("90s", 90_000),
        ("5m", 300_000),
        ("1h30m", 5_400_000),
        ("1h 30m", 5_400_000),
        (" 2d ", 172_800_000),
        ("250ms", 250),
        ("1m1ms", 60_001),
        ("1d2h3m4s5ms", 93_784_005),
        (1, 1),
        (LONGEST_MS, LONGEST_MS),
    ],
)
def test_durations_are_read(text, milliseconds):
    assert parse_duration(text) == milliseconds


@pytest.mark.parametrize(
    "value",
    ["", " ", "90", "s", "1.5h", "-5m", "5 minutes", "30m1h", "1h1h", "0s", "１s", "9" * 40 + "d", "5M",
     0, -1, True, 1.0, float("nan"), float("inf"), None, [], LONGEST_MS + 1, "4000d", b"5m"],
)  # fmt: skip
def test_e03_what_is_no_duration_is_refused_and_never_clamped(value):
    with pytest.raises(InvalidValue) as caught:
        parse_duration(value)
    assert "1h30m" in caught.value.do


@given(st.integers(1, LONGEST_MS))
def test_durations_survive_being_written(milliseconds):
    assert parse_duration(format_duration(milliseconds)) == milliseconds


def test_durations_are_written_shortly():
    assert format_duration(5_400_000) == "1h30m"
    assert format_duration(86_400_000) == "1d"
    assert format_duration(0) == "0ms"


@pytest.mark.parametrize(("text", "count"), [("64MiB", 64 << 20), ("1 GiB", 1 << 30), ("10B", 10), (7, 7)])
def test_sizes_are_read(text, count):
    assert parse_size(text) == count


@pytest.mark.parametrize("value", ["", "64", "64MB", "1.5GiB", "0B", 0, True, 1.0, None, 1 << 60, "-1B"])
def test_what_is_no_size_is_refused(value):
    with pytest.raises(InvalidValue):
        parse_size(value)


@given(st.integers(1, 1 << 50))
def test_sizes_survive_being_written(count):
    assert parse_size(format_size(count)) == count
