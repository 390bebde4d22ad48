"""Backups by themselves: how often, how many to keep, and where (E-83)."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from app.session import Session
from app.theme import Text
from app.widgets import ElidedLabel, Question, ask_folder, button, check_box, label, opened, row
from app.wizards.fields import CalmSpinBox, fit_dialog
from engine.backup.schedule import BackupSchedule

HOUR_MS = 3_600_000
USUAL_HOURS, USUAL_KEEP = 24, 7
MOST_HOURS, MOST_KEPT = 24 * 31, 1_000


async def schedule_backups(window: QWidget, session: Session) -> None:
    """Show the schedule and put what the person sets in force."""
    dialog = ScheduleDialog(window, session, await session.engine.scheduled_backups.schedule())
    if await opened(dialog):
        await session.engine.scheduled_backups.set(dialog.schedule, session.actor)


class ScheduleDialog(Question):
    """See the module. ``schedule`` is what is set, None for no backups by themselves."""

    def __init__(self, parent: QWidget | None, session: Session, now: BackupSchedule | None) -> None:
        super().__init__(
            parent,
            "Scheduled backups",
            "Each is verified and its restore rehearsed. One that fails is shown at the top of the window until one "
            "succeeds. What you back up by hand is never removed.",
        )
        self._session = session
        self._place = now.place if now is not None else ""
        self._on = check_box(
            "Back up by itself",
            "Make backups while the console is open, also in the tray",
            on=now is not None,
        )
        self.body.addWidget(self._on)
        self._hours = self._number("Every", "hours", "Hours between two backups", MOST_HOURS)
        self._keep = self._number("Keep the newest", "backups", "How many of these to keep", MOST_KEPT)
        self._hours.setValue(max(1, now.every_ms // HOUR_MS) if now is not None else USUAL_HOURS)
        self._keep.setValue(now.keep if now is not None else USUAL_KEEP)
        line = row(gap=8)
        line.addWidget(label("Into", muted=True, parent=self))
        self._where = ElidedLabel("", Text.CODE, parent=self)
        line.addWidget(self._where, 1)
        self._choose = button(
            "Choose…", "Choose another folder, best on another disk", self._choose_pressed, parent=self
        )
        line.addWidget(self._choose)
        self.body.addLayout(line)
        self.add_back()
        self.add_action("Set", "Put this in force; the first backup is made at once")
        self._on.toggled.connect(lambda _: self._refresh())
        self._refresh()
        self._on.setFocus()
        fit_dialog(self, self.sizeHint())

    @property
    def schedule(self) -> BackupSchedule | None:
        """What is set."""
        if not self._on.isChecked():
            return None
        return BackupSchedule(self._hours.value() * HOUR_MS, self._keep.value(), self._place)

    def show_place(self, place: Path) -> None:
        """Make them below ``place``."""
        self._place = str(place)
        self._refresh()

    def _number(self, name: str, unit: str, tip: str, most: int) -> CalmSpinBox:
        line = row(gap=8)
        head = label(name, muted=True, parent=self)
        line.addWidget(head)
        made = CalmSpinBox(self)
        made.setRange(1, most)
        made.setSuffix(f" {unit}")
        made.setAccessibleName(f"{name} … {unit}")
        made.setToolTip(tip)
        head.setBuddy(made)
        line.addWidget(made)
        line.addStretch(1)
        self.body.addLayout(line)
        return made

    def _refresh(self) -> None:
        for widget in (self._hours, self._keep, self._choose):
            widget.setEnabled(self._on.isChecked())
        self._where.set_text(self._place or str(self._session.engine.backups.folder))

    def _choose_pressed(self) -> None:
        self._session.spawn(self._ask_place(), "choose where to back up")

    async def _ask_place(self) -> None:
        chosen = await ask_folder(self, "Where to back up", folder=Path.home())
        if chosen is not None and isValid(self):
            self.show_place(chosen)
