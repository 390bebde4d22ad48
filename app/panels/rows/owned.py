"""Tasks that belong to a widget: they end with it, so that nothing is shown in what is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from PySide6.QtCore import QObject

from app.session import Session


class OwnedTasks:
    """Spawns tasks in the session's name and cancels those still running when ``owner`` is destroyed."""

    def __init__(self, session: Session, owner: QObject) -> None:
        self._session = session
        self._tasks: set[asyncio.Task[Any]] = set()
        self._over = False
        owner.destroyed.connect(self._end)

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Run ``work`` as `Session.spawn` does; after the owner is gone it is cancelled at once."""
        task = self._session.spawn(work, name)
        if self._over:
            task.cancel()
        else:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return task

    def _end(self) -> None:
        self._over = True
        for task in list(self._tasks):
            task.cancel()
