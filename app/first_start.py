"""The first start: a scratch workspace with harmless work, so that each situation can be met without real work."""

from __future__ import annotations

import asyncio
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from engine.interfaces.scratch import create_scratch_workspace

if TYPE_CHECKING:
    from app.session import Session

SCRATCH = "scratch workspace"


async def ask_for_scratch_work(session: Session) -> Path:
    """Copy a fresh scratch workspace into the data folder and ask for its work; gives the folder.

    What still waits for approval from an earlier one is not asked for twice: it is taken up as it is, and if all of
    it waits, nothing is copied and its own folder is given. Nothing runs unapproved.
    """
    data_folder = session.engine.folder
    waiting: dict[Path, set[str]] = {}
    for row in await session.engine.approvals.inbox():
        scratch = Path(row.workspace).parent
        if scratch.parent == data_folder and scratch.name.startswith(SCRATCH):
            waiting.setdefault(scratch, set()).add(row.title)
    for scratch, titles in waiting.items():
        if len(titles) == len(list(scratch.glob("*/work-order.toml"))):
            return scratch
    already = set().union(*waiting.values())
    folder = fresh_folder(data_folder, SCRATCH)
    for order in await asyncio.to_thread(create_scratch_workspace, folder):
        if order.title not in already:
            await session.engine.submit(order, session.actor)
    return folder


def fresh_folder(data_folder: Path, name: str) -> Path:
    """A folder of this name, perhaps with a number, that does not exist yet."""
    names = chain((name,), (f"{name} {number}" for number in count(2)))
    return next(folder for name in names if not (folder := data_folder / name).exists())
