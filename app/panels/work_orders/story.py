"""The story of one work order: header, holds, stages, decisions, budget, journal; below it what can be decided."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QScrollArea, QVBoxLayout, QWidget

from app.panels.inbox.inline_button import InlineButton
from app.panels.journal.words import journal_line
from app.panels.prose import prose
from app.panels.rows import CardBadge, TickingLabel
from app.panels.words import actor_words, order_name
from app.panels.work_orders.blocks import (
    DecisionBlock,
    Doings,
    HandoffBlock,
    HoldBlock,
    StageBlock,
    StageStory,
)
from app.panels.work_orders.row_text import cost_words, header_badges, why
from app.theme import Text, Tone
from app.widgets import (
    Badge,
    Budget,
    BudgetWaterfall,
    KeyValueGrid,
    Role,
    SectionLabel,
    Times,
    button,
    column,
    frame,
    label,
    row,
    rule,
)
from engine.states import TaskState, WorkOrderState
from engine.views.values import BudgetLine, JournalRow, TaskRow, WorkOrderRow, WorkOrderStory

JOURNAL_LINES = 12

Decide = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Choice:
    """A decision as a button: its word in ``WorkOrderStory.can``, and what the button says."""

    word: str
    text: str
    tip: str
    role: Role = Role.PLAIN


CHOICES = (
    Choice("accept", "Accept", "Accept the work; the work order ends", Role.PRIMARY),
    Choice("validate", "Judge…", "Judge the result by its criteria", Role.PRIMARY),
    Choice("ask_again", "Ask again", "Plan the waiting stage afresh and ask for its approval", Role.PRIMARY),
    Choice("validate_again", "Validate again…", "Have the result judged by a new validation"),
    Choice("allow_correction", "Allow one more correction…", "Let the work be corrected once more"),
    Choice("replan", "Replan…", "End it, and put a new work order in its place that is filled in from it"),
    Choice("reject", "Reject…", "Reject the work; the work order ends"),
    Choice("cancel", "Cancel…", "End it; what runs is stopped and becomes UNKNOWN", Role.DANGER),
)


class StoryView(QWidget):
    """Shows one `WorkOrderStory`. Parts that did not change stay as they are, so that nothing jumps."""

    def __init__(
        self,
        times: Times,
        doings: Doings,
        decide: Decide,
        open_journal: Callable[[str], None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._times = times
        self._doings = doings
        self._decide = decide
        self._open_journal = open_journal
        self._story: WorkOrderStory | None = None
        outer = column(self)
        self._scroll = QScrollArea(self)
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setAccessibleName("Story of the work order")
        body = QWidget()
        self._lines = column(body, margins=(18, 14, 18, 18), gap=10)
        self._build_head(body)
        self._holds = _Parts(self._lines)
        self._stages_head = self._section("Story", body)
        self._stages = _Parts(self._lines)
        self._build_rest(body)
        self._lines.addStretch(1)
        self._scroll.setWidget(body)
        outer.addWidget(self._scroll, 1)
        outer.addWidget(self._build_foot())

    @property
    def story(self) -> WorkOrderStory | None:
        """What is shown."""
        return self._story

    def show_story(self, story: WorkOrderStory) -> None:
        """Show this story; another work order begins at its top."""
        before = self._story
        self._story = story
        another = before is None or before.row.id != story.row.id
        self._show_head(story)
        self._show_holds(story)
        self._show_stages(story)
        if another or before is None or before.budget != story.budget:
            self._budget.set_budgets([_budget(line) for line in story.budget])
        if another or before is None or before.journal != story.journal:
            self._show_journal(story.journal)
        self._show_choices(story)
        if another:
            self._scroll.verticalScrollBar().setValue(0)

    def focus_body(self) -> None:
        """Put the keyboard focus on the first thing that can be done here."""
        first = next((made for made in self._choices.values() if made.isVisibleTo(self)), None)
        (first or self._scroll).setFocus(Qt.FocusReason.OtherFocusReason)

    # ------------------------------------------------------------------------------------------ building

    def _build_head(self, body: QWidget) -> None:
        head = row(gap=10)
        self._title = prose("", Text.TITLE, parent=body)
        head.addWidget(self._title, 1)
        self._badges = row(gap=6)
        head.addLayout(self._badges)
        head.setAlignment(self._badges, Qt.AlignmentFlag.AlignTop)
        self._shown_badges: tuple[CardBadge, ...] = ()
        self._lines.addLayout(head)
        self._asked = TickingLabel(self._times, str, parent=body)
        self._lines.addWidget(self._asked)
        self._why = prose("", name="Where it stands", parent=body)
        self._lines.addWidget(self._why)
        self._facts = KeyValueGrid("Facts", body)
        self._lines.addWidget(self._facts)

    def _build_rest(self, body: QWidget) -> None:
        self._section("Budget", body)
        self._budget = BudgetWaterfall(parent=body)
        self._budget.setAccessibleName("Budget")
        self._lines.addWidget(self._budget)
        head = row(gap=8)
        head.addWidget(SectionLabel("Journal", body))
        head.addStretch(1)
        self._more = InlineButton(
            "Open journal", "See every journal row of this work order", self._journal_wanted, parent=body
        )
        head.addWidget(self._more)
        self._lines.addSpacing(6)
        self._lines.addLayout(head)
        self._journal = KeyValueGrid("Recent journal rows", body)
        self._lines.addWidget(self._journal)

    def _build_foot(self) -> QWidget:
        foot = frame("window", self)
        lines = column(foot)
        lines.addWidget(rule(foot))
        line = row(margins=(18, 10, 18, 12), gap=8)
        self._choices = {
            choice.word: button(
                choice.text, choice.tip, partial(self._decide, choice.word), role=choice.role, parent=foot
            )
            for choice in CHOICES
        }
        for made in self._choices.values():
            line.addWidget(made)
        self._nothing = label("", Text.SMALL, muted=True, wrap=True, parent=foot)
        line.addWidget(self._nothing, 1)
        lines.addLayout(line)
        return foot

    def _section(self, text: str, body: QWidget) -> SectionLabel:
        made = SectionLabel(text, body)
        self._lines.addSpacing(6)
        self._lines.addWidget(made)
        return made

    # ------------------------------------------------------------------------------------------- showing

    def _show_head(self, story: WorkOrderStory) -> None:
        order = story.row
        self._title.set_text(order.title)
        self._show_badges(header_badges(order))
        self._asked.say(partial(self._asked_words, order), partial(self._asked_tip, order))
        tone = _tone(order)
        words = why(order, self._times)
        if (self._why.text(), tone) != (words, self._why.property("tone")):
            self._why.set_text(words, tone=tone)
            self._why.setProperty("tone", tone)
        corrections = f"{story.corrections_made} of {story.corrections_allowed} made"
        facts = (
            ("Workspace", order.workspace),
            ("Project", order.project),
            ("Reason", story.reason),
            ("Criteria", story.criteria),
            ("Corrections", corrections if story.corrections_allowed or story.corrections_made else ""),
            ("Cost", cost_words(order)),
        )
        if self._facts.property("facts") != str(facts):
            self._facts.setProperty("facts", str(facts))
            self._facts.clear()
            for name, value in facts:
                if value:
                    role = Text.CODE if name == "Workspace" else Text.BODY
                    self._facts.add(name, prose(value, role, name=name))

    def _show_badges(self, wanted: tuple[CardBadge, ...]) -> None:
        if wanted == self._shown_badges:
            return
        self._shown_badges = wanted
        while (item := self._badges.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        for badge in wanted:
            self._badges.addWidget(Badge(badge.word, badge.tone, badge.shape))

    def _asked_words(self, order: WorkOrderRow) -> str:
        asked = f"asked by {actor_words(order.requested_by)} {self._times.age(order.created_at)}"
        return f"{order_name(order.number)} · {asked}"

    def _asked_tip(self, order: WorkOrderRow) -> str:
        return self._times.exact(order.created_at)

    def _show_holds(self, story: WorkOrderStory) -> None:
        self._holds.show(
            [(hold, partial(HoldBlock, hold, self._times, self._doings)) for hold in story.holds]
        )

    def _show_stages(self, story: WorkOrderStory) -> None:
        """Stages and the decisions between them, in the order in which they came about."""
        parts: list[tuple[int, int, Hashable, Callable[[], QWidget]]] = []
        for task in story.tasks:
            stage = _stage(story, task)
            make = partial(StageBlock, stage, self._times, self._doings)
            parts.append((task.created_at, task.ordinal, stage, make))
        for decision in story.decisions:
            if decision.attempt_id is None:
                make_decision = partial(DecisionBlock, decision, self._times, self._doings.show_proof)
                parts.append((decision.decided_at, -1, decision, make_decision))
        for handoff in story.handoffs:
            make_handoff = partial(HandoffBlock, handoff, self._times)
            parts.append((handoff.written_at, handoff.from_ordinal, handoff, make_handoff))
        parts.sort(key=lambda part: part[:2])
        self._stages.show([(value, make) for _, _, value, make in parts])

    def _show_journal(self, rows: Sequence[JournalRow]) -> None:
        self._journal.clear()
        for line in reversed(rows[-JOURNAL_LINES:]):
            said = prose(journal_line(line), parent=self._journal)
            said.setToolTip(self._times.exact(line.at))
            self._journal.add(self._times.stamp(line.at, seconds=True), said)
        self._more.setVisible(bool(rows))

    def _show_choices(self, story: WorkOrderStory) -> None:
        for word, made in self._choices.items():
            made.setVisible(word in story.can)
        shown = any(word in story.can for word in self._choices)
        words = ""
        if not shown and story.row.ended_at is not None:
            words = "Nothing is left to decide: this work order has ended."
        elif not shown:
            words = "Nothing can be decided now."
        self._nothing.setText(words)

    def _journal_wanted(self) -> None:
        if self._story is not None:
            self._open_journal(self._story.row.id)


class _Parts:
    """A run of widgets in a layout, one for each value; a widget whose value stays the same is kept."""

    def __init__(self, lines: QVBoxLayout) -> None:
        self._holder = QWidget()
        self._lines = column(self._holder, gap=8)
        self._shown: list[tuple[Hashable, QWidget]] = []
        self._holder.hide()
        lines.addWidget(self._holder)

    def show(self, wanted: Sequence[tuple[Hashable, Callable[[], QWidget]]]) -> None:
        """Show these values, each made by its function if it is not there already."""
        kept = dict(self._shown)
        focus = _focus_name(self._holder)
        shown: list[tuple[Hashable, QWidget]] = []
        for at, (value, make) in enumerate(wanted):
            widget = kept.pop(value, None)
            if widget is None:
                widget = make()
                self._lines.insertWidget(at, widget)
            elif self._lines.indexOf(widget) != at:
                self._lines.insertWidget(at, widget)
            shown.append((value, widget))
        for widget in kept.values():
            self._lines.removeWidget(widget)
            widget.hide()
            widget.deleteLater()
        self._shown = shown
        self._holder.setVisible(bool(shown))
        if focus and _focus_name(self._holder) != focus:
            _focus_again(self._holder, focus)


def _focus_name(holder: QWidget) -> str:
    """The name of the control inside that has the focus, "" if none has."""
    focus = QApplication.focusWidget()
    return focus.accessibleName() if focus is not None and holder.isAncestorOf(focus) else ""


def _focus_again(holder: QWidget, name: str) -> None:
    for widget in holder.findChildren(QWidget):
        if widget.accessibleName() == name and widget.isEnabled() and not widget.isHidden():
            widget.setFocus(Qt.FocusReason.OtherFocusReason)
            return


def _stage(story: WorkOrderStory, task: TaskRow) -> StageStory:
    own = {attempt.id for attempt in task.attempts}
    return StageStory(
        task,
        tuple(item for item in story.validations if item.attempt_id in own),
        tuple(item for item in story.decisions if item.attempt_id in own),
        _mends(story, task),
    )


def _mends(story: WorkOrderStory, task: TaskRow) -> str:
    """What a stage refers back to: the attempt it validates or mends."""
    if task.source_attempt_id is None:
        return ""
    for source in story.tasks:
        for at, attempt in enumerate(source.attempts, start=1):
            if attempt.id == task.source_attempt_id:
                which = f" (attempt {at})" if len(source.attempts) > 1 else ""
                verb = "Judges" if task.purpose == "VALIDATE" else "Mends"
                return f"{verb} the result of stage {source.ordinal} · {source.purpose.lower()}{which}"
    return ""


def _tone(order: WorkOrderRow) -> Tone | None:
    if order.task_state is TaskState.UNKNOWN and order.ended_at is None:
        return Tone.UNKNOWN
    if order.state in (WorkOrderState.AWAITING_ACCEPTANCE, WorkOrderState.DECISION_NEEDED):
        return Tone.WARN
    return None


def _budget(line: BudgetLine) -> Budget:
    return Budget(
        line.name, line.cost_limit, line.spent_cost, line.reserved_cost, line.frozen_cost, line.asked_cost
    )
