"""How a page is divided and how wide its columns are stays as the person left it."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QHeaderView, QSplitter, QTableView, QTreeView, QWidget

from app.settings import Settings


def keep_layout(settings: Settings, page: str, view: QWidget) -> None:
    """Give a page's tables and divisions what was kept of them, and keep it from now on.

    A division that keeps itself under a name of its own (`app.panels.rows.split`) is left alone. A table is known
    by its accessible name and its number of columns: with another number nothing old is applied.
    """
    heads = [(table.accessibleName(), table.horizontalHeader()) for table in view.findChildren(QTableView)]
    heads += [(tree.accessibleName(), tree.header()) for tree in view.findChildren(QTreeView)]
    for table, header in heads:
        if table and not header.isHidden():
            name = f"columns/{page}/{table}/{header.count()}"
            kept = settings.state(name)
            if not kept.isEmpty():
                header.restoreState(kept)
            save = partial(_keep_header, settings, name, header)
            header.sectionResized.connect(save)
            header.sectionMoved.connect(save)
    for number, split in enumerate(view.findChildren(QSplitter)):
        if split.property(KEEPS_ITSELF):
            continue
        name = f"division/{page}/{number}"
        kept = settings.state(name)
        if not kept.isEmpty():
            split.restoreState(kept)
        split.splitterMoved.connect(partial(_keep_split, settings, name, split))


KEEPS_ITSELF = "keeps itself"
"""The property of a division that is kept under a name of its own."""


def _keep_header(settings: Settings, name: str, header: QHeaderView, *_: int) -> None:
    settings.set_state(name, header.saveState())


def _keep_split(settings: Settings, name: str, split: QSplitter, *_: int) -> None:
    settings.set_state(name, split.saveState())
