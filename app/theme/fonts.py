"""The console's fonts: the system's own for words, one monospace family for what a machine reads."""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtGui import QFont, QFontDatabase, QFontInfo
from PySide6.QtWidgets import QApplication

_UI_FALLBACKS = ("Segoe UI", "Inter", "Noto Sans", "Cantarell", "Ubuntu", "DejaVu Sans Condensed")
_CODE_FAMILIES = (
    "Cascadia Mono",
    "Consolas",
    "SF Mono",
    "Menlo",
    "JetBrains Mono",
    "Noto Sans Mono",
    "DejaVu Sans Mono",
    "monospace",
)
_SMALLEST_POINTS = 9.75
"""13 px at 100 %: what a dense window can still be read at."""


class Text(StrEnum):
    """What a text is for; `font` gives its font."""

    BODY = "body"
    STRONG = "strong"
    SMALL = "small"
    SMALL_STRONG = "small strong"
    SECTION = "section"
    TITLE = "title"
    CODE = "code"
    CODE_SMALL = "code small"


_SIZES = {
    Text.SMALL: 0.92,
    Text.SMALL_STRONG: 0.88,
    Text.SECTION: 0.85,
    Text.TITLE: 1.32,
    Text.CODE: 0.96,
    Text.CODE_SMALL: 0.88,
}
_STRONG = {Text.STRONG, Text.SMALL_STRONG, Text.SECTION, Text.TITLE}
_CODE = {Text.CODE, Text.CODE_SMALL}


def base_font() -> QFont:
    """The font of the whole application: the system's, or the first present fallback for a generic one."""
    system = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
    found = QFont(system)
    if system.family().lower() in {"sans serif", "sans-serif", "sans", ""}:
        found.setFamilies([*_UI_FALLBACKS, system.family()])
    found.setPointSizeF(max(QFontInfo(system).pointSizeF(), _SMALLEST_POINTS))
    return found


def font(role: Text = Text.BODY) -> QFont:
    """The font for a role, in proportion to the application's font. The caller may change it: it is a copy."""
    base = QApplication.font()
    made = _made.get(role)
    if made is None or made[0] != base:
        made = _made[role] = (base, _font(role, base))
    return QFont(made[1])


_made: dict[Text, tuple[QFont, QFont]] = {}
"""For each role the application's font that it was made for, and what was made: every label asks for one."""


def _font(role: Text, base: QFont) -> QFont:
    chosen = QFont(base)
    points = chosen.pointSizeF() if chosen.pointSizeF() > 0 else _SMALLEST_POINTS
    chosen.setPointSizeF(points * _SIZES.get(role, 1.0))
    if role in _STRONG:
        chosen.setWeight(QFont.Weight.DemiBold if role is Text.TITLE else QFont.Weight.Bold)
    if role is Text.SECTION:
        chosen.setCapitalization(QFont.Capitalization.AllUppercase)
        chosen.setLetterSpacing(QFont.SpacingType.PercentageSpacing, 104)
    if role in _CODE:
        chosen.setFamilies(list(_CODE_FAMILIES))
        chosen.setStyleHint(QFont.StyleHint.Monospace)
        chosen.setFixedPitch(True)
    return chosen
