"""The colours of a program's output in the colours of the theme, always readable (B-059).

The sixteen named colours become tokens; exact ones are kept as far as they can be read on their ground and
are otherwise moved towards the text colour.
"""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtGui import QColor

from app.panels.evidence.ansi import RGB, Flag, Style
from app.theme import Tokens
from app.theme.tokens import contrast

READABLE = 4.5
"""The contrast that every text keeps against its ground."""

_STEPS = 12


class Ink(NamedTuple):
    """What a run is painted with; ``ground`` None leaves the view's own ground."""

    text: QColor
    ground: QColor | None


def ink_of(style: Style, tokens: Tokens) -> Ink:
    """The colours of a style under a theme, on the ground ``tokens.code``."""
    if style.flags & Flag.CONTROL:
        return Ink(tokens.warn, tokens.warn_back)
    text = tokens.text if style.foreground is None else _text_colour(style.foreground, tokens)
    ground = None if style.background is None else _ground_colour(style.background, tokens)
    if style.flags & Flag.INVERSE:
        text, ground = ground or tokens.code, text
    if style.flags & Flag.DIM:
        text = mixed(text, ground or tokens.code, 0.35)
    return Ink(readable(text, ground or tokens.code), ground)


def readable(text: QColor, ground: QColor) -> QColor:
    """``text``, moved towards black or white as little as makes it readable on ``ground``."""
    if contrast(text, ground) >= READABLE:
        return text
    black, white = QColor("black"), QColor("white")
    end = black if contrast(black, ground) > contrast(white, ground) else white
    for step in range(1, _STEPS):
        moved = mixed(text, end, step / _STEPS)
        if contrast(moved, ground) >= READABLE:
            return moved
    return end


def mixed(one: QColor, other: QColor, share: float) -> QColor:
    """``one`` with a ``share`` of ``other`` in it."""
    keep = 1 - share
    return QColor.fromRgbF(
        one.redF() * keep + other.redF() * share,
        one.greenF() * keep + other.greenF() * share,
        one.blueF() * keep + other.blueF() * share,
    )


def _text_colour(colour: int, tokens: Tokens) -> QColor:
    if colour >= RGB:
        return QColor(colour & 0xFFFFFF)
    return (
        tokens.muted if tokens.dark else tokens.text,
        tokens.bad,
        tokens.ok,
        tokens.warn,
        tokens.accent,
        tokens.unknown,
        mixed(tokens.accent, tokens.ok, 0.5),
        tokens.text,
        tokens.muted,
        tokens.bad,
        tokens.ok,
        tokens.warn,
        tokens.accent,
        tokens.unknown,
        mixed(tokens.accent, tokens.ok, 0.5),
        tokens.text,
    )[colour]


def _ground_colour(colour: int, tokens: Tokens) -> QColor:
    if colour >= RGB:
        return QColor(colour & 0xFFFFFF)
    grounds = (
        tokens.chip,
        tokens.bad_back,
        tokens.ok_back,
        tokens.warn_back,
        tokens.select,
        tokens.unknown_back,
        mixed(tokens.select, tokens.ok_back, 0.5),
        tokens.chip,
    )
    return grounds[colour % 8]
