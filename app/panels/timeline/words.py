"""How bars, marks and lanes of the timeline look and are called."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from app.panels.words import folder_name, order_name, span_words, stage_name
from app.theme import Look, Shape, Tone, look_of
from app.widgets import Times, duration_text, number, spoken
from engine.states import ApprovalState, AttemptState, ClaimState, HoldKind, Outcome, Verdict
from engine.views.timeline import (
    ENGINE_LANE,
    PEOPLE_LANE,
    BarKind,
    Grouping,
    MarkKind,
    TimelineBar,
    TimelineCell,
    TimelineLane,
    TimelineMark,
)

KIND_WORDS: Mapping[BarKind, str] = {
    BarKind.APPROVAL: "wait for approval",
    BarKind.CLAIM: "claim",
    BarKind.DISPATCH: "dispatch",
    BarKind.EXECUTION: "execution",
    BarKind.VALIDATION: "validation",
    BarKind.HOLD: "hold",
}

_STATES: Mapping[BarKind, tuple[type[StrEnum], ...]] = {
    BarKind.APPROVAL: (ApprovalState,),
    BarKind.CLAIM: (ClaimState,),
    BarKind.DISPATCH: (AttemptState,),
    BarKind.EXECUTION: (Outcome, AttemptState),
    BarKind.VALIDATION: (Verdict,),
    BarKind.HOLD: (HoldKind,),
}

_HOLDS: Mapping[HoldKind, Look] = {
    HoldKind.PAUSE: Look("paused", Tone.WARN, Shape.PAUSE),
    HoldKind.HOLD: Look("held", Tone.WARN, Shape.SQUARE),
    HoldKind.CLOCK: Look("clock distrusted", Tone.BAD, Shape.CLOCK),
    HoldKind.RESTORE: Look("held after restore", Tone.WARN, Shape.SQUARE),
    HoldKind.OVERRUN: Look("overrun", Tone.BAD, Shape.TRIANGLE),
}


_NOT_STARTED = (
    AttemptState.DISPATCH_AUTHORIZED,
    AttemptState.DELIVERED,
    AttemptState.ACKNOWLEDGED,
    AttemptState.VOIDED,
)


def look_of_bar(kind: BarKind, state: str) -> Look:
    """Word, tone and shape of what a bar shows. A wait that ended well is quiet: the approval was given."""
    for states in _STATES[kind]:
        if state in states.__members__:
            found = states(state)
            if isinstance(found, HoldKind):
                return _HOLDS[found]
            if kind is BarKind.DISPATCH and found not in _NOT_STARTED:
                return Look("started", Tone.NEUTRAL, Shape.DOT)
            if kind is BarKind.APPROVAL and found in (ApprovalState.APPROVED, ApprovalState.CONSUMED):
                return Look("approved", Tone.WARN, Shape.CHECK)
            return look_of(found)
    return Look(state.lower(), Tone.NEUTRAL, Shape.DOT)


def bar_name(bar: TimelineBar) -> str:
    """What a bar is of: "WO-118 · implement", or the engine."""
    if bar.number is None:
        return "the whole engine" if bar.kind is BarKind.HOLD else "the engine"
    return stage_name(bar.number, bar.purpose) if bar.purpose is not None else order_name(bar.number)


def bar_title(bar: TimelineBar) -> str:
    """One line: "WO-118 · implement: execution, succeeded"."""
    return f"{bar_name(bar)}: {KIND_WORDS[bar.kind]}, {look_of_bar(bar.kind, bar.state).word}"


def bar_lines(bar: TimelineBar, times: Times) -> tuple[str, ...]:
    """Everything about a bar, a fact a line, times exact."""
    lines = [bar_title(bar)]
    if bar.title:
        lines.append(spoken(bar.title))
    if bar.kind is BarKind.VALIDATION:
        lines.append(times.exact(bar.start))
    else:
        lines.append(f"from {times.exact(bar.start)}")
        took = (bar.end if bar.end is not None else times.now()) - bar.start
        if bar.end is None:
            lines.append(f"goes on, for {span_words(max(took, 0))} so far")
        elif took < 0:
            lines.append(f"to {times.exact(bar.end)}, before its start: the clock was set back")
        else:
            lines.append(f"to {times.exact(bar.end)}, {span_words(took)}")
    if bar.kind is BarKind.CLAIM and bar.until is not None:
        lines.append(f"lease until {times.exact(bar.until)}, renewed {len(bar.ticks)} times")
        lines.append(f"worker {bar.who}")
    elif bar.kind is BarKind.APPROVAL:
        if bar.note:
            lines.append(f"decided by {spoken(bar.note)}")
        elif bar.end is None and bar.until is not None:
            lines.append(f"expires {times.exact(bar.until)}")
    elif bar.kind in (BarKind.DISPATCH, BarKind.EXECUTION):
        lines.append(f"worker {bar.who}")
    if bar.note and bar.kind is not BarKind.APPROVAL:
        lines.append(spoken(bar.note))
    return tuple(lines)


def bar_summary(bar: TimelineBar, times: Times) -> str:
    """One line about a bar: what, of what, when, how long, and what was said of it."""
    when = times.stamp(bar.start, seconds=True)
    if bar.kind is not BarKind.VALIDATION and bar.end is not None:
        when += f" to {times.stamp(bar.end, seconds=True)}"
    said = spoken(bar.note) if bar.note else ""
    if bar.kind is BarKind.APPROVAL and said:
        said = f"by {said}"
    title = spoken(bar.title) if bar.title else ""
    parts = (bar_title(bar), title, when, bar_took(bar, times), said)
    return " · ".join(part for part in parts if part)


def bar_took(bar: TimelineBar, times: Times) -> str:
    """How long it took, or has been going on."""
    if bar.kind is BarKind.VALIDATION:
        return ""
    if bar.end is None:
        return f"{duration_text(times.now() - bar.start)} so far"
    return span_words(max(bar.end - bar.start, 0))


def cell_line(cell: TimelineCell, slice_start: int, slice_ms: int, times: Times) -> str:
    """What a count says: "312 executions, succeeded, beginning within 2 min from …"."""
    kind = KIND_WORDS[cell.kind]
    many = {
        BarKind.APPROVAL: "waits for approval",
        BarKind.DISPATCH: "dispatches",
    }.get(cell.kind, f"{kind}s")
    word = look_of_bar(cell.kind, cell.state).word
    what = f"1 {kind}" if cell.count == 1 else f"{number(cell.count)} {many}"
    return f"{what}, {word}, beginning within {duration_text(slice_ms)} from {times.exact(slice_start)}"


def mark_lines(mark: TimelineMark, times: Times) -> tuple[str, ...]:
    """What a mark says."""
    if mark.kind is MarkKind.EPOCH:
        return (f"Epoch {mark.id} began: a coordinator took over.", times.exact(mark.start))
    if mark.kind is MarkKind.SUSPEND:
        what = f"The machine slept for {duration_text(mark.size_ms)}."
    else:
        back = mark.end < mark.start
        what = f"The clock stepped {'back' if back else 'forward'} by {duration_text(mark.size_ms)}."
    return (what, f"before: {times.exact(mark.start)}", f"after: {times.exact(mark.end)}")


def lane_title(lane: TimelineLane, grouping: Grouping) -> tuple[str, str]:
    """A lane's name and the quiet words beside it."""
    if lane.key == ENGINE_LANE:
        return "Engine", "holds on everything"
    if grouping is Grouping.WORK_ORDER and lane.number is not None:
        return order_name(lane.number), spoken(lane.title)
    if grouping is Grouping.WORKSPACE:
        return folder_name(lane.key), lane.key
    if lane.key == PEOPLE_LANE:
        return "People", "approvals and judgements"
    return lane.key, "worker"
