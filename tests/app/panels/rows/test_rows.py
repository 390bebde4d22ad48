"""Lists that change (B-058): pages by key, row signals only, selection and scroll stay."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, replace

import pytest
from PySide6.QtCore import QPersistentModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest

from app.panels.rows import Card, CardBadge, CardDelegate, CardLine, Column, RowFeed, RowList, RowModel
from app.theme import Tone
from app.widgets import Times


@dataclass(frozen=True)
class Thing:
    key: str
    changed: int
    word: str = ""
    shown: bool = True


class Source:
    """An engine with things, newest change first, or newest key first."""

    def __init__(self, count=0, *, changed_first=True):
        self.things = {f"{n:05}": Thing(f"{n:05}", n) for n in range(count)}
        self.now = count
        self.changed_first = changed_first
        self.reads = 0

    def order(self, thing):
        return (thing.changed, thing.key) if self.changed_first else thing.key

    def listed(self):
        return sorted((t for t in self.things.values() if t.shown), key=self.order, reverse=True)

    async def read(self, after, limit):
        self.reads += 1
        await asyncio.sleep(0)
        listed = self.listed()
        if after is not None:
            last = self.order(self.things[after])
            listed = [thing for thing in listed if self.order(thing) < last]
        return listed[:limit]

    def change(self, key, **fields):
        self.now += 1
        self.things[key] = replace(self.things[key], changed=self.now, **fields)

    def add(self):
        self.now += 1
        key = f"{len(self.things):05}"
        self.things[key] = Thing(key, self.now)
        return key


def make(source, page=10):
    model = RowModel(
        [Column("Key", lambda thing: thing.key), Column("Word", lambda thing: thing.word)],
        lambda thing: thing.key,
        lambda thing: f"thing {thing.key}",
    )
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    feed = RowFeed(model, source.read, lambda thing: thing.key, changed_first=source.changed_first, page=page)
    return model, feed, tester


def held(model):
    return [model.row(number) for number in range(model.rowCount())]


@pytest.mark.parametrize("changed_first", [True, False])
@pytest.mark.parametrize("seed", range(6))
async def test_b058_any_changes_leave_the_list_as_the_engine_has_it(qapp, seed, changed_first):
    chance = random.Random(seed)
    source = Source(35, changed_first=changed_first)
    model, feed, _tester = make(source)
    await feed.start()
    for _ in range(60):
        touched = set()
        for _ in range(chance.choice((0, 1, 1, 2, 15))):
            action = chance.random()
            key = chance.choice(list(source.things))
            if action < 0.3:
                touched.add(source.add())
            elif action < 0.8 or not changed_first:
                source.change(key, word=str(chance.random()))
                touched.add(key)
            else:
                source.change(key, shown=chance.random() < 0.6)
                touched.add(key)
        if touched:
            await feed.catch_up(touched)
        if chance.random() < 0.3:
            await feed.more()
        if chance.random() < 0.1:
            await feed.read_again(model.rowCount())
        listed = source.listed()
        assert held(model) == listed[: model.rowCount()]
        assert model.complete == (model.rowCount() >= len(listed)) or not model.complete


async def test_pages_are_read_when_wanted_and_to_the_end(qapp):
    source = Source(35)
    model, feed, _tester = make(source)
    await feed.start()
    assert model.rowCount() == 10
    assert model.canFetchMore(model.index(-1, -1))
    while not model.complete:
        await feed.more()
    assert held(model) == source.listed()
    reads = source.reads
    await feed.more()
    assert source.reads == reads


async def test_a_list_that_grew_beyond_a_page_is_read_on(qapp):
    source = Source(4)
    model, feed, _tester = make(source)
    await feed.start()
    assert model.complete
    for _ in range(20):
        source.add()
    await feed.read_again(model.rowCount())
    assert not model.complete
    while not model.complete:
        await feed.more()
    assert held(model) == source.listed()


async def test_a_new_filter_drops_what_the_old_one_still_reads(qapp):
    source = Source(35)
    model, feed, _tester = make(source)
    await feed.start()
    late = asyncio.gather(feed.more(), feed.catch_up({"00001"}))
    await asyncio.sleep(0)
    await feed.start()
    await late
    assert held(model) == source.listed()[:10]


async def test_one_change_reads_one_page(qapp):
    source = Source(500)
    model, feed, _tester = make(source, page=50)
    await feed.start()
    for _ in range(5):
        await feed.more()
    reads = source.reads
    source.change("00250")
    await feed.catch_up({"00250"})
    assert source.reads == reads + 1
    assert model.row(0).key == "00250"


async def test_after_a_long_time_away_it_begins_anew(qapp):
    source = Source(700)
    model, feed, _tester = make(source, page=50)
    await feed.start()
    for key in list(source.things):
        source.change(key, word="other")
    reads = source.reads
    await feed.catch_up(set(source.things))
    assert source.reads == reads + 1
    assert held(model) == source.listed()[:50]


@pytest.fixture
def shown(qtbot, themed):
    def build(source):
        model, feed, tester = make(source, page=50)
        times = Times(lambda: 0)
        delegate = CardDelegate(
            lambda thing: Card(
                thing.key, (CardBadge("a word", Tone.OK),), CardLine(thing.word or "line"), "facts"
            )
        )
        view = RowList(model, delegate, times, "Things")
        times.setParent(view)
        model.setParent(view)
        tester.setParent(view)
        qtbot.addWidget(view)
        view.resize(300, 400)
        view.show()
        return model, feed, view

    return build


async def test_b058_selection_and_scroll_stay_while_rows_move_above(shown):
    source = Source(100)
    model, feed, view = shown(source)
    await feed.start()
    view.choose(30)
    selected = model.row(30).key
    height = view.visualRect(view.currentIndex()).height()
    view.verticalScrollBar().setValue(28 * height + 5)
    before = view.visualRect(view.currentIndex()).top()
    for _ in range(7):
        source.add()
    source.change(model.row(29).key)
    source.change("00002")
    await feed.catch_up(set(source.things))
    assert model.row(view.currentIndex().row()).key == selected
    assert view.visualRect(view.currentIndex()).top() == before
    source.change(selected, word="new")
    await feed.catch_up({selected})
    assert model.row(view.currentIndex().row()).key == selected
    assert view.currentIndex().row() == 0


async def test_the_top_stays_the_top(shown):
    source = Source(100)
    _model, feed, view = shown(source)
    await feed.start()
    source.add()
    await feed.catch_up(set(source.things))
    assert view.verticalScrollBar().value() == 0


async def test_keys_choose_and_open(shown, qtbot):
    source = Source(5)
    model, feed, view = shown(source)
    await feed.start()
    view.choose(0)
    chosen, opened = [], []
    view.chosen.connect(chosen.append)
    view.opened.connect(lambda: opened.append(view.currentIndex().row()))
    QTest.keyClick(view, Qt.Key.Key_Down)
    QTest.keyClick(view, Qt.Key.Key_Return)
    QTest.keyClicks(view, "00004")
    assert chosen == [1]
    assert opened == [1]
    assert model.index(1, 0).data(Qt.ItemDataRole.AccessibleTextRole) == f"thing {model.row(1).key}"


async def test_persistent_places_follow_their_rows(qapp):
    source = Source(20)
    model, feed, _tester = make(source, page=30)
    await feed.start()
    places = {model.row(n).key: QPersistentModelIndex(model.index(n, 0)) for n in range(20)}
    source.change("00003", shown=False)
    source.change("00007")
    source.add()
    await feed.catch_up({"00003", "00007", "00020"})
    for key, place in places.items():
        assert place.isValid() == (key != "00003")
        if place.isValid():
            assert model.row(place.row()).key == key
