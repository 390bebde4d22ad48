"""The card: everything about one request, and the buttons for what can be done with it.

It decides nothing by itself. What was pressed is told by ``acted``, and only if the attention guard lets it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QCheckBox, QFrame, QPushButton, QScrollArea, QSizePolicy, QWidget

from app.panels.inbox.guard import AttentionGuard, Block, Readiness
from app.panels.inbox.inline_button import InlineButton
from app.panels.inbox.row_text import one_line
from app.panels.inbox.sections import Alike, CommandSection, Differences, Gates, Notice, Quote
from app.panels.inbox.sheet import (
    Act,
    Drift,
    Fact,
    content_key,
    cost_budgets,
    criteria_of,
    drift_words,
    ending,
    gates_summary,
    possible,
    read_plan,
    read_validation,
    refusals,
    spoken_card,
    standing,
    subtitle,
    tightest_time,
    time_budgets,
)
from app.panels.inbox.wrapped_text import WrappedText
from app.theme import Text, Tone, spacing
from app.widgets import (
    Badge,
    BudgetWaterfall,
    Role,
    SectionLabel,
    Times,
    button,
    check_box,
    column,
    frame,
    label,
    row,
    rule,
    spoken,
)
from engine.states import ApprovalState
from engine.views.values import ApprovalCard, InboxRow

COMMAND = "command"
VALIDATION = "validation command"
OTHERS = "list of those alike"

TICK_MS = 100
"""How often the line beside the buttons is brought up to date while something is still in the way."""


class CardView(QWidget):
    """Shows one `ApprovalCard`.

    ``acted(Act)`` tells what was pressed; ``left`` asks for the way back to the list (Escape); ``looked_at``
    asks for the card of a request alike.
    """

    acted = Signal(object)
    left = Signal()
    looked_at = Signal(str)

    def __init__(self, times: Times, guard: AttentionGuard, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._times = times
        self._guard = guard
        self._card: ApprovalCard | None = None
        self._held = False
        self._successor = False
        self._read_only = False
        self._drift: Drift = None
        self._buttons: dict[Act, QPushButton] = {}
        self._tick = QTimer(self, interval=TICK_MS)
        self._tick.timeout.connect(self._on_tick)
        self.setAccessibleName("Approval card")
        self._build()
        times.ticked.connect(self._on_second)
        times.changed.connect(self._on_second)

    # ------------------------------------------------------------------------------------------ what it shows

    @property
    def card(self) -> ApprovalCard | None:
        """The card that is shown."""
        return self._card

    @property
    def held(self) -> bool:
        """Whether the step was shown as held itself."""
        return self._held

    @property
    def covers_validation(self) -> bool:
        """Whether the step's own validation is to be approved by the same look."""
        return not self._validation_part.isHidden() and self._covers.isEnabled() and self._covers.isChecked()

    def ticked(self) -> tuple[str, ...]:
        """The requests alike that are to be approved together; nothing if there is only this one."""
        return self._alike.ticked()

    def show_card(
        self,
        card: ApprovalCard,
        *,
        alike: Sequence[InboxRow] = (),
        before: str = "before",
        held: bool = False,
        successor: bool = False,
    ) -> None:
        """Show a card. What a person decides on is drawn anew, and disarmed, only where it differs.

        ``alike`` are the waiting requests of the same seal, ``before`` heads the older side of differences,
        ``held`` is whether the step is held itself, ``successor`` whether a newer request of the step waits.
        """
        other = self._card is None or self._card.approval_id != card.approval_id
        fresh = self._card is None or content_key(self._card) != content_key(card)
        self._card, self._held, self._successor = card, held, successor
        if other or fresh:
            self._drift = None
        if fresh:
            self._show_content(card, before)
        self._show_surroundings(card)
        self._show_times(fresh=fresh)
        self._alike.show_rows(
            alike if card.state is ApprovalState.PENDING else (), card.approval_id, self._filter_press
        )
        self._show_validation_choice()
        if other:
            self.show_error("")
            self._scroll.verticalScrollBar().setValue(0)
        self._drifted.say(drift_words(self._drift), Tone.BAD)
        self._guard_content()
        self._show_buttons()
        self._watch()
        self._refresh()

    def show_drift(self, approval_id: str, drift: Drift) -> None:
        """Show what a look at the disk found for the card of this request, if it is still the one that is shown."""
        if self._card is None or self._card.approval_id != approval_id or drift == self._drift:
            return
        self._drift = drift
        self._drifted.say(drift_words(drift), Tone.BAD)
        self._show_times(fresh=True)
        self._guard_content()
        self._show_buttons()
        self._refresh()

    def _guard_content(self) -> None:
        assert self._card is not None
        self._guard.show(
            (*content_key(self._card), tuple(self._drift or ())),
            decidable=self._decidable(),
            must_see=self._must_see(),
        )

    def wait(self) -> None:
        """Let nothing be approved until the next card is here."""
        self._guard.clear()
        self._refresh()

    def clear(self) -> None:
        """Show no card."""
        self._card = None
        self.wait()

    def show_error(self, text: str) -> None:
        """Say in the card what went wrong with a decision; "" takes it away."""
        self._error.say(text, Tone.BAD)

    def error_text(self) -> str:
        """What the card says went wrong."""
        return self._error.text()

    def set_busy(self, busy: bool) -> None:
        """Let nothing be pressed while a decision is on its way."""
        self._guard.set_busy(busy)
        if busy and any(pressed.hasFocus() for pressed in self._buttons.values()):
            # Else Qt would look through the whole window for who gets the focus of a disabled button.
            self.focus_body()
        for pressed in self._buttons.values():
            pressed.setEnabled(not busy)
        self._refresh()

    def focus_body(self) -> None:
        """Put the keyboard focus on the command: the neutral place, where Enter does nothing (B-005)."""
        self._command.command.setFocus(Qt.FocusReason.OtherFocusReason)

    def readiness(self) -> Readiness:
        """Whether Approve would work now."""
        self._look()
        return self._guard.readiness()

    def hint(self) -> str:
        """What the line beside the buttons says."""
        return self._hint.text()

    def button(self, act: Act) -> QPushButton | None:
        """The button for an act if it is shown."""
        found = self._buttons.get(act)
        return None if found is None or found.isHidden() else found

    # ------------------------------------------------------------------------------------------------ building

    def _build(self) -> None:
        pad = spacing().pad
        outer = column(self)
        head = QWidget(self)
        lines = column(head, margins=(pad, 14, pad, 10), gap=3)
        top = row(gap=12)
        self._title = WrappedText("", Text.TITLE, parent=head)
        self._badge = Badge(parent=head)
        top.addWidget(self._title, 1)
        top.addWidget(self._badge, 0, Qt.AlignmentFlag.AlignTop)
        lines.addLayout(top)
        self._subtitle = WrappedText("", Text.BODY, muted=True, parent=head)
        lines.addWidget(self._subtitle)
        outer.addWidget(head)
        self._error = Notice(Tone.BAD, self)
        outer.addWidget(self._error)
        self._ending = Notice(Tone.WARN, self)
        outer.addWidget(self._ending)
        self._drifted = Notice(Tone.BAD, self)
        outer.addWidget(self._drifted)
        self._scroll = QScrollArea(self)
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setAccessibleName("What is asked for")
        self._body = self._build_body(pad)
        self._scroll.setWidget(self._body)
        self._scroll.verticalScrollBar().valueChanged.connect(self._refresh)
        outer.addWidget(self._scroll, 1)
        outer.addWidget(rule(self))
        outer.addWidget(self._build_foot(pad))

    def _build_body(self, pad: int) -> QWidget:
        body = QWidget()
        lines = column(body, margins=(pad, 8, pad, 16), gap=14)
        self._differences = Differences(body)
        lines.addWidget(self._differences)
        self._command = CommandSection("What runs", COMMAND, body)
        lines.addWidget(self._command)
        self._guarantee = WrappedText("", Text.SMALL, muted=True, name="Guarantee", parent=body)
        lines.addWidget(self._guarantee)
        self._reason = Quote(body)
        lines.addWidget(self._reason)
        lines.addWidget(self._build_validation(body))
        self._alike = Alike(self._times, body)
        self._alike.ticked_changed.connect(self._choice_changed)
        self._alike.looked_at.connect(self.looked_at)
        lines.addWidget(self._alike)
        self._gates = Gates(body)
        lines.addWidget(self._gates)
        budget = QWidget(body)
        budget_lines = column(budget, gap=6)
        budget_lines.addWidget(SectionLabel("Budget if approved", budget))
        self._refused = Notice(Tone.BAD, budget)
        budget_lines.addWidget(self._refused)
        self._cost = BudgetWaterfall(parent=budget)
        budget_lines.addWidget(self._cost)
        self._time = BudgetWaterfall(parent=budget)
        self._time.setAccessibleName("Active time if approved, in seconds")
        budget_lines.addWidget(self._time)
        self._time_left = label("", Text.SMALL, muted=True, wrap=True, parent=budget)
        budget_lines.addWidget(self._time_left)
        lines.addWidget(budget)
        lines.addStretch(1)
        return body

    def _build_validation(self, body: QWidget) -> QWidget:
        self._validation_part = QWidget(body)
        lines = column(self._validation_part, gap=8)
        lines.addWidget(rule(self._validation_part))
        self._covers: QCheckBox = check_box(
            "Also approve its validation",
            "One look covers both: when the step has run, the validation below runs without asking again",
            parent=self._validation_part,
        )
        self._covers.toggled.connect(self._choice_changed)
        self._filter_press(self._covers)
        lines.addWidget(self._covers)
        self._covers_means = label("", Text.SMALL, muted=True, wrap=True, parent=self._validation_part)
        lines.addWidget(self._covers_means)
        self._validation = CommandSection("Its validation", VALIDATION, self._validation_part)
        lines.addWidget(self._validation)
        lines.addWidget(rule(self._validation_part))
        return self._validation_part

    def _build_foot(self, pad: int) -> QWidget:
        foot = frame("window", self)
        line = row(foot, margins=(pad, 11, pad, 12), gap=8)
        for act, text, tip, role in (
            (Act.APPROVE, "Approve", "Approve exactly what this card shows", Role.PRIMARY),
            (
                Act.GRANT,
                "Grant…",
                "Approve it, and the same thing again a few times; what that covers is shown first",
                Role.PLAIN,
            ),
            (Act.REJECT, "Reject…", "Reject this request, with a reason; nothing runs", Role.PLAIN),
            (
                Act.HOLD,
                "Hold…",
                "Hold this step, with a reason; nothing of it starts until resumed",
                Role.PLAIN,
            ),
            (Act.RESUME, "Resume", "End the hold on this step", Role.PLAIN),
            (Act.WITHDRAW, "Withdraw", "Take the approval back before it is used", Role.PLAIN),
            (Act.ASK_AGAIN, "Ask again", "Seal the step as it is now and ask anew", Role.PLAIN),
            (Act.SHOW_NEXT, "Show the new request", "Go to the newer request of this step", Role.PLAIN),
            (Act.SHOW_GRANT, "Its grant", "Show the standing grant that approved it", Role.QUIET),
            (Act.SHOW_ORDER, "Work order", "Show the story of the work order", Role.QUIET),
        ):
            pressed = button(
                text,
                tip,
                partial(self._pressed, act),
                role=role,
                key="Ctrl+Return" if act is Act.APPROVE else "",
                shortcut=False,
                parent=foot,
            )
            self._filter_press(pressed)
            self._buttons[act] = pressed
            line.addWidget(pressed)
            pressed.hide()
        self._hint = label("", Text.SMALL, muted=True, wrap=True, parent=foot)
        self._hint.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        line.addWidget(self._hint, 1)
        self._go_there = InlineButton(
            "Go there", "Scroll to what must be seen first (End)", self._show_unseen, parent=foot
        )
        self._go_there.hide()
        line.addWidget(self._go_there)
        return foot

    # ----------------------------------------------------------------------------------------------- showing

    def _show_content(self, card: ApprovalCard, before: str) -> None:
        self._title.set_text(one_line(card.title))
        self._differences.show_lines(card.differences, before)
        self._command.show_sheet(read_plan(card), self._further_limits(card))
        self._guarantee.set_text(card.guarantee)
        self._guarantee.setVisible(bool(card.guarantee))
        self._reason.show_words(card.reason, spoken(str(card.requested_by)))
        validation = read_validation(card)
        self._validation_part.setVisible(validation is not None)
        self._covers.setChecked(card.covers_validation)
        if validation is not None:
            self._validation.show_sheet(validation)
        # Else the end of the command could count as seen where the one before it ended.
        if (layout := self._body.layout()) is not None:
            layout.activate()

    def _further_limits(self, card: ApprovalCard) -> tuple[Fact, ...]:
        return (
            Fact(
                "Expires",
                f"{self._times.stamp(card.expires_at)}",
                tip=self._times.exact(card.expires_at),
            ),
            Fact("Criteria", criteria_of(card)),
        )

    def _show_surroundings(self, card: ApprovalCard) -> None:
        """Show what may change without touching what is decided on: gates, budget, ages."""
        said = [replace(gate, why=self._times.sentence(gate.why)) for gate in card.gates]
        self._gates.show_gates(said, gates_summary(card.gates))
        refused = refusals(card.budget)
        self._refused.say(" ".join(refused), Tone.BAD)
        over_cost = next((line.name for line in reversed(card.budget) if line.cost_left < 0), "")
        over_time = next((line.name for line in reversed(card.budget) if line.active_ms_left < 0), "")
        self._cost.set_budgets(cost_budgets(card.budget), refused_by=one_line(over_cost))
        self._time.set_budgets(time_budgets(card.budget) if over_time else (), refused_by=one_line(over_time))
        self._time.setVisible(bool(over_time))
        self._time_left.setText(tightest_time(card.budget))

    def _show_times(self, *, fresh: bool = False) -> None:
        card = self._card
        if card is None:
            return
        badge, words = standing(card, self._times.judging(), self._drift), subtitle(card, self._times)
        if (badge.word, words) == (self._badge.word, self._subtitle.text()) and not fresh:
            return
        self._badge.show_look(badge)
        self._badge.setToolTip(_BADGE_TIPS.get(badge.word, ""))
        self._subtitle.set_text(words)
        self._subtitle.setToolTip(
            f"Asked {self._times.exact(card.asked_at)}\nExpires {self._times.exact(card.expires_at)}\n"
            f"Seal {card.seal}"
        )
        self._ending.say(ending(card, self._times), _ENDING_TONES.get(card.state, Tone.WARN))
        self.setAccessibleDescription(spoken_card(card, self._times))

    def _show_validation_choice(self) -> None:
        card = self._card
        if card is None or self._validation_part.isHidden():
            return
        pending = card.state is ApprovalState.PENDING
        # Requests of one seal may have different validations; only that of this card is before one's eyes.
        alone = self._alike.ticked() in ((), (card.approval_id,))
        self._covers.setEnabled(pending and alone)
        self._covers.setVisible(pending)
        if not pending:
            said = "It was approved together with the step." if card.covers_validation else ""
        elif not alone:
            said = "Only the step of those that are ticked; each validation is asked for by itself."
        elif self._covers.isChecked():
            said = "It runs by itself after the step, on the workspace as the step leaves it."
        else:
            said = "Only the step is approved. This validation is asked for after it has run."
        self._covers_means.setText(said)
        self._covers_means.setVisible(bool(said))

    def _possible(self) -> tuple[Act, ...]:
        if self._card is None:
            return ()
        return possible(
            self._card,
            self._times.judging(),
            held=self._held,
            successor=self._successor,
            read_only=self._read_only,
            drifted=bool(self._drift),
        )

    def _decidable(self) -> bool:
        return Act.APPROVE in self._possible() and (self._alike.isHidden() or bool(self._alike.ticked()))

    def _show_buttons(self) -> None:
        acts = self._possible()
        for act, pressed in self._buttons.items():
            pressed.setVisible(act in acts)
        approve = self._buttons[Act.APPROVE]
        several = len(self._alike.ticked())
        if several > 1:
            approve.setText(f"Approve {several} alike")
        else:
            approve.setText("Approve both" if self.covers_validation else "Approve")
        approve.setAccessibleName(approve.text())

    def _must_see(self) -> tuple[str, ...]:
        wanted = [COMMAND]
        if len(self._alike.ticked()) > 1:
            wanted.append(OTHERS)
        if self.covers_validation:
            wanted.append(VALIDATION)
        return tuple(wanted)

    def _choice_changed(self) -> None:
        self._show_validation_choice()
        self._guard.require(self._must_see(), decidable=self._decidable())
        self._show_buttons()
        self._refresh()

    # ---------------------------------------------------------------------------------------------- attention

    def _filter_press(self, widget: QWidget) -> None:
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Swallow a press on a button that only brought the window to the front (B-007)."""
        if event.type() in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick):
            return not self._guard.press_counts(self.isActiveWindow())
        return super().eventFilter(watched, event)

    def event(self, event: QEvent) -> bool:
        """Notice when the window comes to the front or goes, and when the card is shown or hidden."""
        match event.type():
            case QEvent.Type.WindowActivate:
                self._guard.activate()
                self._watch()
                self._refresh()
            case QEvent.Type.WindowDeactivate:
                self._guard.watch(False)
            case QEvent.Type.Show | QEvent.Type.Hide:
                self._watch()
                self._refresh()
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Ctrl+Enter approves if the guard lets it; Escape goes back; Home and End scroll. Nothing else."""
        control = (
            event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier == Qt.KeyboardModifier.ControlModifier
        )
        plain = not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        key = event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if control:
                self._look()
                if self._guard.allows_key(auto_repeat=event.isAutoRepeat()):
                    self.acted.emit(Act.APPROVE)
            return
        bar = self._scroll.verticalScrollBar()
        if key == Qt.Key.Key_Escape and plain:
            self.left.emit()
        elif key == Qt.Key.Key_End and plain:
            self._show_unseen()
        elif key == Qt.Key.Key_Home and plain:
            bar.setValue(bar.minimum())
        else:
            super().keyPressEvent(event)

    def _show_unseen(self) -> None:
        """Scroll to the first end that must be seen and was not; else to the end of the card."""
        bar = self._scroll.verticalScrollBar()
        unseen = self.readiness().unseen
        if not unseen:
            bar.setValue(bar.maximum())
            return
        part = {COMMAND: self._command.command, VALIDATION: self._validation.command}.get(
            unseen[0], self._alike
        )
        bottom = part.mapTo(self._body, part.rect().bottomLeft()).y()
        bar.setValue(bottom + 24 - self._scroll.viewport().height())

    def _pressed(self, act: Act) -> None:
        if act in (Act.APPROVE, Act.GRANT) and not self.readiness().ready:
            self._refresh()
            return
        if act in self._possible():
            self.acted.emit(act)

    def _watch(self) -> None:
        self._guard.watch(self.isVisible() and self.isActiveWindow() and self._card is not None)

    def _look(self) -> None:
        """See which commands have their end on the screen."""
        if self._card is None or not self.isVisible():
            return
        if self._command.end_is_visible():
            self._guard.saw_end(COMMAND)
        if not self._validation_part.isHidden() and self._validation.end_is_visible():
            self._guard.saw_end(VALIDATION)
        if not self._alike.isHidden() and self._alike.end_is_visible():
            self._guard.saw_end(OTHERS)

    def _refresh(self) -> None:
        ready = self.readiness()
        self._buttons[Act.APPROVE].setEnabled(ready.ready)
        self._buttons[Act.GRANT].setEnabled(ready.ready)
        none_ticked = not self._alike.isHidden() and not self._alike.ticked()
        self._hint.setText("Tick at least one request" if none_ticked else _hint(ready))
        self._go_there.setVisible(ready.block is Block.UNSEEN)
        waiting = ready.block in (Block.ARMING, Block.UNSEEN) and self.isVisible()
        if waiting and not self._tick.isActive():
            self._tick.start()
        elif not waiting and self._tick.isActive():
            self._tick.stop()

    def _on_tick(self) -> None:
        self._refresh()

    def set_read_only(self, on: bool) -> None:
        """Offer no decision any more: another console has taken over."""
        if on != self._read_only:
            self._read_only = on
            self._follow_possible()

    def _on_second(self) -> None:
        """Let ages move on; a request whose time has come changes its buttons at once."""
        if self._card is None or not self.isVisible():
            return
        self._show_times()
        self._follow_possible()

    def _follow_possible(self) -> None:
        """Show the buttons of what can be done now, if that is not what they show."""
        acts = self._possible()
        if any((act in acts) == pressed.isHidden() for act, pressed in self._buttons.items()):
            self._guard.show(self._guard.content, decidable=Act.APPROVE in acts, must_see=self._must_see())
            self._show_buttons()
            self._refresh()


