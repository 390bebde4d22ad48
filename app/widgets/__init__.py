"""Small shared widgets. Panels are put together from these and from `app.theme`."""

from app.widgets.badge import Badge, badge_size, paint_badge
from app.widgets.buttons import Role, button, set_role
from app.widgets.clipboard import copy_text
from app.widgets.command_text import CommandText, Element
from app.widgets.dialogs import (
    Option,
    Question,
    ask_folder,
    ask_open_file,
    ask_reason,
    ask_save_file,
    check_box,
    choose,
    confirm,
    opened,
    show_error,
)
from app.widgets.empty_state import EmptyState
from app.widgets.frames import column, frame, row, rule
from app.widgets.key_value import KeyValueGrid
from app.widgets.labels import AgeLabel, ElidedLabel, SectionLabel, label
from app.widgets.meter import Budget, BudgetBar, BudgetWaterfall, Share, number
from app.widgets.progress import Report, with_progress
from app.widgets.reading_order import focus_next, stops
from app.widgets.times import Times, Zone, age_text, duration_text, until_text
from app.widgets.tips import plain_tip
from engine.dispatch.display import visible
from engine.dispatch.display import visible_text as spoken

__all__ = [
    "AgeLabel",
    "Badge",
    "Budget",
    "BudgetBar",
    "BudgetWaterfall",
    "CommandText",
    "Element",
    "ElidedLabel",
    "EmptyState",
    "KeyValueGrid",
    "Option",
    "Question",
    "Report",
    "Role",
    "SectionLabel",
    "Share",
    "Times",
    "Zone",
    "age_text",
    "ask_folder",
    "ask_open_file",
    "ask_reason",
    "ask_save_file",
    "badge_size",
    "button",
    "check_box",
    "choose",
    "column",
    "confirm",
    "copy_text",
    "duration_text",
    "focus_next",
    "frame",
    "label",
    "number",
    "opened",
    "paint_badge",
    "plain_tip",
    "row",
    "rule",
    "set_role",
    "show_error",
    "spoken",
    "stops",
    "until_text",
    "visible",
    "with_progress",
]
