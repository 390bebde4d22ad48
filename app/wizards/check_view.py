"""What a dry check found: the work order as its card would show it, and what is worth a look."""

from __future__ import annotations

from PySide6.QtWidgets import QScrollArea, QWidget

from app.panels.inbox.sections import CommandSection, Notice
from app.panels.inbox.sheet import read_command
from app.theme import Text, Tone
from app.widgets import SectionLabel, column, label
from engine.dispatch.plan import plan_from_json
from engine.views.values import DryCheck


class CheckView(QScrollArea):
    """Shows a `DryCheck`: the sealed command and its validation exactly as the inbox would."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setAccessibleName("Result of the dry check")
        body = QWidget()
        lines = column(body, margins=(18, 14, 18, 14), gap=12)
        self._said = Notice(Tone.OK, body)
        lines.addWidget(self._said)
        self._warnings = Notice(Tone.WARN, body)
        lines.addWidget(self._warnings)
        self._seal = label("", Text.SMALL, muted=True, wrap=True, selectable=True, parent=body)
        lines.addWidget(self._seal)
        self._command = CommandSection("What runs", "command", body)
        lines.addWidget(self._command)
        self._head = SectionLabel("And then its validation", body)
        lines.addWidget(self._head)
        self._validation = CommandSection("What judges", "validation command", body)
        lines.addWidget(self._validation)
        lines.addStretch(1)
        self.setWidget(body)

    def show_check(self, check: DryCheck) -> None:
        """Show what was found."""
        self._said.say("Everything was found and can be sealed. Nothing was saved, and nothing ran.", Tone.OK)
        self._warnings.say("\n".join(check.warnings), Tone.WARN)
        self._seal.setText(f"seal {check.seal}")
        self._command.show_sheet(read_command(plan_from_json(check.plan)))
        has_validation = check.validation_plan is not None
        self._head.setVisible(has_validation)
        self._validation.setVisible(has_validation)
        if check.validation_plan is not None:
            self._validation.show_sheet(read_command(plan_from_json(check.validation_plan)))
