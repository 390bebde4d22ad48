"""Reads the journal newest first, page by page, and takes in what is written since.

The engine filters by work order, subject, kind, actor and time; a text is looked for here, in as many rows as are
read for it, and the feed says how far down it has looked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from app.panels.rows import RowModel
from engine.views.journal import ALL, JournalFilter
from engine.views.values import JournalRow

READ = 500
"""Rows read at once."""

PAGE = 100
"""Rows that one asking for more brings at least, if there are that many."""

MOST_LOOKED = 20 * READ
"""Rows that one asking looks through for a text."""

MOST_HELD = 5_000
"""Rows that are held while new ones keep coming; the oldest are let go and can be read again."""

NEWEST = 1 << 62


class ReadsJournal(Protocol):
    """What the feed needs of the engine."""

    async def journal(
        self,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int = 500,
        work_order_id: str | None = None,
        only: JournalFilter = ALL,
    ) -> tuple[JournalRow, ...]:
        """Rows in ascending order: the oldest above ``after``, or the newest below ``before``."""


class JournalFeed:
    """Fills a `RowModel`, newest row first. Its calls may overlap; they are served one after another."""

    def __init__(
        self, engine: ReadsJournal, model: RowModel[JournalRow], said: Callable[[JournalRow], str]
    ) -> None:
        self._engine = engine
        self._model = model
        self._said = said
        self._lock = asyncio.Lock()
        self._filter = 0
        self._work_order: str | None = None
        self._text = ""
        self._only = ALL
        self._newest = 0
        self._oldest = NEWEST
        self._more_on_its_way = False

    @property
    def looked_down_to(self) -> int:
        """The oldest sequence that has been looked at; 0 when all have been."""
        return 0 if self._model.complete else self._oldest

    def set_filter(self, work_order_id: str | None, text: str, only: JournalFilter = ALL) -> None:
        """Show only rows of this work order that ``only`` lets through and that hold ``text``; `start` reads anew."""
        self._work_order = work_order_id
        self._only = only
        self._text = text.casefold()

    async def start(self) -> None:
        """Read the newest rows anew: at the beginning, and after another filter was set."""
        self._filter += 1
        mine = self._filter
        async with self._lock:
            if mine != self._filter:
                return
            self._newest, self._oldest = 0, NEWEST
            rows, whole = await self._look_further(mine)
            if mine == self._filter:
                self._model.replace(rows, complete=whole)

    async def more(self) -> None:
        """Read older rows, unless that is being done."""
        if self._more_on_its_way or self._model.complete:
            return
        self._more_on_its_way = True
        try:
            mine = self._filter
            async with self._lock:
                if mine != self._filter or self._model.complete:
                    return
                rows, whole = await self._look_further(mine)
                if mine == self._filter:
                    self._model.append(rows, complete=whole)
        finally:
            self._more_on_its_way = False

    async def catch_up(self) -> None:
        """Take in the rows that were written since; after a long time away it begins anew."""
        mine = self._filter
        behind = False
        async with self._lock:
            for _ in range(MOST_LOOKED // READ):
                rows = await self._engine.journal(
                    after=self._newest, limit=READ, work_order_id=self._work_order, only=self._only
                )
                if mine != self._filter:
                    return
                if rows:
                    self._newest = rows[-1].sequence
                    self._model.prepend(self._matching(reversed(rows)))
                if len(rows) < READ:
                    break
            else:
                behind = True
            self._let_go()
        if behind:
            await self.start()

    async def _look_further(self, mine: int) -> tuple[list[JournalRow], bool]:
        """Read older rows until a page of them matches; also says whether the beginning was reached."""
        found: list[JournalRow] = []
        looked = 0
        while mine == self._filter and len(found) < PAGE and looked < MOST_LOOKED:
            rows = await self._engine.journal(
                before=self._oldest, limit=READ, work_order_id=self._work_order, only=self._only
            )
            if mine != self._filter:
                break
            looked += READ
            if rows:
                self._newest = max(self._newest, rows[-1].sequence)
                self._oldest = rows[0].sequence
                found += self._matching(reversed(rows))
            if len(rows) < READ:
                return found, True
        return found, False

    def _matching(self, rows: reversed[JournalRow]) -> list[JournalRow]:
        if not self._text:
            return list(rows)
        return [row for row in rows if self._text in self._said(row).casefold()]

    def _let_go(self) -> None:
        if self._model.rowCount() > MOST_HELD:
            self._model.truncate(MOST_HELD)
            self._oldest = self._model.row(self._model.rowCount() - 1).sequence
