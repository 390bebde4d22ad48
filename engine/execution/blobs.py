"""Kept bytes: files that are named by the SHA-256 of their content, ``blobs/ab/abcdef…`` (E-55).

A blob is written to a temporary name in ``blobs/incoming``, flushed, and renamed when whole, so a blob that
stands under its name is complete. What stands there is never written to again. The database refers to blobs
by digest, and is told of a blob only after it is here. Any number of threads may use one store at once.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import secrets
import threading
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

from engine.errors import DiskFault, DiskFull, FolderNotUsable, InvalidValue, NotFound, StorageError
from engine.files import flush_folder, replace_file
from engine.workspace.folders import Folder

_PIECE = 1 << 20
_DIGEST = re.compile(r"[0-9a-f]{64}")
_ASIDE = re.compile(r"altered-[0-9a-f]{8}")
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)


@dataclass(frozen=True, slots=True)
class Blob:
    """A kept content: its SHA-256 in hex and its size in bytes."""

    sha256: str
    size: int


class BlobState(StrEnum):
    """What a look at a blob finds: the true content, nothing, or a content that is not the one of its name."""

    TRUE = "true"
    MISSING = "missing"
    ALTERED = "altered"


class BlobStore:
    """The blobs of one data folder. Making it touches nothing; folders are made when they are needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._incoming = folder / "incoming"
        self._lock = threading.Lock()
        self._kept_again: set[str] = set()

    def path(self, sha256: str) -> Path:
        """Give where the blob with this digest stands or would stand; `InvalidValue` if it is no digest."""
        if not _DIGEST.fullmatch(sha256):
            raise InvalidValue(f"{sha256!r} is not a SHA-256 digest.", do="Give 64 lower-case hex digits.")
        return self._folder / sha256[:2] / sha256

    def put_file(self, path: Path) -> Blob:
        """Keep the content of a regular file as it is read now, once; links are refused.

        Keeping the same content again gives the same blob. Raises `NotFound` when there is no such file,
        `DiskFull`, `FolderNotUsable` or `DiskFault` when it cannot be read or kept; no temporary file is
        left.
        """
        try:
            with Folder(path.parent.resolve()) as folder, folder.file(path.name) as source:
                return self.put_stream(source)
        except FileNotFoundError as error:
            raise NotFound(f"There is no file {path} to keep.", path=str(path)) from error
        except OSError as error:
            raise DiskFault(
                f"{path} cannot be read: {error.strerror or error}.", means="Its content was not kept."
            ) from error

    def put_bytes(self, content: bytes) -> Blob:
        """Keep these bytes; otherwise as `put_file`."""
        return self.put_stream(io.BytesIO(content))

    def put_stream(self, source: BinaryIO) -> Blob:
        """Keep what can be read from ``source`` until its end.

        An error of reading passes through as OSError, an error of keeping is a `StorageError`.
        """
        temporary = self._incoming / secrets.token_hex(16)
        try:
            blob = self._write(source, temporary)
            self._publish(temporary, blob)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        return blob

    def open(self, sha256: str) -> BinaryIO:
        """Open a blob for reading, unbuffered; `NotFound` if it is missing. Its content is not verified."""
        try:
            return self.path(sha256).open("rb", buffering=0)
        except FileNotFoundError as error:
            raise _missing(sha256) from error

    def size(self, sha256: str) -> int:
        """Give the size of a blob in bytes; `NotFound` if it is missing."""
        try:
            return self.path(sha256).stat().st_size
        except FileNotFoundError as error:
            raise _missing(sha256) from error

    def verify(self, sha256: str) -> BlobState:
        """Read a whole blob and compare it with its name; `DiskFault` if it cannot be read."""
        try:
            with self.path(sha256).open("rb", buffering=0) as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            return BlobState.MISSING
        except OSError as error:
            raise DiskFault(
                f"The kept file {sha256[:12]}… cannot be read: {error.strerror}.",
                means="Whether its content is true cannot be said.",
                do="Check the disk and your rights in the data folder.",
            ) from error
        return BlobState.TRUE if found == sha256 else BlobState.ALTERED

    def take_kept_again(self) -> frozenset[str]:
        """The digests of contents that were here already when they were kept since this was last asked.

        Whoever kept them is about to refer to them, so they are no older than that for whoever collects (E-84).
        """
        with self._lock:
            taken = frozenset(self._kept_again)
            self._kept_again.clear()
        return taken

    def discard(self, name: str) -> bool:
        """Remove a file that nothing refers to; False if its content was kept again meanwhile, or it is gone.

        ``name`` is a digest, or that of a file which was set aside as altered beside it.
        """
        digest, _, rest = name.partition(".")
        path = self.path(digest).with_name(name)
        if rest and not _ASIDE.fullmatch(rest):
            raise InvalidValue(f"{name!r} is no kept file.", do="Give a digest.")
        with self._lock:
            if digest in self._kept_again or not path.exists():
                return False
            path.unlink()
        return True

    def clear_incoming(self) -> int:
        """Remove what a crash left half-written; give how many files. Only the owner calls it, at its start.

        A file that somebody else has open stays until the next start.
        """
        count = 0
        if self._incoming.is_dir():
            for path in self._incoming.iterdir():
                with suppress(OSError):
                    path.unlink()
                    count += 1
        return count

    def _write(self, source: BinaryIO, temporary: Path) -> Blob:
        digest = hashlib.sha256()
        size = 0
        try:
            if not self._incoming.is_dir():
                self._incoming.mkdir(parents=True, exist_ok=True)
                flush_folder(self._folder.parent)
            target = temporary.open("xb", buffering=0)
        except OSError as error:
            raise self._not_kept(error) from error
        with target:
            while piece := source.read(_PIECE):
                digest.update(piece)
                size += len(piece)
                try:
                    _write_all(target, piece)
                except OSError as error:
                    raise self._not_kept(error) from error
            try:
                os.fsync(target.fileno())
            except OSError as error:
                raise self._not_kept(error) from error
        return Blob(digest.hexdigest(), size)

    def _publish(self, temporary: Path, blob: Blob) -> None:
        target = self.path(blob.sha256)
        state = self.verify(blob.sha256)
        try:
            with self._lock:
                if state is BlobState.TRUE and target.exists():  # it may have been discarded since the look
                    self._kept_again.add(blob.sha256)
                    temporary.unlink()
                    return
                if state is BlobState.ALTERED:
                    # Evidence of a damage is evidence too, so it is set aside and not replaced.
                    replace_file(target, target.with_name(f"{target.name}.altered-{secrets.token_hex(4)}"))
                if not target.parent.is_dir():
                    target.parent.mkdir(exist_ok=True)
                    flush_folder(self._folder)
                replace_file(temporary, target)
        except OSError as error:
            raise self._not_kept(error) from error

    def _not_kept(self, error: OSError) -> StorageError:
        means = "The content was not kept, and nothing half-written is left."
        if error.errno in _NO_ROOM:
            return DiskFull(
                f"There is no room for more in {self._folder}.", means=means, do="Make room, then try again."
            )
        if error.errno in _NOT_ALLOWED:
            return FolderNotUsable(
                f"{self._folder} cannot be written to: {error.strerror}.",
                means=means,
                do="Give yourself the right to write there, and close programs that hold its files.",
            )
        return DiskFault(
            f"Writing to {self._folder} went wrong: {error.strerror or error}.",
            means=means,
            do="Check the disk.",
        )


def _write_all(target: io.FileIO, piece: bytes) -> None:
    rest = memoryview(piece)
    while rest:
        rest = rest[target.write(rest) :]


def _missing(sha256: str) -> NotFound:
    return NotFound(
        f"The kept file {sha256[:12]}… is missing.",
        means="What it held can no longer be shown or proved; its digest is still known.",
        do="Restore it from a backup.",
        sha256=sha256,
    )