_ENDING_TONES = {
    ApprovalState.PENDING: Tone.WARN,
    ApprovalState.APPROVED: Tone.OK,
    ApprovalState.REJECTED: Tone.BAD,
    ApprovalState.WITHDRAWN: Tone.NEUTRAL,
    ApprovalState.EXPIRED: Tone.WARN,
    ApprovalState.CHANGED: Tone.BAD,
    ApprovalState.CONSUMED: Tone.NEUTRAL,
}


_KEYS = "Enter goes into the card, Ctrl+Enter there approves"

_BADGE_TIPS = {
    "sealed": "Exactly this was sealed when it was asked. Right before it starts all is looked at again; any "
    "difference refuses the run.",
    "sealed · unchanged": "When this card was opened, nothing of it had changed since it was asked. Right before it "
    "starts all is looked at again; any difference refuses the run.",
    "changed on disk": "What would run now is not what was asked. Ask again to see it as it is now.",
    "changed since asked": "What would run is not what was asked or approved before. Compare both sides.",
    "expired": "Its time has passed. It can no longer be decided.",
    "consumed": "The approval was used by one run. Another run needs another approval.",
}


def _hint(ready: Readiness) -> str:
    """What stands beside the buttons: how to approve, and what is still in the way."""
    match ready.block:
        case None:
            return f"{_KEYS} · ready"
        case Block.ARMING:
            return f"{_KEYS} · ready in {max(ready.remaining_ms, 1) / 1000:.1f} s"
        case Block.UNSEEN:
            return f"Scroll to the end of the {' and of the '.join(ready.unseen)} first"
        case Block.BUSY:
            return "Sending the decision…"
    return ""
