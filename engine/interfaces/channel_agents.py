"""Asking for the keys of agents through a door; see `engine.control.agents.Agents` for what each method does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from engine.actors import ActorKind
from engine.control.agents import AgentRow


class AgentsClient:
    """The methods about keys for one actor; ``call`` asks the engine for a method of the channel's table."""

    def __init__(self, call: Callable[..., Awaitable[Any]]) -> None:
        self._call = call

    async def add(self, name: str, *, kind: ActorKind = ActorKind.AGENT) -> AgentRow:
        """Give an agent or script a key of its own."""
        result: AgentRow = await self._call("agents.add", name=name, kind=kind)
        return result

    async def revoke(self, name: str, reason: str, *, kind: ActorKind = ActorKind.AGENT) -> AgentRow:
        """Take the key of an agent or script back."""
        result: AgentRow = await self._call("agents.revoke", name=name, reason=reason, kind=kind)
        return result

    async def listed(self) -> tuple[AgentRow, ...]:
        """Every key that was ever given, the newest first."""
        result: tuple[AgentRow, ...] = await self._call("agents.listed")
        return result
