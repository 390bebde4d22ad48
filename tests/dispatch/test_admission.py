"""Admission: everything is asked again, and all of it commits together (E-42, E-43, E-44, E-61)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.clock import ManualClock
from engine.control.holds import WHOLE_ENGINE, Node, place_hold
from engine.dispatch import approvals
from engine.dispatch.admission import Admission, refuse_drifted
from engine.dispatch.approvals import expire_approvals
from engine.dispatch.delivery import acknowledge, deliver, settle_abandoned_attempts
from engine.dispatch.differences import Difference
from engine.errors import (
    Drifted,
    Fenced,
    GateClosed,
    InvalidValue,
    NotFound,
    Refused,
    StaleEpoch,
    WrongState,
)
from engine.states import HoldKind, NodeKind, Outcome
from engine.storage import Tx
from engine.validation.workflow import conclude_execution
from engine.work_order import BudgetLimits
from tests.ledger import PERSON, Ledger, observation, sealed


@pytest.fixture
async def ledger(folder: Path, clock: ManualClock) -> AsyncIterator[Ledger]:
    opened = await Ledger.open(folder, clock)
    yield opened
    await opened.close()


async def _digest(ledger: Ledger) -> list[object]:
    """Everything an admission could change, to show that a refusal changed nothing."""
    return [
        await ledger.all(f"SELECT * FROM {table}")
        for table in (
            "attempt",
            "intent",
            "exposure",
            "scope_partition",
            "claim",
            "approval",
            "task",
            "journal",
        )
    ]


async def _claimed(ledger: Ledger, **changes: object):
    order = await ledger.submit(**changes)
    await ledger.approve(order)
    (claim,) = await ledger.claim()
    return order, claim


async def test_admission_commits_everything_together(ledger: Ledger) -> None:
    """E-43: attempt, reservations in every ancestor, intent, claim and approval consumed, task DISPATCHED."""
    order, claim = await _claimed(ledger)
    admission = await ledger.admit(claim)
    attempt = await ledger.one("SELECT * FROM attempt")
    assert (attempt["state"], attempt["id"]) == ("DISPATCH_AUTHORIZED", admission.attempt_id)
    assert (await ledger.one("SELECT state FROM claim"))["state"] == "CONSUMED"
    assert (await ledger.approval_of(order))["state"] == "CONSUMED"
    assert (await ledger.task_of(order))["state"] == "DISPATCHED"
    exposures = await ledger.all("SELECT * FROM exposure")
    assert len(exposures) == 3
    assert {(row["state"], row["cost"], row["active_ms"]) for row in exposures} == {("RESERVED", 30, 5_000)}
    with pytest.raises(WrongState):
        await ledger.admit(claim)


async def test_another_seal_is_refused_and_changes_nothing(ledger: Ledger) -> None:
    """E-40a, E-43: what would run now is not what was approved."""
    _, claim = await _claimed(ledger)
    before = await _digest(ledger)
    with pytest.raises(Drifted):
        await ledger.admit(claim, "t" * 64)
    assert await _digest(ledger) == before


async def test_drift_voids_the_approval_and_asks_again(ledger: Ledger) -> None:
    """E-41, B-019: back in the queue, marked changed, both digests in the journal."""
    order, claim = await _claimed(ledger)
    found = (Difference("input fix.py", "sha256 aa", "sha256 bb"),)
    new = await ledger.write(refuse_drifted, claim.id, "w", ledger.epoch, sealed("t" * 64), found, 3_600_000)
    rows = await ledger.all("SELECT id, state, previous_id, seal FROM approval ORDER BY id")
    assert {row["state"] for row in rows} == {"CHANGED", "PENDING"}
    request = await ledger.approval_of(order)
    assert (request["id"], request["seal"]) == (new, "t" * 64)
    assert "aa" in request["differences"]
    assert (await ledger.task_of(order))["state"] == "READY"
    assert await ledger.claim() == ()
    detail = await ledger.one("SELECT detail FROM journal WHERE kind = 'approval.changed'")
    assert "s" * 64 in detail["detail"]
    assert "t" * 64 in detail["detail"]


@pytest.mark.parametrize(
    "node", ["engine", "scope", "work_order", "task"], ids=lambda name: f"hold on {name}"
)
async def test_a_hold_between_claim_and_admission(ledger: Ledger, node: str) -> None:
    """§12: no dispatch under a hold, whichever node carries it."""
    order, claim = await _claimed(ledger)
    row = await ledger.one("SELECT scope_id FROM work_order")
    nodes = {
        "engine": WHOLE_ENGINE,
        "scope": Node(NodeKind.SCOPE, row["scope_id"]),
        "work_order": Node(NodeKind.WORK_ORDER, order),
        "task": Node(NodeKind.TASK, claim.task_id),
    }
    await ledger.write(place_hold, nodes[node], HoldKind.HOLD, "wait", PERSON)
    before = await _digest(ledger)
    with pytest.raises(GateClosed) as refusal:
        await ledger.admit(claim)
    assert refusal.value.facts["gate"] == "hold"
    assert await _digest(ledger) == before


@pytest.mark.parametrize(("after", "admitted"), [(999, True), (1_000, False), (1_001, False)])
async def test_an_approval_is_judged_by_the_instant(
    ledger: Ledger, clock: ManualClock, after: int, admitted: bool
) -> None:
    """E-42: equality has expired."""
    _, claim = await _claimed(ledger, approval_life_ms=1_000)
    clock.advance(after)
    if admitted:
        await ledger.admit(claim)
    else:
        with pytest.raises(GateClosed):
            await ledger.admit(claim)


async def test_five_asks_of_three_under_a_cap_of_ten(ledger: Ledger) -> None:
    """E-43: three are admitted; the rest is refused and the scope named."""
    limits = BudgetLimits(10, 600_000, 0, 0)
    claims = []
    for number in range(5):
        order = await ledger.submit(f"/{number}", max_cost=3, limits=limits, project="small")
        await ledger.approve(order)
        claims += await ledger.claim()

    def cap(tx: Tx, *, now: int) -> None:
        tx.run(
            "UPDATE scope_partition SET cost_limit = 10 WHERE scope_id = (SELECT id FROM scope WHERE name = 'small')"
        )

    await ledger.write(cap)
    refusals = []
    for claim in claims:
        try:
            await ledger.admit(claim)
        except GateClosed as error:
            refusals.append(error)
    assert len(refusals) == 2
    assert {error.facts["scope"] for error in refusals} == {"small"}
    used = await ledger.one(
        "SELECT reserved_cost FROM scope_partition JOIN scope ON scope.id = scope_id "
        "WHERE scope.name = 'small' AND partition = 'EXECUTION'"
    )
    assert used["reserved_cost"] == 9


async def test_e61_many_at_once_keep_to_the_cap_and_settle_to_the_unit(ledger: Ledger) -> None:
    """E-43, E-61: ten asks of 30 at the same moment under a cap of 90: three run, and 12 / 1,200 ms of each stay."""
    orders = [
        await ledger.submit(
            f"/{number}", max_cost=30, project="small", limits=BudgetLimits(90, 600_000, 0, 0)
        )
        for number in range(10)
    ]
    for order in orders:
        await ledger.approve(order)
    claims = [claim for _ in orders for claim in await ledger.claim()]

    def cap(tx: Tx, *, now: int) -> None:
        tx.run(
            "UPDATE scope_partition SET cost_limit = 90 WHERE scope_id = (SELECT id FROM scope WHERE name = 'small')"
        )

    await ledger.write(cap)
    answers = await asyncio.gather(*(ledger.admit(claim) for claim in claims), return_exceptions=True)
    admitted = [answer for answer in answers if isinstance(answer, Admission)]
    refused = [answer for answer in answers if isinstance(answer, GateClosed)]
    assert (len(admitted), len(refused)) == (3, len(claims) - 3)
    assert {error.facts["scope"] for error in refused} == {"small"}
    assert await used(ledger, "everything", "small") == {(90, 15_000, 0, 0)}
    deliveries = await asyncio.gather(*(ledger.start(admission) for admission in admitted))
    await asyncio.gather(
        *(
            ledger.write(conclude_execution, delivery, "w", ledger.epoch, observation(Outcome.FAILED))
            for delivery in deliveries
        )
    )
    assert await used(ledger, "everything", "small") == {(0, 0, 36, 3_600)}
    own = await ledger.all(
        """SELECT spent_cost, spent_ms FROM scope_partition JOIN scope ON scope.id = scope_id
           WHERE kind = 'WORK_ORDER' AND partition = 'EXECUTION' AND spent_cost > 0"""
    )
    assert [tuple(row.values()) for row in own] == [(12, 1_200)] * 3


async def used(ledger: Ledger, *names: str) -> set[tuple[int, ...]]:
    rows = await ledger.all(
        "SELECT scope.name, part.* FROM scope_partition AS part JOIN scope ON scope.id = scope_id "
        "WHERE partition = 'EXECUTION'"
    )
    return {
        (row["reserved_cost"], row["reserved_ms"], row["spent_cost"], row["spent_ms"])
        for row in rows
        if row["name"] in names
    }


@pytest.mark.parametrize(("cost", "admitted"), [(300, True), (301, False)])
async def test_headroom_is_inclusive(ledger: Ledger, cost: int, admitted: bool) -> None:
    """E-43: exactly the limit fits; one more is not even claimed, and the gate says why."""
    order = await ledger.submit(max_cost=cost)
    await ledger.approve(order)
    claims = await ledger.claim()
    assert len(claims) == (1 if admitted else 0)
    if not admitted:
        assert (await ledger.task_of(order))["blocked_by"] == "RESOURCES"


async def test_deciding_twice_gives_the_first_decision(ledger: Ledger) -> None:
    """E-42: approve then reject, and reject then approve."""
    order = await ledger.submit()
    request = await ledger.approval_of(order)
    await ledger.approve(order)
    row = await ledger.write(approvals.reject, request["id"], PERSON, "no")
    assert row["state"] == "APPROVED"
    other = await ledger.submit("/other")
    request = await ledger.approval_of(other)
    await ledger.write(approvals.reject, request["id"], PERSON, "no")
    row = await ledger.write(approvals.approve, request["id"], PERSON, request["seal"])
    assert row["state"] == "REJECTED"
    assert (await ledger.one("SELECT state FROM work_order WHERE id = ?", other))[
        "state"
    ] == "DECISION_NEEDED"


async def test_only_what_was_shown_is_approved(ledger: Ledger) -> None:
    """E-40: a stale card's seal approves nothing."""
    order = await ledger.submit()
    request = await ledger.approval_of(order)
    with pytest.raises(Refused):
        await ledger.write(approvals.approve, request["id"], PERSON, "x" * 64)
    assert (await ledger.approval_of(order))["state"] == "PENDING"


