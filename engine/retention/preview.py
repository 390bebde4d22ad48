"""What a run would remove, and what stays although it is old, with why (E-84)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from engine.backup.proof import last_proof
from engine.backup.schedule import read_schedule
from engine.backup.shelf import list_copies
from engine.errors import DatabaseDamaged
from engine.instants import Instant
from engine.retention.files import (
    LooseFile,
    digests_named,
    digests_of_copies,
    files_present,
    known_loose,
    runs_needed,
)
from engine.retention.rows import OldRows, end_of_old_rows, old_rows
from engine.retention.settings import RetentionSettings
from engine.retention.work import KEPT_WORDS, Kept, ended_orders, files_of, kept_orders
from engine.storage import Rx, Storage
from engine.storage.vacuum import database_bytes, free_bytes

MOST_NAMED = 20
"""How many work orders are named for each reason to keep them; all are counted."""


@dataclass(frozen=True, slots=True)
class KeptWork:
    """Old work that stays: why, in words too, how many work orders, and the numbers of the oldest of them."""

    why: Kept
    words: str
    count: int
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """What a run with ``settings`` at the instant ``at`` would find. Sizes are bytes.

    ``orders`` work orders with ``attempts`` attempts would go, which ended between ``oldest`` and ``newest``, and
    ``order_files`` kept files would lose their last reference by that. ``rows`` of the journal would be compacted.
    Of ``loose_files`` without a reference now, ``ready_files`` have been so for the grace time and would go.
    ``why_no_files`` says why no kept file can be judged, or "".
    """

    at: Instant
    settings: RetentionSettings
    by_itself: bool
    database_bytes: int
    free_bytes: int
    log_bytes: int
    copies_bytes: int
    blobs: int
    blob_bytes: int
    runs: int
    run_bytes: int
    orders: int
    attempts: int
    oldest: Instant | None
    newest: Instant | None
    order_files: int
    order_file_bytes: int
    kept: tuple[KeptWork, ...]
    rows: OldRows
    loose_files: int
    loose_bytes: int
    ready_files: int
    ready_bytes: int
    why_no_files: str


@dataclass(frozen=True, slots=True)
class Files:
    """Every kept file and run folder that is there, and those of them to which nothing refers."""

    present: tuple[LooseFile, ...]
    loose: tuple[LooseFile, ...]


@dataclass(frozen=True, slots=True)
class _Work:
    orders: int
    attempts: int
    oldest: Instant | None
    newest: Instant | None
    files: int
    file_bytes: int
    kept: tuple[KeptWork, ...]
    kept_ids: frozenset[str]


async def preview(
    storage: Storage, settings: RetentionSettings, now: Instant, again: frozenset[str], *, by_itself: bool
) -> Preview:
    """Find out all of it; changes nothing. ``again`` are contents that were kept again since the last look."""
    work_before = None if settings.work_ms is None else now - settings.work_ms
    work = await storage.read(_old_work, work_before)
    heads, copies_bytes = await heads_of_copies(storage)
    rows = await storage.read(
        _old_rows,
        None if settings.journal_ms is None else now - settings.journal_ms,
        now,
        heads,
        work_before,
        work.kept_ids,
    )
    files, why = Files((), ()), ""
    try:
        files = await look_at_files(storage, again)
    except DatabaseDamaged as error:
        why = error.what
    blobs = [one for one in files.present if one.digest]
    runs = [one for one in files.present if not one.digest]
    ready = [one for one in files.loose if one.since is not None and one.since <= now - settings.grace_ms]
    database, free = await storage.read(_sizes)
    return Preview(
        at=now,
        settings=settings,
        by_itself=by_itself,
        database_bytes=database,
        free_bytes=free,
        log_bytes=storage.health().log_bytes,
        copies_bytes=copies_bytes,
        blobs=len(blobs),
        blob_bytes=_bytes(blobs),
        runs=len(runs),
        run_bytes=_bytes(runs),
        orders=work.orders,
        attempts=work.attempts,
        oldest=work.oldest,
        newest=work.newest,
        order_files=work.files,
        order_file_bytes=work.file_bytes,
        kept=work.kept,
        rows=rows,
        loose_files=len(files.loose),
        loose_bytes=_bytes(files.loose),
        ready_files=len(ready),
        ready_bytes=_bytes(ready),
        why_no_files=why,
    )


async def look_at_files(storage: Storage, again: frozenset[str]) -> Files:
    """Every kept file and run folder, and which nothing needs. `DatabaseDamaged` if a copy cannot be read."""
    # The files first: what is written while this looks is referred to by the time the database is asked.
    present = await asyncio.to_thread(files_present, storage.folder)
    of_copies = await asyncio.to_thread(digests_of_copies, storage.folder)
    named = await storage.read(digests_named) | of_copies | again
    runs, known = await storage.read(runs_needed), await storage.read(known_loose)
    loose = (one for one in present if (one.digest not in named if one.digest else one.name not in runs))
    return Files(present, tuple(replace(one, since=known.get(one.name)) for one in loose))


async def heads_of_copies(storage: Storage) -> tuple[frozenset[int], int]:
    """The last journal row of each copy of this data that can be found, and the bytes of the copies in the folder."""
    places = await storage.read(_places)
    copies = await asyncio.to_thread(list_copies, storage.folder, places)
    heads = frozenset(
        copy.journal_sequence
        for copy in copies
        if copy.journal_sequence is not None and copy.instance_id == storage.instance_id
    )
    return heads, sum(copy.size for copy in copies if copy.path.is_relative_to(storage.folder))


def _places(rx: Rx) -> tuple[Path, ...]:
    schedule, proven = read_schedule(rx), last_proof(rx)
    found = [] if schedule is None or not schedule.place else [Path(schedule.place)]
    return tuple(found if proven is None else [*found, Path(proven.path).parent])


def _old_work(rx: Rx, before: Instant | None) -> _Work:
    if before is None:
        return _Work(0, 0, None, None, 0, 0, (), frozenset())
    kept = kept_orders(rx, before)
    ended = ended_orders(rx, before)
    going = {row["id"]: row["ended_at"] for row in ended if row["id"] not in kept}
    counted = Counter(
        {
            row["id"]: row["count"]
            for row in rx.all(
                "SELECT work_order_id AS id, count(*) AS count FROM attempt GROUP BY work_order_id"
            )
        }
    )
    files, size = files_of(rx, going.keys())
    return _Work(
        len(going),
        sum(counted[order] for order in going),
        min(going.values(), default=None),
        max(going.values(), default=None),
        files,
        size,
        _kept_work(kept, {row["id"]: row["number"] for row in ended}),
        frozenset(kept),
    )


def _kept_work(kept: Mapping[str, Kept], numbers: Mapping[str, int]) -> tuple[KeptWork, ...]:
    found: dict[Kept, list[int]] = {}
    for order, why in kept.items():
        found.setdefault(why, []).append(numbers[order])
    return tuple(
        KeptWork(why, KEPT_WORDS[why], len(found[why]), tuple(sorted(found[why])[:MOST_NAMED]))
        for why in Kept
        if why in found
    )


def _old_rows(
    rx: Rx,
    before: Instant | None,
    now: Instant,
    heads: frozenset[int],
    work_before: Instant | None,
    kept: frozenset[str],
) -> OldRows:
    if before is None:
        return OldRows(0, 0, 0, None, None)
    return old_rows(rx, end_of_old_rows(rx, before, now), heads, work_before, kept)


def _sizes(rx: Rx) -> tuple[int, int]:
    return database_bytes(rx), free_bytes(rx)


def _bytes(files: Sequence[LooseFile]) -> int:
    return sum(one.bytes for one in files)
