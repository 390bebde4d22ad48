"""Everything about one schedule: its rule, when it fires next, what becomes of missed occurrences."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollArea, QWidget

from app.panels.inbox.sections import Facts, Notice
from app.panels.inbox.sheet import Fact
from app.panels.prose import prose
from app.panels.rows import TickingLabel
from app.panels.wakes.preview import PreviewTable
from app.panels.wakes.wake_card import handed_facts, history_facts
from app.panels.wakes.words import (
    CATCH_UP_MEANS,
    CATCH_UP_WORDS,
    INNER_WORKSPACES,
    SERIES_LOOKS,
    kind_words,
    next_words,
    series_title,
)
from app.panels.words import actor_words
from app.theme import Text, Tone
from app.widgets import Badge, Role, SectionLabel, Times, button, column, frame, label, row
from engine.control.alarm import OWN_KINDS
from engine.views.schedules import rule_words
from engine.wakes import Occurrence, Series, SeriesState, Step
from engine.wakes.values import SERIES_LIVE


@dataclass(frozen=True, slots=True)
class SeriesView:
    """One series as it was read, with its coming occurrences and its history."""

    series: Series
    coming: tuple[Occurrence, ...]
    history: tuple[Step, ...]
    can_change: bool


@dataclass(frozen=True, slots=True)
class SeriesDoings:
    """What the buttons of the card do."""

    change: Callable[[Series], None]
    pause: Callable[[Series], None]
    resume: Callable[[Series], None]
    cancel: Callable[[Series], None]


class ScheduleCard(QWidget):
    """Shows one `SeriesView`."""

    def __init__(self, times: Times, doings: SeriesDoings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._times = times
        self._doings = doings
        self.view: SeriesView | None = None
        lines = column(self)
        lines.addWidget(self._build_head())
        self._scroll = QScrollArea(self)
        self._scroll.setWidgetResizable(True)
        self._scroll.setAccessibleName("What is known of this schedule")
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
        self._next = TickingLabel(self._times, lambda: "", parent=head)
        lines.addWidget(self._next)
        return head

    def _build_body(self) -> QWidget:
        body = QWidget(self._scroll.viewport())
        lines = column(body, margins=(18, 4, 18, 18), gap=16)
        self._error = Notice(Tone.BAD, body)
        lines.addWidget(self._error)
        self._facts = Facts("Schedule", body)
        lines.addWidget(self._facts)
        self._coming = QWidget(body)
        inner = column(self._coming, gap=6)
        self._coming_head = SectionLabel("Coming occurrences", self._coming)
        inner.addWidget(self._coming_head)
        self.preview = PreviewTable(self._times, self._coming)
        inner.addWidget(self.preview)
        self._marks = label("", Text.SMALL, muted=True, wrap=True, parent=self._coming)
        inner.addWidget(self._marks)
        lines.addWidget(self._coming)
        self._handed = Facts("What each occurrence is handed", body)
        lines.addWidget(self._handed)
        self._history = Facts("What happened to it, latest first", body)
        lines.addWidget(self._history)
        lines.addStretch(1)
        return body

    def _build_foot(self) -> QWidget:
        self._foot = frame("foot", self)
        line = row(self._foot, margins=(18, 10, 18, 10), gap=8)
        line.addStretch(1)
        self._change = button("Change…", "Give it another time, end or policy", self._change_pressed)
        self._pause = button("Pause…", "Let nothing of it fire until you resume it", self._pause_pressed)
        self._resume = button("Resume…", "Go on with it", self._resume_pressed, role=Role.PRIMARY)
        self._cancel = button("End it…", "End this schedule for good", self._cancel_pressed, role=Role.DANGER)
        for made in (self._resume, self._change, self._pause, self._cancel):
            line.addWidget(made)
        return self._foot

    # -------------------------------------------------------------------------------------------- showing

    def show_view(self, view: SeriesView) -> None:
        """Show another schedule, or the same as it is now."""
        before, self.view = self.view, view
        series, times = view.series, self._times
        self._title.set_text(series_title(series))
        self._badge.show_look(SERIES_LOOKS[series.state])
        self._next.say(lambda: next_words(series, times))
        broken = series.state is SeriesState.BROKEN
        self._error.say(
            f"It broke and books nothing more: {series.error}. Mend the cause, then try it again."
            if broken
            else "",
            Tone.BAD,
        )
        self._facts.set_facts(series_facts(series, times))
        self._coming.setVisible(bool(view.coming))
        if before is None or before.coming != view.coming:
            self.preview.show_occurrences(view.coming)
        marked = sum(1 for one in view.coming if one.mark is not None)
        self._marks.setText(
            "Marked lines lie on days whose clocks change; the tooltip says what that does." if marked else ""
        )
        self._marks.setVisible(bool(marked))
        intent = json.loads(series.intent)
        self._handed.set_facts(handed_facts(intent, None))
        self._history.set_facts(history_facts(view.history, times))
        live = series.state in SERIES_LIVE and series.kind not in OWN_KINDS
        self._change.setVisible(live and view.can_change)
        self._pause.setVisible(series.state is SeriesState.ACTIVE)
        self._resume.setVisible(series.state in (SeriesState.PAUSED, SeriesState.BROKEN))
        self._resume.setText("Try again…" if broken else "Resume…")
        self._resume.setAccessibleName("Try again" if broken else "Resume")
        self._cancel.setVisible(live)
        self._foot.setVisible(live)
        if before is None or before.series.id != series.id:
            self._scroll.verticalScrollBar().setValue(0)

    # ---------------------------------------------------------------------------------------------- doing

    def _change_pressed(self) -> None:
        self._call(self._doings.change)

    def _pause_pressed(self) -> None:
        self._call(self._doings.pause)

    def _resume_pressed(self) -> None:
        self._call(self._doings.resume)

    def _cancel_pressed(self) -> None:
        self._call(self._doings.cancel)

    def _call(self, doing: Callable[[Series], None]) -> None:
        if self.view is not None:
            doing(self.view.series)


def series_facts(series: Series, times: Times) -> tuple[Fact, ...]:
    """What is known of a schedule, as facts."""
    end = []
    if series.until is not None:
        end.append(f"after {times.stamp(series.until)}")
    if series.count is not None:
        end.append(f"after {series.count} occurrences")
    found = [
        Fact("Recurs", rule_words(series.rule), code=True),
        Fact("If missed", f"{CATCH_UP_WORDS[series.catch_up]}. {CATCH_UP_MEANS[series.catch_up]}"),
        Fact("Ends", " or ".join(end) or ("never" if series.kind in OWN_KINDS else "when you end it")),
        Fact("So far", f"{series.booked} booked, {series.skipped} skipped"),
        Fact(
            "Kind",
            f"{kind_words(series.kind)} ({series.kind})"
            if kind_words(series.kind) != series.kind
            else series.kind,
        ),
    ]
    if series.workspace not in INNER_WORKSPACES:
        found.append(Fact("Workspace", series.workspace))
    if series.lane is not None:
        found.append(Fact("Lane", f"{series.lane}: one at a time"))
    if series.session is not None:
        found.append(Fact("Session", series.session))
    found.append(
        Fact(
            "Made",
            f"{times.stamp(series.created_at, seconds=True)} by {actor_words(series.created_by)}",
            tip=times.exact(series.created_at),
        )
    )
    found.append(Fact("Id", series.id, code=True))
    return tuple(found)
