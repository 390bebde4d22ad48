"""Sinks: what firing does, by kind. They are plain functions of the host; no code is stored.

An *in-transaction* sink is ``function(tx, wake)``, synchronous: its effect and ``fired`` commit together, so it
takes effect exactly once. It works through ``tx`` alone and may be run twice, the first time undone. If it has a
parameter ``now``, it gets the transaction's instant. An *external* sink
is ``async function(wake)``: it runs at least once, and again after a crash; `AlarmClock.once` makes its effects
happen at most once. A sink that finds that its wake is wanted no more, and has done nothing, raises `CalledOff`.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from engine.errors import InvalidValue
from engine.instants import Instant, require_batch
from engine.wakes.firing import Effect
from engine.wakes.store import Transaction
from engine.wakes.times import Duration, duration
from engine.wakes.values import Wake

External: TypeAlias = Callable[[Wake], Awaitable[object]]
"""An external sink."""

NO_LIMIT = "none"
"""As a time limit: this kind may run for ever."""


@dataclass(frozen=True, slots=True)
class Sink:
    """A registered sink; make it with `in_transaction` or `external`. None: as the settings say."""

    effect: Effect | None
    run: External | None
    time_limit_ms: int | None
    unlimited: bool
    max_attempts: int | None


def in_transaction(function: Callable[..., object], *, max_attempts: int | None = None) -> Sink:
    """Make a sink whose effect commits with its wake. It must be quick: nothing else is written meanwhile."""
    if inspect.iscoroutinefunction(function):
        raise InvalidValue(
            "An in-transaction sink is a plain function.", do="Use external for an async function."
        )
    parameters = inspect.signature(function).parameters
    if "now" in parameters:

        def effect(tx: Transaction, wake: Wake, now: Instant) -> object:
            return function(tx, wake, now=now)
    else:

        def effect(tx: Transaction, wake: Wake, now: Instant) -> object:
            return function(tx, wake)

    return Sink(effect, None, None, True, _attempts(max_attempts))


def external(
    function: Callable[[Wake], Awaitable[Any]],
    *,
    time_limit: Duration | None = None,
    max_attempts: int | None = None,
) -> Sink:
    """Make a sink that runs outside any transaction, for at most ``time_limit`` (`NO_LIMIT`: for ever)."""
    unlimited = time_limit == NO_LIMIT
    limit = None if time_limit is None or unlimited else duration(time_limit, "time_limit")
    return Sink(None, function, limit, unlimited, _attempts(max_attempts))


def _attempts(value: int | None) -> int | None:
    return None if value is None else require_batch(value, "max_attempts")
