"""Times: the local day is the day (B-112), the exact UTC is at hand, no age is negative (B-113)."""

from __future__ import annotations

from datetime import timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytestqt.qtbot import QtBot

from app.widgets.labels import AgeLabel
from app.widgets.times import Times, Zone, age_text, duration_text, until_text
from engine.clock import ManualClock
from engine.instants import EARLIEST, LATEST, parse_instant

PLUS_TWO = timezone(timedelta(hours=2))
MINUS_HALF = timezone(timedelta(hours=-3, minutes=-30))


def times_at(text: str, local: timezone = PLUS_TWO, zone: Zone = Zone.LOCAL) -> Times:
    now = parse_instant(text)
    return Times(lambda: now, zone, local=local)


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0 ms"),
        (850, "850 ms"),
        (42_000, "42 s"),
        (60_000, "1 min"),
        (300_500, "5 min"),
        (27_720_000, "7 h 42 min"),
        (90_000_000, "1 d 1 h"),
        (-5, "0 ms"),
    ],
)
def test_durations(milliseconds: int, text: str) -> None:
    assert duration_text(milliseconds) == text


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (-3_600_000, "just now"),
        (0, "just now"),
        (30_000, "30 s ago"),
        (840_000, "14 min ago"),
        (7_300_000, "2 h ago"),
    ],
)
def test_ages_are_never_negative(milliseconds: int, text: str) -> None:
    assert age_text(milliseconds) == text


def test_until() -> None:
    assert until_text(840_000) == "in 14 min"
    assert until_text(-1) == "now"


def test_a_run_after_local_midnight_belongs_to_the_local_day() -> None:
    times = times_at("2026-09-10T09:00:00.000Z")
    assert times.stamp(parse_instant("2026-09-09T23:00:00.000Z")) == "today 01:00"
    assert times.stamp(parse_instant("2026-09-09T21:00:00.000Z")) == "yesterday 23:00"


def test_stamps() -> None:
    times = times_at("2026-09-10T09:00:00.000Z")
    assert times.stamp(parse_instant("2026-09-11T01:00:00.000Z")) == "tomorrow 03:00"
    assert times.stamp(parse_instant("2026-09-03T12:05:00.000Z")) == "3 Sep 14:05"
    assert times.stamp(parse_instant("2025-12-31T22:30:00.000Z")) == "1 Jan 00:30"
    assert times.stamp(parse_instant("2025-12-31T21:30:00.000Z")) == "31 Dec 2025 23:30"
    assert times.stamp(parse_instant("2026-09-10T08:00:07.000Z"), seconds=True) == "today 10:00:07"
    assert times.clock(parse_instant("2026-09-10T10:40:00.000Z")) == "12:40"
    assert times.clock(parse_instant("2026-09-12T10:40:00.000Z")) == "12 Sep 12:40"


def test_exact_has_both_zones() -> None:
    at = parse_instant("2026-09-10T10:40:05.007Z")
    times = times_at("2026-09-10T09:00:00.000Z")
    assert times.exact(at) == "2026-09-10 12:40:05.007 UTC+02:00 · 2026-09-10T10:40:05.007Z"
    times.set_zone(Zone.UTC)
    assert times.exact(at) == "2026-09-10T10:40:05.007Z"
    assert times.zone_name() == "UTC"


def test_zone_names() -> None:
    assert times_at("2026-09-10T09:00:00.000Z").zone_name() == "UTC+02:00"
    assert times_at("2026-09-10T09:00:00.000Z", MINUS_HALF).zone_name() == "UTC-03:30"


def test_changing_the_zone_is_told_once(qtbot: QtBot) -> None:
    times = times_at("2026-09-10T09:00:00.000Z")
    with qtbot.waitSignal(times.changed):
        times.set_zone(Zone.UTC)
    with qtbot.assertNotEmitted(times.changed):
        times.set_zone(Zone.UTC)


@given(st.integers(EARLIEST, LATEST))
def test_every_instant_can_be_written(instant: int) -> None:
    for times in (times_at("2026-09-10T09:00:00.000Z"), times_at("2026-09-10T09:00:00.000Z", MINUS_HALF)):
        assert times.stamp(instant)
        assert times.exact(instant)
        assert not times.age(instant).startswith("-")
        assert not times.until(instant).startswith("-")


def test_an_age_label_moves_on(qtbot: QtBot) -> None:
    clock = ManualClock()
    times = Times(clock.now)
    shown = AgeLabel(times, clock.now(), "asked ")
    qtbot.addWidget(shown)
    assert shown.text() == "asked just now"
    clock.advance(14 * 60_000)
    times.ticked.emit()
    assert shown.text() == "asked 14 min ago"
    assert "2026-09-10T00:00:00.000Z" in shown.toolTip()
    clock.step_wall(-3_600_000)
    times.ticked.emit()
    assert shown.text() == "asked just now"


def test_the_engines_sentences_are_told_in_the_zone_of_the_person(qtbot: QtBot) -> None:
    """B-112."""
    times = times_at("2026-12-01T04:40:00.000Z")
    assert times.sentence("Waits until 2026-12-01T22:37:26.703Z.") == "Waits until tomorrow 00:37."
    assert times.sentence("From 2026-12-01T04:00:00.000Z to 2026-12-01T04:30:00.000Z.") == (
        "From today 06:00 to today 06:30."
    )
    for text in ("Waits for a person's approval.", "build-2026-12-01", "2026-13-41T99:99:99.000Z"):
        assert times.sentence(text) == text


@pytest.mark.parametrize(
    ("typed", "canonical"),
    [
        ("2026-09-10 08:00", "2026-09-10T06:00:00.000Z"),
        ("2026-09-10T08:00:30", "2026-09-10T06:00:30.000Z"),
        ("0001-01-01 00:00", "0001-01-01 00:00"),
        ("2026-02-30 08:00", "2026-02-30 08:00"),
        ("2026-09-10T08:00:00.000Z", "2026-09-10T08:00:00.000Z"),
        ("2026-09-10", "2026-09-10"),
        ("tomorrow", "tomorrow"),
        ("", ""),
    ],
)
def test_e01_what_a_person_types_becomes_canonical_or_is_left_to_be_judged(
    typed: str, canonical: str
) -> None:
    assert times_at("2026-09-10T09:00:00.000Z").typed(typed) == canonical


def test_typed_times_are_in_the_zone_in_force() -> None:
    times = times_at("2026-09-10T09:00:00.000Z", zone=Zone.UTC)
    assert times.typed("2026-09-10 08:00") == "2026-09-10T08:00:00.000Z"
