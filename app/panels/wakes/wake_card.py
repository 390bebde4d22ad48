"""Everything about one wake: where it stands, why it waits, what it was handed, what happened to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollArea, QWidget

from app.panels.inbox.inline_button import InlineButton
from app.panels.inbox.sections import Facts, Notice
from app.panels.inbox.sheet import Fact
from app.panels.prose import prose
from app.panels.rows import TickingLabel
from app.panels.wakes.words import (
    INNER_WORKSPACES,
    LATE_MS,
    event_words,
    kind_words,
    late_by,
    order_of_intent,
    wake_look,
    wake_title,
    when_words,
)
from app.panels.words import actor_words, plain_tip, span_words
from app.theme import Text, Tone
from app.widgets import (
    Badge,
    Role,
    SectionLabel,
    Times,
    button,
    column,
    frame,
    label,
    row,
)
from engine.control.alarm import OWN_KINDS
from engine.dispatch.expiry_notices import EXPIRING
from engine.scheduling.wakeups import TASK_WAKE_UP
from engine.wakes import Step, Trigger, Waiting, Wake, WakeState
from engine.wakes.values import Json

MOST_JSON = 4_000
"""Letters of an intent or a result that are shown."""


@dataclass(frozen=True, slots=True)
class WakeView:
    """One wake as it was read: itself, its history oldest first, why it waits."""

    wake: Wake
    history: tuple[Step, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WakeDoings:
    """What the buttons of the card do."""

    cancel: Callable[[Wake], None]
    answer: Callable[[Wake], None]
    release: Callable[[Wake], None]
    drop: Callable[[Wake], None]
    open_series: Callable[[str], None]
    open_docket: Callable[[], None]
    open_order: Callable[[str], None]
    open_request: Callable[[str], None]


class WakeCard(QWidget):
    """Shows one `WakeView`."""

    def __init__(self, times: Times, doings: WakeDoings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._times = times
        self._doings = doings
        self.view: WakeView | None = None
        lines = column(self)
        lines.addWidget(self._build_head())
        self._scroll = QScrollArea(self)
        self._scroll.setWidgetResizable(True)
        self._scroll.setAccessibleName("What is known of this wake")
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setWidget(self._build_body())
        lines.addWidget(self._scroll, 1)
        lines.addWidget(self._build_foot())

    def focus_body(self) -> None:
        """Go on to what is known."""
        self._scroll.setFocus()

    def _build_head(self) -> QWidget:
        head = QWidget(self)
        lines = column(head, margins=(18, 14, 18, 10), gap=4)
        first = row(gap=8)
        self._title = prose("", Text.TITLE, parent=head)
        first.addWidget(self._title, 1)
        self._badge = Badge(parent=head)
        first.addWidget(self._badge, 0, Qt.AlignmentFlag.AlignTop)
        lines.addLayout(first)
        self._when = TickingLabel(self._times, lambda: "", parent=head)
        lines.addWidget(self._when)
        return head

    def _build_body(self) -> QWidget:
        body = QWidget(self._scroll.viewport())
        lines = column(body, margins=(18, 4, 18, 18), gap=16)
        self._why = QWidget(body)
        inner = column(self._why, gap=6)
        head = row(gap=10)
        head.addWidget(SectionLabel("Why it waits", self._why))
        self._docket = InlineButton(
            "Open docket",
            "Decide about what was missed",
            self._doings.open_docket,
            parent=self._why,
        )
        head.addWidget(self._docket)
        head.addStretch(1)
        inner.addLayout(head)
        self._reasons = prose("", name="Why it waits", parent=self._why)
        inner.addWidget(self._reasons)
        lines.addWidget(self._why)
        self._error = Notice(Tone.BAD, body)
        lines.addWidget(self._error)
        self._facts = Facts("Facts", body)
        lines.addWidget(self._facts)
        self._series = InlineButton(
            "Open schedule", "Show the schedule that this is an occurrence of", self._open_series, parent=body
        )
        self._order = InlineButton(
            "Open work order", "Show the work order that this is for", self._open_order, parent=body
        )
        links = row(gap=12)
        links.addWidget(self._series)
        links.addWidget(self._order)
        self._request = InlineButton(
            "Open request", "Show the request for approval in the inbox", self._open_request, parent=body
        )
        links.addWidget(self._request)
        links.addStretch(1)
        lines.addLayout(links)
        self._handed = Facts("What its sink is handed", body)
        lines.addWidget(self._handed)
        self._history = Facts("What happened to it, latest first", body)
        lines.addWidget(self._history)
        lines.addStretch(1)
        return body

    def _build_foot(self) -> QWidget:
        self._foot = frame("foot", self)
        line = row(self._foot, margins=(18, 10, 18, 10), gap=8)
        self._said = label("", Text.SMALL, muted=True, wrap=True, parent=self._foot)
        line.addWidget(self._said, 1)
        self._cancel = button(
            "Cancel it…", "End this wake; it never fires", self._cancel_pressed, role=Role.DANGER
        )
        self._release = button(
            "Release…", "Let it be tried again, with its attempts forgiven", self._release_pressed
        )
        self._drop = button("Drop…", "Give it up for good", self._drop_pressed, role=Role.DANGER)
        self._answer = button(
            "Answer…", "Say what the agent asks; it goes on with your words", self._answer_pressed
        )
        for made in (self._answer, self._release, self._drop, self._cancel):
            line.addWidget(made)
        return self._foot

    # -------------------------------------------------------------------------------------------- showing

    def show_view(self, view: WakeView) -> None:
        """Show another wake, or the same as it is now."""
        before, self.view = self.view, view
        wake, times = view.wake, self._times
        self._title.set_text(wake_title(wake))
        self._badge.show_look(wake_look(wake, times.now()))
        self._when.say(partial(when_words, wake, times, with_error=False))
        self._why.setVisible(bool(view.reasons))
        self._docket.setVisible(wake.waiting is Waiting.DOCKET)
        self._reasons.set_text("\n".join(view.reasons), tone=None)
        self._show_error(wake)
        self._facts.set_facts(wake_facts(wake, times))
        self._series.setVisible(wake.series is not None)
        self._order.setVisible(order_of(wake) != "")
        self._request.setVisible(wake.kind == EXPIRING)
        self._handed.set_facts(handed_facts(wake.intent, wake.result))
        self._history.set_facts(history_facts(view.history, times))
        own = wake.kind in OWN_KINDS
        self._cancel.setVisible(wake.state is WakeState.PENDING and wake.admitted_at is None and not own)
        self._answer.setVisible(
            wake.trigger is Trigger.ON_APPROVAL
            and wake.state is WakeState.PENDING
            and wake.admitted_at is None
        )
        self._release.setVisible(wake.state is WakeState.DEAD)
        self._drop.setVisible(wake.state is WakeState.DEAD and wake.kind != TASK_WAKE_UP)
        self._said.setText(_foot_words(wake))
        self._foot.setVisible(wake.state in (WakeState.PENDING, WakeState.FIRING, WakeState.DEAD))
        if before is None or before.wake.id != wake.id:
            self._scroll.verticalScrollBar().setValue(0)

    def _show_error(self, wake: Wake) -> None:
        if wake.last_error is None:
            self._error.say("", Tone.BAD)
        elif wake.state is WakeState.DEAD:
            self._error.say(f"It failed {_times(wake.attempts)} and is dead: {wake.last_error}", Tone.BAD)
        else:
            self._error.say(f"Its last error: {wake.last_error}", Tone.WARN)

    # ---------------------------------------------------------------------------------------------- doing

    def _answer_pressed(self) -> None:
        if self.view is not None:
            self._doings.answer(self.view.wake)

    def _cancel_pressed(self) -> None:
        if self.view is not None:
            self._doings.cancel(self.view.wake)

    def _release_pressed(self) -> None:
        if self.view is not None:
            self._doings.release(self.view.wake)

    def _drop_pressed(self) -> None:
        if self.view is not None:
            self._doings.drop(self.view.wake)

    def _open_series(self) -> None:
        if self.view is not None and self.view.wake.series is not None:
            self._doings.open_series(self.view.wake.series)

    def _open_request(self) -> None:
        if self.view is not None:
            self._doings.open_request(self.view.wake.id)

    def _open_order(self) -> None:
        if self.view is not None:
            self._doings.open_order(order_of(self.view.wake))


def order_of(wake: Wake) -> str:
    """The id of the work order that the engine booked a wake for, "" for any other wake."""
    found = wake.intent.get("work_order") if isinstance(wake.intent, Mapping) else None
    return found if wake.kind in OWN_KINDS and isinstance(found, str) else ""


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _foot_words(wake: Wake) -> str:
    if wake.state is WakeState.DEAD:
        return "A dead wake stays until you release or drop it."
    if wake.state is WakeState.FIRING:
        return "Its sink runs now; what has begun is not cancelled."
    if wake.kind in OWN_KINDS and wake.series is not None:
        return "The program does this by itself, again and again."
    if wake.kind in OWN_KINDS:
        return "The engine booked it for something else; it ends with that."
    if wake.admitted_at is not None:
        return "It was accepted or begun already and is delivered; it can no longer be cancelled."
    if wake.series is not None:
        return "Cancelling ends this occurrence only; the schedule goes on."
    return ""


def wake_facts(wake: Wake, times: Times) -> tuple[Fact, ...]:
    """What is known of a wake, as facts."""

    def moment(name: str, instant: int | None) -> list[Fact]:
        return [] if instant is None else [Fact(name, times.exact(instant))]

    found = [*moment("Due", wake.due_at)]
    late = late_by(wake, times.now())
    if late >= LATE_MS:
        found.append(Fact("How late", span_words(late), tone=Tone.WARN))
    if wake.missed:
        found.append(Fact("Stands for", f"itself and {wake.missed} more that were missed"))
    found += [
        *moment("Deadline", wake.expires_at),
        Fact(
            "Kind",
            f"{kind_words(wake.kind)} ({wake.kind})" if kind_words(wake.kind) != wake.kind else wake.kind,
        ),
        Fact("Fires at", {"at": "a time", "on_event": "an event", "on_approval": "an answer"}[wake.trigger]),
    ]
    if wake.workspace not in INNER_WORKSPACES:
        found.append(Fact("Workspace", wake.workspace))
    if wake.event_key is not None:
        found.append(Fact("Event", wake.event_key, code=True))
    if wake.session is not None:
        found.append(Fact("Session", wake.session))
    if wake.lane is not None:
        found.append(Fact("Lane", f"{wake.lane}: one at a time"))
    if wake.recurrence is not None:
        found.append(Fact("Recurs", wake.recurrence))
    if wake.attempts:
        found.append(Fact("Attempts", str(wake.attempts)))
    if wake.state is WakeState.FIRING and wake.lease_until is not None:
        found.append(
            Fact("Driven by", f"{wake.holder}, lease until {times.stamp(wake.lease_until, seconds=True)}")
        )
    if wake.answered_by is not None:
        found.append(Fact("Answered by", actor_words(wake.answered_by)))
    found.append(
        Fact(
            "Booked",
            f"{times.stamp(wake.created_at, seconds=True)} by {actor_words(wake.created_by)}",
            tip=times.exact(wake.created_at),
        )
    )
    if wake.depth:
        found.append(Fact("Depth", f"{wake.depth}: made by another wake's sink"))
    found += moment("Ended", wake.ended_at)
    found.append(Fact("Id", wake.id, code=True))
    return tuple(found)


def handed_facts(intent: Json, result: Json) -> tuple[Fact, ...]:
    """What its creator handed over, and what the event or the answer brought; a work order by what it does."""
    order = order_of_intent(intent)
    if order:
        command = order["implementation"]["argv"]
        return (
            Fact("Work order", str(order["title"])),
            Fact("Folder", str(order["workspace"]), code=True),
            Fact("Command", " ".join(command), code=True),
            Fact("Criteria", str(order["validation"]["criteria"])),
            Fact("Project", str(order["project"])),
        )
    return tuple(
        Fact(name, json_words(value), code=True)
        for name, value in (("Intent", intent), ("Result", result))
        if value is not None
    )


def json_words(value: Json) -> str:
    """A JSON value as text, cut where it is very long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MOST_JSON else f"{text[:MOST_JSON]}… ({len(text)} letters)"


def step_words(step: Step) -> str:
    """One step in words; the engine's own hand goes without saying."""
    by = "" if step.by == "engine" else f" by {step.by}"
    return f"{event_words(step.event)}{by}" + (f": {step.why}" if step.why else "")


def history_facts(history: Sequence[Step], times: Times) -> tuple[Fact, ...]:
    """The steps of a history, latest first: when, what, by whom, why."""
    return tuple(
        Fact(
            times.stamp(step.at, seconds=True),
            step_words(step),
            tip=plain_tip(times.exact(step.at)),
        )
        for step in reversed(history)
    )
