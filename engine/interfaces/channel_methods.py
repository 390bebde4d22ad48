"""What can be asked over the local channel: one explicit table, and nothing outside it (E-90).

The argument types of each method are those of the engine's own method, so the table cannot drift from it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from engine.actors import Actor, ActorKind
from engine.approving import Approvals
from engine.backup.backups import Backups
from engine.backup.schedule import ScheduledBackups
from engine.budgeting import Budgets
from engine.control.agents import Agents
from engine.engine import Engine
from engine.errors import ChannelError, InvalidValue, Unauthorized
from engine.followups import FollowUps
from engine.granting import Grants
from engine.interfaces import wire
from engine.interfaces.own_work import only_its_own
from engine.interfaces.rights import Right, require_right
from engine.interfaces.work_order_file import parse_work_order, to_toml
from engine.kept_evidence import KeptEvidence
from engine.retention import Retention
from engine.schedules import Schedules
from engine.unknowns import Unknowns
from engine.wakes import AlarmClock
from engine.work_order import WorkOrderSpec

MOST_ROWS = 1000
"""The largest page that one call may ask for, so that no peer can fill the owner's memory."""

_NUMBER = re.compile(r"\s*(?:WO-)?[0-9]{1,15}\s*", re.ASCII | re.IGNORECASE)
_SEALING_SECONDS = 300.0
_READING_EVERYTHING_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Method:
    """One method of the channel: who may call it, what it takes and gives, and how long it may take.

    ``parameters`` are the types of its arguments, ``seconds`` is the longest time. ``part`` is the attribute of the
    engine that has it, "" for the engine itself; then it also stands in the name, before a dot.
    """

    name: str
    right: Right
    parameters: Mapping[str, Any]
    required: frozenset[str]
    takes_actor: bool
    result: Any
    seconds: float
    part: str = ""

    def encode_arguments(self, values: Mapping[str, Any]) -> dict[str, wire.Json]:
        """Give the JSON form of the arguments; a work order travels as the text of its file."""
        return {
            name: to_toml(value) if isinstance(value, WorkOrderSpec) else wire.encode(value)
            for name, value in values.items()
        }

    def decode_arguments(self, given: Mapping[str, wire.Json]) -> dict[str, Any]:
        """Check a peer's arguments and give the values to call with; `InvalidValue` names the wrong one.

        A work order passes the same checks as one that is read from a file.
        """
        unknown = given.keys() - self.parameters.keys()
        if unknown:
            raise InvalidValue(f"{self.name} takes nothing called {min(unknown)!r}.", field=min(unknown))
        missing = self.required - given.keys()
        if missing:
            raise InvalidValue(f"{self.name} needs {min(missing)!r}.", field=min(missing))
        values = {name: _decode_argument(self.parameters[name], item, name) for name, item in given.items()}
        if values.get("limit", 1) > MOST_ROWS:
            raise InvalidValue(
                f"limit {values['limit']} is more than the channel gives: {MOST_ROWS} rows.",
                do="Ask for fewer rows and go on after the last.",
                field="limit",
            )
        return values


def _decode_argument(kind: Any, value: wire.Json, name: str) -> Any:
    if kind is not WorkOrderSpec and (value is None or WorkOrderSpec not in get_args(kind)):
        return wire.decode(kind, value, name)
    text: str = wire.decode(str, value, name)
    return parse_work_order(text.encode("utf-8", "surrogatepass"))


