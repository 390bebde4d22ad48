"""What is said of an UNKNOWN: what is certain, what is not, and what each exit means. It is never called failure."""

from __future__ import annotations

from collections.abc import Sequence

from app.panels.inbox.sheet import Fact
from app.panels.words import span_words, units
from app.theme import Tone, state_word
from app.widgets import Times, number
from engine.control.decisions import Finding
from engine.execution.leftovers import Living
from engine.states import AttemptState, ExposureState, Partition
from engine.views.unknown import ScopeExposure, UnknownView

BUTTONS = {
    Finding.TOOK_EFFECT: ("It took effect…", "You found that it happened: it goes on to validation"),
    Finding.DID_NOT: ("It did not…", "You found that nothing happened: it waits for a new approval"),
    Finding.STILL_UNKNOWN: ("Still unknown…", "Write a note; nothing moves and everything stays frozen"),
}
"""The words and the tip of each exit's button."""


def lost_sentence(view: UnknownView) -> str:
    """What the engine cannot say, in one sentence."""
    if view.is_open:
        return "Whether it took effect is not known. Nothing of it starts again before you decide."
    verb = "did not take effect" if view.attempt.state is AttemptState.VOIDED else "took effect"
    return (
        f"{view.attempt.decided_by or 'A person'} decided that it {verb}; this is what that was decided on."
    )


def fact_rows(view: UnknownView, times: Times) -> tuple[Fact, ...]:
    """The certain facts before the last one, newest first."""
    return tuple(
        Fact(times.stamp(one.at, seconds=True), one.sentence, tip=times.exact(one.at))
        for one in reversed(view.certain[:-1])
    )


def living_words(found: Sequence[Living], view: UnknownView) -> tuple[str, Tone]:
    """What a look at the processes found."""
    alive = [one for one in found if one.alive]
    if alive:
        names = ", ".join(f"{one.name or 'process'} ({one.pid})" for one in alive)
        verb = "lives" if len(alive) == 1 else "live"
        return f"{names} still {verb}. The workspace stays locked while it does.", Tone.BAD
    if not found:
        if view.evidence.evidence is not None:
            return "Nothing of it was left when its end was recorded.", Tone.NEUTRAL
        return "No process of it was ever recorded as started.", Tone.NEUTRAL
    pids = ", ".join(str(one.pid) for one in found)
    if view.evidence.evidence is None:
        return (
            f"Its first process ({pids}) is gone; how it ended was not seen. What that one had started is not known.",
            Tone.NEUTRAL,
        )
    return f"What had survived it ({pids}) is gone now.", Tone.NEUTRAL


def exposure_rows(view: UnknownView) -> tuple[Fact, ...]:
    """What is frozen by it in each scope, from the root down."""
    return tuple(
        Fact(_scope_name(one), f"{_exposed(one)} {state_word(one.state)}", tone=_tone(one))
        for one in view.exposure
    )


def cost_hint(view: UnknownView) -> str:
    """What an empty cost comes to."""
    most = units(view.attempt.max_cost)
    if view.reported_cost is not None:
        return f"The command itself reported {units(view.reported_cost)}; {most} were authorised."
    return f"Nothing was reported. Left empty, the whole reservation counts: {most}."


def time_hint(view: UnknownView) -> str:
    """What an empty active time comes to."""
    most = span_words(view.attempt.max_active_ms)
    if view.measured_ms is not None:
        return f"{span_words(view.measured_ms)} were measured; {most} were authorised."
    return f"It was not measured. Left empty, the whole reservation counts: {most}."


def released_words(view: UnknownView) -> str:
    """What an exit that releases gives back."""
    return f"{units(view.attempt.max_cost)} and {span_words(view.attempt.max_active_ms)}"


def _scope_name(one: ScopeExposure) -> str:
    return one.name if one.partition is Partition.EXECUTION else f"{one.name} · {state_word(one.partition)}"


def _exposed(one: ScopeExposure) -> str:
    return (
        f"{units(one.cost)} and {span_words(one.active_ms)}" if one.active_ms else f"{number(one.cost)} units"
    )


def _tone(one: ScopeExposure) -> Tone | None:
    return Tone.UNKNOWN if one.state is ExposureState.FROZEN else None
