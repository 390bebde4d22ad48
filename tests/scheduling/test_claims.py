"""Claims and leases at every boundary (E-23, E-24, E-25), and what they cost (E-17)."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.clock import ManualClock
from engine.control.holds import WHOLE_ENGINE, Node, place_hold, resume
from engine.errors import Fenced, InvalidValue, LeaseExpired, StaleEpoch, WrongState
from engine.scheduling.claims import claim_tasks, recover_abandoned_claims, release_claim, renew_claim
from engine.scheduling.tasks import drain_due_wakeups
from engine.states import HoldKind, NodeKind
from engine.storage import Rx, Tx
from engine.wakes.sqlite.at_once import DUE
from tests.ledger import LEASE, PERSON, Ledger


@pytest.fixture
async def ledger(folder: Path, clock: ManualClock) -> AsyncIterator[Ledger]:
    opened = await Ledger.open(folder, clock)
    yield opened
    await opened.close()


async def test_nothing_is_claimed_before_its_approval(ledger: Ledger) -> None:
    """E-23: the approval gate."""
    order = await ledger.submit()
    assert await ledger.claim() == ()
    await ledger.approve(order)
    (claim,) = await ledger.claim()
    assert claim.work_order_id == order
    assert (await ledger.task_of(order))["state"] == "CLAIMED"
    assert await ledger.claim() == ()


@pytest.mark.parametrize(
    ("after", "error"),
    [
        (-1, Fenced),  # the clock was moved back before the claim's own start
        (0, None),
        (LEASE - 1, None),
        (LEASE, LeaseExpired),  # equality is too late, before any clean-up ran
        (LEASE + 1, LeaseExpired),
    ],
)
async def test_lease_boundaries(
    ledger: Ledger, clock: ManualClock, after: int, error: type[Exception] | None
) -> None:
    """E-24: given lease L from t, renew and release at t+after."""
    await ledger.approve(await ledger.submit())
    (claim,) = await ledger.claim()
    clock.step_wall(after)
    if error is None:
        until = await ledger.write(renew_claim, claim.id, "w", ledger.epoch, LEASE)
        assert until == max(claim.lease_until, clock.now() + LEASE)
        await ledger.write(release_claim, claim.id, "w", ledger.epoch, "test")
        return
    with pytest.raises(error):
        await ledger.write(renew_claim, claim.id, "w", ledger.epoch, LEASE)
    with pytest.raises(error):
        await ledger.write(release_claim, claim.id, "w", ledger.epoch, "test")
    with pytest.raises(error):
        await ledger.admit(claim)
    assert (await ledger.one("SELECT lease_until FROM claim"))["lease_until"] == claim.lease_until


async def test_a_renewal_never_shortens(ledger: Ledger) -> None:
    """E-24: asking for less than what is left leaves the lease as it is."""
    await ledger.approve(await ledger.submit())
    (claim,) = await ledger.claim()
    assert await ledger.write(renew_claim, claim.id, "w", ledger.epoch, 1) == claim.lease_until


async def test_another_worker_or_epoch_is_fenced(ledger: Ledger) -> None:
    """E-24: by worker, by epoch, and by the claim's own end."""
    await ledger.approve(await ledger.submit())
    (claim,) = await ledger.claim()
    with pytest.raises(Fenced):
        await ledger.write(renew_claim, claim.id, "other", ledger.epoch, LEASE)
    with pytest.raises(StaleEpoch):
        await ledger.write(renew_claim, claim.id, "w", ledger.epoch - 1, LEASE)
    old = ledger.epoch
    await ledger.take_over()
    with pytest.raises(StaleEpoch):
        await ledger.write(renew_claim, claim.id, "w", old, LEASE)
    with pytest.raises(Fenced):
        await ledger.write(renew_claim, claim.id, "w", ledger.epoch, LEASE)


async def test_recovery_is_bounded_and_oldest_first(ledger: Ledger, clock: ManualClock) -> None:
    """E-25: expiry, release and requeue commit together, at most ``limit`` at once."""
    orders = []
    for number in range(5):
        orders.append(await ledger.submit(f"/work/{number}"))
        await ledger.approve(orders[-1])
        await ledger.claim()
        clock.advance(10)
    clock.advance(LEASE)
    first = await ledger.write(recover_abandoned_claims, ledger.epoch, 2)
    assert len(first) == 2
    states = [(await ledger.task_of(order))["state"] for order in orders]
    assert states == ["READY", "READY", "CLAIMED", "CLAIMED", "CLAIMED"]
    assert len(await ledger.write(recover_abandoned_claims, ledger.epoch, 100)) == 3
    assert await ledger.write(recover_abandoned_claims, ledger.epoch, 100) == ()
    assert len(await ledger.claim(10)) == 5


async def test_recovery_at_equality(ledger: Ledger, clock: ManualClock) -> None:
    """E-25: one millisecond before the end nothing is abandoned; at the end it is."""
    await ledger.approve(await ledger.submit())
    await ledger.claim()
    clock.advance(LEASE - 1)
    assert await ledger.write(recover_abandoned_claims, ledger.epoch) == ()
    clock.advance(1)
    assert len(await ledger.write(recover_abandoned_claims, ledger.epoch)) == 1


async def test_a_claim_of_an_earlier_epoch_is_abandoned(ledger: Ledger) -> None:
    """E-25: whatever its lease says."""
    order = await ledger.submit()
    await ledger.approve(order)
    (claim,) = await ledger.claim()
    await ledger.take_over()
    assert await ledger.write(recover_abandoned_claims, ledger.epoch) == (claim.id,)
    assert (await ledger.task_of(order))["state"] == "READY"


