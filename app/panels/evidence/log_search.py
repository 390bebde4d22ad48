"""One search through a log: what is looked for, what was found so far, and which match is shown."""

from __future__ import annotations

import threading

from app.panels.evidence.log_source import LogSource, SearchStep


class Search:
    """One search: what is looked for, what was found so far, and which match is shown."""

    def __init__(
        self, needle: str = "", source: LogSource | None = None, direction: int = 1, origin: int = 0
    ) -> None:
        self.needle = needle
        self.source = source
        self.direction = direction
        self.origin = origin
        self.offsets: list[int] = []
        self.current = -1
        self.searched = 0
        self.size = 0
        self.done = False
        self.stop = threading.Event()

    @property
    def whole(self) -> bool:
        """Whether the whole file has been searched."""
        return self.size > 0 and self.searched >= self.size

    def take(self, step: SearchStep) -> None:
        """Take in what one step found."""
        self.offsets.extend(step.offsets)
        self.searched, self.size = step.searched, max(step.size, 1)

    def reached(self) -> bool:
        """Whether the match nearest to where one looks is known already."""
        if self.direction > 0:
            return bool(self.offsets) and self.offsets[-1] >= self.origin
        return self.searched > self.origin and bool(self.offsets)

    def nearest(self) -> int:
        """The match to show first: the next one in the direction, else from the other end; -1 if none."""
        if not self.offsets:
            return -1
        if self.direction > 0:
            after = (at for at, offset in enumerate(self.offsets) if offset >= self.origin)
            return next(after, len(self.offsets) - 1 if self.origin >= 1 << 62 else 0)
        before = (at for at in range(len(self.offsets) - 1, -1, -1) if self.offsets[at] <= self.origin)
        return next(before, len(self.offsets) - 1)

    def next(self, direction: int) -> int:
        """The match after the present one, around the ends; -1 if there is none."""
        if not self.offsets:
            return -1
        if self.current < 0:
            return self.nearest()
        return (self.current + direction) % len(self.offsets)
