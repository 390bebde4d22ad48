"""Series: the grid, catching up, the successor in the same transaction, steering, the docket."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.errors import InvalidValue, NotFound, Unauthorized, WrongState
from engine.instants import format_instant, parse_instant
from engine.wakes import (
    AlarmClock,
    Booked,
    Budgets,
    CalledOff,
    CancelResult,
    NoticeKind,
    SeriesState,
    Waiting,
    WakeState,
    external,
    recurrence,
)
from engine.wakes.values import Series
from tests.conformance.world import ADA, BOB, DAY, HOUR, MINUTE, SECOND, World

TEN = parse_instant("2026-09-10T10:00:00.000Z")


async def series_of(alarm: AlarmClock, booked: Booked) -> Series:
    assert booked.series is not None
    series = await alarm.series(booked.series)
    assert series is not None
    return series


async def pending_due(world: World, series: str | None) -> list[str]:
    """The due times of what is pending of a series."""
    found = await world.store.read(
        lambda rx: [
            row["due_at"]
            for row in rx.all(
                "SELECT due_at FROM wake WHERE series = ? AND state = 'pending' ORDER BY due_at", (series,)
            )
        ]
    )
    return [format_instant(due) for due in found]


def at(clock: Any, instant: int) -> None:
    clock.advance(instant - clock.now())


async def test_occurrences_follow_the_grid_and_not_the_moment_of_firing(world: World) -> None:
    alarm = world.make()
    at(world.clock, TEN)
    booked = await world.book(alarm, every="15m")
    for late in (0, 7 * SECOND, 3 * SECOND):
        at(world.clock, (world.clock.now() - TEN) // (15 * MINUTE) * 15 * MINUTE + TEN + 15 * MINUTE + late)
        await alarm.run_due()
    assert [wake.due_at for wake in world.turn.entered] == [TEN + 15 * MINUTE * n for n in (1, 2, 3)]
    assert {wake.series for wake in world.turn.entered} == {booked.series}
    assert {wake.recurrence for wake in world.turn.entered} == {"every 15m"}


async def test_a_grid_can_be_given_its_start(world: World) -> None:
    alarm = world.make()
    at(world.clock, TEN + 7 * MINUTE)
    past = await world.book(alarm, every="15m", start=TEN)
    future = await world.book(alarm, every="15m", start=TEN + HOUR)
    later = await world.book(alarm, cron="0 * * * *", start=TEN + 3 * HOUR)
    assert (past.due_at, future.due_at, later.due_at) == (TEN + 15 * MINUTE, TEN + HOUR, TEN + 3 * HOUR)


async def test_the_next_occurrence_is_always_strictly_later(world: World) -> None:
    alarm = world.make()
    at(world.clock, TEN)
    assert (await world.book(alarm, cron="0 10 * * *")).due_at == TEN + DAY


# ----------------------------------------------------------------------------------------------- catching up


async def downtime(world: World, **asked: Any) -> tuple[AlarmClock, Booked]:
    """A minute rule since 10:00:30, then down until 13:00:30."""
    alarm = world.make()
    at(world.clock, TEN + 30 * SECOND)
    booked = await world.book(alarm, cron="* * * * *", **asked)
    world.clock.advance(3 * HOUR)
    await alarm.run_due()
    return alarm, booked


async def test_s09_latest_fires_once_and_tells_how_many_were_missed(world: World) -> None:
    alarm, booked = await downtime(world)
    (wake,) = world.turn.entered
    assert (wake.id, wake.due_at, wake.missed) == (booked.id, TEN + 3 * HOUR, 179)
    assert wake.late_ms == 30 * SECOND
    assert await pending_due(world, booked.series) == ["2026-09-10T13:01:00.000Z"]
    assert (await series_of(alarm, booked)).skipped == 179


async def test_s09_none_fires_nothing(world: World) -> None:
    alarm, booked = await downtime(world, catch_up="none")
    assert not world.turn.entered
    assert await pending_due(world, booked.series) == ["2026-09-10T13:01:00.000Z"]
    assert (await series_of(alarm, booked)).skipped == 180
    world.clock.advance(30 * SECOND)
    await alarm.run_due()
    assert [wake.missed for wake in world.turn.entered] == [0]


async def test_s09_all_fires_the_newest_hundred_one_by_one(world: World) -> None:
    alarm, booked = await downtime(world, catch_up="all", lane="L")
    due = [wake.due_at for wake in world.turn.entered]
    assert due == [TEN + 3 * HOUR - MINUTE * n for n in reversed(range(100))]
    assert world.turn.most_at_once == 1
    assert await pending_due(world, booked.series) == ["2026-09-10T13:01:00.000Z"]
    assert (await series_of(alarm, booked)).skipped == 80


async def test_e27_a_year_of_downtime_drains_in_bounded_passes(world: World) -> None:
    alarm = world.make()
    at(world.clock, TEN)
    booked = await world.book(
        alarm, cron="*/5 * * * *", zone="America/New_York", catch_up="all", catch_up_most=250
    )
    world.clock.advance(365 * DAY)
    fired = []
    while (report := await alarm.run_due(100)).claimed:
        fired.append(report.fired)
    assert fired == [100, 100, 50]
    found = await series_of(alarm, booked)
    assert found.skipped + 250 == 365 * 288
    assert len(await pending_due(world, booked.series)) == 1


async def test_late_is_not_missed_while_no_newer_occurrence_has_come(world: World) -> None:
    alarm = world.make()
    at(world.clock, TEN)
    await world.book(alarm, every="1h", catch_up="latest")
    world.clock.advance(2 * HOUR - 1)
    await alarm.run_due()
    (wake,) = world.turn.entered
    assert (wake.due_at, wake.missed, wake.late_ms) == (TEN + HOUR, 0, HOUR - 1)


@pytest.mark.parametrize("policy", ["none", "ask"])
async def test_within_its_grace_an_occurrence_fires_whatever_the_policy(world: World, policy: str) -> None:
    alarm = world.make()
    at(world.clock, TEN)
    await world.book(alarm, every="1h", catch_up=policy, grace="1m")
    world.clock.advance(HOUR + MINUTE)
    await alarm.run_due()
    assert len(world.turn.entered) == 1


async def test_none_ends_a_series_that_has_nothing_left(world: World) -> None:
    alarm = world.make()
    at(world.clock, TEN)
    booked = await world.book(alarm, every="1h", catch_up="none", until=TEN + 3 * HOUR)
    world.clock.advance(DAY)
    await alarm.run_due()
    assert not world.turn.entered
    found = await series_of(alarm, booked)
    assert (found.state, found.skipped) == (SeriesState.ENDED, 3)
    assert await world.state(booked.id) is WakeState.CANCELLED


async def test_catching_up_stops_at_until(world: World) -> None:
    alarm = world.make()
    at(world.clock, TEN)
    booked = await world.book(alarm, every="1h", until=TEN + 3 * HOUR)
    world.clock.advance(DAY)
    await alarm.run_due()
    assert [(wake.due_at, wake.missed) for wake in world.turn.entered] == [(TEN + 3 * HOUR, 2)]
    assert (await series_of(alarm, booked)).state is SeriesState.ENDED


async def test_an_occurrences_deadline_is_relative_to_its_due_time(world: World) -> None:
    alarm = world.make()
    at(world.clock, TEN)
    booked = await world.book(alarm, every="1h", expires_in="10m")
    assert booked.expires_at == TEN + HOUR + 10 * MINUTE
    world.clock.advance(HOUR + 10 * MINUTE)
    await alarm.run_due()
    assert [(wake.expired, wake.due_at) for wake in world.turn.entered] == [(True, TEN + HOUR)]
    assert await world.state(booked.id) is WakeState.EXPIRED
    assert await pending_due(world, booked.series) == ["2026-09-10T12:00:00.000Z"], (
        "an expired one ends no series"
    )
    world.clock.advance(3 * HOUR - 5 * MINUTE)
    await alarm.run_due()
    assert [(wake.expired, wake.due_at) for wake in world.turn.entered[1:]] == [(False, TEN + 4 * HOUR)]


async def test_s36_until_and_count_hold_for_the_whole_series(world: World) -> None:
    alarm = world.make()
    at(world.clock, TEN)
    until = await world.book(alarm, every="1h", until=TEN + 3 * HOUR, lane="until")
    count = await world.book(alarm, every="1h", count=5, lane="count")
    for _ in range(10):
        world.clock.advance(HOUR)
        await alarm.run_due()
    fired = [wake.lane for wake in world.turn.entered]
    assert (fired.count("until"), fired.count("count")) == (3, 5)
    for booked in (until, count):
        assert (await series_of(alarm, booked)).state is SeriesState.ENDED
    with pytest.raises(InvalidValue, match="no occurrence"):
        await world.book(alarm, every="1h", until=world.clock.now() + HOUR - 1)


# -------------------------------------------------------------------------------------------------- successors


async def test_a_dead_and_a_cancelled_occurrence_end_no_series(world: World) -> None:
    alarm = world.make()
    world.turn.errors = [ValueError("no")]
    alarm.register("session_turn", external(world.turn, max_attempts=1))
    at(world.clock, TEN)
    booked = await world.book(alarm, every="1h")
    world.clock.advance(HOUR)
    await alarm.run_due()
    assert await world.state(booked.id) is WakeState.DEAD
    assert await pending_due(world, booked.series) == ["2026-09-10T12:00:00.000Z"]
    (second,) = await alarm.list_wakes("w", states=[WakeState.PENDING])
    assert await alarm.cancel(second.id, ADA) is CancelResult.OK
    assert await pending_due(world, booked.series) == ["2026-09-10T13:00:00.000Z"]
    world.clock.advance(2 * HOUR)
    await alarm.release(booked.id, ADA, "again")
    await alarm.run_due()
    assert [wake.due_at for wake in world.turn.entered] == [TEN + HOUR, TEN + HOUR, TEN + 3 * HOUR], (
        "a released occurrence fires as what it was, and is not moved to the newest"
    )


async def test_s19_a_series_whose_next_time_cannot_be_reckoned_is_visibly_broken_and_can_be_mended(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    alarm = world.make()
    at(world.clock, TEN)
    booked = await world.book(alarm, cron="0 * * * *")
    world.clock.advance(HOUR)

    def broken(self: Any, instant: int) -> int:
        raise LookupError("the zone's file is gone")

    with monkeypatch.context() as patch:
        patch.setattr(recurrence.Cron, "after", broken)
        assert (await alarm.run_due()).fired == 1
        assert await world.state(booked.id) is WakeState.FIRED
        found = await series_of(alarm, booked)
        assert (found.state, found.error) == (SeriesState.BROKEN, "LookupError: the zone's file is gone")
        assert [notice.kind for notice in world.notices] == [NoticeKind.BROKEN]
        await alarm.recover()
        assert (await series_of(alarm, booked)).state is SeriesState.BROKEN
    assert booked.series is not None
    await alarm.resume_series(booked.series, ADA, "mended")
    assert await pending_due(world, booked.series) == ["2026-09-10T12:00:00.000Z"]


async def test_s19_a_broken_series_is_tried_again_at_a_start(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    alarm = world.make()
    at(world.clock, TEN)
    booked = await world.book(alarm, cron="0 * * * *")
    world.clock.advance(HOUR)
    with monkeypatch.context() as patch:
        patch.setattr(recurrence.Cron, "after", lambda self, instant: 1 / 0)
        await alarm.run_due()
    await alarm.recover()
    assert (await series_of(alarm, booked)).state is SeriesState.ACTIVE
    assert await pending_due(world, booked.series) == ["2026-09-10T12:00:00.000Z"]


async def test_a_series_above_the_rate_of_its_lane_breaks_visibly(world: World) -> None:
    alarm = world.make(budgets=Budgets(lane_creations_per_hour=6))
    at(world.clock, TEN)
    booked = await world.book(alarm, every="10m", lane="L")
    other = await world.book(alarm, every="10m", lane="L")
    for _ in range(7):
        world.clock.advance(10 * MINUTE)
        await alarm.run_due()
    states = {(await series_of(alarm, one)).state for one in (booked, other)}
    assert states == {SeriesState.BROKEN}
    error = (await series_of(alarm, booked)).error
    assert error is not None
    assert error.startswith("lane_rate")


async def test_occurrences_of_a_series_never_overlap(world: World) -> None:
    alarm = world.make()
    world.turn.parking = True
    await world.book(alarm, every="1s")
    world.clock.advance(SECOND)
    async with world.passing(alarm):
        await world.turn.arrivals()
        world.clock.advance(10 * SECOND)
        again = asyncio.create_task(alarm.run_due())
        await world.settle()
        assert len(world.turn.entered) == 1
    await again
    await alarm.run_due()
    assert world.turn.entered[1].missed == 9


# ----------------------------------------------------------------------------------------------------- steering


async def test_s35_a_series_is_cancelled_as_a_whole(world: World) -> None:
    alarm = world.make()
    booked = await world.book(alarm, every="1m", session="s")
    for _ in range(2):
        world.clock.advance(MINUTE)
        await alarm.run_due()
    assert booked.series is not None
    assert await alarm.cancel_series(booked.series, BOB) is CancelResult.UNAUTHORIZED
    assert (
        await alarm.cancel_series(booked.series, BOB, workspace="w", session="t") is CancelResult.UNAUTHORIZED
    )
    assert await alarm.cancel_series(booked.series, BOB, workspace="w", session="s") is CancelResult.OK
    assert await alarm.cancel_series(booked.series, ADA) is CancelResult.NOT_PENDING
    assert await alarm.cancel_series("nothing", ADA) is CancelResult.NOT_FOUND
    assert await pending_due(world, booked.series) == []
    world.clock.advance(HOUR)
    await alarm.run_due()
    assert len(world.turn.entered) == 2


async def test_s35_cancelling_while_an_occurrence_fires_lets_it_end(world: World) -> None:
    alarm = world.make()
    world.turn.parking = True
    booked = await world.book(alarm, every="1m")
    world.clock.advance(MINUTE)
    async with world.passing(alarm):
        await world.turn.arrivals()
        assert booked.series is not None
        assert await alarm.cancel_series(booked.series, ADA) is CancelResult.OK
    assert await world.state(booked.id) is WakeState.FIRED
    assert await pending_due(world, booked.series) == []


async def test_s35_pause_resume_and_change(world: World) -> None:
    alarm = world.make()
    at(world.clock, TEN)
    booked = await world.book(alarm, every="1h", count=3)
    series = booked.series or ""
    with pytest.raises(Unauthorized):
        await alarm.pause_series(series, BOB)
    await alarm.pause_series(series, ADA, "holidays")
    assert await pending_due(world, series) == []
    with pytest.raises(WrongState):
        await alarm.pause_series(series, ADA)
    world.clock.advance(30 * MINUTE)
    await alarm.resume_series(series, ADA)
    assert await pending_due(world, series) == ["2026-09-10T11:00:00.000Z"], "the grid is as it was"
    await alarm.pause_series(series, ADA)
    world.clock.advance(5 * HOUR)
    await alarm.run_due()
    await alarm.resume_series(series, ADA)
    assert await pending_due(world, series) == ["2026-09-10T16:00:00.000Z"], "a pause is not caught up"
    assert (await series_of(alarm, booked)).booked == 1, "what was withdrawn does not count"
    changed = await alarm.change_series(series, ADA, cron="0 9 * * *", zone="Europe/Berlin", intent={"n": 2})
    assert changed.state is SeriesState.ACTIVE
    assert await pending_due(world, series) == ["2026-09-11T07:00:00.000Z"]
    world.clock.advance(DAY)
    await alarm.run_due()
    assert [wake.intent for wake in world.turn.entered] == [{"n": 2}]
    with pytest.raises(InvalidValue):
        await alarm.change_series(series, ADA, until=world.clock.now())
    assert (await series_of(alarm, booked)).state is SeriesState.ACTIVE, (
        "a refused change leaves all as it was"
    )
    assert len(await pending_due(world, series)) == 1
    with pytest.raises(NotFound):
        await alarm.pause_series("nothing", ADA)


async def test_changing_only_the_intent_keeps_the_coming_occurrence(world: World) -> None:
    alarm = world.make()
    at(world.clock, TEN)
    booked = await world.book(alarm, every="1h", intent=1)
    await alarm.change_series(booked.series or "", ADA, intent=2)
    assert await pending_due(world, booked.series) == ["2026-09-10T11:00:00.000Z"]


async def test_a_series_has_a_history_of_its_own(world: World) -> None:
    alarm = world.make()
    booked = await world.book(alarm, every="1h")
    assert booked.series is not None
    await alarm.pause_series(booked.series, ADA, "over the holidays")
    await alarm.resume_series(booked.series, ADA)
    await alarm.cancel_series(booked.series, ADA)
    steps = await alarm.series_history(booked.series)
    assert [step.event for step in steps] == ["created", "paused", "resumed", "cancelled"]
    assert (steps[1].by, steps[1].why) == ("ada", "over the holidays")
    assert len(await alarm.series_history(booked.series, limit=2)) == 2


async def test_the_end_of_a_series_can_be_taken_away(world: World) -> None:
    alarm = world.make()
    at(world.clock, TEN)
    booked = await world.book(alarm, every="1h", until="2026-09-10T12:00:00.000Z", count=5)
    changed = await alarm.change_series(booked.series or "", ADA, count=7)
    assert (changed.until, changed.count) != (None, 7)
    changed = await alarm.change_series(booked.series or "", ADA, no_end=True, count=8)
    assert (changed.until, changed.count) == (None, 8)
    changed = await alarm.change_series(booked.series or "", ADA, no_end=True)
    assert (changed.until, changed.count) == (None, None)


async def test_a_paused_series_stays_paused_when_changed(world: World) -> None:
    alarm = world.make()
    booked = await world.book(alarm, every="1h")
    await alarm.pause_series(booked.series or "", ADA)
    await alarm.change_series(booked.series or "", ADA, every="2h")
    assert (await series_of(alarm, booked)).state is SeriesState.PAUSED
    assert await pending_due(world, booked.series) == []


async def test_pausing_while_an_occurrence_fires_books_nothing(world: World) -> None:
    alarm = world.make()
    world.turn.parking = True
    booked = await world.book(alarm, every="1m")
    world.clock.advance(MINUTE)
    async with world.passing(alarm):
        await world.turn.arrivals()
        await alarm.pause_series(booked.series or "", ADA)
    assert await pending_due(world, booked.series) == []
    await alarm.resume_series(booked.series or "", ADA)
    assert len(await pending_due(world, booked.series)) == 1


async def test_an_occurrence_that_is_called_off_counts_as_never_booked(world: World) -> None:
    alarm = world.make()
    world.turn.errors = [CalledOff("not this one")]
    booked = await world.book(alarm, every="1h", count=2)
    for _ in range(4):
        world.clock.advance(HOUR)
        await alarm.run_due()
    assert [wake.due_at for wake in world.turn.left] == [
        (booked.due_at or 0) + HOUR,
        (booked.due_at or 0) + 2 * HOUR,
    ]
    assert await world.state(booked.id) is WakeState.CANCELLED
    assert (await series_of(alarm, booked)).state is SeriesState.ENDED


async def test_steering_leaves_an_occurrence_alone_that_was_begun(world: World) -> None:
    alarm = world.make()
    world.turn.errors = [ValueError("no")]
    booked = await world.book(alarm, every="1h")
    world.clock.advance(HOUR)
    await alarm.run_due()
    await alarm.pause_series(booked.series or "", ADA)
    assert (await series_of(alarm, booked)).booked == 1
    world.clock.advance(MINUTE)
    await alarm.run_due()
    assert await world.state(booked.id) is WakeState.FIRED
    assert len(world.turn.left) == 1
    assert await pending_due(world, booked.series) == []


async def test_series_are_listed_by_workspace_in_pages(world: World) -> None:
    alarm = world.make()
    booked = []
    for number in range(5):
        booked.append(await world.book(alarm, every="1h", lane=f"{number}"))
        world.clock.advance(1)
    await world.book(alarm, every="1h", workspace="v")
    first = await alarm.list_series("w", limit=3)
    second = await alarm.list_series("w", limit=3, after=first[-1].id)
    assert [one.id for one in (*first, *second)] == [one.series for one in booked]
    await alarm.pause_series(booked[0].series or "", ADA)
    assert [one.id for one in await alarm.list_series("w", states=[SeriesState.PAUSED])] == [booked[0].series]


async def test_preview_ends_with_the_count(world: World) -> None:
    """Two of three are left beside the one that is booked; the last shows itself alone."""
    alarm = world.make()
    at(world.clock, TEN)
    booked = await world.book(alarm, every="1h", count=3)
    assert len(await alarm.preview(booked.series or "")) == 3
    assert len(await alarm.preview(booked.series or "", 2)) == 2
    single = await world.book(alarm, every="1h", count=1)
    assert len(await alarm.preview(single.series or "")) == 1


async def test_preview_shows_what_is_coming(world: World) -> None:
    alarm = world.make()
    at(world.clock, TEN)
    booked = await world.book(alarm, cron="0 12 * * *", zone="Europe/Berlin", until=TEN + 2 * DAY + HOUR)
    shown = await alarm.preview(booked.series or "")
    assert [(one.utc, one.local) for one in shown] == [
        ("2026-09-11T10:00:00.000Z", "2026-09-11T12:00+02:00"),
        ("2026-09-12T10:00:00.000Z", "2026-09-12T12:00+02:00"),
    ]
    before = alarm.preview_rule(cron="30 2 25 10 *", zone="Europe/Berlin", number=1)
    assert [(one.local, one.mark) for one in before] == [("2026-10-25T02:30+02:00", "first of two")]
    assert len(alarm.preview_rule(every="1h", number=3)) == 3
    assert await alarm.preview("nothing") == ()
    with pytest.raises(InvalidValue):
        alarm.preview_rule(cron="* * * * *", every="1h")


# ---------------------------------------------------------------------------------------------------- the docket


async def asked(world: World, **options: Any) -> tuple[AlarmClock, Booked]:
    """An hourly series of the policy ask, found three hours late, with the next occurrence booked."""
    alarm = world.make()
    at(world.clock, TEN)
    booked = await world.book(alarm, every="1h", catch_up="ask", **options)
    world.clock.advance(3 * HOUR + MINUTE)
    await alarm.run_due()
    return alarm, booked


async def test_e85_ask_starts_nothing_before_a_person_decided(world: World) -> None:
    alarm, booked = await asked(world, lane="L", expires_in="5m")
    assert not world.turn.entered
    (row,) = await alarm.docket("w")
    assert (row.wake_id, row.missed) == (booked.id, 3)
    assert (row.first_missed, row.last_missed) == (TEN + HOUR, TEN + 3 * HOUR)
    assert (await world.wake(booked.id)).waiting is Waiting.DOCKET
    assert await pending_due(world, booked.series) == ["2026-09-10T13:00:00.000Z", "2026-09-10T14:00:00.000Z"]
    world.clock.advance(HOUR - MINUTE)
    await alarm.run_due()
    assert [wake.due_at for wake in world.turn.entered] == [TEN + 4 * HOUR], "what is on time fires"
    assert len(await alarm.docket()) == 1


async def test_the_latest_fires_when_a_person_says_so_however_late(world: World) -> None:
    alarm, booked = await asked(world, expires_in="5m")
    (row,) = await alarm.docket()
    with pytest.raises(Unauthorized):
        await alarm.decide(row.id, "latest", BOB, "why")
    with pytest.raises(InvalidValue):
        await alarm.decide(row.id, "ask", ADA, "why")
    with pytest.raises(InvalidValue, match="reason"):
        await alarm.decide(row.id, "latest", ADA, "")
    world.clock.advance(10 * MINUTE)
    decided = await alarm.decide(row.id, "latest", ADA, "still wanted")
    assert (decided.decision, decided.decided_by, decided.reason) == ("latest", ADA, "still wanted")
    await alarm.run_due()
    assert [(w.id, w.due_at, w.missed, w.expired) for w in world.turn.entered] == [
        (booked.id, TEN + 3 * HOUR, 2, False)
    ]
    assert await alarm.docket() == ()
    with pytest.raises(WrongState):
        await alarm.decide(row.id, "none", ADA, "why")
    with pytest.raises(NotFound):
        await alarm.decide("nothing", "none", ADA, "why")


async def test_all_of_the_docket_fires_one_by_one(world: World) -> None:
    alarm, _ = await asked(world, lane="L")
    (row,) = await alarm.docket()
    world.clock.advance(2 * MINUTE)
    await alarm.decide(row.id, "all", ADA, "every one counts")
    await alarm.run_due()
    assert [(wake.due_at, wake.missed) for wake in world.turn.entered] == [
        (TEN + HOUR * n, 0) for n in (1, 2, 3)
    ]
    assert await alarm.docket() == ()
    assert world.turn.most_at_once == 1


async def test_all_of_the_docket_is_bounded_too(world: World) -> None:
    alarm, booked = await asked(world, catch_up_most=2)
    (row,) = await alarm.docket()
    await alarm.decide(row.id, "all", ADA, "the newest will do")
    await alarm.run_due()
    assert [(wake.due_at, wake.missed) for wake in world.turn.entered] == [
        (TEN + 2 * HOUR, 0),
        (TEN + 3 * HOUR, 1),
    ]
    assert (await series_of(alarm, booked)).skipped == 1


async def test_none_of_the_docket_fires_and_the_series_goes_on(world: World) -> None:
    alarm, booked = await asked(world)
    (row,) = await alarm.docket()
    await alarm.decide(row.id, "none", ADA, "too late")
    await alarm.run_due()
    assert not world.turn.entered
    assert await world.state(booked.id) is WakeState.CANCELLED
    assert await pending_due(world, booked.series) == ["2026-09-10T14:00:00.000Z"]


async def test_cancelling_what_is_in_the_docket_decides_it(world: World) -> None:
    alarm, booked = await asked(world)
    assert await alarm.cancel(booked.id, ADA) is CancelResult.OK
    assert await alarm.docket() == ()


async def test_cancelling_a_series_decides_its_docket(world: World) -> None:
    alarm, booked = await asked(world)
    await alarm.cancel_series(booked.series or "", ADA)
    assert await alarm.docket() == ()
    assert await world.state(booked.id) is WakeState.CANCELLED
