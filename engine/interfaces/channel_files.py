"""Where the local channel is found: its address, and the note that names it (E-90).

The data folder holds ``channel.json``, written by the owner while it listens. The socket itself lies in the user's
runtime folder, because a data folder's path may be longer than the hundred bytes that a socket's may have.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import stat
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.errors import ChannelError
from engine.files import write_whole

NOTE_NAME = "channel.json"
NOTE_VERSION = 1

_LONGEST_SOCKET_PATH = 100
_LONGEST_NOTE = 4096


@dataclass(frozen=True, slots=True)
class ChannelNote:
    """What ``channel.json`` says: where the owner listens, and which process it is."""

    address: str
    pid: int
    program: str
    version: int = NOTE_VERSION


def write_note(folder: Path, note: ChannelNote) -> None:
    """Say where the owner listens; readers see the old note or the new one, never a part."""
    write_whole(folder / NOTE_NAME, json.dumps(asdict(note)).encode("ascii"))


def read_note(folder: Path) -> ChannelNote | None:
    """Give what the owner wrote, or None if nobody says that they listen."""
    try:
        with (folder / NOTE_NAME).open(encoding="utf-8") as file:
            value = json.loads(file.read(_LONGEST_NOTE))
        note = ChannelNote(**value)
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    usable = (
        note.version == NOTE_VERSION
        and isinstance(note.address, str)
        and note.address
        and type(note.pid) is int
        and isinstance(note.program, str)
    )
    return note if usable else None


def remove_note(folder: Path) -> None:
    """Take the note away when the owner stops listening."""
    with contextlib.suppress(OSError):
        (folder / NOTE_NAME).unlink(missing_ok=True)


def fresh_address(folder: Path) -> str:
    """Give an address for the owner of this folder to listen on; what a killed owner left there is removed.

    On Windows a pipe with a name that cannot be guessed; elsewhere a socket in a folder that only this user
    can enter. `ChannelError` if there is no such folder.
    """
    if sys.platform == "win32":
        return rf"\\.\pipe\praxis-console-{secrets.token_hex(16)}"
    name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16] + ".sock"
    for place in _socket_folders():
        path = place / name
        if len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH and _is_private(place):
            path.unlink(missing_ok=True)
            return str(path)
    raise ChannelError(
        "There is no private place for the channel's socket.",
        means="Every candidate is too long, belongs to another user, or can be entered by others.",
        do="Set XDG_RUNTIME_DIR or TMPDIR to a short folder of your own.",
    )


def _socket_folders() -> tuple[Path, ...]:
    if sys.platform == "win32":
        return ()
    user = os.getuid()
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return (
        *((Path(runtime) / "praxis-console",) if runtime else ()),
        Path(tempfile.gettempdir()) / f"praxis-console-{user}",
        Path("/tmp") / f"praxis-console-{user}",
    )


def _is_private(place: Path) -> bool:
    """Make the folder if needed, and check that it is a real folder that this user alone can enter."""
    try:
        with contextlib.suppress(FileExistsError):
            place.mkdir(mode=0o700)
        found = place.lstat()
    except OSError:
        return False
    if sys.platform == "win32":
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
