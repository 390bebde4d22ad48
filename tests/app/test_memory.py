"""What the start has made is left out of later collections of garbage."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication

from app import event_loop, memory
from app.memory import collect_what_is_due, set_start_aside


@pytest.fixture(autouse=True)
def _as_if_just_started() -> Iterator[None]:
    """Nothing is set aside yet, and a collection happens only when a test asks for it."""
    gc.unfreeze()
    gc.disable()
    yield
    gc.collect()
    gc.freeze()


class Ring:
    def __init__(self) -> None:
        self.me = self


def test_a_full_collection_looks_at_nothing_from_before() -> None:
    set_start_aside()
    assert len(gc.get_objects()) < 1_000
    assert gc.get_freeze_count() > 10_000


def test_opened_again_frees_what_the_first_window_left_in_rings() -> None:
    left = weakref.ref(Ring())
    set_start_aside()
    assert left() is not None
    set_start_aside()
    assert left() is None


def test_when_a_full_collection_becomes_long_what_stayed_is_set_aside_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_start_aside()
    monkeypatch.setattr(gc, "get_count", lambda: (701, 11, 11))
    kept = [Ring() for _ in range(1_000)]
    collect_what_is_due()
    assert len(gc.get_objects()) >= 1_000, "a short one changes nothing"
    monkeypatch.setattr(memory, "LONG_SECONDS", -1.0)
    collect_what_is_due()
    assert len(gc.get_objects()) < 1_000
    dropped = weakref.ref(kept[0])
    kept[0].me = None
    kept.clear()
    assert dropped() is None, "it is still freed when nothing refers to it"


@pytest.mark.parametrize(
    ("counts", "collected"),
    [
        ((700, 11, 11), None),
        ((701, 10, 10), 0),
        ((701, 11, 10), 1),
        ((701, 10, 11), 2),
        ((701, 11, 11), 2),
    ],
)
def test_the_oldest_generation_that_is_due_is_collected_and_none_before_the_youngest(
    monkeypatch: pytest.MonkeyPatch, counts: tuple[int, int, int], collected: int | None
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(gc, "get_count", lambda: counts)
    monkeypatch.setattr(gc, "get_threshold", lambda: (700, 10, 10))
    monkeypatch.setattr(gc, "collect", seen.append)
    collect_what_is_due()
    assert seen == ([] if collected is None else [collected])


def test_rings_are_freed_in_the_thread_of_the_window_though_a_worker_made_them(qapp: QApplication) -> None:
    """A widget in a ring that a worker thread's collection frees takes Qt and the whole console with it."""
    gc.enable()
    freed_in: list[int] = []

    class Widget(Ring):
        def __del__(self) -> None:
            freed_in.append(threading.get_ident())

    def work() -> None:
        Widget()
        more: list[Ring] = [Ring() for _ in range(100_000)]
        more.clear()

    async def main() -> None:
        await asyncio.to_thread(work)
        async with asyncio.timeout(30):
            while not freed_in:
                await asyncio.sleep(0.01)

    event_loop.run(main, qapp)
    assert freed_in == [threading.get_ident()]
