"""The timeline's read: what touches a window, in which lane, and counted where it is too much (console.md §4)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from engine.clock import ManualClock
from engine.clock_watch import AnomalyKind
from engine.control.holds import WHOLE_ENGINE, Node, place_hold
from engine.errors import InvalidValue
from engine.scheduling.claims import renew_claim
from engine.states import HoldKind, NodeKind, Outcome
from engine.storage import Rx, Tx
from engine.validation.workflow import conclude_execution
from engine.views import timeline as timeline_view
from engine.views.timeline import BarKind, Grouping, MarkKind, TimelineView, timeline
from tests.ledger import LEASE, PERSON, Ledger, observation

HOUR = 3_600_000


@pytest.fixture
async def ledger(folder: Path, clock: ManualClock) -> AsyncIterator[Ledger]:
    opened = await Ledger.open(folder, clock)
    yield opened
    await opened.close()


async def look(ledger: Ledger, start: int, end: int, **asked: Any) -> TimelineView:
    return await ledger.read(
        timeline,
        start,
        end,
        asked.get("grouping", Grouping.WORK_ORDER),
        asked.get("slices", 100),
        asked.get("lanes", 200),
        asked.get("text", ""),
        ledger.clock.now(),
    )


async def run_one(ledger: Ledger, lane: str = "/work") -> str:
    """A work order that waits a minute, is claimed and renewed, runs a minute and ends."""
    order = await ledger.submit(lane)
    ledger.clock.advance(60_000)
    await ledger.approve(order)
    (claim,) = await ledger.claim()
    ledger.clock.advance(30_000)
    await ledger.write(renew_claim, claim.id, "w", ledger.epoch, LEASE)
    ledger.clock.advance(10_000)
    admission = await ledger.admit(claim)
    delivery = await ledger.start(admission)
    ledger.clock.advance(60_000)
    await ledger.write(conclude_execution, delivery, "w", ledger.epoch, observation(Outcome.SUCCEEDED))
    return order


async def test_every_stage_of_a_work_order_is_a_bar(ledger: Ledger, clock: ManualClock) -> None:
    began = clock.now()
    order = await run_one(ledger)
    view = await look(ledger, began - HOUR, clock.now() + HOUR)
    bars = {bar.kind: bar for bar in view.bars if bar.lane == order and bar.purpose == "IMPLEMENT"}
    wait, claim = bars[BarKind.APPROVAL], bars[BarKind.CLAIM]
    assert (wait.start, wait.end, wait.state, wait.note) == (began, began + 60_000, "CONSUMED", "ada")
    assert (claim.start, claim.end, claim.state) == (began + 60_000, began + 100_000, "CONSUMED")
    assert claim.ticks == (began + 90_000,)
    assert claim.until == began + 90_000 + LEASE
    assert (bars[BarKind.DISPATCH].start, bars[BarKind.DISPATCH].end) == (began + 100_000,) * 2
    run = bars[BarKind.EXECUTION]
    assert (run.start, run.end, run.state) == (began + 100_000, began + 160_000, "SUCCEEDED")
    assert [lane.key for lane in view.lanes] == [order]
    assert (view.lanes[0].number, view.lanes[0].title) == (1, "Mend rounding")
    assert view.cells == ()
    assert [mark.kind for mark in view.marks] == [MarkKind.EPOCH]


@pytest.mark.parametrize(
    ("start", "end", "found"),
    [
        (-10, -1, False),
        (-10, 0, True),  # begins exactly at the window's end
        (0, 10, True),
        (20_000, 30_000, True),  # covers the whole window
        (60_000, 70_000, True),  # ends exactly at the window's start
        (60_001, 70_000, False),
    ],
)
async def test_a_bar_is_given_if_it_touches_the_window(
    ledger: Ledger, clock: ManualClock, start: int, end: int, found: bool
) -> None:
    began = clock.now()
    order = await ledger.submit()
    clock.advance(60_000)
    await ledger.approve(order)
    view = await look(ledger, began + start, began + end)
    assert [bar.kind for bar in view.bars] == ([BarKind.APPROVAL] if found else [])


async def test_a_bar_longer_than_an_hour_is_found_in_its_middle(ledger: Ledger, clock: ManualClock) -> None:
    """The two ranges together leave nothing out: short before the window, long before it, still open."""
    began = clock.now()
    long, still_open = await ledger.submit("/a"), await ledger.submit("/b")
    clock.advance(10 * HOUR)
    await ledger.approve(long)
    clock.advance(10 * HOUR)
    view = await look(ledger, began + 5 * HOUR, began + 5 * HOUR + 60_000)
    assert {bar.lane: bar.end for bar in view.bars} == {long: began + 10 * HOUR, still_open: None}
    view = await look(ledger, began + 15 * HOUR, began + 15 * HOUR + 60_000)
    assert [bar.lane for bar in view.bars] == [still_open]


async def test_lanes_by_workspace_and_by_worker(ledger: Ledger, clock: ManualClock) -> None:
    began = clock.now()
    await run_one(ledger, "/a")
    await run_one(ledger, "/b")
    await ledger.write(place_hold, WHOLE_ENGINE, HoldKind.PAUSE, "", PERSON)
    by_place = await look(ledger, began, clock.now(), grouping=Grouping.WORKSPACE)
    assert [lane.key for lane in by_place.lanes] == ["engine", "/a", "/b"]
    by_worker = await look(ledger, began, clock.now(), grouping=Grouping.WORKER)
    assert [lane.key for lane in by_worker.lanes] == ["engine", "people", "w"]
    assert {bar.kind for bar in by_worker.bars if bar.lane == "w"} == {
        BarKind.CLAIM,
        BarKind.DISPATCH,
        BarKind.EXECUTION,
    }


async def test_a_hold_stands_in_the_lane_of_what_it_holds(ledger: Ledger, clock: ManualClock) -> None:
    began = clock.now()
    order = await ledger.submit()
    task = await ledger.task_of(order)
    await ledger.write(place_hold, Node(NodeKind.WORK_ORDER, order), HoldKind.HOLD, "look", PERSON)
    await ledger.write(place_hold, Node(NodeKind.TASK, task["id"]), HoldKind.PAUSE, "", PERSON)
    await ledger.write(place_hold, WHOLE_ENGINE, HoldKind.HOLD, "lunch", PERSON)
    view = await look(ledger, began, clock.now() + 1)
    held = [(bar.lane, bar.state, bar.note) for bar in view.bars if bar.kind is BarKind.HOLD]
    assert sorted(held) == sorted(
        [(order, "HOLD", "look"), (order, "PAUSE", ""), ("engine", "HOLD", "lunch")]
    )


async def test_too_much_is_counted_and_the_longest_stay_bars(
    ledger: Ledger, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline_view, "MOST_BARS", 5)
    began = clock.now()
    waits = await ledger.submit("/long")
    for number in range(10):
        order = await ledger.submit(f"/{number}")
        clock.advance(1_000)
        await ledger.approve(order)
    clock.advance(HOUR)
    view = await look(ledger, began, clock.now(), slices=10, grouping=Grouping.WORKER)
    assert [bar.work_order_id for bar in view.bars] == [waits]
    assert sum(cell.count for cell in view.cells) == 10
    assert {cell.slice for cell in view.cells} == {0}
    assert view.slice_ms * 10 >= view.end - view.start


async def test_lanes_are_bounded_newest_first_and_filtered(ledger: Ledger, clock: ManualClock) -> None:
    began = clock.now()
    for number in range(5):
        await ledger.submit(f"/{number}", title=f"Title {number}")
    view = await look(ledger, began, clock.now() + 1, lanes=2)
    assert [lane.number for lane in view.lanes] == [5, 4]
    assert view.more_lanes
    assert {bar.number for bar in view.bars} == {5, 4}
    for text in ("title 2", "wo-3", "/2"):
        view = await look(ledger, began, clock.now() + 1, text=text)
        assert [lane.number for lane in view.lanes] == [3]
        assert not view.more_lanes
    assert (await look(ledger, began, clock.now() + 1, text="100%")).lanes == ()


async def test_clock_steps_and_sleep_are_marks(ledger: Ledger, clock: ManualClock) -> None:
    def found(tx: Tx, *, now: int) -> None:
        for number, (kind, before, after) in enumerate(
            [("SUSPEND", now, now + HOUR), ("WALL_BACK", now + HOUR, now - HOUR)]
        ):
            tx.run(
                """INSERT INTO clock_anomaly(id, kind, size_ms, wall_before, elapsed_before_ms, boot_before,
                     wall_after, elapsed_after_ms, boot_after, sequence) VALUES (?, ?, 5, ?, 1, 'b', ?, 2, 'b', ?)""",
                (str(number), kind, before, after, number + 1),
            )

    await ledger.write(found)
    now = clock.now()
    view = await look(ledger, now + 1_000, now + 2_000)
    assert [(mark.kind, mark.anomaly) for mark in view.marks] == [(MarkKind.SUSPEND, AnomalyKind.SUSPEND)]
    view = await look(ledger, now - 2 * HOUR, now + 2 * HOUR)
    assert [mark.kind for mark in view.marks] == [MarkKind.SUSPEND, MarkKind.CLOCK_STEP, MarkKind.EPOCH]


async def test_a_turned_or_empty_window_is_refused(ledger: Ledger, clock: ManualClock) -> None:
    for start, end in ((5, 5), (5, 4)):
        with pytest.raises(InvalidValue):
            await look(ledger, start, end)
    with pytest.raises(InvalidValue):
        await look(ledger, 0, 1, lanes=0)


async def test_the_read_goes_by_its_indices(ledger: Ledger) -> None:
    """E-17: each part of each source is a range of an index; nothing of history is scanned."""

    def plan(rx: Rx) -> list[str]:
        values = {"start": 5, "end": 6, "early": 1, "now": 9}
        return [
            row["detail"]
            for source in timeline_view._SOURCES
            for row in rx.all(f"EXPLAIN QUERY PLAN {source.select()}", values)
        ]

    found = await ledger.read(plan)
    scans = [line for line in found if line.startswith("SCAN")]
    assert scans == [], found
