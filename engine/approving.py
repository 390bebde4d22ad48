"""The requests for approval of one open data folder: look at them, and decide them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from engine.actors import Actor
from engine.clock import Clock
from engine.dispatch import approvals as transactions
from engine.dispatch.grants import ask
from engine.dispatch.planning import Planner
from engine.dispatch.steps import step_of_task
from engine.errors import PraxisError
from engine.execution.process import guarantee
from engine.policy import Authorize
from engine.states import ApprovalState
from engine.storage import Storage
from engine.views import inbox as inbox_view
from engine.views.values import ApprovalCard, DifferenceLine, InboxRow, QuietMeter

Write = Callable[..., Awaitable[Any]]


class Approvals:
    """See the module. An approval holds for exactly one seal; each command gives the request as it is then."""

    def __init__(
        self, storage: Storage, clock: Clock, planner: Planner, write: Write, authorize: Authorize
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._planner = planner
        self._write = write
        self._authorize = authorize

    async def inbox(self, *, after: str | None = None, limit: int = 200) -> tuple[InboxRow, ...]:
        """Pending requests for approval, oldest first."""
        return await self._storage.read(inbox_view.inbox, after, limit)

    async def inbox_row(self, approval_id: str) -> InboxRow | None:
        """One pending request as the queue lists it, or None if it is not pending."""
        return await self._storage.read(inbox_view.inbox_row, approval_id)

    async def card(self, approval_id: str) -> ApprovalCard:
        """Everything about one request for approval."""
        return await self._storage.read(inbox_view.approval_card, approval_id, guarantee(), self._clock.now())

    async def changed_since_asked(self, approval_id: str) -> tuple[DifferenceLine, ...]:
        """How what would run now differs from what an open request has sealed; nothing is changed by looking.

        It is a look, no promise: right before the start everything is looked at again, and any difference refuses.
        A plan that cannot be made now is one difference. A request that is no longer open has none.
        """
        card = await self.card(approval_id)
        step, asked = await self._storage.read(step_of_task, card.task_id)
        if card.state not in (ApprovalState.PENDING, ApprovalState.APPROVED):
            return ()
        if asked is None or asked.approval_id != approval_id:
            return ()
        try:
            planned = await asyncio.to_thread(self._planner.plan, step)
        except PraxisError as error:
            return (DifferenceLine("plan", "as sealed", error.what),)
        return tuple(DifferenceLine(one.field, one.approved, one.now) for one in asked.changes(planned))

    async def quiet_meter(self) -> QuietMeter:
        """Decisions in the last hour and their median look time."""
        return await self._storage.read(inbox_view.quiet_meter, self._clock.now())

    async def approve(
        self,
        approval_id: str,
        actor: Actor,
        *,
        seal: str,
        covers_validation: bool = False,
        look_ms: int | None = None,
        reason: str = "",
    ) -> ApprovalCard:
        """Approve exactly the plan whose seal was shown."""
        self._authorize(actor, "approve")
        await self._write(
            partial(
                transactions.approve, covers_validation=covers_validation, look_ms=look_ms, reason=reason
            ),
            approval_id,
            actor,
            seal,
        )
        return await self.card(approval_id)

    async def approve_alike(
        self, approval_ids: Sequence[str], actor: Actor, *, seal: str, look_ms: int | None = None
    ) -> tuple[ApprovalCard, ...]:
        """Approve several requests of one exact seal, all or none."""
        self._authorize(actor, "approve")
        await self._write(
            partial(transactions.approve_alike, look_ms=look_ms), tuple(approval_ids), actor, seal
        )
        return tuple([await self.card(approval_id) for approval_id in approval_ids])

    async def reject(self, approval_id: str, actor: Actor, reason: str) -> ApprovalCard:
        """Reject a request with a reason."""
        self._authorize(actor, "reject")
        await self._write(transactions.reject, approval_id, actor, reason)
        return await self.card(approval_id)

    async def withdraw(self, approval_id: str, actor: Actor, reason: str = "") -> ApprovalCard:
        """Take back a request or an approval that nothing has used yet."""
        self._authorize(actor, "withdraw")
        await self._write(transactions.withdraw, approval_id, actor, reason)
        return await self.card(approval_id)

    async def ask_again(self, task_id: str, actor: Actor) -> ApprovalCard:
        """Plan a READY task afresh and ask for its approval again."""
        self._authorize(actor, "submit")
        step, asked = await self._storage.read(step_of_task, task_id)
        planned = await asyncio.to_thread(self._planner.plan, step)
        approval_id = await self._write(
            partial(
                ask,
                previous_id=asked.approval_id if asked else None,
                differences=asked.changes(planned) if asked else (),
            ),
            task_id,
            planned.sealed,
            actor,
            step.spec.approval_life_ms,
        )
        return await self.card(approval_id)
