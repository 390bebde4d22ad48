"""Follow-ups of agents: what they book for later, how it reaches them, how a person answers (wakes.md §9).

An agent's wakes lie in a workspace of its own, named by who proved its key, and in the session that its launch names;
neither is an argument of a tool. What has come stays readable for days, so that it reaches an agent that was away.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.actors import Actor, ActorKind
from engine.clock import Clock
from engine.errors import InvalidValue, NotFound, Refused, WrongState
from engine.policy import Authorize
from engine.storage import Storage
from engine.views import followups as view
from engine.views.followups import AGENT_WORKSPACE, FollowUp, Question
from engine.wakes import (
    AgentTools,
    AlarmClock,
    Delivery,
    Identity,
    IssuedApproval,
    ResolveResult,
    ToolAnswer,
    Wake,
    in_transaction,
)
from engine.wakes.requests import DEFAULT_KIND, require_name

LONGEST_ANSWER = 10_000
_EVENTS_A_PASS = 100


class FollowUps:
    """The agents' side of the alarm clock of one open data folder, and the person's answers."""

    def __init__(self, storage: Storage, alarm: AlarmClock, clock: Clock, authorize: Authorize) -> None:
        self._storage = storage
        self._alarm = alarm
        self._clock = clock
        self._authorize = authorize
        alarm.register(DEFAULT_KIND, in_transaction(_keep))

    async def use_tool(
        self, tool: str, arguments: Mapping[str, Any], actor: Actor, *, session: str, call_id: str
    ) -> ToolAnswer:
        """Carry out a tool for an agent; the same session and ``call_id`` again book nothing twice.

        What the agent does wrong is an answer, not an error.
        """
        self._authorize(actor, "submit")
        identity = Identity(workspace_of(actor), require_name(session, "session"), actor)
        tools = AgentTools(
            self._alarm, identity, self._clock, events=True, deliver_token=_let_the_person_look
        )
        return await tools.call(tool, arguments, call_id)

    async def come(
        self, actor: Actor, *, session: str, after: int = 0, limit: int = 50
    ) -> tuple[FollowUp, ...]:
        """What has come for a session of the actor, in the order of its coming, after the place of the last one."""
        workspace = workspace_of(actor)
        return await self._storage.read(view.come, workspace, require_name(session, "session"), after, limit)

    async def questions(self, *, limit: int = 200) -> tuple[Question, ...]:
        """What agents ask a person and nobody has answered yet, oldest first."""
        return await self._storage.read(view.questions, limit)

    async def answer(self, question_id: str, answer: str, actor: Actor) -> None:
        """Answer an agent's question, once. It goes on with exactly these words.

        `WrongState` if it was answered, cancelled or is too late, `NotFound` if there is no such question.
        """
        self._authorize(actor, "decide")
        if not answer.strip() or len(answer) > LONGEST_ANSWER:
            raise InvalidValue(
                f"An answer is 1 to {LONGEST_ANSWER:,} characters.",
                do="Say it in a few words.",
                field="answer",
            )
        resolution = await self._alarm.answer(question_id, answer, actor)
        match resolution.result:
            case ResolveResult.OK:
                return
            case ResolveResult.NOT_FOUND:
                raise NotFound(f"There is no question {question_id[:100]}.", do="Look at what is asked now.")
            case ResolveResult.UNAUTHORIZED:
                raise Refused("This question is not yours to answer.", means="Nothing was changed.")
        raise WrongState(
            "The question takes no answer any more.",
            means={
                ResolveResult.ALREADY_RESOLVED: "It was answered already.",
                ResolveResult.CANCELLED: "It was cancelled.",
            }.get(resolution.result, "Its deadline has passed."),
            do="Look at what is asked now.",
        )

    async def tell_event(
        self, agent: str, key: str, actor: Actor, *, payload: str = "", delivery_id: str | None = None
    ) -> Delivery:
        """Tell an agent that watches ``key`` that it has come; `NotFound` if it does not watch it.

        A repeated ``delivery_id`` tells nothing twice.
        """
        self._authorize(actor, "submit")
        if actor.kind is ActorKind.AGENT:
            raise Refused("An agent tells no events.", means="Nothing was changed.")
        told = await self._alarm.deliver_event(
            workspace_of(Actor(ActorKind.AGENT, agent)), key, payload, delivery_id=delivery_id
        )
        if not told.watched:
            raise NotFound(f"No agent {agent[:100]} watches {key[:200]}.", means="Nothing was told.")
        return told

    async def tell_watchers(self) -> None:
        """Tell agents what has become of their own work orders, if they watch it. Part of every pass."""
        for one in await self._storage.read(view.watched, _EVENTS_A_PASS):
            await self._alarm.deliver_event(one.workspace, one.key, dict(one.payload))


def workspace_of(actor: Actor) -> str:
    """Where the wakes of an actor lie: nobody else's lie there."""
    prefix = AGENT_WORKSPACE if actor.kind is ActorKind.AGENT else f"{actor.kind} "
    return f"{prefix}{actor.name}"


def _keep(_tx: object, _wake: Wake) -> None:
    """Firing a follow-up changes nothing else: the fired wake itself is what the agent reads."""


async def _let_the_person_look(_issued: IssuedApproval, _question: str) -> None:
    """Nothing more is needed: the person sees the question and answers it by its identity, without a token."""
