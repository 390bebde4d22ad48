"""The theme of the application: Fusion with palettes of our own, so that it looks the same everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from typing import cast

from PySide6.QtCore import QDir, QObject, Qt, Signal
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication

from app.theme.fonts import base_font
from app.theme.style_sheet import style_sheet
from app.theme.tokens import DARK, HIGH_CONTRAST, LIGHT, Tokens


class ThemeChoice(StrEnum):
    """What a person chose under View; AUTO follows the system, live."""

    AUTO = "auto"
    LIGHT = "light"
    DARK = "dark"
    HIGH_CONTRAST = "high contrast"


class Density(StrEnum):
    """How much air there is between rows."""

    COMFORTABLE = "comfortable"
    COMPACT = "compact"


@dataclass(frozen=True, slots=True)
class Spacing:
    """Distances in device-independent pixels: between things, around things, above and below a row's text."""

    gap: int
    pad: int
    row_pad: int


_SPACING = {Density.COMFORTABLE: Spacing(8, 18, 8), Density.COMPACT: Spacing(6, 12, 4)}


class Theme(QObject):
    """Applies palette, font and style sheet to the application, and follows the system while on AUTO.

    It belongs to the application, where `tokens` and `spacing` find it. ``changed`` comes after a new look
    has been applied (custom painting needs nothing: it asks for `tokens` when it paints).
    """

    changed = Signal()

    def __init__(
        self,
        app: QApplication,
        choice: ThemeChoice = ThemeChoice.AUTO,
        density: Density = Density.COMFORTABLE,
    ) -> None:
        super().__init__(app)
        self._app = app
        self._choice = choice
        self._density = density
        app.setStyle("Fusion")
        QDir.setSearchPaths("icons", [str(files("resources") / "icons")])
        app.setFont(base_font())
        # Both are kept: PySide forgets the accessibility hints when the Python side of their owner goes.
        self._hints = app.styleHints()
        self._hints.colorSchemeChanged.connect(self._system_changed)
        self._contrast = self._hints.accessibility()
        self._contrast.contrastPreferenceChanged.connect(self._system_changed)
        self.tokens = LIGHT
        self._ask_system_for(choice)
        self._apply()

    @property
    def choice(self) -> ThemeChoice:
        """What was chosen, not what it came to; that is ``tokens.name``."""
        return self._choice

    @property
    def density(self) -> Density:
        """The chosen density."""
        return self._density

    @property
    def spacing(self) -> Spacing:
        """The distances of the chosen density."""
        return _SPACING[self._density]

    def choose(self, choice: ThemeChoice | None = None, density: Density | None = None) -> None:
        """Change what is given, apply it at once, and tell with ``changed``."""
        if choice is not None and choice is not self._choice:
            self._choice = choice
            self._ask_system_for(choice)
        self._density = density or self._density
        self._apply()

    def _ask_system_for(self, choice: ThemeChoice) -> None:
        """Let the system draw its parts (title bars, file dialogs) in the same scheme."""
        hints = self._hints
        if choice is ThemeChoice.AUTO:
            hints.unsetColorScheme()
        elif choice is ThemeChoice.LIGHT:
            hints.setColorScheme(Qt.ColorScheme.Light)
        else:
            hints.setColorScheme(Qt.ColorScheme.Dark)

    def _system_changed(self) -> None:
        if self._choice is ThemeChoice.AUTO:
            self._apply()

    def _resolve(self) -> Tokens:
        match self._choice:
            case ThemeChoice.LIGHT:
                return LIGHT
            case ThemeChoice.DARK:
                return DARK
            case ThemeChoice.HIGH_CONTRAST:
                return HIGH_CONTRAST
        if self._contrast.contrastPreference() is Qt.ContrastPreference.HighContrast:
            return HIGH_CONTRAST
        return DARK if self._hints.colorScheme() is Qt.ColorScheme.Dark else LIGHT

    def _apply(self) -> None:
        self.tokens = self._resolve()
        self._app.setPalette(palette(self.tokens))
        self._app.setStyleSheet(style_sheet(self.tokens, compact=self._density is Density.COMPACT))
        self.changed.emit()


def palette(tokens: Tokens) -> QPalette:
    """The Qt palette of a set of tokens; greyed parts stay readable (`muted`)."""
    role = QPalette.ColorRole
    made = QPalette()
    colours: dict[QPalette.ColorRole, QColor] = {
        role.Window: tokens.window,
        role.WindowText: tokens.text,
        role.Base: tokens.surface,
        role.AlternateBase: tokens.code,
        role.Text: tokens.text,
        role.PlaceholderText: tokens.muted,
        role.Button: tokens.raised,
        role.ButtonText: tokens.text,
        role.BrightText: tokens.bad,
        role.Highlight: tokens.select,
        role.HighlightedText: tokens.text,
        role.Link: tokens.accent,
        role.LinkVisited: tokens.unknown,
        role.ToolTipBase: tokens.raised,
        role.ToolTipText: tokens.text,
        role.Light: tokens.raised,
        role.Midlight: tokens.border,
        role.Mid: tokens.border,
        role.Dark: tokens.border,
        role.Shadow: tokens.border,
        role.Accent: tokens.accent,
    }
    for name, colour in colours.items():
        made.setColor(name, colour)
    for name in (role.WindowText, role.Text, role.ButtonText, role.HighlightedText):
        made.setColor(QPalette.ColorGroup.Disabled, name, tokens.muted)
    return made


def theme() -> Theme | None:
    """The application's theme, or None before one was made."""
    app = QApplication.instance()
    if app is None:
        return None
    return cast("Theme | None", app.findChild(Theme, "", Qt.FindChildOption.FindDirectChildrenOnly))


def tokens() -> Tokens:
    """The colours in force now. Ask when painting, do not keep them."""
    found = theme()
    return found.tokens if found is not None else LIGHT


def spacing() -> Spacing:
    """The distances in force now."""
    found = theme()
    return found.spacing if found is not None else _SPACING[Density.COMFORTABLE]
