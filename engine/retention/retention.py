"""The retention of one open data folder: settings, preview, runs by hand and once a day (E-84)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from engine.actors import ENGINE, Actor
from engine.backup.backups import Backups
from engine.clock import Clock
from engine.errors import DatabaseDamaged, WrongState
from engine.execution.blobs import BlobStore
from engine.instants import Instant, format_instant, parse_instant
from engine.policy import Authorize
from engine.retention.files import MOST_IN_A_BATCH, LooseFile, note_loose, release_files, remove_files
from engine.retention.preview import Preview, heads_of_copies, look_at_files, preview
from engine.retention.rows import Batch, compact_rows, end_of_old_rows
from engine.retention.settings import SUBJECT, RetentionSettings, read_settings, set_settings
from engine.retention.work import ended_orders, kept_orders, remove_orders, require_may_judge
from engine.storage import Rx, Storage, Tx, under_epoch
from engine.storage.checkpoints import CheckpointKey
from engine.storage.vacuum import checkpoint_soon, database_bytes, free_pages, give_back
from engine.wakes import NO_LIMIT, AlarmClock, CatchUp, Series, Wake, external
from engine.wakes.values import SERIES_LIVE

T = TypeVar("T")

KIND = "retention.run"
"""The wakes of the runs that are made by themselves."""
WORKSPACE = "engine"
EVERY = "1d"

ORDERS_IN_A_BATCH = 10
ROWS_IN_A_BATCH = 500
PAGES_IN_A_BATCH = 200

_LAST = "retention_last"


class Stage(StrEnum):
    """What a run is doing."""

    LOOK = "looking what is old"
    WORK = "removing work orders"
    JOURNAL = "compacting the journal"
    FILES = "removing kept files"
    SHRINK = "giving back room"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a stage is: work orders, journal rows, files or pages; ``total`` is 0 while nobody can say."""

    stage: Stage
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class RetentionRun:
    """What a run did, when it ended. Sizes are bytes; ``why_no_files`` says why kept files were left alone, or ""."""

    at: Instant
    orders: int
    attempts: int
    rows: int
    files: int
    file_bytes: int
    database_before: int
    database_after: int
    why_no_files: str = ""

    @property
    def did_anything(self) -> bool:
        """Whether anything was removed or made smaller."""
        return bool(self.orders or self.rows or self.files or self.database_after < self.database_before)


Tell = Callable[[Progress], None]


