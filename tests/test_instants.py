"""Times as people type them (E-01: inside, one canonical text alone)."""

from __future__ import annotations

import pytest

from engine.errors import InvalidValue
from engine.instants import format_instant, parse_instant, read_typed_instant


@pytest.mark.parametrize(
    ("typed", "canonical"),
    [
        ("2026-12-01 09:30", "2026-12-01T09:30:00.000Z"),
        ("2026-12-01T09:30Z", "2026-12-01T09:30:00.000Z"),
        (" 2026-12-01t09:30z ", "2026-12-01T09:30:00.000Z"),
        ("2026-12-01 09:30:15 UTC", "2026-12-01T09:30:15.000Z"),
        ("2026-12-01T09:30:15.5Z", "2026-12-01T09:30:15.500Z"),
        ("2026-12-01T09:30:15.007Z", "2026-12-01T09:30:15.007Z"),
    ],
)
def test_what_is_left_out_is_zero_and_the_zone_is_utc(typed: str, canonical: str) -> None:
    assert format_instant(read_typed_instant(typed)) == canonical


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "2026-12-01",
        "09:30",
        "2026-13-01 09:30",
        "2026-12-01 24:00",
        "2026-12-01T09:30+02:00",
        "x",
        5,
        None,
    ],
)
def test_anything_else_is_refused(typed: object) -> None:
    with pytest.raises(InvalidValue):
        read_typed_instant(typed)


def test_what_programs_write_stays_canonical() -> None:
    with pytest.raises(InvalidValue):
        parse_instant("2026-12-01 09:30")
