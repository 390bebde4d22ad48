"""The dialog that makes a standing grant from a card: exactly what it will cover, shown before it is given (E-42a)."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QFrame,
    QGridLayout,
    QLineEdit,
    QRadioButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.panels.inbox.row_text import one_line
from app.panels.inbox.wrapped_text import WrappedText
from app.theme import Text
from app.widgets import (
    CommandText,
    Element,
    Question,
    SectionLabel,
    Times,
    check_box,
    column,
    label,
    number,
    opened,
    spoken,
)
from app.wizards.fields import CalmComboBox, CalmSpinBox
from engine.actors import Actor
from engine.dispatch.grant_terms import coverage, free_places, make_terms
from engine.dispatch.grants import MOST_USES
from engine.dispatch.plan import plan_from_json
from engine.instants import Instant
from engine.views.values import ApprovalCard
from engine.workspace.repository import StateKind

USES = 3
"""The uses a grant begins with in the dialog, the request itself included."""

_ROOM = 330
"""The height in which what it covers is shown, in pixels; what is longer scrolls."""

_MINUTE = 60_000
_LASTS = (
    ("15 minutes", 15 * _MINUTE),
    ("1 hour", 60 * _MINUTE),
    ("4 hours", 240 * _MINUTE),
    ("12 hours", 720 * _MINUTE),
    ("24 hours", 1_440 * _MINUTE),
)
_USUAL = 1
"""An hour."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What the person chose. ``lasts_ms`` is counted from the moment in which it is given."""

    uses: int
    lasts_ms: int
    free: tuple[int, ...]
    any_state: bool
    covers_validation: bool
    reason: str


