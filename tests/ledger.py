"""A ledger without processes: the engine's transaction functions over a real storage, with plans made up.

Tests of claims, admission, settlement and control use it to reach any state quickly and exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from engine.actors import Actor, ActorKind
from engine.clock import ManualClock
from engine.control import decisions
from engine.control.decisions import Finding
from engine.control.proofs import KeptProof, Proof
from engine.dispatch import approvals, budgets
from engine.dispatch.admission import Admission, admit
from engine.dispatch.approvals import Sealed
from engine.dispatch.delivery import acknowledge, deliver, record_started
from engine.dispatch.work_orders import create_work_order
from engine.execution.record import Observation
from engine.scheduling.claims import Claim, claim_tasks, register_worker
from engine.states import Outcome
from engine.storage import Boundary, Rx, Storage, Tx, take_epoch
from engine.validation.workflow import conclude_execution
from engine.work_order import BudgetLimits, CommandSpec, CorrectionRule, ValidationSpec, WorkOrderSpec

T = TypeVar("T")
PERSON = Actor(ActorKind.PERSON, "ada")
AGENT = Actor(ActorKind.AGENT, "codex-1")
LEASE = 60_000
SEEN = (Proof("note", text="I looked, and it is so."),)
"""What a person shows who ends an UNKNOWN."""

KEPT = (KeptProof("note", "5ee0" * 16, 24),)
ROOT = BudgetLimits(1_000, 86_400_000, 100, 7_200_000)


class Ledger:
    """One storage with an epoch and a worker ``w``; every method is one committed transaction."""

    def __init__(self, storage: Storage, clock: ManualClock) -> None:
        self.storage = storage
        self.clock = clock
        self.epoch = 0

    @classmethod
    async def open(
        cls, folder: Path, clock: ManualClock, *, slots: int = 1000, boundary: Boundary | None = None
    ) -> Ledger:
        ledger = cls(await Storage.open(folder, clock=clock, boundary=boundary), clock)
        await ledger.write(budgets.root_scope, ROOT)
        await ledger.take_over(slots)
        return ledger

    async def take_over(self, slots: int = 1000) -> int:
        def take(tx: Tx, *, now: int) -> int:
            return take_epoch(tx, self.storage.owner, now)

        self.epoch = await self.write(take)
        await self.write(register_worker, "w", "local", slots, self.epoch)
        return self.epoch

    async def close(self) -> None:
        await self.storage.close()

    async def write(self, function: Callable[..., T], *arguments: object) -> T:
        return await self.storage.write(function, *arguments, control=True)

    async def read(self, function: Callable[..., T], *arguments: object) -> T:
        return await self.storage.read(function, *arguments)

    async def all(self, sql: str, *values: object) -> list[dict[str, Any]]:
        def rows(rx: Rx) -> list[dict[str, Any]]:
            return [dict(row) for row in rx.all(sql, values)]

        return await self.read(rows)

    async def one(self, sql: str, *values: object) -> dict[str, Any]:
        (row,) = await self.all(sql, *values)
        return row

    async def submit(self, lane: str = "/work", **changes: Any) -> str:
        """A work order with its task READY and its request PENDING; returns its id."""
        return await self.write(
            create_work_order, spec(lane, **changes), lane, sealed(), AGENT, changes.get("key")
        )

    async def task_of(self, order: str) -> dict[str, Any]:
        return await self.one(
            "SELECT * FROM task WHERE work_order_id = ? ORDER BY ordinal DESC LIMIT 1", order
        )

    async def approval_of(self, order: str) -> dict[str, Any]:
        return await self.one(
            """SELECT approval.* FROM approval JOIN task ON task.id = approval.task_id
               WHERE approval.work_order_id = ? ORDER BY task.ordinal DESC, approval.ordinal DESC LIMIT 1""",
            order,
        )

    async def ask(self, order: str) -> str:
        task = await self.task_of(order)
        return await self.write(approvals.ask_approval, task["id"], sealed(), AGENT, 3_600_000)

    async def approve(self, order: str, covers: bool = False) -> None:
        request = await self.approval_of(order)

        def decide(tx: Tx, *, now: int) -> None:
            approvals.approve(tx, request["id"], PERSON, request["seal"], covers_validation=covers, now=now)

        await self.write(decide)

    async def claim(self, limit: int = 1) -> tuple[Claim, ...]:
        return await self.write(claim_tasks, "w", self.epoch, limit, LEASE)

    async def admit(self, claim: Claim, seal: str = "s" * 64) -> Admission:
        return await self.write(admit, claim.id, "w", self.epoch, seal)

    async def reconcile(
        self,
        attempt: str,
        finding: Finding,
        reason: str = "looked",
        cost: int | None = None,
        active_ms: int | None = None,
    ) -> None:
        """A person says what became of an UNKNOWN, with a proof."""
        await self.write(decisions.reconcile, attempt, finding, PERSON, reason, cost, active_ms, KEPT)

    async def start(self, admission: Admission) -> str:
        """Deliver, acknowledge and start an admitted attempt; returns the delivery's id."""
        delivery = await self.write(deliver, admission.intent_id, "w", self.epoch)
        await self.write(acknowledge, delivery.id, "w", self.epoch)
        await self.write(record_started, delivery.id, "w", self.epoch, 4242, "77", "boot-1")
        return delivery.id

    async def run(self, order: str, outcome: Outcome = Outcome.SUCCEEDED, **seen: Any) -> str:
        """Approve, claim, admit, run and conclude the order's present task; returns the attempt's id."""
        if (await self.approval_of(order))["state"] == "CONSUMED":
            await self.ask(order)
        if (await self.approval_of(order))["state"] == "PENDING":
            await self.approve(order)
        (claim,) = await self.claim()
        admission = await self.admit(claim)
        delivery = await self.start(admission)
        await self.write(conclude_execution, delivery, "w", self.epoch, observation(outcome, **seen))
        return admission.attempt_id


def spec(lane: str = "/work", **changes: Any) -> WorkOrderSpec:
    """A work order of 30 units and 5,000 ms a step with a validation command and no correction."""
    command = CommandSpec(
        ("python", "fix.py"),
        environment=MappingProxyType({}),
        max_cost=changes.get("max_cost", 30),
        time_limit_ms=changes.get("time_limit_ms", 5_000),
    )
    return WorkOrderSpec(
        title=changes.get("title", "Mend rounding"),
        workspace=lane,
        implementation=command,
        validation=changes.get("validation", ValidationSpec("tests pass", command=command)),
        limits=changes.get("limits", BudgetLimits(300, 600_000, 10, 60_000)),
        project=changes.get("project", "payments"),
        correction=CorrectionRule(changes.get("corrections", 0)),
        due_at=changes.get("due_at"),
        approval_life_ms=changes.get("approval_life_ms", 86_400_000),
    )


def sealed(seal: str = "s" * 64) -> Sealed:
    plan = '{"argv":["python","fix.py"],"version":1}'
    return Sealed(plan, seal, plan, "v" * 64)


def observation(outcome: Outcome = Outcome.SUCCEEDED, **changes: Any) -> Observation:
    return Observation(
        outcome=outcome,
        reason_code=changes.get("reason_code", "exit_zero"),
        reason=changes.get("reason", "The command ended."),
        body="{}",
        sha256="e" * 64,
        blobs=changes.get("blobs", ()),
        active_ms=changes.get("active_ms", 1_200),
        reported_cost=changes.get("reported_cost", 12),
        never_started=changes.get("never_started", False),
        survivors=changes.get("survivors", ""),
    )