async def test_a_batch_is_all_or_nothing(ledger: Ledger) -> None:
    """B-010: one request of another seal or state, and none is approved."""
    orders = [await ledger.submit(f"/{number}") for number in range(3)]
    ids = [(await ledger.approval_of(order))["id"] for order in orders]
    await ledger.write(approvals.withdraw, ids[1], PERSON, "")
    with pytest.raises(WrongState):
        await ledger.write(approvals.approve_alike, ids, PERSON, "s" * 64)
    assert {(await ledger.approval_of(order))["state"] for order in orders} == {"PENDING", "WITHDRAWN"}
    await ledger.write(approvals.approve_alike, [ids[0], ids[2]], PERSON, "s" * 64)


@pytest.mark.parametrize("reason", ["", "   ", "x" * 4001])
async def test_a_rejection_needs_a_reason(ledger: Ledger, reason: str) -> None:
    order = await ledger.submit()
    with pytest.raises(InvalidValue):
        await ledger.write(approvals.reject, (await ledger.approval_of(order))["id"], PERSON, reason)


async def test_withdrawn_and_expired_can_be_asked_again(ledger: Ledger, clock: ManualClock) -> None:
    """B-016: the old request is over and says so; asking again makes a new one and the order is active."""
    order = await ledger.submit(approval_life_ms=1_000)
    request = await ledger.approval_of(order)
    clock.advance(1_000)
    with pytest.raises(WrongState, match="expired"):
        await ledger.write(approvals.approve, request["id"], PERSON, request["seal"])
    assert await ledger.write(expire_approvals, ledger.epoch) == (request["id"],)
    assert (await ledger.one("SELECT state FROM work_order"))["state"] == "DECISION_NEEDED"
    await ledger.ask(order)
    assert (await ledger.one("SELECT state FROM work_order"))["state"] == "ACTIVE"
    await ledger.write(approvals.withdraw, (await ledger.approval_of(order))["id"], PERSON, "not now")
    assert (await ledger.approval_of(order))["state"] == "WITHDRAWN"
    await ledger.ask(order)
    with pytest.raises(WrongState):
        await ledger.ask(order)


