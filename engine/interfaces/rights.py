"""Who may do what at the engine's interfaces, by kind of actor (E-90).

This table is the only place that says it. The engine asks its own policy about decisions once more; this
one keeps a request from ever getting that far.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from engine.actors import Actor, ActorKind
from engine.errors import Unauthorized


class Right(StrEnum):
    """A kind of thing that can be done through an interface."""

    LOOK = "look"
    """Read anything."""
    ASK = "ask"
    """Ask for something that still needs a person's decision: submit, ask again."""
    HALT = "halt"
    """Keep new work from starting: pause, hold."""
    DECIDE = "decide"
    """A person's decision: approve, reject, withdraw, resume, stop, cancel, accept, judge."""


RIGHTS: Mapping[ActorKind, frozenset[Right]] = {
    ActorKind.PERSON: frozenset(Right),
    ActorKind.SCRIPT: frozenset({Right.LOOK, Right.ASK, Right.HALT}),
    ActorKind.AGENT: frozenset({Right.LOOK, Right.ASK}),
    ActorKind.WORKER: frozenset(),
    ActorKind.ENGINE: frozenset(),
}
"""What each kind of actor may do. Workers and the engine itself do not speak through interfaces."""

_WHO = {
    ActorKind.SCRIPT: "A script may look, ask, pause and hold.",
    ActorKind.AGENT: "An agent may look and ask.",
}


def require_right(actor: Actor, right: Right, method: str) -> None:
    """Raise `Unauthorized` unless this kind of actor has the right; ``method`` is what it tried."""
    if right in RIGHTS[actor.kind]:
        return
    raise Unauthorized(
        f"{actor} may not {method.replace('_', ' ')}.",
        means=f"{_WHO.get(actor.kind, 'It has no rights here.')} Nothing was changed.",
        do="A person has to do this, in the console or with praxis.",
        actor_kind=actor.kind.value,
        right=right.value,
        method=method,
    )
