"""The page "Journal": newest first, filtered, followed, verified (E-16)."""

from __future__ import annotations

import sqlite3

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from app.panels.journal import feed as feed_module
from app.panels.journal.page import JournalView
from app.panels.journal.words import detail_words, journal_line, kind_words
from app.panels.rows import Column, RowModel
from engine.actors import ENGINE, Actor, ActorKind
from engine.interfaces.journal_export import ExportForm, Filtered, export_file
from engine.views.journal import JournalFilter
from engine.views.values import JournalRow
from tests.app.panels.work_orders.console import console

__all__ = ["console"]


@pytest.fixture
async def page(console, qtbot):
    made = JournalView(console.session)
    qtbot.addWidget(made)
    made.resize(1000, 600)
    made.show()
    yield made
    await console.settle()


def sequences(page):
    return [page._model.row(place).sequence for place in range(page._model.rowCount())]


async def newest(console):
    return (await console.engine.journal(before=1 << 62, limit=1))[-1].sequence


async def test_the_newest_row_comes_first_and_new_ones_appear(console, page):
    await console.settle()
    before = sequences(page)
    assert before == sorted(before, reverse=True)
    page._table.choose(2)
    chosen = page._model.row(2).sequence
    await console.submit("New")
    await console.settle()
    after = sequences(page)
    assert after[0] == await newest(console) > before[0]
    assert after == list(range(after[0], 0, -1))
    assert page._model.row(page._table.currentIndex().row()).sequence == chosen


async def test_older_rows_come_page_by_page(console, page, monkeypatch):
    monkeypatch.setattr(feed_module, "READ", 10)
    monkeypatch.setattr(feed_module, "PAGE", 10)
    await console.submit("Many rows")
    await console.finished("More rows")
    await page._feed.start()
    assert len(sequences(page)) == 10
    while not page._model.complete:
        await page._feed.more()
    assert sequences(page) == list(range(await newest(console), 0, -1))


async def test_after_a_long_time_away_it_begins_anew(console, page, monkeypatch):
    await console.settle()
    monkeypatch.setattr(feed_module, "READ", 5)
    monkeypatch.setattr(feed_module, "MOST_LOOKED", 10)
    monkeypatch.setattr(feed_module, "PAGE", 5)
    page.hide()
    await console.finished("While nobody looked")
    page.show()
    await console.settle()
    assert sequences(page)[0] == await newest(console)


async def test_rows_that_are_held_are_bounded(console, monkeypatch):
    model = RowModel([Column("No.", lambda row: str(row.sequence))], lambda row: str(row.sequence), str)
    feed = feed_module.JournalFeed(console.engine, model, str)
    await feed.start()
    monkeypatch.setattr(feed_module, "MOST_HELD", 12)
    await console.finished("Goes on")
    await feed.catch_up()
    assert model.rowCount() == 12
    assert not model.complete
    await feed.more()
    held = [model.row(place).sequence for place in range(model.rowCount())]
    assert held == list(range(await newest(console), 0, -1))


async def test_a_work_order_in_the_search_means_that_work_order(console, page):
    first = await console.submit("First")
    await console.submit("Second")
    page.search("wo-1 asked")
    await console.settle()
    rows = [page._model.row(place) for place in range(page._model.rowCount())]
    assert {row.work_order_id for row in rows} == {first}
    assert {row.kind for row in rows} == {"approval.asked"}
    assert "1 row of WO-1 with “asked”" in page._count.text()
    page._clear.click()
    await console.settle()
    assert len(sequences(page)) == await newest(console)


async def test_words_are_looked_for_in_kind_actor_and_details(console, page):
    await console.submit("Peculiar title")
    for text in ("peculiar", "codex-1", "work_order.created"):
        page.search(text)
        await console.settle()
        assert sequences(page), text
    page.search("nothing like this")
    await console.settle()
    assert page._none.isVisibleTo(page)
    page.search("WO-99")
    await console.settle()
    assert "There is no work order WO-99" in page._none.accessibleDescription()


async def test_a_page_may_be_opened_for_one_work_order(console, page):
    identity = await console.submit("Opened")
    page.show_subject(identity)
    await console.settle()
    assert "of WO-1" in page._count.text()
    page._table.choose(0)
    page._open.click()
    assert console.opened == [("work_orders", identity)]


