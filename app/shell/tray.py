"""The tray icon: how many requests wait, and whether dispatch is open, while the window is closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QColor, QFont, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QMenu, QSystemTrayIcon, QWidget

from app.session import Changes
from app.shell.commands import Commands
from app.theme import Shape, draw_shape, pixmap
from app.theme.tokens import LIGHT

if TYPE_CHECKING:
    from engine.views.values import EngineStatus

BURST_MS = 2000
"""Requests that come within this time make one notification (B-002, B-107)."""

_SIZES = (16, 20, 24, 32, 48)
_ROOM_FOR_BOTH = 24
"""Below this many pixels there is no room for the icon and a number."""


class Tray(QObject):
    """The tray icon with its menu. It exists only where the desktop has a tray.

    ``opened`` asks for the window, ``quit_asked`` for the end, ``followed(page, subjects)`` for what the message
    told of that was clicked: the page and the ids of its new things, oldest first. Its messages are a hint, never
    the record, and nothing can be decided from them.
    """

    opened = Signal()
    followed = Signal(str, tuple)
    quit_asked = Signal()

    def __init__(self, window: QWidget, commands: Commands) -> None:
        super().__init__(window)
        self._window = window
        self._pending: int | None = None
        self._unknown: int | None = None
        self._asked: set[str] = set()
        self._told: tuple[str, tuple[str, ...]] = ("", ())
        self._clock_trusted = True
        self._new = 0
        self._icon = QSystemTrayIcon(self)
        self._menu = QMenu(window)
        self._state = QAction("Praxis Console", self._menu)
        self._state.setEnabled(False)
        self._menu.addAction(self._state)
        self._menu.addSeparator()
        open_action = self._menu.addAction("Open Praxis Console")
        open_action.triggered.connect(self.opened)
        self._menu.setDefaultAction(open_action)
        self._menu.addAction(commands.pause_all)
        self._menu.addAction(commands.resume_all)
        self._menu.addSeparator()
        quit_action = self._menu.addAction("Quit…")
        quit_action.triggered.connect(self.quit_asked)
        self._icon.setContextMenu(self._menu)
        self._icon.activated.connect(self._activated)
        self._icon.messageClicked.connect(self._message_clicked)
        self._burst = QTimer(self, interval=BURST_MS, singleShot=True)
        self._burst.timeout.connect(self._tell)
        self._icon.setIcon(tray_icon(0, None))
        self._icon.setToolTip("Praxis Console")
        self._icon.show()

    @staticmethod
    def is_available() -> bool:
        """Whether the desktop has a tray."""
        return QSystemTrayIcon.isSystemTrayAvailable()

    @property
    def tooltip(self) -> str:
        """What it says in words."""
        return self._icon.toolTip()

    def show_status(self, status: EngineStatus) -> None:
        """Show a status; new requests are told of once per burst if nobody is looking."""
        state: Shape | None = None
        words = [f"{status.pending_approvals} waiting for you", f"{status.running} running"]
        if status.unknown:
            state = Shape.DIAMOND
            words.append(f"{status.unknown} UNKNOWN")
        if status.engine_hold is not None:
            state = Shape.PAUSE
            words.append("dispatch held")
        self._icon.setIcon(tray_icon(status.pending_approvals, state))
        self._icon.setToolTip("Praxis Console · " + " · ".join(words))
        self._state.setText(" · ".join(words))
        if self._clock_trusted and not status.clock_trusted and not self._window.isActiveWindow():
            self.say(
                "The clock cannot be trusted",
                "Nothing starts by time. Open the page Clock to look at it.",
                page="clock",
            )
        self._clock_trusted = status.clock_trusted
        unknown, self._unknown = self._unknown, status.unknown
        if unknown is not None and status.unknown > unknown and not self._window.isActiveWindow():
            self.say(
                "An attempt is UNKNOWN",
                "Whether it took effect is not known. Nothing of it starts again before you decide.",
                page="unknown",
            )
        before, self._pending = self._pending, status.pending_approvals
        if before is not None and status.pending_approvals > before:
            self._new += status.pending_approvals - before
            if not self._burst.isActive():
                self._burst.start()

    def take_changes(self, changes: Changes) -> None:
        """Remember which requests came, so that a click opens the very one; tell which are about to expire."""
        self._asked |= changes.happened("approval.asked")
        expiring = tuple(sorted(changes.happened("approval.expiring")))
        if expiring and not self._window.isActiveWindow():
            title = (
                "A request expires soon" if len(expiring) == 1 else f"{len(expiring)} requests expire soon"
            )
            self.say(title, "Open the inbox to decide in time.", page="inbox", subjects=expiring)

    def say(self, title: str, text: str, *, page: str = "", subjects: tuple[str, ...] = ()) -> None:
        """Show a message at the tray, as far as the desktop lets it; a click on it goes to ``page``."""
        self._told = (page, subjects)
        self._icon.showMessage(title, text, self._icon.icon())

    def hide(self) -> None:
        """Take the icon away; without this it stays as a ghost until the pointer passes."""
        self._burst.stop()
        self._icon.hide()

    def _tell(self) -> None:
        new, self._new = self._new, 0
        asked, self._asked = tuple(sorted(self._asked)), set()
        if new and not self._window.isActiveWindow():
            ask = "A new request waits" if new == 1 else f"{new} new requests wait"
            text = "Open the inbox to look at it. Nothing runs before."
            self.say(f"{ask} for you", text, page="inbox", subjects=asked)

    def _message_clicked(self) -> None:
        page, subjects = self._told
        self.opened.emit()
        if page:
            self.followed.emit(page, subjects)

    def _activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason in {
            QSystemTrayIcon.ActivationReason.Trigger,
            QSystemTrayIcon.ActivationReason.DoubleClick,
        }:
            self.opened.emit()


def tray_icon(count: int, state: Shape | None) -> QIcon:
    """The product's icon with the number that waits, and a small figure for a hold or an UNKNOWN."""
    made = QIcon()
    for size in _SIZES:
        made.addPixmap(_picture(size, count, state))
    return made


