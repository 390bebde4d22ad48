"""Who may do what at the engine's interfaces, by kind of actor (E-90).

This table is the only place that says it. The engine asks its own policy about commands once more; this one
keeps a request from ever getting that far.
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
    DECIDE = "decide"
    """Decide and steer: approve, reject, withdraw, hold, resume, stop, cancel, reconcile, accept, judge."""


RIGHTS: Mapping[ActorKind, frozenset[Right]] = {
    ActorKind.PERSON: frozenset(Right),
    ActorKind.SCRIPT: frozenset({Right.LOOK, Right.ASK}),
    ActorKind.AGENT: frozenset({Right.LOOK, Right.ASK}),
    ActorKind.WORKER: frozenset(),
    ActorKind.ENGINE: frozenset(),
}
"""What each kind of actor may do. Workers and the engine itself do not speak through interfaces."""


def require_right(actor: Actor, right: Right, method: str) -> None:
    """Raise `Unauthorized` unless this kind of actor has the right; ``method`` is what it tried."""
    if right in RIGHTS[actor.kind]:
        return
    raise Unauthorized(
        f"{str(actor)[:1].upper()}{str(actor)[1:]} may not {_words(method)}; only a person decides.",
        means="Nothing was changed.",
        do="A person has to do this, in the console or with praxis.",
        actor_kind=actor.kind.value,
        right=right.value,
        method=method,
    )


_SAID_ENOUGH = frozenset({"approvals", "unknowns", "evidence"})
"""Parts of the engine whose methods' names are the words that everybody uses for the act."""


def _words(method: str) -> str:
    """What a method does, in words: ``grants.revoke`` is "revoke (grants)", ``approvals.approve`` is "approve"."""
    part, _, name = method.replace("_", " ").rpartition(".")
    return f"{name} ({part})" if part and part not in _SAID_ENOUGH else name
