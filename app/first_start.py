"""The first start: a scratch workspace with harmless work, so that each situation can be met without real work."""

from __future__ import annotations

import asyncio
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from app.alerts import Alert
from app.theme import Tone
from engine.interfaces.scratch import create_scratch_workspace

if TYPE_CHECKING:
    from app.session import Session

SCRATCH = "scratch workspace"


async def open_scratch_workspace(window: QWidget, session: Session) -> None:
    """Copy a fresh scratch workspace into the data folder and ask for its work; nothing runs unapproved."""
    orders = await asyncio.to_thread(create_scratch_workspace, _fresh(session.engine.folder))
    for order in orders:
        await session.engine.submit(order, session.actor)
    session.alerts.show(
        Alert(
            "welcome",
            f"Welcome. {len(orders)} harmless dispatches wait in the inbox.",
            "They work, fail, overrun their time, flood the log, leave a child behind, change their own script, "
            "and print odd encodings. Nothing runs before you approve it.",
            Tone.LIVE,
            dismissable=True,
        )
    )
    session.open_page("inbox")


def _fresh(data_folder: Path) -> Path:
    """A folder for the scratch workspace that does not exist yet."""
    names = chain((SCRATCH,), (f"{SCRATCH} {number}" for number in count(2)))
    return next(folder for name in names if not (folder := data_folder / name).exists())
