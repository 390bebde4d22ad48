"""The journal: every state change in order, and whether its chain is true."""

from app.panels.journal.page import JournalView
from app.shell.pages import Page

PAGE = Page("journal", "Journal", JournalView, search_hint="WO-118, a kind, a name, a word")
"""The page as the shell's rail lists it."""
