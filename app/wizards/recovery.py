"""The screen at a start whose database cannot be opened: nothing is touched, and the copies to go back to are shown.

Every backup is verified while the screen stands; only one that is true can be restored, with one press.
"""

from __future__ import annotations

import asyncio
import getpass
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QPushButton, QWidget
from shiboken6 import isValid

from app.theme import Shape, Text, Tone
from app.widgets import Badge, Question, Times, button, copy_text, frame, label, opened, row, spoken
from app.wizards.copies import copy_lines
from app.wizards.restore import RestoreWish
from engine.actors import Actor, ActorKind
from engine.backup import Copy, CopyKind, list_copies, verify_backup
from engine.backup.watch import watched
from engine.clock import Clock
from engine.errors import (
    DatabaseDamaged,
    DatabaseNewer,
    MigrationFailed,
    NotADatabase,
    PraxisError,
    SchemaMismatch,
)

RECOVERABLE = (DatabaseDamaged, NotADatabase, DatabaseNewer, SchemaMismatch, MigrationFailed)
"""The errors of opening that a restore can help with; the others are of the folder or the disk."""

MOST_OFFERED = 8


async def recover(folder: Path, error: PraxisError, clock: Clock) -> RestoreWish | None:
    """Show why the data cannot be opened and what there is to go back to; what the person chose, or None."""
    copies = await asyncio.to_thread(list_copies, folder)
    times = Times(clock.now)
    dialog = RecoveryScreen(error, copies[:MOST_OFFERED], times)
    checking = asyncio.ensure_future(dialog.verify_all())
    try:
        chosen = dialog.chosen if await opened(dialog) else None
    finally:
        checking.cancel()
        await asyncio.gather(checking, return_exceptions=True)
        times.deleteLater()
    if chosen is None:
        return None
    actor = Actor(ActorKind.PERSON, getpass.getuser())
    return RestoreWish(folder, chosen, actor, f"The data could not be opened: {error.what}", clock)


@dataclass(slots=True)
class _Line:
    copy: Copy
    badge: Badge
    restore: QPushButton
    said: QWidget = field(repr=False)


class RecoveryScreen(Question):
    """See the module. ``chosen`` is the copy whose Restore was pressed."""

    def __init__(self, error: PraxisError, copies: tuple[Copy, ...], times: Times) -> None:
        super().__init__(None, "The data cannot be opened", error.what)
        self.chosen: Copy | None = None
        self._lines: list[_Line] = []
        self.setMinimumWidth(720)
        if error.means:
            self.body.addWidget(label(error.means, wrap=True, selectable=True, parent=self))
        words = (
            "What is there is kept as it is when you restore. Nothing starts afterwards until you have looked."
            if copies
            else "There is no backup in this data folder. If you have one elsewhere, use: praxis restore FOLDER"
        )
        self.body.addWidget(label(words, Text.STRONG, wrap=True, parent=self))
        for copy in copies:
            self._add(copy, times)
        copied = button("Copy details", "Copy what this says, and the details", parent=self)
        copied.clicked.connect(lambda: copy_text(f"{error} [{error.code}] {error.facts}", copied))
        self.add_aside(copied)
        self.add_back("Quit").setFocus()

    async def verify_all(self) -> None:
        """Verify the copies one after the other, newest first, and let those that are true be restored."""
        for line in self._lines:
            if line.copy.problem:
                continue
            if line.copy.kind is not CopyKind.BACKUP:
                self._say(line, "CHECKED WHEN RESTORED", Tone.NEUTRAL, Shape.RING, possible=True)
                continue
            self._say(line, "VERIFYING", Tone.LIVE, Shape.RING, possible=False)
            found = await watched(partial(verify_backup, line.copy.path))
            if not isValid(self):
                return
            if found.good:
                self._say(line, "VERIFIED", Tone.OK, Shape.DOT, possible=True)
            elif found.restorable:
                self._say(line, "INCOMPLETE", Tone.WARN, Shape.SQUARE, possible=True)
            else:
                self._say(line, "NOT GOOD", Tone.BAD, Shape.CROSS, possible=False)
                line.said.setToolTip(found.problems[0].text)

    def _add(self, copy: Copy, times: Times) -> None:
        box = frame("raised", self)
        line = row(box, margins=(12, 8, 8, 8), gap=12)
        said = label("\n".join(map(spoken, copy_lines(copy, times, None))), wrap=True, parent=box)
        said.setToolTip(spoken(str(copy.path)))
        line.addWidget(said, 1)
        badge = Badge(parent=box)
        line.addWidget(badge)
        pressed = button(
            "Restore",
            "Restore this copy; the data that cannot be opened is kept aside",
            partial(self._take, copy),
            name=f"Restore {copy.path.name}",
            parent=box,
        )
        line.addWidget(pressed)
        self.body.addWidget(box)
        made = _Line(copy, badge, pressed, said)
        self._lines.append(made)
        if copy.problem:
            self._say(made, "CANNOT BE OPENED", Tone.BAD, Shape.CROSS, possible=False)
        else:
            self._say(made, "NOT VERIFIED YET", Tone.NEUTRAL, Shape.RING, possible=False)

    def _say(self, line: _Line, word: str, tone: Tone, shape: Shape, *, possible: bool) -> None:
        line.badge.show_word(word, tone, shape)
        line.restore.setEnabled(possible)

    def _take(self, copy: Copy) -> None:
        self.chosen = copy
        self.accept()
