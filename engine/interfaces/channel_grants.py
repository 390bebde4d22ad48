"""Asking for standing grants through a door; see `engine.granting.Grants` for what each method does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from engine.instants import Instant
from engine.states import GrantState
from engine.views.grants import GrantRow, GrantView


class GrantsClient:
    """The methods of the grants for one actor; ``call`` asks the engine for a method of the channel's table."""

    def __init__(self, call: Callable[..., Awaitable[Any]]) -> None:
        self._call = call

    async def give(
        self,
        approval_id: str,
        *,
        seal: str,
        ends_at: Instant,
        uses: int,
        free: Sequence[int] = (),
        any_state: bool = False,
        covers_validation: bool = False,
        reason: str = "",
    ) -> GrantView:
        """Make a grant from the card that was shown."""
        result: GrantView = await self._call(
            "grants.give",
            approval_id=approval_id,
            seal=seal,
            ends_at=ends_at,
            uses=uses,
            free=tuple(free),
            any_state=any_state,
            covers_validation=covers_validation,
            reason=reason,
        )
        return result

    async def revoke(self, grant_id: str, reason: str) -> GrantView:
        """End a grant at once."""
        result: GrantView = await self._call("grants.revoke", grant_id=grant_id, reason=reason)
        return result

    async def listed(
        self, *, states: Sequence[GrantState] = (), after: str | None = None, limit: int = 200
    ) -> tuple[GrantRow, ...]:
        """Grants, the newest first."""
        result: tuple[GrantRow, ...] = await self._call(
            "grants.listed", states=tuple(states), after=after, limit=limit
        )
        return result

    async def grant(self, grant_id: str) -> GrantView:
        """One grant whole."""
        result: GrantView = await self._call("grants.grant", grant_id=grant_id)
        return result
