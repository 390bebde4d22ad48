"""Digests of file contents: always of an opened handle, in pieces, never of a path looked up twice."""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from engine.instants import Instant
from engine.workspace.folders import FileIdentity, identity_of

_PIECE = 1 << 20

SETTLING_MS = 2_000
"""A file changed less than this long ago may change again without new times: FAT counts in two seconds."""


@dataclass(frozen=True, slots=True)
class FileDigest:
    """The content of a file as it was read: SHA-256 in hexadecimal, size in bytes, and which file it was."""

    sha256: str
    size: int
    identity: FileIdentity


@dataclass(frozen=True, slots=True)
class Stamp:
    """What of a file changes when its content does: identity, size and times in nanoseconds.

    On Windows ``ctime_ns`` is when the file was made, so there a program that sets the modification time back
    can hide a change of equal size from a stamp. Programs and inputs of a plan are therefore always read.
    """

    identity: FileIdentity
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        """Take the stamp in a stat result."""
        return cls(identity_of(status), status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    def settled(self, now: Instant) -> bool:
        """Tell whether the last change was long enough ago that a later one must show in the times."""
        return max(self.mtime_ns, self.ctime_ns) < (now - SETTLING_MS) * 1_000_000


@dataclass(frozen=True, slots=True)
class Content:
    """The digests of one content: SHA-256, and git's object names for it where they were asked for."""

    sha256: str
    size: int
    git_names: frozenset[str] = frozenset()


class KnownContents:
    """Contents remembered by stamp, so that unchanged files are not read again; the oldest are forgotten.

    Not safe for use from several threads at once.
    """

    def __init__(self, capacity: int = 500_000) -> None:
        self._capacity = capacity
        self._contents: OrderedDict[tuple[Stamp, str], Content] = OrderedDict()

    def recall(self, stamp: Stamp, algorithm: str = "") -> Content | None:
        """Give the content that was read under this stamp, or None."""
        content = self._contents.get((stamp, algorithm))
        if content is not None:
            self._contents.move_to_end((stamp, algorithm))
        return content

    def remember(self, stamp: Stamp, content: Content, now: Instant, algorithm: str = "") -> None:
        """Keep a content, unless its file changed so lately that its stamp proves nothing."""
        if stamp.settled(now):
            self._contents[stamp, algorithm] = content
            if len(self._contents) > self._capacity:
                self._contents.popitem(last=False)


class FileChanging(OSError):
    """A file grew while it was read, so that no digest of it would be true."""


def file_digest(path: Path | str) -> FileDigest:
    """Read a whole file and give its digest; OSError if it cannot be read, `FileChanging` if it grows."""
    with Path(path).open("rb", buffering=0) as handle:
        return handle_digest(handle)


def handle_digest(handle: BinaryIO) -> FileDigest:
    """Read an opened file from its start to its end and give the digest of what was read.

    Raises `FileChanging` when there is more to read than the file held at first: a log that another program
    goes on writing would never end.
    """
    status = os.fstat(handle.fileno())
    sha256 = hashlib.sha256()
    size = 0
    while piece := handle.read(_PIECE):
        sha256.update(piece)
        size += len(piece)
        if size > status.st_size:
            raise FileChanging(f"{handle.name} grew while it was read")
    return FileDigest(sha256.hexdigest(), size, identity_of(status))
