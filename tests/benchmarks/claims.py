"""What the engine's own transactions cost: a transition, a claim of 100 at two backlogs, whole lifecycles.

``transition_p50_over_commit`` compares the renewal of a lease (epoch, claim and clock checked, row changed,
journalled) with a bare FULL commit in the same run; ``clients16_over_1`` how many of them 16 clients get done
against one, as their commits are shared. ``claim100_at_100k_over_1k`` compares claiming 100 of
100,000 approved tasks with claiming 100 of 1,000 (E-17). A lifecycle is a task from submission to settlement:
submit, approve, claim, admit, deliver, acknowledge, start, conclude, without processes. It is some hundred
statements of one thread's work, so that on a fast disk sharing commits helps it less than a single transition.
"""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from time import perf_counter

from engine.clock import ManualClock
from engine.scheduling.claims import claim_tasks, release_claim, renew_claim
from engine.states import Purpose
from engine.storage import Tx
from engine.validation.workflow import conclude_execution
from engine.work_order import BudgetLimits
from tests.benchmarks.common import median, rate, run
from tests.benchmarks.transition import transition_cost
from tests.ledger import LEASE, Ledger, observation

TRANSITIONS = {1: 400, 16: 4_000}
TRANSITION_ROUNDS = 3
LIFECYCLES = {1: 60, 16: 240, 64: 384}
CLAIM = 100
CLAIM_ROUNDS = 7
PER_LANE = 10
WIDE = BudgetLimits(10**9, 10**12, 0, 0)


async def measure(folder: Path) -> dict[str, object]:
    """Run all cases; the two backlogs in turn, each in a folder of its own."""
    transition = await transition_cost(folder)
    transitions = await _transitions(folder)
    lifecycle = {clients: await _lifecycle(folder, clients) for clients in LIFECYCLES}
    claims = await _claims(folder)
    return {
        **transition,
        "transitions_per_second_1": transitions[1],
        "transitions_per_second_16": transitions[16],
        "clients16_over_1": round(transitions[16] / transitions[1], 2),
        "lifecycle_per_second_1": lifecycle[1],
        "lifecycle_per_second_16": lifecycle[16],
        "lifecycle_per_second_64": lifecycle[64],
        "lifecycle16_over_1": round(lifecycle[16] / lifecycle[1], 2),
        "lifecycle64_over_1": round(lifecycle[64] / lifecycle[1], 2),
        **claims,
    }


async def _transitions(folder: Path) -> dict[int, float]:
    """Renewals of leases per second, each client its own lease; the median of rounds taken in turn."""
    ledger = await Ledger.open(folder / "transitions", ManualClock())
    try:
        for number in range(16):
            await ledger.approve(await ledger.submit(f"/lane/{number}"))
        claims = await ledger.claim(16)

        async def renew(number: int) -> None:
            await ledger.write(renew_claim, claims[number % 16].id, "w", ledger.epoch, LEASE)

        found: dict[int, list[float]] = {clients: [] for clients in TRANSITIONS}
        for _, (clients, operations) in itertools.product(range(TRANSITION_ROUNDS), TRANSITIONS.items()):
            found[clients].append(await rate(renew, operations, clients))
        return {clients: round(median(rates), 1) for clients, rates in found.items()}
    finally:
        await ledger.close()


async def _lifecycle(folder: Path, clients: int) -> float:
    """Whole lifecycles per second; every task is in a lane of its own."""
    ledger = await Ledger.open(folder / f"lifecycle-{clients}", ManualClock(), slots=10_000)
    try:
        await ledger.write(_widen)

        async def one(number: int) -> None:
            order = await ledger.submit(f"/lane/{number}", limits=WIDE)
            await ledger.approve(order)
            # Perhaps a task that another client has approved; there are always as many as claims.
            (claim,) = await ledger.claim()
            admission = await ledger.admit(claim)
            delivery = await ledger.start(admission)
            await ledger.write(conclude_execution, delivery, "w", ledger.epoch, observation())

        return round(await rate(one, LIFECYCLES[clients], clients), 1)
    finally:
        await ledger.close()


async def _claims(folder: Path) -> dict[str, object]:
    results: dict[str, object] = {}
    worst = 0.0
    for shape, per_lane in (("own_lanes", 1), ("lanes_of_10", PER_LANE)):
        ledgers = {}
        try:
            for rows in (1_000, 100_000):
                ledger = await Ledger.open(folder / f"{shape}-{rows}", ManualClock(), slots=10**6)
                ledgers[rows] = ledger
                await _fill(ledger, rows, per_lane)
            samples: dict[int, list[float]] = {rows: [] for rows in ledgers}
            for _, (rows, ledger) in itertools.product(range(CLAIM_ROUNDS), ledgers.items()):
                samples[rows].append(await _claim_and_give_back(ledger))
        finally:
            for ledger in ledgers.values():
                await ledger.close()
        small, large = (
            median([s * 1000 for s in samples[1_000]]),
            median([s * 1000 for s in samples[100_000]]),
        )
        worst = max(worst, large / small)
        results |= {f"claim100_ms_at_1k_{shape}": small, f"claim100_ms_at_100k_{shape}": large}
    return {**results, "claim100_at_100k_over_1k": round(worst, 2)}


async def _claim_and_give_back(ledger: Ledger) -> float:
    started = perf_counter()
    claims = await ledger.write(claim_tasks, "w", ledger.epoch, CLAIM, LEASE)
    taken = perf_counter() - started
    assert len(claims) == CLAIM, len(claims)
    await asyncio.gather(
        *(ledger.write(release_claim, claim.id, "w", ledger.epoch, "measured") for claim in claims)
    )
    return taken


async def _fill(ledger: Ledger, rows: int, per_lane: int) -> None:
    """Approved READY tasks of one work order's making, copied by SQL; the first of each lane is armed."""
    await ledger.write(_widen)
    order = await ledger.submit("/lane/template", limits=WIDE)
    await ledger.approve(order)
    await ledger.write(_copy_tasks, order, rows, per_lane)


def _widen(tx: Tx, *, now: int) -> None:
    tx.run("UPDATE scope_partition SET cost_limit = ?, active_ms_limit = ?", (10**12, 10**15))


def _copy_tasks(tx: Tx, order: str, rows: int, per_lane: int, *, now: int) -> None:
    task = tx.one("SELECT * FROM task WHERE work_order_id = ?", (order,))
    approval = tx.one("SELECT * FROM approval WHERE work_order_id = ?", (order,))
    assert task is not None
    assert approval is not None
    for number in range(rows):
        task_id, approval_id = f"T{number:025d}", f"A{number:025d}"
        values = dict(task) | {
            "id": task_id,
            "ordinal": number + 2,
            "purpose": Purpose.CORRECT,
            "lane": f"/lane/{number // per_lane}",
            "approval_id": None,
            "armed_at": None,
        }
        _insert(tx, "task", values)
        _insert(tx, "approval", dict(approval) | {"id": approval_id, "task_id": task_id})
        armed = now if number % per_lane == 0 else None
        tx.run("UPDATE task SET approval_id = ?, armed_at = ? WHERE id = ?", (approval_id, armed, task_id))


def _insert(tx: Tx, table: str, values: dict[str, object]) -> None:
    marks = ", ".join("?" for _ in values)
    tx.run(f"INSERT INTO {table}({', '.join(values)}) VALUES ({marks})", tuple(values.values()))


if __name__ == "__main__":
    run(measure, __doc__ or "")
