"""Work going on in an open engine: so many committed transitions a second, by the engine's own functions.

Work orders are submitted, approved after a while, claimed, admitted, delivered, run, judged and accepted; only the
processes are left out. Beside it the coordinator makes its rounds, as it does in the console.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

from engine.control import decisions
from engine.dispatch import approvals
from engine.dispatch.admission import admit
from engine.dispatch.approvals import Sealed
from engine.dispatch.delivery import acknowledge, deliver, record_started
from engine.dispatch.work_orders import create_work_order
from engine.engine import Engine
from engine.scheduling.claims import claim_tasks, register_worker
from engine.states import Purpose
from engine.storage import Rx
from engine.validation.workflow import conclude_execution
from tests.benchmarks.console_data import real_plans
from tests.ledger import AGENT, LEASE, PERSON, observation, spec

HANDS = 32
BACKLOG = 20
"""How many requests of the load wait for an approval at any time."""
ROUND_SECONDS = 0.25

T = TypeVar("T")


class Load:
    """``rate`` transitions a second from `start` to `stop`; ``done`` counts them."""

    def __init__(self, engine: Engine, rate: int) -> None:
        self._engine = engine
        self._rate = rate
        self._waiting: deque[str] = deque()
        self._plans = ("", "")
        self._number = itertools.count(1)
        self._tasks: list[asyncio.Task[None]] = []
        self._began = 0.0
        self._given = 0
        self.done = 0
        self.seconds = 0.0

    async def start(self, workspace: Path) -> None:
        """Register the worker and begin; ``workspace`` is a folder to make plans for."""
        self._plans = await real_plans(self._engine, workspace)
        await self._engine._storage.write(register_worker, "load", "local", 1_000, self._engine.epoch)
        self._began = perf_counter()
        self._tasks = [asyncio.create_task(self._hand(number)) for number in range(HANDS)]
        self._tasks.append(asyncio.create_task(self._rounds()))

    async def stop(self) -> None:
        """End it; what was begun stays as it is."""
        self.seconds = perf_counter() - self._began
        for task in self._tasks:
            task.cancel()
        for result in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
                raise result

    async def _rounds(self) -> None:
        while True:
            await self._engine.reconcile_once()
            await asyncio.sleep(ROUND_SECONDS)

    async def _write(self, function: Callable[..., T], *arguments: Any) -> T:
        """One transition, when its turn has come."""
        self._given += 1
        early = self._began + self._given / self._rate - perf_counter()
        if early > 0:
            await asyncio.sleep(early)
        result = await self._engine._storage.write(function, *arguments)
        self.done += 1
        return result

    async def _hand(self, hand: int) -> None:
        epoch = self._engine.epoch
        while True:
            lane = f"/load/{hand}/{next(self._number)}"
            seal = f"{epoch:032x}{next(self._number):032x}"
            order = spec(lane, title=f"Mend rounding in {lane}", project="payments")
            request = Sealed(self._plans[0], seal, self._plans[1], "v" * 64)
            identity = await self._write(create_work_order, order, lane, request, AGENT, None)
            if len(self._waiting) > BACKLOG:
                await self._write(self._approve, *self._waiting.popleft().split())
            asked = await self._engine._storage.read(_request, identity)
            self._waiting.append(f"{asked} {seal}")
            claims = await self._write(claim_tasks, "load", epoch, 1, LEASE)
            while claims:
                finished = ""
                for claim in claims:
                    granted = await self._engine._storage.read(_seal_of, claim.task_id)
                    admission = await self._write(admit, claim.id, "load", epoch, granted)
                    delivery = await self._write(deliver, admission.intent_id, "load", epoch)
                    await self._write(acknowledge, delivery.id, "load", epoch)
                    await self._write(record_started, delivery.id, "load", epoch, 4242, "77", "boot")
                    await self._write(conclude_execution, delivery.id, "load", epoch, observation())
                    finished = await self._engine._storage.read(_awaiting, claim.task_id)
                    if finished:
                        await self._write(decisions.accept, finished, PERSON, "good")
                claims = () if finished else await self._write(claim_tasks, "load", epoch, 1, LEASE)

    @staticmethod
    def _approve(tx: Any, approval_id: str, seal: str, *, now: int) -> None:
        approvals.approve(tx, approval_id, PERSON, seal, covers_validation=True, now=now)


def _request(rx: Rx, work_order_id: str) -> str:
    row = rx.one(
        """SELECT approval.id FROM approval JOIN task ON task.id = approval.task_id
           WHERE task.work_order_id = ?""",
        (work_order_id,),
    )
    assert row is not None
    return str(row["id"])


def _seal_of(rx: Rx, task_id: str) -> str:
    row = rx.one(
        "SELECT approval.seal FROM task JOIN approval ON approval.id = task.approval_id WHERE task.id = ?",
        (task_id,),
    )
    assert row is not None
    return str(row["seal"])


def _awaiting(rx: Rx, task_id: str) -> str:
    """The work order of a task that was its last, if it waits for acceptance now."""
    row = rx.one(
        """SELECT work_order.id FROM task JOIN work_order ON work_order.id = task.work_order_id
           WHERE task.id = ? AND purpose = ? AND work_order.state = 'AWAITING_ACCEPTANCE'""",
        (task_id, Purpose.VALIDATE),
    )
    return "" if row is None else str(row["id"])
