"""The tools that an agent gets: their definitions and a dispatcher that never raises for an agent's mistake.

Who calls, from which workspace and session and how deep, comes from the host and never from arguments. A tool
is offered only if its delivery path is configured. Refusals tell nothing about other sessions.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from engine.actors import Actor
from engine.clock import Clock
from engine.errors import InvalidValue, PraxisError
from engine.instants import format_instant
from engine.wakes.alarm import AlarmClock
from engine.wakes.errors import Reason, WakeRefused
from engine.wakes.requests import DEFAULT_KIND
from engine.wakes.store import place
from engine.wakes.times import tool_time
from engine.wakes.values import LIVE, Booked, CancelResult, IssuedApproval, WakeSummary

PAGE = 100
LONGEST_TITLE = 80

_PLACE = re.compile(r"(-?[0-9]{1,18}):([0-9]{1,18})", re.ASCII)
_HALF_OF_A_PAIR = re.compile(r"[\ud800-\udfff]")

Arguments: TypeAlias = Mapping[str, Any]

DeliverToken: TypeAlias = Callable[[IssuedApproval, str], Awaitable[None]]
"""Brings an approval's token, and the question, to whoever may answer; the agent never sees it."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who uses the tools, as the host knows it. ``lane`` and ``depth`` are given to every wake made."""

    workspace: str
    session: str
    actor: Actor
    lane: str | None = None
    depth: int = 0
    kind: str = DEFAULT_KIND


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """One tool as a host offers it; the schema is JSON Schema."""

    name: str
    description: str
    input_schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What every call answers: whether it did what was asked, a sentence, and a reason for programs."""

    ok: bool
    text: str
    reason: str = "ok"
    data: dict[str, Any] = field(default_factory=dict)


class AgentTools:
    """The tools of one session. ``events``: whether the host delivers events; ``deliver_token``: answers."""

    def __init__(
        self,
        alarm: AlarmClock,
        identity: Identity,
        clock: Clock,
        *,
        events: bool = False,
        deliver_token: DeliverToken | None = None,
    ) -> None:
        self._alarm = alarm
        self._identity = identity
        self._clock = clock
        self._deliver_token = deliver_token
        calls: dict[str, Callable[[Arguments, str], Awaitable[ToolAnswer]]] = {
            "schedule_followup": self._schedule_followup
        }
        if events:
            calls["watch"] = self._watch
        if deliver_token is not None:
            calls["request_approval"] = self._request_approval
        calls |= {"cancel_wake": self._cancel_wake, "list_wakes": self._list_wakes}
        self._calls = calls

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """The tools that are offered here."""
        return tuple(tool_definitions()[name] for name in self._calls)

    async def call(self, name: str, arguments: Arguments, call_id: str) -> ToolAnswer:
        """Carry out a call; the same ``call_id`` again is a retry and books nothing twice."""
        function = self._calls.get(name)
        if function is None:
            return ToolAnswer(False, f"There is no tool {name!r}.", "unknown_tool")
        try:
            _require_arguments(name, arguments)
            return await function(arguments, call_id)
        except WakeRefused as refusal:
            return ToolAnswer(False, _REFUSALS.get(refusal.reason) or str(refusal), refusal.reason.value)
        except PraxisError as error:
            return ToolAnswer(False, str(error), error.code)

    async def _schedule_followup(self, arguments: Arguments, call_id: str) -> ToolAnswer:
        at, delay = (
            (None, None) if "when" not in arguments else tool_time(arguments["when"], self._clock.now())
        )
        identity = self._identity
        booked = await self._alarm.schedule(
            workspace=identity.workspace,
            session=identity.session,
            actor=identity.actor,
            lane=identity.lane,
            kind=identity.kind,
            depth=identity.depth,
            key=self._key(call_id),
            at=at,
            in_=delay,
            cron=arguments.get("cron"),
            zone=arguments.get("zone"),
            every=arguments.get("every"),
            intent=_told("message", arguments["message"]),
            refuse_past=True,
        )
        due = "" if booked.due_at is None else f", due {format_instant(booked.due_at)}"
        what = f"Series {booked.series}, next wake {booked.id}" if booked.series else f"Wake {booked.id}"
        return _booked(booked, f"{what}{due}")

    async def _watch(self, arguments: Arguments, call_id: str) -> ToolAnswer:
        identity = self._identity
        booked = await self._alarm.watch(
            workspace=identity.workspace,
            session=identity.session,
            actor=identity.actor,
            lane=identity.lane,
            kind=identity.kind,
            depth=identity.depth,
            key=self._key(call_id),
            event_key=arguments["event"],
            expires_in=arguments.get("expires_in"),
            intent=_told("message", arguments["message"]),
        )
        return _booked(booked, f"Wake {booked.id}, when {arguments['event']} comes{_until(booked)}")

    async def _request_approval(self, arguments: Arguments, call_id: str) -> ToolAnswer:
        assert self._deliver_token is not None
        identity = self._identity
        issued = await self._alarm.request_approval(
            workspace=identity.workspace,
            session=identity.session,
            actor=identity.actor,
            lane=identity.lane,
            kind=identity.kind,
            depth=identity.depth,
            key=self._key(call_id),
            expires_in=arguments["expires_in"],
            intent=_told("question", arguments["question"]),
        )
        if issued.token is not None:
            await self._deliver_token(issued, arguments["question"])
        return _booked(issued.booked, f"Wake {issued.booked.id}, when answered{_until(issued.booked)}")

    async def _cancel_wake(self, arguments: Arguments, call_id: str) -> ToolAnswer:
        identity, wake_id = self._identity, arguments["id"]
        result = await self._alarm.cancel(
            wake_id,
            identity.actor,
            workspace=identity.workspace,
            session=identity.session,
            reason="asked for by its session",
        )
        if result is CancelResult.NOT_FOUND:
            result = await self._alarm.cancel_series(
                wake_id, identity.actor, workspace=identity.workspace, session=identity.session
            )
        match result:
            case CancelResult.OK:
                return ToolAnswer(True, f"{wake_id} is cancelled.", data={"id": wake_id})
            case CancelResult.NOT_PENDING:
                return ToolAnswer(False, f"{wake_id} is no longer pending.", result.value)
        # Whose it is, or that it exists, is nobody else's affair.
        return ToolAnswer(
            False, f"This session has no wake or series {wake_id}.", CancelResult.NOT_FOUND.value
        )

    async def _list_wakes(self, arguments: Arguments, call_id: str) -> ToolAnswer:
        after = None
        if "after" in arguments:
            named = _PLACE.fullmatch(arguments["after"])
            if named is None:
                raise InvalidValue("after is not a place in the list.", do="Give what the last page said.")
            after = (int(named[1]), int(named[2]))
        found = await self._alarm.list_wakes(
            self._identity.workspace, session=self._identity.session, states=LIVE, after=after, limit=PAGE
        )
        data: dict[str, Any] = {"wakes": [_shown(wake) for wake in found]}
        if len(found) == PAGE:
            data["after"] = "{}:{}".format(*place(found[-1]))
        count = len(found)
        return ToolAnswer(True, f"{count} wake{'' if count == 1 else 's'} of this session.", data=data)

    def _key(self, call_id: str) -> str:
        """The request key of a call: session and call id together, in a form in which no two pairs meet."""
        pair = json.dumps([self._identity.session, call_id])
        return f"tool {hashlib.sha256(pair.encode()).hexdigest()}"


def _told(name: str, text: str) -> dict[str, str]:
    """What is handed over: the text, and its beginning as the title by which lists name the wake."""
    line = " ".join(text.split())
    return {"title": line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1]}…", name: text}


def _booked(booked: Booked, text: str) -> ToolAnswer:
    data = {"id": booked.id, "series": booked.series, "state": booked.state.value, "repeat": booked.repeat}
    if booked.due_at is not None:
        data["due"] = format_instant(booked.due_at)
    note = f" This call had been carried out before; it is {booked.state} now." if booked.repeat else ""
    return ToolAnswer(True, f"{text}.{note}", data=data)


def _until(booked: Booked) -> str:
    return "" if booked.expires_at is None else f", until {format_instant(booked.expires_at)}"


def _shown(wake: WakeSummary) -> dict[str, Any]:
    return {
        "id": wake.id,
        "trigger": wake.trigger.value,
        "state": wake.state.value,
        "due": None if wake.due_at is None else format_instant(wake.due_at),
        "expires": None if wake.expires_at is None else format_instant(wake.expires_at),
        "event": wake.event_key,
        "series": wake.series,
        "recurrence": wake.recurrence,
    }


def tool_definitions() -> Mapping[str, ToolDefinition]:
    """Every tool that there is, by name, for a host that offers them elsewhere than where they are carried out."""
    return _DEFINITIONS


def _require_arguments(name: str, arguments: Arguments) -> None:
    schema = _DEFINITIONS[name].input_schema
    if not isinstance(arguments, Mapping):
        raise InvalidValue("The arguments are not an object.")
    properties = schema["properties"]
    for argument, value in arguments.items():
        if argument not in properties:
            raise InvalidValue(f"{name} has no argument {argument!r}.", do=f"It has {', '.join(properties)}.")
        kinds = properties[argument]["type"]
        allowed = (str, int) if isinstance(kinds, list) else (str,)
        if not isinstance(value, allowed) or isinstance(value, bool):
            raise InvalidValue(f"{argument} is of the wrong type.", do=f"Give {kinds}.")
        if isinstance(value, str) and _HALF_OF_A_PAIR.search(value):
            raise InvalidValue(f"{argument} holds half of a surrogate pair.", do="Give whole characters.")
    for argument in schema["required"]:
        if argument not in arguments:
            raise InvalidValue(f"{name} needs {argument!r}.")


def _definition(name: str, description: str, required: tuple[str, ...], **properties: str) -> ToolDefinition:
    return ToolDefinition(
        name,
        description,
        {
            "type": "object",
            "properties": {
                argument: {
                    "type": ["string", "integer"] if argument == "when" else "string",
                    "description": text,
                }
                for argument, text in properties.items()
            },
            "required": list(required),
            "additionalProperties": False,
        },
    )


_REFUSALS: Mapping[Reason, str] = {
    Reason.MAX_LIVE: "No further wake can be booked at present. Cancel one that is no longer needed.",
    Reason.RATE: "Too many wakes were booked within the last hour. Try again later.",
    Reason.LANE_RATE: "Too many wakes were booked within the last hour. Try again later.",
}

_MESSAGE = "What to be told when it fires."
_DEFINITIONS: Mapping[str, ToolDefinition] = {
    definition.name: definition
    for definition in (
        _definition(
            "schedule_followup",
            "Have this session go on later, once or again and again. Give exactly one of when, cron and every.",
            ("message",),
            message=_MESSAGE,
            when="+3d, +1h30m, an ISO time with its offset (2026-03-01T10:00:00+01:00), or epoch milliseconds.",
            cron="Five fields: minute, hour, day of month, month, day of week.",
            zone="IANA time zone of cron, such as Europe/Berlin; UTC unless given.",
            every="A duration such as 15m or 1d.",
        ),
        _definition(
            "watch",
            "Have this session go on when an event comes.",
            ("event", "message"),
            event="The key of the event.",
            message=_MESSAGE,
            expires_in="After which time to be told that it did not come, such as 2d; a week unless given.",
        ),
        _definition(
            "request_approval",
            "Ask a person, and have this session go on with the answer.",
            ("question", "expires_in"),
            question="What the person is to decide.",
            expires_in="After which time to be told that no answer came, such as 1d.",
        ),
        _definition(
            "cancel_wake",
            "Cancel a pending wake or a series of this session.",
            ("id",),
            id="The id of the wake or series.",
        ),
        _definition(
            "list_wakes",
            "List the pending wakes of this session, by due time.",
            (),
            after="Where the last page ended, as it said.",
        ),
    )
}
