"""Long lists that change: a paged model of rows, its feed from the engine, its list view and card delegate."""

from app.panels.rows.badge_delegate import BadgeDelegate
from app.panels.rows.card import Card, CardBadge, CardDelegate, CardLine
from app.panels.rows.feed import RowFeed
from app.panels.rows.filtered_list import FilteredList
from app.panels.rows.model import Column, Roles, RowModel
from app.panels.rows.owned import OwnedTasks
from app.panels.rows.refresh import Refresh
from app.panels.rows.row_list import RowList
from app.panels.rows.split import side_by_side
from app.panels.rows.table import RowTable
from app.panels.rows.ticking import TickingLabel

__all__ = [
    "BadgeDelegate",
    "Card",
    "CardBadge",
    "CardDelegate",
    "CardLine",
    "Column",
    "FilteredList",
    "OwnedTasks",
    "Refresh",
    "Roles",
    "RowFeed",
    "RowList",
    "RowModel",
    "RowTable",
    "TickingLabel",
    "side_by_side",
]
