"""Clean-up, history, figures, lists, and a schema that goes on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from engine.clock import ManualClock
from engine.errors import DatabaseNewer, InvalidValue
from engine.storage.schema import Migration, shipped_migrations
from engine.wakes import SeriesState, WakeSettings, WakeState, end_place, external, place
from engine.wakes.cleaning import CLEAN_UP_KIND, OWN_WORKSPACE
from engine.wakes.values import OPEN
from tests.conformance.stores import STORES, OpenStore
from tests.conformance.world import ADA, DAY, HOUR, MINUTE, QUIET, SECOND, World

W: dict[str, Any] = {"workspace": "w", "actor": ADA}


async def fired_long_ago(world: World, number: int) -> None:
    """Put ended rows into the store, as many firings would have left them."""
    alarm = world.make()
    request = alarm.schedule_request(**W, at=world.clock.now())

    def make(tx: Any, *, now: int) -> None:
        for _ in range(number):
            wake = alarm.create_in(tx, request, now=now)
            world.store.queue.cancel(tx, wake.id, now)

    await world.store.write(make)


async def test_s05_the_clean_up_runs_by_itself_in_bounded_bites(world: World) -> None:
    await fired_long_ago(world, 250)
    world.clock.advance(2 * DAY)
    await fired_long_ago(world, 5)
    world.clock.advance(6 * DAY)
    alarm = world.make("cleaner", settings=WakeSettings(clean_up_bite=100))
    waiting = await world.book(alarm, in_="30d")
    await alarm.start()
    await world.until(
        lambda: world.count("SELECT count(*) = 5 FROM wake WHERE state = 'cancelled'"), step=HOUR // 2, most=6
    )
    assert await world.state(waiting.id) is WakeState.PENDING
    removed = await world.store.read(
        lambda rx: [
            int(re.search(r"\d+", row["detail"])[0])  # type: ignore[index]
            for row in rx.all(
                "SELECT detail FROM journal WHERE kind = 'alarm.cleaned' AND subject_id = 'wakes'"
            )
        ]
    )
    assert sum(removed) >= 250
    assert max(removed) == 100


async def test_s05_the_clean_up_is_booked_once_can_be_changed_and_switched_off(world: World) -> None:
    async def booked() -> list[tuple[str, SeriesState]]:
        alarm = world.make("looks", settings=QUIET)
        return [(one.rule, one.state) for one in await alarm.list_series(OWN_WORKSPACE)]

    for _ in range(2):
        await world.make("a", settings=WakeSettings()).recover()
    ((rule, state),) = await booked()
    assert (f'"every": {HOUR}' in rule, state) == (True, SeriesState.ACTIVE)
    await world.make("a", settings=WakeSettings(clean_up_every_ms=MINUTE)).recover()
    ((rule, _),) = await booked()
    assert f'"every": {MINUTE}' in rule
    await world.make("a", settings=QUIET).recover()
    ((_, state),) = await booked()
    assert state is SeriesState.CANCELLED
    pending = await world.make("x").list_wakes(OWN_WORKSPACE, states=[WakeState.PENDING])
    assert pending == ()
    await world.make("a", settings=WakeSettings()).recover()
    assert sorted(state for _, state in await booked()) == [SeriesState.ACTIVE, SeriesState.CANCELLED]


async def test_s48_clean_up_goes_by_the_time_of_ending(world: World) -> None:
    alarm = world.make()
    old = await alarm.watch(**W, event_key="a", never_expires=True)
    older = await alarm.watch(**W, event_key="b", never_expires=True)
    await alarm.deliver_event("w", "b")
    await alarm.run_due()
    world.clock.advance(31 * DAY)
    await alarm.deliver_event("w", "a")
    await alarm.run_due()
    world.clock.advance(MINUTE)
    assert (await alarm.clean_up("30d")).wakes == 1
    assert await alarm.get(older.id) is None
    assert await world.state(old.id) is WakeState.FIRED


async def test_dead_and_live_wakes_are_never_cleaned_up(world: World) -> None:
    alarm = world.make()
    world.turn.errors = [ValueError("no")]
    alarm.register("session_turn", external(world.turn, max_attempts=1))
    dead = await world.book(alarm)
    await alarm.run_due()
    waiting = await world.book(alarm, in_="80d")
    world.clock.advance(60 * DAY)
    await alarm.clean_up("1ms")
    assert await world.state(dead.id) is WakeState.DEAD
    assert await world.state(waiting.id) is WakeState.PENDING


async def test_series_docket_and_events_are_cleaned_up_too(world: World) -> None:
    alarm = world.make()
    booked = await world.book(alarm, every="1h", catch_up="ask")
    await alarm.deliver_event("w", "k", retain="30d")
    await alarm.deliver_event("w", "k", delivery_id="d")
    world.clock.advance(3 * HOUR + MINUTE)
    await alarm.run_due()
    await alarm.cancel_series(booked.series or "", ADA)
    world.clock.advance(8 * DAY)
    cleaned = await alarm.clean_up()
    assert (cleaned.wakes, cleaned.series, cleaned.events) == (2, 1, 1)
    assert await world.count("SELECT count(*) FROM wake_docket") == 0
    world.clock.advance(30 * DAY)
    assert (await alarm.clean_up()).events == 1


# --------------------------------------------------------------------------------------------- history, figures


async def test_s10_the_history_tells_every_step(world: World) -> None:
    alarm = world.make()
    world.turn.errors = [ValueError("no")]
    booked = await world.book(alarm)
    await alarm.run_due()
    world.clock.advance(MINUTE)
    await alarm.run_due()
    steps = await alarm.history(booked.id)
    assert [(step.event, step.before, step.after) for step in steps] == [
        ("created", None, "pending"),
        ("claimed", "pending", "firing"),
        ("failed", "firing", "pending"),
        ("claimed", "pending", "firing"),
        ("fired", "firing", "fired"),
    ]
    assert steps[0].by == "ada"
    assert steps[1].by == "runner"
    assert steps[2].why == "ValueError: no"
    world.clock.advance(30 * DAY)
    await alarm.clean_up()
    assert await alarm.get(booked.id) is None
    assert len(await alarm.history(booked.id)) == 5


async def test_s10_figures_tell_what_happened_and_how_late(world: World) -> None:
    alarm = world.make()
    world.turn.errors = [ValueError("no")]
    await world.book(alarm, lane="L")
    world.clock.advance(1_500)
    await alarm.run_due()
    world.clock.advance(MINUTE)
    await alarm.run_due()
    await world.book(alarm, lane='a "lane"\\')
    await world.book(alarm, kind="gone")
    world.clock.advance(30 * SECOND)
    before = await alarm.metrics()
    assert before.gauges.oldest_overdue_ms == 30 * SECOND
    assert before.gauges.live == 2
    await alarm.run_due()
    figures = await alarm.metrics()
    expected: Mapping[tuple[str, str], int] = {
        ("session_turn", "created"): 2,
        ("session_turn", "retried"): 1,
        ("session_turn", "fired"): 2,
        ("session_turn", "late"): 2,
        ("gone", "created"): 1,
        ("gone", "no_sink"): 1,
    }
    assert figures.counters == expected
    assert figures.lateness["session_turn"].total_ms == 1_500 + 30 * SECOND
    assert figures.lateness["session_turn"].count == 2, "a retry is not late once more"
    assert before.gauges.lanes[("w", 'a "lane"\\')] == 1


# --------------------------------------------------------------------------------------------------------- lists


async def test_s45_lists_are_by_workspace_and_session_ordered_and_paged(world: World) -> None:
    alarm = world.make()
    due = [await world.book(alarm, session="s", in_=f"{250 - number}m") for number in range(250)]
    watch = await alarm.watch(**W, session="s", event_key="k")
    await world.book(alarm, session="t")
    await world.book(alarm, session="s", workspace="v")
    pages: list[Any] = []
    after = None
    while page := await alarm.list_wakes("w", session="s", after=after, limit=100):
        pages.append(page)
        after = place(page[-1])
    assert [len(page) for page in pages] == [100, 100, 51]
    listed = [wake.id for page in pages for wake in page]
    assert listed == [one.id for one in reversed(due)] + [watch.id]
    assert len(await alarm.list_wakes("w")) == 100
    assert len(await alarm.list_wakes("v", session="s")) == 1
    assert not {"intent", "result", "token_digest"} & set(type(pages[0][0]).__slots__)
    await alarm.cancel(due[0].id, ADA)
    assert [wake.id for wake in await alarm.list_wakes("w", states=[WakeState.CANCELLED])] == [due[0].id]
    with pytest.raises(InvalidValue):
        await alarm.list_wakes("w", limit=0)


async def test_lists_over_all_workspaces_can_be_searched_and_bounded_by_time(world: World) -> None:
    alarm = world.make()
    late = await world.book(alarm, workspace="v", lane="deploys", in_="1m", intent="not an object")
    soon = await world.book(alarm, workspace="w", in_="2m", intent={"title": "Say good morning", "to": [1]})
    watch = await alarm.watch(workspace="v", actor=ADA, event_key="ci:100%_done")
    cancelled = await world.book(alarm, workspace="w", in_="3m")
    await alarm.cancel(cancelled.id, ADA)

    async def found(**asked: Any) -> list[str]:
        return [wake.id for wake in await alarm.list_wakes(**asked)]

    assert await found() == [late.id, soon.id, cancelled.id, watch.id]
    assert await found(states=OPEN) == [late.id, soon.id, watch.id]
    assert await found(text=" DEPLOY") == [late.id]
    assert await found(text="100%_d") == [watch.id]
    assert await found(text="1__%") == []
    assert await found(text=soon.id.lower()) == [soon.id]
    assert await found(text="good MORNING") == [soon.id]
    assert [wake.title for wake in await alarm.list_wakes(states=OPEN)] == [None, "Say good morning", None]
    assert await found(due_before=world.clock.now() + 2 * MINUTE) == [late.id]
    assert await found(workspace="v", states=OPEN, after=place((await alarm.list_wakes())[0])) == [watch.id]


async def test_a_title_that_is_no_text_hides_no_other_wake_from_the_list(world: World) -> None:
    """An intent may hold half of a surrogate pair, and comes back as it was; a list says that it cannot be shown."""
    alarm = world.make()
    odd = await world.book(alarm, in_="1m", intent={"title": "half \ud800"})
    await world.book(alarm, in_="2m", intent={"title": "Grüße 😀"})
    odd_title, plain = [wake.title for wake in await alarm.list_wakes("w")]
    assert odd_title is not None
    assert odd_title.startswith("half \ufffd")
    assert plain == "Grüße 😀"
    wake = await alarm.get(odd.id)
    assert wake is not None
    assert wake.intent == {"title": "half \ud800"}


async def test_ended_wakes_are_listed_by_their_end_the_latest_first(world: World) -> None:
    alarm = world.make()
    booked = [
        await world.book(alarm, workspace=workspace, in_=f"{number}m")
        for number, workspace in ((3, "w"), (1, "v"), (2, "w"))
    ]
    far = await world.book(alarm, workspace="v", in_="1d")
    await alarm.cancel(far.id, ADA)
    for _ in range(3):
        world.clock.advance(MINUTE)
        await alarm.run_due()
    await world.book(alarm, in_="1h")
    by_end = [booked[0].id, booked[2].id, booked[1].id, far.id]
    first = await alarm.list_ended(limit=3)
    rest = await alarm.list_ended(after=end_place(first[-1]), limit=3)
    assert [wake.id for wake in (*first, *rest)] == by_end
    assert [wake.id for wake in await alarm.list_ended("v")] == [booked[1].id, far.id]
    assert [wake.id for wake in await alarm.list_ended(text="nothing like it")] == []
    assert first[0].late_ms == 0
    with pytest.raises(InvalidValue):
        await alarm.list_ended(limit=0)


async def test_series_of_all_workspaces_are_listed_oldest_first(world: World) -> None:
    alarm = world.make()
    for workspace in ("w", "v", "w"):
        await alarm.schedule(workspace=workspace, actor=ADA, every="1h")
    listed = await alarm.list_series(limit=2)
    listed += await alarm.list_series(after=listed[-1].id)
    assert [series.workspace for series in listed] == ["w", "v", "w"]
    assert len(await alarm.list_series("w")) == 2


# -------------------------------------------------------------------------------------------------------- schema


async def test_s53_an_older_folder_is_upgraded_and_a_newer_one_refused(
    open_store: OpenStore, new_folder: Path, clock: ManualClock
) -> None:
    """The migrations are the storage's; here only what they do to wakes."""
    shipped = shipped_migrations()
    before = shipped[: next(m.version for m in shipped if m.name == "wakes") - 1]
    async with STORES["sqlite"](new_folder, clock, migrations=before):
        pass
    async with open_store(new_folder, clock) as store:
        alarm = World(store, clock).make()
        booked = [await alarm.schedule(**W, in_="1h") for _ in range(3)]
    later = Migration(len(shipped) + 1, "later", "ALTER TABLE wake ADD COLUMN colour TEXT;")
    async with open_store(new_folder, clock, migrations=(*shipped, later)) as store:
        world = World(store, clock)
        clock.advance(HOUR)
        await world.make().run_due()
        assert sorted(world.turn.ids) == sorted(one.id for one in booked)
    with pytest.raises(DatabaseNewer):
        async with open_store(new_folder, clock, migrations=shipped):
            raise AssertionError


async def test_the_clean_ups_own_kind_is_registered(world: World) -> None:
    alarm = world.make(settings=WakeSettings())
    await alarm.recover()
    (wake,) = await alarm.list_wakes(OWN_WORKSPACE)
    assert wake.kind == CLEAN_UP_KIND
    world.clock.advance(HOUR)
    assert (await alarm.run_due()).fired == 1
