"""What a run changed: in its workspace, outside of it, and what others changed meanwhile (B-025, B-026, B-029)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QSplitter, QWidget
from shiboken6 import isValid

from app.panels.evidence.diff_view import DiffView
from app.panels.evidence.log_view import Spawn
from app.panels.evidence.observed import change_words, head_words
from app.panels.inbox.sections import Notice
from app.panels.inbox.sheet import short_digest
from app.panels.rows import BadgeDelegate, Column, RowModel, RowTable
from app.panels.words import plain_tip
from app.theme import Look, Shape, Text, Tone
from app.widgets import EmptyState, column, label, number, spoken
from engine.durations import size_text
from engine.execution.evidence import Evidence, FileChange, FileFacts, WorkspaceChanges
from engine.execution.since import FileComparison
from engine.workspace.manifest import EntryKind

CHANGE_LOOKS = {
    "added": Look("added", Tone.OK, Shape.RING),
    "changed": Look("changed", Tone.LIVE, Shape.HALF),
    "removed": Look("removed", Tone.WARN, Shape.DASH),
}
_SAID = 20

Compare = Callable[[str, FileChange], Awaitable[FileComparison]]
"""Finds both texts of a file that an attempt changed."""


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One changed path with what stood there before and after."""

    kind: str
    path: str
    before: str
    after: str
    tip: str
    change: FileChange


def change_rows(changes: WorkspaceChanges | None) -> tuple[ChangeRow, ...]:
    """The listed changes of a workspace: added, changed, removed, each in order of path."""
    if changes is None:
        return ()
    return tuple(
        ChangeRow(
            kind,
            one.path,
            _facts(one.before),
            _facts(one.after),
            _tip(one.path, one.before, one.after),
            one,
        )
        for kind, found in (
            ("added", changes.added),
            ("changed", changes.changed),
            ("removed", changes.removed),
        )
        for one in found
    )


def change_model(parent: QObject) -> RowModel[ChangeRow]:
    """A model for a table of changed paths."""
    return RowModel(
        [
            Column("What", lambda one: one.kind),
            Column("Path", lambda one: spoken(one.path), lambda one: one.tip),
            Column("Before", lambda one: one.before, lambda one: one.tip),
            Column("After", lambda one: one.after, lambda one: one.tip),
        ],
        lambda one: f"{one.kind}\0{one.path}",
        lambda one: f"{one.kind} {spoken(one.path)}. Before: {one.before}. After: {one.after}",
        parent,
    )


