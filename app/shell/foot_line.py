"""The foot line: facts of the engine that are always true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QLabel, QWidget

from app.session import Session
from app.theme import Shape, Text, Tone, draw_shape, font, tokens
from app.widgets import label, number, row, set_role
from engine.instants import Instant
from engine.states import HoldKind, NodeKind

if TYPE_CHECKING:
    from engine.views.values import EngineStatus

_HELD = {
    HoldKind.PAUSE: "paused",
    HoldKind.HOLD: "held",
    HoldKind.CLOCK: "held: clock distrusted",
    HoldKind.RESTORE: "held after restore",
    HoldKind.OVERRUN: "held: overrun",
}


class FootLine(QFrame):
    """Clock trusted or not · dispatch open or held and why · epoch · running · UNKNOWN · zone.

    Then the age of the last proven backup; at the right the writer's queue.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("surface", "foot")
        self.setAccessibleName("State of the engine")
        self._session = session
        line = row(self, margins=(12, 4, 12, 4), gap=16)
        self._clock = _Fact("clock", self, figure=True)
        self._dispatch = _Fact("dispatch", self, figure=True)
        self._epoch = _Fact("epoch", self)
        self._running = _Fact("running", self)
        self._unknown = _Fact("UNKNOWN", self)
        self._zone = _Fact("times in", self)
        self._backup = _Fact("proven backup", self)
        self._writer = _Fact("writer", self)
        self._proven_at: Instant | None = None
        self._shown_age = ""
        for fact in (
            self._clock,
            self._dispatch,
            self._epoch,
            self._running,
            self._unknown,
            self._backup,
            self._zone,
        ):
            line.addWidget(fact)
        line.addStretch(1)
        line.addWidget(self._writer)
        self._clock.setToolTip("Whether wall time may be judged by; the page Clock says why")
        self._epoch.setToolTip("Grows each time a console or server takes over this data folder")
        self._running.setToolTip("Attempts in flight now")
        self._unknown.setToolTip("Attempts of which nobody can say yet whether they took effect")
        self._writer.setToolTip("Operations waiting for the database's writer, and how long one takes")
        self._backup.setToolTip("The age of the newest backup whose restore was rehearsed without a flaw")
        session.status_changed.connect(self.show_status)
        session.times.ticked.connect(self._show_backup)
        session.times.changed.connect(self._show_zone)
        self._show_zone()
        self._clock.say("…")
        self._dispatch.say("…")
        for fact in (self._epoch, self._running, self._unknown, self._backup, self._writer):
            fact.say("–")

    def show_status(self, status: EngineStatus) -> None:
        """Show a status."""
        hold = status.engine_hold
        if status.clock_trusted:
            self._clock.say("trusted", Tone.OK, Shape.DOT)
        else:
            self._clock.say("distrusted", Tone.BAD, Shape.CLOCK)
        if status.superseded:
            self._dispatch.say("stopped: another console took over", Tone.BAD, Shape.CROSS)
        elif status.recovery_error:
            self._dispatch.say("held: recovery fails", Tone.BAD, Shape.CROSS)
        elif hold is not None:
            words = _HELD[hold.kind] + (
                f": {hold.reason}" if hold.reason and hold.kind is HoldKind.HOLD else ""
            )
            shape = Shape.PAUSE if hold.kind is HoldKind.PAUSE else Shape.SQUARE
            self._dispatch.say(words, Tone.WARN, shape)
        else:
            parts = sum(held.node_kind is not NodeKind.ENGINE for held in status.holds)
            self._dispatch.say("open" if not parts else f"open, {parts} held below", Tone.OK, Shape.DOT)
        self._dispatch.setToolTip(
            hold.reason if hold is not None and hold.reason else "Whether approved work may start"
        )
        self._epoch.say(str(status.epoch))
        self._running.say(number(status.running))
        self._unknown.say(number(status.unknown), Tone.UNKNOWN if status.unknown else Tone.NEUTRAL)
        self._proven_at = status.proven_backup_at
        self._show_backup()
        waiting = status.waiting_control + status.waiting_background
        self._writer.say(f"{number(waiting)} · {status.latency_ms:.1f} ms")

    def _show_backup(self) -> None:
        if self._session.status is None:
            return
        age = "none" if self._proven_at is None else self._session.times.age(self._proven_at)
        if age != self._shown_age:
            self._shown_age = age
            self._backup.say(age)

    def _show_zone(self) -> None:
        self._zone.say(self._session.times.zone_name())


class _Fact(QWidget):
    """A quiet name and a strong value, with a figure before them where the value is a state."""

    def __init__(self, name: str, parent: QWidget, *, figure: bool = False) -> None:
        super().__init__(parent)
        self._name = name
        self._tone, self._shape = Tone.NEUTRAL, Shape.RING
        line = row(self, gap=4)
        self._figure = _Figure(self) if figure else None
        if self._figure is not None:
            line.addWidget(self._figure, 0, Qt.AlignmentFlag.AlignVCenter)
        line.addWidget(label(name, Text.SMALL, muted=True, parent=self))
        self._value = QLabel(self)
        self._value.setTextFormat(Qt.TextFormat.PlainText)
        strong = font(Text.SMALL)
        strong.setBold(True)
        self._value.setFont(strong)
        line.addWidget(self._value)

    def say(self, value: str, tone: Tone = Tone.NEUTRAL, shape: Shape = Shape.RING) -> None:
        shown = self._value.fontMetrics().elidedText(value, Qt.TextElideMode.ElideRight, 320)
        self._value.setText(shown)
        self._value.setAccessibleName(f"{self._name} {value}")
        self.setAccessibleName(f"{self._name} {value}")
        if self._figure is not None:
            self._figure.show_tone(tone, shape)
        else:
            set_role(self._value, "unknown" if tone is Tone.UNKNOWN else "")


class _Figure(QWidget):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._tone, self._shape = Tone.NEUTRAL, Shape.RING
        self.setFixedSize(QSize(10, 10))

    def show_tone(self, tone: Tone, shape: Shape) -> None:
        self._tone, self._shape = tone, shape
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        draw_shape(QPainter(self), QRectF(self.rect()), self._shape, tokens().tone(self._tone)[0])
