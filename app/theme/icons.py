"""Icons: SVG files of one ink (``currentColor``), painted in a token's colour."""

from __future__ import annotations

from importlib.resources import files

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

_SIZES = (16, 20, 24, 32, 48, 64, 128, 256)


def pixmap(name: str, size: int, colour: QColor | None = None, ratio: float = 1.0) -> QPixmap:
    """Paint the icon ``name`` at ``size`` device-independent pixels; `FileNotFoundError` if there is none."""
    svg = (files("resources") / "icons" / f"{name}.svg").read_text(encoding="utf-8")
    if colour is not None:
        svg = svg.replace("currentColor", colour.name())
    made = QPixmap(QSize(size, size) * ratio)
    made.setDevicePixelRatio(ratio)
    made.fill(Qt.GlobalColor.transparent)
    painter = QPainter(made)
    QSvgRenderer(QByteArray(svg.encode())).render(painter, QRectF(0, 0, size, size))
    painter.end()
    return made


def icon(name: str, colour: QColor | None = None) -> QIcon:
    """The icon ``name`` in all usual sizes, its ink in ``colour``."""
    made = QIcon()
    for size in _SIZES:
        made.addPixmap(pixmap(name, size, colour))
    return made
