"""The standing grants of one open data folder: give, look, revoke (E-42a)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from engine.actors import Actor
from engine.clock import Clock
from engine.dispatch import grants as granting
from engine.instants import Instant
from engine.policy import Authorize
from engine.states import GrantState
from engine.storage import Storage
from engine.views import grants as grants_view
from engine.views.grants import GrantRow, GrantView

Write = Callable[..., Awaitable[Any]]


class Grants:
    """See the module. Only a person gives and revokes; there is no way to change a grant."""

    def __init__(self, storage: Storage, clock: Clock, write: Write, authorize: Authorize) -> None:
        self._storage = storage
        self._clock = clock
        self._write = write
        self._authorize = authorize

    async def give(
        self,
        approval_id: str,
        actor: Actor,
        *,
        seal: str,
        ends_at: Instant,
        uses: int,
        free: Sequence[int] = (),
        any_state: bool = False,
        covers_validation: bool = False,
        reason: str = "",
    ) -> GrantView:
        """Make a grant from the card whose ``seal`` was shown; if its request waits, that is the first use.

        ``free`` are arguments left free by their place in argv, ``any_state`` lets other files of the workspace
        change. See `engine.dispatch.grants.give` for what is refused.
        """
        self._authorize(actor, "grant")
        grant_id = await self._write(
            partial(
                granting.give,
                free=tuple(free),
                any_state=any_state,
                covers_validation=covers_validation,
                reason=reason,
            ),
            approval_id,
            seal,
            actor,
            ends_at,
            uses,
        )
        return await self.grant(grant_id)

    async def revoke(self, grant_id: str, actor: Actor, reason: str) -> GrantView:
        """End a grant at once; what it approved and nothing has used yet is asked for again. What runs goes on."""
        self._authorize(actor, "grant")
        await self._write(granting.revoke, grant_id, actor, reason)
        return await self.grant(grant_id)

    async def listed(
        self, *, states: Sequence[GrantState] = (), after: str | None = None, limit: int = 200
    ) -> tuple[GrantRow, ...]:
        """Grants, the newest first and page by page; in these states, or all."""
        return await self._storage.read(grants_view.grants, tuple(states), after, limit, self._clock.now())

    async def grant(self, grant_id: str) -> GrantView:
        """One grant whole: what it covers and each of its uses."""
        return await self._storage.read(grants_view.grant_view, grant_id, self._clock.now())
