"""Reasons and amounts that nothing can store: refused in a sentence, with nothing changed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.clock import ManualClock
from engine.control.decisions import Finding
from engine.control.holds import WHOLE_ENGINE, place_hold
from engine.errors import InvalidValue
from engine.states import HoldKind, Outcome
from tests.ledger import PERSON, Ledger


@pytest.fixture
async def ledger(folder: Path, clock: ManualClock) -> AsyncIterator[Ledger]:
    opened = await Ledger.open(folder, clock)
    yield opened
    await opened.close()


async def test_half_of_a_surrogate_pair_is_refused(ledger: Ledger) -> None:
    with pytest.raises(InvalidValue, match="surrogate"):
        await ledger.write(place_hold, WHOLE_ENGINE, HoldKind.HOLD, "half \ud800", PERSON)
    assert await ledger.all("SELECT id FROM hold") == []


@pytest.mark.parametrize("odd", [-1, 10**15 + 1, 2**63 - 1, 2**70, True, 1.5, float("nan")])
async def test_an_actual_use_that_is_no_amount_is_refused(ledger: Ledger, odd: object) -> None:
    """E-61, E-72: a settled use can always be added up in every scope above it."""
    order = await ledger.submit()
    attempt = await ledger.run(order, Outcome.UNKNOWN)
    for cost, active_ms in ((odd, None), (None, odd)):
        with pytest.raises(InvalidValue, match="whole number"):
            await ledger.reconcile(attempt, Finding.TOOK_EFFECT, "it is there", cost, active_ms)
    assert (await ledger.one("SELECT state FROM attempt"))["state"] == "UNKNOWN"
    assert await ledger.all("SELECT id FROM decision") == []
