"""Wakes: what the alarm clock has to do, the schedules behind it, what was missed, and how late things were."""

from app.panels.wakes.page import WakesPage
from app.shell.pages import Page
from app.theme import Tone
from engine.views.values import EngineStatus


def _waiting(status: EngineStatus) -> int:
    return status.undecided + status.dead_wakes


PAGE = Page(
    "wakes",
    "Wakes",
    WakesPage,
    count=_waiting,
    tone=Tone.WARN,
    waits=True,
    search_hint="Search wakes, kinds, lanes",
    keys=(
        ("Up, Down", "Choose a wake or a schedule"),
        ("Enter, Right", "Go on to what is known of it"),
        ("Ctrl+Tab, Ctrl+Shift+Tab", "Go to the next part of the page, or the one before"),
    ),
)
"""The page as the shell's rail lists it; its number is what waits for a decision: missed schedules and dead wakes."""
