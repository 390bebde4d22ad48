"""When the engine did not run: asleep, or not there at all. What came due meanwhile is the docket's (E-85)."""

from __future__ import annotations

from enum import StrEnum

from engine.actors import ENGINE
from engine.clock import Clock
from engine.ids import new_id
from engine.instants import Instant, format_instant, parse_instant
from engine.scheduling.gates import awaits_a_look, time_is_trusted
from engine.storage import Rx, Storage, Subject, Tx, require_epoch

QUIET_MS = 60_000
"""A shorter pause is no downtime: what came due within it is hardly late."""

MARK_MS = 10_000
"""How often it is noted that the engine runs."""

_LAST_RAN = "last_ran"


class QuietKind(StrEnum):
    """Why nothing ran: nobody had the folder open, the machine slept, or the data is that of a copy."""

    DOWNTIME = "DOWNTIME"
    SLEEP = "SLEEP"
    RESTORE = "RESTORE"


class Presence:
    """Notes that the engine runs, and each time in which it did not. `tick` is called before every pass."""

    def __init__(self, storage: Storage, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock
        self._seen: Instant | None = None
        self._marked_at = 0

    async def tick(self, epoch: int) -> None:
        """Note that the engine runs now; if it has not since a while, that is recorded before anything fires."""
        now, elapsed = self._clock.now(), self._clock.elapsed()
        kind = QuietKind.DOWNTIME if self._seen is None else QuietKind.SLEEP
        quiet = self._seen is None or now - self._seen >= QUIET_MS
        if quiet or elapsed - self._marked_at >= MARK_MS:
            await self._storage.write(_mark, epoch, kind, self._seen)
            self._marked_at = elapsed
        self._seen = now

    async def end(self, epoch: int) -> None:
        """Note that the engine ran until now, if it ran at all."""
        if self._seen is not None:
            await self._storage.write(_note_ran, epoch, self._seen)


def last_ran(rx: Rx) -> Instant | None:
    """The latest instant at which an engine is known to have run."""
    row = rx.one("SELECT value FROM meta WHERE key = ?", (_LAST_RAN,))
    return None if row is None else parse_instant(row["value"])


def _mark(tx: Tx, epoch: int, kind: QuietKind, seen: Instant | None, *, now: Instant) -> None:
    require_epoch(tx, epoch)
    if not time_is_trusted(tx):
        return
    before = last_ran(tx) if seen is None else seen
    if before is not None and now - before >= QUIET_MS:
        _record(tx, QuietKind.RESTORE if awaits_a_look(tx) else kind, before, now)
    _note_ran(tx, epoch, now, now=now)


def _note_ran(tx: Tx, epoch: int, until: Instant, *, now: Instant) -> None:
    require_epoch(tx, epoch)
    tx.run(
        "INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (_LAST_RAN, format_instant(until)),
    )


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
