"""Restoring trust in the clock: three steps that a person takes with the readings before their eyes (E-33)."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPlainTextEdit, QProgressBar, QWidget

from app.panels.clock.words import signed
from app.panels.rows import OwnedTasks
from app.session import Session
from app.theme import Text
from app.widgets import Question, check_box, label, opened
from engine.views.clock import ClockView


class RestoreTrust(Question):
    """Samples, high water, reason. The button works once all three are done; nothing is done by itself."""

    def __init__(self, parent: QWidget | None, session: Session, state: ClockView) -> None:
        super().__init__(
            parent,
            "Restore trust in the clock",
            "Time is judged by again once you have confirmed it: claims are made, wakes fire, leases and approvals "
            "expire.",
        )
        self._session = session
        self._times = session.times
        self._state = state
        self._tasks = OwnedTasks(session, self)
        self._reading = False
        self.setMinimumWidth(560)
        self._build()
        self.show_state(state)
        session.times.ticked.connect(self._look)

    @property
    def reason(self) -> str:
        """What the person wrote."""
        return self._reason.toPlainText().strip()

    @property
    def lowers_high_water(self) -> bool:
        """Whether the person decided to lower the high water."""
        return self._lower.isVisibleTo(self) and self._lower.isChecked()

    def _build(self) -> None:
        body = self.body
        body.addWidget(label("1  Wall and elapsed time agree", Text.STRONG, parent=self))
        self._samples = label("", wrap=True, parent=self)
        body.addWidget(self._samples)
        self._progress = QProgressBar(self)
        self._progress.setTextVisible(False)
        self._progress.setAccessibleName("Consistent samples")
        self._progress.setToolTip("Consistent samples in a row since the last anomaly")
        self._progress.setFixedHeight(6)
        body.addWidget(self._progress)
        body.addWidget(label("2  The time is right", Text.STRONG, parent=self))
        self._now = label("", wrap=True, selectable=True, parent=self)
        body.addWidget(self._now)
        self._lower = check_box(
            "",
            "Only if the clock had been set wrong before: both values are kept in the journal",
            parent=self,
        )
        self._lower.toggled.connect(self._enable)
        body.addWidget(self._lower)
        body.addWidget(label("3  What happened", Text.STRONG, parent=self))
        self._reason = QPlainTextEdit(self)
        self._reason.setAccessibleName("Reason")
        self._reason.setToolTip("Why the time can be trusted again (Ctrl+Enter when done)")
        self._reason.setPlaceholderText(
            "What was wrong and what makes it right now. This is kept in the journal."
        )
        self._reason.setTabChangesFocus(True)
        self._reason.setFixedHeight(self._reason.fontMetrics().lineSpacing() * 3 + 16)
        self._reason.textChanged.connect(self._enable)
        body.addWidget(self._reason)
        self.add_back()
        self._done = self.add_action("Restore trust", "Trust the clock from now on (Ctrl+Enter)")
        self._done.setShortcut("Ctrl+Return")
        self._reason.setFocus()

    def show_state(self, state: ClockView) -> None:
        """Show the newest readings."""
        self._state = state
        times = self._times
        self._progress.setRange(0, state.samples_wanted)
        self._progress.setValue(state.samples)
        still = (
            "They agree."
            if state.can_be_trusted
            else "Wait a few seconds; any new step of the clock begins the count anew."
        )
        self._samples.setText(
            f"{state.samples} of {state.samples_wanted} consistent samples since the last anomaly. {still}"
        )
        now, high = state.reading.now, state.high_water
        below = state.below_high_water_ms
        if below:
            self._now.setText(
                f"It is {times.exact(now)}.\nThe latest time that was ever recorded is {times.exact(high)}, "
                f"{signed(below)} from now. Set the clock right if it is wrong now."
            )
        else:
            self._now.setText(f"It is {times.exact(now)}, not before the latest time that was ever recorded.")
        self._lower.setVisible(bool(below))
        self._lower.setText(
            f"The clock was wrong before. Lower the high water\nfrom {times.exact(high)}\nto {times.exact(now)}"
        )
        self._lower.setAccessibleName(f"Lower the high water from {times.exact(high)} to {times.exact(now)}")
        self._enable()

    def _enable(self) -> None:
        state = self._state
        high_water = not state.below_high_water_ms or self._lower.isChecked()
        self._done.setEnabled(bool(state.can_be_trusted and high_water and self.reason))
        missing = (
            "Not enough consistent samples yet"
            if not state.can_be_trusted
            else "It is before the high water"
            if not high_water
            else "A reason is needed"
        )
        self._done.setToolTip(
            "Trust the clock from now on (Ctrl+Enter)" if self._done.isEnabled() else missing
        )

    def _look(self) -> None:
        if not self._reading:
            self._reading = True
            self._tasks.spawn(self._read(), "read the clock for restoring trust")

    async def _read(self) -> None:
        try:
            self.show_state(await self._session.engine.clock_trust.state())
        finally:
            self._reading = False


async def restore_trust(parent: QWidget | None, session: Session) -> None:
    """Ask, and restore trust if the person confirms. A clock that is trusted needs nothing."""
    state = await session.engine.clock_trust.state()
    if state.trusted:
        return
    dialog = RestoreTrust(parent, session, state)
    dialog.setWindowModality(Qt.WindowModality.WindowModal)
    if await opened(dialog):
        await session.engine.clock_trust.restore(
            session.actor, dialog.reason, lower_high_water=dialog.lowers_high_water
        )