@pytest.mark.parametrize("limit", [0, -1, 1.5, float("nan"), float("inf"), True, "3", None])
async def test_a_batch_is_a_positive_whole_number(ledger: Ledger, limit: object) -> None:
    """E-03: errors, never clamped."""
    for function in (recover_abandoned_claims, drain_due_wakeups):
        with pytest.raises(InvalidValue):
            await ledger.write(function, ledger.epoch, limit)
    with pytest.raises(InvalidValue):
        await ledger.write(claim_tasks, "w", ledger.epoch, limit, LEASE)


async def test_one_workspace_is_one_lane(ledger: Ledger) -> None:
    """E-69, B-028: two approved work orders of one workspace run one after the other."""
    first, second, other = await ledger.submit("/a"), await ledger.submit("/a"), await ledger.submit("/b")
    for order in (first, second, other):
        await ledger.approve(order)
    claims = await ledger.claim(10)
    assert {claim.work_order_id for claim in claims} == {first, other}
    await ledger.write(release_claim, claims[0].id, "w", ledger.epoch, "test")
    assert {claim.work_order_id for claim in await ledger.claim(10)} == {first}


async def test_a_held_head_lets_the_next_of_its_lane_pass(ledger: Ledger) -> None:
    """E-70: a hold on one work order stops that one only, also when placed after it was armed."""
    first, second = await ledger.submit("/a"), await ledger.submit("/a")
    for order in (first, second):
        await ledger.approve(order)
    node = Node(NodeKind.WORK_ORDER, first)
    await ledger.write(place_hold, node, HoldKind.HOLD, "look first", PERSON)
    (claim,) = await ledger.claim(10)
    assert claim.work_order_id == second
    await ledger.write(release_claim, claim.id, "w", ledger.epoch, "test")
    await ledger.write(resume, node, PERSON, "looked")
    assert len(await ledger.claim(10)) == 1


async def test_an_engine_hold_stops_every_claim(ledger: Ledger) -> None:
    """E-70: and resume lets them go on, with a reason for a hold."""
    await ledger.approve(await ledger.submit())
    await ledger.write(place_hold, WHOLE_ENGINE, HoldKind.HOLD, "lunch", PERSON)
    assert await ledger.claim() == ()
    with pytest.raises(InvalidValue):
        await ledger.write(resume, WHOLE_ENGINE, PERSON)
    await ledger.write(resume, WHOLE_ENGINE, PERSON, "back")
    assert len(await ledger.claim()) == 1


async def test_slots_bound_the_claims(folder: Path, clock: ManualClock) -> None:
    """E-23: the worker gate."""
    ledger = await Ledger.open(folder, clock, slots=2)
    for number in range(3):
        await ledger.approve(await ledger.submit(f"/{number}"))
    assert len(await ledger.claim(10)) == 2
    assert await ledger.claim(10) == ()
    await ledger.close()


async def test_an_approval_that_expired_is_no_gate_pass(ledger: Ledger, clock: ManualClock) -> None:
    """E-42: at equality it has expired, whether or not the sweep has run."""
    order = await ledger.submit(approval_life_ms=1_000)
    await ledger.approve(order)
    clock.advance(1_000)
    assert await ledger.claim() == ()


@pytest.mark.parametrize(("offset", "fired"), [(-1, 0), (0, 1), (1, 1)])
async def test_a_waiting_task_is_ready_at_its_instant(
    ledger: Ledger, clock: ManualClock, offset: int, fired: int
) -> None:
    """E-22: never early, at equality due, and a clock that goes back afterwards unfires nothing."""
    order = await ledger.submit(due_at=clock.now() + 5_000)
    assert (await ledger.task_of(order))["state"] == "WAITING"
    clock.advance(5_000 + offset)
    assert len(await ledger.write(drain_due_wakeups, ledger.epoch)) == fired
    clock.step_wall(-100_000)
    assert await ledger.write(drain_due_wakeups, ledger.epoch) == ()
    assert (await ledger.task_of(order))["state"] == ("READY" if fired else "WAITING")


async def test_two_claims_cannot_be_live_for_one_task(ledger: Ledger) -> None:
    """§12: at most one live claim per task is a constraint of the table."""
    await ledger.approve(await ledger.submit())
    (claim,) = await ledger.claim()

    def second(tx: Tx, *, now: int) -> None:
        tx.run(
            """INSERT INTO claim(id, task_id, worker_id, epoch, state, claimed_at, lease_until)
               VALUES ('x', ?, 'w', 1, 'LIVE', 1, 2)""",
            (claim.task_id,),
        )

    with pytest.raises(sqlite3.IntegrityError):
        await ledger.write(second)
    await ledger.write(release_claim, claim.id, "w", ledger.epoch, "a")
    with pytest.raises(WrongState):
        await ledger.write(release_claim, claim.id, "w", ledger.epoch, "b")


PLANS = {
    "SELECT * FROM task WHERE armed_at IS NOT NULL ORDER BY armed_at, id LIMIT 100": "task_armed",
    DUE.replace(":now", "5").replace(":kind", "'task.wake_up'").replace(":limit", "100"): "wake_armed",
    "SELECT * FROM claim WHERE state = 'LIVE' AND lease_until <= 5 ORDER BY lease_until, id LIMIT 100": "claim_lease",
}


@pytest.mark.parametrize(("sql", "index"), PLANS.items())
async def test_hot_paths_use_their_index(ledger: Ledger, sql: str, index: str) -> None:
    """E-17: no scan and no sort of the table."""

    def plan(rx: Rx) -> str:
        return " / ".join(row["detail"] for row in rx.all(f"EXPLAIN QUERY PLAN {sql}"))

    found = await ledger.read(plan)
    assert index in found, found
    assert "TEMP B-TREE" not in found, found