async def test_a_consumed_approval_cannot_be_withdrawn(ledger: Ledger) -> None:
    order, claim = await _claimed(ledger)
    await ledger.admit(claim)
    with pytest.raises(WrongState):
        await ledger.write(approvals.withdraw, (await ledger.approval_of(order))["id"], PERSON, "")


async def test_a_delivery_is_single_and_fenced(ledger: Ledger) -> None:
    """E-50: its own worker, its own epoch, once, only while DISPATCH_AUTHORIZED."""
    _, claim = await _claimed(ledger)
    admission = await ledger.admit(claim)
    with pytest.raises(Fenced):
        await ledger.write(deliver, admission.intent_id, "other", ledger.epoch)
    delivery = await ledger.write(deliver, admission.intent_id, "w", ledger.epoch)
    with pytest.raises(WrongState):
        await ledger.write(deliver, admission.intent_id, "w", ledger.epoch)
    with pytest.raises(NotFound):
        await ledger.write(deliver, "nowhere", "w", ledger.epoch)
    old = ledger.epoch
    await ledger.take_over()
    with pytest.raises(StaleEpoch):
        await ledger.write(acknowledge, delivery.id, "w", old)
    with pytest.raises(Fenced):
        await ledger.write(acknowledge, delivery.id, "w", ledger.epoch)


