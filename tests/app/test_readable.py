"""What is painted is measured, not only what was meant: words on every page, in every theme."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QLabel, QLineEdit, QTabBar, QWidget

from app.main import open_console
from app.theme import ThemeChoice, theme
from app.theme.tokens import contrast
from app.widgets import ElidedLabel
from tests.app.test_accessibility import each_page

ALMOST = 0.97
"""Letters are smoothed, so that the ink of a thin one is a little mixed with its ground."""


def words_of(widget: QWidget) -> str:
    match widget:
        case QLineEdit():
            return widget.text() or widget.placeholderText()
        case QComboBox():
            return widget.currentText()
        case QTabBar():
            return "".join(widget.tabText(number) for number in range(widget.count()))
        case QLabel() | QAbstractButton() | ElidedLabel():
            return widget.text()
    return ""


def strongest(image: QImage) -> float:
    """The contrast between the commonest colour, the ground, and what stands out from it most."""
    rows = image.convertToFormat(QImage.Format.Format_RGB32)
    pixels: Counter[int] = Counter(memoryview(rows.constBits()).cast("I"))
    ground = QColor(pixels.most_common(1)[0][0] & 0xFFFFFF)
    return max(contrast(ground, QColor(pixel & 0xFFFFFF)) for pixel in pixels)


def too_faint(window: QWidget, needed: float) -> list[str]:
    """Which visible words of a window have less contrast than this."""
    picture = window.grab().toImage()
    found = []
    for widget in window.findChildren(QWidget):
        words = words_of(widget).strip()
        if not words or not widget.isVisible() or widget.visibleRegion().isEmpty():
            continue
        seen = widget.visibleRegion().boundingRect().translated(widget.mapTo(window, QPoint(0, 0)))
        # Without the border of buttons and fields, which has rules of its own.
        inner = QRect(seen).adjusted(3, 3, -3, -3) if not isinstance(widget, QLabel | ElidedLabel) else seen
        if min(inner.width(), inner.height()) < 8:
            continue
        ratio = strongest(picture.copy(inner))
        # A single sign ("−", "▲") is a shape, not a word.
        if ratio < (3 if len(words) == 1 else needed * ALMOST):
            found.append(f"{type(widget).__name__} “{words[:40]}”: {ratio:.2f}")
    return found


async def test_every_word_on_every_page_can_be_read_in_every_theme(qapp: QApplication, folder: Path) -> None:
    async with open_console(qapp, folder) as window:
        window.resize(1280, 800)
        window.show()
        faint: list[str] = []
        pages = await each_page(window)
        look = theme()
        assert look is not None
        for choice, needed in (
            (ThemeChoice.LIGHT, 4.5),
            (ThemeChoice.DARK, 4.5),
            (ThemeChoice.HIGH_CONTRAST, 7.0),
        ):
            look.choose(choice)
            for key in pages:
                window.go_to_page(key)
                await window.session.settled(1.0)
                faint += [f"{choice} {key}: {line}" for line in too_faint(window, needed)]
        assert faint == []


def test_the_measure_finds_faint_words(qapp: QApplication) -> None:
    for ink, least, most in (("#AAAAAA", 1.5, 3), ("#333333", 7, 21)):
        image = QImage(200, 30, QImage.Format.Format_RGB32)
        image.fill(QColor("#FFFFFF"))
        painter = QPainter(image)
        painter.setPen(QColor(ink))
        painter.drawText(10, 20, "words to be read")
        painter.end()
        assert least < strongest(image) < most
