"""The exits of an UNKNOWN as dialogs: what was found, why one is sure, and what shows it (E-72)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QLineEdit, QPlainTextEdit, QWidget

from app.panels.inbox.inline_button import InlineButton
from app.panels.unknown.words import cost_hint, released_words, time_hint
from app.panels.words import stage_name
from app.session import Session
from app.theme import Text
from app.widgets import (
    ElidedLabel,
    Question,
    SectionLabel,
    ask_open_file,
    column,
    frame,
    label,
    opened,
    row,
    set_role,
)
from engine.control.decisions import ENDING, Finding
from engine.control.proofs import MOST_PROOFS, Proof
from engine.durations import format_duration, parse_duration, size_text
from engine.errors import InvalidValue
from engine.views.unknown import UnknownView

_TITLES = {
    Finding.TOOK_EFFECT: "It took effect",
    Finding.DID_NOT: "It did not take effect",
    Finding.STILL_UNKNOWN: "It is still unknown",
}
_ACTIONS = {
    Finding.TOOK_EFFECT: "Record that it took effect",
    Finding.DID_NOT: "Record that it did not",
    Finding.STILL_UNKNOWN: "Write the note",
}


@dataclass(frozen=True, slots=True)
class Decided:
    """What was entered; ``cost`` and ``active_ms`` are None where nothing was."""

    reason: str
    cost: int | None
    active_ms: int | None
    proof: tuple[Proof, ...]


async def decide(session: Session, view: UnknownView, finding: Finding, parent: QWidget) -> None:
    """Ask for the decision and record it; nothing is done if the person goes back."""
    dialog = ExitDialog(parent, session, view, finding)
    if not await opened(dialog):
        return
    entered = dialog.decided()
    await session.engine.unknowns.reconcile(
        view.attempt.id,
        finding,
        session.actor,
        reason=entered.reason,
        cost=entered.cost,
        active_ms=entered.active_ms,
        proof=entered.proof,
    )


class ExitDialog(Question):
    """Asks why, and for what shows it; "still unknown" needs only the reason."""

    def __init__(self, parent: QWidget | None, session: Session, view: UnknownView, finding: Finding) -> None:
        name = stage_name(view.attempt.number, view.attempt.purpose)
        super().__init__(parent, f"{_TITLES[finding]}: {name}", _means(view, finding))
        self.setMinimumWidth(520)
        self._view, self._finding = view, finding
        self._needs_proof = finding in ENDING
        self._cost: QLineEdit | None = None
        self._time: QLineEdit | None = None
        if finding is Finding.TOOK_EFFECT:
            self._build_use()
        self.body.addWidget(SectionLabel("Reason", self))
        self._reason = _field("Reason", "Why you are sure, kept with your name and the time", 3, self)
        self._reason.setPlaceholderText(
            "How do you know? This is kept in the journal."
            if self._needs_proof
            else "What have you found so far? This is kept in the journal."
        )
        self.body.addWidget(self._reason)
        self.body.addWidget(SectionLabel("Proof" if self._needs_proof else "Proof, if there is any", self))
        self._proof = ProofFields(session, self)
        self.body.addWidget(self._proof)
        self._said = label("", Text.SMALL, wrap=True, parent=self)
        set_role(self._said, "muted")
        self.body.addWidget(self._said)
        self.add_back()
        self._done = self.add_action(_ACTIONS[finding], "Record this decision with your name and the time")
        self._done.setShortcut("Ctrl+Return")
        self._reason.textChanged.connect(self._check)
        self._proof.changed.connect(self._check)
        for field in (self._cost, self._time):
            if field is not None:
                field.textChanged.connect(self._check)
        self._check()
        self._reason.setFocus()

    @property
    def proof(self) -> ProofFields:
        """What is shown."""
        return self._proof

    def decided(self) -> Decided:
        """What was entered; only valid after it was accepted."""
        return Decided(
            self._reason.toPlainText().strip(),
            _cost_in(self._cost) if self._cost is not None else None,
            _time_in(self._time) if self._time is not None else None,
            self._proof.proof(),
        )

    def _build_use(self) -> None:
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        reported, measured = self._view.reported_cost, self._view.measured_ms
        self._cost = _line("Actual cost in units", "What it really cost, in whole units", self)
        self._cost.setText("" if reported is None else str(reported))
        self._time = _line("Actual active time", "How long it was active, such as 90s or 1m30s", self)
        self._time.setText("" if not measured else format_duration(measured))
        for place, (name, field, hint) in enumerate(
            (
                ("Actual cost", self._cost, cost_hint(self._view)),
                ("Active time", self._time, time_hint(self._view)),
            )
        ):
            grid.addWidget(label(name, muted=True, parent=self), 2 * place, 0)
            grid.addWidget(field, 2 * place, 1)
            grid.addWidget(label(hint, Text.SMALL, muted=True, wrap=True, parent=self), 2 * place + 1, 1)
        self.body.addLayout(grid)

    def _check(self) -> None:
        missing = self._missing()
        self._said.setText(missing)
        self._said.setVisible(bool(missing))
        self._done.setEnabled(not missing)

    def _missing(self) -> str:
        """What keeps it from being recorded, "" if nothing does."""
        try:
            if self._cost is not None:
                _cost_in(self._cost)
            if self._time is not None:
                _time_in(self._time)
        except InvalidValue as error:
            return str(error)
        if not self._reason.toPlainText().strip():
            return "A reason is needed."
        if self._needs_proof and not self._proof.proof():
            return "Proof is needed: attach a file, or write down what you saw."
        return ""


class ProofFields(QWidget):
    """Files that are attached, and a note of what was seen."""

    changed = Signal()

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__(parent)
        self._session = session
        self._files: list[Path] = []
        lines = column(self, gap=6)
        self._note = _field("Proof: what you saw", "What you saw, word by word if you can", 2, self)
        self._note.setPlaceholderText("Paste what you saw: a log line, a query and its answer, a checksum…")
        self._note.textChanged.connect(self.changed)
        lines.addWidget(self._note)
        self._box = QWidget(self)
        self._list = column(self._box, gap=4)
        lines.addWidget(self._box)
        self._attach = InlineButton(
            "Attach file…",
            "Keep a file as proof; it is copied into the evidence store",
            self._pressed,
            parent=self,
        )
        line = row(gap=8)
        line.addWidget(self._attach)
        line.addStretch(1)
        lines.addLayout(line)
        self._fill()

    def proof(self) -> tuple[Proof, ...]:
        """Everything that is shown."""
        note = self._note.toPlainText().strip()
        noted = (Proof("what was seen", text=note),) if note else ()
        return (*noted, *(Proof(path.name, file=str(path)) for path in self._files))

    def add_file(self, path: Path) -> None:
        """Attach a file."""
        if path not in self._files and len(self._files) < MOST_PROOFS - 1:
            self._files.append(path)
            self._fill()
            self.changed.emit()

    def _pressed(self) -> None:
        self._session.spawn(self._ask(), "attach proof")

    async def _ask(self) -> None:
        chosen = await ask_open_file(self, "Attach proof", filters="All files (*)")
        if chosen is not None:
            self.add_file(chosen.absolute())

    def _remove(self, path: Path) -> None:
        self._files.remove(path)
        self._fill()
        self.changed.emit()

    def _fill(self) -> None:
        while (item := self._list.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        for path in self._files:
            box = frame("raised", self._box)
            line = row(box, margins=(10, 5, 6, 5), gap=8)
            line.addWidget(ElidedLabel(str(path), Text.CODE_SMALL, parent=box), 1)
            line.addWidget(label(_size(path), Text.SMALL, muted=True, parent=box))
            remove = InlineButton(
                "Remove", "Do not attach this file", partial(self._remove, path), name=f"Remove {path.name}"
            )
            line.addWidget(remove)
            self._list.addWidget(box)
        self._box.setVisible(bool(self._files))


def _means(view: UnknownView, finding: Finding) -> str:
    match finding:
        case Finding.TOOK_EFFECT:
            return (
                "The attempt then counts as executed by your word, at the cost and time below, and goes on to its "
                "validation. It is marked as decided by you everywhere, not as observed."
            )
        case Finding.DID_NOT:
            return (
                f"Its exposure ({released_words(view)}) is released. The step is ready again, and nothing of it "
                "runs before somebody approves it anew. It is marked as decided by you, not as observed."
            )
        case Finding.STILL_UNKNOWN:
            return "This is a note. The attempt stays UNKNOWN, and what it reserved stays frozen."


def _cost_in(field: QLineEdit) -> int | None:
    text = field.text().strip()
    if not text:
        return None
    if not (text.isdecimal() and text.isascii() and len(text) <= 12):
        raise InvalidValue("The cost is a whole number of units, or empty.")
    return int(text)


def _time_in(field: QLineEdit) -> int | None:
    text = field.text().strip()
    return parse_duration(text) if text else None


def _size(path: Path) -> str:
    try:
        return size_text(path.stat().st_size)
    except OSError:
        return "cannot be read"


def _line(name: str, tip: str, parent: QWidget) -> QLineEdit:
    made = QLineEdit(parent)
    made.setAccessibleName(name)
    made.setToolTip(tip)
    return made


def _field(name: str, tip: str, lines: int, parent: QWidget) -> QPlainTextEdit:
    made = QPlainTextEdit(parent)
    made.setAccessibleName(name)
    made.setToolTip(tip)
    made.setTabChangesFocus(True)
    made.setFixedHeight(made.fontMetrics().lineSpacing() * lines + 24)
    return made
