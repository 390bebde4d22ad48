"""The colours of the console as named tokens, one set each for light, dark and high contrast.

Painting code asks `app.theme.tokens()` at the time it paints, so that a change of theme needs nothing but a
repaint. Every pair in `TEXT_PAIRS` keeps a contrast of 4.5:1 or more and every pair in `SHAPE_PAIRS` 3:1 or more; a
test measures them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtGui import QColor


class Tone(StrEnum):
    """What a colour says. It never says it alone: a word and a shape stand beside it."""

    NEUTRAL = "neutral"
    LIVE = "live"
    OK = "ok"
    WARN = "warn"
    BAD = "bad"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Tokens:
    """One set of colours. Names ending in ``_back`` are grounds for the text colour of the same name.

    ``border`` only divides; ``edge`` is the line by which a field, a box to tick or a scroll bar is recognised.
    """

    name: str
    dark: bool
    window: QColor
    surface: QColor
    raised: QColor
    border: QColor
    edge: QColor
    text: QColor
    muted: QColor
    accent: QColor
    on_accent: QColor
    select: QColor
    live_back: QColor
    chip: QColor
    code: QColor
    ok: QColor
    ok_back: QColor
    warn: QColor
    warn_back: QColor
    bad: QColor
    bad_back: QColor
    unknown: QColor
    unknown_back: QColor
    bar_spent: QColor
    bar_reserved: QColor
    bar_frozen: QColor
    bar_this: QColor
    bar_back: QColor

    def tone(self, tone: Tone) -> tuple[QColor, QColor]:
        """Give the text colour and the ground of a tone."""
        return {
            Tone.NEUTRAL: (self.muted, self.chip),
            Tone.LIVE: (self.accent, self.live_back),
            Tone.OK: (self.ok, self.ok_back),
            Tone.WARN: (self.warn, self.warn_back),
            Tone.BAD: (self.bad, self.bad_back),
            Tone.UNKNOWN: (self.unknown, self.unknown_back),
        }[tone]


def _tokens(name: str, dark: bool, **colours: str) -> Tokens:
    return Tokens(name, dark, **{token: QColor(value) for token, value in colours.items()})


LIGHT = _tokens(
    "light",
    False,
    window="#F6F7F9",
    surface="#FFFFFF",
    raised="#FFFFFF",
    border="#D5DAE1",
    edge="#7B8591",
    text="#1B2430",
    muted="#57626F",
    accent="#1F5FBF",
    on_accent="#FFFFFF",
    select="#E3EDFB",
    live_back="#CFE0FA",
    chip="#E8ECF1",
    code="#F0F2F5",
    ok="#176B3A",
    ok_back="#E4F4EA",
    warn="#805300",
    warn_back="#FFF3D6",
    bad="#B3261E",
    bad_back="#FCE8E6",
    unknown="#7A3DB8",
    unknown_back="#F1E8FB",
    bar_spent="#76828F",
    bar_reserved="#4A80CC",
    bar_frozen="#7A3DB8",
    bar_this="#A8730C",
    bar_back="#E8ECF1",
)

DARK = _tokens(
    "dark",
    True,
    window="#15191F",
    surface="#1C222A",
    raised="#232A34",
    border="#3A4452",
    edge="#788596",
    text="#E6EAF0",
    muted="#A3AEBB",
    accent="#7FB0FF",
    on_accent="#0C1420",
    select="#26354D",
    live_back="#193459",
    chip="#2A323D",
    code="#12161B",
    ok="#6FD398",
    ok_back="#173325",
    warn="#F2C265",
    warn_back="#382C12",
    bad="#FF9A92",
    bad_back="#40201E",
    unknown="#CFA6FF",
    unknown_back="#30224A",
    bar_spent="#7C8899",
    bar_reserved="#5B8DD6",
    bar_frozen="#A874E8",
    bar_this="#D9A441",
    bar_back="#2A323D",
)

HIGH_CONTRAST = _tokens(
    "high contrast",
    True,
    window="#000000",
    surface="#000000",
    raised="#000000",
    border="#FFFFFF",
    edge="#FFFFFF",
    text="#FFFFFF",
    muted="#E4E4E4",
    accent="#8FD0FF",
    on_accent="#000000",
    select="#00305C",
    live_back="#001A33",
    chip="#242424",
    code="#000000",
    ok="#7CF5AC",
    ok_back="#00260F",
    warn="#FFDA6B",
    warn_back="#2E2300",
    bad="#FFB0A8",
    bad_back="#3D0500",
    unknown="#DFC0FF",
    unknown_back="#2A0A4A",
    bar_spent="#B8B8B8",
    bar_reserved="#4FA8FF",
    bar_frozen="#C48BFF",
    bar_this="#FFC233",
    bar_back="#242424",
)

THEMES = (LIGHT, DARK, HIGH_CONTRAST)

_GROUNDS = ("window", "surface", "raised", "select", "code")
_INKS = ("text", "muted", "accent", "ok", "warn", "bad", "unknown")

TEXT_PAIRS: tuple[tuple[str, str], ...] = (
    *((ink, ground) for ink in _INKS for ground in _GROUNDS),
    *((tone, f"{tone}_back") for tone in ("ok", "warn", "bad", "unknown")),
    *((ink, f"{tone}_back") for ink in ("text", "muted") for tone in ("ok", "warn", "bad", "unknown")),
    ("accent", "live_back"),
    ("text", "live_back"),
    ("text", "chip"),
    ("muted", "chip"),
    ("on_accent", "accent"),
    ("on_accent", "unknown"),
)
"""Every combination of text token and ground token that the console paints."""

_BARS = ("bar_spent", "bar_reserved", "bar_frozen", "bar_this")

SHAPE_PAIRS: tuple[tuple[str, str], ...] = (
    *(("edge", ground) for ground in _GROUNDS),
    *(("accent", ground) for ground in (*_GROUNDS, "chip", "live_back")),
    *((f"{tone}", f"{tone}_back") for tone in ("ok", "warn", "bad", "unknown")),
    *((bar, ground) for bar in _BARS for ground in ("bar_back", "surface", "window")),
    ("muted", "chip"),
    ("text", "window"),
)
"""Every combination of a shape, an edge, a part of a bar or a focus ring with the ground around it."""


def contrast(one: QColor, other: QColor) -> float:
    """The contrast ratio of two opaque colours by WCAG 2: 1 (none) to 21 (black on white)."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: QColor) -> float:
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (colour.redF(), colour.greenF(), colour.blueF())
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
