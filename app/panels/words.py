"""How the pages name things: work orders, stages, actors, costs."""

from __future__ import annotations

from app.theme import state_word
from app.widgets import duration_text, number, tips
from engine.actors import Actor, ActorKind
from engine.states import Purpose


def order_name(order_number: int) -> str:
    """A work order's name: "WO-118"."""
    return f"WO-{order_number}"


def stage_name(order_number: int, purpose: Purpose) -> str:
    """A stage's name: "WO-118 · implement"."""
    return f"{order_name(order_number)} · {state_word(purpose)}"


def actor_words(actor: Actor) -> str:
    """Who did something, as one says it: a person by name, anything else with its kind."""
    if actor.kind is ActorKind.PERSON:
        return actor.name
    if actor.kind is ActorKind.ENGINE:
        return "the engine"
    return f"{state_word(actor.kind)} “{actor.name}”"


def folder_name(path: str) -> str:
    """The last part of a path of either kind of system; the whole path if it has no parts."""
    return path.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1] or path


def units(cost: int) -> str:
    """A cost: "1 unit", "30 units"."""
    return "1 unit" if cost == 1 else f"{number(cost)} units"


def span_words(milliseconds: int) -> str:
    """A measured length of time: below ten seconds with a tenth, "1.2 s"; else in at most two units."""
    if 1000 <= milliseconds < 10_000:
        return f"{milliseconds / 1000:.1f} s".replace(".0 s", " s")
    return duration_text(milliseconds)


def plain_tip(*lines: str) -> str:
    """A tooltip of plain lines, whatever they look like."""
    return tips.plain_tip("\n".join(lines))