class GrantDialog(Question):
    """Everything that the grant would cover, in words that follow each choice. Nothing wide is chosen beforehand."""

    def __init__(
        self,
        parent: QWidget | None,
        card: ApprovalCard,
        requester: Actor,
        times: Times,
        *,
        covers_validation: bool,
        alike: int,
    ) -> None:
        super().__init__(
            parent,
            "Make a standing grant?",
            "It approves this request now, and the same again when it is asked for, without asking you. Each use is "
            "counted and shown. You can revoke it at any moment, and it ends by itself.",
        )
        self._card = card
        self._plan = plan_from_json(card.plan)
        self._requester = requester
        self._times = times
        self._validation_seal = card.validation_seal if covers_validation else None
        self._alike = alike
        self._free: dict[int, QCheckBox] = {}
        self._seen = False
        self.setMinimumWidth(660)
        self._build()
        self._follow()
        times.ticked.connect(self._follow)

    @property
    def wish(self) -> Wish:
        """What was chosen."""
        return Wish(
            self._uses.value(),
            int(self._lasts.currentData()),
            tuple(place for place, box in self._free.items() if box.isChecked()),
            self._any.isChecked(),
            self._validation_seal is not None,
            self._reason.text().strip(),
        )

    def covers(self) -> str:
        """What the dialog says that the grant would cover."""
        return self._covers.text()

    def _build(self) -> None:
        self.body.addLayout(self._build_bounds())
        content = QWidget()
        lines = column(content, margins=(0, 0, 8, 0), gap=8)
        self._argv = CommandText(parent=content)
        lines.addWidget(self._argv)
        self._build_free(lines, content)
        self._build_state(lines, content)
        lines.addWidget(SectionLabel("What it covers", content))
        self._covers = WrappedText("", prose=True, name="What it covers", parent=content)
        lines.addWidget(self._covers)
        lines.addStretch(1)
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(content)
        area.setMinimumHeight(_ROOM)
        area.setAccessibleName("What the grant covers")
        self._bar = area.verticalScrollBar()
        self._bar.valueChanged.connect(self._look)
        self._bar.rangeChanged.connect(self._look)
        self.body.addWidget(area, 1)
        self._reason = QLineEdit(self)
        self._reason.setAccessibleName("Reason")
        self._reason.setToolTip("Why, if you like; it is kept in the journal")
        self._reason.setPlaceholderText("Why? (kept in the journal)")
        self._reason.setMinimumHeight(self._reason.sizeHint().height())
        self.body.addWidget(self._reason)
        self._hint = label("", Text.SMALL, muted=True, parent=self)
        self.add_aside(self._hint)
        back = self.add_back()
        self._done = self.add_action("Grant", "Give this grant; it approves the request now as its first use")
        # The neutral place: Enter and Space there change nothing (B-005).
        back.setFocus(Qt.FocusReason.OtherFocusReason)

    def showEvent(self, event: QShowEvent) -> None:
        """See whether all of it is in view."""
        super().showEvent(event)
        self._look()

    def _look(self) -> None:
        """Let it be given once the end of what it covers was in view (B-008)."""
        if self.isVisible() and self._bar.value() >= self._bar.maximum():
            self._seen = True
        self._done.setEnabled(self._seen)
        self._hint.setText("" if self._seen else "Scroll to the end of what it covers first")

    def _build_bounds(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(2, 1)
        self._uses = CalmSpinBox(self)
        self._uses.setKeyboardTracking(True)
        self._uses.setRange(1, MOST_USES)
        self._uses.setValue(USES)
        self._uses.setAccessibleName("Uses")
        self._uses.setToolTip("How many requests it approves at most, this one included")
        self._uses.valueChanged.connect(self._follow)
        self._lasts = CalmComboBox(self)
        self._lasts.setAccessibleName("For how long")
        self._lasts.setToolTip("How long it lasts at most; its end itself is too late")
        for words, lasts in _LASTS:
            self._lasts.addItem(words, lasts)
        self._lasts.setCurrentIndex(_USUAL)
        self._lasts.currentIndexChanged.connect(self._follow)
        self._until = label("", muted=True, parent=self)
        for line, (words, control) in enumerate((("Uses", self._uses), ("For", self._lasts))):
            head = label(words, parent=self)
            head.setBuddy(control)
            control.setMinimumHeight(control.sizeHint().height())
            grid.addWidget(head, line, 0)
            grid.addWidget(control, line, 1)
        grid.addWidget(label("this request is the first of them", muted=True, parent=self), 0, 2)
        grid.addWidget(self._until, 1, 2)
        return grid

    def _build_free(self, lines: QVBoxLayout, content: QWidget) -> None:
        lines.addWidget(SectionLabel("Arguments", content))
        places = free_places(self._plan)
        said = (
            "Every argument is fixed, unless you leave it free. A free one may be any single plain word, and no option."
            if places
            else "Every argument is fixed. None of this command can be left free: what stands there is the program, "
            "what it is to run, an option, or no plain word."
        )
        lines.addWidget(label(said, Text.SMALL, muted=True, wrap=True, parent=content))
        for place in places:
            box = check_box(
                f"Leave argument {place} free, now “{spoken(self._plan.argv[place])}”",
                "Any single plain word may stand there: letters, digits and _ . , + - /",
                parent=content,
            )
            box.toggled.connect(self._follow)
            self._free[place] = box
            lines.addWidget(box)

    def _build_state(self, lines: QVBoxLayout, content: QWidget) -> None:
        lines.addWidget(SectionLabel("Workspace", content))
        repository = self._plan.state.kind is StateKind.GIT
        self._same = QRadioButton(
            "Exactly as it is now: same commit, same changes"
            if repository
            else "Exactly as it is now: every file",
            content,
        )
        self._same.setToolTip("Once anything in the workspace is different, the grant is void")
        self._any = QRadioButton(
            "Its other files may change; the program and declared inputs may not", content
        )
        self._any.setToolTip("Wider: what the command finds in the workspace may be different at each use")
        for choice in (self._same, self._any):
            choice.setAccessibleName(choice.text())
            lines.addWidget(choice)
        self._same.setChecked(True)
        self._any.toggled.connect(self._follow)

    def _follow(self) -> None:
        """Say what the present choices cover."""
        wish = self.wish
        until = self._until_words()
        terms = make_terms(self._plan, wish.free, wish.any_state, self._validation_seal)
        waiting = (
            (f"{number(self._alike - 1)} alike that wait already stay for you to decide.",)
            if self._alike > 1
            else ()
        )
        sentences = (
            *coverage(terms),
            f"Only what {spoken(str(self._requester))} asks for, in project {one_line(self._card.project)}.",
            "Void after a restore, and once the clock is distrusted.",
            *waiting,
        )
        self._covers.set_text("\n".join(f"– {sentence}" for sentence in sentences))
        self._argv.set_elements(
            [
                Element(text, "free" if place in wish.free else "", place in wish.free)
                for place, text in enumerate(self._plan.argv)
            ]
        )
        self._until.setText(f"until {until}")
        uses = "1 use" if wish.uses == 1 else f"{number(wish.uses)} uses"
        self._done.setText(f"Grant {uses} until {until}")
        self._done.setAccessibleName(self._done.text())

    def _until_words(self) -> str:
        ends: Instant = self._times.now() + int(self._lasts.currentData())
        return self._times.stamp(ends)


async def ask_grant(
    parent: QWidget | None,
    card: ApprovalCard,
    requester: Actor,
    times: Times,
    *,
    covers_validation: bool,
    alike: int,
) -> Wish | None:
    """Let a person choose the terms of a grant; None if they went back."""
    dialog = GrantDialog(parent, card, requester, times, covers_validation=covers_validation, alike=alike)
    dialog.setWindowModality(Qt.WindowModality.WindowModal)
    return dialog.wish if await opened(dialog) else None
