"""How an attempt was judged: the criteria fixed beforehand, the verdict, by whom, at what cost."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QScrollArea, QWidget

from app.panels.inbox.inline_button import InlineButton
from app.panels.inbox.sections import add_facts
from app.panels.inbox.sheet import Fact
from app.panels.prose import prose
from app.panels.words import actor_words, span_words, units
from app.panels.work_orders.attempt_words import verdict_words
from app.theme import Tone
from app.widgets import Badge, KeyValueGrid, SectionLabel, Times, column, label, row
from engine.states import Outcome, Purpose
from engine.views.values import EvidenceView, ValidationRow


class JudgedView(QScrollArea):
    """Shows the validation of an attempt, or the one that this attempt made."""

    def __init__(
        self, times: Times, open_evidence: Callable[[str], None], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._times = times
        self._open = open_evidence
        self._other = ""
        self.setWidgetResizable(True)
        self.setAccessibleName("Validation")
        body = QWidget(self.viewport())
        lines = column(body, margins=(18, 14, 18, 14), gap=8)
        lines.addWidget(SectionLabel("Criteria, fixed beforehand", body))
        self._criteria = prose("", name="Criteria", parent=body)
        lines.addWidget(self._criteria)
        lines.addSpacing(8)
        self._head = SectionLabel("Verdict", body)
        lines.addWidget(self._head)
        line = row(gap=8)
        self._badge = Badge(parent=body)
        line.addWidget(self._badge)
        self._words = label("", wrap=True, selectable=True, parent=body)
        line.addWidget(self._words, 1)
        lines.addLayout(line)
        self._facts = KeyValueGrid("Validation", body)
        lines.addWidget(self._facts)
        self._link = InlineButton("", "Open the evidence of the other run", self._link_pressed, parent=body)
        lines.addWidget(self._link)
        lines.addStretch(1)
        self.setWidget(body)

    def show_view(self, view: EvidenceView) -> None:
        """Show how this attempt was judged."""
        self._criteria.set_text(view.criteria)
        self._facts.clear()
        self._link.hide()
        validation = view.validation
        if validation is None:
            self._badge.hide()
            self._words.setText(_not_judged(view))
            return
        self._badge.show_state(validation.outcome)
        self._badge.show()
        made_it = validation.validating_attempt_id == view.attempt.id
        verdict = verdict_words(validation.outcome)
        self._words.setText(f"This run was the validation of another one. {verdict}" if made_it else verdict)
        self._show_facts(validation, view)
        self._other = (validation.attempt_id if made_it else validation.validating_attempt_id) or ""
        self._link.setVisible(bool(self._other) and self._other != view.attempt.id)
        text = "Open evidence of the run it judged" if made_it else "Open evidence of the validating run"
        self._link.setText(text)
        self._link.setAccessibleName(text)

    def _show_facts(self, validation: ValidationRow, view: EvidenceView) -> None:
        by = "the validation command" if validation.judged_by == "command" else actor_words(validation.actor)
        at = validation.recorded_at
        facts = [
            Fact("Judged by", by),
            Fact("When", self._times.stamp(at, seconds=True), tip=self._times.exact(at)),
        ]
        if validation.reason:
            facts.append(Fact("Reason", validation.reason))
        if validation.criteria != view.criteria:
            facts.append(Fact("By these", validation.criteria))
        if validation.actual_cost is not None:
            facts.append(Fact("Cost settled", units(validation.actual_cost)))
        if validation.actual_active_ms is not None:
            facts.append(Fact("Active time", span_words(validation.actual_active_ms)))
        if validation.correction_exhausted:
            facts.append(Fact("Corrections", "none are left; a person decides", tone=Tone.WARN))
        if validation.evidence_id:
            facts.append(Fact("Evidence", validation.evidence_id, code=True))
        add_facts(self._facts, facts)

    def _link_pressed(self) -> None:
        if self._other:
            self._open(self._other)


def _not_judged(view: EvidenceView) -> str:
    attempt = view.attempt
    if view.evidence is None:
        return "Not judged: it has not ended yet."
    if attempt.outcome is Outcome.UNKNOWN:
        return "Not judged: what it did is UNKNOWN, and a person has to decide about that first."
    if attempt.purpose is Purpose.VALIDATE:
        return "This run is a validation itself; no verdict came of it."
    if attempt.outcome is Outcome.FAILED:
        return "Not judged: the step itself failed."
    return "Not judged yet. That it ran without an error says nothing about the criteria."
