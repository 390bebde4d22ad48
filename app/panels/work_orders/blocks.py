"""The blocks a story is made of: stages with their attempts, verdicts, decisions, holds.

What was observed stands plain; what was judged has a tinted ground and says by whom; what a person decided has
a bar at its left and their name first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.panels.inbox.inline_button import InlineButton
from app.panels.inbox.sheet import short_digest
from app.panels.prose import prose
from app.panels.rows import TickingLabel
from app.panels.words import actor_words, plain_tip
from app.panels.work_orders.attempt_words import (
    IN_FLIGHT,
    attempt_look,
    attempt_sentence,
    attempt_use,
    decision_look,
    handoff_words,
    task_words,
    validation_words,
    verdict_words,
)
from app.theme import Look, Shape, Text, Tone, draw_shape, look_of, tokens
from app.widgets import (
    AgeLabel,
    Badge,
    ElidedLabel,
    Role,
    Times,
    button,
    column,
    label,
    row,
    spoken,
)
from engine.control.holds import BY_PERSON
from engine.durations import size_text
from engine.states import ApprovalState, AttemptState, HoldKind, TaskState
from engine.views.values import (
    AttemptRow,
    DecisionRow,
    GivenBy,
    HandoffRow,
    HoldRow,
    ProofRef,
    TaskRow,
    ValidationRow,
)

_TOP = Qt.AlignmentFlag.AlignTop
_SAYS_MORE = frozenset({TaskState.WAITING, TaskState.READY, TaskState.CLAIMED, TaskState.CANCELLED})
"""States of a task that say more than its last attempt does."""


@dataclass(frozen=True, slots=True)
class Doings:
    """What the buttons of a story do: each gets the identity it is about."""

    open_evidence: Callable[[str], None]
    open_inbox: Callable[[str], None]
    stop: Callable[[AttemptRow], None]
    resume: Callable[[HoldRow], None]
    open_unknown: Callable[[str], None]
    show_proof: Callable[[ProofRef], None]
    acknowledge_restore: Callable[[], None]
    restore_trust: Callable[[], None]


@dataclass(frozen=True, slots=True)
class StageStory:
    """Everything one stage shows. ``mends`` says what a correction is about, "" for other stages."""

    task: TaskRow
    validations: tuple[ValidationRow, ...]
    decisions: tuple[DecisionRow, ...]
    mends: str


class SideBar(QFrame):
    """A frame with a bar in a tone at its left: somebody decided or holds something."""

    def __init__(self, tone: Tone, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tone = tone

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint ground and bar."""
        ink, ground = tokens().tone(self._tone)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ground)
        painter.drawRoundedRect(QRectF(self.rect()), 4, 4)
        painter.setBrush(ink)
        painter.drawRoundedRect(QRectF(0, 0, 4, self.height()), 2, 2)


