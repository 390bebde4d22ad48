"""Backups by schedule: made, proven, so many kept; one that fails is kept in mind until one succeeds (E-83)."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Required, TypedDict, Unpack

from engine.actors import ENGINE, Actor
from engine.backup.backups import Backups
from engine.backup.proof import last_proof
from engine.backup.taking import UNFINISHED
from engine.clock import Clock
from engine.control.alarm import BACKUP_KIND, BACKUP_RETRY_KIND
from engine.errors import BackupNotGood, InvalidValue, PraxisError
from engine.instants import Instant, format_instant, parse_instant, require_duration
from engine.policy import Authorize
from engine.storage import Rx, Storage, Subject, Tx
from engine.wakes import NO_LIMIT, AlarmClock, Wake, external
from engine.wakes.recurrence import rule_from_json
from engine.wakes.values import SERIES_LIVE

SHORTEST_MS = 60_000
LONGEST_MS = 366 * 86_400_000
RETRY_MS = 15 * 60_000
"""After a failure it is tried again this soon, or at the next turn if that is sooner."""

WORKSPACE = "backups"
SESSION = "backups"
"""The engine's own session: with it the engine may end the series that it booked."""

_SCHEDULE, _LAST_RUN, _MADE = "backup_schedule", "backup_last_run", "backup_scheduled"
_SUBJECT = Subject("backup", "schedule")
_log = logging.getLogger(__name__)


class _Asked(TypedDict, total=False):
    kind: Required[str]
    at: Instant
    in_: int
    every: int
    coalesce: bool


@dataclass(frozen=True, slots=True)
class BackupSchedule:
    """How often to back up (milliseconds), how many of these backups to keep, and where ("" is the usual place)."""

    every_ms: int
    keep: int
    place: str = ""

    def __post_init__(self) -> None:
        require_duration(self.every_ms, "every_ms")
        if type(self.keep) is not int or self.keep < 1:
            raise InvalidValue("At least one backup is kept.", do="Give a whole number from 1 upwards.")
        if self.every_ms < SHORTEST_MS:
            raise InvalidValue("Backups are made at most once a minute.", do="Give a minute or more.")
        if self.every_ms > LONGEST_MS:
            raise InvalidValue("Backups are made at least once a year.", do="Give 366 days or less.")
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
    """When the next backup is due by the latest one; None means at once."""
    if last is None:
        return None
    return last.at + (min(schedule.every_ms, RETRY_MS) if last.error else schedule.every_ms)


class ScheduledBackups:
    """Makes the scheduled backups of one open data folder, one at a time, as a series of the alarm clock.

    The series is booked from the schedule, and nobody else changes it. The first backup, and one that is tried
    again after a failure, have wakes of their own beside it.
    """

    def __init__(
        self, backups: Backups, storage: Storage, clock: Clock, wakes: AlarmClock, authorize: Authorize
    ) -> None:
        self._backups = backups
        self._storage = storage
        self._clock = clock
        self._wakes = wakes
        self._authorize = authorize
        self._runs = 0
        for kind in (BACKUP_KIND, BACKUP_RETRY_KIND):
            wakes.register(kind, external(self._fire, time_limit=NO_LIMIT))

    async def begin(self) -> None:
        """See to it that the series is as the schedule says; also after a kill between the two."""
        schedule = await self._storage.read(read_schedule)
        wanted = None if schedule is None else schedule.every_ms
        found = False
        for series in await self._wakes.list_series(WORKSPACE, states=SERIES_LIVE):
            if not found and rule_from_json(series.rule).shortest_period() == wanted:
                found = True
            else:
                await self._wakes.cancel_series(series.id, ENGINE, workspace=WORKSPACE, session=SESSION)
        if schedule is not None and not found:
            due = due_at(schedule, await self._storage.read(read_last_run))
            await self._book(kind=BACKUP_KIND, at=self._clock.now() if due is None else due)
            await self._book(kind=BACKUP_KIND, every=schedule.every_ms)

    async def schedule(self) -> BackupSchedule | None:
        """The schedule in force, or None."""
        return await self._storage.read(read_schedule)

    async def set(self, schedule: BackupSchedule | None, actor: Actor) -> None:
        """Have backups made by themselves, the first at once, or end that with None (E-83)."""
        self._authorize(actor, "back_up")
        for series in await self._wakes.list_series(WORKSPACE, states=SERIES_LIVE):
            await self._wakes.cancel_series(series.id, ENGINE, workspace=WORKSPACE, session=SESSION)
        await self._storage.write(set_schedule, schedule, actor, control=True)
        await self.begin()

    async def run_due(self) -> bool:
        """Let the alarm clock fire what is due now; whether a scheduled backup was among it."""
        before = self._runs
        await self._wakes.run_due()
        return self._runs > before

    async def _fire(self, wake: Wake) -> None:
        """Make a backup, prove it, and remove those that are too many.

        What goes wrong is recorded and alarmed, not raised, and tried again. Nothing is made when the schedule has
        ended, and nothing again when a backup ended after this one was due.
        """
        schedule, last = await self._storage.read(_state)
        assert wake.due_at is not None
        settled = last is not None and last.at >= wake.due_at
        if (
            schedule is None
            or settled
            or (wake.kind == BACKUP_RETRY_KIND and (last is None or not last.error))
        ):
            return
        path, error = await self._make(schedule)
        self._runs += 1
        surplus = await self._storage.write(record_run, path, error)
        await asyncio.to_thread(_remove, surplus, self._storage.instance_id)
        if error and schedule.every_ms > RETRY_MS:
            await self._book(kind=BACKUP_RETRY_KIND, in_=RETRY_MS, coalesce=True)

    async def _book(self, **asked: Unpack[_Asked]) -> None:
        await self._wakes.schedule(
            workspace=WORKSPACE, session=SESSION, actor=ENGINE, lane=WORKSPACE, **asked
        )

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


def _state(rx: Rx) -> tuple[BackupSchedule | None, LastRun | None]:
    return read_schedule(rx), read_last_run(rx)


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
