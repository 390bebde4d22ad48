"""What can be asked over the local channel: one explicit table, and nothing outside it (E-90).

`EngineCalls` is the part of `Engine` that the channel and the CLI use; the engine and the channel's client
both have it, so a command is written once and does not know which of the two it talks to. The argument
types of each method are read from there, so that the table cannot drift from the engine.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, get_type_hints

from engine.actors import Actor
from engine.control.holds import Node
from engine.errors import ChannelError, InvalidValue
from engine.interfaces import wire
from engine.interfaces.rights import Right, require_right
from engine.scheduling.gates import Gate
from engine.states import AttemptState, Verdict, WorkOrderState
from engine.views.values import (
    ApprovalCard,
    AttemptRow,
    EngineStatus,
    EvidenceView,
    HoldRow,
    InboxRow,
    JournalRow,
    ValidationRow,
    WorkOrderRow,
    WorkOrderStory,
)
from engine.work_order import WorkOrderSpec

MOST_ROWS = 1000
"""The largest page that one call may ask for, so that no peer can fill the owner's memory."""


class EngineCalls(Protocol):
    """The engine as the CLI and the channel use it; see `engine.engine.Engine` for what each method does."""

    async def submit(self, spec: WorkOrderSpec, actor: Actor, *, key: str | None = None) -> WorkOrderRow: ...
    async def approve(
        self, approval_id: str, actor: Actor, *, seal: str, covers_validation: bool = False, reason: str = ""
    ) -> ApprovalCard: ...
    async def reject(self, approval_id: str, actor: Actor, reason: str) -> ApprovalCard: ...
    async def withdraw(self, approval_id: str, actor: Actor, reason: str = "") -> ApprovalCard: ...
    async def ask_again(self, task_id: str, actor: Actor) -> ApprovalCard: ...
    async def pause(self, node: Node, actor: Actor, *, reason: str, key: str | None = None) -> HoldRow: ...
    async def hold(self, node: Node, actor: Actor, *, reason: str, key: str | None = None) -> HoldRow: ...
    async def resume(
        self, node: Node, actor: Actor, *, reason: str = "", key: str | None = None
    ) -> tuple[HoldRow, ...]: ...
    async def cancel(self, node: Node, actor: Actor, *, reason: str, key: str | None = None) -> None: ...
    async def stop_attempt(self, attempt_id: str, actor: Actor, reason: str) -> None: ...
    async def accept(self, work_order_id: str, actor: Actor, reason: str = "") -> WorkOrderRow: ...
    async def reject_work(self, work_order_id: str, actor: Actor, reason: str) -> WorkOrderRow: ...
    async def allow_correction(self, work_order_id: str, actor: Actor, reason: str) -> WorkOrderRow: ...
    async def validate_by_person(
        self,
        attempt_id: str,
        verdict: Verdict,
        actor: Actor,
        *,
        reason: str,
        actual_cost: int | None = None,
    ) -> ValidationRow: ...
    async def status(self) -> EngineStatus: ...
    async def inbox(self, *, after: str | None = None, limit: int = 200) -> tuple[InboxRow, ...]: ...
    async def approval(self, approval_id: str) -> ApprovalCard: ...
    async def work_orders(
        self,
        *,
        after: str | None = None,
        limit: int = 200,
        text: str = "",
        states: tuple[WorkOrderState, ...] = (),
    ) -> tuple[WorkOrderRow, ...]: ...
    async def work_order(self, id_or_number: str) -> WorkOrderStory: ...
    async def attempts(
        self, *, after: str | None = None, limit: int = 200, states: tuple[AttemptState, ...] = ()
    ) -> tuple[AttemptRow, ...]: ...
    async def running(self) -> tuple[AttemptRow, ...]: ...
    async def evidence(self, attempt_id: str) -> EvidenceView: ...
    async def verify_blob(self, sha256: str) -> str: ...
    async def explain(self, task_id: str) -> tuple[Gate, ...]: ...
    async def journal(
        self,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int = 500,
        work_order_id: str | None = None,
    ) -> tuple[JournalRow, ...]: ...


