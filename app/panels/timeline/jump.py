"""Asking for the time to jump to."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import QDate, QDateTime, QTime, QTimeZone
from PySide6.QtWidgets import QDateTimeEdit, QWidget

from app.widgets import Question, Times, Zone, opened
from engine.instants import Instant


async def ask_time(parent: QWidget | None, times: Times, begin: Instant) -> Instant | None:
    """Ask for a date and time in the zone in force; None if the person went back."""
    local = times.zone is Zone.LOCAL
    dialog = Question(
        parent,
        "Jump to",
        f"The timeline is moved so that this time is in its middle. Zone: {times.zone_name()}.",
    )
    field = QDateTimeEdit(_shown(times.moment(begin), local), dialog)
    field.setDisplayFormat("yyyy-MM-dd HH:mm:ss")
    field.setCalendarPopup(True)
    field.setAccessibleName("Date and time")
    # A style sheet gives it no padding at the left.
    field.lineEdit().setTextMargins(6, 0, 0, 0)
    field.setToolTip("Year, month, day, hours, minutes, seconds; Up and Down change the part with the cursor")
    dialog.body.addWidget(field)
    dialog.add_back()
    dialog.add_action("Jump", "Move the timeline there").setShortcut("Return")
    field.setFocus()
    if not await opened(dialog):
        return None
    return int(field.dateTime().toMSecsSinceEpoch())


def _shown(moment: datetime, local: bool) -> QDateTime:
    zone = QTimeZone(QTimeZone.Initialization.LocalTime if local else QTimeZone.Initialization.UTC)
    return QDateTime(
        QDate(moment.year, moment.month, moment.day), QTime(moment.hour, moment.minute, moment.second), zone
    )
