"""Reads a list from the engine page by page, and keeps the loaded part true after changes.

The list is always a query over what is stored; changes only say that and where to look again (B-013). Nothing
is filtered or sorted here: that is asked of the engine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Generic, TypeVar

from app.panels.rows.model import RowModel

Row = TypeVar("Row")

PAGE = 100
"""How many rows are read at once."""

MOST_AGAIN = 500
"""How many rows from the top are read again when anything may have changed anywhere."""

ReadPage = Callable[[str | None, int], Awaitable[Sequence[Row]]]
"""Reads at most so many rows after the one with this identity, with the filter in force."""


class RowFeed(Generic[Row]):
    """Fills a `RowModel`. Its calls may overlap; they are served one after another.

    ``changed_first`` says that the engine lists what changed last first, so that a changed row can only stand
    at the top; otherwise rows keep their places for good.
    """

    def __init__(
        self,
        model: RowModel[Row],
        read: ReadPage[Row],
        key: Callable[[Row], str],
        *,
        changed_first: bool,
        page: int = PAGE,
    ) -> None:
        self._model = model
        self._read = read
        self._key = key
        self._changed_first = changed_first
        self._page = page
        self._lock = asyncio.Lock()
        self._filter = 0
        self._more_on_its_way = False

    async def start(self) -> None:
        """Read the first page anew: at the beginning, and after another filter was set."""
        self._filter += 1
        mine = self._filter
        async with self._lock:
            if mine != self._filter:
                return
            rows = await self._read(None, self._page)
            if mine == self._filter:
                self._model.replace(rows, complete=len(rows) < self._page)

    async def more(self) -> None:
        """Read the next page, unless that is being done."""
        if self._more_on_its_way or self._model.complete:
            return
        self._more_on_its_way = True
        try:
            mine = self._filter
            async with self._lock:
                if mine != self._filter or self._model.complete:
                    return
                rows = await self._read(self._model.last_key, self._page)
                if mine == self._filter:
                    self._model.append(rows, complete=len(rows) < self._page)
        finally:
            self._more_on_its_way = False

    async def catch_up(self, touched: Collection[str]) -> None:
        """Take in new rows at the top and what became of the ``touched`` ones.

        Where more changed than one reads again, as after a long time away, it begins anew.
        """
        if len(touched) > MOST_AGAIN:
            await self.start()
            return
        mine = self._filter
        async with self._lock:
            loaded = {key: number for key in touched if (number := self._model.number_of(key)) >= 0}
            rows: list[Row] = []
            seen: set[str] = set()
            passed = 0
            while mine == self._filter:
                page = await self._read(self._key(rows[-1]) if rows else None, self._page)
                keys = [self._key(row) for row in page]
                rows += page
                seen.update(keys)
                passed += sum(1 for key in keys if self._model.number_of(key) >= 0)
                if len(page) < self._page:
                    break
                if self._changed_first:
                    if any(key not in touched for key in keys):
                        break
                elif all(number < passed for key, number in loaded.items() if key not in seen):
                    break
            if mine == self._filter:
                self._model.merge(rows, loaded.keys() - seen)
                self._judge_end(rows, is_last=len(page) < self._page)

    async def read_again(self, rows: int) -> None:
        """Read at least the first ``rows`` loaded rows again, whatever changed."""
        mine = self._filter
        wanted = min(max(rows, self._page), MOST_AGAIN)
        async with self._lock:
            found: list[Row] = []
            while mine == self._filter:
                page = await self._read(self._key(found[-1]) if found else None, self._page)
                found += page
                if len(page) < self._page or len(found) >= wanted:
                    break
            if mine == self._filter:
                follows = bool(found) and self._model.number_of(self._key(found[-1])) >= 0
                self._model.merge(found)
                self._judge_end(found, is_last=len(page) < self._page)
                if not follows and len(page) >= self._page:
                    # Between the last of these and what is loaded behind it there may be others.
                    self._model.truncate(len(found))

    def _judge_end(self, rows: Sequence[Row], *, is_last: bool) -> None:
        """Whether the list ends with these rows, read from the top; a full last page says that more may follow."""
        if is_last:
            self._end_with(rows)
        elif self._model.rowCount() == len(rows):
            self._model.complete = False

    def _end_with(self, rows: Sequence[Row]) -> None:
        """The engine has no more than these: whatever else is loaded has left the list."""
        here = {self._key(row) for row in rows}
        left = [
            key
            for number in range(len(rows), self._model.rowCount())
            if (key := self._key(self._model.row(number))) not in here
        ]
        if left:
            self._model.merge((), left)
        self._model.complete = True
