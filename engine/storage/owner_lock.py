"""One process owns a data folder: a lock held by the operating system, a note that says who has it (E-10).

The lock ends with the process, however it ends, so nothing has to be cleaned up after a crash. The note
(``owner.json``) is for people only and decides nothing.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from engine.errors import FolderInUse, InvalidValue
from engine.files import write_whole
from engine.instants import Instant, format_instant, parse_instant

LOCK_FILE = "owner.lock"
NOTE_FILE = "owner.json"

_NOTE_ATTEMPTS = 50
_NOTE_PAUSE_SECONDS = 0.02


if sys.platform == "win32":
    import ctypes
    import msvcrt

    # Not msvcrt.locking, which does the same by way of a C runtime that need not say why it failed.
    _kernel = ctypes.WinDLL("kernel32", use_last_error=True)

    def _lock(descriptor: int) -> None:
        if not _kernel.LockFile(_handle(descriptor), 0, 0, 1, 0):
            raise ctypes.WinError(ctypes.get_last_error())

    def _unlock(descriptor: int) -> None:
        if not _kernel.UnlockFile(_handle(descriptor), 0, 0, 1, 0):
            raise ctypes.WinError(ctypes.get_last_error())

    def _handle(descriptor: int) -> ctypes.c_void_p:
        return ctypes.c_void_p(msvcrt.get_osfhandle(descriptor))

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that owns a data folder: which program, where, and since when."""

    pid: int
    program: str
    host: str
    since: Instant

    @classmethod
    def this_process(cls, program: str, now: Instant) -> Owner:
        """Describe the running process."""
        return cls(os.getpid(), program, socket.gethostname(), now)


class OwnerLock:
    """The lock on a data folder while this process owns it."""

    def __init__(self, folder: Path, descriptor: int) -> None:
        self._folder = folder
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, folder: Path, owner: Owner) -> OwnerLock:
        """Own ``folder`` and leave a note that says so.

        If another process owns it (or another part of this one), raise `FolderInUse`, which names the owner,
        and touch nothing. `OSError` if the folder cannot be written to.
        """
        descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                _lock(descriptor)
            except (BlockingIOError, PermissionError):
                raise _in_use(folder) from None
            note = {
                "pid": owner.pid,
                "program": owner.program,
                "host": owner.host,
                "since": format_instant(owner.since),
            }
            write_whole(folder / NOTE_FILE, json.dumps(note, indent=2).encode())
        except BaseException:
            os.close(descriptor)
            raise
        return cls(folder, descriptor)

    def release(self) -> None:
        """Take the note away and free the folder; a second call does nothing."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        try:
            (self._folder / NOTE_FILE).unlink(missing_ok=True)
        finally:
            _unlock(descriptor)
            os.close(descriptor)


def read_owner(folder: Path) -> Owner | None:
    """Give what the note in ``folder`` says, or None if there is none that can be read."""
    try:
        note = json.loads((folder / NOTE_FILE).read_bytes())
        return Owner(int(note["pid"]), str(note["program"]), str(note["host"]), parse_instant(note["since"]))
    except (OSError, ValueError, KeyError, TypeError, InvalidValue):
        return None


def _in_use(folder: Path) -> FolderInUse:
    """Say who has the folder; an owner that has only just taken it may not have written its note yet."""
    owner = None
    for _ in range(_NOTE_ATTEMPTS):
        owner = read_owner(folder)
        if owner is not None and (owner.host != socket.gethostname() or psutil.pid_exists(owner.pid)):
            break
        owner = None
        time.sleep(_NOTE_PAUSE_SECONDS)
    if owner is None:
        return FolderInUse(
            f"The data folder {folder} is in use by another process.",
            means="Only one process may work on it at a time. Nothing was changed.",
            do="Close the other one, or choose another folder with --data.",
            folder=str(folder),
        )
    return FolderInUse(
        f"The data folder {folder} is in use by {owner.program} (process {owner.pid} on {owner.host}, "
        f"since {format_instant(owner.since)}).",
        means="Only one process may work on it at a time. Nothing was changed.",
        do=f"Use {owner.program}, close it, or choose another folder with --data.",
        folder=str(folder),
        pid=owner.pid,
        program=owner.program,
        host=owner.host,
        since=owner.since,
    )
