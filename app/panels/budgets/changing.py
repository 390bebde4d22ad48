"""Changing the limits of a scope, and making a project: what is typed, what it would mean, and the reason."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLineEdit, QPlainTextEdit, QWidget

from app.panels.budgets.words import free_cost_words, free_time_words, scope_title
from app.panels.inbox.sections import Notice
from app.session import Session
from app.theme import Text, Tone
from app.widgets import Question, SectionLabel, check_box, duration_text, label, number, opened
from engine.dispatch.soundness import LARGEST_AMOUNT, LONGEST_LINE
from engine.durations import format_duration, parse_duration
from engine.errors import InvalidValue
from engine.views.budgets import ScopeRow, ScopeView, limits_mean
from engine.work_order import BudgetLimits

_FIELDS = (
    ("execution_cost", "Cost", "Units that steps may use together"),
    ("execution_active_ms", "Active time", "Time that steps may run together, such as 2h30m"),
    ("handoff_cost", "Handoff cost", "Units that only handoffs may use"),
    ("handoff_active_ms", "Handoff time", "Time that only handoffs may run, such as 10m"),
)


class LimitsDialog(Question):
    """Four limits and a reason. ``path`` ends with the scope itself, or with the root for a new project."""

    def __init__(
        self, parent: QWidget | None, path: Sequence[ScopeRow], *, new_project: bool = False
    ) -> None:
        own = path[-1]
        title = "New project" if new_project else f"Change the limits of “{scope_title(own)}”?"
        super().__init__(
            parent,
            title,
            "Work orders that name this project draw on it. Its limits bind together with those of the whole budget."
            if new_project
            else "Limits bind what starts from now on. What runs goes on, and what was spent stays counted.",
        )
        self._path = tuple(path)
        self._new = new_project
        self._before = own.limits
        self.setMinimumWidth(620)
        self._edits: dict[str, QLineEdit] = {}
        self._build(own)
        self._follow()

    @property
    def limits(self) -> BudgetLimits | None:
        """The limits as typed, None while one of them cannot be read."""
        values: dict[str, int] = {}
        for name, edit in self._edits.items():
            value = _read(name, edit.text())
            if value is None:
                return None
            values[name] = value
        return BudgetLimits(**values)

    @property
    def reason(self) -> str:
        """What the person wrote."""
        return self._reason.toPlainText().strip()

    @property
    def project(self) -> str:
        """The name of the new project."""
        return self._name.text().strip()

    @property
    def below_use(self) -> bool:
        """Whether the person said that a limit below what is counted already is meant."""
        return not self._below.isHidden() and self._below.isChecked()

    def _build(self, own: ScopeRow) -> None:
        self._name = QLineEdit(self)
        self._name.setAccessibleName("Name of the project")
        self._name.setToolTip("The name that work orders give as their project")
        self._name.setPlaceholderText("Its name, as work orders write it")
        self._name.setMaxLength(LONGEST_LINE)
        self._name.setMinimumHeight(self._name.sizeHint().height())
        self._name.textChanged.connect(self._follow)
        self._name.setVisible(self._new)
        self.body.addWidget(self._name)
        grid = QGridLayout()
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(2, 1)
        for line, (name, words, tip) in enumerate(_FIELDS):
            head = label(words, parent=self)
            edit = QLineEdit(_written(name, getattr(self._before, name)), self)
            edit.setAccessibleName(words)
            edit.setToolTip(tip)
            edit.setMinimumSize(150, edit.sizeHint().height())
            edit.textChanged.connect(self._follow)
            head.setBuddy(edit)
            self._edits[name] = edit
            grid.addWidget(head, line, 0)
            grid.addWidget(edit, line, 1)
            grid.addWidget(
                label("" if self._new else _use_words(own, name), Text.SMALL, muted=True, parent=self),
                line,
                2,
            )
        self.body.addLayout(grid)
        self.body.addWidget(SectionLabel("What it means", self))
        self._means = Notice(Tone.NEUTRAL, self)
        self.body.addWidget(self._means)
        self._below = check_box(
            "A limit below what is counted already is meant: nothing new starts there",
            "Without this a limit below what is spent, reserved and frozen is refused",
            parent=self,
        )
        self._below.toggled.connect(self._follow)
        self.body.addWidget(self._below)
        self._reason = QPlainTextEdit(self)
        self._reason.setAccessibleName("Reason")
        self._reason.setToolTip("The reason, kept with your name and the time (Ctrl+Enter when done)")
        self._reason.setPlaceholderText("Why? This is kept in the journal.")
        self._reason.setTabChangesFocus(True)
        self._reason.setFixedHeight(self._reason.fontMetrics().lineSpacing() * 3 + 16)
        self._reason.textChanged.connect(self._follow)
        self.body.addWidget(self._reason)
        self.add_back()
        self._done = self.add_action(
            "Make project" if self._new else "Change limits", "Let these limits bind from now on (Ctrl+Enter)"
        )
        self._done.setShortcut("Ctrl+Return")
        (self._name if self._new else self._edits["execution_cost"]).setFocus(Qt.FocusReason.OtherFocusReason)

    def _follow(self) -> None:
        """Say what the typed limits mean, and let the button work once all is there."""
        limits = self.limits
        wrong = [words for name, words, _ in _FIELDS if _read(name, self._edits[name].text()) is None]
        own = self._path[-1]
        below = not self._new and limits is not None and _below_use(own, limits)
        self._below.setVisible(below)
        if wrong:
            self._means.say(
                f"{' and '.join(wrong)} cannot be read: whole units from 0, or a time such as 90s, 2h30m or 0.",
                Tone.BAD,
            )
        elif limits == self._before and not self._new:
            self._means.say("These are its limits now.", Tone.NEUTRAL)
        elif limits is not None:
            means = self._sentences(limits)
            tone = Tone.WARN if below or means else Tone.OK
            self._means.say(" ".join(means) or "New work has room up to these limits.", tone)
        self.adjustSize()
        changed = self._new or (limits is not None and limits != self._before)
        named = not self._new or bool(self.project)
        self._done.setEnabled(
            not wrong and changed and named and bool(self.reason) and (not below or self.below_use)
        )

    def _sentences(self, limits: BudgetLimits) -> tuple[str, ...]:
        if not self._new:
            return limits_mean(self._path, limits)
        wide = [words for name, words, _ in _FIELDS if getattr(limits, name) > getattr(self._before, name)]
        return (
            (f"The whole budget allows less for {', '.join(wide).lower()}, so that is what binds.",)
            if wide
            else ()
        )


async def change_limits(parent: QWidget | None, session: Session, view: ScopeView) -> ScopeView | None:
    """Let a person change the limits of a scope; None if they went back. Errors of the engine pass through."""
    dialog = LimitsDialog(parent, view.path)
    dialog.setWindowModality(Qt.WindowModality.WindowModal)
    if not await opened(dialog):
        return None
    limits = dialog.limits
    assert limits is not None
    return await session.engine.budgets.set_limits(
        view.row.id,
        limits,
        session.actor,
        reason=dialog.reason,
        seen=view.row.limits,
        below_use=dialog.below_use,
    )


async def new_project(parent: QWidget | None, session: Session, root: ScopeRow) -> ScopeView | None:
    """Let a person make a project; None if they went back."""
    dialog = LimitsDialog(parent, (root,), new_project=True)
    dialog.setWindowModality(Qt.WindowModality.WindowModal)
    if not await opened(dialog):
        return None
    limits = dialog.limits
    assert limits is not None
    return await session.engine.budgets.add_project(
        dialog.project, limits, session.actor, reason=dialog.reason
    )


def _below_use(row: ScopeRow, limits: BudgetLimits) -> bool:
    return any(
        cost < part.used_cost or active < part.used_ms
        for part, cost, active in (
            (row.execution, limits.execution_cost, limits.execution_active_ms),
            (row.handoff, limits.handoff_cost, limits.handoff_active_ms),
        )
    )


def _use_words(row: ScopeRow, name: str) -> str:
    part = row.handoff if name.startswith("handoff") else row.execution
    if name.endswith("cost"):
        return f"{number(part.used_cost)} counted already, {free_cost_words(part)} free now"
    return f"{duration_text(part.used_ms)} counted already, {free_time_words(part)} free now"


def _written(name: str, value: int) -> str:
    return str(value) if name.endswith("cost") else format_duration(value) if value else "0"


def _read(name: str, text: str) -> int | None:
    """A limit as typed: whole units, or a duration; None if it is neither or too large."""
    plain = "".join(text.split()) if name.endswith("cost") else text.strip()
    if plain == "0":
        return 0
    if name.endswith("cost"):
        return (
            int(plain)
            if plain.isascii() and plain.isdecimal() and int(plain[:20]) <= LARGEST_AMOUNT
            else None
        )
    try:
        return parse_duration(plain)
    except InvalidValue:
        return None
