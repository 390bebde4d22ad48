"""Copies of the data in words, and the dialog to choose one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QWidget
from shiboken6 import isValid

from app.session import Session
from app.widgets import Question, Report, Times, ask_folder, button, label, number, opened, show_error, spoken
from engine.backup import Copy, CopyKind, Progress, look_at_copy
from engine.durations import size_text
from engine.errors import PraxisError
from engine.instants import Instant

_KINDS = {
    CopyKind.BACKUP: "backup",
    CopyKind.ROLLBACK: "set aside by a restore",
    CopyKind.DATABASE: "from before a new version",
}
_COPY = Qt.ItemDataRole.UserRole


def count_text(count: int, word: str) -> str:
    """A number of things: "1 work order", "2 work orders"."""
    return f"1 {word}" if count == 1 else f"{number(count)} {word}s"


def contents_text(counts: Mapping[str, int]) -> str:
    """What a database holds, in a few words."""
    parts = (("work order", "work_orders"), ("attempt", "attempts"), ("row", "journal_rows"))
    words = [count_text(counts.get(key, 0), word) for word, key in parts]
    return f"{words[0]}, {words[1]}, {words[2]} of the journal"


def copy_lines(copy: Copy, times: Times, proven_at: Instant | None) -> tuple[str, str]:
    """One copy in two lines: when and what; where and how large. The last proven one was made at ``proven_at``."""
    when = "made at an unknown time" if copy.made_at is None else times.stamp(copy.made_at)
    first = [when, _KINDS[copy.kind]]
    if copy.kind is CopyKind.BACKUP and copy.made_at is not None and copy.made_at == proven_at:
        first.append("the last proven one")
    if copy.problem:
        first.append(copy.problem)
    second = [size_text(copy.size), str(copy.path)]
    if copy.journal_sequence is not None:
        second.insert(1, f"journal up to row {number(copy.journal_sequence)}")
    return " · ".join(first), " · ".join(second)


def passed_on(report: Report, title: str = "") -> Callable[[Progress], None]:
    """Turn the engine's progress into what the progress dialog shows."""

    def tell(progress: Progress) -> None:
        words = f"{title}{progress.stage.value}".capitalize()
        report(progress.done, progress.total, words)

    return tell


async def choose_copy(
    window: QWidget, session: Session, title: str, text: str, *, action: str
) -> Copy | None:
    """Let a person choose one of the copies, or a folder elsewhere; None if they went back."""
    copies = await session.engine.backups.listed()
    dialog = CopyChoice(window, session, copies, title, text, action)
    return dialog.chosen if await opened(dialog) else None


class CopyChoice(Question):
    """A list of copies, newest first. One that cannot be opened can be looked at but not chosen."""

    def __init__(
        self,
        parent: QWidget | None,
        session: Session,
        copies: Sequence[Copy],
        title: str,
        text: str,
        action: str,
    ) -> None:
        super().__init__(parent, title, text)
        self._session = session
        self.setMinimumWidth(620)
        self.list = QListWidget(self)
        self.list.setAccessibleName("Copies, newest first")
        self.list.setToolTip("Backups of this data folder, and what restores have set aside")
        self.list.setUniformItemSizes(True)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setMinimumHeight(self.list.fontMetrics().lineSpacing() * 9)
        self.body.addWidget(self.list)
        self._none = label(
            "There is no backup yet. Make one with Data > Back up now, or choose a folder that holds one.",
            muted=True,
            wrap=True,
            parent=self,
        )
        self.body.addWidget(self._none)
        for copy in copies:
            self._add(copy)
        other = button(
            "Another folder…",
            "Choose a backup that lies somewhere else",
            self._other_pressed,
            parent=self,
        )
        self.add_aside(other)
        self.add_back()
        self.action = self.add_action(action, f"{title}: go on with the one that is chosen")
        self.list.currentItemChanged.connect(lambda *_: self._refresh())
        if copies:
            backups = (
                at for at, copy in enumerate(copies) if copy.kind is CopyKind.BACKUP and not copy.problem
            )
            self.list.setCurrentRow(next(backups, 0))
        self._refresh()
        (self.list if copies else other).setFocus()

    @property
    def chosen(self) -> Copy | None:
        """The copy that is chosen, if it can be opened."""
        item = self.list.currentItem()
        copy = None if item is None else item.data(_COPY)
        return copy if isinstance(copy, Copy) and not copy.problem else None

    def take(self, path: Path) -> None:
        """Add the copy at ``path`` and choose it; says so if there is none."""
        try:
            self._add(look_at_copy(path), first=True)
        except PraxisError as error:
            show_error(self, error)
            return
        self.list.setCurrentRow(0)

    def _add(self, copy: Copy, *, first: bool = False) -> None:
        status = self._session.status
        proven_at = None if status is None else status.proven_backup_at
        item = QListWidgetItem("\n".join(map(spoken, copy_lines(copy, self._session.times, proven_at))))
        item.setData(_COPY, copy)
        item.setToolTip(spoken(str(copy.path)))
        if copy.problem:
            item.setForeground(self.palette().placeholderText())
        self.list.insertItem(0 if first else self.list.count(), item)

    def _refresh(self) -> None:
        self.action.setEnabled(self.chosen is not None)
        self._none.setVisible(self.list.count() == 0)
        self.list.setVisible(self.list.count() > 0)

    def _other_pressed(self) -> None:
        self._session.spawn(self._ask_other(), "choose a backup")

    async def _ask_other(self) -> None:
        path = await ask_folder(self, "Choose a backup's folder", folder=self._session.engine.backups.folder)
        if path is not None and isValid(self):
            self.take(path)