def _method(
    function: Callable[..., Awaitable[Any]],
    right: Right,
    seconds: float = 30.0,
    without: str = "",
    part: str = "",
) -> Method:
    hints = get_type_hints(function)
    result = hints.pop("return")
    takes_actor = hints.pop("actor", None) is not None
    hints.pop(without, None)
    parameters = inspect.signature(function).parameters
    required = frozenset(name for name in hints if parameters[name].default is inspect.Parameter.empty)
    name = f"{part}.{function.__name__}" if part else function.__name__
    return Method(name, right, hints, required, takes_actor, result, seconds, part)


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        _method(Engine.submit, Right.ASK, _SEALING_SECONDS),
        _method(Approvals.ask_again, Right.ASK, _SEALING_SECONDS, part="approvals"),
        _method(Engine.check, Right.ASK, _SEALING_SECONDS),
        _method(Engine.take_back, Right.ASK),
        _method(Approvals.approve, Right.DECIDE, part="approvals"),
        _method(Approvals.reject, Right.DECIDE, part="approvals"),
        _method(Approvals.withdraw, Right.DECIDE, part="approvals"),
        _method(Engine.pause, Right.DECIDE),
        _method(Engine.hold, Right.DECIDE),
        _method(Engine.resume, Right.DECIDE),
        _method(Engine.cancel, Right.DECIDE),
        _method(Engine.stop_attempt, Right.DECIDE),
        _method(Engine.accept, Right.DECIDE),
        _method(Engine.reject_work, Right.DECIDE),
        _method(Engine.allow_correction, Right.DECIDE),
        _method(Engine.validate_again, Right.DECIDE),
        _method(Engine.validate_by_person, Right.DECIDE),
        _method(Unknowns.reconcile, Right.DECIDE, _SEALING_SECONDS, part="unknowns"),
        _method(Engine.replan, Right.DECIDE, _SEALING_SECONDS),
        _method(Engine.acknowledge_restore, Right.DECIDE),
        _method(ScheduledBackups.set, Right.DECIDE, part="scheduled_backups"),
        _method(ScheduledBackups.schedule, Right.LOOK, part="scheduled_backups"),
        _method(Engine.status, Right.LOOK),
        _method(Engine.figures, Right.LOOK),
        _method(Engine.diagnostics, Right.LOOK),
        _method(Engine.docket, Right.LOOK),
        _method(Engine.decide_missed, Right.DECIDE),
        _method(Approvals.inbox, Right.LOOK, part="approvals"),
        _method(Approvals.card, Right.LOOK, part="approvals"),
        _method(Engine.work_orders, Right.LOOK),
        _method(Engine.work_order, Right.LOOK),
        _method(Engine.attempts, Right.LOOK),
        _method(Engine.running, Right.LOOK),
        _method(KeptEvidence.of, Right.LOOK, part="evidence"),
        _method(Engine.receipt, Right.LOOK),
        _method(KeptEvidence.read_output, Right.LOOK, part="evidence"),
        _method(KeptEvidence.verify_blob, Right.LOOK, _READING_EVERYTHING_SECONDS, part="evidence"),
        _method(Engine.explain, Right.LOOK),
        _method(Engine.journal, Right.LOOK),
        _method(Engine.verify_journal, Right.LOOK, _READING_EVERYTHING_SECONDS, without="progress"),
        _method(
            Backups.back_up, Right.DECIDE, _READING_EVERYTHING_SECONDS, without="progress", part="backups"
        ),
        _method(
            Backups.rehearse, Right.DECIDE, _READING_EVERYTHING_SECONDS, without="progress", part="backups"
        ),
        _method(Agents.add, Right.DECIDE, part="agents"),
        _method(Agents.revoke, Right.DECIDE, part="agents"),
        _method(Agents.listed, Right.DECIDE, part="agents"),
        _method(FollowUps.use_tool, Right.ASK, part="followups"),
        _method(FollowUps.come, Right.LOOK, part="followups"),
        _method(FollowUps.questions, Right.LOOK, part="followups"),
        _method(FollowUps.answer, Right.DECIDE, part="followups"),
        _method(FollowUps.tell_event, Right.ASK, part="followups"),
        _method(Budgets.scopes, Right.LOOK, part="budgets"),
        _method(Budgets.scope, Right.LOOK, part="budgets"),
        _method(Budgets.set_limits, Right.DECIDE, part="budgets"),
        _method(Budgets.add_project, Right.DECIDE, part="budgets"),
        _method(Budgets.remove_project, Right.DECIDE, part="budgets"),
        _method(AlarmClock.list_wakes, Right.LOOK, part="wakes"),
        _method(AlarmClock.list_ended, Right.LOOK, part="wakes"),
        _method(AlarmClock.get, Right.LOOK, part="wakes"),
        _method(AlarmClock.history, Right.LOOK, part="wakes"),
        _method(AlarmClock.cancel, Right.DECIDE, part="wakes"),
        _method(AlarmClock.release, Right.DECIDE, part="wakes"),
        _method(AlarmClock.drop, Right.DECIDE, part="wakes"),
        _method(Schedules.add, Right.DECIDE, _SEALING_SECONDS, part="schedules"),
        _method(Schedules.listed, Right.LOOK, part="schedules"),
        _method(Schedules.show, Right.LOOK, part="schedules"),
        _method(Schedules.preview, Right.LOOK, part="schedules"),
        _method(Schedules.preview_rule, Right.LOOK, part="schedules"),
        _method(Schedules.pause, Right.DECIDE, part="schedules"),
        _method(Schedules.resume, Right.DECIDE, part="schedules"),
        _method(Schedules.change, Right.DECIDE, _SEALING_SECONDS, part="schedules"),
        _method(Schedules.cancel, Right.DECIDE, part="schedules"),
        _method(Grants.give, Right.DECIDE, part="grants"),
        _method(Grants.revoke, Right.DECIDE, part="grants"),
        # Who asks is not told what would pass unseen.
        _method(Grants.listed, Right.DECIDE, part="grants"),
        _method(Grants.grant, Right.DECIDE, part="grants"),
        _method(Retention.settings, Right.LOOK, part="retention"),
        _method(Retention.set, Right.DECIDE, part="retention"),
        _method(Retention.by_itself, Right.LOOK, part="retention"),
        _method(Retention.set_by_itself, Right.DECIDE, part="retention"),
        _method(Retention.last_run, Right.LOOK, part="retention"),
        _method(Retention.preview, Right.LOOK, _READING_EVERYTHING_SECONDS, part="retention"),
        _method(
            Retention.run, Right.DECIDE, _READING_EVERYTHING_SECONDS, without="progress", part="retention"
        ),
    )
}
"""Every method of the channel by name, with its right (E-90)."""


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


async def perform(engine: Engine, method: Method, actor: Actor, values: Mapping[str, Any]) -> Any:
    """Call the engine's method for an actor, if actors of its kind have the right to it; else that is journalled.

    An agent is answered only about its own work, whatever process it speaks through. Where the id of a work order is
    wanted, its number (WO-118) stands for it.
    """
    try:
        require_right(actor, method.right, method.name)
        if actor.kind is ActorKind.AGENT:
            values = await only_its_own(engine, method.name, actor, values)
    except Unauthorized:
        await engine.note_refusal(method.name, actor)
        raise
    named = values.get("work_order_id")
    if isinstance(named, str) and _NUMBER.fullmatch(named):
        values = {**values, "work_order_id": (await engine.work_order(named)).row.id}
    owner = getattr(engine, method.part) if method.part else engine
    call = getattr(owner, method.name.rpartition(".")[2])  # names of the table above, never the peer's
    return await (call(actor=actor, **values) if method.takes_actor else call(**values))
