"""What those may do who only ask, and the record of what they may not (E-90)."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.actors import Actor, ActorKind
from engine.clock import ManualClock
from engine.control.asking import REFUSALS_A_MINUTE, note_refusal, take_back
from engine.errors import NotFound, WrongState
from tests.ledger import AGENT, Ledger

OTHER = Actor(ActorKind.AGENT, "other")
SAME_NAME = Actor(ActorKind.SCRIPT, AGENT.name)


async def test_e90_who_asked_may_take_back_what_was_not_authorised(folder: Path, clock: ManualClock) -> None:
    ledger = await Ledger.open(folder, clock)
    order = await ledger.submit()
    await ledger.approve(order)
    for _ in range(2):
        await ledger.write(take_back, order, AGENT, "not needed any more")
        assert (await ledger.one("SELECT state FROM work_order"))["state"] == "CANCELLED"
    assert (await ledger.approval_of(order))["state"] == "WITHDRAWN"
    assert await ledger.claim() == ()
    row = await ledger.one("SELECT * FROM journal WHERE kind = 'approval.withdrawn'")
    assert (row["actor_kind"], row["actor_name"]) == ("agent", AGENT.name)
    await ledger.close()


async def test_e90_nobody_takes_back_what_another_asked_for_or_learns_of_it(
    folder: Path, clock: ManualClock
) -> None:
    ledger = await Ledger.open(folder, clock)
    order = await ledger.submit()
    said = set()
    for actor in (OTHER, SAME_NAME):
        for name in (order, "01JZZZZZZZZZZZZZZZZZZZZZZZ"):
            with pytest.raises(NotFound) as caught:
                await ledger.write(take_back, name, actor, "mine now")
            said.add(str(caught.value).replace(name, "it").replace(str(actor), "who"))
    assert len(said) == 1
    assert (await ledger.one("SELECT state FROM work_order"))["state"] == "ACTIVE"
    await ledger.close()


async def test_e90_what_was_authorised_is_a_persons_to_cancel(folder: Path, clock: ManualClock) -> None:
    ledger = await Ledger.open(folder, clock)
    order = await ledger.submit()
    await ledger.approve(order)
    (claim,) = await ledger.claim()
    await ledger.admit(claim)
    with pytest.raises(WrongState, match="only a person can cancel"):
        await ledger.write(take_back, order, AGENT, "too late")
    assert (await ledger.one("SELECT state FROM work_order"))["state"] == "ACTIVE"
    await ledger.close()


async def test_e90_refusals_are_journalled_but_cannot_flood_the_journal(
    folder: Path, clock: ManualClock
) -> None:
    ledger = await Ledger.open(folder, clock)
    noted = [await ledger.write(note_refusal, AGENT, "approve") for _ in range(REFUSALS_A_MINUTE + 20)]
    assert noted.count(True) == REFUSALS_A_MINUTE
    rows = await ledger.all("SELECT * FROM journal WHERE kind = 'rights.refused'")
    assert len(rows) == REFUSALS_A_MINUTE
    assert (rows[0]["actor_name"], rows[0]["detail"]) == (AGENT.name, '{"method":"approve"}')
    assert await ledger.write(note_refusal, SAME_NAME, "approve"), "another kind has its own count"
    clock.advance(60_000)
    assert await ledger.write(note_refusal, AGENT, "approve")
    await ledger.close()
