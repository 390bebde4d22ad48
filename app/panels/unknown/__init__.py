"""Unknown: every attempt of which nobody can say yet whether it took effect, and the three ways to decide it."""

from app.panels.unknown.page import UnknownPage
from app.shell.pages import Page
from app.theme import Tone
from engine.views.values import EngineStatus


def _unknown(status: EngineStatus) -> int:
    return status.unknown


PAGE = Page(
    "unknown",
    "Unknown",
    UnknownPage,
    count=_unknown,
    tone=Tone.UNKNOWN,
    waits=True,
    keys=(("Up, Down", "Choose an UNKNOWN"), ("Enter, Right", "Go on to what is known of it")),
)
"""The page as the shell's rail lists it; its number is what waits for a decision."""
