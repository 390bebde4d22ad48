"""Looking at a kept file: as a picture, as a table of tests, as ordered JSON, else as text of any size."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QImage, QImageReader, QPainter, QPaintEvent
from PySide6.QtWidgets import QPlainTextEdit, QStackedLayout, QWidget
from shiboken6 import isValid

from app.panels.evidence.junit import NotAReport, Report, read_report
from app.panels.evidence.junit_view import JUnitView
from app.panels.evidence.log_view import LogView, Spawn
from app.settings import Settings
from app.theme import Text, font, tokens
from app.widgets import EmptyState, column, frame, label

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".svg", ".ico")
MOST_PICTURE_BYTES = 64 * 1024 * 1024
MOST_JSON_BYTES = 8 * 1024 * 1024
LARGEST_SIDE = 4096


@dataclass(frozen=True, slots=True)
class Looked:
    """What a file turned out to be: one of these, or none of them for plain text; ``note`` says why."""

    picture: QImage | None = None
    picture_size: QSize | None = None
    report: Report | None = None
    ordered: str | None = None
    note: str = ""


def look(path: Path, name: str) -> Looked:
    """Look at a file by its name and content. Reads it; call it in a thread."""
    suffix = Path(name).suffix.lower()
    try:
        size = path.stat().st_size
        if suffix in PICTURES and size <= MOST_PICTURE_BYTES:
            return _picture(path.read_bytes())
        if suffix == ".xml":
            return _report(path)
        if suffix == ".json" and size <= MOST_JSON_BYTES:
            return _ordered(path.read_bytes())
    except FileNotFoundError:
        # Shown as text, which says that it is missing.
        return Looked()
    except OSError as error:
        return Looked(note=f"It cannot be read: {error.strerror or error}.")
    if suffix == ".json":
        return Looked(note="It is too large to be put in order; shown as it is.")
    return Looked()


def _picture(data: bytes) -> Looked:
    buffer = QBuffer()
    buffer.setData(QByteArray(data))
    buffer.open(QBuffer.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer)
    reader.setAutoTransform(True)
    size = reader.size()
    if size.isValid() and max(size.width(), size.height()) > LARGEST_SIDE:
        reader.setScaledSize(size.scaled(LARGEST_SIDE, LARGEST_SIDE, Qt.AspectRatioMode.KeepAspectRatio))
    image = reader.read()
    if image.isNull():
        return Looked(note="It is no picture that can be shown; shown as text.")
    return Looked(picture=image, picture_size=size if size.isValid() else image.size())


def _report(path: Path) -> Looked:
    try:
        return Looked(report=read_report(path.read_bytes()))
    except NotAReport as error:
        return Looked(note=f"No table of tests: {error} Shown as text.")


def _ordered(data: bytes) -> Looked:
    try:
        value = json.loads(data)
        return Looked(ordered=json.dumps(value, indent=2, ensure_ascii=False))
    except (ValueError, RecursionError):
        return Looked(note="It is not JSON; shown as text.")


class PictureView(QWidget):
    """A picture, no larger than the room there is, on a chequered ground where it is clear."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._image = QImage()
        self.setMinimumSize(80, 80)

    def show_picture(self, image: QImage, size: QSize, name: str) -> None:
        """Show another picture."""
        self._image = image
        self.setAccessibleName(f"Picture {name}, {size.width()} by {size.height()} pixels")
        self.setToolTip(f"{size.width()} × {size.height()} pixels")
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the picture in the middle."""
        if self._image.isNull():
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        room = QSize(self.width() - 16, self.height() - 16)
        wanted = self._image.size()
        if wanted.width() > room.width() or wanted.height() > room.height():
            wanted = wanted.scaled(room, Qt.AspectRatioMode.KeepAspectRatio)
        place = QRectF(0, 0, wanted.width(), wanted.height())
        place.moveCenter(QRectF(self.rect()).center())
        painter.fillRect(place, tokens().surface)
        chequer = tokens().chip
        step = 8
        for at_y in range(0, int(place.height()) + 1, step):
            for at_x in range((at_y // step % 2) * step, int(place.width()) + 1, 2 * step):
                cell = QRectF(place.left() + at_x, place.top() + at_y, step, step)
                painter.fillRect(cell.intersected(place), chequer)
        painter.drawImage(place, self._image)
        painter.setPen(tokens().border)
        painter.drawRect(place)


class Preview(QWidget):
    """Shows one kept file."""

    def __init__(
        self, spawn: Spawn, parent: QWidget | None = None, *, settings: Settings | None = None
    ) -> None:
        super().__init__(parent)
        self._spawn = spawn
        self._wanted: tuple[Path, str] | None = None
        lines = column(self, gap=4)
        self._note = label("", Text.SMALL, muted=True, wrap=True, parent=self)
        self._note.hide()
        lines.addWidget(self._note)
        holder = frame("window", self)
        self._stack = QStackedLayout(holder)
        self._nothing = EmptyState("Nothing chosen", "Choose a file to look at it.", parent=holder)
        self._picture = PictureView(holder)
        self._report = JUnitView(holder)
        self._ordered = QPlainTextEdit(holder)
        self._ordered.setReadOnly(True)
        self._ordered.setFont(font(Text.CODE_SMALL))
        self._ordered.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._ordered.setAccessibleName("JSON in order")
        self._ordered.setToolTip("The file's values in order; its bytes may be set otherwise")
        self._text = LogView(spawn, "Kept file", holder, settings=settings)
        for part in (self._nothing, self._picture, self._report, self._ordered, self._text):
            self._stack.addWidget(part)
        lines.addWidget(holder, 1)

    def show_file(self, path: Path, name: str) -> None:
        """Look at another file."""
        if self._wanted == (path, name):
            return
        self._wanted = (path, name)
        self._text.forget()
        self._spawn(self._look(path, name), f"look at {name}")

    def clear(self) -> None:
        """Show nothing."""
        self._wanted = None
        self._text.forget()
        self._say("")
        self._stack.setCurrentWidget(self._nothing)

    @property
    def shown(self) -> QWidget | None:
        """The part that is in view."""
        return self._stack.currentWidget()

    async def _look(self, path: Path, name: str) -> None:
        found = await asyncio.to_thread(look, path, name)
        if self._wanted != (path, name) or not isValid(self):
            return
        self._say(found.note)
        if found.picture is not None and found.picture_size is not None:
            size = found.picture_size
            self._say(f"{size.width()} × {size.height()} pixels")
            self._picture.show_picture(found.picture, size, name)
            self._stack.setCurrentWidget(self._picture)
        elif found.report is not None:
            self._report.show_report(found.report)
            self._stack.setCurrentWidget(self._report)
        elif found.ordered is not None:
            self._say("Set in order; the kept bytes may be set otherwise.")
            self._ordered.setPlainText(found.ordered)
            self._stack.setCurrentWidget(self._ordered)
        else:
            self._text.show_file(path, live=False)
            self._stack.setCurrentWidget(self._text)

    def _say(self, note: str) -> None:
        self._note.setText(note)
        self._note.setVisible(bool(note))
