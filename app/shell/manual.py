"""The pages of the manual, read inside the console: concepts, for operators, for contributors."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from PySide6.QtCore import QRectF, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QImage, QPainter, QTextDocument
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QTextBrowser, QWidget

from app.shell.state_diagram import state_diagram
from app.theme import tokens
from app.widgets import Question, opened

PAGES = (
    ("concepts", "Concepts", "What the words mean, and a picture of all states"),
    ("operators", "For operators", "Backup, restore, the clock, UNKNOWN: what to do"),
    ("contributors", "For contributors", "A map of the rooms of the program"),
)
"""Name, title and what is in it."""

_PICTURE = "states.svg"


def page_text(name: str) -> str:
    """A page of the manual as Markdown; `FileNotFoundError` if there is none of this name."""
    return (files("resources") / "docs" / f"{name}.md").read_text(encoding="utf-8")


async def show_manual(window: QWidget, name: str) -> None:
    """Show a page until it is closed."""
    title = next(title for found, title, _ in PAGES if found == name)
    dialog = Question(window, title)
    # The dialog says the title already.
    shown = Manual(page_text(name).partition("\n")[2], dialog)
    shown.setAccessibleName(title)
    shown.setMinimumSize(min(920, window.width() - 100), min(620, window.height() - 190))
    dialog.body.addWidget(shown)
    dialog.add_back("Close")
    shown.setFocus()
    await opened(dialog)


class Manual(QTextBrowser):
    """A page of the manual. The diagram is drawn in the colours of the theme, as wide as there is room."""

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setToolTip("Arrow keys and Page Up, Page Down scroll; select and copy what you need")
        self.setOpenLinks(False)
        self.anchorClicked.connect(QDesktopServices.openUrl)
        self.setTabChangesFocus(True)
        self.document().setDocumentMargin(14)
        self.setMarkdown(text)

    def loadResource(self, kind: int, name: QUrl | str) -> Any:
        """Draw the diagram anew; everything else is not looked for."""
        asked = name.toString() if isinstance(name, QUrl) else name
        if kind == QTextDocument.ResourceType.ImageResource.value and asked.endswith(_PICTURE):
            return self._diagram()
        return None

    def _diagram(self) -> QImage:
        drawing = QSvgRenderer(state_diagram(tokens()).encode())
        size = drawing.defaultSize()
        room = max(480, self.viewport().width() - 60)
        shown = size.scaled(min(room, size.width()), size.height(), Qt.AspectRatioMode.KeepAspectRatio)
        ratio = self.devicePixelRatioF()
        image = QImage(shown * ratio, QImage.Format.Format_ARGB32_Premultiplied)
        image.setDevicePixelRatio(ratio)
        image.fill(tokens().surface)
        painter = QPainter(image)
        drawing.render(painter, QRectF(0, 0, shown.width(), shown.height()))
        painter.end()
        return image
