"""Putting another set of files in the place of the present one: the old set or the new, never a mixture (E-82).

The new set is staged inside the data folder. Writing the marker ``restore.json`` decides for it: whoever opens
the folder afterwards, in whatever state a kill left it, finishes the moves before anything else is looked at.
The old set is moved aside whole, with its write-ahead log, so that no old log is ever replayed over new data.
Only the owner of the folder calls what is here, with no connection open.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from engine.errors import DatabaseDamaged, FolderNotUsable
from engine.files import PATIENT_ATTEMPTS, flush_folder, remove_file, replace_file, write_whole
from engine.storage.connections import DATABASE_FILE

MARKER_FILE = "restore.json"
STAGE_FOLDER = "restore-staging"
ASIDE_FOLDER = "rollback"
NOTE_FILE = "rollback.json"
"""Beside a set that was moved aside: when and why."""

LOG_FILES = (f"{DATABASE_FILE}-wal", f"{DATABASE_FILE}-shm", f"{DATABASE_FILE}-journal")
_MARKER_VERSION = 1

Reached = Callable[[str], None]
"""A test's callback at named points of the moves (E-13)."""


def empty_stage(folder: Path) -> Path:
    """Give an empty folder for the new set, on the same volume as the data."""
    stage = folder / STAGE_FOLDER
    shutil.rmtree(stage, ignore_errors=True)
    stage.mkdir(parents=True)
    return stage


def drop_stage(folder: Path) -> None:
    """Take away what was staged and not decided for."""
    shutil.rmtree(folder / STAGE_FOLDER, ignore_errors=True)


def swap_in(folder: Path, aside: str, note: Mapping[str, Any], reached: Reached = lambda _: None) -> Path:
    """Put the staged files in place and the present ones into ``rollback/<aside>``; give that folder.

    ``note`` is kept beside the old set. If the old files cannot be moved, everything is put back and
    `FolderNotUsable` says what holds them. After a kill `finish_swap` goes on where this ended.
    """
    flush_folder(folder / STAGE_FOLDER)
    flush_folder(folder)
    reached("staged")
    marker = {"version": _MARKER_VERSION, "aside": aside, "note": dict(note)}
    write_whole(folder / MARKER_FILE, json.dumps(marker, indent=2).encode())
    reached("decided")
    return _carry_out(folder, aside, note, reached)


def finish_swap(folder: Path) -> Path | None:
    """Finish a swap that was decided and interrupted; give where the old set is, None if there was none.

    A stage that was never decided for is taken away.
    """
    marker = folder / MARKER_FILE
    if not marker.exists():
        if (folder / STAGE_FOLDER).exists():
            drop_stage(folder)
        return None
    try:
        said = json.loads(marker.read_bytes())
        version, aside, note = said["version"], str(said["aside"]), dict(said["note"])
        if version != _MARKER_VERSION or Path(aside).name != aside or aside in ("", ".", ".."):
            raise ValueError("not a marker of this version")
    except (ValueError, KeyError, TypeError) as error:
        raise DatabaseDamaged(
            f"The file {marker} cannot be read: {error}.",
            means="A restore was under way. Nothing is opened before it is known how far it came.",
            do="Keep a copy of the data folder as it is, then restore the newest backup into an empty folder.",
            path=str(marker),
        ) from error
    return _carry_out(folder, aside, note, lambda _: None)


def _carry_out(folder: Path, aside_name: str, note: Mapping[str, Any], reached: Reached) -> Path:
    """Do what is still to be done; every step finds out by itself whether it was done before."""
    stage, aside = folder / STAGE_FOLDER, folder / ASIDE_FOLDER / aside_name
    aside.mkdir(parents=True, exist_ok=True)
    flush_folder(aside.parent)
    flush_folder(folder)
    # The database comes into place last: while it is still staged, the moves are not complete.
    if (stage / DATABASE_FILE).exists():
        others = sorted(path.name for path in stage.iterdir() if path.name != DATABASE_FILE)
        _move_aside(folder, stage, aside, others, reached)
        flush_folder(aside)
        for name in (*others, DATABASE_FILE):
            _place(stage / name, folder)
            reached(f"placed {name}")
    elif not (folder / DATABASE_FILE).exists():
        raise DatabaseDamaged(
            f"A restore of {folder} was under way, and what it staged has been removed.",
            means=f"The data from before it is in {aside}. Nothing was opened.",
            do=f"Move those files back into {folder} and remove {MARKER_FILE}, or restore a backup elsewhere.",
            path=str(folder),
        )
    write_whole(aside / NOTE_FILE, json.dumps(dict(note), indent=2).encode())
    reached("noted")
    remove_file(folder / MARKER_FILE, attempts=PATIENT_ATTEMPTS)
    flush_folder(folder)
    reached("done")
    drop_stage(folder)
    return aside


def _move_aside(folder: Path, stage: Path, aside: Path, others: list[str], reached: Reached) -> None:
    """Move the old set: the logs and the database, and of the rest what is still to be replaced."""
    moved: list[str] = []
    try:
        for name in (*LOG_FILES, DATABASE_FILE, *others):
            # What already stands aside is the old one; then the one in place is new.
            if (folder / name).exists() and not (aside / name).exists() and _is_old(stage, name):
                _move(folder / name, aside / name)
                moved.append(name)
                reached(f"aside {name}")
    except OSError as error:
        if _nothing_placed(stage, others):
            _move_back(folder, aside)
            raise FolderNotUsable(
                f"{error.filename or folder} cannot be moved: {error.strerror or error}.",
                means="Another program may have it open. The data is as it was.",
                do="Close what has it open, then restore again.",
                folder=str(folder),
            ) from error
        raise


def _move(source: Path, target: Path) -> None:
    """Move a file of a set; a program that holds it for a moment is waited for longer than usual."""
    replace_file(source, target, attempts=PATIENT_ATTEMPTS)


def _place(source: Path, folder: Path) -> None:
    try:
        _move(source, folder / source.name)
    except OSError as error:
        raise FolderNotUsable(
            f"{source} cannot be put in its place: {error.strerror or error}.",
            means="Another program may have it open. What was there is set aside whole; opening the folder goes on.",
            do="Close what has it open, then open the folder again.",
            folder=str(folder),
        ) from error


def _is_old(stage: Path, name: str) -> bool:
    return name in LOG_FILES or (stage / name).exists()


def _nothing_placed(stage: Path, others: list[str]) -> bool:
    return all((stage / name).exists() for name in (*others, DATABASE_FILE))


def _move_back(folder: Path, aside: Path) -> None:
    for path in list(aside.iterdir()):
        _move(path, folder / path.name)
    remove_file(folder / MARKER_FILE, attempts=PATIENT_ATTEMPTS)
    flush_folder(folder)
    drop_stage(folder)
    with suppress(OSError):
        aside.rmdir()
