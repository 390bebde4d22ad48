"""Everything that is known of one UNKNOWN, and below it the three ways to decide it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QScrollArea, QWidget

from app.panels.evidence.kept_file import show_proof
from app.panels.evidence.observed import tree_facts
from app.panels.evidence.output import OutputView
from app.panels.inbox.inline_button import InlineButton
from app.panels.inbox.sections import Facts, Notice, TwoColumns
from app.panels.inbox.sheet import Fact, short_digest
from app.panels.prose import prose
from app.panels.rows import OwnedTasks
from app.panels.unknown.changed_files import ChangedFiles
from app.panels.unknown.words import (
    BUTTONS,
    exposure_rows,
    fact_rows,
    living_words,
    lost_sentence,
)
from app.panels.words import stage_name
from app.panels.work_orders.attempt_words import attempt_look
from app.panels.work_orders.blocks import DecisionBlock, SideBar
from app.session import Session
from app.theme import Text, Tone
from app.widgets import (
    AgeLabel,
    Badge,
    Role,
    SectionLabel,
    button,
    column,
    frame,
    label,
    row,
    spoken,
)
from engine.control.decisions import Finding
from engine.durations import size_text
from engine.execution.evidence import Evidence
from engine.execution.leftovers import Living
from engine.views.unknown import UnknownView

OUTPUT_HEIGHT = 210


class CaseView(QWidget):
    """Shows one `UnknownView`. ``decide`` is called with the exit that was pressed, ``look_again`` with nothing."""

    def __init__(
        self,
        session: Session,
        tasks: OwnedTasks,
        decide: Callable[[Finding], None],
        look_again: Callable[[], None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._times = session.times
        self._view: UnknownView | None = None
        self._decide = decide
        lines = column(self)
        lines.addWidget(self._build_head())
        self._scroll = QScrollArea(self)
        self._scroll.setWidgetResizable(True)
        self._scroll.setAccessibleName("What is known of it")
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setWidget(self._build_body(tasks, look_again))
        lines.addWidget(self._scroll, 1)
        lines.addWidget(self._build_foot())

    @property
    def view(self) -> UnknownView | None:
        """What is shown."""
        return self._view

    @property
    def files(self) -> ChangedFiles:
        """The changed files."""
        return self._files

    def exit_button(self, finding: Finding) -> QPushButton:
        """The button of one exit."""
        return self._exits[finding]

    def focus_body(self) -> None:
        """Go on to what is known."""
        self._scroll.setFocus()

    # -------------------------------------------------------------------------------------------- building

    def _build_head(self) -> QWidget:
        head = QWidget(self)
        lines = column(head, margins=(18, 14, 18, 10), gap=4)
        first = row(gap=8)
        self._title = prose("", Text.TITLE, parent=head)
        first.addWidget(self._title, 1)
        self._badge = Badge(parent=head)
        first.addWidget(self._badge, 0, Qt.AlignmentFlag.AlignTop)
        lines.addLayout(first)
        second = row(gap=10)
        self._stage = label("", muted=True, parent=head)
        second.addWidget(self._stage)
        for text, tip, pressed in (
            ("Open work order", "Show the story that this attempt belongs to", self._open_order),
            ("Open evidence", "Show everything that was observed of it", self._open_evidence),
        ):
            second.addWidget(InlineButton(text, tip, pressed, parent=head))
        second.addStretch(1)
        lines.addLayout(second)
        return head

    def _build_body(self, tasks: OwnedTasks, look_again: Callable[[], None]) -> QWidget:
        body = QWidget(self._scroll.viewport())
        lines = column(body, margins=(18, 4, 18, 18), gap=16)
        lines.addWidget(self._build_lost(body))
        lines.addWidget(self._build_certain(body))
        self._exposure = Facts("Held by it in each scope", body)
        lines.addWidget(TwoColumns(self._build_processes(body, look_again), self._exposure, body))
        engine = self._session.engine
        self._files = ChangedFiles(
            self._times, tasks.spawn, engine.evidence.workspace_since, engine.evidence.compare_file, body
        )
        lines.addWidget(self._files)
        output = QWidget(body)
        inner = column(output, gap=6)
        self._output_head = SectionLabel("Output, at its end", output)
        inner.addWidget(self._output_head)
        self._output = OutputView(tasks.spawn, output, settings=self._session.settings)
        around = self._output.layout()
        assert around is not None
        around.setContentsMargins(0, 0, 0, 0)
        self._output.setFixedHeight(OUTPUT_HEIGHT)
        inner.addWidget(self._output)
        lines.addWidget(output)
        self._artifacts = Facts("Artifacts that were kept", body)
        lines.addWidget(self._artifacts)
        self._notes_box = QWidget(body)
        self._notes = column(self._notes_box, gap=6)
        lines.addWidget(self._notes_box)
        lines.addStretch(1)
        return body

    def _build_lost(self, body: QWidget) -> QWidget:
        self._lost = SideBar(Tone.UNKNOWN, body)
        lines = column(self._lost, margins=(14, 9, 12, 10), gap=4)
        self._lost_words = prose("", Text.STRONG, parent=self._lost)
        lines.addWidget(self._lost_words)
        self._reason = prose("", name="Why it is UNKNOWN", parent=self._lost)
        lines.addWidget(self._reason)
        self._lost_age = AgeLabel(self._times, 0, "Became UNKNOWN ", role=Text.SMALL, parent=self._lost)
        lines.addWidget(self._lost_age)
        return self._lost

    def _build_certain(self, body: QWidget) -> QWidget:
        box = QWidget(body)
        lines = column(box, gap=6)
        lines.addWidget(SectionLabel("Last certain fact", box))
        line = row(gap=10)
        self._last = prose("", Text.STRONG, name="Last certain fact", parent=box)
        line.addWidget(self._last, 1)
        self._last_at = label("", muted=True, parent=box)
        line.addWidget(self._last_at, 0, Qt.AlignmentFlag.AlignTop)
        lines.addLayout(line)
        lines.addSpacing(6)
        self._before = Facts("Before that, newest first", box)
        lines.addWidget(self._before)
        return box

    def _build_processes(self, body: QWidget, look_again: Callable[[], None]) -> QWidget:
        box = QWidget(body)
        lines = column(box, gap=6)
        self._tree = Facts("Process tree at the loss", box)
        lines.addWidget(self._tree)
        lines.addSpacing(6)
        head = row(gap=10)
        head.addWidget(SectionLabel("What lives now", box))
        head.addStretch(1)
        self._looked = label("", Text.SMALL, muted=True, parent=box)
        head.addWidget(self._looked)
        self._look_again = InlineButton(
            "Look again",
            "Look which of its processes still live; if none does, the workspace is free again",
            look_again,
            parent=box,
        )
        head.addWidget(self._look_again)
        lines.addLayout(head)
        self._living = prose("", name="What lives now", parent=box)
        lines.addWidget(self._living)
        self._lane = Notice(Tone.BAD, box)
        lines.addWidget(self._lane)
        lines.addStretch(1)
        return box

    def _build_foot(self) -> QWidget:
        foot = frame("foot", self)
        lines = column(foot, margins=(18, 10, 18, 10), gap=6)
        self._closed = label("", Text.SMALL, muted=True, wrap=True, parent=foot)
        lines.addWidget(self._closed)
        line = row(gap=8)
        self._asks = label("What did you find?", Text.STRONG, parent=foot)
        line.addWidget(self._asks)
        line.addStretch(1)
        self._exits = {}
        for finding, (text, tip) in BUTTONS.items():
            made = button(text, tip, partial(self._decide, finding), role=Role.PLAIN, parent=foot)
            self._exits[finding] = made
            line.addWidget(made)
        lines.addLayout(line)
        self._foot = foot
        return foot

    # -------------------------------------------------------------------------------------------- showing

    def show_view(self, view: UnknownView, evidence: Evidence | None) -> None:
        """Show another one, or the same as it is now; ``evidence`` is its record, None if there is none."""
        before, self._view = self._view, view
        if before == view:
            return
        another = before is None or before.attempt.id != view.attempt.id
        attempt = view.attempt
        self._title.set_text(attempt.title)
        self._badge.show_look(attempt_look(attempt))
        self._stage.setText(stage_name(attempt.number, attempt.purpose))
        self._lost_words.set_text(lost_sentence(view))
        self._reason.set_text(attempt.reason)
        self._lost_age.setVisible(view.is_open and attempt.ended_at is not None)
        if attempt.ended_at is not None:
            self._lost_age.set_instant(attempt.ended_at)
        last = view.certain[-1]
        self._last.set_text(last.sentence)
        self._last_at.setText(self._times.stamp(last.at, seconds=True))
        self._last_at.setToolTip(self._times.exact(last.at))
        self._before.set_facts(fact_rows(view, self._times))
        self._tree.set_facts(_tree(view, evidence))
        self._exposure.set_facts(exposure_rows(view))
        self._show_lane(view)
        self._files.show_attempt(attempt.id, evidence)
        self._show_output(view)
        self._artifacts.set_facts(_artifacts(view))
        self._show_notes(view)
        self._show_exits(view)
        if another:
            self._living.set_text("Looking…")
            self._looked.setText("")
            self._scroll.verticalScrollBar().setValue(0)

    def show_living(self, found: Sequence[Living]) -> None:
        """Show what a look at the processes found just now."""
        if self._view is None:
            return
        words, tone = living_words(found, self._view)
        self._living.set_text(words, tone=None if tone is Tone.NEUTRAL else tone)
        now = self._times.now()
        self._looked.setText(f"looked {self._times.stamp(now, seconds=True)}")
        self._looked.setToolTip(self._times.exact(now))
        self._look_again.setVisible(bool(found) or self._view.lane_locked)

    def _show_lane(self, view: UnknownView) -> None:
        words = (
            "The workspace is locked: nothing else may run in it while processes of this attempt live."
            if view.lane_locked
            else ""
        )
        self._lane.say(words, Tone.BAD)

    def _show_output(self, view: UnknownView) -> None:
        # What has ended is not followed, though the record of its end may be missing.
        self._output.show_view(replace(view.evidence, evidence=view.evidence.evidence or {}))

    def _show_notes(self, view: UnknownView) -> None:
        while (item := self._notes.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self._notes_box.setVisible(bool(view.notes))
        if view.notes:
            self._notes.addWidget(SectionLabel("What people have said about it", self._notes_box))
        show = partial(show_proof, self, self._session)
        for note in view.notes:
            self._notes.addWidget(DecisionBlock(note, self._times, show, self._notes_box))

    def _show_exits(self, view: UnknownView) -> None:
        closed = []
        for one in view.exits:
            self._exits[one.finding].setVisible(not one.why_not)
            if one.why_not and view.is_open:
                closed.append(one.why_not)
        self._asks.setVisible(view.is_open)
        self._closed.setText("\n".join(closed))
        self._closed.setVisible(bool(closed))
        self._foot.setVisible(view.is_open)

    def _open_order(self) -> None:
        if self._view is not None:
            self._session.open_page("work_orders", self._view.attempt.work_order_id)

    def _open_evidence(self) -> None:
        if self._view is not None:
            self._session.open_page("evidence", self._view.attempt.id)


def _tree(view: UnknownView, evidence: Evidence | None) -> tuple[Fact, ...]:
    if evidence is not None:
        return tree_facts(evidence)
    pid = view.attempt.process_pid
    if pid is None:
        return (Fact("Process", "None is known to have been started."),)
    return (
        Fact("First process", str(pid), code=True),
        Fact("What it started", "Not recorded: its end was not seen."),
    )


def _artifacts(view: UnknownView) -> tuple[Fact, ...]:
    return tuple(
        Fact(
            "result record" if blob.role == "result" else spoken(blob.path),
            f"{size_text(blob.size)} · {short_digest(blob.sha256)}",
            tip=f"sha256 {blob.sha256}",
        )
        for blob in view.evidence.blobs
        if blob.role in ("artifact", "result")
    )
