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

    Nothing runs unapproved.
    """
    folder = fresh_folder(session.engine.folder, SCRATCH)
    for order in await asyncio.to_thread(create_scratch_workspace, folder):
        await session.engine.submit(order, session.actor)
    return folder


def fresh_folder(data_folder: Path, name: str) -> Path:
    """A folder of this name, perhaps with a number, that does not exist yet."""
    names = chain((name,), (f"{name} {number}" for number in count(2)))
    return next(folder for name in names if not (folder := data_folder / name).exists())
