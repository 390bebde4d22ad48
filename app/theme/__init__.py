"""How the console looks: colours, fonts, shapes, icons, and the one style sheet."""

from app.theme.fonts import Text, font
from app.theme.icons import icon, pixmap
from app.theme.shapes import draw_shape
from app.theme.states import Look, Shape, look_of, state_word
from app.theme.theme import Density, Spacing, Theme, ThemeChoice, spacing, theme, tokens
from app.theme.tokens import Tokens, Tone

__all__ = [
    "Density",
    "Look",
    "Shape",
    "Spacing",
    "Text",
    "Theme",
    "ThemeChoice",
    "Tokens",
    "Tone",
    "draw_shape",
    "font",
    "icon",
    "look_of",
    "pixmap",
    "spacing",
    "state_word",
    "theme",
    "tokens",
]
