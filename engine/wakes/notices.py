"""Notices: what a host should hear of at once. Without a listener they go to the log, and so to standard error."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

_log = logging.getLogger("engine.wakes")


class NoticeKind(StrEnum):
    """What a notice is about. DEAD, STUCK, BROKEN and CLOCK_APART need a person."""

    FAILED = "failed"
    DEAD = "dead"
    LOST = "lost"
    NO_SINK = "no_sink"
    STUCK = "stuck"
    BROKEN = "broken"
    CLOCK_APART = "clock_apart"


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing to hear of, in words, with the wake or series that it is about."""

    kind: NoticeKind
    text: str
    wake_id: str | None = None
    series: str | None = None


Listener: TypeAlias = Callable[[Notice], None]

_ALARMS = {NoticeKind.DEAD, NoticeKind.STUCK, NoticeKind.BROKEN, NoticeKind.CLOCK_APART}


def log_notice(notice: Notice) -> None:
    """Write a notice to the log: what needs a person as an error, the rest as a warning."""
    _log.log(logging.ERROR if notice.kind in _ALARMS else logging.WARNING, "%s", notice.text)


def guarded(listener: Listener) -> Listener:
    """A listener whose own errors are logged and hurt nobody."""

    def tell(notice: Notice) -> None:
        try:
            listener(notice)
        except Exception:
            _log.exception("A listener to notices raised an error at: %s", notice.text)

    return tell
