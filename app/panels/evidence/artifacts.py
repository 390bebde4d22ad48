"""The files that a run left and that were kept: a list, and a look at the chosen one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QStackedWidget, QWidget
from shiboken6 import isValid

from app.panels.evidence.digests import Verify, blob_look
from app.panels.evidence.kept_file import save_copy
from app.panels.evidence.log_view import Spawn
from app.panels.evidence.preview import Preview
from app.panels.inbox.inline_button import InlineButton
from app.panels.inbox.sections import Notice
from app.panels.inbox.sheet import short_digest
from app.panels.rows import Column, RowModel, RowTable
from app.panels.words import plain_tip
from app.settings import Settings
from app.theme import Tone
from app.widgets import Badge, EmptyState, button, column, label, row, spoken
from engine.durations import size_text
from engine.execution.evidence import ArtifactProblem
from engine.views.values import BlobRef

ROLES = ("artifact", "result")
"""The roles of kept files that are looked at here."""


class ArtifactsView(QWidget):
    """Shows kept files. ``blob_file`` says where the bytes of a digest are."""

    def __init__(
        self,
        spawn: Spawn,
        blob_file: Callable[[str], Path],
        verify: Verify,
        parent: QWidget | None = None,
        *,
        settings: Settings | None = None,
    ) -> None:
        super().__init__(parent)
        self._spawn = spawn
        self._settings = settings
        self._verify = verify
        self._blob_file = blob_file
        self._shown: tuple[BlobRef, ...] = ()
        self._model: RowModel[BlobRef] = RowModel(
            [
                Column("File", lambda blob: spoken(name_of(blob)), _tip),
            ],
            lambda blob: f"{blob.role}\0{blob.path}",
            lambda blob: f"{spoken(name_of(blob))}, {size_text(blob.size)}",
            self,
        )
        lines = column(self, margins=(18, 10, 18, 14), gap=8)
        self._problems = Notice(Tone.WARN, self)
        lines.addWidget(self._problems)
        self._stack = QStackedWidget(self)
        self._none = EmptyState("No artifacts", "")
        self._stack.addWidget(self._none)
        self._stack.addWidget(self._build_files(spawn))
        lines.addWidget(self._stack, 1)

    def show_files(
        self,
        blobs: Sequence[BlobRef],
        problems: Sequence[ArtifactProblem],
        patterns: Sequence[str],
        *,
        running: bool,
    ) -> None:
        """Show these kept files; ``patterns`` are what was asked for. While it runs nothing is kept yet."""
        said = [f"{spoken(one.path)}: {one.why}" for one in problems]
        self._problems.say("\n".join(said), Tone.WARN)
        wanted = tuple(blob for blob in blobs if blob.role in ROLES)
        asked = f"It asked for {', '.join(map(spoken, patterns))}." if patterns else "It asked for none."
        if running:
            self._none.say("Still running", f"Files are kept when the run has ended. {asked}")
        else:
            self._none.say("No artifacts", f"No file of this run was kept. {asked}")
        self._stack.setCurrentIndex(1 if wanted else 0)
        if wanted == self._shown:
            return
        self._shown = wanted
        self._model.replace(wanted, complete=True)
        if wanted:
            self._table.choose(0)
        else:
            self._preview.clear()

    @property
    def preview(self) -> Preview:
        """The look at the chosen file."""
        return self._preview

    def _build_files(self, spawn: Spawn) -> QWidget:
        split = QSplitter(Qt.Orientation.Horizontal, self._stack)
        split.setChildrenCollapsible(False)
        side = QWidget(split)
        side.setMinimumWidth(150)
        lines = column(side, margins=(0, 0, 8, 0), gap=6)
        self._table: RowTable[BlobRef] = RowTable(self._model, "Kept files", (), side)
        self._table.horizontalHeader().hide()
        self._table.chosen.connect(self._on_chosen)
        lines.addWidget(self._table, 1)
        line = row(gap=6)
        self._save = button("Save a copy…", "Write a copy of the chosen file elsewhere", self._save_pressed)
        line.addWidget(self._save)
        line.addStretch(1)
        lines.addLayout(line)
        split.addWidget(side)
        split.addWidget(self._build_look(spawn, split))
        split.setStretchFactor(1, 1)
        split.setSizes([200, 500])
        return split

    def _build_look(self, spawn: Spawn, split: QWidget) -> QWidget:
        holder = QWidget(split)
        lines = column(holder, margins=(8, 0, 0, 0), gap=6)
        head = row(gap=10)
        self._facts = label("", muted=True, selectable=True, parent=holder)
        head.addWidget(self._facts)
        self._again = InlineButton(
            "Verify now",
            "Read the kept file again and compare it with its digest",
            self._verify_pressed,
            parent=holder,
        )
        head.addWidget(self._again)
        self._answer = Badge(parent=holder)
        head.addWidget(self._answer)
        head.addStretch(1)
        lines.addLayout(head)
        self._preview = Preview(spawn, holder, settings=self._settings)
        lines.addWidget(self._preview, 1)
        return holder

    def _on_chosen(self, place: int) -> None:
        self._save.setEnabled(place >= 0)
        if place < 0:
            self._preview.clear()
            return
        blob = self._model.row(place)
        self._facts.setText(f"{size_text(blob.size)} · sha256 {short_digest(blob.sha256)}")
        self._facts.setToolTip(f"sha256 {blob.sha256}")
        self._answer.show_word("")
        self._preview.show_file(self._blob_file(blob.sha256), name_of(blob))

    def _verify_pressed(self) -> None:
        place = self._table.currentIndex().row()
        if place >= 0:
            self._spawn(self._verify_now(self._model.row(place)), "verify a kept file")

    async def _verify_now(self, blob: BlobRef) -> None:
        state = await self._verify(blob.sha256)
        place = self._table.currentIndex().row() if isValid(self) else -1
        if place >= 0 and self._model.row(place) == blob:
            self._answer.show_look(blob_look(state))

    def _save_pressed(self) -> None:
        place = self._table.currentIndex().row()
        if place >= 0:
            blob = self._model.row(place)
            source = self._blob_file(blob.sha256)
            self._spawn(save_copy(self.window(), source, name_of(blob)), "save a copy")


def name_of(blob: BlobRef) -> str:
    """What a kept file is called: artifacts by their path, the result record as such."""
    return "result.json" if blob.role == "result" else blob.path


def _tip(blob: BlobRef) -> str:
    return plain_tip(f"{blob.role} {spoken(blob.path)}", f"{blob.size} bytes", f"sha256 {blob.sha256}")
