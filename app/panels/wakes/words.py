"""How wakes, series and the docket are spoken of: their looks, why one waits, what each policy means."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from app.panels.words import span_words
from app.theme import Look, Shape, Tone
from app.widgets import Times
from engine.instants import Instant
from engine.scheduling.wakeups import WORKSPACE as ENGINE_WORKSPACE
from engine.views.schedules import SCHEDULES
from engine.wakes import (
    CatchUp,
    LaneRow,
    Mark,
    Occurrence,
    Series,
    SeriesState,
    Trigger,
    Waiting,
    Wake,
    WakeState,
)
from engine.wakes.cleaning import OWN_WORKSPACE
from engine.wakes.values import SERIES_LIVE, WakeSummary

LATE_MS = 1_000
"""From so much after its due time on a wake is called late."""

KINDS: Mapping[str, str] = {
    "session_turn": "Follow-up of an agent",
    "wakes.clean_up": "Clean-up of ended wakes",
    "task.wake_up": "Start of a work order",
    "work_order.submit": "Scheduled work order",
    "approval.expiring": "Notice before a request expires",
    "backup.run": "Scheduled backup",
    "backup.retry": "Scheduled backup, once more",
}
"""What the product's own kinds are called; another kind is called by its name."""

SERIES_LOOKS: Mapping[SeriesState, Look] = {
    SeriesState.ACTIVE: Look("active", Tone.OK, Shape.DOT),
    SeriesState.PAUSED: Look("paused", Tone.WARN, Shape.PAUSE),
    SeriesState.BROKEN: Look("broken", Tone.BAD, Shape.TRIANGLE),
    SeriesState.ENDED: Look("ended", Tone.NEUTRAL, Shape.SQUARE),
    SeriesState.CANCELLED: Look("cancelled", Tone.NEUTRAL, Shape.DASH),
}

CATCH_UP_WORDS: Mapping[CatchUp, str] = {
    CatchUp.ASK: "Ask me",
    CatchUp.LATEST: "Only the latest",
    CatchUp.ALL: "All of them",
    CatchUp.NONE: "None of them",
}

CATCH_UP_MEANS: Mapping[CatchUp, str] = {
    CatchUp.ASK: "What was missed waits in the docket, and nothing of it starts before you decide.",
    CatchUp.LATEST: "Of what was missed only the newest fires, once; the older ones are skipped.",
    CatchUp.ALL: "Each missed occurrence fires, one after another; of very many only the newest.",
    CatchUp.NONE: "What was missed is skipped; the next one to come fires at its time.",
}

MARKS: Mapping[Mark, tuple[str, str]] = {
    Mark.MOVED: (
        "moved",
        "This local time does not exist on that day; it fires when the clocks have changed.",
    ),
    Mark.FIRST_OF_TWO: ("first of two", "This local time occurs twice on that day; it fires the first time."),
    Mark.SECOND_OF_TWO: (
        "second of two",
        "This local time occurs twice on that day; an interval goes on through both.",
    ),
    Mark.CHANGED_DAY: ("clocks change", "The clocks change on that day, though not at this time."),
}
"""The short word and the sentence for an occurrence on a day whose clocks change."""

_EVENTS: Mapping[str, str] = {
    "created": "made",
    "claimed": "began to fire",
    "accepted": "accepted an answer or event",
    "expiring": "deadline passed",
    "set_aside": "set aside: no sink for its kind",
    "readmitted": "queues again: its kind has a sink",
    "moved": "moved to another occurrence",
    "docketed": "put into the docket",
    "decided": "decided about",
    "failed": "failed, to be tried again",
    "given_back": "given back unfinished",
    "lapsed": "its lease lapsed",
    "lost": "lost its claim",
    "fired": "fired",
    "expired": "expired",
    "dead": "died",
    "released": "released",
    "dropped": "dropped",
    "cancelled": "cancelled",
    "paused": "paused",
    "resumed": "resumed",
    "changed": "changed",
    "broken": "broke",
    "ended": "ended",
}


INNER_WORKSPACES = frozenset({SCHEDULES, OWN_WORKSPACE, ENGINE_WORKSPACE})
"""Workspaces of the product itself, whose names tell a person nothing."""


