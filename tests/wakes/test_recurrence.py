"""The grid of a series on the days whose clocks change, and everywhere else (S-02, B-080, B-082)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidValue
from engine.instants import LATEST, format_instant, parse_instant
from engine.wakes.recurrence import Cron, Every, Mark, Rule, cron, preview, rule_from_json
from engine.wakes.series import rule_text

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


def instant(text: str) -> int:
    """An instant from text to the minute."""
    return parse_instant(f"{text}:00.000Z")


def coming(rule: Rule, after: str, number: int) -> list[str]:
    """The next occurrences, to the minute."""
    return [one.utc[:16] for one in preview(rule, instant(after), number)]


@pytest.mark.parametrize(
    ("expression", "zone", "after", "expected"),
    [
        # New York, 8 March 2026: 02:00 becomes 03:00. What falls into the gap fires at 03:00 local.
        ("30 2 * * *", "America/New_York", "2026-03-07T08:00", ["2026-03-08T07:00", "2026-03-09T06:30"]),
        ("0 3 * * *", "America/New_York", "2026-03-07T09:00", ["2026-03-08T07:00", "2026-03-09T07:00"]),
        ("0,30 2 * * *", "America/New_York", "2026-03-07T08:00", ["2026-03-08T07:00", "2026-03-09T06:00"]),
        ("0 2,3 * * *", "America/New_York", "2026-03-08T00:00", ["2026-03-08T07:00", "2026-03-09T06:00"]),
        # 2 November 2025: 02:00 becomes 01:00. What occurs twice fires the first time only.
        ("30 1 * * *", "America/New_York", "2025-11-02T00:00", ["2025-11-02T05:30", "2025-11-03T06:30"]),
        ("0 2 * * *", "America/New_York", "2025-11-02T00:00", ["2025-11-02T07:00", "2025-11-03T07:00"]),
        (
            "0 0,1 * * *",
            "America/New_York",
            "2025-11-02T03:30",
            ["2025-11-02T04:00", "2025-11-02T05:00", "2025-11-03T05:00"],
        ),
        # Los Angeles, 1 November 2026: what is interval-like fires at every real occurrence.
        (
            "0 * * * *",
            "America/Los_Angeles",
            "2026-11-01T07:30",
            ["2026-11-01T08:00", "2026-11-01T09:00", "2026-11-01T10:00"],
        ),
        (
            "*/30 1 * * *",
            "America/Los_Angeles",
            "2026-11-01T07:30",
            [
                "2026-11-01T08:00",
                "2026-11-01T08:30",
                "2026-11-01T09:00",
                "2026-11-01T09:30",
                "2026-11-02T09:00",
            ],
        ),
        (
            "5-55/50 1 * * *",
            "America/Los_Angeles",
            "2026-11-01T07:30",
            [
                "2026-11-01T08:05",
                "2026-11-01T08:55",
                "2026-11-01T09:05",
                "2026-11-01T09:55",
                "2026-11-02T09:05",
            ],
        ),
        (
            "0 */2 * * *",
            "America/New_York",
            "2026-03-08T04:30",
            ["2026-03-08T05:00", "2026-03-08T08:00", "2026-03-08T10:00"],
        ),
        ("*/20 2 * * *", "America/New_York", "2026-03-08T04:30", ["2026-03-09T06:00"]),
        (
            "0 0-23 * * *",
            "America/New_York",
            "2025-11-02T04:30",
            ["2025-11-02T05:00", "2025-11-02T06:00", "2025-11-02T07:00"],
        ),
        # Berlin: both days.
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00", ["2026-03-29T01:00", "2026-03-30T00:30"]),
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00", ["2026-10-25T00:30", "2026-10-26T01:30"]),
        # Lord Howe changes by half an hour: 02:00 becomes 02:30, and 02:00 becomes 01:30.
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00", ["2026-10-03T15:30", "2026-10-04T15:15"]),
        ("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00", ["2026-04-04T14:45", "2026-04-05T15:15"]),
        (
            "*/15 1 * * *",
            "Australia/Lord_Howe",
            "2026-04-04T13:50",
            [
                "2026-04-04T14:00",
                "2026-04-04T14:15",
                "2026-04-04T14:30",
                "2026-04-04T14:45",
                "2026-04-04T15:00",
                "2026-04-04T15:15",
                "2026-04-05T14:30",
            ],
        ),
        # São Paulo used to change at midnight: 4 November 2018 began at 01:00, 18 February 2018 had 23:00 twice.
        ("0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00", ["2018-11-04T03:00", "2018-11-05T02:00"]),
        ("30 23 * * *", "America/Sao_Paulo", "2018-02-17T12:00", ["2018-02-18T01:30", "2018-02-19T02:30"]),
        (
            "*/30 * * * *",
            "America/Sao_Paulo",
            "2018-02-18T00:30",
            ["2018-02-18T01:00", "2018-02-18T01:30", "2018-02-18T02:00"],
        ),
        ("0 12 * * *", "America/Sao_Paulo", "2026-11-01T00:00", ["2026-11-01T15:00", "2026-11-02T15:00"]),
        # Apia skipped 30 December 2011 altogether; what fell on it fires when it was over.
        (
            "0 9 * * *",
            "Pacific/Apia",
            "2011-12-29T12:00",
            ["2011-12-29T19:00", "2011-12-30T10:00", "2011-12-30T19:00", "2011-12-31T19:00"],
        ),
        ("0 9 30 12 *", "Pacific/Apia", "2011-06-01T00:00", ["2011-12-30T10:00", "2012-12-29T19:00"]),
        (
            "0 */12 * * *",
            "Pacific/Apia",
            "2011-12-29T12:00",
            ["2011-12-29T22:00", "2011-12-30T10:00", "2011-12-30T22:00"],
        ),
        # Kiritimati is fourteen hours ahead, and skipped the last day of 1994.
        ("0 0 1 * *", "Pacific/Kiritimati", "2026-09-10T00:00", ["2026-09-30T10:00", "2026-10-31T10:00"]),
        ("0 8 31 12 *", "Pacific/Kiritimati", "1994-12-01T00:00", ["1994-12-31T10:00", "1995-12-30T18:00"]),
        # Newfoundland changed at one minute past midnight: 00:01 on 6 November 2011 became 23:01 of the day before.
        (
            "0 * * * *",
            "America/St_Johns",
            "2011-11-06T01:00",
            ["2011-11-06T01:30", "2011-11-06T02:30", "2011-11-06T03:30"],
        ),
        ("0 0 * * *", "America/St_Johns", "2011-11-05T12:00", ["2011-11-06T02:30", "2011-11-07T03:30"]),
        # Days that are not in every month or year.
        ("0 0 29 2 *", "UTC", "2026-09-10T00:00", ["2028-02-29T00:00", "2032-02-29T00:00"]),
        ("0 0 29 2 *", "UTC", "2096-03-01T00:00", ["2104-02-29T00:00"]),
        ("0 0 31 * *", "UTC", "2026-08-31T00:00", ["2026-10-31T00:00", "2026-12-31T00:00"]),
        ("0 0 L * *", "Europe/Berlin", "2026-09-10T00:00", ["2026-09-29T22:00", "2026-10-30T23:00"]),
        ("0 12 * * MON#5", "UTC", "2026-09-10T00:00", ["2026-11-30T12:00", "2027-03-29T12:00"]),
        ("0 0 * 2 MON#5", "UTC", "2026-09-10T00:00", ["2044-02-29T00:00"]),
        ("30 9 13 * FRI", "UTC", "2026-09-10T12:00", ["2026-09-11T09:30", "2026-09-13T09:30"]),
    ],
)
def test_s02_occurrences(expression: str, zone: str, after: str, expected: list[str]) -> None:
    rule = cron(expression, zone)
    assert coming(rule, after, len(expected)) == expected
    # Looking back and counting see the same grid.
    last = instant(expected[-1])
    assert [rule.newest(last, number) for number in range(1, len(expected) + 1)] == [
        instant(text) for text in reversed(expected)
    ]
    assert rule.count(instant(after), last) == len(expected)
    assert rule.count(instant(expected[0]), last) == len(expected) - 1


def test_b080_the_preview_marks_what_is_special() -> None:
    def marks(expression: str, zone: str, after: str, number: int) -> list[tuple[str, Mark | None]]:
        return [(one.local, one.mark) for one in preview(cron(expression, zone), instant(after), number)]

    assert marks("30 2 * * *", "America/New_York", "2026-03-07T00:00", 3) == [
        ("2026-03-07T02:30-05:00", None),
        ("2026-03-08T03:00-04:00", Mark.MOVED),
        ("2026-03-09T02:30-04:00", None),
    ]
    assert marks("30 1 * * *", "America/New_York", "2025-11-02T00:00", 2) == [
        ("2025-11-02T01:30-04:00", Mark.FIRST_OF_TWO),
        ("2025-11-03T01:30-05:00", None),
    ]
    assert marks("0 * * * *", "America/Los_Angeles", "2026-11-01T07:30", 3) == [
        ("2026-11-01T01:00-07:00", Mark.FIRST_OF_TWO),
        ("2026-11-01T01:00-08:00", Mark.SECOND_OF_TWO),
        ("2026-11-01T02:00-08:00", Mark.CHANGED_DAY),
    ]
    assert marks("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00", 1) == [
        ("2026-10-04T02:30+11:00", Mark.MOVED)
    ]
    assert preview(Every(HOUR, 0), 1, 1)[0].mark is None
    assert (
        len(preview(cron("0 0 1 1 *"), instant("2026-09-10T00:00"), 10, until=instant("2028-06-01T00:00")))
        == 2
    )


def test_b082_intervals_are_elapsed_time() -> None:
    rule = Every(15_000, instant("2026-10-25T00:00"))
    over_the_change = preview(rule, instant("2026-10-25T00:30"), 240)
    assert {later.at - earlier.at for earlier, later in pairwise(over_the_change)} == {15_000}


@pytest.mark.parametrize("period", [1, 7, 1_000, HOUR, 3 * DAY])
@pytest.mark.parametrize("anchor", [0, 123_456_789, instant("2026-09-10T00:00")])
def test_the_grid_of_every(period: int, anchor: int) -> None:
    rule = Every(period, anchor)
    for base in (anchor - 10 * period - 3, anchor, anchor + 5 * period, anchor + 5 * period + 1):
        following = rule.after(base)
        assert following is not None
        assert following > base
        assert following - base <= period
        assert (following - anchor) % period == 0
        assert rule.newest(following) == following
        assert rule.newest(following - 1) == following - period
        assert rule.count(base, following) == 1
        assert rule.count(base, base + 100 * period) == 100
    assert Every(DAY, 0).after(LATEST) is None
    assert rule.count(10, 5) == 0


@pytest.mark.parametrize(
    ("expression", "shortest"),
    [
        ("* * * * *", MINUTE),
        ("0 * * * *", HOUR),
        ("0 9 * * *", DAY),
        ("0,5 9 * * *", 5 * MINUTE),
        ("59 23 * * *", DAY),
    ],
)
def test_the_shortest_period(expression: str, shortest: int) -> None:
    assert cron(expression).shortest_period() == shortest


@pytest.mark.parametrize(
    "expression",
    ["", "* * * *", "* * * * * *", "61 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "0 0 31 2 *",
     "0 0 30 2 *", "0 0 31 4,6,9,11 *", "@daily", "a b c d e", "*/0 * * * *", "5-1 * * * *", "-1 * * * *"],
)  # fmt: skip
def test_s02_what_is_no_expression_or_never_matches_is_refused(expression: str) -> None:
    with pytest.raises(InvalidValue):
        cron(expression)


@pytest.mark.parametrize(
    "zone", ["", "Mars/Olympus", "America", "../../etc/passwd", "Europe/Berlin ", "UTC+1"]
)
def test_s02_what_is_no_zone_is_refused(zone: str) -> None:
    with pytest.raises(InvalidValue, match="time zone"):
        cron("* * * * *", zone)


def test_rules_come_back_from_their_stored_form() -> None:
    for rule in (cron("30  2 * * *", "Europe/Berlin"), Every(HOUR, 5)):
        again = rule_from_json(rule_text(rule))
        assert again.to_json() == rule.to_json()
        assert again.after(0) == rule.after(0)
    assert str(cron("30  2 * * *", "Europe/Berlin")) == "cron 30 2 * * * (Europe/Berlin)"
    assert str(Every(90 * MINUTE, 0)) == "every 1h30m"


def test_a_year_of_minutes_is_counted_without_being_walked() -> None:
    rule = cron("* * * * *", "America/New_York")
    assert rule.count(instant("2026-01-01T00:00"), instant("2027-01-01T00:00")) == 365 * 1440


# --------------------------------------------------------------------------------- against independent accounts

ZONES = [
    "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia",
    "Africa/Casablanca", "America/St_Johns", "Asia/Tehran", "Pacific/Kiritimati", "Africa/Cairo", "Antarctica/Troll",
    "UTC",
]  # fmt: skip
EXPRESSIONS = ["* * * * *", "*/7 * * * *", "0 * * * *", "5 */3 * * *", "*/30 1-3 * * *", "30 2 * * *", "0 0 * * *",
               "15,45 0-4 * * SUN", "59 23 L * *", "0 1 1,15 * *"]  # fmt: skip
moments = st.integers(instant("1990-01-01T00:00") // MINUTE, instant("2037-01-01T00:00") // MINUTE).map(
    lambda minute: minute * MINUTE
)
# Near the days on which clocks change there is more to get wrong.
changes = st.sampled_from(
    [instant(text) for text in ("2026-03-08T06:00", "2025-11-02T05:00", "2026-03-29T00:00", "2026-10-25T00:00",
                                "2026-04-04T14:00", "2026-10-03T15:00", "2018-02-18T01:00", "2018-11-04T02:00",
                                "2011-12-30T09:00", "2011-11-06T02:00", "2026-02-15T02:00", "2024-03-31T00:00")]
)  # fmt: skip
near_changes = st.builds(lambda at, minutes: at + minutes * MINUTE, changes, st.integers(-3_000, 3_000))


def really_shows(rule: Cron, at: int) -> bool:
    """Whether the local clock shows a matching time at an instant, as cronsim reads the expression."""
    local = datetime.fromtimestamp(at / 1000, UTC).astimezone(ZoneInfo(rule.zone)).replace(tzinfo=None)
    return next(CronSim(rule.expression, local - timedelta(minutes=1))) == local


@given(st.sampled_from(EXPRESSIONS[:5]), st.sampled_from(ZONES), st.one_of(moments, near_changes))
def test_interval_like_rules_fire_at_every_real_occurrence_and_no_other(
    expression: str, zone: str, start: int
) -> None:
    rule = cron(expression, zone)
    expected = [at for at in range(start + MINUTE, start + 400 * MINUTE, MINUTE) if really_shows(rule, at)]
    found = [one.at for one in preview(rule, start, len(expected) + 1)]
    assert found[: len(expected)] == expected
    assert found[len(expected)] >= start + 400 * MINUTE
    assert rule.count(start, start + 400 * MINUTE - 1) == len(expected)


@given(st.sampled_from(EXPRESSIONS), st.sampled_from(ZONES), st.one_of(moments, near_changes))
def test_every_rule_is_strictly_rising_and_looks_back_at_what_it_looked_forward_to(
    expression: str, zone: str, start: int
) -> None:
    rule = cron(expression, zone)
    found = [one.at for one in preview(rule, start, 12)]
    assert all(earlier < later for earlier, later in pairwise([start, *found]))
    assert rule.count(start, found[-1]) == len(found)
    assert [rule.newest(found[-1], number) for number in range(1, 13)] == list(reversed(found))
    assert rule.newest(found[0] - 1) != found[0]


@given(
    st.sampled_from(["30 2 * * *", "0 0 * * *", "45 1 * * *", "15 23 * * *"]),
    st.sampled_from(ZONES),
    near_changes,
)
def test_a_fixed_daily_time_fires_once_each_local_day(expression: str, zone: str, start: int) -> None:
    rule = cron(expression, zone)
    found = [one.at for one in preview(rule, start, 8)]
    for earlier, later in pairwise(found):
        assert later - earlier <= 26 * HOUR or zone in ("Pacific/Apia", "Pacific/Kiritimati")
        assert later - earlier >= 22 * HOUR or zone in ("Pacific/Apia", "Antarctica/Troll")


@given(st.sampled_from(EXPRESSIONS), moments)
def test_in_utc_it_is_what_cronsim_says(expression: str, start: int) -> None:
    simulated = CronSim(expression, datetime.fromtimestamp(start / 1000, UTC))
    expected = [int(next(simulated).timestamp() * 1000) for _ in range(10)]
    assert [one.at for one in preview(cron(expression), start, 10)] == expected


def test_text_of_occurrences_is_canonical() -> None:
    (one,) = preview(cron("0 12 * * *", "Asia/Kolkata"), instant("2026-09-10T00:00"), 1)
    assert (one.utc, one.local) == (format_instant(one.at), "2026-09-10T12:00+05:30")
