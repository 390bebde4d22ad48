"""Green, then dirty: whether the workspace is still as it was when its validation passed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from app.panels.evidence.log_view import Spawn
from app.panels.evidence.observed import change_words
from app.panels.inbox.inline_button import InlineButton
from app.panels.inbox.sections import Notice
from app.theme import Tone
from app.widgets import Times, column, spoken
from engine.execution.since import Point, Since
from engine.states import Verdict
from engine.views.values import EvidenceView

NAMED = 5
"""How many changed paths are named."""

LookSince = Callable[[str, Point], Awaitable[Since]]


class StalenessStrip(QWidget):
    """Compares the workspace with how the passed validation left it: when an attempt is opened, and on demand."""

    def __init__(self, times: Times, spawn: Spawn, since: LookSince, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._times, self._spawn, self._look_since = times, spawn, since
        self._attempt = ""
        lines = column(self)
        self._notice = Notice(Tone.NEUTRAL, self)
        self._again = InlineButton(
            "Compare now", "Compare the workspace again with how its validation left it", self.look
        )
        self._notice.add(self._again)
        lines.addWidget(self._notice)
        self.hide()

    @property
    def words(self) -> str:
        """What is said, "" where there is nothing to compare."""
        return self._notice.text()

    def show_view(self, view: EvidenceView) -> None:
        """Show whether what was validated is still so; nothing for what has not passed."""
        attempt = compared_attempt(view)
        if attempt == self._attempt:
            return
        self._attempt = attempt
        self._notice.say("", Tone.NEUTRAL)
        self.setVisible(bool(attempt))
        self.look()

    def look(self) -> None:
        """Compare now."""
        if self._attempt:
            self._spawn(self._read(self._attempt), "compare the workspace with its validation")

    async def _read(self, attempt: str) -> None:
        found = await self._look_since(attempt, Point.END)
        if isValid(self) and attempt == self._attempt:
            self._notice.say(*_told(found, self._times))


def compared_attempt(view: EvidenceView) -> str:
    """The attempt whose end the workspace is compared with, "" if no validation of this one has passed."""
    validation = view.validation
    if validation is None or validation.outcome is not Verdict.PASSED:
        return ""
    return validation.validating_attempt_id or validation.attempt_id


def _told(found: Since, times: Times) -> tuple[str, Tone]:
    when = times.stamp(found.looked_at, seconds=True)
    changes = found.changes
    if changes is None:
        return (
            f"Whether the workspace has changed since its validation is not known. {found.why_not}",
            Tone.NEUTRAL,
        )
    if not any(changes.counts):
        return f"The workspace is as it was after its validation (compared {when}).", Tone.NEUTRAL
    paths = [one.path for one in (*changes.changed, *changes.added, *changes.removed)]
    named = ", ".join(spoken(path) for path in paths[:NAMED])
    more = f" and {sum(changes.counts) - NAMED} more" if sum(changes.counts) > NAMED else ""
    return (
        f"The workspace has changed since its validation passed: {change_words(changes.counts)} (compared {when}). "
        f"What was validated is no longer what is there: {named}{more}.",
        Tone.WARN,
    )
