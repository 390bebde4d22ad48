"""The timeline: waits, claims, executions, judgements, holds and the clock on one time axis."""

from app.panels.timeline.page import TimelinePage
from app.shell.pages import Page

PAGE = Page(
    "timeline",
    "Timeline",
    TimelinePage,
    search_hint="Search work orders",
    keys=(
        ("Left, Right", "The bar before, the bar after in its lane"),
        ("Up, Down", "The lane above, the lane below"),
        ("Shift+Left, Shift+Right", "Earlier, later"),
        ("+, -, Ctrl and wheel", "Zoom"),
        ("Home, End", "Everything, follow now"),
        ("Ctrl+G", "Jump to a date and time"),
        ("Enter", "Open the selected bar"),
    ),
)
"""The page as the shell's rail lists it."""
