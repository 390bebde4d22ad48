"""The first start: a scratch workspace with harmless work, so that each situation can be met without real work."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from app.alerts import Alert
from app.theme import Tone
from engine.interfaces.scratch import create_scratch_workspace

if TYPE_CHECKING:
    from app.session import Session

SCRATCH = "scratch workspace"


async def open_scratch_workspace(window: QWidget, session: Session) -> None:
    """Copy the scratch workspace into the data folder and ask for its work; nothing of it runs unapproved."""
    folder = session.engine.folder / SCRATCH
    orders = await asyncio.to_thread(create_scratch_workspace, folder)
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
