"""What an agent may be answered about: its own work orders and what belongs to them, and nothing else (E-92).

The owner of the data folder asks here for each call of an agent, so that it does not depend on what the agent's own
process lets through. What belongs to others looks to it like what does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.actors import Actor
from engine.engine import Engine
from engine.errors import NotFound, Unauthorized
from engine.views.work_orders import Asked

_FREE = frozenset({"submit", "check", "take_back", "followups.use_tool", "followups.come"})
"""These work for who asks and nobody else, or take no name of anything."""
_SUBJECTS: Mapping[str, tuple[Asked, str]] = {
    "work_order": ("work_order", "name"),
    "receipt": ("work_order", "name"),
    "journal": ("work_order", "work_order_id"),
    "approvals.ask_again": ("task", "task_id"),
    "explain": ("task", "task_id"),
    "approvals.card": ("approval", "approval_id"),
    "evidence.of": ("attempt", "attempt_id"),
    "evidence.read_output": ("attempt", "attempt_id"),
}
"""The methods that are about one thing: its kind, and the argument that names it."""


async def only_its_own(
    engine: Engine, method: str, agent: Actor, values: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Give the arguments with which an agent's call is carried out.

    `NotFound` for what it did not ask for, `Unauthorized` for a method that looks at more than one work order.
    """
    if method in _FREE:
        return values
    if method == "work_orders":
        if values.get("requested_by") not in (None, agent):
            raise _too_much(method, agent)
        return {**values, "requested_by": agent}
    if method not in _SUBJECTS:
        raise _too_much(method, agent)
    kind, argument = _SUBJECTS[method]
    name = values.get(argument)
    if name is None:
        raise _too_much(method, agent)
    if await engine.asked_by(kind, name) != agent:
        raise NotFound(
            f"You asked for no {kind.replace('_', ' ')} {name[:100]}.", do="Look at your own work orders."
        )
    return values


def _too_much(method: str, agent: Actor) -> Unauthorized:
    return Unauthorized(
        f"{str(agent)[:1].upper()}{str(agent)[1:]} may not {method.replace('_', ' ')}: "
        "an agent looks only at its own work orders.",
        means="Nothing was done.",
        do="Name a work order of your own.",
        method=method,
    )
