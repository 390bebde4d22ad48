"""Asking the engine from anywhere: in this process, or over the local channel of its owner (E-10, E-90).

`EngineClient` has the methods of the engine that commands need. Behind it stands a door: `InProcess` calls an
engine of this process, `Remote` asks the owner. Rights are checked at both by the same table, and errors are
raised as the same classes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Protocol, TypeVar

from engine.actors import Actor
from engine.backup.rehearsing import Rehearsal
from engine.backup.taking import Backup
from engine.control.holds import Node
from engine.engine import Engine
from engine.errors import ChannelError
from engine.interfaces import wire
from engine.interfaces.channel import PROTOCOL_VERSION
from engine.interfaces.channel_agents import AgentsClient, FollowUpsClient
from engine.interfaces.channel_approvals import ApprovalsClient, UnknownsClient
from engine.interfaces.channel_backups import ScheduledBackupsClient
from engine.interfaces.channel_budgets import BudgetsClient
from engine.interfaces.channel_evidence import EvidenceClient
from engine.interfaces.channel_files import ChannelNote, read_note
from engine.interfaces.channel_grants import GrantsClient
from engine.interfaces.channel_link import (
    ANSWER_LIMIT_BYTES,
    REQUEST_LIMIT_BYTES,
    Link,
    connect,
    introduce,
)
from engine.interfaces.channel_methods import METHODS, Method, perform
from engine.interfaces.channel_retention import RetentionClient
from engine.interfaces.channel_wakes import SchedulesClient, WakesClient
from engine.interfaces.keys import PERSON_KEY, Credential
from engine.interfaces.rights import RIGHTS, Right
from engine.scheduling.gates import Gate
from engine.states import AttemptState, Verdict, WorkOrderState
from engine.storage.journal import JournalReport
from engine.views.diagnostics import Diagnostics
from engine.views.docket import Docket
from engine.views.figures import Figures
from engine.views.receipt import ReceiptEntry
from engine.views.values import (
    AttemptRow,
    DryCheck,
    EngineStatus,
    HoldRow,
    JournalRow,
    ValidationRow,
    WorkOrderRow,
    WorkOrderStory,
)
from engine.wakes import CatchUp
from engine.work_order import WorkOrderSpec

CONNECT_SECONDS = 5.0
"""How long the owner may take to answer the handshake."""
GRACE_SECONDS = 5.0
"""How much longer than the owner's own limit of a method its client waits for the answer."""

_T = TypeVar("_T")


class Door(Protocol):
    """Where a client's calls go. ``alone`` says that no other process works on the data folder."""

    alone: bool
    engine: Engine | None
    actor: Actor

    async def call(self, method: Method, values: Mapping[str, Any]) -> Any:
        """Carry one call of its actor to the engine and give its result."""


class InProcess:
    """The door to an engine of this process."""

    alone = True

    def __init__(self, engine: Engine, actor: Actor) -> None:
        self.engine: Engine | None = engine
        self.actor = actor
        self._engine = engine

    async def call(self, method: Method, values: Mapping[str, Any]) -> Any:
        """Call the engine, if the actor has the right."""
        return await perform(self._engine, method, self.actor, values)


