"""Frames with a ground from the style sheet, and the layouts that everything is put together with."""

from __future__ import annotations

from typing import Literal, TypeVar

from PySide6.QtWidgets import QFrame, QHBoxLayout, QLayout, QVBoxLayout, QWidget

_Layout = TypeVar("_Layout", bound=QLayout)

Surface = Literal["window", "surface", "raised", "code", "bar", "foot", "rail", "side"]


def frame(surface: Surface, parent: QWidget | None = None) -> QFrame:
    """A frame with the ground of ``surface``."""
    made = QFrame(parent)
    made.setProperty("surface", surface)
    return made


def rule(parent: QWidget | None = None) -> QFrame:
    """A hairline between two parts."""
    made = QFrame(parent)
    made.setProperty("surface", "rule")
    made.setFixedHeight(1)
    return made


def column(
    widget: QWidget | None = None, *, margins: tuple[int, int, int, int] = (0, 0, 0, 0), gap: int = 0
) -> QVBoxLayout:
    """A vertical layout with stated margins (left, top, right, bottom) and gap."""
    made = QVBoxLayout(widget) if widget is not None else QVBoxLayout()
    return _set(made, margins, gap)


def row(
    widget: QWidget | None = None, *, margins: tuple[int, int, int, int] = (0, 0, 0, 0), gap: int = 8
) -> QHBoxLayout:
    """A horizontal layout with stated margins (left, top, right, bottom) and gap."""
    made = QHBoxLayout(widget) if widget is not None else QHBoxLayout()
    return _set(made, margins, gap)


def _set(layout: _Layout, margins: tuple[int, int, int, int], gap: int) -> _Layout:
    layout.setContentsMargins(*margins)
    layout.setSpacing(gap)
    return layout
