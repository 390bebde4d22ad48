"""Idempotency keys: a repeat changes nothing, and a key never answers for another command (E-70)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.clock import ManualClock
from engine.control.cancel import cancel
from engine.control.holds import WHOLE_ENGINE, Node, place_hold, resume
from engine.errors import InvalidValue
from engine.states import HoldKind, NodeKind, TaskState
from tests.ledger import PERSON, Ledger


@pytest.fixture
async def ledger(folder: Path, clock: ManualClock) -> AsyncIterator[Ledger]:
    opened = await Ledger.open(folder, clock)
    yield opened
    await opened.close()


async def test_a_key_stands_for_one_command_on_one_node(ledger: Ledger) -> None:
    """E-70: what looks like a repeat but is another command is refused, and nothing is done in silence."""
    order, other = await ledger.submit(), await ledger.submit("/elsewhere")
    node = Node(NodeKind.WORK_ORDER, order)
    await ledger.write(place_hold, node, HoldKind.HOLD, "look first", PERSON, "k-1")
    for attempt in (
        (resume, node, PERSON, "fine", "k-1"),
        (cancel, node, PERSON, "no", "k-1"),
        (place_hold, WHOLE_ENGINE, HoldKind.HOLD, "look first", PERSON, "k-1"),
        (place_hold, node, HoldKind.PAUSE, "", PERSON, "k-1"),
    ):
        with pytest.raises(InvalidValue, match="k-1"):
            await ledger.write(*attempt)
    await ledger.write(resume, node, PERSON, "fine", "k-2")
    with pytest.raises(InvalidValue, match="k-2"):
        await ledger.write(place_hold, node, HoldKind.HOLD, "again", PERSON, "k-2")
    await ledger.write(cancel, node, PERSON, "no", "k-3")
    assert await ledger.write(cancel, node, PERSON, "no", "k-3") == ()
    with pytest.raises(InvalidValue, match="k-3"):
        await ledger.write(cancel, Node(NodeKind.WORK_ORDER, other), PERSON, "no", "k-3")
    assert (await ledger.task_of(other))["state"] == TaskState.READY


async def test_a_repeat_after_resume_holds_nothing_again(ledger: Ledger) -> None:
    """E-70: also where the first call found a hold that was there already."""
    await ledger.write(place_hold, WHOLE_ENGINE, HoldKind.HOLD, "first", PERSON)
    held = await ledger.write(place_hold, WHOLE_ENGINE, HoldKind.HOLD, "second", PERSON, "k")
    await ledger.write(resume, WHOLE_ENGINE, PERSON, "fine")
    again = await ledger.write(place_hold, WHOLE_ENGINE, HoldKind.HOLD, "second", PERSON, "k")
    assert again["id"] == held["id"]
    assert await ledger.all("SELECT id FROM hold WHERE released_at IS NULL") == []


async def test_a_submission_key_answers_only_for_what_it_asked(ledger: Ledger) -> None:
    """E-91: the same key with another work order is refused; it must not look as if that one had been saved."""
    first = await ledger.submit(key="call-1")
    assert await ledger.submit(key="call-1") == first
    with pytest.raises(InvalidValue, match="WO-1"):
        await ledger.submit(title="Something else", key="call-1")
    assert len(await ledger.all("SELECT id FROM work_order")) == 1


async def test_a_task_cancelled_before_its_delivery_is_cancelled(ledger: Ledger) -> None:
    """E-71: it provably never started, so it ends, and does not come back behind a new approval."""
    order = await ledger.submit()
    await ledger.approve(order)
    (claim,) = await ledger.claim()
    await ledger.admit(claim)
    task = await ledger.task_of(order)
    assert await ledger.write(cancel, Node(NodeKind.TASK, task["id"]), PERSON, "no longer") == ()
    assert (await ledger.task_of(order))["state"] == TaskState.CANCELLED
    assert (await ledger.one("SELECT state FROM attempt"))["state"] == "VOIDED"
    assert (await ledger.one("SELECT state FROM work_order"))["state"] == "DECISION_NEEDED"