@dataclass(frozen=True, slots=True)
class Method:
    """One method of the channel: who may call it, what it takes and gives, and how long it may take."""

    name: str
    right: Right
    parameters: Mapping[str, Any]
    required: frozenset[str]
    takes_actor: bool
    result: Any
    seconds: float

    def decode_arguments(self, given: Mapping[str, wire.Json]) -> dict[str, Any]:
        """Check a peer's arguments and give the values to call with; `InvalidValue` names the wrong one."""
        unknown = given.keys() - self.parameters.keys()
        if unknown:
            raise InvalidValue(f"{self.name} takes nothing called {min(unknown)!r}.", field=min(unknown))
        missing = self.required - given.keys()
        if missing:
            raise InvalidValue(f"{self.name} needs {min(missing)!r}.", field=min(missing))
        values = {name: wire.decode(self.parameters[name], item, name) for name, item in given.items()}
        if values.get("limit", 1) > MOST_ROWS:
            raise InvalidValue(f"limit {values['limit']} is more than the channel gives: {MOST_ROWS} rows.")
        return values


def _method(function: Callable[..., Awaitable[Any]], right: Right, seconds: float = 30.0) -> Method:
    hints = get_type_hints(function)
    result = hints.pop("return")
    takes_actor = hints.pop("actor", None) is not None
    parameters = inspect.signature(function).parameters
    required = frozenset(name for name in hints if parameters[name].default is inspect.Parameter.empty)
    return Method(function.__name__, right, hints, required, takes_actor, result, seconds)


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        _method(EngineCalls.submit, Right.ASK, seconds=300),
        _method(EngineCalls.ask_again, Right.ASK, seconds=300),
        _method(EngineCalls.approve, Right.DECIDE, seconds=300),
        _method(EngineCalls.reject, Right.DECIDE),
        _method(EngineCalls.withdraw, Right.DECIDE),
        _method(EngineCalls.pause, Right.HALT),
        _method(EngineCalls.hold, Right.HALT),
        _method(EngineCalls.resume, Right.DECIDE),
        _method(EngineCalls.cancel, Right.DECIDE),
        _method(EngineCalls.stop_attempt, Right.DECIDE),
        _method(EngineCalls.accept, Right.DECIDE),
        _method(EngineCalls.reject_work, Right.DECIDE),
        _method(EngineCalls.allow_correction, Right.DECIDE),
        _method(EngineCalls.validate_by_person, Right.DECIDE),
        _method(EngineCalls.status, Right.LOOK),
        _method(EngineCalls.inbox, Right.LOOK),
        _method(EngineCalls.approval, Right.LOOK),
        _method(EngineCalls.work_orders, Right.LOOK),
        _method(EngineCalls.work_order, Right.LOOK),
        _method(EngineCalls.attempts, Right.LOOK),
        _method(EngineCalls.running, Right.LOOK),
        _method(EngineCalls.evidence, Right.LOOK),
        _method(EngineCalls.verify_blob, Right.LOOK, seconds=3600),
        _method(EngineCalls.explain, Right.LOOK),
        _method(EngineCalls.journal, Right.LOOK),
    )
}
"""Every method of the channel by name, with its right (E-90). Sealing reads files, so it may take minutes."""


def find_method(name: object) -> Method:
    """Give the method of this name; `ChannelError` for anything that is not in the table."""
    method = METHODS.get(name) if isinstance(name, str) else None
    if method is None:
        raise ChannelError(
            "The channel has no such method.",
            means="Nothing was done.",
            do="Use the same version of Praxis Console for both sides.",
        )
    return method


async def perform(engine: EngineCalls, method: Method, actor: Actor, values: Mapping[str, Any]) -> Any:
    """Call the engine's method for an actor, if actors of its kind have the right to it."""
    require_right(actor, method.right, method.name)
    call = getattr(engine, method.name)
    return await (call(actor=actor, **values) if method.takes_actor else call(**values))
