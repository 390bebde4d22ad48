"""Whole files or none: publish a file so that a crash leaves either the old content or the new."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

WINDOWS = os.name == "nt"
REPLACE_ATTEMPTS = 10
PATIENT_ATTEMPTS = 100
"""For what is done rarely and had better not fail: five seconds."""
REPLACE_PAUSE_SECONDS = 0.05


def replace_file(source: Path, target: Path, *, attempts: int = REPLACE_ATTEMPTS) -> None:
    """Rename ``source`` over ``target`` and make the rename durable.

    On Windows a virus scanner or an indexer may hold either file for a moment; that is waited out for half a
    second unless more ``attempts`` are asked for, after which its `PermissionError` is raised.
    """
    _while_held(lambda: source.replace(target), attempts)
    flush_folder(target.parent)


def remove_file(path: Path, *, attempts: int = REPLACE_ATTEMPTS) -> None:
    """Remove a file if it is there, waiting as `replace_file` does while another program holds it."""
    _while_held(lambda: path.unlink(missing_ok=True), attempts)


def _while_held(action: Callable[[], object], attempts: int) -> None:
    for attempt in range(1, attempts + 1):
        try:
            action()
            return
        except PermissionError:
            if not WINDOWS or attempt == attempts:
                raise
            time.sleep(REPLACE_PAUSE_SECONDS)


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
