"""The strips under the command bar, and which of them follow from the engine's status."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from app.alerts import Alert, Alerts
from app.session import Changes, Selection, Session
from app.shell.commands import resume
from app.theme import Shape, Text, Tone, draw_shape, tokens
from app.widgets import Role, button, column, duration_text, label, row
from app.wizards.restore import acknowledge
from engine.clock_watch import AnomalyKind
from engine.control.holds import BY_PERSON
from engine.states import HoldKind, NodeKind

if TYPE_CHECKING:
    from engine.views.values import EngineStatus, HoldRow

_MOST_SHOWN = 4
"""More strips than this would push the page out of the window; the rest is named in one until it is asked for."""

_SHAPES = {
    Tone.WARN: Shape.TRIANGLE,
    Tone.BAD: Shape.CROSS,
    Tone.UNKNOWN: Shape.DIAMOND,
    Tone.OK: Shape.CHECK,
    Tone.LIVE: Shape.DOT,
    Tone.NEUTRAL: Shape.DOT,
}


class AlertStrips(QWidget):
    """Shows the alerts, newest first."""

    def __init__(self, alerts: Alerts, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._alerts = alerts
        self._strips: list[_Strip] = []
        self._announced: dict[str, str] = {}
        self._all = False
        self._column = column(self)
        self.setAccessibleName("Alerts")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        alerts.changed.connect(self._rebuild)
        self._rebuild()

    def _rebuild(self) -> None:
        """Show what there is; a strip of the same matter stays, with the focus that may be in it, whatever it says.

        A count in a strip may change many times a second: then two labels change, and nothing is made or moved.
        """
        shown = self._alerts.shown()
        self._announce(shown)
        wanted = self._wanted(shown)
        before = {strip.form: strip for strip in self._strips}
        strips = []
        for alert in wanted:
            strip = before.pop(_form(alert), None)
            if strip is None:
                strip = _Strip(alert, self._alerts, self)
            strip.say(alert)
            strips.append(strip)
        if strips == self._strips and strips:
            return
        self._strips = strips
        for place, strip in enumerate(self._strips):
            self._column.insertWidget(place, strip)
            strip.show()
        for old in before.values():
            self._column.removeWidget(old)
            old.hide()
            old.deleteLater()
        self.setVisible(bool(self._strips))

    def _wanted(self, shown: tuple[Alert, ...]) -> list[Alert]:
        """The strips to show: all, or so many and one that names the rest."""
        if len(shown) <= _MOST_SHOWN:
            self._all = False
            return list(shown)
        if self._all:
            fewer = Alert("fewer", "That is all.", "", Tone.NEUTRAL, "Show fewer", self._turn)
            return [*shown, fewer]
        hidden = shown[_MOST_SHOWN:]
        rest = " ".join(alert.what for alert in hidden)
        return [
            *shown[:_MOST_SHOWN],
            Alert("more", f"{len(hidden)} more.", rest, Tone.NEUTRAL, "Show all", self._turn),
        ]

    def _turn(self) -> None:
        self._all = not self._all
        self._rebuild()

    def _announce(self, shown: tuple[Alert, ...]) -> None:
        """Let a screen reader say what is new, in its own time."""
        words = {alert.key: f"{alert.what} {alert.means}" for alert in shown}
        for key, said in words.items():
            if self._announced.get(key) != said:
                event = QAccessibleAnnouncementEvent(self, said)
                event.setPoliteness(QAccessible.AnnouncementPoliteness.Polite)
                QAccessible.updateAccessibility(event)
        self._announced = words


class _Strip(QFrame):
    """One alert. Its buttons are made for its form; `say` puts in the words, and what its action does now."""

    def __init__(self, alert: Alert, alerts: Alerts, parent: QWidget) -> None:
        super().__init__(parent)
        self.form = _form(alert)
        self._alert = alert
        self.setProperty("surface", f"alert-{alert.tone}")
        line = row(self, margins=(14, 4, 12, 4), gap=10)
        line.addWidget(_Figure(alert.tone, self), 0, Qt.AlignmentFlag.AlignVCenter)
        words = row(gap=6)
        self._what = label(alert.what, Text.STRONG, selectable=True, parent=self)
        self._what.setProperty(
            "role", {Tone.BAD: "danger", Tone.NEUTRAL: "", Tone.LIVE: ""}.get(alert.tone, alert.tone)
        )
        words.addWidget(self._what)
        self._means = label(alert.means, wrap=True, selectable=True, parent=self)
        words.addWidget(self._means, 1)
        line.addLayout(words, 1)
        self._action = self._dismiss = None
        if alert.action and alert.pressed is not None:
            self._action = button(alert.action, self._tip(alert), self._act, parent=self)
            line.addWidget(self._action)
        if alert.dismissable:
            self._dismiss = button(
                "Dismiss",
                "Close this; it comes back when its matter changes",
                lambda: alerts.dismiss(alert.key),
                role=Role.QUIET,
                name=f"Dismiss: {alert.what}",
                parent=self,
            )
            line.addWidget(self._dismiss)
        self.setAccessibleName(alert.what)
        self.setAccessibleDescription(alert.means)

    def say(self, alert: Alert) -> None:
        """Show an alert of the same form."""
        before, self._alert = self._alert, alert
        if (before.what, before.means) == (alert.what, alert.means):
            return
        self._what.setText(alert.what)
        self._means.setText(alert.means)
        self.setAccessibleName(alert.what)
        self.setAccessibleDescription(alert.means)
        if self._action is not None:
            self._action.setToolTip(self._tip(alert))
            self._action.setAccessibleDescription(self._tip(alert))
        if self._dismiss is not None:
            self._dismiss.setAccessibleName(f"Dismiss: {alert.what}")

    def _tip(self, alert: Alert) -> str:
        return f"{alert.action.rstrip('…')}: {alert.what}"

    def _act(self) -> None:
        if self._alert.pressed is not None:
            self._alert.pressed()


def _form(alert: Alert) -> tuple[object, ...]:
    return alert.key, alert.tone, alert.action, alert.dismissable, alert.pressed is not None


class _Figure(QWidget):
    def __init__(self, tone: Tone, parent: QWidget) -> None:
        super().__init__(parent)
        self._tone = tone
        self.setFixedSize(QSize(15, 15))

    def paintEvent(self, event: QPaintEvent) -> None:
        draw_shape(QPainter(self), QRectF(self.rect()), _SHAPES[self._tone], tokens().tone(self._tone)[0])


# ------------------------------------------------------------------------------ what the status calls for


class StandingAlerts:
    """Keeps the alerts that follow from the engine's status true."""

    def __init__(self, window: QWidget, session: Session, pages: Collection[str]) -> None:
        self._window = window
        self._session = session
        self._unknown_page = next((key for key in _WHERE_UNKNOWN_IS_SHOWN if key in pages), "")
        self._holds: set[str] = set()
        session.status_changed.connect(self.update)
        session.changed.connect(self._on_changes)

    def update(self, status: EngineStatus) -> None:
        """Raise and take down what the status calls for."""
        alerts = self._session.alerts
        wanted = {f"hold {hold.id}": hold for hold in status.holds if _is_told(hold)}
        for gone in self._holds - wanted.keys():
            alerts.clear(gone)
        self._holds = set(wanted)
        _show(alerts, "unknown", self._unknown(status))
        _show(alerts, "decision", self._decision(status))
        for key, hold in wanted.items():
            alerts.show(self._held(key, hold))
        _show(alerts, "docket", self._docket(status))
        _show(alerts, "dead wakes", self._dead_wakes(status))
        _show(alerts, "recovery", _recovery(status))
        _show(alerts, "superseded", _superseded(status))
        _show(alerts, "scheduled backup", _failed_backup(status))

    def _on_changes(self, changes: Changes) -> None:
        if "clock.suspend" in changes.kinds:
            self._session.spawn(self._tell_sleep(), "tell of sleep")

    async def _tell_sleep(self) -> None:
        """Note that the machine slept: nothing is wrong, but what came due meanwhile is late."""
        found = await self._session.engine.clock_trust.anomalies(limit=10)
        slept = next((row for row in found if row.kind is AnomalyKind.SUSPEND), None)
        if slept is None:
            return
        times = self._session.times
        self._session.alerts.show(
            Alert(
                "slept",
                f"The machine slept {duration_text(slept.size_ms)}.",
                f"From {times.stamp(slept.wall_before)} to {times.stamp(slept.wall_after)}. The clock is still "
                "trusted; what came due meanwhile is late.",
                Tone.LIVE,
                "Show",
                lambda: self._session.open_page("clock", slept.id),
                dismissable=True,
            )
        )

    def _held(self, key: str, hold: HoldRow) -> Alert:
        by = f"By {hold.actor}, {self._session.times.stamp(hold.placed_at)}."
        reason = hold.reason
        if hold.kind not in BY_PERSON:
            # A person's words stay as they are; the engine's have its times.
            reason = self._session.times.sentence(reason)
        means = " ".join(part for part in (f"“{reason}”" if reason else "", by, _MEANS[hold.kind]) if part)
        node = Selection(
            hold.node_kind,
            hold.node_id,
            "the whole engine" if hold.node_kind is NodeKind.ENGINE else hold.node_name,
        )
        where = "Dispatch" if hold.node_kind is NodeKind.ENGINE else f"“{hold.node_name}”"
        action = ""
        if hold.kind in BY_PERSON:
            action = "Resume" if hold.kind is HoldKind.PAUSE else "Answer and resume…"
        tone = Tone.BAD if hold.kind in {HoldKind.CLOCK, HoldKind.OVERRUN} else Tone.WARN
        if hold.kind is HoldKind.CLOCK:
            return Alert(
                key,
                "The clock cannot be trusted.",
                f"{hold.reason} {_MEANS[hold.kind]}",
                tone,
                "Restore trust…",
                lambda: self._session.open_page("clock", "restore"),
            )
        if hold.kind is HoldKind.RESTORE:
            return Alert(
                key,
                f"{where} is {_HELD_WORDS[hold.kind]}.",
                means,
                tone,
                "I have looked…",
                lambda: self._session.spawn(acknowledge(self._window, self._session), "after a restore"),
            )
        return Alert(
            key,
            f"{where} is {_HELD_WORDS[hold.kind]}.",
            means,
            tone,
            action,
            lambda: self._session.spawn(resume(self._window, self._session, node), "resume"),
        )

    def _unknown(self, status: EngineStatus) -> Alert | None:
        if not status.unknown:
            return None
        if status.unknown == 1:
            what = "1 attempt is UNKNOWN."
            means = "Whether it took effect is not known. Nothing of it starts again before you decide."
        else:
            what = f"{status.unknown} attempts are UNKNOWN."
            means = "Whether they took effect is not known. None of them starts again before you decide."
        return Alert(
            "unknown",
            what,
            means,
            Tone.UNKNOWN,
            _UNKNOWN_ACTIONS.get(self._unknown_page, ""),
            lambda: self._session.open_page(self._unknown_page),
            dismissable=True,
        )

    def _decision(self, status: EngineStatus) -> Alert | None:
        if not status.awaiting_decision:
            return None
        wait = "work order waits" if status.awaiting_decision == 1 else "work orders wait"
        return Alert(
            "decision",
            f"{status.awaiting_decision} {wait} for your decision.",
            "Look at what came of it and say how it goes on.",
            Tone.LIVE,
            "Show",
            lambda: self._session.open_page("work_orders", "waiting"),
            dismissable=True,
        )

    def _docket(self, status: EngineStatus) -> Alert | None:
        if not status.undecided:
            return None
        one = status.undecided == 1
        wait = "decision about what was missed waits" if one else "decisions about what was missed wait"
        return Alert(
            "docket",
            f"{status.undecided} {wait} for you.",
            "A schedule came due while nothing could run. Nothing of it starts before you decide.",
            Tone.WARN,
            "Open docket",
            lambda: self._session.open_page("wakes", "docket"),
        )

    def _dead_wakes(self, status: EngineStatus) -> Alert | None:
        if not status.dead_wakes:
            return None
        one = status.dead_wakes == 1
        return Alert(
            "dead wakes",
            "1 wake is dead." if one else f"{status.dead_wakes} wakes are dead.",
            f"{'It' if one else 'Each'} failed too often and is not tried again before you release it.",
            Tone.BAD,
            "Show",
            lambda: self._session.open_page("wakes", "dead"),
            dismissable=True,
        )


