"""`praxis doctor`: what a person needs to know when something seems wrong, without changing anything."""

from __future__ import annotations

import asyncio
import os
import platform
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import typer

from engine.clock import SystemClock
from engine.durations import size_text
from engine.errors import FolderNotUsable, PraxisError
from engine.interfaces.bundle import NOT_IN_IT, Bundle, make_bundle
from engine.interfaces.channel_client import EngineClient, Remote
from engine.interfaces.channel_files import read_note
from engine.interfaces.cli_output import shown
from engine.interfaces.cli_session import DATABASE_NAME, LOG_FOLDER, LOG_NAME, Session
from engine.storage.folder_place import judge_place, these_surroundings
from engine.storage.opening import inspect_database, read_unowned
from engine.storage.owner_lock import read_owner
from engine.storage.schema import shipped_migrations
from engine.version import VERSION
from engine.views.diagnostics import Diagnostics, StoredFacts, stored_facts

_PARTS = ("blobs", "runs", "logs", "backups")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found. ``sizes`` are bytes by part of the data folder; ``problems`` are sentences."""

    version: str
    python: str
    sqlite: str
    system: str
    folder: str
    exists: bool
    place_warning: str
    sizes: dict[str, int]
    owner: str
    owner_answers: bool
    owner_gone: bool
    status: dict[str, object]
    log: str
    problems: tuple[str, ...]
    bundle: str


async def diagnose(session: Session, bundle: Path | None = None) -> None:
    """Look at versions, folder, sizes and owner, which is asked; a database that nobody owns now is only read.

    With ``bundle`` a diagnostics bundle is written there. If a problem was found, the command ends with the exit
    code of the first.
    """
    folder = session.folder
    problems: list[PraxisError] = []
    note, owner = read_note(folder), read_owner(folder)
    gone = owner is not None and not psutil.pid_exists(owner.pid)
    status: dict[str, object] = {}
    told: Diagnostics | None = None
    stored: StoredFacts | None = None
    if note is not None and psutil.pid_exists(note.pid):
        try:
            remote = await Remote.connect(folder, session.credential())
            try:
                client = EngineClient(remote)
                found = await client.status()
                told = await client.diagnostics() if bundle is not None else None
            finally:
                await remote.close()
            status = {
                "epoch": found.epoch,
                "running": found.running,
                "unknown": found.unknown,
                "pending_approvals": found.pending_approvals,
                "open_work_orders": found.open_work_orders,
                "holds": len(found.holds),
                "writer_queue": found.waiting_control + found.waiting_background,
                "latency_ms": round(found.latency_ms, 3),
            }
        except PraxisError as error:
            problems.append(error)
    elif owner is None or gone:
        problems += _database_problems(folder)
        if bundle is not None and not problems and (folder / DATABASE_NAME).exists():
            stored = await asyncio.to_thread(read_unowned, folder / DATABASE_NAME, stored_facts)
    try:
        warning = judge_place(folder, these_surroundings()).warning
    except PraxisError as error:
        warning = ""
        problems.append(error)
    diagnosis = Diagnosis(
        version=VERSION,
        python=f"{platform.python_version()} ({sys.executable})",
        sqlite=sqlite3.sqlite_version,
        system=platform.platform(),
        folder=str(folder),
        exists=(folder / DATABASE_NAME).exists(),
        place_warning=warning,
        sizes=_sizes(folder),
        owner=f"{owner.program} (process {owner.pid})" if owner is not None else "",
        owner_answers=bool(status),
        owner_gone=gone,
        status=status,
        log=str(folder / LOG_FOLDER / LOG_NAME),
        problems=tuple(map(str, problems)),
        bundle=str(bundle) if bundle is not None else "",
    )
    made: Bundle | None = None
    if bundle is not None:
        made = await asyncio.to_thread(
            make_bundle,
            folder,
            SystemClock().now(),
            engine=told.engine if told is not None else None,
            stored=told.stored if told is not None else stored,
            problems=[problem for error in problems for problem in (error.what, error.means)],
        )
        await asyncio.to_thread(made.write, bundle)
    session.out.result(diagnosis, lambda: [*_lines(diagnosis), *_bundle_lines(made, bundle)])
    if problems:
        raise typer.Exit(problems[0].exit_code)


def _bundle_lines(made: Bundle | None, target: Path | None) -> Iterator[str]:
    if made is None:
        return
    yield f"bundle       {shown(str(target))}"
    for part in made.parts:
        yield f"  {part.name:<20} {part.says}"
    yield NOT_IN_IT


def _database_problems(folder: Path) -> list[PraxisError]:
    """What speaks against opening the folder and its database, if they are there."""
    path = folder / DATABASE_NAME
    try:
        if folder.exists() and not folder.is_dir():
            raise FolderNotUsable(
                f"The data folder {folder} is no folder.",
                do="Choose a folder that you may write to, with --data.",
            )
        if folder.exists() and not os.access(folder, os.W_OK):
            raise FolderNotUsable(
                f"The data folder {folder} cannot be written to: this user has no right to.",
                do="Give yourself the right, or choose another folder with --data.",
            )
        if path.exists():
            inspect_database(path, shipped_migrations())
    except PraxisError as error:
        return [error]
    return []


def _sizes(folder: Path) -> dict[str, int]:
    """Bytes of each part of the data folder; what goes away meanwhile counts nothing."""
    database = [folder / f"{DATABASE_NAME}{suffix}" for suffix in ("", "-wal", "-shm")]
    return {
        "database": sum(map(_size, database)),
        **{part: sum(map(_size, (folder / part).rglob("*"))) for part in _PARTS if (folder / part).is_dir()},
    }


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size if not path.is_dir() else 0
    except OSError:
        return 0


def _lines(found: Diagnosis) -> Iterator[str]:
    yield f"Praxis Console {found.version}, Python {found.python}, SQLite {found.sqlite}"
    yield f"on {found.system}"
    yield f"data folder  {shown(found.folder)}{'' if found.exists else ' (holds no data yet)'}"
    if found.place_warning:
        yield f"             {shown(found.place_warning)}"
    for part, size in found.sizes.items():
        yield f"  {part:<10} {size_text(size)}"
    answering = (
        "answers"
        if found.owner_answers
        else "is gone without having closed it; the next command judges what it left"
        if found.owner_gone
        else "does not answer on the channel"
    )
    owner = f"{shown(found.owner)}, {answering}" if found.owner else "nobody has the folder open"
    yield f"owner        {owner}"
    for name, value in found.status.items():
        yield f"  {name.replace('_', ' '):<18} {value}"
    yield f"log          {shown(found.log)}"
    for problem in found.problems:
        yield f"problem      {shown(problem)}"
    if not found.problems:
        looked = (
            "the owner, which answers"
            if found.owner_answers
            else "whether the database can be opened"
            if found.exists and (not found.owner or found.owner_gone)
            else "the owner's note"
        )
        yield f"Nothing wrong was found. Looked at: the place of the folder, and {looked}."
        yield "The journal was not checked. To check it: praxis journal verify"
