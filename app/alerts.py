"""What needs attention now: the strips under the command bar, newest first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from app.theme import Tone


@dataclass(frozen=True, slots=True)
class Alert:
    """One strip: what happened, what it means, and a button for what to do.

    ``key`` names the matter: raising an alert of the same key replaces the strip in place. ``pressed`` runs
    when the button ``action`` is pressed. A ``dismissable`` one may be closed; it is then gone until it is
    raised with other words.
    """

    key: str
    what: str
    means: str = ""
    tone: Tone = Tone.WARN
    action: str = ""
    pressed: Callable[[], object] | None = None
    dismissable: bool = False


class Alerts(QObject):
    """The alerts in force. ``changed`` comes after each change; an equal one again changes nothing."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._alerts: dict[str, Alert] = {}
        self._dismissed: dict[str, tuple[str, str]] = {}

    def shown(self) -> tuple[Alert, ...]:
        """The alerts to show, newest first."""
        return tuple(reversed(self._alerts.values()))

    def show(self, alert: Alert) -> None:
        """Raise an alert, or change the words of one that is there."""
        words = (alert.what, alert.means)
        if self._dismissed.get(alert.key) == words:
            return
        before = self._alerts.get(alert.key)
        if before is not None and (before.what, before.means, before.action) == (*words, alert.action):
            return
        self._alerts[alert.key] = alert
        self.changed.emit()

    def clear(self, key: str) -> None:
        """Take an alert down because its matter is over."""
        self._dismissed.pop(key, None)
        if self._alerts.pop(key, None) is not None:
            self.changed.emit()

    def dismiss(self, key: str) -> None:
        """Take an alert down because the person closed it."""
        alert = self._alerts.pop(key, None)
        if alert is not None:
            self._dismissed[key] = (alert.what, alert.means)
            self.changed.emit()