class ChangesView(QWidget):
    """Shows the changes of an `Evidence`, and how the chosen file differs where its texts are found."""

    def __init__(self, spawn: Spawn, compare: Compare, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._spawn, self._compare = spawn, compare
        self._rows: tuple[ChangeRow, ...] = ()
        self._attempt = ""
        self._wanted: tuple[str, str] | None = None
        self._model = change_model(self)
        lines = column(self, margins=(18, 14, 18, 14), gap=8)
        self._count = label("", Text.STRONG, wrap=True, selectable=True, parent=self)
        self._head = label("", muted=True, wrap=True, selectable=True, parent=self)
        lines.addWidget(self._count)
        lines.addWidget(self._head)
        self._outside = Notice(Tone.BAD, self)
        self._others = Notice(Tone.WARN, self)
        self._shortcomings = Notice(Tone.NEUTRAL, self)
        for notice in (self._outside, self._others, self._shortcomings):
            lines.addWidget(notice)
        self._split = QSplitter(Qt.Orientation.Vertical, self)
        self._table: RowTable[ChangeRow] = RowTable(
            self._model, "Changed paths of the workspace", (15, 30, 30, 30), self._split, rest=1
        )
        self._table.setItemDelegateForColumn(0, BadgeDelegate(self._look_at, self._table))
        self._table.chosen.connect(self._on_chosen)
        self._diff = DiffView(self._split, fills=True)
        self._split.setChildrenCollapsible(False)
        self._split.addWidget(self._table)
        self._split.addWidget(self._diff)
        self._split.setStretchFactor(0, 1)
        self._split.setStretchFactor(1, 1)
        self._split.setSizes([200, 300])
        lines.addWidget(self._split, 1)
        self._none = EmptyState("", "", parent=self)
        self._none.hide()
        lines.addWidget(self._none, 1)
        self._room = QWidget(self)
        lines.addWidget(self._room, 1)

    @property
    def model(self) -> RowModel[ChangeRow]:
        """The listed changes."""
        return self._model

    @property
    def diff(self) -> DiffView:
        """The difference of the chosen file."""
        return self._diff

    def show_evidence(self, attempt_id: str, evidence: Evidence) -> None:
        """Show what a run changed; what is shown already stays as it is, with the chosen file."""
        self._none.hide()
        self._count.show()
        again = attempt_id == self._attempt
        self._attempt = attempt_id
        changes = evidence.workspace
        if changes is None:
            self._count.setText("The workspace was not compared.")
        else:
            self._count.setText(f"{_capital(change_words(changes.counts))} in the workspace.")
            if not any(changes.counts) and not evidence.by_others and not evidence.outside:
                self._count.hide()
                self._none.say("No files changed", "The run left the workspace as it found it.")
                self._none.show()
        head = head_words(evidence.repository_before, evidence.repository_after)
        self._head.setText(f"{head}." if head else "")
        self._head.setVisible(bool(head))
        outside = [f"{one.kind}  {spoken(one.path)}" for one in evidence.outside]
        self._outside.say(_listed("Changed outside the workspace during this run:", outside), Tone.BAD)
        others = [spoken(path) for path in evidence.by_others]
        self._others.say(_by_others(others), Tone.WARN)
        lacks = list(changes.shortcomings) if changes is not None else []
        rows = change_rows(changes)
        total = sum(changes.counts) if changes is not None else 0
        if total > len(rows):
            lacks.append(
                f"{number(len(rows))} of {number(total)} changes are listed; the manifests hold all."
            )
        self._shortcomings.say("\n".join(lacks), Tone.NEUTRAL)
        if not again or rows != self._rows:
            self._rows = rows
            self._diff.forget()
            self._model.replace(rows, complete=True)
        self._split.setVisible(bool(rows))
        self._room.setVisible(not rows)
        self._choose_first()

    def show_nothing(self, running: bool) -> None:
        """Say that nothing is known: it still runs, or its record cannot be read."""
        self._count.hide()
        self._none.say(
            *(
                ("Still running", "What changed is compared when the run has ended.")
                if running
                else ("No record", "The record of this run cannot be read.")
            )
        )
        self._head.hide()
        for notice in (self._outside, self._others, self._shortcomings):
            notice.say("", Tone.NEUTRAL)
        self._rows = ()
        self._model.replace((), complete=True)
        self._split.hide()
        self._room.hide()
        self._none.show()

    def showEvent(self, event: QShowEvent) -> None:
        """Compare the first file now that somebody looks."""
        super().showEvent(event)
        self._choose_first()

    def _choose_first(self) -> None:
        if self.isVisible() and self._rows and not self._table.currentIndex().isValid():
            self._table.choose(0)

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

    def _look_at(self, place: int) -> Look:
        return CHANGE_LOOKS[self._model.row(place).kind]


def count_of(evidence: Evidence) -> int:
    """How many changes there are in all, outside ones included: the number on the tab."""
    inside = sum(evidence.workspace.counts) if evidence.workspace is not None else 0
    return inside + len(evidence.outside)


def _facts(facts: FileFacts | None) -> str:
    if facts is None:
        return ""
    if facts.kind is EntryKind.FILE:
        digest = f" · {short_digest(facts.sha256)}" if facts.sha256 else " · content not read"
        return f"{size_text(facts.size)}{digest}"
    if facts.kind is EntryKind.LINK:
        return f"link to {spoken(facts.note)}"
    return f"{facts.kind}{f' · {facts.note}' if facts.note else ''}"


def _tip(path: str, before: FileFacts | None, after: FileFacts | None) -> str:
    lines = [spoken(path)]
    for word, facts in (("before", before), ("after", after)):
        if facts is not None:
            digest = f", sha256 {facts.sha256}" if facts.sha256 else ""
            lines.append(f"{word}: {facts.kind}, {number(facts.size)} bytes, mode {facts.mode:o}{digest}")
    return plain_tip(*lines)


def _by_others(paths: Sequence[str]) -> str:
    """What others provably changed, and what of that cannot be known (B-029)."""
    if not paths:
        return ""
    said = _listed("Workspace changed by others between the step before and the end of this run:", paths)
    return f"{said}\nWhat others changed while the command ran cannot be told from its own changes."


def _listed(head: str, items: Sequence[str]) -> str:
    if not items:
        return ""
    more = [f"and {number(len(items) - _SAID)} more"] if len(items) > _SAID else []
    return "\n".join([head, *items[:_SAID], *more])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
