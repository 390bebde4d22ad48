"""Budgets: the tree of scopes with both partitions, what draws on each now, and the editing of limits."""

from app.panels.budgets.page import BudgetsPage
from app.shell.pages import Page

PAGE = Page(
    "budgets",
    "Budgets",
    BudgetsPage,
    keys=(
        ("Right, Left", "Open and close a project in the tree"),
        ("Enter", "Change the limits of the scope"),
    ),
)
"""The page as the shell's rail lists it."""
