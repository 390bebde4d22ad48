"""The summary of one attempt: what was observed beside what the command claims, and all digests."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QScrollArea, QWidget
from shiboken6 import isValid

from app.panels.evidence.digests import DigestTable, Verify, blob_look
from app.panels.evidence.log_view import Spawn
from app.panels.evidence.observed import (
    claim_facts,
    drift_facts,
    ended_facts,
    tree_facts,
    workspace_facts,
)
from app.panels.inbox.inline_button import InlineButton
from app.panels.inbox.sections import Facts, Notice, TwoColumns
from app.panels.inbox.sheet import Fact, short_digest
from app.panels.prose import prose
from app.panels.rows import TickingLabel
from app.panels.words import span_words, units
from app.panels.work_orders.attempt_words import (
    IN_FLIGHT,
    attempt_look,
    attempt_sentence,
    cost_words,
    handoff_words,
)
from app.theme import Text, Tone
from app.widgets import Badge, CommandText, SectionLabel, Times, column, label, row, spoken
from engine.canonical import canonical_digest
from engine.execution.evidence import Evidence
from engine.views.values import AttemptRow, EvidenceView, HandoffRow

_LOOK_MS = 1000


class SummaryView(QScrollArea):
    """Shows an `EvidenceView`; while the attempt runs, what is known so far."""

    def __init__(self, times: Times, spawn: Spawn, verify: Verify, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._times = times
        self._spawn = spawn
        self._view: EvidenceView | None = None
        self._last_output: int | None = None
        self.setWidgetResizable(True)
        self.setAccessibleName("Summary")
        body = QWidget(self.viewport())
        self._lines = column(body, margins=(18, 14, 18, 18), gap=12)
        self._build_outcome(body)
        self._drift = Facts("What would have run was not what had been approved", body)
        self._lines.addWidget(self._drift)
        self._build_sides(body)
        self._build_command(body)
        self._build_digests(spawn, verify, body)
        self._lines.addStretch(1)
        self.setWidget(body)
        self._timer = QTimer(self, interval=_LOOK_MS)
        self._timer.timeout.connect(self._look_at_output)

    def show_view(self, view: EvidenceView, evidence: Evidence | None) -> None:
        """Show this attempt; ``evidence`` is its record, None while it runs or if it is of an unknown form."""
        another = self._view is None or self._view.attempt.id != view.attempt.id
        self._view = view
        if another:
            self._last_output = None
            self._record_badge.show_word("")
            self.verticalScrollBar().setValue(0)
        self._show_outcome(view)
        self._drift.set_facts(drift_facts(evidence) if evidence is not None else ())
        self._show_sides(view, evidence)
        argv = evidence.argv if evidence is not None else view.attempt.argv
        if self._command.argv() != tuple(argv):
            self._command.set_elements(list(argv))
        self._show_digests(view)
        self._run_timer()

    @property
    def digests(self) -> DigestTable:
        """The kept files."""
        return self._digests

    # -------------------------------------------------------------------------------------------- building

    def _build_outcome(self, body: QWidget) -> None:
        line = row(gap=10)
        self._outcome = Badge(parent=body)
        line.addWidget(self._outcome)
        self._sentence = prose("", name="What happened", parent=body)
        line.addWidget(self._sentence, 1)
        self._lines.addLayout(line)
        self._live = TickingLabel(self._times, str, parent=body)
        self._lines.addWidget(self._live)
        self._survivors = Notice(Tone.BAD, body)
        self._lines.addWidget(self._survivors)

    def _build_sides(self, body: QWidget) -> None:
        self._observed = Facts("Observed", body)
        self._tree = Facts("Process tree", body)
        self._workspace = Facts("Workspace", body)
        self._claimed = Facts("Claimed by the command", body)
        self._settled = Facts("Limits and cost", body)
        self._program = Facts("Program and inputs", body)
        self._handoffs = Facts("Handoffs", body)
        first, second = QWidget(body), QWidget(body)
        for side, parts in (
            (first, (self._observed, self._tree, self._handoffs)),
            (second, (self._claimed, self._workspace, self._settled, self._program)),
        ):
            lines = column(side, gap=12)
            for part in parts:
                lines.addWidget(part)
            lines.addStretch(1)
        self._lines.addWidget(TwoColumns(first, second, body))

    def _build_command(self, body: QWidget) -> None:
        self._lines.addWidget(SectionLabel("Command", body))
        self._command = CommandText((), "Command", body)
        self._lines.addWidget(self._command)

    def _build_digests(self, spawn: Spawn, verify: Verify, body: QWidget) -> None:
        self._digests = DigestTable(spawn, verify, body)
        self._lines.addWidget(self._digests)
        line = row(gap=10)
        self._record = label("", Text.SMALL, muted=True, selectable=True, parent=body)
        line.addWidget(self._record)
        self._record_again = InlineButton(
            "Verify record",
            "Compute the digest of the evidence record again and compare it",
            self._verify_record,
            parent=body,
        )
        line.addWidget(self._record_again)
        self._record_badge = Badge(parent=body)
        line.addWidget(self._record_badge)
        line.addStretch(1)
        self._lines.addLayout(line)

    # -------------------------------------------------------------------------------------------- showing

    def _show_outcome(self, view: EvidenceView) -> None:
        attempt = view.attempt
        self._outcome.show_look(attempt_look(attempt))
        self._sentence.set_text(attempt_sentence(attempt))
        live = attempt.state in IN_FLIGHT
        self._live.setVisible(live)
        self._live.say(partial(self._live_words, attempt) if live else str)

    def _live_words(self, attempt: AttemptRow) -> str:
        parts = []
        if attempt.started_at is not None:
            running = span_words(self._times.now() - attempt.started_at)
            parts.append(f"Running for {running}, limit {span_words(attempt.max_active_ms)}")
        if self._last_output is not None:
            parts.append(f"last output {self._times.age(self._last_output)}")
        elif attempt.started_at is not None:
            parts.append("no output yet")
        parts.append("the evidence is recorded when it ends")
        return " · ".join(parts)

    def _show_sides(self, view: EvidenceView, evidence: Evidence | None) -> None:
        if evidence is None:
            for part in (self._observed, self._tree, self._workspace, self._claimed, self._program):
                part.set_facts(())
            if view.evidence is not None:
                unknown = Fact("Record", "Its form is not known to this version.", tone=Tone.WARN)
                self._observed.set_facts((unknown,))
            else:
                self._observed.set_facts(_known_so_far(view.attempt, self._times))
            self._survivors.say("", Tone.BAD)
        else:
            self._observed.set_facts(ended_facts(evidence, self._times))
            self._tree.set_facts(tree_facts(evidence))
            self._workspace.set_facts(workspace_facts(evidence))
            self._claimed.set_facts(claim_facts(evidence))
            self._program.set_facts(_program_facts(evidence))
            alive = evidence.report.tree.survived
            names = ", ".join(f"{one.name} ({one.identity.pid})" for one in alive)
            self._survivors.say(f"Still alive when it was recorded: {names}" if alive else "", Tone.BAD)
        self._settled.set_facts(_settled_facts(view.attempt))
        self._handoffs.set_facts(tuple(_handoff_fact(one, self._times) for one in view.handoffs))

    def _show_digests(self, view: EvidenceView) -> None:
        self._digests.show_blobs(view.blobs)
        known = view.evidence_sha256 is not None
        if view.evidence_sha256 is not None and view.recorded_at is not None:
            when = self._times.stamp(view.recorded_at, seconds=True)
            self._record.setText(f"Evidence record {short_digest(view.evidence_sha256)}, recorded {when}")
            self._record.setToolTip(f"sha256 {view.evidence_sha256}")
        for part in (self._record, self._record_again, self._record_badge):
            part.setVisible(known)

    def _verify_record(self) -> None:
        view = self._view
        if view is not None and view.evidence is not None:
            same = canonical_digest(dict(view.evidence)) == view.evidence_sha256
            self._record_badge.show_look(blob_look("true" if same else "altered"))

    # ----------------------------------------------------------------------------------- while it runs

    def _look_at_output(self) -> None:
        view = self._view
        if view is not None and view.attempt.state in IN_FLIGHT:
            files = [file for file in (view.stdout_file, view.stderr_file) if file]
            self._spawn(self._read_output_age(view.attempt.id, files), "look at the age of the output")

    async def _read_output_age(self, attempt_id: str, files: list[str]) -> None:
        newest = await asyncio.to_thread(newest_write, files)
        if isValid(self) and self._view is not None and self._view.attempt.id == attempt_id:
            self._last_output = newest
            self._live.refresh()

    def _run_timer(self) -> None:
        view = self._view
        if self.isVisible() and view is not None and view.attempt.state in IN_FLIGHT:
            if not self._timer.isActive():
                self._timer.start()
                self._look_at_output()
        else:
            self._timer.stop()

    def showEvent(self, event: QShowEvent) -> None:
        """Look at the output's age while one looks at the summary."""
        super().showEvent(event)
        self._run_timer()

    def hideEvent(self, event: QHideEvent) -> None:
        """Do nothing while nobody looks."""
        super().hideEvent(event)
        self._timer.stop()


