"""Asking for the approvals that nobody has asked for yet: of each next step that the workflow made (E-62, E-74)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from engine.actors import ENGINE
from engine.clock_watch import WatchedClock
from engine.dispatch.approvals import Sealed, grant_correction
from engine.dispatch.differences import Difference
from engine.dispatch.grants import ask
from engine.dispatch.planning import PlannedStep, Planner, Step, reason_of
from engine.dispatch.steps import covering_approval, step_of_task
from engine.dispatch.work_orders import work_order_row
from engine.errors import PraxisError
from engine.instants import Instant
from engine.scheduling.tasks import task_row
from engine.states import TaskState, WorkOrderState
from engine.storage import Rx, Storage, Tx
from engine.validation.workflow import move_work_order
from engine.workspace.repository import AS_LEFT_BY_FAILED_VALIDATION


class MissingRequests:
    """Plans the steps that have no request for approval and asks; at most ``batch`` at once, one pass at a time."""

    def __init__(self, storage: Storage, planner: Planner, clock: WatchedClock, batch: int) -> None:
        self._storage = storage
        self._planner = planner
        self._clock = clock
        self._batch = batch
        self._at_work = asyncio.Lock()

    async def ask(self) -> None:
        """Ask for the approval of every READY task of an active work order that has no request yet."""
        async with self._at_work:
            for task_id in await self._storage.read(unasked, self._batch):
                step, asked = await self._storage.read(step_of_task, task_id)
                try:
                    planned = await asyncio.to_thread(self._planner.plan, step)
                except PraxisError as error:
                    await self._storage.write(cannot_ask, task_id, reason_of(error))
                    continue
                if step.left is not None and await self._cover(task_id, step, planned):
                    continue
                await self._storage.write(
                    ask_if_missing,
                    task_id,
                    planned.sealed,
                    step.spec.approval_life_ms,
                    asked.approval_id if asked else None,
                    asked.changes(planned) if asked else (),
                )

    async def _cover(self, task_id: str, step: Step, planned: PlannedStep) -> bool:
        """Let a correction be covered by the approval of its command, if its rule and the workspace allow it."""
        assert step.left is not None
        approval_id = await self._storage.read(
            covering_approval, task_id, planned, step.left, self._clock.now()
        )
        if approval_id is None or not self._clock.trusted:
            return False
        covered = await asyncio.to_thread(self._planner.plan, replace(step, covered=True))
        if covered.prepared.plan.state != AS_LEFT_BY_FAILED_VALIDATION:
            return False
        granted = await self._storage.write(
            grant_correction, approval_id, task_id, covered.sealed, step.spec.approval_life_ms
        )
        return granted is not None


def unasked(rx: Rx, limit: int) -> tuple[str, ...]:
    """At most ``limit`` READY tasks of active work orders that have no open request, the oldest first."""
    rows = rx.all(
        """SELECT task.id FROM task JOIN work_order ON work_order.id = task.work_order_id
           WHERE task.state = 'READY' AND task.approval_id IS NULL AND work_order.state = 'ACTIVE'
             AND NOT EXISTS (SELECT 1 FROM approval WHERE approval.task_id = task.id
               AND approval.state IN ('PENDING', 'APPROVED'))
           ORDER BY task.ready_at, task.id LIMIT ?""",
        (limit,),
    )
    return tuple(row["id"] for row in rows)


def ask_if_missing(
    tx: Tx,
    task_id: str,
    sealed: Sealed,
    life_ms: int,
    previous: str | None,
    found: tuple[Difference, ...],
    *,
    now: Instant,
) -> None:
    """Ask unless somebody has asked, or the task has moved on, since it was found."""
    task = task_row(tx, task_id)
    order = work_order_row(tx, task["work_order_id"])
    asked = tx.one(
        "SELECT 1 FROM approval WHERE task_id = ? AND state IN ('PENDING', 'APPROVED')", (task_id,)
    )
    if task["state"] == TaskState.READY and order["state"] == WorkOrderState.ACTIVE and asked is None:
        ask(tx, task_id, sealed, ENGINE, life_ms, now=now, previous_id=previous, differences=found)


def cannot_ask(tx: Tx, task_id: str, reason: str, *, now: Instant) -> None:
    """Let a person decide about a work order whose next step cannot be planned."""
    task = task_row(tx, task_id)
    if work_order_row(tx, task["work_order_id"])["state"] == WorkOrderState.ACTIVE:
        move_work_order(tx, task["work_order_id"], WorkOrderState.DECISION_NEEDED, reason, ENGINE, now)
