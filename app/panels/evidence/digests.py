"""The kept files of an evidence with their digests, each of which can be read again and compared (B-122)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget
from shiboken6 import isValid

from app.panels.evidence.log_view import Spawn
from app.panels.inbox.inline_button import InlineButton
from app.panels.inbox.sheet import short_digest
from app.panels.words import plain_tip
from app.theme import Look, Shape, Text, Tone
from app.widgets import Badge, SectionLabel, column, copy_text, label, row
from engine.durations import size_text
from engine.execution.blobs import BlobState
from engine.views.values import BlobRef

Verify = Callable[[str], Awaitable[str]]
"""Reads a kept file again and says whether its content is still the one of its digest."""

_LOOKS = {
    BlobState.TRUE: Look("matches", Tone.OK, Shape.CHECK),
    BlobState.MISSING: Look("MISSING", Tone.BAD, Shape.CROSS),
    BlobState.ALTERED: Look("ALTERED", Tone.BAD, Shape.TRIANGLE),
}
_READING = Look("reading…", Tone.NEUTRAL, Shape.CLOCK)
_MOST = 200


def blob_look(state: str) -> Look:
    """How the answer of a verification looks."""
    return _LOOKS[BlobState(state.lower())]


class DigestTable(QWidget):
    """Rows of kept files; "Verify now" recomputes one digest or all of them."""

    def __init__(self, spawn: Spawn, verify: Verify, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._spawn = spawn
        self._verify = verify
        self._blobs: tuple[BlobRef, ...] = ()
        self.hide()
        self._badges: dict[str, list[Badge]] = {}
        lines = column(self, gap=6)
        head = row(gap=8)
        head.addWidget(SectionLabel("Kept files and their digests", self))
        head.addStretch(1)
        self._all = InlineButton(
            "Verify all now", "Read every kept file again and compare it with its digest", self.verify_all
        )
        head.addWidget(self._all)
        lines.addLayout(head)
        self._holder = QWidget(self)
        self._grid = QGridLayout(self._holder)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(14)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(4, 1)
        lines.addWidget(self._holder)
        self._more = label("", Text.SMALL, muted=True, wrap=True, parent=self)
        lines.addWidget(self._more)

    def show_blobs(self, blobs: Sequence[BlobRef]) -> None:
        """Show these; answers of earlier verifications of others are forgotten."""
        if tuple(blobs) == self._blobs:
            return
        self._blobs = tuple(blobs)
        self._badges.clear()
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        for line, blob in enumerate(self._blobs[:_MOST]):
            self._add(line, blob)
        left = len(self._blobs) - _MOST
        self._more.setText(f"{left} more are kept; “Verify all now” reads them too." if left > 0 else "")
        self._more.setVisible(left > 0)
        self.setVisible(bool(self._blobs))

    def answer(self, sha256: str) -> str:
        """The word of the last answer about a file, "" if none was asked for."""
        return self._badges[sha256][0].word if sha256 in self._badges else ""

    def verify_all(self) -> None:
        """Verify every kept file, one after the other."""
        self._spawn(self._verify_each([blob.sha256 for blob in self._blobs]), "verify kept files")

    def verify(self, sha256: str) -> None:
        """Verify one kept file."""
        self._spawn(self._verify_each([sha256]), "verify a kept file")

    def _add(self, line: int, blob: BlobRef) -> None:
        name = blob.role if blob.path == blob.role else f"{blob.role} {blob.path}"
        head = label(_short(name), muted=True, parent=self._holder)
        head.setToolTip(plain_tip(name))
        digest = InlineButton(
            short_digest(blob.sha256),
            f"sha256 {blob.sha256}; press to copy it",
            partial(self._copy, blob.sha256),
            name=f"Copy the digest of {name}",
        )
        again = InlineButton(
            "Verify now",
            "Read the file again and compare it with its digest",
            partial(self.verify, blob.sha256),
            name=f"Verify {name} now",
        )
        size = label(size_text(blob.size), parent=self._holder)
        middle = Qt.AlignmentFlag.AlignVCenter
        badge = Badge(parent=self._holder)
        self._badges.setdefault(blob.sha256, []).append(badge)
        for at, widget in enumerate((head, size, digest, again)):
            self._grid.addWidget(widget, line, at, middle)
        self._grid.addWidget(badge, line, 4, middle | Qt.AlignmentFlag.AlignLeft)

    def _copy(self, sha256: str) -> None:
        copy_text(sha256, self)

    async def _verify_each(self, digests: Sequence[str]) -> None:
        for sha256 in dict.fromkeys(digests):
            self._say(sha256, _READING)
            state = await self._verify(sha256)
            if not isValid(self):
                return
            self._say(sha256, blob_look(state))

    def _say(self, sha256: str, look: Look) -> None:
        for badge in self._badges.get(sha256, ()):
            badge.show_look(look)


def _short(name: str) -> str:
    return name if len(name) <= 48 else f"{name[:20]}…{name[-27:]}"
