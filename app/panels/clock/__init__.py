"""The clock: readings, trust, anomalies and what they touched, and the steps that restore trust."""

from app.panels.clock.page import ClockPage
from app.shell.pages import Page
from app.theme import Tone
from engine.views.values import EngineStatus


def _distrusted(status: EngineStatus) -> int:
    return int(not status.clock_trusted)


PAGE = Page("clock", "Clock", ClockPage, count=_distrusted, tone=Tone.BAD)
"""The page as the shell's rail lists it; its number is 1 while the clock is distrusted."""
