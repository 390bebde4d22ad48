"""Who may do what with wakes: an injected policy without an implicit yes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from engine.actors import Actor
from engine.errors import Unauthorized
from engine.wakes.values import DocketRow, Receipt, Series, Trigger, Wake

Right: TypeAlias = Literal["resolve", "cancel", "steer", "release", "drop", "decide", "settle"]
"""What is asked for.

To answer an approval, to cancel a wake or a series of another session, to pause, resume or change a series or
stop a lane, to release or drop a dead wake, to decide about missed occurrences, to settle a receipt.
"""


@dataclass(frozen=True, slots=True)
class About:
    """What a right is asked for: whose it is, and of which sort where that is known."""

    workspace: str
    session: str | None = None
    kind: str | None = None
    trigger: Trigger | None = None
    created_by: Actor | None = None


Authorize: TypeAlias = Callable[[Actor, Right, About | None], bool]
"""Only the answer ``True`` is a yes. It is asked inside a transaction: it must be quick and look at nothing else.

It is asked about None when a token is unknown: may this actor hear that it is.
"""


def about(thing: Wake | Series | DocketRow | Receipt) -> About:
    """What the policy is told of a wake, a series, a docket row or a receipt."""
    if isinstance(thing, Wake):
        return About(thing.workspace, thing.session, thing.kind, thing.trigger, thing.created_by)
    if isinstance(thing, Series):
        return About(thing.workspace, thing.session, thing.kind, Trigger.AT, thing.created_by)
    if isinstance(thing, Receipt):
        return About(thing.workspace, thing.session)
    return About(thing.workspace)


def owns(thing: Wake | Series, workspace: str | None, session: str | None) -> bool:
    """Whether a session, as its host names it, is the one that a wake or series belongs to."""
    return session is not None and (workspace, session) == (thing.workspace, thing.session)


def is_allowed(authorize: Authorize, actor: Actor, right: Right, subject: About | None) -> bool:
    """Whether the policy says yes; anything but True is no."""
    return authorize(actor, right, subject) is True


def require(authorize: Authorize, actor: Actor, right: Right, subject: About) -> None:
    """Raise `Unauthorized` unless the policy says yes."""
    if not is_allowed(authorize, actor, right, subject):
        raise Unauthorized(
            f"{actor} may not {right} this.",
            means="Nothing was changed.",
            do="Ask a person who may.",
            actor=str(actor),
            right=right,
        )
