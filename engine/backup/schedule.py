"""Backups by schedule: made, proven, so many kept; one that fails is kept in mind until one succeeds (E-83)."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.actors import ENGINE, Actor
from engine.backup.backups import Backups
from engine.backup.proof import last_proof
from engine.backup.taking import UNFINISHED
from engine.clock import LONGEST_SLEEP_MS, Clock
from engine.errors import BackupNotGood, InvalidValue, PraxisError
from engine.instants import Instant, format_instant, parse_instant, require_batch, require_duration
from engine.storage import Rx, Storage, Subject, Tx

SHORTEST_MS = 60_000
RETRY_MS = 15 * 60_000
"""After a failure it is tried again this soon, or at the next turn if that is sooner."""

_SCHEDULE, _LAST_RUN, _MADE = "backup_schedule", "backup_last_run", "backup_scheduled"
_SUBJECT = Subject("backup", "schedule")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BackupSchedule:
    """How often to back up (milliseconds), how many of these backups to keep, and where ("" is the usual place)."""

    every_ms: int
    keep: int
    place: str = ""

    def __post_init__(self) -> None:
        require_duration(self.every_ms, "every_ms")
        require_batch(self.keep, "keep")
        if self.every_ms < SHORTEST_MS:
            raise InvalidValue("Backups are made at most once a minute.", do="Give a minute or more.")
        if self.place and not Path(self.place).is_absolute():
            raise InvalidValue(f"{self.place!r} is not a whole path.", do="Name the folder from its root.")


@dataclass(frozen=True, slots=True)
class LastRun:
    """How the latest scheduled backup went: when, what was made and what went wrong, each "" if nothing."""

    at: Instant
    path: str
    error: str


def read_schedule(rx: Rx) -> BackupSchedule | None:
    """The schedule in force, or None."""
    said = _read(rx, _SCHEDULE)
    return None if said is None else BackupSchedule(said["every_ms"], said["keep"], said["place"])


def read_last_run(rx: Rx) -> LastRun | None:
    """The latest scheduled backup, or None if there was none yet."""
    said = _read(rx, _LAST_RUN)
    return None if said is None else LastRun(parse_instant(said["at"]), said["path"], said["error"])


def set_schedule(tx: Tx, schedule: BackupSchedule | None, actor: Actor, *, now: Instant) -> None:
    """Put a schedule in force, or end it with None; a failure under the old one is no longer alarmed."""
    tx.run("DELETE FROM meta WHERE key = ?", (_LAST_RUN,))
    if schedule is None:
        tx.run("DELETE FROM meta WHERE key = ?", (_SCHEDULE,))
        tx.journal("backup.unscheduled", _SUBJECT, actor, now)
        return
    plain = {"every_ms": schedule.every_ms, "keep": schedule.keep, "place": schedule.place}
    _write(tx, _SCHEDULE, plain)
    tx.journal("backup.scheduled", _SUBJECT, actor, now, detail=plain)


def record_run(tx: Tx, path: str, error: str, *, now: Instant) -> tuple[str, ...]:
    """Keep how a scheduled backup went; give the scheduled ones that are too many now, oldest first.

    The last proven backup is never among them.
    """
    _write(tx, _LAST_RUN, {"at": format_instant(now), "path": path, "error": error})
    made: list[str] = (_read(tx, _MADE) or {"paths": []})["paths"]
    if path:
        made = [*made, path]
    if error:
        tx.journal("backup.failed", _SUBJECT, ENGINE, now, detail={"path": path, "error": error})
    schedule, proven = read_schedule(tx), last_proof(tx)
    surplus = made[: -schedule.keep] if schedule is not None and not error else []
    surplus = [one for one in surplus if proven is None or one != proven.path]
    _write(tx, _MADE, {"paths": [one for one in made if one not in surplus]})
    if surplus:
        tx.journal("backup.removed", _SUBJECT, ENGINE, now, detail={"paths": surplus})
    return tuple(surplus)


def due_at(schedule: BackupSchedule, last: LastRun | None) -> Instant | None:
    """When the next backup is due; None means at once."""
    if last is None:
        return None
    return last.at + (min(schedule.every_ms, RETRY_MS) if last.error else schedule.every_ms)


class ScheduledBackups:
    """Makes the scheduled backups of one open data folder, one at a time."""

    def __init__(self, backups: Backups, storage: Storage, clock: Clock, trusted: Callable[[], bool]) -> None:
        self._backups = backups
        self._storage = storage
        self._clock = clock
        self._trusted = trusted
        self._task: asyncio.Task[None] | None = None
        self._known = False
        self._schedule: BackupSchedule | None = None
        self._last: LastRun | None = None

    def start(self) -> None:
        """Begin to look whether a backup is due."""
        self._task = asyncio.create_task(self._repeat(), name="scheduled backups")

    async def stop(self) -> None:
        """Stop; a backup under way is taken away again."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def set(self, schedule: BackupSchedule | None, actor: Actor) -> None:
        """Put a schedule in force, or end it with None. The first backup is made at once."""
        await self._storage.write(set_schedule, schedule, actor, control=True)
        self._known = False

    async def run_due(self) -> bool:
        """Make a backup if one is due, prove it, and remove those that are too many; whether one was due.

        What goes wrong is recorded and alarmed, not raised. By a distrusted clock nothing is due (E-32).
        """
        if not self._known:
            self._schedule = await self._storage.read(read_schedule)
            self._last = await self._storage.read(read_last_run)
            self._known = True
        if self._schedule is None or not self._trusted():
            return False
        due = due_at(self._schedule, self._last)
        if due is not None and self._clock.now() < due:
            return False
        path, error = await self._make(self._schedule)
        surplus = await self._storage.write(record_run, path, error)
        self._known = False
        await asyncio.to_thread(_remove, surplus, self._storage.instance_id)
        return True

    async def _make(self, schedule: BackupSchedule) -> tuple[str, str]:
        path = ""
        try:
            made = await self._backups.make(ENGINE, Path(schedule.place) if schedule.place else None)
            path = str(made.path)
            done = await self._backups.prove(made.path, ENGINE)
            if not done.good:
                raise BackupNotGood(
                    "The backup was made, but its rehearsal found that not everything is there."
                )
        except PraxisError as error:
            return path, str(error)
        return path, ""

    async def _repeat(self) -> None:
        while True:
            try:
                await self.run_due()
            except PraxisError:
                _log.exception("Whether a backup is due could not be found out; it is tried again.")
            await self._clock.sleep(LONGEST_SLEEP_MS)


def _remove(paths: tuple[str, ...], instance: str) -> None:
    """Remove backups; renamed first, so that what a kill leaves of one is taken for unfinished and removed later."""
    for path in map(Path, paths):
        gone = path.with_name(f"{path.name}{UNFINISHED}-{instance}")
        try:
            path.rename(gone)
            shutil.rmtree(gone)
        except FileNotFoundError:
            continue
        except OSError as error:
            _log.warning("The old backup %s could not be removed: %s", path, error)


def _read(rx: Rx, key: str) -> Any:
    row = rx.one("SELECT value FROM meta WHERE key = ?", (key,))
    return None if row is None else json.loads(row["value"])


def _write(tx: Tx, key: str, value: dict[str, object]) -> None:
    tx.run(
        "INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, json.dumps(value)),
    )
