"""What a person does with wakes, schedules and the docket: each asks first for what it needs."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from app.panels.wakes.words import kind_words, missed_words, series_title, tries, wake_title
from app.session import Session
from app.widgets import ask_reason
from engine.errors import PraxisError
from engine.views.docket import Undecided
from engine.wakes import AlarmClock, CancelResult, CatchUp, Series, SeriesState, Wake


class NotDone(PraxisError):
    """Something was not done because the matter had changed meanwhile."""

    code = "not_done"


async def cancel_wake(session: Session, alarm: AlarmClock, wake: Wake, parent: QWidget) -> None:
    """Cancel one pending wake, with a reason."""
    what = (
        "Only this occurrence ends; the schedule goes on with its next one."
        if wake.series is not None
        else "It ends and never fires. Whoever made it is not asked."
    )
    reason = await ask_reason(parent, f"Cancel “{wake_title(wake)}”?", what, action="Cancel it", danger=True)
    if reason is not None:
        _require(await alarm.cancel(wake.id, session.actor, reason=reason), "wake")


async def answer_wake(session: Session, _alarm: AlarmClock, wake: Wake, parent: QWidget) -> None:
    """Answer the question of an agent, in words that it gets as they are."""
    intent = wake.intent if isinstance(wake.intent, dict) else {}
    answer = await ask_reason(
        parent,
        f"Answer “{wake_title(wake)}”?",
        f"{str(wake.created_by)[:1].upper()}{str(wake.created_by)[1:]} goes on with exactly your words. It is no "
        "approval of a work order: those are decided in the inbox.",
        action="Answer",
        details=str(intent.get("question", "")).splitlines(),
        placeholder="Your answer. It is kept with your name.",
    )
    if answer is not None:
        await session.engine.followups.answer(wake.id, answer, session.actor)


async def release_wake(session: Session, alarm: AlarmClock, wake: Wake, parent: QWidget) -> None:
    """Let a dead wake be tried again, with a reason."""
    reason = await ask_reason(
        parent,
        f"Release “{wake_title(wake)}”?",
        f"It died after {tries(wake.attempts)}. Its attempts are forgiven and it fires again as soon as its lane "
        "lets it; if its cause is still there, it dies again.",
        action="Release it",
        details=[wake.last_error] if wake.last_error else (),
        placeholder="What has been mended? This is kept in the journal.",
    )
    if reason is not None:
        await alarm.release(wake.id, session.actor, reason)


async def drop_wake(session: Session, alarm: AlarmClock, wake: Wake, parent: QWidget) -> None:
    """Give a dead wake up, with a reason."""
    reason = await ask_reason(
        parent,
        f"Drop “{wake_title(wake)}”?",
        "It is given up for good: what it was to do is not done. Its lane goes on.",
        action="Drop it",
        danger=True,
        details=[wake.last_error] if wake.last_error else (),
    )
    if reason is not None:
        await alarm.drop(wake.id, session.actor, reason)


async def pause_series(session: Session, alarm: AlarmClock, series: Series, parent: QWidget) -> None:
    """Let a series rest, with a reason."""
    reason = await ask_reason(
        parent,
        f"Pause “{series_title(series)}”?",
        "Nothing of it fires until you resume it; what would have come due meanwhile is left out.",
        action="Pause it",
    )
    if reason is not None:
        await alarm.pause_series(series.id, session.actor, reason)


async def resume_series(session: Session, alarm: AlarmClock, series: Series, parent: QWidget) -> None:
    """Go on with a paused series from now, or with a broken one where it stopped, with a reason."""
    broken = series.state is SeriesState.BROKEN
    reason = await ask_reason(
        parent,
        f"Try “{series_title(series)}” again?" if broken else f"Resume “{series_title(series)}”?",
        "It goes on from where it broke. If the cause is still there, it breaks again."
        if broken
        else "It goes on with its next occurrence from now.",
        action="Try again" if broken else "Resume it",
        details=[series.error] if series.error else (),
    )
    if reason is not None:
        await alarm.resume_series(series.id, session.actor, reason)


async def cancel_series(session: Session, alarm: AlarmClock, series: Series, parent: QWidget) -> None:
    """End a series for good, with a reason."""
    reason = await ask_reason(
        parent,
        f"End “{series_title(series)}” for good?",
        "Its coming occurrence is cancelled, and what of it waits in the docket is skipped. What fires now ends as it "
        "would. An ended schedule cannot be resumed.",
        action="End it",
        danger=True,
    )
    if reason is not None:
        _require(await alarm.cancel_series(series.id, session.actor, reason=reason), "schedule")


async def decide(session: Session, about: Sequence[Undecided], choice: CatchUp, parent: QWidget) -> None:
    """Decide about missed occurrences, with one reason for all that are given."""
    number = sum(one.missed for one in about)
    names = [one.title or kind_words(one.kind) for one in about]
    name = f"“{names[0]}”" if len(about) == 1 else f"all {len(about)} schedules"
    reason = await ask_reason(
        parent,
        f"{DECISIONS[choice][0].rstrip('…')}, for {name}?",
        f"{missed_words(number)}. {DECISIONS[choice][1]}",
        action=DECISIONS[choice][0].rstrip("…"),
        danger=choice is CatchUp.NONE,
        details=[f"{title}: {one.missed} missed" for one, title in zip(about, names, strict=True)]
        if len(about) > 1
        else (),
    )
    if reason is not None:
        for one in about:
            await session.engine.decide_missed(one.id, choice, session.actor, reason=reason)


DECISIONS = {
    CatchUp.ALL: ("Fire all…", "Each of them fires now, one after another, the oldest first."),
    CatchUp.LATEST: ("Fire the latest…", "Only the newest fires now, once; the older ones are skipped."),
    CatchUp.NONE: ("Fire none…", "None of them fires; the schedule goes on with the next one to come."),
}
"""The three ways to decide about what was missed: the button's words and what it does."""


def _require(result: CancelResult, what: str) -> None:
    if result is CancelResult.OK:
        return
    raise NotDone(
        f"The {what} could not be cancelled.",
        means={
            CancelResult.NOT_FOUND: f"There is no such {what} any more.",
            CancelResult.NOT_PENDING: "It had begun or ended before your answer came.",
            CancelResult.UNAUTHORIZED: "You may not cancel it.",
        }[result],
        do="Look at it again.",
    )
