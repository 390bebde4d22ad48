"""The composed workflow over recorded outcomes: validation, settlement, correction, decisions (E-60 to E-64, E-71)."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from engine.clock import ManualClock
from engine.control import decisions
from engine.control.cancel import cancel, request_stop
from engine.control.decisions import Finding
from engine.control.holds import WHOLE_ENGINE, Node, place_hold, resume
from engine.control.proofs import KeptProof
from engine.errors import InvalidValue, WrongState
from engine.states import HoldKind, NodeKind, Outcome, Verdict
from engine.storage import Rx
from engine.validation.workflow import conclude_execution, record_validation, validate_by_person
from engine.work_order import ValidatedBy, ValidationSpec
from tests.ledger import PERSON, Ledger, observation


@pytest.fixture
async def ledger(folder: Path, clock: ManualClock) -> AsyncIterator[Ledger]:
    opened = await Ledger.open(folder, clock)
    yield opened
    await _counters_equal_the_sums(opened)
    await opened.close()


async def _counters_equal_the_sums(ledger: Ledger) -> None:
    """§12: every counter of every scope is the sum over the exposures of its attempts."""
    for state, column in (("RESERVED", "reserved"), ("FROZEN", "frozen"), ("SPENT", "spent")):
        wrong = await ledger.all(
            f"""SELECT part.scope_id FROM scope_partition AS part WHERE
                  {column}_cost <> (SELECT coalesce(sum(cost), 0) FROM exposure
                    WHERE exposure.scope_id = part.scope_id AND exposure.partition = part.partition AND state = ?) OR
                  {column}_ms <> (SELECT coalesce(sum(active_ms), 0) FROM exposure
                    WHERE exposure.scope_id = part.scope_id AND exposure.partition = part.partition AND state = ?)""",
            state,
            state,
        )
        assert wrong == []


async def _order(ledger: Ledger, order: str) -> dict[str, Any]:
    return await ledger.one("SELECT * FROM work_order WHERE id = ?", order)


async def _budgets(ledger: Ledger) -> set[tuple[int, ...]]:
    rows = await ledger.all("SELECT * FROM scope_partition WHERE partition = 'EXECUTION'")
    return {
        (row["reserved_cost"], row["reserved_ms"], row["frozen_cost"], row["spent_cost"], row["spent_ms"])
        for row in rows
    }


async def _can(ledger: Ledger, order: str) -> tuple[str, ...]:
    def read(rx: Rx) -> tuple[str, ...]:
        row = rx.one("SELECT * FROM work_order WHERE id = ?", (order,))
        assert row is not None
        return decisions.possible(rx, row)

    return await ledger.read(read)


async def test_passed_settles_in_every_ancestor(ledger: Ledger) -> None:
    """E-61: authorised 30 / 5,000 ms, actual 12 / 1,200 ms: 12 / 1,200 stay, in work order, project and root."""
    order = await ledger.submit()
    await ledger.run(order)
    assert await _budgets(ledger) == {(30, 5_000, 0, 0, 0)}
    await ledger.run(order)
    assert await _budgets(ledger) == {(0, 0, 0, 24, 2_400)}
    validation = await ledger.one("SELECT * FROM validation")
    assert (validation["outcome"], validation["judged_by"]) == ("PASSED", "command")
    assert (validation["actual_cost"], validation["actual_active_ms"]) == (12, 1_200)
    assert (await _order(ledger, order))["state"] == "AWAITING_ACCEPTANCE"
    assert set(await _can(ledger, order)) >= {"accept", "reject", "cancel"}
    await ledger.write(decisions.accept, order, PERSON, "good")
    again = await ledger.write(decisions.accept, order, PERSON, "good")
    assert again["state"] == "ACCEPTED"
    assert len(await ledger.all("SELECT * FROM decision")) == 1
    assert await _can(ledger, order) == ()


async def test_a_workers_success_is_no_validation(ledger: Ledger) -> None:
    """E-60: after the implementation alone there is no verdict and nothing to accept."""
    order = await ledger.submit()
    await ledger.run(order)
    assert await ledger.all("SELECT * FROM validation") == []
    with pytest.raises(WrongState):
        await ledger.write(decisions.accept, order, PERSON)
    assert (await ledger.task_of(order))["purpose"] == "VALIDATE"


async def test_one_look_may_cover_the_validation(ledger: Ledger) -> None:
    """E-42b: the validation is approved by the same look; its own seal is what was shown."""
    order = await ledger.submit()
    await ledger.approve(order, covers=True)
    (claim,) = await ledger.claim()
    admission = await ledger.admit(claim)
    await ledger.write(conclude_execution, await ledger.start(admission), "w", ledger.epoch, observation())
    request = await ledger.approval_of(order)
    assert (request["state"], request["seal"], request["decided_by"]) == ("APPROVED", "v" * 64, "ada")
    (claim,) = await ledger.claim()
    await ledger.admit(claim, "v" * 64)


async def test_unknown_cost_counts_as_the_reservation(ledger: Ledger) -> None:
    """B-100: no report is never zero."""
    order = await ledger.submit()
    await ledger.run(order, reported_cost=None)
    await ledger.run(order, reported_cost=None)
    rows = await ledger.all("SELECT actual_cost, cost_source FROM attempt")
    assert {(row["actual_cost"], row["cost_source"]) for row in rows} == {(30, "assumed_maximum")}


async def test_an_overrun_is_recorded_and_holds_the_scope(ledger: Ledger) -> None:
    """E-61: the actual stays as it is; at the limit exactly there is no overrun."""
    order = await ledger.submit()
    await ledger.run(order, reported_cost=30)
    await ledger.run(order, reported_cost=31)
    rows = await ledger.all("SELECT actual_cost, overrun FROM attempt ORDER BY actual_cost")
    assert [(row["actual_cost"], row["overrun"]) for row in rows] == [(30, 0), (31, 1)]
    hold = await ledger.one("SELECT * FROM hold")
    assert (hold["kind"], hold["node_kind"]) == ("OVERRUN", "SCOPE")


async def test_a_failed_validation_starts_bounded_corrections(ledger: Ledger) -> None:
    """E-62, E-63: references kept; after the last one a person decides; one more can be allowed."""
    order = await ledger.submit(corrections=1)
    implemented = await ledger.run(order)
    await ledger.run(order, Outcome.FAILED)
    task = await ledger.task_of(order)
    validation = await ledger.one("SELECT * FROM validation")
    assert (task["purpose"], task["state"], task["approval_id"]) == ("CORRECT", "READY", None)
    assert (task["source_attempt_id"], task["source_validation_id"]) == (implemented, validation["id"])
    assert task["source_task_id"] == validation["task_id"]
    await ledger.ask(order)
    await ledger.run(order)
    await ledger.run(order, Outcome.FAILED)
    state = await _order(ledger, order)
    assert (state["state"], state["corrections_made"]) == ("DECISION_NEEDED", 1)
    newest = await ledger.one(
        "SELECT correction_exhausted FROM validation ORDER BY recorded_at DESC, id DESC LIMIT 1"
    )
    assert newest["correction_exhausted"] in (0, 1)
    assert sum(row["correction_exhausted"] for row in await ledger.all("SELECT * FROM validation")) == 1
    assert "allow_correction" in await _can(ledger, order)
    await ledger.write(decisions.allow_correction, order, PERSON, "one more")
    assert (await ledger.task_of(order))["purpose"] == "CORRECT"
    with pytest.raises(WrongState):
        await ledger.write(decisions.allow_correction, order, PERSON, "twice")


async def test_a_failed_run_is_a_failed_validation_by_execution(ledger: Ledger) -> None:
    """B-037: an ordinary exit 1 is FAILED, is settled, and blocks nothing else."""
    order = await ledger.submit()
    await ledger.run(order, Outcome.FAILED)
    validation = await ledger.one("SELECT * FROM validation")
    assert (validation["outcome"], validation["judged_by"], validation["correction_exhausted"]) == (
        "FAILED",
        "execution",
        1,
    )
    assert await _budgets(ledger) == {(0, 0, 0, 12, 1_200)}


async def test_what_provably_never_started_costs_nothing(ledger: Ledger) -> None:
    """E-54: FAILED, settled at zero."""
    order = await ledger.submit()
    await ledger.run(order, Outcome.FAILED, never_started=True, reported_cost=None, active_ms=0)
    assert await _budgets(ledger) == {(0, 0, 0, 0, 0)}


async def test_a_validation_that_could_not_start_judges_nothing(ledger: Ledger) -> None:
    """B-121: no verdict on the work; a person can have it validated again."""
    order = await ledger.submit()
    await ledger.run(order)
    await ledger.run(order, Outcome.FAILED, never_started=True, reported_cost=None, active_ms=0)
    assert await ledger.all("SELECT * FROM validation") == []
    assert (await _order(ledger, order))["state"] == "DECISION_NEEDED"
    assert "validate_again" in await _can(ledger, order)
    await ledger.write(decisions.validate_again, order, PERSON, "pytest is installed now")
    await ledger.ask(order)
    await ledger.run(order)
    assert (await _order(ledger, order))["state"] == "AWAITING_ACCEPTANCE"


async def test_recording_a_validation_again_returns_the_first(ledger: Ledger, clock: ManualClock) -> None:
    """E-60: unique per attempt."""
    order = await ledger.submit()
    attempt = await ledger.run(order)
    await ledger.run(order)

    def again(tx: Any, *, now: int) -> Any:
        return record_validation(tx, attempt, Verdict.FAILED, judged_by="person", actor=PERSON, now=now)

    assert (await ledger.write(again))["outcome"] == "PASSED"
    assert (await _order(ledger, order))["state"] == "AWAITING_ACCEPTANCE"


@pytest.mark.parametrize(
    ("verdict", "state"),
    [
        (Verdict.PASSED, "AWAITING_ACCEPTANCE"),
        (Verdict.FAILED, "DECISION_NEEDED"),
        (Verdict.UNKNOWN, "ACTIVE"),
    ],
)
async def test_a_person_judges(ledger: Ledger, verdict: Verdict, state: str) -> None:
    """E-60: by the criteria fixed beforehand, with a reason."""
    order = await ledger.submit(validation=ValidationSpec("reads well", ValidatedBy.PERSON))
    attempt = await ledger.run(order)
    assert "validate" in await _can(ledger, order)
    with pytest.raises(InvalidValue):
        await ledger.write(validate_by_person, attempt, verdict, PERSON, " ")
    await ledger.write(validate_by_person, attempt, verdict, PERSON, "read it", 7)
    assert (await _order(ledger, order))["state"] == state
    row = await ledger.one("SELECT state, actual_cost FROM attempt")
    assert row["state"] == ("UNKNOWN" if verdict is Verdict.UNKNOWN else "SETTLED")


async def test_unknown_freezes_and_only_a_person_ends_it(ledger: Ledger) -> None:
    """E-54, E-64, E-72: no new attempt is possible before the decision; then each exit does its own."""
    order = await ledger.submit()
    attempt = await ledger.run(order, Outcome.UNKNOWN, reason_code="time_limit")
    assert await _budgets(ledger) == {(0, 0, 30, 0, 0)}
    with pytest.raises(WrongState):
        await ledger.ask(order)
    with pytest.raises(InvalidValue):
        await ledger.reconcile(attempt, Finding.DID_NOT, "")
    for finding in (Finding.TOOK_EFFECT, Finding.DID_NOT):
        with pytest.raises(InvalidValue, match="show what you saw"):
            await ledger.write(decisions.reconcile, attempt, finding, PERSON, "I am sure")
        empty = [KeptProof("log", hashlib.sha256().hexdigest(), 0)]
        with pytest.raises(InvalidValue, match="show what you saw"):
            await ledger.write(decisions.reconcile, attempt, finding, PERSON, "I am sure", None, None, empty)
    assert await ledger.all("SELECT id FROM decision") == []
    await ledger.write(decisions.reconcile, attempt, Finding.STILL_UNKNOWN, PERSON, "asked Bob")
    assert (await ledger.task_of(order))["state"] == "UNKNOWN"
    await ledger.reconcile(attempt, Finding.DID_NOT, "no file was written")
    assert (await ledger.task_of(order))["state"] == "READY"
    assert await _budgets(ledger) == {(0, 0, 0, 0, 0)}
    assert await ledger.claim() == ()
    with pytest.raises(WrongState):
        await ledger.reconcile(attempt, Finding.DID_NOT, "again")


async def test_took_effect_goes_on_to_validation(ledger: Ledger) -> None:
    """E-72: with the use that the person found out."""
    order = await ledger.submit()
    attempt = await ledger.run(order, Outcome.UNKNOWN, reported_cost=None)
    await ledger.reconcile(attempt, Finding.TOOK_EFFECT, "the branch is there", 9, 800)
    assert (await ledger.task_of(order))["purpose"] == "VALIDATE"
    await ledger.ask(order)
    await ledger.run(order)
    row = await ledger.one("SELECT * FROM attempt WHERE id = ?", attempt)
    assert (row["state"], row["actual_cost"], row["actual_active_ms"]) == ("SETTLED", 9, 800)


async def test_cancel_of_what_has_not_run(ledger: Ledger) -> None:
    """E-71: task CANCELLED, claim released, approval withdrawn, in one transaction; repeating changes nothing."""
    order = await ledger.submit()
    await ledger.approve(order)
    await ledger.claim()
    node = Node(NodeKind.WORK_ORDER, order)
    assert await ledger.write(cancel, node, PERSON, "not needed", "key-1") == ()
    assert (await _order(ledger, order))["state"] == "CANCELLED"
    assert (await ledger.task_of(order))["state"] == "CANCELLED"
    assert (await ledger.one("SELECT state FROM claim"))["state"] == "RELEASED"
    assert (await ledger.approval_of(order))["state"] == "WITHDRAWN"
    rows = await ledger.all("SELECT sequence FROM journal")
    assert await ledger.write(cancel, node, PERSON, "not needed", "key-1") == ()
    assert await ledger.write(cancel, node, PERSON, "not needed") == ()
    assert await ledger.all("SELECT sequence FROM journal") == rows


async def test_cancel_of_what_runs_waits_for_its_end(ledger: Ledger) -> None:
    """E-71: CANCELLING while in flight; the stopped attempt is UNKNOWN, and then the order is CANCELLED."""
    order = await ledger.submit()
    await ledger.approve(order)
    (claim,) = await ledger.claim()
    admission = await ledger.admit(claim)
    delivery = await ledger.start(admission)
    node = Node(NodeKind.WORK_ORDER, order)
    assert await ledger.write(cancel, node, PERSON, "stop") == (admission.attempt_id,)
    assert (await _order(ledger, order))["state"] == "CANCELLING"
    seen = observation(Outcome.UNKNOWN, reason_code="cancelled_by_user")
    await ledger.write(conclude_execution, delivery, "w", ledger.epoch, seen)
    assert (await _order(ledger, order))["state"] == "CANCELLED"
    assert (await ledger.task_of(order))["state"] == "UNKNOWN"
    await ledger.reconcile(admission.attempt_id, Finding.DID_NOT, "looked")
    assert (await ledger.task_of(order))["state"] == "CANCELLED"


async def test_cancel_at_the_moment_it_finishes(ledger: Ledger) -> None:
    """B-049: the observed completion is kept beside the cancel."""
    order = await ledger.submit()
    await ledger.approve(order)
    (claim,) = await ledger.claim()
    admission = await ledger.admit(claim)
    delivery = await ledger.start(admission)
    await ledger.write(cancel, Node(NodeKind.WORK_ORDER, order), PERSON, "stop")
    await ledger.write(conclude_execution, delivery, "w", ledger.epoch, observation())
    row = await ledger.one("SELECT * FROM attempt")
    assert (row["state"], row["outcome"], row["actual_cost"]) == ("SETTLED", "SUCCEEDED", 12)
    assert (await _order(ledger, order))["state"] == "CANCELLED"


async def test_cancel_of_what_was_authorised_but_not_delivered(ledger: Ledger) -> None:
    """E-71: provably never started: VOIDED, exposure released."""
    order = await ledger.submit()
    await ledger.approve(order)
    (claim,) = await ledger.claim()
    await ledger.admit(claim)
    assert await ledger.write(cancel, WHOLE_ENGINE, PERSON, "all stop") == ()
    assert (await _order(ledger, order))["state"] == "CANCELLED"
    assert (await ledger.one("SELECT state FROM attempt"))["state"] == "VOIDED"
    assert await _budgets(ledger) == {(0, 0, 0, 0, 0)}


async def test_stop_is_asked_once_and_of_what_runs_only(ledger: Ledger) -> None:
    order = await ledger.submit()
    attempt = await ledger.run(order)
    assert await ledger.write(request_stop, attempt, PERSON, "late") is False


async def test_holds_are_idempotent_and_answered(ledger: Ledger) -> None:
    """E-70: a pause needs no answer, a hold does; the same hold twice is one."""
    node = Node(NodeKind.WORK_ORDER, await ledger.submit())
    first = await ledger.write(place_hold, node, HoldKind.PAUSE, "", PERSON, "k")
    assert (await ledger.write(place_hold, node, HoldKind.PAUSE, "", PERSON, "k"))["id"] == first["id"]
    assert (await ledger.write(place_hold, node, HoldKind.PAUSE, "", PERSON))["id"] == first["id"]
    assert await ledger.write(resume, node, PERSON) == (first["id"],)
    assert await ledger.write(resume, node, PERSON) == ()
    with pytest.raises(InvalidValue):
        await ledger.write(place_hold, node, HoldKind.HOLD, "", PERSON)


async def test_survivors_keep_the_lane_locked(ledger: Ledger) -> None:
    """E-54: while anything of an attempt may still write, nothing else runs in its workspace."""
    first = await ledger.submit()
    await ledger.run(first, Outcome.UNKNOWN, survivors="sleep (4243)")
    second = await ledger.submit()
    await ledger.approve(second)
    assert await ledger.claim() == ()


@pytest.mark.parametrize(
    ("asked", "order_state", "task_state"),
    [
        ("nobody", "ACTIVE", "READY"),  # the console was closed: asked again at the next start
        ("stop", "DECISION_NEEDED", "READY"),
        ("cancel", "CANCELLED", "CANCELLED"),
    ],
)
async def test_what_was_stopped_before_it_started_has_not_failed(
    ledger: Ledger, asked: str, order_state: str, task_state: str
) -> None:
    """E-54, E-71: provably nothing ran, so it is VOIDED; no correction is used up and no budget is kept."""
    order = await ledger.submit(corrections=1)
    await ledger.approve(order)
    (claim,) = await ledger.claim()
    admission = await ledger.admit(claim)
    delivery = await ledger.start(admission)
    if asked == "stop":
        await ledger.write(request_stop, admission.attempt_id, PERSON, "wrong one")
    elif asked == "cancel":
        await ledger.write(cancel, Node(NodeKind.WORK_ORDER, order), PERSON, "wrong one")
    seen = observation(
        Outcome.FAILED,
        reason_code="not_started_stopped_first",
        never_started=True,
        reported_cost=None,
        active_ms=0,
    )
    await ledger.write(conclude_execution, delivery, "w", ledger.epoch, seen)
    assert (await ledger.one("SELECT state FROM attempt"))["state"] == "VOIDED"
    assert (await _order(ledger, order))["state"] == order_state
    assert (await ledger.task_of(order))["state"] == task_state
    assert (await _order(ledger, order))["corrections_made"] == 0
    assert await _budgets(ledger) == {(0, 0, 0, 0, 0)}
    assert await ledger.claim() == ()