class Remote:
    """The door to the engine of the process that owns the data folder; one call at a time.

    Who speaks through it is fixed by the key with which the connection was made.
    """

    alone = False
    engine: Engine | None = None

    def __init__(self, link: Link, note: ChannelNote, actor: Actor) -> None:
        self.note = note
        self.actor = actor
        self._link = link
        self._turn = asyncio.Lock()
        self._ids = count(1)
        self._broken = False

    @classmethod
    async def connect(
        cls, folder: Path, credential: Credential, *, seconds: float = CONNECT_SECONDS
    ) -> Remote:
        """Connect to the owner of ``folder`` and prove who this is.

        `ChannelError` if nobody listens, or not in ``seconds``; `Refused` if the owner does not take the key.
        """
        note = read_note(folder)
        if note is None:
            raise ChannelError("The owner of the data folder does not listen on a channel.")
        hello = {"key": credential.key_id}
        if credential.key_id == PERSON_KEY:
            hello |= {"kind": credential.actor.kind.value, "name": credential.actor.name}
        try:
            link = await asyncio.to_thread(connect, note.address, seconds)
        except OSError as error:
            raise _no_answer(note) from error
        try:
            await _bounded(link, seconds, lambda: introduce(link, credential.secret, hello, seconds))
        except (OSError, EOFError) as error:
            link.close()
            raise _no_answer(note) from error
        except BaseException:
            link.close()
            raise
        return cls(link, note, credential.actor)

    async def call(self, method: Method, values: Mapping[str, Any]) -> Any:
        """Ask the owner and give what it answers, its errors included.

        If the answer is lost, `ChannelError` says that the command may have been carried out: it is never
        sent a second time.
        """
        async with self._turn:
            if self._broken:
                raise _no_answer(self.note)
            request_id = str(next(self._ids))
            request = wire.dump(
                {
                    "version": PROTOCOL_VERSION,
                    "id": request_id,
                    "method": method.name,
                    "arguments": method.encode_arguments(values),
                }
            )
            if len(request) > REQUEST_LIMIT_BYTES:
                raise ChannelError(
                    f"The request has {len(request)} bytes; the channel takes {REQUEST_LIMIT_BYTES}.",
                    means="Nothing was sent.",
                )
            seconds = method.seconds + GRACE_SECONDS

            def exchange() -> bytes:
                self._link.send(request)
                return self._link.receive(ANSWER_LIMIT_BYTES, seconds)

            self._broken = True
            try:
                answer = await _bounded(self._link, seconds, exchange)
            except (OSError, EOFError) as error:
                raise _answer_lost(self.note, method) from error
            self._broken = False
            return self._read_answer(answer, request_id, method)

    async def close(self) -> None:
        """Hang up."""
        async with self._turn:
            self._broken = True
            self._link.close()

    def _read_answer(self, data: bytes, request_id: str, method: Method) -> Any:
        answer = wire.load(data)
        if not isinstance(answer, dict) or answer.get("version") != PROTOCOL_VERSION:
            raise ChannelError("The owner's answer is not one of this version of the channel.")
        if "error" in answer:
            raise wire.decode_error(answer["error"])
        if answer.get("id") != request_id or "result" not in answer:
            self._broken = True
            raise ChannelError("The owner answered something else than what was asked.")
        return wire.decode(method.result, answer["result"], method.name)


async def _bounded(link: Link, seconds: float, function: Callable[[], _T]) -> _T:
    """Run a blocking exchange in a thread; out of time or cancelled, the link is aborted."""
    work = asyncio.ensure_future(asyncio.to_thread(function))
    try:
        done, _ = await asyncio.wait([work], timeout=seconds)
        if not done:
            raise TimeoutError("no answer in time")
    except (TimeoutError, asyncio.CancelledError):
        link.abort()
        await asyncio.wait([work])
        if not work.cancelled():
            work.exception()
        raise
    return work.result()


def _no_answer(note: ChannelNote) -> ChannelError:
    return ChannelError(
        f"{note.program} (process {note.pid}) owns the data folder and does not answer.",
        means="Nothing was asked of it.",
        do="Look whether it hangs. If it is gone, try again in a moment.",
        owner_pid=note.pid,
        owner_program=note.program,
    )


def _answer_lost(note: ChannelNote, method: Method) -> ChannelError:
    changed = (
        "Nothing was changed by it." if method.right is Right.LOOK else "It may have been done all the same."
    )
    return ChannelError(
        f"The answer of {note.program} (process {note.pid}) to {method.name} was lost.",
        means=changed,
        do="Look at the present state before you ask again.",
        owner_pid=note.pid,
        owner_program=note.program,
    )


