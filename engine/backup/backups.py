"""The backups of one open data folder: make, verify, rehearse, list, compare.

Restoring is not here: it needs the folder closed, see `engine.backup.restore`.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from engine.actors import Actor
from engine.backup.comparing import Comparison, compare
from engine.backup.contents import Contents, read_contents, referenced_blobs
from engine.backup.proof import record_made, record_proof
from engine.backup.rehearsing import Rehearsal, rehearse
from engine.backup.shelf import Copy, list_copies
from engine.backup.taking import Backup, take_backup
from engine.backup.verifying import Verification, verify_backup
from engine.backup.watch import Progress, Watch, watched
from engine.clock import Clock
from engine.errors import FolderNotUsable
from engine.policy import Authorize
from engine.storage import Rx, Storage
from engine.storage.opening import BACKUP_FOLDER

SCRATCH_FOLDER = "rehearsal"


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a backup made now would hold, and how much room there is at a place; sizes in bytes.

    ``same_disk`` says that the place is on the disk of the data: it does not help when that disk fails.
    """

    contents: Contents
    database: int
    kept_files: int
    kept_count: int
    free: int
    same_disk: bool


Tell = Callable[[Progress], None]


class Backups:
    """See the module. ``progress`` is called in the loop; cancelling a call takes away what it had begun."""

    def __init__(self, storage: Storage, clock: Clock, authorize: Authorize) -> None:
        self._storage = storage
        self._clock = clock
        self._authorize = authorize
        self.alone = asyncio.Lock()
        """Held while a backup is made or rehearsed, and by whoever removes kept files."""
        self.folder = storage.folder / BACKUP_FOLDER
        """Where backups go unless another place is named."""

    async def estimate(self, place: Path | None = None) -> Estimate:
        """Say what a backup below ``place`` would hold and what room there is; `FolderNotUsable` if it is nowhere."""
        contents, database, blobs = await self._storage.read(_measure)
        free, same_disk = await asyncio.to_thread(_room, self._storage.folder, place or self.folder)
        return Estimate(contents, database, sum(blobs.values()), len(blobs), free, same_disk)

    async def back_up(
        self, actor: Actor, *, place: Path | None = None, progress: Tell | None = None
    ) -> Backup:
        """Make a backup below ``place`` while the engine works (E-80); for a person."""
        self._authorize(actor, "back_up")
        return await self.make(actor, place, progress)

    async def make(self, actor: Actor, place: Path | None = None, progress: Tell | None = None) -> Backup:
        """Make a backup as `back_up` does, where the right to it is known already."""
        now = self._clock.now()

        def take(watch: Watch) -> Backup:
            return take_backup(self._storage.folder, (place or self.folder).absolute(), now=now, watch=watch)

        async with self.alone:
            made = await watched(take, progress)
        await self._storage.write(record_made, made, actor, control=True)
        return made

    async def verify(self, path: Path, progress: Tell | None = None) -> Verification:
        """Read a whole backup and say what is wrong with it (E-81)."""
        return await watched(partial(verify_backup, path.absolute()), progress)

    async def rehearse(self, path: Path, actor: Actor, progress: Tell | None = None) -> Rehearsal:
        """Restore a backup into a scratch folder and report; if nothing is wrong, it is proven from now on."""
        self._authorize(actor, "back_up")
        return await self.prove(path, actor, progress)

    async def prove(self, path: Path, actor: Actor, progress: Tell | None = None) -> Rehearsal:
        """Rehearse as `rehearse` does, where the right to it is known already."""

        def run(watch: Watch) -> Rehearsal:
            # In the data folder, which has room for its own data. A killed rehearsal may have left something.
            scratch = self._storage.folder / SCRATCH_FOLDER
            shutil.rmtree(scratch, ignore_errors=True)
            try:
                return rehearse(path.absolute(), actor=actor, clock=self._clock, watch=watch, scratch=scratch)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)

        async with self.alone:
            done = await watched(run, progress)
        if done.good:
            await self._storage.write(record_proof, done, actor, control=True)
        return done

    async def listed(self, places: Sequence[Path] = ()) -> tuple[Copy, ...]:
        """Every copy of this data, newest first, by a quick look at each."""
        return await asyncio.to_thread(list_copies, self._storage.folder, places)

    async def compare(self, copy: Copy) -> Comparison:
        """What a restore of a copy would lose, and what has been started since it was made."""
        return await asyncio.to_thread(compare, self._storage.folder, copy.database)


def _measure(rx: Rx) -> tuple[Contents, int, dict[str, int]]:
    pages, size = rx.one("PRAGMA page_count"), rx.one("PRAGMA page_size")
    assert pages is not None
    assert size is not None
    return read_contents(rx), int(pages[0]) * int(size[0]), referenced_blobs(rx)


def _room(folder: Path, place: Path) -> tuple[int, bool]:
    """The free bytes of the disk that ``place`` is or will be on, and whether it is that of ``folder``."""
    try:
        there = next(path for path in (place, *place.parents) if path.exists())
        return shutil.disk_usage(there).free, there.stat().st_dev == folder.stat().st_dev
    except (OSError, StopIteration) as error:
        raise FolderNotUsable(
            f"{place} cannot be used: {getattr(error, 'strerror', None) or 'there is no such disk'}.",
            do="Choose another folder.",
            folder=str(place),
        ) from error
