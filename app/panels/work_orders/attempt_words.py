"""What is said of an attempt, a validation and a decision: observed, judged and decided are different things."""

from __future__ import annotations

from app.panels.words import actor_words, span_words, units
from app.theme import Look, Shape, Tone, look_of, state_word
from app.widgets import Times, duration_text, number
from engine.states import AttemptState, Verdict
from engine.views.values import AttemptRow, DecisionRow, HandoffRow, TaskRow, ValidationRow

IN_FLIGHT = frozenset(
    {
        AttemptState.DISPATCH_AUTHORIZED,
        AttemptState.DELIVERED,
        AttemptState.ACKNOWLEDGED,
        AttemptState.RUNNING,
    }
)
"""States in which an attempt may still do something."""

_IN_FLIGHT_WORDS = {
    AttemptState.DISPATCH_AUTHORIZED: "Authorised, not delivered to a worker yet.",
    AttemptState.DELIVERED: "Delivered to a worker, not acknowledged yet.",
    AttemptState.ACKNOWLEDGED: "Acknowledged by the worker; the process is about to start.",
    AttemptState.RUNNING: "Running.",
}


def attempt_look(attempt: AttemptRow) -> Look:
    """How an attempt looks: its state while in flight, VOIDED or UNKNOWN, else the outcome that was observed.

    What a person decided looks like nothing observed: their name, in the colour and shape of UNKNOWN (E-72).
    """
    if attempt.decided_by is not None:
        return Look(f"decided by {attempt.decided_by}", Tone.UNKNOWN, Shape.DIAMOND)
    if attempt.state in IN_FLIGHT or attempt.state in (AttemptState.UNKNOWN, AttemptState.VOIDED):
        return look_of(attempt.state)
    if attempt.outcome is not None:
        look = look_of(attempt.outcome)
        # "succeeded" alone could be read as the goal reached; what was seen is how the process ended.
        return Look("ran, succeeded" if attempt.outcome == "SUCCEEDED" else look.word, look.tone, look.shape)
    return look_of(attempt.state)


def attempt_sentence(attempt: AttemptRow) -> str:
    """What happened, in one sentence."""
    if attempt.state in IN_FLIGHT:
        if attempt.stop_requested_at is not None:
            return "A person asked to stop it; what is stopped becomes UNKNOWN."
        return _IN_FLIGHT_WORDS[attempt.state]
    return attempt.reason or "Nothing more was observed."


def attempt_use(attempt: AttemptRow, times: Times) -> str:
    """When, how long, at what cost, beside what was allowed."""
    parts = []
    if attempt.started_at is not None:
        parts.append(f"started {times.stamp(attempt.started_at, seconds=True)}")
    else:
        parts.append(f"authorised {times.stamp(attempt.authorized_at, seconds=True)}")
    most = span_words(attempt.max_active_ms)
    if attempt.state in IN_FLIGHT:
        if attempt.started_at is not None:
            parts.append(f"for {duration_text(times.now() - attempt.started_at)}, limit {most}")
        parts.append(f"up to {units(attempt.max_cost)}")
        return " · ".join(parts)
    if (active := active_words(attempt)) is not None:
        parts.append(f"{active} of {most}")
    parts.append(cost_words(attempt))
    return " · ".join(parts)


def active_words(attempt: AttemptRow) -> str | None:
    """How long it was active, None if that does not apply; what nobody measured is the most that it may have been."""
    if attempt.actual_active_ms is None:
        return None
    counted = attempt.evidence_id is None and attempt.actual_active_ms == attempt.max_active_ms
    return f"active {'at most ' if counted else ''}{span_words(attempt.actual_active_ms)}"


def cost_words(attempt: AttemptRow) -> str:
    """What it cost beside what was allowed, and how that is known."""
    most = f"at most {units(attempt.max_cost)}"
    if attempt.state is AttemptState.VOIDED:
        if attempt.decided_by is not None:
            return f"cost nothing: {attempt.decided_by} decided that it did not take effect"
        return "cost nothing: it never started"
    if attempt.state is AttemptState.UNKNOWN:
        return f"cost not known; {number(attempt.max_cost)} frozen until it is reconciled"
    if attempt.actual_cost is None:
        return f"cost not settled yet, {most}"
    known = {
        "reported": ", as the command reported",
        "assumed_maximum": ", assumed: nothing was reported",
        "person": ", as a person said",
        "never_started": ": it never started",
    }.get(attempt.cost_source or "", "")
    over = " · over its limit" if attempt.overrun else ""
    return f"cost {number(attempt.actual_cost)} of {most}{known}{over}"


def verdict_look(validation: ValidationRow) -> Look:
    """How a verdict looks: that of a person carries their name, so that it is not taken for an observed one."""
    look = look_of(validation.outcome)
    if validation.judged_by == "person":
        return Look(f"decided by {validation.actor.name}: {look.word}", look.tone, look.shape)
    return Look(f"validation {look.word}", look.tone, look.shape)


def validation_words(validation: ValidationRow) -> str:
    """Who or what judged, and what follows from it."""
    if validation.judged_by == "command":
        by = "judged by the validation command"
    elif validation.judged_by == "person":
        by = f"judged by {actor_words(validation.actor)}"
    else:
        by = f"judged by {state_word(validation.judged_by)}"
    return f"{by}; no corrections are left" if validation.correction_exhausted else by


def verdict_words(verdict: Verdict) -> str:
    """A verdict as a sentence about the goal, not about the process."""
    return {
        Verdict.PASSED: "The criteria are met.",
        Verdict.FAILED: "The criteria are not met.",
        Verdict.UNKNOWN: "Whether the criteria are met is not known.",
    }[verdict]


_DECISIONS: dict[str, tuple[str, Tone, Shape]] = {
    "accepted": ("Accepted the work", Tone.OK, Shape.CHECK),
    "rejected": ("Rejected the work", Tone.BAD, Shape.CROSS),
    "correction_allowed": ("Allowed one more correction", Tone.WARN, Shape.RING),
    "replanned": ("Replanned it", Tone.WARN, Shape.RING),
    "validate_again": ("Had it validated again", Tone.WARN, Shape.RING),
    "reconciled.took_effect": ("Decided that it took effect", Tone.UNKNOWN, Shape.DIAMOND),
    "reconciled.did_not": ("Decided that it did not take effect", Tone.UNKNOWN, Shape.DIAMOND),
    "reconciled.still_unknown": ("Noted that it is still unknown", Tone.UNKNOWN, Shape.DIAMOND),
}


def decision_look(decision: DecisionRow) -> Look:
    """How a decision looks: what the person did, in their words, not as something observed."""
    word, tone, shape = _DECISIONS.get(
        decision.kind, (state_word(decision.kind.replace(".", " ")), Tone.NEUTRAL, Shape.SQUARE)
    )
    return Look(word, tone, shape)


def handoff_words(handoff: HandoffRow) -> str:
    """From which stage to which, or to whom: "1 · implement handed over to 2 · validate"."""
    source = f"{handoff.from_ordinal} · {state_word(handoff.from_purpose)}"
    if handoff.to_purpose is not None:
        return f"{source} handed over to {handoff.to_ordinal} · {state_word(handoff.to_purpose)}"
    if handoff.accepted_by is not None:
        return f"{source} handed over to {actor_words(handoff.accepted_by)}, who accepted the work"
    return f"{source} handed over; nobody has taken it up yet"


def task_words(task: TaskRow) -> str:
    """A stage's name within its work order: "2 · validate"."""
    return f"{task.ordinal} · {state_word(task.purpose)}"
