"""What a coding agent can do here: the tools, and a desk that carries them out through the owner (E-92).

Who asks, and below which folder, comes from the launch and never from arguments. An agent sees only work orders
that it asked for itself: of any other it learns nothing, not even whether there is one. It asks and looks; the
right to decide stays with a person, and a try is refused by the owner, which journals it (E-90). All that goes
in or out is bounded, and values of secrets are masked by the owner before they leave it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.errors import ChannelError, InvalidValue, NotFound, PraxisError, WrongState
from engine.interfaces import wire
from engine.interfaces.channel_client import EngineClient, Remote
from engine.interfaces.channel_files import read_note
from engine.interfaces.channel_methods import METHODS
from engine.interfaces.cli_names import Name, read_name
from engine.interfaces.keys import Credential
from engine.interfaces.mcp_arguments import (
    AskAgainArguments,
    AttemptArguments,
    CancelArguments,
    ListArguments,
    NameArguments,
    OutputArguments,
    ShowArguments,
    SubmitArguments,
    ToolArguments,
    WaitArguments,
    WakesArguments,
    read_arguments,
)
from engine.interfaces.mcp_views import evidence_facts, follow_up, order_line, order_state
from engine.states import ApprovalState, TaskState
from engine.views.values import AttemptRow, WorkOrderStory
from engine.wakes.tools import ToolAnswer, ToolDefinition, tool_definitions
from engine.work_order import WorkOrderSpec

MOST_AT_ONCE = 4
"""So many calls of one agent are carried out at once; more of them wait."""
_LOOK_SECONDS = 0.5

MAIN_SESSION = "main"
"""The session of an agent whose launch names none."""

_EVENTS = (
    "Of your own work orders these come by themselves: WO-118:awaiting_acceptance, WO-118:decision_needed, "
    "WO-118:ended. Any other key comes when a person or a script tells it."
)
_COMES = "It comes through wait_for_wakes."
_BOOKING = ("schedule_followup", "request_approval")

_Call = Callable[[EngineClient, Any, str], Awaitable[ToolAnswer]]


class AgentDesk:
    """The tools of one agent in one session. It connects to the owner anew for each call, always with its own key."""

    def __init__(
        self, folder: Path, key: Credential, workspace: Path, launch: str, session: str = MAIN_SESSION
    ) -> None:
        self._folder = folder
        self._key = key
        self._actor = key.actor
        self._workspace = workspace
        self._launch = launch
        self._session = session
        self._turn = asyncio.Semaphore(MOST_AT_ONCE)
        self._calls: Mapping[str, tuple[type[ToolArguments], _Call]] = {
            "submit_work_order": (SubmitArguments, self._submit),
            "list_work_orders": (ListArguments, self._list),
            "work_order": (ShowArguments, self._show),
            "wait_for_work_order": (WaitArguments, self._wait),
            "ask_approval_again": (AskAgainArguments, self._ask_again),
            "cancel_work_order": (CancelArguments, self._cancel),
            "inspect_evidence": (AttemptArguments, self._evidence),
            "read_output": (OutputArguments, self._output),
            "wait_for_wakes": (WakesArguments, self._wait_for_wakes),
        }

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """The tools that are offered."""
        own = tuple(
            ToolDefinition(name, " ".join((form.__doc__ or "").split()), form.model_json_schema())
            for name, (form, _) in self._calls.items()
        )
        more = {"watch": f" {_EVENTS}", **dict.fromkeys(_BOOKING, f" {_COMES}")}
        return own + tuple(
            replace(one, description=f"{one.description}{more.get(name, '')}")
            for name, one in tool_definitions().items()
        )

    async def call(self, name: str, arguments: Mapping[str, Any], call_id: str) -> ToolAnswer:
        """Carry out a call; never raises for what an agent does wrong.

        A call that is repeated with the same ``call_id`` submits nothing twice.
        """
        try:
            async with self._turn:
                if name in self._calls:
                    form, function = self._calls[name]
                    values = read_arguments(form, name, arguments)
                    async with self._client() as client:
                        return await function(client, values, call_id)
                if name in tool_definitions():
                    async with self._client() as client:
                        return await client.followups.use_tool(
                            name, arguments, session=self._session, call_id=f"{self._launch}:{call_id}"
                        )
                if name in METHODS:
                    async with self._client() as client:
                        await client.require(name)
            return ToolAnswer(False, f"There is no tool {name[:100]!r}.", "unknown_tool")
        except PraxisError as error:
            return ToolAnswer(False, str(error), error.code)

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[EngineClient]:
        try:
            remote = await Remote.connect(self._folder, self._key)
        except ChannelError as error:
            if read_note(self._folder) is not None:
                raise
            raise ChannelError(
                "Nobody has the data folder open, so there is nobody to ask.",
                means="Nothing was done.",
                do="Ask the person to start Praxis Console, or praxis serve, on this data folder.",
            ) from error
        try:
            yield EngineClient(remote)
        finally:
            await remote.close()

    # --------------------------------------------------------------------------------------------- the tools

    async def _submit(self, client: EngineClient, given: SubmitArguments, call_id: str) -> ToolAnswer:
        spec = given.spec(self._workspace)
        self._require_inside(spec)
        row = await client.submit(spec, key=f"mcp:{self._launch}:{call_id}")
        return ToolAnswer(
            True,
            f"WO-{row.number} is submitted and waits for a person's approval. Nothing runs before that.",
            data=order_state(await client.work_order(row.id)),
        )

    def _require_inside(self, spec: WorkOrderSpec) -> None:
        root, wanted = self._workspace.resolve(), Path(spec.workspace).resolve()
        if root != wanted and root not in wanted.parents:
            raise InvalidValue(
                f"The workspace {spec.workspace} does not lie below {root}, where this agent may ask for work.",
                means="Nothing was submitted.",
                do="Leave the workspace out, or name a folder below that one.",
            )

    async def _list(self, client: EngineClient, given: ListArguments, _call_id: str) -> ToolAnswer:
        after = (await self._own(client, given.after))[1].row.id if given.after else None
        rows = await client.work_orders(
            after=after, limit=given.limit, states=tuple(given.states), requested_by=self._actor
        )
        more = len(rows) == given.limit
        text = f"{len(rows)} of your work orders, newest change first."
        return ToolAnswer(True, text, data={"work_orders": [order_line(row) for row in rows], "more": more})

    async def _show(self, client: EngineClient, given: NameArguments, _call_id: str) -> ToolAnswer:
        _, story = await self._own(client, given.name)
        asked = story.tasks[-1].approval_id
        card = await client.approvals.card(asked) if asked is not None else None
        return ToolAnswer(True, _sentence(story), data=order_state(story, card))

    async def _wait(self, client: EngineClient, given: WaitArguments, _call_id: str) -> ToolAnswer:
        _, story = await self._own(client, given.name)
        after = story.journal[-1].sequence if given.after is None else given.after
        loop = asyncio.get_running_loop()
        until = loop.time() + given.seconds
        changed = False
        while not changed and story.row.ended_at is None:
            changed = bool(await client.journal(after=after, limit=1, work_order_id=story.row.id))
            if changed or loop.time() >= until:
                break
            await asyncio.sleep(min(_LOOK_SECONDS, max(0.0, until - loop.time())))
        answer = await self._show(client, NameArguments(name=given.name), _call_id)
        return ToolAnswer(True, answer.text, data={"changed": changed, **answer.data})

    async def _ask_again(self, client: EngineClient, given: NameArguments, _call_id: str) -> ToolAnswer:
        _, story = await self._own(client, given.name)
        task = story.tasks[-1]
        if task.approval_state in (ApprovalState.PENDING, ApprovalState.APPROVED):
            raise WrongState(
                f"The request for approval of {given.name} is {task.approval_state} already.",
                means="Nothing was changed.",
                do="Wait for the person's decision.",
            )
        if task.state is not TaskState.READY or "ask_again" not in story.can:
            raise WrongState(
                f"There is nothing to ask for: {_sentence(story)}",
                means="Nothing was changed.",
                do="Look at the work order.",
            )
        card = await client.approvals.ask_again(task.id)
        text = f"A person was asked again to approve WO-{story.row.number}."
        return ToolAnswer(True, text, data=order_state(await client.work_order(story.row.id), card))

    async def _cancel(self, client: EngineClient, given: CancelArguments, _call_id: str) -> ToolAnswer:
        _, story = await self._own(client, given.name)
        row = await client.take_back(story.row.id, given.reason)
        return ToolAnswer(True, f"WO-{row.number} is {row.state}.", data=order_line(row))

    async def _evidence(self, client: EngineClient, given: AttemptArguments, _call_id: str) -> ToolAnswer:
        name, attempt = await self._attempt(client, given.name)
        view = await client.evidence.of(attempt.id)
        state = f"{attempt.state}, {attempt.outcome}" if attempt.outcome else attempt.state.value
        return ToolAnswer(True, f"{name} is {state}.", data=evidence_facts(name, view))

    async def _output(self, client: EngineClient, given: OutputArguments, _call_id: str) -> ToolAnswer:
        name, attempt = await self._attempt(client, given.name)
        part = await client.evidence.read_output(
            attempt.id, given.role, path=given.path, offset=given.offset, most_bytes=given.limit
        )
        where = f"{given.role} {given.path}".strip()
        text = f"Bytes {part.offset} to {part.end} of {part.size} of {where} of {name}."
        if part.masked:
            text += " Values of secrets are masked."
        return ToolAnswer(True, text, data={"attempt": name, "role": given.role, **wire.encode(part)})

    async def _wait_for_wakes(self, client: EngineClient, given: WakesArguments, _call_id: str) -> ToolAnswer:
        loop = asyncio.get_running_loop()
        until = loop.time() + given.seconds
        while not (found := await client.followups.come(session=self._session, after=given.after)):
            if loop.time() >= until:
                break
            await asyncio.sleep(min(_LOOK_SECONDS, max(0.0, until - loop.time())))
        after = found[-1].sequence if found else given.after
        text = f"{len(found)} came." if found else "Nothing came."
        return ToolAnswer(True, text, data={"wakes": [follow_up(one) for one in found], "after": after})

    # ------------------------------------------------------------------------------------------ what is its own

    async def _own(self, client: EngineClient, text: str) -> tuple[Name, WorkOrderStory]:
        """Give a work order that this actor asked for; of any other it is not told whether there is one."""
        name = read_name(text)
        try:
            story = await client.work_order(name.work_order)
        except NotFound:
            story = None
        if story is None or story.row.requested_by != self._actor:
            raise NotFound(
                f"You asked for no work order {name.work_order}.", do="Look at list_work_orders for yours."
            )
        return name, story

    async def _attempt(self, client: EngineClient, text: str) -> tuple[str, AttemptRow]:
        """The attempt of this name; a task or work order stands for its newest one."""
        name, story = await self._own(client, text)
        found = [
            (f"WO-{story.row.number}/{task.ordinal}/{attempt.ordinal}", attempt)
            for task in story.tasks
            for attempt in task.attempts
            if name.task in (None, task.ordinal) and name.attempt in (None, attempt.ordinal)
        ]
        if not found:
            raise NotFound(f"{text} has no {'such ' if name.attempt else ''}attempt.", means=_sentence(story))
        return max(found, key=lambda named: named[1].authorized_at)


def _sentence(story: WorkOrderStory) -> str:
    why = f" {story.row.why}" if story.row.why else ""
    return f"WO-{story.row.number} is {story.row.state}.{why}"
