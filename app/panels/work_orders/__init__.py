"""Work orders: the list, and the story of each from request to acceptance."""

from app.panels.work_orders.page import WorkOrdersView
from app.shell.pages import Page
from engine.views.values import EngineStatus


def _open(status: EngineStatus) -> int:
    return status.open_work_orders


PAGE = Page(
    "work_orders",
    "Work orders",
    WorkOrdersView,
    count=_open,
    search_hint="Title, folder, project or number",
    keys=(("Up, Down", "Choose a work order"), ("Enter, Right", "Go on to its story")),
)
"""The page as the shell's rail lists it."""
