"""How long what has ended is kept: what would go and what stays, the settings, and removing it now (E-84)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QCheckBox, QGridLayout, QSpinBox, QWidget
from shiboken6 import isValid

from app.session import Session
from app.theme import Tone
from app.widgets import (
    KeyValueGrid,
    Question,
    Report,
    Role,
    SectionLabel,
    Times,
    button,
    check_box,
    confirm,
    label,
    number,
    opened,
    with_progress,
)
from app.wizards.copies import count_text
from app.wizards.fields import CalmSpinBox, fit_dialog
from engine.durations import size_text
from engine.retention import SUGGESTED, KeptWork, Preview, Progress, RetentionRun, RetentionSettings

DAY_MS = 24 * 3_600_000
MOST_DAYS = 3_650
_SETTLE_MS = 250
"""How long the settings must rest before it is looked what they mean."""


async def keep_or_remove(window: QWidget, session: Session) -> None:
    """Show what is old, let a person set what may go, and remove it if they say so."""
    retention = session.engine.retention
    now, by_itself = await retention.settings(), await retention.by_itself()
    dialog = RetentionDialog(window, session, now, by_itself, await retention.last_run())
    if not await opened(dialog):
        return
    wanted, daily, remove, seen = dialog.settings, dialog.by_itself, dialog.removes, dialog.seen
    if remove and (seen is None or not await _sure(window, seen)):
        return
    if wanted != now:
        await retention.set(wanted, session.actor)
    if daily != by_itself:
        await retention.set_by_itself(daily, session.actor)
    if remove:
        await _remove(window, session)


class RetentionDialog(Question):
    """See the module. ``settings`` and ``by_itself`` are what is set, ``removes`` whether it is to be done now.

    ``seen`` is what the settings that are shown mean, None until that is found out.
    """

    def __init__(
        self,
        parent: QWidget | None,
        session: Session,
        now: RetentionSettings,
        by_itself: bool,
        last: RetentionRun | None,
    ) -> None:
        super().__init__(
            parent,
            "Retention",
            "What has ended is kept for good unless you say otherwise. What is UNKNOWN, not settled or held, and what "
            "something that stays refers to, is never removed. What is removed does not come back.",
        )
        self._session = session
        self.removes = False
        self.seen: Preview | None = None
        self._looking: asyncio.Task[object] | None = None
        self.setMinimumWidth(620)
        self._ages = QGridLayout()
        self._ages.setHorizontalSpacing(8)
        self._ages.setColumnStretch(2, 1)
        self.body.addLayout(self._ages)
        self._work, self._work_days = self._age(
            "Remove work orders", "after they ended", now.work_ms, SUGGESTED.work_ms
        )
        self._rows, self._rows_days = self._age(
            "Compact the journal", "after a row was written", now.journal_ms, SUGGESTED.journal_ms
        )
        head = label("Kept files without use go", parent=self)
        self._grace = self._days("Grace of kept files", max(1, now.grace_ms // DAY_MS))
        head.setBuddy(self._grace)
        self._add_age(head, self._grace, "after nothing refers to them any more")
        self._daily = check_box(
            "Once a day, by itself",
            "Remove each day what these settings let go; it is a schedule that stands on the page Wakes",
            on=by_itself,
        )
        self.body.addWidget(self._daily)
        self.body.addWidget(SectionLabel("What this removes now", parent=self))
        self._facts = KeyValueGrid("What this removes now", self)
        self.body.addWidget(self._facts)
        if last is not None:
            said = f"Last done {session.times.stamp(last.at)}: {run_text(last)}"
            self.body.addWidget(label(said, muted=True, wrap=True, parent=self))
        self._now = button(
            "Remove now…",
            "Put these settings in force and remove what they let go, after one more question",
            self._remove_pressed,
            role=Role.DANGER,
            parent=self,
        )
        self.add_aside(self._now)
        self.add_back()
        self.add_action("Set", "Put these settings in force; nothing is removed by that")
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(_SETTLE_MS)
        self._settle.timeout.connect(self._look)
        self._changed()
        self._look()
        self._work.setFocus()
        fit_dialog(self, self.sizeHint())

    @property
    def settings(self) -> RetentionSettings:
        """What is set."""
        return RetentionSettings(
            self._work_days.value() * DAY_MS if self._work.isChecked() else None,
            self._rows_days.value() * DAY_MS if self._rows.isChecked() else None,
            self._grace.value() * DAY_MS,
        )

    @property
    def by_itself(self) -> bool:
        """Whether it is to be done once a day."""
        return self._daily.isChecked()

    def show_preview(self, seen: Preview) -> None:
        """Show what the settings mean."""
        self.seen = seen
        facts, times = self._facts, self._session.times
        facts.clear()
        facts.add("Work orders", _orders_text(seen, times))
        facts.add("Journal", _rows_text(seen))
        facts.add(
            "Kept files",
            seen.why_no_files or _files_text(seen),
            tone=Tone.WARN if seen.why_no_files else None,
        )
        for one in seen.kept:
            facts.add("Stays", _kept_text(one), tip="It is old enough, and still needed")
        facts.add("Takes now", _size_text(seen))
        self._now.setEnabled(bool(seen.orders or seen.rows.going or seen.ready_files))
        # When the new rows are laid out it is known how high they are.
        QTimer.singleShot(0, self, self._fit)

    def _age(
        self, text: str, since: str, value: int | None, suggested: int | None
    ) -> tuple[QCheckBox, QSpinBox]:
        box = check_box(
            text, f"{text} so many days {since}; without it they are kept for good", on=value is not None
        )
        days = self._days(f"{text}: days {since}", max(1, (value or suggested or DAY_MS) // DAY_MS))
        box.toggled.connect(lambda _: self._changed())
        self._add_age(box, days, since)
        return box, days

    def _add_age(self, head: QWidget, days: QSpinBox, since: str) -> None:
        place = self._ages.rowCount()
        self._ages.addWidget(head, place, 0)
        self._ages.addWidget(days, place, 1)
        self._ages.addWidget(label(since, muted=True, parent=self), place, 2)

    def _days(self, name: str, value: int) -> QSpinBox:
        made = CalmSpinBox(self)
        made.setRange(1, MOST_DAYS)
        made.setSuffix(" days")
        made.setAccessibleName(name)
        made.setToolTip(name)
        made.setValue(value)
        made.valueChanged.connect(lambda _: self._changed())
        return made

    def _changed(self) -> None:
        """What is shown is not what is set any more; it is looked anew when the hand rests."""
        self._work_days.setEnabled(self._work.isChecked())
        self._rows_days.setEnabled(self._rows.isChecked())
        self.seen = None
        self._now.setEnabled(False)
        self._settle.start()

    def _look(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        self._looking = self._session.spawn(self._find_out(), "look what retention would remove")

    async def _find_out(self) -> None:
        seen = await self._session.engine.retention.preview(self.settings)
        if isValid(self) and seen.settings == self.settings:
            self.show_preview(seen)

    def _fit(self) -> None:
        layout = self.layout()
        if layout is not None and layout.hasHeightForWidth():
            self.resize(self.width(), layout.totalHeightForWidth(self.width()))

    def _remove_pressed(self) -> None:
        self.removes = True
        self.accept()


async def _sure(window: QWidget, seen: Preview) -> bool:
    return await confirm(
        window,
        "Remove what is old?",
        "It does not come back, except from a backup. The journal keeps what was removed.",
        action="Remove",
        danger=True,
        details=[
            f"{count_text(seen.orders, 'work order')} with {count_text(seen.attempts, 'attempt')}",
            f"{count_text(seen.rows.going, 'row')} of the journal; a signed checkpoint stands for them",
            f"{count_text(seen.ready_files, 'file')} that nothing refers to, {size_text(seen.ready_bytes)}",
        ],
    )


async def _remove(window: QWidget, session: Session) -> None:
    async def run(report: Report) -> RetentionRun:
        return await session.engine.retention.run(session.actor, progress=partial(_tell, report))

    done = await with_progress(
        window, "Removing what is old", "Work goes on meanwhile. Stopping keeps what is not removed yet.", run
    )
    if done is not None:
        await show_run(window, done)


async def show_run(window: QWidget, done: RetentionRun) -> None:
    """Say what a run removed."""
    dialog = Question(window, "Retention is done", "The journal says what was removed.")
    facts = KeyValueGrid("What was removed", dialog)
    facts.add("Work orders", f"{number(done.orders)} with {count_text(done.attempts, 'attempt')}")
    facts.add("Journal", f"{count_text(done.rows, 'row')} stand behind signed checkpoints")
    facts.add("Kept files", done.why_no_files or f"{number(done.files)}, {size_text(done.file_bytes)}")
    facts.add("Database", f"{size_text(done.database_after)}, it had {size_text(done.database_before)}")
    dialog.body.addWidget(facts)
    dialog.add_back("Close").setFocus()
    await opened(dialog)


def run_text(done: RetentionRun) -> str:
    """What a run removed, in one line."""
    return (
        f"{count_text(done.orders, 'work order')}, {count_text(done.rows, 'row')} of the journal, "
        f"{count_text(done.files, 'file')} of {size_text(done.file_bytes)}."
    )


def _tell(report: Callable[[int, int, str], None], progress: Progress) -> None:
    report(progress.done, progress.total, progress.stage.value.capitalize())


def _orders_text(seen: Preview, times: Times) -> str:
    if seen.settings.work_ms is None:
        return "none: they are kept for good"
    if not seen.orders or seen.oldest is None or seen.newest is None:
        return "none is old enough and over"
    when = f"ended {times.stamp(seen.oldest)} to {times.stamp(seen.newest)}"
    files = ""
    if seen.order_files:
        files = (
            f"; {count_text(seen.order_files, 'kept file')} of {size_text(seen.order_file_bytes)} "
            "follow after their grace"
        )
    return f"{number(seen.orders)} with {count_text(seen.attempts, 'attempt')}, {when}{files}"


def _rows_text(seen: Preview) -> str:
    if seen.settings.journal_ms is None:
        return "none: it is kept whole"
    if not seen.rows.going:
        return "no row is old enough and without use"
    return (
        f"{number(seen.rows.going)} of {number(seen.rows.old)} old rows, about {size_text(seen.rows.bytes)}"
    )


def _files_text(seen: Preview) -> str:
    if not seen.loose_files:
        return "every one is referred to"
    waiting = seen.loose_files - seen.ready_files
    more = f"; {number(waiting)} more wait for their grace" if waiting else ""
    return f"{number(seen.ready_files)} without use, {size_text(seen.ready_bytes)}{more}"


def _kept_text(one: KeptWork) -> str:
    names = ", ".join(f"WO-{number}" for number in one.numbers[:8])
    more = " and more" if one.count > len(one.numbers[:8]) else ""
    return f"{count_text(one.count, 'old work order')}: {one.words} ({names}{more})"


def _size_text(seen: Preview) -> str:
    return (
        f"database {size_text(seen.database_bytes + seen.log_bytes)}, {size_text(seen.free_bytes)} of it free · "
        f"{count_text(seen.blobs, 'kept file')} {size_text(seen.blob_bytes)} · "
        f"backups and other copies {size_text(seen.copies_bytes)}"
    )