class Retention:
    """See the module.

    Every step is a transaction of its own, written under the coordinator's ``epoch``: a run that is cancelled or
    killed leaves no half step, and the next one goes on. What goes is judged anew in the transaction that removes it.
    """

    def __init__(
        self,
        storage: Storage,
        clock: Clock,
        authorize: Authorize,
        blobs: BlobStore,
        backups: Backups,
        wakes: AlarmClock,
        key: CheckpointKey,
        epoch: Callable[[], int],
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._authorize = authorize
        self._blobs = blobs
        self._backups = backups
        self._wakes = wakes
        self._key = key
        self._epoch = epoch
        self._again: frozenset[str] = frozenset()
        self._running = False
        wakes.register(KIND, external(self._by_clock, time_limit=NO_LIMIT))

    async def settings(self) -> RetentionSettings:
        """The settings in force."""
        return await self._storage.read(read_settings)

    async def set(self, settings: RetentionSettings, actor: Actor) -> None:
        """Put settings in force; for a person."""
        self._authorize(actor, "retain")
        await self._write(set_settings, settings, actor, control=True)

    async def by_itself(self) -> bool:
        """Whether a run is made once a day by itself."""
        return await self._series() is not None

    async def set_by_itself(self, wanted: bool, actor: Actor) -> None:
        """Have a run made once a day by itself from now on, or no more; for a person."""
        self._authorize(actor, "retain")
        series = await self._series()
        if wanted and series is None:
            await self._wakes.schedule(
                workspace=WORKSPACE,
                actor=actor,
                kind=KIND,
                every=EVERY,
                lane=KIND,
                catch_up=CatchUp.LATEST,
            )
        elif series is not None and not wanted:
            await self._wakes.cancel_series(series.id, actor)

    async def last_run(self) -> RetentionRun | None:
        """The newest run that came to its end, or None."""
        return await self._storage.read(_read_last)

    async def preview(self, settings: RetentionSettings | None = None) -> Preview:
        """What a run would do under the settings in force, or under others. Changes nothing."""
        self._note_kept_again()
        return await preview(
            self._storage,
            settings or await self.settings(),
            self._clock.now(),
            self._again,
            by_itself=await self.by_itself(),
        )

    async def run(self, actor: Actor, *, progress: Tell | None = None) -> RetentionRun:
        """Remove what the settings in force let go; for a person. Cancelling ends it after the step under way.

        Raises `ClockDistrusted` and `WrongState` (a restore that nobody has looked at, a run under way) before
        anything is removed.
        """
        self._authorize(actor, "retain")
        return await self._run(actor, progress or (lambda _: None))

    async def _by_clock(self, wake: Wake) -> None:
        await self._run(ENGINE, lambda _: None)

    async def _run(self, actor: Actor, tell: Tell) -> RetentionRun:
        with self._alone():
            tell(Progress(Stage.LOOK, 0, 0))
            settings = await self.settings()
            await self._write(_begin)
            before = await self._storage.read(database_bytes)
            orders, attempts = await self._remove_work(settings, actor, tell)
            rows = await self._compact(settings, actor, tell)
            files, file_bytes, why = await self._remove_files(settings, actor, tell)
            await self._shrink(tell)
            done = RetentionRun(
                self._clock.now(),
                orders,
                attempts,
                rows,
                files,
                file_bytes,
                before,
                await self._storage.read(database_bytes),
                why,
            )
            return await self._finish(done, actor)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if self._running:
            raise WrongState(
                "A retention run is under way.",
                means="No second one was begun.",
                do="Wait for its end.",
                found="run",
            )
        self._running = True
        try:
            yield
        finally:
            self._running = False

    async def _remove_work(self, settings: RetentionSettings, actor: Actor, tell: Tell) -> tuple[int, int]:
        if settings.work_ms is None:
            return 0, 0
        before = self._clock.now() - settings.work_ms
        kept = await self._storage.read(kept_orders, before)
        ended = [row["id"] for row in await self._storage.read(ended_orders, before) if row["id"] not in kept]
        orders = attempts = 0
        for place in range(0, len(ended), ORDERS_IN_A_BATCH):
            tell(Progress(Stage.WORK, place, len(ended)))
            batch = ended[place : place + ORDERS_IN_A_BATCH]
            removed = await self._write(remove_orders, batch, settings.work_ms, actor)
            orders, attempts = orders + removed.orders, attempts + removed.attempts
        return orders, attempts

    async def _compact(self, settings: RetentionSettings, actor: Actor, tell: Tell) -> int:
        if settings.journal_ms is None:
            return 0
        now = self._clock.now()
        end = await self._storage.read(end_of_old_rows, now - settings.journal_ms, now)
        heads, _ = await heads_of_copies(self._storage)
        count, batch = 0, Batch(0, 0, True)
        while batch.more:
            tell(Progress(Stage.JOURNAL, batch.through, end))
            batch = await self._write(
                compact_rows,
                self._key,
                batch.through,
                end,
                heads,
                settings.journal_ms,
                ROWS_IN_A_BATCH,
                actor,
            )
            count += batch.rows
        return count

    async def _remove_files(
        self, settings: RetentionSettings, actor: Actor, tell: Tell
    ) -> tuple[int, int, str]:
        # A backup that is being made copies what was referred to when it began.
        async with self._backups.alone:
            tell(Progress(Stage.FILES, 0, 0))
            self._note_kept_again()
            try:
                found = await look_at_files(self._storage, self._again)
            except DatabaseDamaged as error:
                return 0, 0, error.what
            self._again = frozenset()
            await self._note(found.loose)
            now = self._clock.now()
            ready = [
                one for one in found.loose if one.since is not None and one.since <= now - settings.grace_ms
            ]
            count = size = 0
            for place in range(0, len(ready), MOST_IN_A_BATCH):
                tell(Progress(Stage.FILES, place, len(ready)))
                batch = ready[place : place + MOST_IN_A_BATCH]
                released = await self._write(release_files, batch, settings.grace_ms, actor)
                went, gave = await asyncio.to_thread(
                    remove_files, self._storage.folder, self._blobs, released
                )
                count, size = count + went, size + gave
        return count, size, ""

    async def _note(self, loose: Sequence[LooseFile]) -> None:
        """Remember since when files are loose, in bounded steps."""
        known = await self._storage.read(
            lambda rx: {row["name"] for row in rx.all("SELECT name FROM loose_file")}
        )
        new = [one.name for one in loose if one.since is None]
        gone = sorted(known - {one.name for one in loose})
        for place in range(0, max(len(new), len(gone)), ROWS_IN_A_BATCH):
            step = slice(place, place + ROWS_IN_A_BATCH)
            await self._write(note_loose, new[step], gone[step])

    async def _shrink(self, tell: Tell) -> None:
        total = left = await self._storage.read(free_pages)
        while left:
            tell(Progress(Stage.SHRINK, total - left, total))
            now_left = await self._write(give_back, PAGES_IN_A_BATCH)
            if now_left >= left:
                break
            left = now_left

    async def _finish(self, done: RetentionRun, actor: Actor) -> RetentionRun:
        try:
            await self._write(_record, done, actor)
        finally:
            await self._write(checkpoint_soon, False)
        return done

    async def _series(self) -> Series | None:
        found = await self._wakes.list_series(WORKSPACE, states=SERIES_LIVE, limit=1_000)
        return next((one for one in found if one.kind == KIND), None)

    async def _write(self, function: Callable[..., T], *arguments: object, control: bool = False) -> T:
        return await self._storage.write(under_epoch, self._epoch(), function, *arguments, control=control)

    def _note_kept_again(self) -> None:
        """Contents that were kept again stay until a run has found them referred to, or their grace has passed."""
        self._again |= self._blobs.take_kept_again()


def _begin(tx: Tx, *, now: Instant) -> None:
    require_may_judge(tx)


def _record(tx: Tx, done: RetentionRun, actor: Actor, *, now: Instant) -> None:
    """Keep what a run did, and journal it if it did anything or a person asked for it."""
    plain = {name: getattr(done, name) for name in RetentionRun.__dataclass_fields__ if name != "at"}
    tx.run(
        "INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (_LAST, json.dumps({"at": format_instant(now), **plain})),
    )
    if done.did_anything or actor != ENGINE:
        tx.journal("retention.done", SUBJECT, actor, now, detail=plain)
    checkpoint_soon(tx, True, now=now)
    tx.boundary("retention.done")


def _read_last(rx: Rx) -> RetentionRun | None:
    row = rx.one("SELECT value FROM meta WHERE key = ?", (_LAST,))
    if row is None:
        return None
    said = json.loads(row["value"])
    return RetentionRun(**{**said, "at": parse_instant(said["at"])})