def newest_write(files: list[str]) -> int | None:
    """When the newest of these files was written last, in epoch ms; None if all are empty or missing."""
    found = []
    for file in files:
        try:
            facts = Path(file).stat()
        except OSError:
            continue
        if facts.st_size:
            found.append(facts.st_mtime_ns // 1_000_000)
    return max(found, default=None)


def _known_so_far(attempt: AttemptRow, times: Times) -> tuple[Fact, ...]:
    """What is known of an attempt that has no evidence yet."""
    steps = (
        ("Authorised", attempt.authorized_at),
        ("Started", attempt.started_at),
        ("Stop asked for", attempt.stop_requested_at),
        # Nobody saw the end of what started and left no evidence.
        ("Ended" if attempt.started_at is None else "Found gone", attempt.ended_at),
    )
    facts = [
        Fact(name, times.stamp(at, seconds=True), tip=times.exact(at)) for name, at in steps if at is not None
    ]
    if attempt.process_pid is not None:
        facts.append(Fact("Process", str(attempt.process_pid), code=True))
    return tuple(facts)


def _settled_facts(attempt: AttemptRow) -> tuple[Fact, ...]:
    allowed = f"at most {units(attempt.max_cost)} and {span_words(attempt.max_active_ms)} active"
    facts = [Fact("Allowed", allowed)]
    if attempt.state not in IN_FLIGHT:
        tone = Tone.BAD if attempt.overrun else None
        facts.append(Fact("Cost", cost_words(attempt).removeprefix("cost "), tone=tone))
    facts.append(Fact("Seal", short_digest(attempt.seal), code=True, tip=f"sha256 {attempt.seal}"))
    return tuple(facts)


def _handoff_fact(handoff: HandoffRow, times: Times) -> Fact:
    evidence = f"\nevidence sha256 {handoff.evidence_sha256}" if handoff.evidence_sha256 else ""
    at = handoff.accepted_at if handoff.accepted_at is not None else handoff.written_at
    return Fact(
        times.stamp(at, seconds=True), f"{handoff_words(handoff)}.", tip=f"{times.exact(at)}{evidence}"
    )


def _program_facts(evidence: Evidence) -> tuple[Fact, ...]:
    program = evidence.program
    facts = [
        Fact("Program", program.path, code=True, tip=f"sha256 {program.sha256}"),
        Fact("Digest", short_digest(program.sha256), code=True, tip=f"sha256 {program.sha256}"),
        Fact("Folder", evidence.cwd, code=True),
    ]
    facts += [
        Fact("Input", f"{one.path} · {short_digest(one.sha256)}", code=True, tip=f"sha256 {one.sha256}")
        for one in evidence.inputs
    ]
    if evidence.environment:
        facts.append(
            Fact(
                "Environment",
                ", ".join(map(spoken, evidence.environment)),
                tip="Names only; values are in the plan",
            )
        )
    return tuple(facts)
