"""Verifying the journal's chain from the page: progress, a way to stop, and the result in words."""

from __future__ import annotations

import asyncio
from typing import Any

from PySide6.QtWidgets import QProgressBar, QWidget
from shiboken6 import isValid

from app.panels.inbox.sections import Notice
from app.panels.inbox.sheet import short_digest
from app.session import Session
from app.theme import Tone
from app.widgets import Role, button, column, label, number, row

_SAID = 20


class Verifying(QWidget):
    """A strip that is away until `begin`; then it shows progress, and afterwards the result until it is closed."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._task: asyncio.Task[Any] | None = None
        lines = column(self)
        self._running = QWidget(self)
        line = row(self._running, margins=(18, 8, 18, 8), gap=10)
        self._words = label("", parent=self._running)
        line.addWidget(self._words)
        self._bar = QProgressBar(self._running)
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName("Rows verified")
        self._bar.setToolTip("Rows verified")
        line.addWidget(self._bar, 1)
        line.addWidget(button("Stop", "Stop verifying", self.stop, role=Role.QUIET, name="Stop verifying"))
        lines.addWidget(self._running)
        self._result = Notice(Tone.OK, self)
        self._result.add(button("Close", "Close this line", self._close, role=Role.QUIET))
        lines.addWidget(self._result)
        self._running.hide()

    @property
    def running(self) -> bool:
        """Whether it is being verified now."""
        return self._task is not None

    @property
    def result(self) -> str:
        """The result in words, "" before there is one."""
        return self._result.text()

    def begin(self) -> None:
        """Begin, unless it is being done."""
        if self._task is None:
            self._result.say("", Tone.OK)
            self._show_progress(0, 0)
            self._running.show()
            verify = self._session.engine.verify_journal(self._show_progress)
            self._task = self._session.spawn(verify, "verify the journal")
            self._task.add_done_callback(self._ended)

    def stop(self) -> None:
        """Stop; nothing is known then."""
        if self._task is not None:
            self._task.cancel()

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._task = None
        if not isValid(self):
            return
        self._running.hide()
        if task.cancelled():
            self._result.say("Stopped. Whether the whole chain is true is not known.", Tone.NEUTRAL)
            return
        if task.exception() is not None:
            return
        report = task.result()
        rows = f"{number(report.rows)} {'row' if report.rows == 1 else 'rows'}"
        if report.sound:
            head = short_digest(report.head_hash)
            self._result.say(
                f"The chain is true: {rows} verified, up to number {number(report.head_sequence)}, head {head}."
                + _compacted_text(report.compacted, report.unconfirmed),
                Tone.OK,
            )
            return
        faults = [one.text for one in report.problems[:_SAID]]
        left = report.problem_count - len(faults)
        more = [f"and {number(left)} more"] if left > 0 else []
        count = "1 fault" if report.problem_count == 1 else f"{number(report.problem_count)} faults"
        head_line = f"The chain is NOT true. {count} in {rows}:"
        self._result.say("\n".join([head_line, *faults, *more]), Tone.BAD)

    def _show_progress(self, rows: int, newest: int) -> None:
        if isValid(self):
            # Counts may pass what Qt's bar can hold, so it goes by thousandths.
            self._bar.setRange(0, 1000 if newest else 0)
            self._bar.setValue(min(rows * 1000 // newest, 1000) if newest else 0)
            self._words.setText(f"Verifying the chain: {number(rows)} of {number(newest)} rows")

    def _close(self) -> None:
        self._result.say("", Tone.OK)


def _compacted_text(compacted: int, unconfirmed: int) -> str:
    """What stands behind checkpoints, and how far these are proven; "" if the journal is there whole."""
    if not compacted:
        return ""
    rows = f"{number(compacted)} {'row' if compacted == 1 else 'rows'}"
    signed = (
        "signed checkpoints stand for them, and the signatures are true"
        if not unconfirmed
        else f"checkpoints stand for them, {number(unconfirmed)} of which this folder's key did not sign: "
        "only the chain proves those"
    )
    return f" Retention has removed {rows}; {signed}."
