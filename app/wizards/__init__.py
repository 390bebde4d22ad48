"""Dialogs for longer matters: a new work order, importing work orders."""
