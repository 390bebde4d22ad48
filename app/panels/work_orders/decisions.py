"""What a person can decide about a work order, each with the dialog that asks for what it needs."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtWidgets import QButtonGroup, QLineEdit, QPlainTextEdit, QRadioButton, QWidget

from app.panels.words import order_name, units
from app.panels.work_orders.attempt_words import IN_FLIGHT
from app.session import Session
from app.theme import Text, state_word
from app.widgets import Question, SectionLabel, ask_reason, column, label, opened, set_role
from app.wizards.new_work_order import replan
from engine.control.holds import Node
from engine.ids import new_id
from engine.states import AttemptState, NodeKind, Purpose, TaskState, Verdict
from engine.views.values import AttemptRow, TaskRow, WorkOrderStory


async def decide(session: Session, word: str, story: WorkOrderStory, parent: QWidget) -> None:
    """Carry out one of `WorkOrderStory.can`, asking first for what it needs. Engine errors pass through."""
    name = f"{order_name(story.row.number)} · {story.row.title}"
    match word:
        case "accept":
            await _accept(session, story, name, parent)
        case "reject":
            await _reject(session, story, name, parent)
        case "allow_correction":
            await _allow_correction(session, story, name, parent)
        case "validate_again":
            await _validate_again(session, story, name, parent)
        case "validate":
            await _judge(session, story, name, parent)
        case "replan":
            await replan(parent, session, story)
        case "ask_again":
            await _ask_again(session, story)
        case "cancel":
            await _cancel(session, story, name, parent)


async def stop(session: Session, attempt: AttemptRow, parent: QWidget) -> None:
    """Stop a running attempt, with a reason."""
    reason = await ask_reason(
        parent,
        f"Stop {order_name(attempt.number)} · {state_word(attempt.purpose)} now?",
        "Its whole process tree is asked to end, then ended. Unless it never started, the attempt becomes "
        "UNKNOWN, since a stop does not prove what happened before it, and "
        f"{units(attempt.max_cost)} stay frozen until you decide.",
        action="Stop it",
        danger=True,
    )
    if reason is not None:
        await session.engine.stop_attempt(attempt.id, session.actor, reason)


async def _accept(session: Session, story: WorkOrderStory, name: str, parent: QWidget) -> None:
    judged = [item for item in story.validations if item.outcome is Verdict.PASSED]
    text = (
        "Its last result passed validation. Accepting ends the work order."
        if judged
        else "No validation of it has passed. Accepting ends the work order all the same."
    )
    reason = await ask_reason(
        parent,
        f"Accept {name}?",
        text,
        action="Accept",
        required=False,
        placeholder="A note, if you like. This is kept in the journal.",
    )
    if reason is not None:
        await session.engine.accept(story.row.id, session.actor, reason)


async def _reject(session: Session, story: WorkOrderStory, name: str, parent: QWidget) -> None:
    reason = await ask_reason(
        parent,
        f"Reject {name}?",
        "The work order ends. What was done in the workspace stays as it is; nothing is undone.",
        action="Reject",
        danger=True,
    )
    if reason is not None:
        await session.engine.reject_work(story.row.id, session.actor, reason)


async def _allow_correction(session: Session, story: WorkOrderStory, name: str, parent: QWidget) -> None:
    made = story.corrections_made
    reason = await ask_reason(
        parent,
        f"Allow one more correction of {name}?",
        f"{made} of {story.corrections_allowed} corrections were made. One more is prepared and waits in the inbox "
        "for its own approval; nothing runs before that.",
        action="Allow it",
    )
    if reason is not None:
        await session.engine.allow_correction(story.row.id, session.actor, reason)


async def _validate_again(session: Session, story: WorkOrderStory, name: str, parent: QWidget) -> None:
    reason = await ask_reason(
        parent,
        f"Validate {name} again?",
        "The validation command is prepared once more and waits in the inbox for its own approval.",
        action="Validate again",
    )
    if reason is not None:
        await session.engine.validate_again(story.row.id, session.actor, reason)


async def _ask_again(session: Session, story: WorkOrderStory) -> None:
    task = waiting_task(story)
    if task is not None:
        card = await session.engine.approvals.ask_again(task.id, session.actor)
        session.open_page("inbox", card.approval_id)


async def _cancel(session: Session, story: WorkOrderStory, name: str, parent: QWidget) -> None:
    key = new_id(session.engine.clock.now())
    running = [
        f"{state_word(attempt.purpose)}: {' '.join(attempt.argv)}"
        for task in story.tasks
        for attempt in task.attempts
        if attempt.state in IN_FLIGHT
    ]
    text = "Stages that have not been dispatched end, and their approvals are withdrawn. "
    text += (
        "What runs is stopped and becomes UNKNOWN; the work order is cancelled when you have decided about it."
        if running
        else "Nothing of it runs now."
    )
    reason = await ask_reason(
        parent, f"Cancel {name}?", text, action="Cancel it", danger=True, details=running
    )
    if reason is not None:
        node = Node(NodeKind.WORK_ORDER, story.row.id)
        await session.engine.cancel(node, session.actor, reason=reason, key=key)


async def _judge(session: Session, story: WorkOrderStory, name: str, parent: QWidget) -> None:
    attempt = result_to_judge(story)
    if attempt is None:
        return
    dialog = JudgeDialog(parent, f"Judge {name}", story.criteria, attempt)
    if not await opened(dialog):
        return
    judgement = dialog.judgement()
    await session.engine.validate_by_person(
        attempt.id,
        judgement.verdict,
        session.actor,
        reason=judgement.reason,
        actual_cost=judgement.cost,
    )


def waiting_task(story: WorkOrderStory) -> TaskRow | None:
    """The stage that waits for a fresh request for approval."""
    waiting = (TaskState.READY, TaskState.WAITING)
    return next((task for task in reversed(story.tasks) if task.state in waiting), None)


def result_to_judge(story: WorkOrderStory) -> AttemptRow | None:
    """The newest executed result that has no validation yet."""
    judged = {item.attempt_id for item in story.validations}
    results = [
        attempt
        for task in story.tasks
        if task.purpose in (Purpose.IMPLEMENT, Purpose.CORRECT)
        for attempt in task.attempts
        if attempt.state is AttemptState.EXECUTED and attempt.id not in judged
    ]
    return max(results, key=lambda attempt: attempt.authorized_at, default=None)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A person's verdict with its reason, and what the attempt cost if they know."""

    verdict: Verdict
    reason: str
    cost: int | None


