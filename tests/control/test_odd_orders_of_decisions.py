"""Decisions in orders that nobody plans for; each of these once went wrong and was found by the state machine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.clock import ManualClock
from engine.control import decisions
from engine.control.cancel import cancel
from engine.control.decisions import Finding
from engine.control.holds import Node
from engine.dispatch import approvals
from engine.dispatch.delivery import settle_abandoned_attempts
from engine.errors import WrongState
from engine.execution.local_worker import _lose
from engine.states import NodeKind, Outcome, Verdict
from engine.validation.workflow import conclude_execution, validate_by_person
from engine.work_order import ValidatedBy, ValidationSpec
from tests.ledger import PERSON, Ledger, observation

BY_PERSON = ValidationSpec("as agreed", ValidatedBy.PERSON)


@pytest.fixture
async def ledger(folder: Path, clock: ManualClock) -> AsyncIterator[Ledger]:
    opened = await Ledger.open(folder, clock)
    yield opened
    await opened.close()


async def _state(ledger: Ledger, order: str) -> str:
    return (await ledger.one("SELECT state FROM work_order WHERE id = ?", order))["state"]


async def test_no_second_correction_beside_one_that_still_waits(ledger: Ledger) -> None:
    """E-62: a work order has one task at a time; the correction that was refused is asked for again instead."""
    order = await ledger.submit(corrections=1)
    await ledger.run(order, Outcome.FAILED)
    request = await ledger.ask(order)
    await ledger.write(approvals.reject, request, PERSON, "not like this")
    assert await _state(ledger, order) == "DECISION_NEEDED"
    with pytest.raises(WrongState):
        await ledger.write(decisions.allow_correction, order, PERSON, "another one")
    assert len(await ledger.all("SELECT 1 FROM task WHERE purpose = 'CORRECT'")) == 1


async def test_no_second_validation_beside_one_that_still_waits(ledger: Ledger) -> None:
    order = await ledger.submit()
    await ledger.run(order)
    request = await ledger.ask(order)
    await ledger.write(approvals.withdraw, request, PERSON, "later")
    with pytest.raises(WrongState):
        await ledger.write(decisions.validate_again, order, PERSON, "another one")
    assert len(await ledger.all("SELECT 1 FROM task WHERE purpose = 'VALIDATE'")) == 1


async def test_what_a_person_judges_is_not_validated_again_by_a_command(ledger: Ledger) -> None:
    order = await ledger.submit(validation=BY_PERSON)
    await ledger.run(order)
    with pytest.raises(WrongState):
        await ledger.write(decisions.validate_again, order, PERSON, "again")


async def test_a_person_can_judge_what_left_no_evidence(ledger: Ledger) -> None:
    """E-51, E-72: the console was lost, a person says that it took effect, and judges it."""
    order = await ledger.submit(validation=BY_PERSON)
    await ledger.approve(order)
    (claim,) = await ledger.claim()
    admission = await ledger.admit(claim)
    await ledger.start(admission)
    await ledger.take_over()
    assert await ledger.write(settle_abandoned_attempts, ledger.epoch) == (admission.attempt_id,)
    await ledger.reconcile(admission.attempt_id, Finding.TOOK_EFFECT, "it is all there", 7)
    row = await ledger.write(validate_by_person, admission.attempt_id, Verdict.PASSED, PERSON, "looked")
    assert (row["outcome"], row["evidence_id"]) == ("PASSED", None)
    attempt = await ledger.one("SELECT * FROM attempt")
    assert (attempt["state"], attempt["actual_cost"], attempt["cost_source"]) == ("SETTLED", 7, "person")


async def test_rejecting_the_work_leaves_nothing_claimed(ledger: Ledger) -> None:
    order = await ledger.submit()
    await ledger.approve(order)
    await ledger.claim()
    await ledger.write(approvals.withdraw, (await ledger.approval_of(order))["id"], PERSON, "no")
    await ledger.write(decisions.reject_work, order, PERSON, "not wanted")
    assert (await ledger.task_of(order))["state"] == "CANCELLED"
    assert (await ledger.one("SELECT state FROM claim"))["state"] == "RELEASED"


async def test_a_task_that_is_unknown_is_not_cancelled(ledger: Ledger) -> None:
    """E-72: only a finding ends an UNKNOWN; afterwards both findings are still possible."""
    order = await ledger.submit()
    attempt = await ledger.run(order, Outcome.UNKNOWN)
    task = await ledger.task_of(order)
    with pytest.raises(WrongState, match="UNKNOWN"):
        await ledger.write(cancel, Node(NodeKind.TASK, task["id"]), PERSON, "away with it")
    await ledger.reconcile(attempt, Finding.DID_NOT, "nothing there")
    assert (await ledger.task_of(order))["state"] == "READY"


@pytest.mark.parametrize("first", ["concluded", "lost"])
async def test_what_was_observed_is_recorded_once(ledger: Ledger, first: str) -> None:
    """E-72: a late report moves nothing, least of all an UNKNOWN."""
    order = await ledger.submit()
    await ledger.approve(order)
    (claim,) = await ledger.claim()
    delivery = await ledger.start(await ledger.admit(claim))
    if first == "concluded":
        await ledger.write(conclude_execution, delivery, "w", ledger.epoch, observation(Outcome.UNKNOWN))
    else:
        await ledger.write(_lose, delivery, "w", ledger.epoch, "lost")
    before = await ledger.all("SELECT * FROM journal")
    with pytest.raises(WrongState):
        await ledger.write(conclude_execution, delivery, "w", ledger.epoch, observation())
    assert await ledger.all("SELECT * FROM journal") == before
    assert (await ledger.one("SELECT state FROM attempt"))["state"] == "UNKNOWN"
