"""Deciding through a door: requests for approval, and what is UNKNOWN; see `engine.approving` and `engine.unknowns`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from engine.control.decisions import Finding
from engine.control.proofs import Proof
from engine.views.values import ApprovalCard, AttemptRow, InboxRow


class ApprovalsClient:
    """The methods of the approvals for one actor; ``call`` asks the engine for a method of the table."""

    def __init__(self, call: Callable[..., Awaitable[Any]]) -> None:
        self._call = call

    async def inbox(self, *, after: str | None = None, limit: int = 200) -> tuple[InboxRow, ...]:
        """Requests for approval that wait, oldest first."""
        result: tuple[InboxRow, ...] = await self._call("approvals.inbox", after=after, limit=limit)
        return result

    async def card(self, approval_id: str) -> ApprovalCard:
        """Everything about one request for approval."""
        result: ApprovalCard = await self._call("approvals.card", approval_id=approval_id)
        return result

    async def approve(
        self,
        approval_id: str,
        *,
        seal: str,
        covers_validation: bool = False,
        look_ms: int | None = None,
        reason: str = "",
    ) -> ApprovalCard:
        """Approve the plan with exactly this seal."""
        result: ApprovalCard = await self._call(
            "approvals.approve",
            approval_id=approval_id,
            seal=seal,
            covers_validation=covers_validation,
            look_ms=look_ms,
            reason=reason,
        )
        return result

    async def reject(self, approval_id: str, reason: str) -> ApprovalCard:
        """Reject a request for approval."""
        result: ApprovalCard = await self._call("approvals.reject", approval_id=approval_id, reason=reason)
        return result

    async def withdraw(self, approval_id: str, reason: str = "") -> ApprovalCard:
        """Take back a request or an approval that is not consumed yet."""
        result: ApprovalCard = await self._call("approvals.withdraw", approval_id=approval_id, reason=reason)
        return result

    async def ask_again(self, task_id: str) -> ApprovalCard:
        """Plan a ready task anew and ask for its approval."""
        result: ApprovalCard = await self._call("approvals.ask_again", task_id=task_id)
        return result


class UnknownsClient:
    """The methods for what is UNKNOWN for one actor; ``call`` asks the engine for a method of the table."""

    def __init__(self, call: Callable[..., Awaitable[Any]]) -> None:
        self._call = call

    async def reconcile(
        self,
        attempt_id: str,
        finding: Finding,
        *,
        reason: str,
        cost: int | None = None,
        active_ms: int | None = None,
        proof: Sequence[Proof] = (),
    ) -> AttemptRow:
        """End an UNKNOWN by a recorded decision; the owner reads the files of ``proof`` from their absolute paths."""
        result: AttemptRow = await self._call(
            "unknowns.reconcile",
            attempt_id=attempt_id,
            finding=finding,
            reason=reason,
            cost=cost,
            active_ms=active_ms,
            proof=tuple(proof),
        )
        return result
