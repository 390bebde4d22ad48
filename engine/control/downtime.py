"""When the engine did not run: asleep, or not there at all. What came due meanwhile is the docket's (E-85)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Any

from engine.actors import ENGINE
from engine.clock import Clock
from engine.ids import new_id
from engine.instants import Instant, format_instant, parse_instant
from engine.scheduling.gates import awaits_a_look, time_is_trusted
from engine.states import HoldKind
from engine.storage import Rx, Subject, Tx

QUIET_MS = 60_000
"""A shorter pause is no downtime: what came due within it is hardly late."""

MARK_MS = 10_000
"""How often it is noted that the engine runs."""

_LAST_RAN = "last_ran"


class QuietKind(StrEnum):
    """Why nothing fired.

    DOWNTIME: nobody had the folder open, or the clock was not trusted. SLEEP: the machine slept. RESTORE: the data
    is that of a copy, and nobody had looked at it yet.
    """

    DOWNTIME = "DOWNTIME"
    SLEEP = "SLEEP"
    RESTORE = "RESTORE"


class Presence:
    """Notes that the engine runs, and each time in which it did not. `tick` is called before every pass.

    ``write`` runs a transaction function under the engine's epoch. While the clock is distrusted nothing is noted:
    nothing fires by time, so that counts as a time in which the engine did not run.
    """

    def __init__(self, clock: Clock, write: Callable[..., Awaitable[Any]]) -> None:
        self._clock = clock
        self._write = write
        self._seen: Instant | None = None
        self._marked_at = 0
        self._trusted = True

    async def tick(self) -> None:
        """Note that the engine runs now; if it has not since a while, that is recorded before anything fires."""
        now, elapsed = self._clock.now(), self._clock.elapsed()
        fresh = self._seen is not None and now - self._seen < QUIET_MS
        if fresh and self._trusted and elapsed - self._marked_at < MARK_MS:
            self._seen = now
            return
        kind = QuietKind.SLEEP if self._seen is not None and self._trusted else QuietKind.DOWNTIME
        self._marked_at = elapsed
        self._trusted = await self._write(_mark, kind, self._seen)
        if self._trusted:
            self._seen = now

    async def end(self) -> None:
        """Note until when the engine ran, if it ran at all."""
        if self._seen is not None:
            await self._write(_note_ran, self._seen)


def last_ran(rx: Rx) -> Instant | None:
    """The latest instant at which an engine is known to have run."""
    row = rx.one("SELECT value FROM meta WHERE key = ?", (_LAST_RAN,))
    return None if row is None else parse_instant(row["value"])


def _mark(tx: Tx, kind: QuietKind, seen: Instant | None, *, now: Instant) -> bool:
    """Note the present instant, and a quiet time before it; False if the clock is not to be judged by."""
    if not time_is_trusted(tx):
        return False
    before = last_ran(tx) if seen is None else seen
    if before is not None and now - before >= QUIET_MS:
        if not awaits_a_look(tx):
            _record(tx, kind, before, now)
        elif not _lengthen(tx, now):
            _record(tx, QuietKind.RESTORE, before, now)
    _note_ran(tx, now, now=now)
    return True


def _note_ran(tx: Tx, until: Instant, *, now: Instant) -> None:
    tx.run(
        "INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (_LAST_RAN, format_instant(until)),
    )


def _lengthen(tx: Tx, now: Instant) -> bool:
    """Go on with the quiet time of the restore that nobody has looked at yet; False if it is not recorded yet."""
    latest = tx.one(
        """SELECT id FROM quiet_time
           WHERE kind = ? AND ended_at >= (SELECT max(placed_at) FROM hold WHERE hold.kind = ?)
           ORDER BY sequence DESC LIMIT 1""",
        (QuietKind.RESTORE, HoldKind.RESTORE),
    )
    if latest is None:
        return False
    tx.run("UPDATE quiet_time SET ended_at = ? WHERE id = ?", (now, latest["id"]))
    return True


def _record(tx: Tx, kind: QuietKind, began_at: Instant, now: Instant) -> None:
    quiet_id = new_id(now)
    sequence = tx.journal(
        "engine.was_quiet",
        Subject("engine", quiet_id),
        ENGINE,
        now,
        detail={"kind": kind, "since": format_instant(began_at), "ms": now - began_at},
    )
    tx.run(
        "INSERT INTO quiet_time(id, kind, began_at, ended_at, sequence) VALUES (?, ?, ?, ?, ?)",
        (quiet_id, kind, began_at, now, sequence),
    )