class JudgeDialog(Question):
    """Asks for a verdict by the criteria that were fixed beforehand."""

    def __init__(self, parent: QWidget | None, title: str, criteria: str, attempt: AttemptRow) -> None:
        super().__init__(parent, title, "Judge the result by what was fixed beforehand:")
        box = column()
        criteria_label = label(criteria, Text.STRONG, wrap=True, selectable=True, parent=self)
        self.body.addWidget(criteria_label)
        self._verdicts = QButtonGroup(self)
        for number, (words, tip) in enumerate(
            (
                ("Passed: the criteria are met", "The work goes on to acceptance"),
                ("Failed: the criteria are not met", "A correction follows if the rule allows one"),
                ("I cannot tell", "The attempt becomes UNKNOWN; its cost stays frozen"),
            )
        ):
            made = QRadioButton(words, self)
            made.setAccessibleName(words)
            made.setToolTip(tip)
            self._verdicts.addButton(made, number)
            box.addWidget(made)
        box.setSpacing(6)
        self.body.addLayout(box)
        self.body.addWidget(SectionLabel("Reason", self))
        self._reason = QPlainTextEdit(self)
        self._reason.setAccessibleName("Reason")
        self._reason.setToolTip("What you looked at, kept with your name and the time")
        self._reason.setPlaceholderText("What did you look at? This is kept in the journal.")
        self._reason.setTabChangesFocus(True)
        self._reason.setFixedHeight(self._reason.fontMetrics().lineSpacing() * 4 + 16)
        self.body.addWidget(self._reason)
        self.body.addWidget(SectionLabel("Actual cost in units", self))
        self._cost = QLineEdit(self)
        self._cost.setAccessibleName("Actual cost in units")
        self._cost.setToolTip("What it really cost, in whole units; leave it empty if that is not known")
        self._cost.setPlaceholderText(f"Not known; at most {units(attempt.max_cost)}")
        self._cost.setText("" if attempt.actual_cost is None else str(attempt.actual_cost))
        self.body.addWidget(self._cost)
        self._said = label("", Text.SMALL, wrap=True, parent=self)
        set_role(self._said, "danger")
        self.body.addWidget(self._said)
        self.add_back()
        self._done = self.add_action("Record judgement", "Record this judgement with your name")
        self._verdicts.idToggled.connect(self._check)
        self._reason.textChanged.connect(self._check)
        self._cost.textChanged.connect(self._check)
        self._check()
        self._verdicts.button(0).setFocus()

    def judgement(self) -> Judgement:
        """What was entered; only valid after it was accepted."""
        verdict = (Verdict.PASSED, Verdict.FAILED, Verdict.UNKNOWN)[self._verdicts.checkedId()]
        text = self._cost.text().strip()
        return Judgement(verdict, self._reason.toPlainText().strip(), int(text) if text else None)

    def _check(self) -> None:
        text = self._cost.text().strip()
        number_is_right = not text or (text.isdecimal() and text.isascii() and len(text) <= 12)
        self._said.setText("" if number_is_right else "The cost is a whole number of units, or empty.")
        self._said.setVisible(not number_is_right)
        ready = self._verdicts.checkedId() >= 0 and bool(self._reason.toPlainText().strip())
        self._done.setEnabled(ready and number_is_right)
