"""The inbox: requests for approval, and the sealed card on which they are decided."""

from app.panels.inbox.page import InboxView
from app.shell.pages import Page
from app.theme import Tone
from engine.views.values import EngineStatus


def _waiting(status: EngineStatus) -> int:
    return status.pending_approvals


PAGE = Page(
    "inbox",
    "Inbox",
    InboxView,
    count=_waiting,
    tone=Tone.LIVE,
    waits=True,
    keys=(
        ("Up, Down", "Choose a request"),
        ("Enter", "Go on to its card; decides nothing"),
        ("End", "To the end of the command, then to the end of the card"),
        ("Ctrl+Enter", "Approve, inside the card, once it says ready"),
        ("Esc", "Back from the card to the list"),
    ),
)
"""The page as the shell's rail lists it."""
