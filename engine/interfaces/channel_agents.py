"""Asking for what belongs to agents through a door: their keys, and what they booked for later.

See `engine.control.agents.Agents` and `engine.followups.FollowUps` for what each method does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from engine.actors import ActorKind
from engine.control.agents import AgentRow
from engine.views.followups import FollowUp, Question
from engine.wakes import Delivery, ToolAnswer


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


class FollowUpsClient:
    """The methods about follow-ups for one actor; ``call`` asks the engine for a method of the channel's table."""

    def __init__(self, call: Callable[..., Awaitable[Any]]) -> None:
        self._call = call

    async def use_tool(
        self, tool: str, arguments: Mapping[str, Any], *, session: str, call_id: str
    ) -> ToolAnswer:
        """Carry out a tool for this actor in a session."""
        result: ToolAnswer = await self._call(
            "followups.use_tool", tool=tool, arguments=arguments, session=session, call_id=call_id
        )
        return result

    async def come(self, *, session: str, after: int = 0, limit: int = 50) -> tuple[FollowUp, ...]:
        """What has come for a session of this actor."""
        result: tuple[FollowUp, ...] = await self._call(
            "followups.come", session=session, after=after, limit=limit
        )
        return result

    async def questions(self, *, limit: int = 200) -> tuple[Question, ...]:
        """What agents ask a person."""
        result: tuple[Question, ...] = await self._call("followups.questions", limit=limit)
        return result

    async def answer(self, question_id: str, answer: str) -> None:
        """Answer an agent's question."""
        await self._call("followups.answer", question_id=question_id, answer=answer)

    async def tell_event(
        self, agent: str, key: str, *, payload: str = "", delivery_id: str | None = None
    ) -> Delivery:
        """Tell an agent that an event has come."""
        result: Delivery = await self._call(
            "followups.tell_event", agent=agent, key=key, payload=payload, delivery_id=delivery_id
        )
        return result
