"""Evidence: what was observed of each attempt, beside what the worker claims."""

from app.panels.evidence.page import EvidencePage
from app.shell.pages import Page
from app.theme import Tone
from engine.views.values import EngineStatus


def _running(status: EngineStatus) -> int:
    return status.running


PAGE = Page(
    "evidence",
    "Evidence",
    EvidencePage,
    count=_running,
    tone=Tone.LIVE,
    keys=(
        ("Up, Down", "Choose an attempt"),
        ("Enter, Right", "Go on to its evidence"),
        ("End", "In the output: go to the end and follow"),
        ("Ctrl+Home", "In the output: go to the start of the file"),
        ("Ctrl+Shift+F", "Find in the output"),
        ("Alt+Z", "Wrap long lines of the output, or not"),
        ("F3, Shift+F3", "Next and previous match"),
    ),
)
"""The page as the shell's rail lists it; its number is what runs now."""
