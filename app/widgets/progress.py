"""A long action with its progress and a way to stop it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from PySide6.QtWidgets import QProgressBar, QWidget
from shiboken6 import isValid

from app.widgets.dialogs import Question
from app.widgets.labels import label

_Result = TypeVar("_Result")

_STEPS = 1000

Report = Callable[[int, int, str], None]
"""Tells how far it is: done, of how many (0: nobody knows), and in words."""


async def with_progress(
    parent: QWidget | None, title: str, text: str, work: Callable[[Report], Awaitable[_Result]]
) -> _Result | None:
    """Run ``work`` while a dialog shows how far it is; None if the person stopped it.

    Stopping, and the end of the window, cancels ``work``; its errors come out of here.
    """
    dialog = Question(parent, title, text)
    bar = QProgressBar(dialog)
    bar.setRange(0, 0)
    bar.setTextVisible(False)
    bar.setFixedHeight(8)
    bar.setAccessibleName(title)
    words = label("", muted=True, parent=dialog)
    dialog.body.addWidget(bar)
    dialog.body.addWidget(words)
    dialog.add_back("Stop").setFocus()

    def report(done: int, of: int, said: str) -> None:
        if isValid(dialog):
            bar.setRange(0, _STEPS if of > 0 else 0)
            bar.setValue(min(done * _STEPS // of, _STEPS) if of > 0 else 0)
            words.setText(said)
            bar.setAccessibleDescription(said)

    running: asyncio.Future[_Result] = asyncio.ensure_future(work(report))
    dialog.rejected.connect(running.cancel)
    dialog.destroyed.connect(running.cancel)
    dialog.open()
    try:
        await asyncio.wait((running,))
    finally:
        if not running.done():
            running.cancel()
            await asyncio.wait((running,))
        if isValid(dialog):
            dialog.hide()
            dialog.deleteLater()
    return None if running.cancelled() else running.result()
