"""One kept file by itself: a look at it, its digest, and a copy of it elsewhere."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path, PurePosixPath

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.panels.evidence.preview import Preview
from app.panels.rows import OwnedTasks
from app.session import Session
from app.theme import Text
from app.widgets import Question, ask_save_file, button, label, opened, spoken
from engine.durations import size_text
from engine.errors import PraxisError
from engine.execution.blobs import BlobStore
from engine.views.values import ProofRef


async def save_copy(window: QWidget, source: Path, name: str) -> None:
    """Let a person write a copy of a kept file elsewhere; nothing is done if they go back."""
    target = await ask_save_file(
        window, "Save a copy", filters="All files (*)", name=PurePosixPath(name).name
    )
    if target is None:
        return
    try:
        await asyncio.to_thread(shutil.copyfile, source, target)
    except OSError as error:
        raise PraxisError(
            f"The copy could not be written to {target}.",
            means=f"The system says: {error.strerror or error}.",
            do="Choose another place; the kept file itself is unchanged.",
        ) from error


class KeptFileDialog(Question):
    """Shows what a decision was based on, as it was kept."""

    def __init__(self, parent: QWidget | None, session: Session, proof: ProofRef) -> None:
        super().__init__(parent, spoken(proof.name))
        self.setMinimumWidth(640)
        self._tasks = OwnedTasks(session, self)
        self._name = proof.name
        self._file = BlobStore(session.engine.folder / "blobs").path(proof.sha256)
        facts = label(
            f"{size_text(proof.size)} · sha256 {proof.sha256}",
            Text.CODE_SMALL,
            muted=True,
            wrap=True,
            selectable=True,
            parent=self,
        )
        self.body.addWidget(facts)
        self.preview = Preview(self._tasks.spawn, self, settings=session.settings)
        self.preview.setMinimumHeight(260)
        self.body.addWidget(self.preview, 1)
        self.add_aside(
            button("Save a copy…", "Write a copy of it elsewhere", self._save_pressed, parent=self)
        )
        self.add_back("Close")
        self.preview.show_file(self._file, proof.name)

    def _save_pressed(self) -> None:
        self._tasks.spawn(save_copy(self, self._file, self._name), "save a copy")


def show_proof(window: QWidget, session: Session, proof: ProofRef) -> None:
    """Show a proof in a dialog of its own."""
    dialog = KeptFileDialog(window, session, proof)
    dialog.setWindowModality(Qt.WindowModality.WindowModal)
    session.spawn(opened(dialog), "show a proof")