class EngineClient:
    """The engine's methods for the actor of a door; see `engine.engine.Engine` for what each does."""

    def __init__(self, door: Door) -> None:
        self.actor = door.actor
        self.alone = door.alone
        self.engine = door.engine
        """The engine itself if it is one of this process; else only the owner's answers are to be had."""
        self._door = door
        self.approvals = ApprovalsClient(self._call)
        self.evidence = EvidenceClient(self._call)
        self.unknowns = UnknownsClient(self._call)
        self.scheduled_backups = ScheduledBackupsClient(self._call)
        self.agents = AgentsClient(self._call)
        self.followups = FollowUpsClient(self._call)
        self.budgets = BudgetsClient(self._call)
        self.grants = GrantsClient(self._call)
        self.retention = RetentionClient(self._call)
        self.wakes = WakesClient(self._call)
        self.schedules = SchedulesClient(self._call)

    async def _call(self, method: str, /, **values: Any) -> Any:
        return await self._door.call(METHODS[method], values)

    async def submit(self, spec: WorkOrderSpec, *, key: str | None = None) -> WorkOrderRow:
        """Submit a work order: it is planned and sealed, and its approval asked for."""
        result: WorkOrderRow = await self._call("submit", spec=spec, key=key)
        return result

    async def require(self, name: str) -> None:
        """Raise `Unauthorized` if this actor has no right to the method ``name``; the try is journalled."""
        method = METHODS[name]
        if method.right not in RIGHTS[self.actor.kind]:
            await self._door.call(method, {})

    async def take_back(self, work_order_id: str, reason: str) -> WorkOrderRow:
        """Cancel a work order of one's own of which nothing was authorised."""
        result: WorkOrderRow = await self._call("take_back", work_order_id=work_order_id, reason=reason)
        return result

    async def pause(self, node: Node, *, reason: str, key: str | None = None) -> HoldRow:
        """Let nothing new start below the node."""
        result: HoldRow = await self._call("pause", node=node, reason=reason, key=key)
        return result

    async def hold(self, node: Node, *, reason: str, key: str | None = None) -> HoldRow:
        """Let nothing new start below the node until the reason is answered."""
        result: HoldRow = await self._call("hold", node=node, reason=reason, key=key)
        return result

    async def resume(self, node: Node, *, reason: str = "", key: str | None = None) -> tuple[HoldRow, ...]:
        """End pauses and holds of the node; gives those that ended."""
        result: tuple[HoldRow, ...] = await self._call("resume", node=node, reason=reason, key=key)
        return result

    async def cancel(self, node: Node, *, reason: str, key: str | None = None) -> None:
        """Cancel what is below the node; running attempts are stopped and become UNKNOWN."""
        await self._call("cancel", node=node, reason=reason, key=key)

    async def stop_attempt(self, attempt_id: str, reason: str) -> None:
        """Stop one running attempt; it becomes UNKNOWN."""
        await self._call("stop_attempt", attempt_id=attempt_id, reason=reason)

    async def accept(self, work_order_id: str, reason: str = "") -> WorkOrderRow:
        """Accept the finished work."""
        result: WorkOrderRow = await self._call("accept", work_order_id=work_order_id, reason=reason)
        return result

    async def reject_work(self, work_order_id: str, reason: str) -> WorkOrderRow:
        """Reject the finished work."""
        result: WorkOrderRow = await self._call("reject_work", work_order_id=work_order_id, reason=reason)
        return result

    async def allow_correction(self, work_order_id: str, reason: str) -> WorkOrderRow:
        """Allow one more correction than the rule does."""
        result: WorkOrderRow = await self._call(
            "allow_correction", work_order_id=work_order_id, reason=reason
        )
        return result

    async def validate_by_person(
        self, attempt_id: str, verdict: Verdict, *, reason: str, actual_cost: int | None = None
    ) -> ValidationRow:
        """Record a person's judgement of an attempt."""
        result: ValidationRow = await self._call(
            "validate_by_person",
            attempt_id=attempt_id,
            verdict=verdict,
            reason=reason,
            actual_cost=actual_cost,
        )
        return result

    async def validate_again(self, work_order_id: str, reason: str) -> WorkOrderRow:
        """Make a new validation of a result that was executed but not judged."""
        result: WorkOrderRow = await self._call("validate_again", work_order_id=work_order_id, reason=reason)
        return result

    async def replan(
        self, work_order_id: str, spec: WorkOrderSpec, *, reason: str, key: str | None = None
    ) -> WorkOrderRow:
        """End a work order and submit another in its place; gives the new one."""
        result: WorkOrderRow = await self._call(
            "replan", work_order_id=work_order_id, spec=spec, reason=reason, key=key
        )
        return result

    async def check(self, spec: WorkOrderSpec) -> DryCheck:
        """Plan a work order as `submit` would, and save nothing."""
        result: DryCheck = await self._call("check", spec=spec)
        return result

    async def acknowledge_restore(self, reason: str) -> None:
        """Let work begin again after a restore."""
        await self._call("acknowledge_restore", reason=reason)

    async def back_up(self, *, place: Path | None = None) -> Backup:
        """Make a backup below ``place``."""
        result: Backup = await self._call("backups.back_up", place=place)
        return result

    async def rehearse(self, path: Path) -> Rehearsal:
        """Restore a backup into a scratch folder of the owner and say what came out."""
        result: Rehearsal = await self._call("backups.rehearse", path=path)
        return result

    async def status(self) -> EngineStatus:
        """The facts that are always shown."""
        result: EngineStatus = await self._call("status")
        return result

    async def docket(self, *, limit: int = 200) -> Docket:
        """What came due, lapsed or is late since the engine last ran."""
        result: Docket = await self._call("docket", limit=limit)
        return result

    async def decide_missed(self, docket_id: str, choice: CatchUp, *, reason: str) -> None:
        """Decide about missed occurrences in the docket."""
        await self._call("decide_missed", docket_id=docket_id, choice=choice, reason=reason)

    async def figures(self) -> Figures:
        """What the engine can say of itself in numbers."""
        result: Figures = await self._call("figures")
        return result

    async def diagnostics(self) -> Diagnostics:
        """What helps to find a fault, without anything that people wrote."""
        result: Diagnostics = await self._call("diagnostics")
        return result

    async def work_orders(
        self,
        *,
        after: str | None = None,
        limit: int = 200,
        text: str = "",
        states: tuple[WorkOrderState, ...] = (),
        requested_by: Actor | None = None,
    ) -> tuple[WorkOrderRow, ...]:
        """Work orders, newest change first; those of one actor if ``requested_by`` names it."""
        result: tuple[WorkOrderRow, ...] = await self._call(
            "work_orders", after=after, limit=limit, text=text, states=states, requested_by=requested_by
        )
        return result

    async def work_order(self, name: str) -> WorkOrderStory:
        """The story of the work order ``WO-118``, ``118`` or an id."""
        result: WorkOrderStory = await self._call("work_order", name=name)
        return result

    async def attempts(
        self, *, after: str | None = None, limit: int = 200, states: tuple[AttemptState, ...] = ()
    ) -> tuple[AttemptRow, ...]:
        """Attempts, newest first."""
        result: tuple[AttemptRow, ...] = await self._call("attempts", after=after, limit=limit, states=states)
        return result

    async def running(self) -> tuple[AttemptRow, ...]:
        """The attempts that run now."""
        result: tuple[AttemptRow, ...] = await self._call("running")
        return result

    async def receipt(self, name: str) -> tuple[ReceiptEntry, ...]:
        """Everything that a receipt of a work order tells."""
        result: tuple[ReceiptEntry, ...] = await self._call("receipt", name=name)
        return result

    async def explain(self, task_id: str) -> tuple[Gate, ...]:
        """The gates of a task, open or closed and why."""
        result: tuple[Gate, ...] = await self._call("explain", task_id=task_id)
        return result

    async def journal(
        self, *, after: int = 0, before: int | None = None, limit: int = 500, work_order_id: str | None = None
    ) -> tuple[JournalRow, ...]:
        """Rows of the journal in order."""
        result: tuple[JournalRow, ...] = await self._call(
            "journal", after=after, before=before, limit=limit, work_order_id=work_order_id
        )
        return result

    async def verify_journal(self) -> JournalReport:
        """Check the whole chain of the journal."""
        result: JournalReport = await self._call("verify_journal")
        return result
