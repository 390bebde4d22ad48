"""Who may do what: an injected policy without an implicit yes (E-42)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from engine.actors import Actor, ActorKind
from engine.errors import Unauthorized

Right: TypeAlias = Literal[
    "submit",
    "approve",
    "reject",
    "withdraw",
    "hold",
    "resume",
    "cancel",
    "accept",
    "decide",
    "reconcile",
    "back_up",
    "retain",
    "budget",
    "grant",
    "schedule",
]

_WORDS = {
    "back_up": "make backups",
    "budget": "change budgets",
    "grant": "make or end standing grants",
    "schedule": "make or steer schedules",
}

Authorize: TypeAlias = Callable[[Actor, Right], None]
"""Returns if the actor has the right, raises `Unauthorized` if not."""


def person_decides(actor: Actor, right: Right) -> None:
    """The policy of the product: everyone may ask, only a person decides and steers."""
    if actor.kind is ActorKind.PERSON or right == "submit":
        return
    raise Unauthorized(
        f"{actor} may not {_WORDS.get(right, right)}; only a person decides.",
        means="Nothing was changed.",
        do="Ask the supervising person to do it in the console.",
        actor=str(actor),
        right=right,
    )
