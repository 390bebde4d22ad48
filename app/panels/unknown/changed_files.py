"""The files that changed since the dispatch: as the run left them, and what changed since."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTabBar, QWidget
from shiboken6 import isValid

from app.panels.evidence.changes import CHANGE_LOOKS, ChangeRow, Compare, change_model, change_rows
from app.panels.evidence.diff_view import DiffView
from app.panels.evidence.log_view import Spawn
from app.panels.evidence.observed import change_words
from app.panels.evidence.staleness import LookSince
from app.panels.inbox.inline_button import InlineButton
from app.panels.inbox.sections import Notice
from app.panels.rows import BadgeDelegate, RowTable
from app.theme import Look, Text, Tone
from app.widgets import SectionLabel, Times, column, label, number, row
from engine.execution.evidence import Evidence, FileChange, WorkspaceChanges
from engine.execution.since import Point, Since
from engine.workspace.manifest import EntryKind

MOST_ROWS_IN_VIEW = 7


_DURING, _SINCE = range(2)


class ChangedFiles(QWidget):
    """A table of changed files with the difference of the chosen one.

    With evidence the first tab shows what the run changed and the second what has changed since it ended. Of an
    attempt whose console was lost there is no look at the end: one tab compares the dispatch with now.
    """

    def __init__(
        self, times: Times, spawn: Spawn, since: LookSince, compare: Compare, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._times, self._spawn = times, spawn
        self._look_since, self._compare = since, compare
        self._attempt = ""
        self._evidence: Evidence | None = None
        self._since: Since | None = None
        self._wanted: tuple[str, str] | None = None
        lines = column(self, gap=6)
        head = row(gap=10)
        head.addWidget(SectionLabel("Files changed since dispatch", self))
        head.addStretch(1)
        self._looked = label("", Text.SMALL, muted=True, parent=self)
        head.addWidget(self._looked)
        self._again = InlineButton(
            "Compare now", "Look at the workspace again and compare", self._look, parent=self
        )
        head.addWidget(self._again)
        lines.addLayout(head)
        self._tabs = QTabBar(self)
        self._tabs.setDrawBase(False)
        self._tabs.setExpanding(False)
        self._tabs.setAccessibleName("Which changes")
        self._tabs.addTab("During the run")
        self._tabs.addTab("Since it ended")
        self._tabs.currentChanged.connect(self._fill)
        lines.addWidget(self._tabs)
        self._said = label("", wrap=True, selectable=True, parent=self)
        lines.addWidget(self._said)
        self._notes = Notice(Tone.NEUTRAL, self)
        lines.addWidget(self._notes)
        self._model = change_model(self)
        self._table: RowTable[ChangeRow] = RowTable(
            self._model, "Files changed since dispatch", (15, 24, 30, 30), self, rest=1
        )
        self._table.setItemDelegateForColumn(0, BadgeDelegate(self._look_at, self._table))
        self._table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._table.chosen.connect(self._on_chosen)
        lines.addWidget(self._table)
        self._diff = DiffView(self)
        lines.addWidget(self._diff)

    @property
    def table(self) -> RowTable[ChangeRow]:
        """The table of the tab in front."""
        return self._table

    @property
    def diff(self) -> DiffView:
        """The difference of the chosen file."""
        return self._diff

    @property
    def words(self) -> str:
        """What is said of the changes of the tab in front."""
        return self._said.text()

    def show_attempt(self, attempt_id: str, evidence: Evidence | None) -> None:
        """Show what another attempt changed, and look at the workspace as it is now."""
        if attempt_id == self._attempt and (evidence is None) == (self._evidence is None):
            return
        self._attempt, self._evidence, self._since = attempt_id, evidence, None
        self._looked.setText("")
        self._tabs.setTabVisible(_DURING, evidence is not None)
        self._tabs.setVisible(evidence is not None)
        self._tabs.setCurrentIndex(_DURING if evidence is not None else _SINCE)
        self._fill()
        self._look()

    def _look(self) -> None:
        self._looked.setText("Looking…")
        self._spawn(self._read_since(self._attempt), "compare the workspace")

    async def _read_since(self, attempt_id: str) -> None:
        point = Point.END if self._evidence is not None else Point.DISPATCH
        found = await self._look_since(attempt_id, point)
        if not isValid(self) or attempt_id != self._attempt:
            return
        self._since = found
        self._looked.setText(f"compared {self._times.stamp(found.looked_at, seconds=True)}")
        self._looked.setToolTip(self._times.exact(found.looked_at))
        count = sum(found.changes.counts) if found.changes is not None else None
        self._tabs.setTabText(
            _SINCE, "Since it ended" if count is None else f"Since it ended ({number(count)})"
        )
        if self._tabs.currentIndex() == _SINCE:
            self._fill()

    def _changes(self) -> WorkspaceChanges | None:
        if self._tabs.currentIndex() == _DURING:
            return self._evidence.workspace if self._evidence is not None else None
        return self._since.changes if self._since is not None else None

    def _fill(self) -> None:
        changes = self._changes()
        rows = change_rows(changes)
        self._said.setText(self._sentence(changes))
        notes = list(changes.shortcomings) if changes is not None else []
        if changes is not None and sum(changes.counts) > len(rows):
            notes.append(f"{number(len(rows))} of {number(sum(changes.counts))} changes are listed.")
        self._notes.say("\n".join(notes), Tone.NEUTRAL)
        self._diff.forget()
        self._model.replace(rows, complete=True)
        self._table.setVisible(bool(rows))
        self._diff.setVisible(bool(rows))
        shown = min(len(rows), MOST_ROWS_IN_VIEW)
        height = self._table.verticalHeader().defaultSectionSize() * shown
        self._table.setFixedHeight(height + self._table.horizontalHeader().sizeHint().height() + 4)
        if rows:
            self._table.choose(_telling(rows))

    def _sentence(self, changes: WorkspaceChanges | None) -> str:
        if self._tabs.currentIndex() == _DURING:
            if changes is None:
                return "The workspace was not compared."
            return f"{_capital(change_words(changes.counts))} between the start and the end."
        if self._since is None:
            return "Looking at the workspace…"
        if changes is None:
            return self._since.why_not
        if self._evidence is None:
            return f"{_capital(change_words(changes.counts))} between the start and now, by the command or by others."
        return f"{_capital(change_words(changes.counts))} after the run had ended, by others or by what survived it."

    def _look_at(self, place: int) -> Look:
        return CHANGE_LOOKS[self._model.row(place).kind]

    def _on_chosen(self, place: int) -> None:
        if place < 0:
            self._wanted = None
            self._diff.forget()
            return
        chosen = self._model.row(place)
        self._wanted = (self._attempt, chosen.path)
        self._spawn(self._read_file(self._wanted, chosen.change), "compare a file")

    async def _read_file(self, wanted: tuple[str, str], change: FileChange) -> None:
        found = await self._compare(wanted[0], change)
        if isValid(self) and wanted == self._wanted:
            self._diff.show_comparison(found)


def _telling(rows: Sequence[ChangeRow]) -> int:
    """The row to begin with: the first file that changed, else the first file."""
    files = [
        place
        for place, one in enumerate(rows)
        if any(
            side is not None and side.kind is EntryKind.FILE for side in (one.change.before, one.change.after)
        )
    ]
    changed = [place for place in files if rows[place].kind == "changed"]
    return (changed or files or [0])[0]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