def _picture(size: int, count: int, state: Shape | None) -> QPixmap:
    if count and size < _ROOM_FOR_BOTH:
        return _number_alone(size, count, state)
    picture = pixmap("praxis", size)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    if count:
        height = size * 0.62
        width = max(height, height * (0.42 + 0.4 * len(_shown(count))))
        box = QRectF(size - width, size - height, width, height)
        _fill(painter, box, QColor("#FFFFFF"), height / 2)
        _fill(painter, box.adjusted(1, 1, -1, -1), LIGHT.bad, height / 2)
        _write(painter, box, count, int(height * 0.78))
    if state is not None:
        side = size * 0.5
        back = QRectF(0, 0, side, side)
        _fill(painter, back, QColor("#FFFFFF"), side / 2)
        inset = side * 0.22
        draw_shape(painter, back.adjusted(inset, inset, -inset, -inset), state, _ink(state))
    painter.end()
    return picture


def _number_alone(size: int, count: int, state: Shape | None) -> QPixmap:
    """The number on a tile of the state's colour: at 16 pixels nothing else could be read."""
    picture = QPixmap(size, size)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    tile = QRectF(0, 0, size, size)
    _fill(painter, tile, LIGHT.accent if state is None else _ink(state), size * 0.22)
    _write(painter, tile, count, int(size * (0.82 if count < 10 else 0.68)))
    painter.end()
    return picture


def _ink(state: Shape) -> QColor:
    return LIGHT.unknown if state is Shape.DIAMOND else LIGHT.warn


def _shown(count: int) -> str:
    return str(min(count, 99))


def _fill(painter: QPainter, box: QRectF, colour: QColor, radius: float) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    painter.drawRoundedRect(box, radius, radius)


def _write(painter: QPainter, box: QRectF, count: int, pixels: int) -> None:
    letters = QFont(QApplication.font())
    letters.setPixelSize(max(8, pixels))
    letters.setBold(True)
    painter.setFont(letters)
    painter.setPen(QColor("#FFFFFF"))
    painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), _shown(count))
