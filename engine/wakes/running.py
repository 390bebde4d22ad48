"""What runs just now in this context: from it the depth of new wakes follows, without any sink's doing (S-08)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from engine.wakes.values import Wake

_running: ContextVar[Wake | None] = ContextVar("running_wake", default=None)


@contextmanager
def running(wake: Wake) -> Iterator[None]:
    """Mark everything within, and every task started within, as done by the sink of ``wake``."""
    token = _running.set(wake)
    try:
        yield
    finally:
        _running.reset(token)


def running_wake() -> Wake | None:
    """The wake whose sink runs in this context; None for an ordinary caller."""
    return _running.get()
