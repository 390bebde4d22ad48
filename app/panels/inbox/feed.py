"""Reads the queue page by page and keeps what is loaded true: after a change only touched pages are read.

The queue is always a query over what is stored, never a sum of events seen (B-013, B-014): changes only say
where to look again.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterable
from typing import Protocol

from app.panels.inbox.model import Order, QueueModel, order_of
from app.theme import state_word
from engine.errors import NotFound
from engine.views.values import ApprovalCard, InboxRow

PAGE = 200
"""How many requests are read at once."""

_NAMED = 20
"""For how many ended rows that stay in sight the word for their end is read after one change."""


class ReadsInbox(Protocol):
    """What the feed needs of the approvals."""

    async def inbox(self, *, after: str | None = None, limit: int = 200) -> tuple[InboxRow, ...]:
        """Requests that wait, oldest first, after the one with this id."""

    async def card(self, approval_id: str) -> ApprovalCard:
        """Everything about one request."""


class QueueFeed:
    """Fills a `QueueModel` from the engine. Its calls may overlap; they are served one after another."""

    def __init__(self, approvals: ReadsInbox, model: QueueModel, page: int = PAGE) -> None:
        self._approvals = approvals
        self._model = model
        self._page = page
        self._orders: list[Order] = []
        self._by_id: dict[str, Order] = {}
        self._lock = asyncio.Lock()
        self._more_on_its_way = False
        self._started = False

    @property
    def started(self) -> bool:
        """Whether the first page has been read."""
        return self._started

    @property
    def busy(self) -> bool:
        """Whether something is being read."""
        return self._lock.locked()

    async def read_all_again(self) -> None:
        """Read the first page; later, read everything that is loaded once more, and what follows it."""
        async with self._lock:
            await self._read_blocks(range(-(-len(self._orders) // self._page)))
            if not self._orders or self._model.complete:
                await self._read_on()
            self._started = True

    async def more(self) -> None:
        """Read the next page, unless that is being done."""
        if self._more_on_its_way or self._model.complete:
            return
        self._more_on_its_way = True
        try:
            async with self._lock:
                await self._read_on()
        finally:
            self._more_on_its_way = False

    async def catch_up(self, touched: Collection[str], *, arrivals: bool) -> None:
        """Read again where these requests stand; with ``arrivals`` also what follows the last one."""
        async with self._lock:
            known = [self._by_id[approval_id] for approval_id in touched if approval_id in self._by_id]
            await self._read_blocks(
                sorted({bisect_left(self._orders, found) // self._page for found in known})
            )
            if arrivals and self._model.complete:
                await self._read_on()
            await self._name_ends(touched)

    async def _read_on(self) -> None:
        """Read what follows the last loaded request: one page, or all of it where the end was loaded."""
        to_the_end = self._model.complete and bool(self._orders)
        while True:
            after = self._orders[-1][1] if self._orders else None
            rows = await self._approvals.inbox(after=after, limit=self._page)
            self._remember(rows)
            self._model.complete = len(rows) < self._page
            self._model.merge(rows, ())
            if self._model.complete or not to_the_end:
                return

    async def _read_blocks(self, blocks: Iterable[int]) -> None:
        spans = [(self._end_of(block - 1) if block else None, self._end_of(block)) for block in blocks]
        for before, last in spans:
            await self._read_span(before, last)

    def _end_of(self, block: int) -> Order:
        return self._orders[min((block + 1) * self._page, len(self._orders)) - 1]

    async def _read_span(self, before: Order | None, last: Order) -> None:
        """Read everything after ``before`` up to ``last``; what is loaded there and not found is gone."""
        found: dict[str, InboxRow] = {}
        after = before
        while True:
            rows = await self._approvals.inbox(after=after[1] if after else None, limit=self._page)
            inside = [row for row in rows if order_of(row) <= last]
            found.update({row.approval_id: row for row in inside})
            if len(rows) < self._page or len(inside) < len(rows) or order_of(rows[-1]) == last:
                break
            after = order_of(rows[-1])
        start = bisect_right(self._orders, before) if before else 0
        loaded = self._orders[start : bisect_right(self._orders, last)]
        gone = [order[1] for order in loaded if order[1] not in found]
        for approval_id in gone:
            self._orders.remove(self._by_id.pop(approval_id))
        self._remember(found.values())
        self._model.merge(found.values(), gone)

    async def _name_ends(self, touched: Collection[str]) -> None:
        """Read how the rows that ended but stay in sight have ended."""
        for approval_id in self._model.ends_to_name(touched)[:_NAMED]:
            try:
                card = await self._approvals.card(approval_id)
            except NotFound:
                continue
            self._model.name_end(approval_id, state_word(card.state))

    def _remember(self, rows: Iterable[InboxRow]) -> None:
        for row in rows:
            if row.approval_id not in self._by_id:
                order = order_of(row)
                self._by_id[row.approval_id] = order
                insort(self._orders, order)