async def test_the_details_of_a_row_are_whole_and_can_be_copied(console, page):
    await console.submit("Detailed")
    await console.settle()
    place = next(
        at for at in range(page._model.rowCount()) if page._model.row(at).kind == "work_order.created"
    )
    page._table.choose(place)
    assert '"title": "Detailed"' in page._detail.toPlainText()
    page._copy.click()
    copied = QGuiApplication.clipboard().text()
    assert "work_order.created" in copied
    assert '"title": "Detailed"' in copied
    text = page._model.index(place, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert "work order: created · agent “codex-1” · Detailed" in text


async def test_e16_a_true_chain_is_said_to_be_true(console, page):
    await console.submit("Chained")
    page._verifying.begin()
    assert page._verifying.running
    await console.settle()
    assert "The chain is true" in page._verifying.result
    assert not page._verifying.running


async def test_e16_an_edited_row_is_found(console, page, folder):
    await console.submit("Edited")
    with sqlite3.connect(folder / "praxis.sqlite") as other:
        for (name,) in other.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            other.execute(f"DROP TRIGGER {name}")
        other.execute('UPDATE journal SET detail = \'{"title": "other"}\' WHERE sequence = 3')
    other.close()
    page._verifying.begin()
    await console.settle()
    assert "NOT true" in page._verifying.result
    assert "Row 3" in page._verifying.result


async def test_verifying_can_be_stopped(console, page):
    page._verifying.begin()
    page._verifying.stop()
    await console.settle()
    assert "Stopped" in page._verifying.result
    assert not page._verifying.running


def test_rows_are_said_in_words():
    row = JournalRow(
        1,
        0,
        1,
        Actor(ActorKind.WORKER, "local"),
        "attempt",
        "A",
        None,
        "attempt.stop_requested",
        {"reason": "enough."},
    )
    assert journal_line(row) == "attempt: stop requested · worker “local” · enough"
    assert kind_words("epoch.taken") == "epoch: taken"
    assert kind_words("attempt.unknown") == "attempt: UNKNOWN"
    assert str(ENGINE)
    assert detail_words({"actual": [12, 20], "overrun": False}) == "actual 12, 20 · overrun no"
    assert detail_words({"outcome": "UNKNOWN", "reason": "x" * 300}).startswith("UNKNOWN · xxx")
    assert len(detail_words({"reason": "x" * 300})) == 160


async def test_rows_are_chosen_by_kind_actor_and_time(console, page):
    await console.submit("One")
    await console.settle()
    page._kinds.setCurrentIndex(page._kinds.findText("Approvals and grants"))
    await console.settle()
    assert {page._model.row(place).kind for place in range(page._model.rowCount())} == {"approval.asked"}
    await console.submit("Two")
    await console.settle()
    assert page._model.rowCount() == 2, "what is written since passes the same choices"
    page._actors.setCurrentIndex(page._actors.findText("Persons"))
    await console.settle()
    assert page._none.isVisibleTo(page)
    assert "let through" in page._none.accessibleDescription()
    page._clear.click()
    await console.settle()
    assert len(sequences(page)) == await newest(console)
    page._span.setCurrentIndex(1)
    await console.settle()
    assert len(sequences(page)) == await newest(console)


async def test_a_subject_is_followed(console, page):
    await console.submit("One")
    await console.submit("Two")
    await console.settle()
    place = next(at for at in range(page._model.rowCount()) if page._model.row(at).kind == "approval.asked")
    page._table.choose(place)
    subject = page._model.row(place).subject_id
    page._only.click()
    await console.settle()
    assert {page._model.row(at).subject_id for at in range(page._model.rowCount())} == {subject}
    assert "about one approval" in page._count.text()


async def test_only_what_is_chosen_is_exported(console, page, tmp_path, monkeypatch):
    await console.submit("One")
    await console.settle()
    page._kinds.setCurrentIndex(page._kinds.findText("Approvals and grants"))
    await console.settle()
    target = tmp_path / "part.jsonl"
    rows = await export_file(Filtered(console.engine, page.filter()), target, ExportForm.JSONL)
    assert rows == 1
    assert '"kind": "approval.asked"' in target.read_text()


@pytest.mark.parametrize(
    ("only", "kinds"),
    [
        (JournalFilter(groups=("approval",)), {"approval.asked"}),
        (JournalFilter(groups=("appr",)), set()),
        (JournalFilter(groups=("%",)), set()),
        (
            JournalFilter(actors=(ActorKind.AGENT,), groups=("task", "scope")),
            {"scope.created", "task.created"},
        ),
        (JournalFilter(actor_name="nobody"), set()),
        (JournalFilter(until=0), set()),
    ],
)
async def test_the_engine_filters_the_journal(console, only, kinds):
    await console.submit("One")
    found = {row.kind for row in await console.engine.journal(limit=500, only=only)}
    assert kinds <= found
    assert bool(found) == bool(kinds)