_UNKNOWN_ACTIONS = {"unknown": "Decide…", "evidence": "Look…", "work_orders": "Look…"}
_WHERE_UNKNOWN_IS_SHOWN = tuple(_UNKNOWN_ACTIONS)
_HELD_WORDS = {
    HoldKind.PAUSE: "paused",
    HoldKind.HOLD: "held",
    HoldKind.CLOCK: "held: the clock cannot be trusted",
    HoldKind.RESTORE: "held after a restore",
    HoldKind.OVERRUN: "held: a budget was overrun",
}
_MEANS = {
    HoldKind.PAUSE: "Nothing new starts; what runs goes on.",
    HoldKind.HOLD: "Nothing new starts until this is answered.",
    HoldKind.CLOCK: "Nothing starts by time until trust is restored.",
    HoldKind.RESTORE: "Nothing starts until a person has looked.",
    HoldKind.OVERRUN: "More was used than was authorised; nothing new starts in this scope.",
}


def _is_told(hold: HoldRow) -> bool:
    """Holds on the engine and on scopes concern everything; those on one work order stand on its own page."""
    return hold.node_kind in {NodeKind.ENGINE, NodeKind.SCOPE}


def _recovery(status: EngineStatus) -> Alert | None:
    if not status.recovery_error:
        return None
    return Alert(
        "recovery",
        "What an earlier run left cannot be judged.",
        f"Nothing new is dispatched until it can; it is tried again every second. {status.recovery_error}",
        Tone.BAD,
    )


def _failed_backup(status: EngineStatus) -> Alert | None:
    if not status.backup_error:
        return None
    return Alert(
        "scheduled backup",
        "The scheduled backup failed.",
        f"{status.backup_error} It is tried again by itself.",
        Tone.BAD,
        dismissable=True,
    )


def _superseded(status: EngineStatus) -> Alert | None:
    if not status.superseded:
        return None
    return Alert(
        "superseded",
        "Another console has taken over this data folder.",
        "This one starts nothing more, and what it shows may be old. Quit it and go on in the other.",
        Tone.BAD,
    )


def _show(alerts: Alerts, key: str, alert: Alert | None) -> None:
    if alert is None:
        alerts.clear(key)
    else:
        alerts.show(alert)
