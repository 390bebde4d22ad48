"""The queue's model: row signals only, nothing moves while it is held still, equal seals in one row."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from app.panels.inbox.model import Entry, QueueModel, Roles
from tests.app.panels.inbox.samples import inbox_row


def describe(entry: Entry) -> str:
    return f"{entry.row.title} {entry.count}"


@pytest.fixture
def model(qtbot: QtBot) -> Iterator[QueueModel]:
    made = QueueModel(describe, describe)
    tester = QAbstractItemModelTester(made, QAbstractItemModelTester.FailureReportingMode.Fatal)
    made.modelReset.connect(lambda: pytest.fail("the model was reset"))
    yield made
    tester.deleteLater()
    made.deleteLater()


def seals(model: QueueModel) -> list[str]:
    return [model.entry(row).row.seal for row in range(model.rowCount())]


def test_b001_identical_seals_stand_in_one_row_with_a_count(model: QueueModel) -> None:
    model.merge([inbox_row(n, seal="same") for n in range(10)] + [inbox_row(10, seal="other")], [])
    assert seals(model) == ["same", "other"]
    assert model.entry(0).count == 10
    assert [row.approval_id for row in model.members("A0003")] == [f"A{n:04d}" for n in range(10)]


def test_b001_the_changed_argument_of_a_look_alike_is_marked(model: QueueModel) -> None:
    model.merge(
        [
            inbox_row(1, argv=("python", "fix.py", "--issue", "412")),
            inbox_row(2, argv=("python", "fix.py", "--issue", "413")),
            inbox_row(3, argv=("python", "other.py", "--all", "9")),
            inbox_row(4, argv=("python", "fix.py", "--issue", "412"), workspace="/elsewhere"),
        ],
        [],
    )
    assert [sorted(model.entry(row).marks) for row in range(4)] == [[3], [3], [], []]
    model.merge([], ["A0002"])
    assert model.entry(0).marks == frozenset(), "nothing to be told apart from any more"


def test_a_count_knows_of_pages_not_read_yet(model: QueueModel) -> None:
    model.merge([inbox_row(1, seal="same", alike=25)], [])
    assert model.entry(0).count == 25


def test_arrivals_go_to_their_place_by_age(model: QueueModel) -> None:
    model.merge([inbox_row(2), inbox_row(4)], [])
    model.merge([inbox_row(3)], [])
    assert seals(model) == ["seal 2", "seal 3", "seal 4"]


def test_a_group_keeps_its_place_when_its_oldest_is_decided(model: QueueModel) -> None:
    model.merge([inbox_row(1, seal="a"), inbox_row(2, seal="b"), inbox_row(3, seal="a")], [])
    model.merge([], ["A0001"])
    assert seals(model) == ["a", "b"]
    assert model.entry(0).row.approval_id == "A0003"


def test_b002_held_still_nothing_moves(model: QueueModel) -> None:
    model.merge([inbox_row(n) for n in (2, 4, 6)], [])
    model.hold_still(True)
    model.merge([inbox_row(3), inbox_row(7)], ["A0002"])
    assert seals(model) == ["seal 2", "seal 4", "seal 6", "seal 3", "seal 7"]
    assert model.entry(0).gone
    assert model.entry(0).count == 0
    assert model.ends_to_name() == ["A0002"]
    model.name_end("A0002", "expired")
    assert model.entry(0).end == "expired"
    assert model.ends_to_name() == []
    assert model.ends_to_name(["A0002"]) == ["A0002"], "it may have become something else since"
    model.hold_still(False)
    assert seals(model) == ["seal 3", "seal 4", "seal 6", "seal 7"]


def test_the_row_being_looked_at_stays_until_another_is(model: QueueModel) -> None:
    model.merge([inbox_row(1), inbox_row(2)], [])
    model.keep("A0001")
    model.merge([], ["A0001"])
    assert seals(model) == ["seal 1", "seal 2"]
    assert model.row_of("A0001") == 0
    model.keep("A0002")
    assert seals(model) == ["seal 2"]
    assert model.row_of("A0001") == -1


def test_asked_again_with_the_same_seal_is_a_row_of_its_own(model: QueueModel) -> None:
    model.merge([inbox_row(1, seal="a"), inbox_row(2, seal="b")], [])
    model.keep("A0001")
    model.merge([inbox_row(3, seal="a")], ["A0001"])
    assert [model.entry(row).gone for row in range(3)] == [True, False, False]
    model.keep("A0003")
    assert seals(model) == ["b", "a"]


def test_only_what_changed_is_said_to_have_changed(model: QueueModel) -> None:
    model.merge([inbox_row(n) for n in range(10)], [])
    said: list[tuple[int, int]] = []
    model.dataChanged.connect(lambda first, last: said.append((first.row(), last.row())))
    model.merge([inbox_row(n) for n in range(10)], [])
    assert said == []
    model.merge([inbox_row(3, changed=True), inbox_row(4, changed=True), inbox_row(8, changed=True)], [])
    assert said == [(3, 4), (8, 8)]


def test_the_next_that_waits(model: QueueModel) -> None:
    model.merge([inbox_row(n) for n in range(4)], [])
    model.hold_still(True)
    model.merge([], ["A0002", "A0003"])
    assert model.next_waiting(0) == 1
    assert model.next_waiting(1) == 0, "what waits before it, when nothing waits behind"
    model.merge([], ["A0000", "A0001"])
    assert model.next_waiting(0) == -1


def test_more_is_asked_for_until_complete(model: QueueModel) -> None:
    asked: list[None] = []
    model.more_wanted.connect(lambda: asked.append(None))
    assert not model.canFetchMore(QModelIndex())
    model.complete = False
    assert model.canFetchMore(QModelIndex())
    model.fetchMore(QModelIndex())
    assert len(asked) == 1


def test_b118_rows_have_a_text_for_screen_readers(model: QueueModel) -> None:
    model.merge([inbox_row(1, seal="a"), inbox_row(2, seal="a")], [])
    index = model.index(0)
    assert index.data(Qt.ItemDataRole.AccessibleTextRole) == "Title 1 2"
    assert index.data(Qt.ItemDataRole.DisplayRole) == "Title 1"
    assert isinstance(index.data(Roles.ENTRY), Entry)


_STEP = st.one_of(
    st.tuples(st.just("take"), st.integers(0, 30), st.sampled_from("abcdefgh")),
    st.tuples(st.just("leave"), st.integers(0, 30), st.just("")),
    st.tuples(st.just("still"), st.integers(0, 1), st.just("")),
    st.tuples(st.just("keep"), st.integers(0, 30), st.just("")),
)


@given(steps=st.lists(_STEP, max_size=60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_edits_keep_the_model_true(qtbot: QtBot, steps: list[tuple[str, int, str]]) -> None:
    model = QueueModel(describe, describe)
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    waiting: dict[int, str] = {}
    ended: set[int] = set()
    still = False
    for what, number, seal in steps:
        before = [model.entry(row).order for row in range(model.rowCount())]
        match what:
            case "take" if number not in ended:
                waiting.setdefault(number, seal)
                model.merge([inbox_row(number, seal=waiting[number])], [])
            case "leave" if number in waiting:
                del waiting[number]
                ended.add(number)
                model.merge([], [f"A{number:04d}"])
            case "still":
                still = bool(number)
                model.hold_still(still)
            case "keep":
                model.keep(f"A{number:04d}")
        entries = [model.entry(row) for row in range(model.rowCount())]
        found = {row.approval_id: row.seal for entry in entries for row in entry.members}
        assert found == {f"A{number:04d}": seal for number, seal in waiting.items()}
        assert all(len({row.seal for row in entry.members}) <= 1 for entry in entries)
        assert len({entry.row.seal for entry in entries if entry.members}) == sum(
            1 for entry in entries if entry.members
        ), "one row for each seal that waits"
        after = [entry.order for entry in entries]
        if still and what != "still":
            assert after[: len(before)] == before, "nothing moved"
        if not still:
            assert after == sorted(after)
            assert sum(1 for entry in entries if not entry.members) <= 1, "only the kept row stays"
    tester.deleteLater()
    model.deleteLater()
