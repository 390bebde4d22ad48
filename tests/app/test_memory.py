"""What the start has made is left out of later collections of garbage."""

from __future__ import annotations

import gc
import weakref

import pytest

from app import memory
from app.memory import set_start_aside


@pytest.fixture(autouse=True)
def _as_if_just_started():
    """Nothing is set aside yet, and a collection happens only when a test asks for it."""
    before = list(gc.callbacks)
    gc.unfreeze()
    gc.disable()
    yield
    gc.enable()
    gc.callbacks[:] = before
    gc.unfreeze()


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


def test_when_a_full_collection_becomes_long_what_stayed_is_set_aside_too(monkeypatch) -> None:
    set_start_aside()
    kept = [Ring() for _ in range(1_000)]
    gc.collect()
    assert len(gc.get_objects()) >= 1_000, "a short one changes nothing"
    monkeypatch.setattr(memory, "LONG_SECONDS", -1.0)
    gc.collect()
    assert len(gc.get_objects()) < 1_000
    dropped = weakref.ref(kept[0])
    kept[0].me = None
    kept.clear()
    assert dropped() is None, "it is still freed when nothing refers to it"
