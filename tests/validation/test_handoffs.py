"""Stage handoffs: written by the stage that ends, accepted once with the next stage's task (E-73)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.clock import ManualClock
from engine.control import decisions
from engine.control.decisions import Finding
from engine.states import Outcome, Verdict
from engine.storage import Boundary
from engine.validation import workflow
from engine.work_order import ValidatedBy, ValidationSpec
from tests.ledger import PERSON, Ledger, observation


@pytest.fixture
async def ledger(folder: Path, clock: ManualClock) -> AsyncIterator[Ledger]:
    made = await Ledger.open(folder, clock)
    yield made
    await made.close()


async def handoffs(ledger: Ledger, order: str) -> list[tuple[str, str | None, bool]]:
    """From which purpose, to which, and whether it was accepted; oldest first."""
    rows = await ledger.all(
        """SELECT source.purpose AS source, target.purpose AS target, handoff.accepted_at FROM handoff
           JOIN task AS source ON source.id = handoff.from_task_id
           LEFT JOIN task AS target ON target.id = handoff.to_task_id
           WHERE handoff.work_order_id = ? ORDER BY handoff.written_at, handoff.id""",
        order,
    )
    return [(row["source"], row["target"], row["accepted_at"] is not None) for row in rows]


async def test_each_stage_hands_over_to_the_next_and_the_last_to_the_person(ledger: Ledger) -> None:
    """E-73, E-74: implement → validate → correct → validate → acceptance, each handoff accepted once."""
    order = await ledger.submit(corrections=1)
    await ledger.run(order)
    assert await handoffs(ledger, order) == [("IMPLEMENT", "VALIDATE", True)]
    await ledger.ask(order)
    await ledger.run(order, Outcome.FAILED)
    assert (await handoffs(ledger, order))[1:] == [("VALIDATE", "CORRECT", True)]
    await ledger.ask(order)
    await ledger.run(order)
    await ledger.ask(order)
    await ledger.run(order)
    assert (await handoffs(ledger, order))[2:] == [("CORRECT", "VALIDATE", True), ("VALIDATE", None, False)]
    await ledger.write(decisions.accept, order, PERSON, "good")
    assert (await handoffs(ledger, order))[3] == ("VALIDATE", None, True)
    last = (await ledger.all("SELECT * FROM handoff ORDER BY written_at DESC, id DESC LIMIT 1"))[0]
    assert (last["accepted_by_kind"], last["accepted_by"]) == ("person", "ada")
    assert last["evidence_sha256"] == "e" * 64


async def test_a_failed_step_hands_over_to_its_correction(ledger: Ledger) -> None:
    order = await ledger.submit(corrections=1)
    await ledger.run(order, Outcome.FAILED)
    assert await handoffs(ledger, order) == [("IMPLEMENT", "CORRECT", True)]


async def test_a_person_who_judges_takes_nothing_up_before_accepting(ledger: Ledger) -> None:
    order = await ledger.submit(corrections=1, validation=ValidationSpec("reads well", by=ValidatedBy.PERSON))
    attempt = await ledger.run(order)
    assert await handoffs(ledger, order) == [("IMPLEMENT", None, False)]
    await ledger.write(workflow.validate_by_person, attempt, Verdict.FAILED, PERSON, "it does not")
    assert await handoffs(ledger, order) == [("IMPLEMENT", "CORRECT", True)]


async def test_a_validation_that_is_made_again_is_handed_over_again(ledger: Ledger) -> None:
    """What the first validation took up and could not use is handed over once more."""
    order = await ledger.submit()
    await ledger.run(order)
    await ledger.ask(order)
    await ledger.run(order, Outcome.FAILED, never_started=True)
    await ledger.write(decisions.validate_again, order, PERSON, "the program is there now")
    found = await handoffs(ledger, order)
    assert found.count(("IMPLEMENT", "VALIDATE", True)) == 2
    assert ("VALIDATE", None, False) in found


async def test_what_a_person_said_took_effect_is_handed_over(ledger: Ledger) -> None:
    """E-72: a decided stage goes on like an observed one, with its handoff."""
    order = await ledger.submit()
    attempt = await ledger.run(order, Outcome.UNKNOWN)
    assert await handoffs(ledger, order) == []
    await ledger.reconcile(attempt, Finding.TOOK_EFFECT, "the file is there")
    assert await handoffs(ledger, order) == [("IMPLEMENT", "VALIDATE", True)]


@pytest.mark.parametrize("point", ["handoff", "evidence", "before_commit"])
async def test_a_failure_anywhere_leaves_neither_task_nor_handoff(
    folder: Path, clock: ManualClock, point: str
) -> None:
    """E-73: the end of the stage, its handoff, its acceptance and the next task are one commit."""
    armed: list[str] = []

    def fail(where: str) -> None:
        if armed and where == point:
            armed.clear()
            raise RuntimeError("stopped here")

    boundary: Boundary = fail
    ledger = await Ledger.open(folder, clock, boundary=boundary)
    try:
        order = await ledger.submit()
        await ledger.approve(order)
        (claim,) = await ledger.claim()
        delivery = await ledger.start(await ledger.admit(claim))
        armed.append("now")
        with pytest.raises(Exception, match="stopped here"):
            await ledger.write(workflow.conclude_execution, delivery, "w", ledger.epoch, observation())
        assert await handoffs(ledger, order) == []
        assert len(await ledger.all("SELECT id FROM task")) == 1
        await ledger.write(workflow.conclude_execution, delivery, "w", ledger.epoch, observation())
        assert await handoffs(ledger, order) == [("IMPLEMENT", "VALIDATE", True)]
    finally:
        await ledger.close()