def event_words(event: str) -> str:
    """A step of a wake's history in words."""
    return _EVENTS.get(event, event.replace("_", " "))


def kind_words(kind: str) -> str:
    """What a kind of wake is called."""
    return KINDS.get(kind, kind)


def wake_title(wake: Wake | WakeSummary) -> str:
    """What a wake is called: by what it is to do, if it says so, else by its kind."""
    said = title_of(wake.intent) if isinstance(wake, Wake) else " ".join((wake.title or "").split())
    return said or kind_words(wake.kind)


def series_title(series: Series) -> str:
    """What a series is called."""
    return title_of(json.loads(series.intent)) or kind_words(series.kind)


def title_of(intent: object) -> str:
    """The title that an intent carries, "" if none."""
    found = intent.get("title") if isinstance(intent, Mapping) else None
    return " ".join(found.split()) if isinstance(found, str) else ""


def order_of_intent(intent: object) -> Mapping[str, Any]:
    """The work order that an intent of a schedule submits, as plain values; empty for any other intent."""
    found = intent.get("work_order") if isinstance(intent, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def late_by(wake: Wake | WakeSummary, now: Instant) -> int:
    """How late a wake is, or was when it fired, in milliseconds; 0 while it is in time."""
    if wake.late_ms is not None:
        return wake.late_ms
    if wake.state is WakeState.PENDING and wake.due_at is not None:
        return max(0, now - wake.due_at)
    return 0


def wake_look(wake: Wake | WakeSummary, now: Instant) -> Look:
    """Where a wake stands, as word, tone and shape."""
    match wake.state:
        case WakeState.FIRING:
            return Look("firing", Tone.LIVE, Shape.PLAY)
        case WakeState.FIRED:
            return Look("fired", Tone.OK, Shape.DOT)
        case WakeState.EXPIRED:
            return Look("expired", Tone.WARN, Shape.CLOCK)
        case WakeState.CANCELLED:
            return Look("cancelled", Tone.NEUTRAL, Shape.DASH)
        case WakeState.DEAD:
            return Look("dead", Tone.BAD, Shape.CROSS)
        case _:
            return _pending_look(wake, now)


def _pending_look(wake: Wake | WakeSummary, now: Instant) -> Look:
    if wake.waiting is Waiting.NO_SINK:
        return Look("no sink", Tone.WARN, Shape.TRIANGLE)
    if wake.waiting is Waiting.DOCKET:
        return Look("in the docket", Tone.WARN, Shape.RING)
    if wake.attempts > 0:
        return Look("to be retried", Tone.WARN, Shape.HALF)
    if wake.due_at is None:
        waits = "awaits an event" if wake.trigger is Trigger.ON_EVENT else "awaits an answer"
        return Look(waits, Tone.NEUTRAL, Shape.RING)
    if now - wake.due_at >= LATE_MS:
        return Look("late", Tone.WARN, Shape.CLOCK)
    return Look("coming", Tone.NEUTRAL, Shape.CLOCK)


def when_words(wake: Wake | WakeSummary, times: Times, *, with_error: bool = True) -> str:
    """When it fires, or fired, and how late, in one line; of a dead one why it died."""
    late = late_by(wake, times.now())
    lateness = f", {span_words(late)} late" if late >= LATE_MS else ""
    if wake.state is WakeState.CANCELLED:
        return f"Cancelled {times.age(wake.ended_at)}" if wake.ended_at is not None else "Cancelled"
    if wake.state is WakeState.DEAD:
        error = f": {wake.last_error}" if with_error and wake.last_error else ""
        return f"Gave up after {tries(wake.attempts)}{error}"
    if wake.due_at is None:
        awaited = f"the event {wake.event_key}" if wake.event_key else "an answer"
        end = f", until {times.stamp(wake.expires_at)}" if wake.expires_at is not None else ""
        return f"Waits for {awaited}{end}"
    stamp = times.stamp(wake.due_at)
    if wake.state is WakeState.PENDING and wake.attempts > 0:
        again = wake.armed_at
        soon = f"tried again {times.until(again)}" if again is not None else "tried again in its turn"
        return f"{tries(wake.attempts).capitalize()} failed; {soon}"
    if wake.state is WakeState.PENDING and not late:
        return f"Due {times.until(wake.due_at)}, {stamp}"
    return f"Due {stamp}{lateness}"


def tries(number: int) -> str:
    """So many attempts, in words."""
    return "1 attempt" if number == 1 else f"{number} attempts"


def why_it_waits(
    wake: Wake,
    lane: LaneRow | None,
    ahead: WakeSummary | None,
    times: Times,
    *,
    trusted: bool = True,
    restored: bool = False,
) -> tuple[str, ...]:
    """Why a pending wake does not fire now, each reason a sentence, what must change first at the top.

    ``ahead`` is the wake of its lane that is to go before it, if that is known. ``trusted``: the clock is;
    ``restored``: the data was restored and nobody has looked yet.
    """
    if wake.state is not WakeState.PENDING:
        return ()
    now = times.now()
    said: list[str] = []
    if wake.waiting is Waiting.NO_SINK:
        said.append(
            f"No sink for {wake.kind}: no part of this program takes such wakes. It fires once one does; "
            "waiting uses up none of its attempts."
        )
    elif wake.waiting is Waiting.DOCKET:
        said.append("It was missed, and waits in the docket for your decision.")
    if restored:
        said.append("The data was restored: nothing fires before you have looked and said so.")
    if not trusted and wake.admitted_at is None and wake.trigger is Trigger.AT:
        said.append("The clock is distrusted: nothing fires by time before trust is restored.")
    if wake.due_at is None:
        awaited = f"the event {wake.event_key}" if wake.trigger is Trigger.ON_EVENT else "a person's answer"
        said.append(f"It waits for {awaited}.")
        return tuple(said)
    if wake.not_before is not None and wake.not_before > now and wake.attempts > 0:
        said.append(
            f"Back-off until {times.stamp(wake.not_before, seconds=True)}: {tries(wake.attempts)} failed, and it is "
            "tried again then."
        )
    if lane is not None and wake.waiting is None:
        said += _lane_reasons(wake, lane, ahead, times)
    if not said and wake.due_at > now:
        said.append(f"It fires {times.until(wake.due_at)}: {times.stamp(wake.due_at, seconds=True)}.")
    if not said:
        said.append("It is due; the next pass takes it.")
    return tuple(said)


def _lane_reasons(wake: Wake, lane: LaneRow, ahead: WakeSummary | None, times: Times) -> list[str]:
    if lane.stopped_by is not None and lane.stopped_by != wake.id:
        return [f"Its lane {lane.lane} is stopped: a wake of it died. Release or drop that one first."]
    if lane.firing is not None and lane.firing != wake.id:
        return [f"Its lane {lane.lane} is busy: another wake of it fires now, and it goes in its turn."]
    if wake.armed_at is None and ahead is not None and ahead.id != wake.id:
        due = f", due {times.stamp(ahead.due_at)}" if ahead.due_at is not None else ""
        return [f"It stands in the lane {lane.lane} behind {kind_words(ahead.kind)}{due}."]
    return []


def next_words(series: Series, times: Times) -> str:
    """When a series fires next, or why it does not."""
    if series.state is SeriesState.BROKEN:
        return f"Stands still: {series.error}"
    if series.state is SeriesState.PAUSED:
        return "Rests until you resume it"
    if series.state not in SERIES_LIVE:
        return f"Ended {times.age(series.ended_at)}" if series.ended_at is not None else "Ended"
    due = series.booked_to
    return f"Next {times.until(due)}, {times.stamp(due)}" if due > times.now() else f"Due {times.stamp(due)}"


def missed_words(number: int) -> str:
    """So many missed occurrences."""
    return "1 occurrence was missed" if number == 1 else f"{number} occurrences were missed"


def local_words(occurrence: Occurrence, times: Times) -> str:
    """An occurrence's local time: of cron in its own zone, "Sun 29 Mar 2026 03:00 +02:00", else as the console's."""
    if occurrence.local == occurrence.utc:
        return times.stamp(occurrence.at, seconds=True)
    moment = datetime.fromisoformat(occurrence.local)
    day = f"{_WEEKDAYS[moment.weekday()]} {moment.day} {MONTHS[moment.month - 1]} {moment.year}"
    return f"{day} {moment:%H:%M} {occurrence.local[16:]}"


_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