async def test_what_a_restart_makes_of_attempts(ledger: Ledger) -> None:
    """E-51: undelivered is VOIDED and free again; delivered and later is UNKNOWN with its exposure frozen."""
    orders, admissions = [], []
    for number in range(3):
        order, claim = await _claimed(ledger, lane=f"/{number}")
        orders.append(order)
        admissions.append(await ledger.admit(claim))
    await ledger.write(deliver, admissions[1].intent_id, "w", ledger.epoch)
    await ledger.start(admissions[2])
    await ledger.take_over()
    assert len(await ledger.write(settle_abandoned_attempts, ledger.epoch, 2)) == 2
    assert len(await ledger.write(settle_abandoned_attempts, ledger.epoch)) == 1
    assert [(await ledger.task_of(order))["state"] for order in orders] == ["READY", "UNKNOWN", "UNKNOWN"]
    states = await ledger.all("SELECT DISTINCT attempt_id, state FROM exposure ORDER BY attempt_id")
    assert [row["state"] for row in states] == ["RELEASED", "FROZEN", "FROZEN"]
    root = await ledger.one(
        """SELECT * FROM scope_partition JOIN scope ON scope.id = scope_id
           WHERE kind = 'ROOT' AND partition = 'EXECUTION'"""
    )
    assert (root["reserved_cost"], root["frozen_cost"]) == (0, 60)
    assert await ledger.claim(10) == ()
    assert (await ledger.task_of(orders[0]))["approval_id"] is None
