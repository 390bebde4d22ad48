"""Rehearsing a restore: the whole of it, into a scratch folder, and a look at what came out (E-81, console.md §8)."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from engine.actors import Actor
from engine.backup.contents import (
    Contents,
    Problem,
    checkpoint_key_in,
    has_table,
    open_copy,
    read_contents,
    unsound,
)
from engine.backup.restoring import RestoreReport, restore
from engine.backup.watch import Watch
from engine.clock import Clock
from engine.errors import DiskFault
from engine.instants import Instant
from engine.storage.connections import DATABASE_FILE
from engine.storage.transaction import Rx

SCRATCH_PREFIX = "praxis-rehearsal-"


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a restore of a copy would bring, found out by doing it.

    ``before_sequence`` is the last row of the copy's journal, ``after`` is what came out. ``due`` are waiting tasks
    whose time has come, ``wakes_due`` wakes that would fire now or were firing, ``void`` approvals, ``unknown``
    attempts, ``needs_decision`` work orders that a person must look at first. ``held``: nothing starts by itself.
    """

    path: Path
    made_at: Instant | None
    before_sequence: int
    after: Contents
    problems: tuple[Problem, ...]
    due: int
    wakes_due: int
    void: int
    unknown: int
    needs_decision: int
    held: bool
    lacking: tuple[str, ...]
    new_schema: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether the restored data is sound, whole and held."""
        return not self.problems and not self.lacking and self.held


def rehearse(
    path: Path, *, actor: Actor, clock: Clock, watch: Watch | None = None, scratch: Path | None = None
) -> Rehearsal:
    """Restore the copy at ``path`` into a scratch folder and report; the scratch folder is removed at the end.

    Blocks; call it in a thread. The real data is not touched or read: with nothing to compare to, everything
    that was open comes out as not known since. ``scratch`` is where to make the folder (default: where the system
    keeps temporary files, which may be too small for large data). Raises as `restore` does.
    """
    watch = watch or Watch()
    try:
        if scratch is not None:
            scratch.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX, dir=scratch))
    except OSError as error:
        raise DiskFault(
            f"No scratch folder could be made: {error.strerror or error}.",
            do="Check the disk, then try again.",
        ) from error
    try:
        report = restore(folder / "data", path, actor=actor, reason="rehearsal", clock=clock, watch=watch)
        return _look(folder / "data" / DATABASE_FILE, report, clock.now(), watch)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _look(path: Path, report: RestoreReport, now: Instant, watch: Watch) -> Rehearsal:
    with closing(open_copy(path)) as database:
        problems, _ = unsound(database, DATABASE_FILE, watch, checkpoint_key_in(path.parent))
        rx = Rx(database)
        after = read_contents(rx)
        return Rehearsal(
            report.source,
            report.made_at,
            report.comparison.rows_of_copy,
            after,
            tuple(problems),
            _count(rx, "task", "state = 'WAITING' AND due_at <= ?", now),
            _count(rx, "wake", "state = 'firing' OR (state = 'pending' AND due_at <= ?)", now),
            len(report.aftermath.void),
            len(report.aftermath.unknown),
            len(report.aftermath.asked),
            rx.one("SELECT 1 FROM hold WHERE kind = 'RESTORE' AND released_at IS NULL") is not None,
            report.lacking,
            report.comparison.new_schema,
        )


def _count(rx: Rx, table: str, condition: str, now: Instant) -> int:
    row = (
        rx.one(f"SELECT count(*) AS n FROM {table} WHERE {condition}", (now,))
        if has_table(rx, table)
        else None
    )
    return 0 if row is None else int(row["n"])
