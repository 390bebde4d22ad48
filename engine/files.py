"""Whole files or none: publish a file so that a crash leaves either the old content or the new."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

WINDOWS = os.name == "nt"
REPLACE_ATTEMPTS = 10
REPLACE_PAUSE_SECONDS = 0.05


def replace_file(source: Path, target: Path) -> None:
    """Rename ``source`` over ``target`` and make the rename durable.

    On Windows a virus scanner or an indexer may hold either file for a moment; that is waited out for half a
    second, after which its `PermissionError` is raised.
    """
    for attempt in range(1, REPLACE_ATTEMPTS + 1):
        try:
            source.replace(target)
            break
        except PermissionError:
            if not WINDOWS or attempt == REPLACE_ATTEMPTS:
                raise
            time.sleep(REPLACE_PAUSE_SECONDS)
    flush_folder(target.parent)


def write_whole(target: Path, content: bytes) -> None:
    """Write ``content`` to ``target`` by way of a temporary neighbour: flushed, then renamed over it."""
    temporary = target.with_name(f"{target.name}.{os.getpid()}.new")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        replace_file(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def flush_folder(folder: Path) -> None:
    """Make renames and new names in ``folder`` durable, where the system lets folders be flushed."""
    if WINDOWS:
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
