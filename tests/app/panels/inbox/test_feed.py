"""The queue is a query over what is stored: whatever changed, the model ends up with what is there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from app.panels.inbox.feed import QueueFeed
from app.panels.inbox.model import QueueModel, order_of
from engine.errors import NotFound
from engine.states import ApprovalState
from engine.views.values import ApprovalCard, InboxRow
from tests.app.panels.inbox.samples import approval_card, inbox_row


class StoredInbox:
    """An inbox in memory with the engine's reading calls, which counts them."""

    def __init__(self, numbers: Iterator[int] | range = range(0)) -> None:
        self.rows = {f"A{n:04d}": inbox_row(n) for n in numbers}
        self.ended: dict[str, ApprovalState] = {}
        self.asked: dict[str, InboxRow] = dict(self.rows)
        self.reads: list[str | None] = []
        self.gate: asyncio.Event | None = None

    async def inbox(self, *, after: str | None = None, limit: int = 200) -> tuple[InboxRow, ...]:
        self.reads.append(after)
        if self.gate is not None:
            await self.gate.wait()
        start = order_of(self.asked[after]) if after else (0, "")
        return tuple(sorted((row for row in self.rows.values() if order_of(row) > start), key=order_of))[
            :limit
        ]

    async def card(self, approval_id: str) -> ApprovalCard:
        if approval_id not in self.asked:
            raise NotFound("gone")
        return approval_card(
            approval_id=approval_id, state=self.ended.get(approval_id, ApprovalState.PENDING)
        )

    def ask(self, number: int, asked_at: int | None = None) -> str:
        row = inbox_row(number) if asked_at is None else inbox_row(number, asked_at=asked_at)
        self.rows[row.approval_id] = self.asked[row.approval_id] = row
        return row.approval_id

    def end(self, number: int, state: ApprovalState = ApprovalState.APPROVED) -> str:
        approval_id = f"A{number:04d}"
        del self.rows[approval_id]
        self.ended[approval_id] = state
        return approval_id


@pytest.fixture
def model(qtbot: QtBot) -> Iterator[QueueModel]:
    made = QueueModel(lambda entry: entry.row.title, lambda entry: entry.row.title)
    tester = QAbstractItemModelTester(made, QAbstractItemModelTester.FailureReportingMode.Fatal)
    yield made
    tester.deleteLater()
    made.deleteLater()


def shown(model: QueueModel) -> list[str]:
    return [model.entry(row).row.approval_id for row in range(model.rowCount())]


async def test_reads_by_pages_only_as_far_as_wanted(model: QueueModel) -> None:
    stored = StoredInbox(range(25))
    feed = QueueFeed(stored, model, page=10)
    assert not feed.started
    await feed.read_all_again()
    assert feed.started
    assert len(shown(model)) == 10
    assert not model.complete
    await feed.more()
    await feed.more()
    assert shown(model) == sorted(stored.rows)
    assert model.complete
    assert stored.reads == [None, "A0009", "A0019"]
    await feed.more()
    assert len(stored.reads) == 3, "nothing is read behind the end"


async def test_a_change_reads_only_the_page_it_touches(model: QueueModel) -> None:
    stored = StoredInbox(range(30))
    feed = QueueFeed(stored, model, page=10)
    for read in (feed.read_all_again, feed.more, feed.more, feed.more):
        await read()
    stored.reads.clear()
    await feed.catch_up([stored.end(15), "an id of something not loaded"], arrivals=False)
    assert stored.reads == ["A0009"]
    assert shown(model) == sorted(stored.rows)


async def test_arrivals_are_read_behind_the_last(model: QueueModel) -> None:
    stored = StoredInbox(range(3))
    feed = QueueFeed(stored, model, page=10)
    await feed.read_all_again()
    stored.reads.clear()
    touched = [stored.ask(number) for number in range(3, 29)]
    await feed.catch_up(touched, arrivals=True)
    assert shown(model) == sorted(stored.rows)
    assert stored.reads == ["A0002", "A0012", "A0022"]


async def test_arrivals_beyond_the_loaded_part_wait_until_wanted(model: QueueModel) -> None:
    stored = StoredInbox(range(30))
    feed = QueueFeed(stored, model, page=10)
    await feed.read_all_again()
    stored.reads.clear()
    await feed.catch_up([stored.ask(40)], arrivals=True)
    assert stored.reads == []


async def test_asked_under_a_clock_set_back_is_found_by_reading_all_again(model: QueueModel) -> None:
    stored = StoredInbox(range(5, 10))
    feed = QueueFeed(stored, model, page=10)
    await feed.read_all_again()
    await feed.catch_up([stored.ask(50, asked_at=inbox_row(1).asked_at)], arrivals=True)
    await feed.read_all_again()
    assert shown(model) == ["A0050", "A0005", "A0006", "A0007", "A0008", "A0009"]


async def test_rows_that_stay_in_sight_say_how_they_ended(model: QueueModel) -> None:
    stored = StoredInbox(range(3))
    feed = QueueFeed(stored, model)
    await feed.read_all_again()
    model.hold_still(True)
    await feed.catch_up([stored.end(0, ApprovalState.EXPIRED), stored.end(2)], arrivals=False)
    assert [model.entry(row).end for row in range(3)] == ["expired", "", "approved"]


async def test_overlapping_calls_are_served_one_after_another(model: QueueModel) -> None:
    stored = StoredInbox(range(25))
    stored.gate = asyncio.Event()
    feed = QueueFeed(stored, model, page=10)
    tasks = [asyncio.ensure_future(feed.read_all_again()), asyncio.ensure_future(feed.more())]
    tasks += [asyncio.ensure_future(feed.catch_up(["A0003"], arrivals=True)) for _ in range(3)]
    await asyncio.sleep(0)
    assert feed.busy
    stored.end(3)
    stored.gate.set()
    await asyncio.gather(*tasks)
    loaded = shown(model)
    assert loaded == sorted(stored.rows)[: len(loaded)]
    assert len(loaded) >= 9


@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("ask"), st.integers(0, 60)),
            st.tuples(st.just("end"), st.integers(0, 60)),
            st.tuples(st.just("tell"), st.just(0)),
            st.tuples(st.just("more"), st.just(0)),
        ),
        max_size=50,
    ),
    page=st.integers(1, 7),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_happens_the_loaded_part_is_what_is_stored(
    qtbot: QtBot, steps: list[tuple[str, int]], page: int
) -> None:
    model = QueueModel(lambda entry: entry.row.title, lambda entry: entry.row.title)
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    stored = StoredInbox(range(10, 20))
    feed = QueueFeed(stored, model, page=page)

    async def play() -> None:
        await feed.read_all_again()
        untold: list[str] = []
        newest = 100
        for what, number in steps:
            waiting = sorted(stored.rows)
            match what:
                case "ask":
                    newest += 1
                    untold.append(stored.ask(newest))
                case "end" if waiting:
                    untold.append(stored.end(int(waiting[number % len(waiting)][1:])))
                case "tell":
                    await feed.catch_up(untold, arrivals=True)
                    untold.clear()
                case "more":
                    await feed.more()
        await feed.catch_up(untold, arrivals=True)
        loaded = shown(model)
        assert loaded == sorted(stored.rows)[: len(loaded)]
        if model.complete:
            assert len(loaded) == len(stored.rows)

    asyncio.run(play())
    tester.deleteLater()
    model.deleteLater()
