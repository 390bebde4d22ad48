"""Asking for the budgets through a door; see `engine.budgeting.Budgets` for what each method does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from engine.views.budgets import ScopeRow, ScopeView
from engine.work_order import BudgetLimits


class BudgetsClient:
    """The methods of the budgets for one actor; ``call`` asks the engine for a method of the channel's table."""

    def __init__(self, call: Callable[..., Awaitable[Any]]) -> None:
        self._call = call

    async def scopes(
        self, *, parent_id: str | None = None, after: str | None = None, limit: int = 200
    ) -> tuple[ScopeRow, ...]:
        """The scopes right below one, newest first; without ``parent_id`` the root."""
        result: tuple[ScopeRow, ...] = await self._call(
            "budgets.scopes", parent_id=parent_id, after=after, limit=limit
        )
        return result

    async def scope(self, name: str) -> ScopeView:
        """One scope whole."""
        result: ScopeView = await self._call("budgets.scope", name=name)
        return result

    async def set_limits(
        self,
        name: str,
        limits: BudgetLimits,
        *,
        reason: str,
        seen: BudgetLimits | None = None,
        below_use: bool = False,
    ) -> ScopeView:
        """Change a scope's limits."""
        result: ScopeView = await self._call(
            "budgets.set_limits", name=name, limits=limits, reason=reason, seen=seen, below_use=below_use
        )
        return result

    async def add_project(self, project: str, limits: BudgetLimits, *, reason: str) -> ScopeView:
        """Make a project beforehand."""
        result: ScopeView = await self._call(
            "budgets.add_project", project=project, limits=limits, reason=reason
        )
        return result

    async def remove_project(self, name: str, *, reason: str) -> None:
        """Take away a project without work orders."""
        await self._call("budgets.remove_project", name=name, reason=reason)
