"""The budgets of one open data folder: look at the tree of scopes, change limits, make and remove projects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from engine.actors import Actor
from engine.control import limits as limiting
from engine.policy import Authorize
from engine.storage import Storage
from engine.views import budgets as budgets_view
from engine.views.budgets import ScopeRow, ScopeView
from engine.work_order import BudgetLimits

Write = Callable[..., Awaitable[Any]]


class Budgets:
    """See the module. A scope is named ``root``, ``project:NAME``, ``WO-118``, or by its id."""

    def __init__(self, storage: Storage, write: Write, authorize: Authorize) -> None:
        self._storage = storage
        self._write = write
        self._authorize = authorize

    async def scopes(
        self, *, parent_id: str | None = None, after: str | None = None, limit: int = 200
    ) -> tuple[ScopeRow, ...]:
        """The scopes right below one, newest first and page by page; without ``parent_id`` the root."""
        return await self._storage.read(budgets_view.scopes, parent_id, after, limit)

    async def scopes_now(self, ids: Sequence[str]) -> tuple[ScopeRow, ...]:
        """These scopes as they are now; those that are gone are left out."""
        return await self._storage.read(budgets_view.scopes_now, tuple(ids))

    async def scope(self, name: str) -> ScopeView:
        """One scope with all above it, what draws on it now, what waits for room there, and its past limits."""
        return await self._storage.read(budgets_view.scope_view, name)

    async def set_limits(
        self,
        name: str,
        limits: BudgetLimits,
        actor: Actor,
        *,
        reason: str,
        seen: BudgetLimits | None = None,
        below_use: bool = False,
    ) -> ScopeView:
        """Change a scope's limits, for a person, with a reason. They bind what starts from now on.

        ``seen`` are the limits the person looked at; ``below_use`` says that a limit below what is counted there
        already is meant. Raises `Refused` or `WrongState` otherwise, and nothing is changed.
        """
        self._authorize(actor, "budget")
        scope_id = await self._storage.read(budgets_view.find_scope, name)
        await self._write(limiting.change_limits, scope_id, limits, actor, reason, seen, below_use)
        return await self.scope(scope_id)

    async def add_project(
        self, project: str, limits: BudgetLimits, actor: Actor, *, reason: str
    ) -> ScopeView:
        """Make a project with limits of its own before its first work order, for a person."""
        self._authorize(actor, "budget")
        return await self.scope(await self._write(limiting.create_project, project, limits, actor, reason))

    async def remove_project(self, name: str, actor: Actor, *, reason: str) -> None:
        """Take away a project without work orders, for a person; what was spent anywhere stays counted."""
        self._authorize(actor, "budget")
        scope_id = await self._storage.read(budgets_view.find_scope, name)
        await self._write(limiting.remove_project, scope_id, actor, reason)