class Mark(QWidget):
    """The shape of a state beside a sentence."""

    def __init__(self, shape: Shape, tone: Tone, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shape, self._tone = shape, tone
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """A little square as high as a line."""
        return QSize(12, self.fontMetrics().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the shape."""
        draw_shape(QPainter(self), QRectF(self.rect()), self._shape, tokens().tone(self._tone)[0])


class StageBlock(QFrame):
    """One stage: its task, why it is not running, its attempts, and how they were judged."""

    def __init__(
        self, story: StageStory, times: Times, doings: Doings, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.story = story
        self._times = times
        self._doings = doings
        task = story.task
        self.setProperty("surface", "raised")
        self.setAccessibleName(f"Stage {task_words(task)}")
        lines = column(self, margins=(14, 10, 14, 12), gap=6)
        self._head(lines)
        if story.mends:
            lines.addWidget(label(story.mends, Text.SMALL, muted=True, wrap=True, parent=self))
        command = ElidedLabel(" ".join(spoken(item) for item in task.argv), Text.CODE_SMALL, muted=True)
        lines.addWidget(command)
        if task.why and task.state in (TaskState.WAITING, TaskState.READY, TaskState.CLAIMED):
            self._why(lines)
        if task.grant is not None:
            self._granted(lines, task.grant)
        for attempt in task.attempts:
            lines.addWidget(self._attempt(attempt))

    def _head(self, lines: QVBoxLayout) -> None:
        task = self.story.task
        head = row(gap=8)
        head.addWidget(label(task_words(task), Text.STRONG, parent=self))
        if not task.attempts or task.state in _SAYS_MORE:
            head.addWidget(Badge.of(task.state, self))
        head.addStretch(1)
        head.addWidget(AgeLabel(self._times, task.changed_at, role=Text.SMALL, parent=self))
        lines.addLayout(head)

    def _why(self, lines: QVBoxLayout) -> None:
        task = self.story.task
        line = row(gap=8)
        line.addWidget(Mark(Shape.RING, Tone.WARN, self), 0, _TOP)
        line.addWidget(prose(self._times.sentence(task.why), tone=Tone.WARN, parent=self), 1, _TOP)
        if task.approval_id is not None and task.approval_state is ApprovalState.PENDING:
            go = InlineButton(
                "Open in Inbox",
                "Look at the sealed card and decide",
                partial(self._doings.open_inbox, task.approval_id),
                name=f"Open the request of stage {task_words(task)} in the inbox",
                parent=self,
            )
            line.addWidget(go, 0, _TOP)
        lines.addLayout(line)

    def _granted(self, lines: QVBoxLayout, grant: GivenBy) -> None:
        """Say by which use of which standing grant the stage was approved (E-42a)."""
        line = row(gap=8)
        said = f"Approved by the standing grant of {spoken(grant.given_by)} · use {grant.ordinal} of {grant.max_uses}"
        line.addWidget(label(said, Text.SMALL, muted=True, wrap=True, parent=self), 1, _TOP)
        go = InlineButton(
            "Show grant",
            "Look at what the grant covers, at its uses, and revoke it",
            partial(self._doings.open_inbox, f"grant:{grant.grant_id}"),
            name=f"Show the grant that approved stage {task_words(self.story.task)}",
            parent=self,
        )
        line.addWidget(go, 0, _TOP)
        lines.addLayout(line)

    def _attempt(self, attempt: AttemptRow) -> QWidget:
        box = QWidget(self)
        lines = column(box, margins=(0, 6, 0, 0), gap=4)
        first = row(gap=8)
        first.addWidget(_badge(attempt_look(attempt), box), 0, _TOP)
        first.addWidget(prose(attempt_sentence(attempt), parent=box), 1, _TOP)
        self._links(attempt, first, box)
        lines.addLayout(first)
        tip = partial(self._attempt_tip, attempt)
        second = row(gap=8)
        use = TickingLabel(
            self._times, partial(attempt_use, attempt, self._times), tip, role=Text.SMALL, parent=box
        )
        second.addWidget(use, 1)
        if attempt.state in IN_FLIGHT and attempt.stop_requested_at is None:
            second.addWidget(
                button(
                    "Stop…",
                    "Stop this run now; it becomes UNKNOWN",
                    partial(self._doings.stop, attempt),
                    role=Role.DANGER,
                    name=f"Stop stage {task_words(self.story.task)}",
                    parent=box,
                )
            )
        lines.addLayout(second)
        for validation in self.story.validations:
            if validation.attempt_id == attempt.id:
                lines.addWidget(VerdictBlock(validation, self._times, box))
        for decision in self.story.decisions:
            if decision.attempt_id == attempt.id:
                lines.addWidget(DecisionBlock(decision, self._times, self._doings.show_proof, box))
        return box

    def _links(self, attempt: AttemptRow, line: QHBoxLayout, box: QWidget) -> None:
        stage = task_words(self.story.task)
        if attempt.state is AttemptState.UNKNOWN:
            decide = InlineButton(
                "Decide…",
                "Look at what is known of this UNKNOWN and decide",
                partial(self._doings.open_unknown, attempt.id),
                name=f"Decide about the UNKNOWN of stage {stage}",
                parent=box,
            )
            line.addWidget(decide, 0, _TOP)
        evidence = InlineButton(
            "Open evidence",
            "See what was observed: output, files, changes",
            partial(self._doings.open_evidence, attempt.id),
            name=f"Open evidence of stage {stage}",
            parent=box,
        )
        line.addWidget(evidence, 0, _TOP)

    def _attempt_tip(self, attempt: AttemptRow) -> str:
        lines = [f"Authorised {self._times.exact(attempt.authorized_at)}"]
        if attempt.started_at is not None:
            lines.append(f"Started {self._times.exact(attempt.started_at)}")
        if attempt.ended_at is not None:
            lines.append(f"Ended {self._times.exact(attempt.ended_at)}")
        lines.append(f"Seal {attempt.seal}")
        return plain_tip(*lines)


class VerdictBlock(QFrame):
    """A validation: a judgement of the goal by criteria fixed beforehand, apart from how a process ended."""

    def __init__(self, validation: ValidationRow, times: Times, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("surface", "code")
        self.setAccessibleName(f"Validation: {validation.outcome}")
        lines = column(self, margins=(10, 7, 10, 8), gap=3)
        head = row(gap=8)
        head.addWidget(label("Validation", Text.SMALL_STRONG, parent=self))
        head.addWidget(Badge.of(validation.outcome, self))
        head.addWidget(label(verdict_words(validation.outcome), wrap=True, parent=self), 1)
        head.addWidget(AgeLabel(times, validation.recorded_at, role=Text.SMALL, parent=self))
        lines.addLayout(head)
        said = [validation_words(validation), f"criteria: {validation.criteria}"]
        lines.addWidget(prose(" · ".join(said), Text.SMALL, muted=True, parent=self))
        if validation.reason:
            lines.addWidget(prose(validation.reason, name="Reason", parent=self))


class DecisionBlock(SideBar):
    """What a person decided, with their name and reason."""

    def __init__(
        self,
        decision: DecisionRow,
        times: Times,
        show_proof: Callable[[ProofRef], None],
        parent: QWidget | None = None,
    ) -> None:
        look = decision_look(decision)
        super().__init__(look.tone, parent)
        who = actor_words(decision.actor)
        self.setAccessibleName(f"Decision by {who}: {look.word}. {decision.reason}")
        lines = column(self, margins=(14, 7, 10, 8), gap=3)
        head = row(gap=6)
        head.addWidget(Mark(look.shape, look.tone, self), 0, _TOP)
        head.addWidget(label(f"{who} {_lower(look.word)}", Text.STRONG, wrap=True, parent=self), 1)
        head.addWidget(AgeLabel(times, decision.decided_at, role=Text.SMALL, parent=self), 0, _TOP)
        lines.addLayout(head)
        if decision.reason:
            lines.addWidget(prose(f"“{decision.reason}”", name="Reason", parent=self))
        for proof in decision.proof:
            line = row(gap=8)
            words = f"Proof: {spoken(proof.name)} · {size_text(proof.size)} · {short_digest(proof.sha256)}"
            shown = label(words, Text.SMALL, muted=True, selectable=True, parent=self)
            shown.setToolTip(plain_tip(f"Kept as sha256 {proof.sha256}"))
            line.addWidget(shown)
            tip = f"Show what was kept as {spoken(proof.name)}"
            line.addWidget(InlineButton("Show", tip, partial(show_proof, proof), name=tip, parent=self))
            line.addStretch(1)
            lines.addLayout(line)


class HandoffBlock(QWidget):
    """What one stage left to the next, in its own words, with the digest of the evidence it stands on."""

    def __init__(self, handoff: HandoffRow, times: Times, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        words = handoff_words(handoff)
        self.setAccessibleName(f"Handoff: {words}")
        lines = column(self, margins=(14, 2, 10, 2), gap=3)
        head = row(gap=8)
        head.addWidget(label("↓", Text.SMALL, muted=True, parent=self))
        evidence = f" · evidence {short_digest(handoff.evidence_sha256)}" if handoff.evidence_sha256 else ""
        said = label(f"{words}{evidence}", Text.SMALL, muted=True, wrap=True, parent=self)
        if handoff.evidence_sha256:
            said.setToolTip(plain_tip(f"sha256 {handoff.evidence_sha256}"))
        head.addWidget(said, 1)
        head.addWidget(AgeLabel(times, handoff.written_at, role=Text.SMALL, parent=self))
        lines.addLayout(head)
        if handoff.summary:
            lines.addWidget(prose(f"“{handoff.summary}”", Text.SMALL, name="Summary", parent=self))
        for question in handoff.questions:
            lines.addWidget(prose(f"Open question: {question}", Text.SMALL, tone=Tone.WARN, parent=self))


class HoldBlock(SideBar):
    """A hold that keeps something of this work order from starting."""

    def __init__(self, hold: HoldRow, times: Times, doings: Doings, parent: QWidget | None = None) -> None:
        look = look_of(hold.kind)
        super().__init__(look.tone, parent)
        verb = "paused" if hold.kind is HoldKind.PAUSE else "on hold"
        words = f"{_name_of(hold)} is {verb}"
        # A person's words stay as they are; the engine's have its times.
        reason = hold.reason if hold.kind in BY_PERSON else times.sentence(hold.reason)
        self.setAccessibleName(f"{words}: {reason}" if reason else words)
        lines = column(self, margins=(14, 7, 8, 8), gap=3)
        head = row(gap=6)
        head.addWidget(Mark(look.shape, look.tone, self), 0, _TOP)
        head.addWidget(label(words, Text.STRONG, wrap=True, parent=self), 1)
        head.addWidget(AgeLabel(times, hold.placed_at, f"by {actor_words(hold.actor)} ", role=Text.SMALL))
        head.addWidget(self._way_on(hold, doings))
        lines.addLayout(head)
        if reason:
            lines.addWidget(prose(f"“{reason}”", name="Reason", parent=self))

    def _way_on(self, hold: HoldRow, doings: Doings) -> InlineButton:
        if hold.kind is HoldKind.RESTORE:
            tip = "Say what you found after the restore, and let work begin again"
            return InlineButton("I have looked…", tip, doings.acknowledge_restore, parent=self)
        if hold.kind is HoldKind.CLOCK:
            tip = "Confirm in three steps that the time can be judged by again"
            return InlineButton("Restore trust…", tip, doings.restore_trust, parent=self)
        return InlineButton(
            "Resume" if hold.kind is HoldKind.PAUSE else "Resume…",
            "Let work start again below this",
            partial(doings.resume, hold),
            name=f"Resume {_name_of(hold)}",
            parent=self,
        )


def _name_of(hold: HoldRow) -> str:
    return "The whole engine" if hold.node_kind == "ENGINE" else hold.node_name


def _badge(look: Look, parent: QWidget) -> Badge:
    made = Badge(parent=parent)
    made.show_look(look)
    return made


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
