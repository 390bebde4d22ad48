"""Folders held open by handle, so that what is read through them cannot be reached by way of a link.

A path that was looked at and is opened later may by then lead somewhere else (pitfall P35). Here each step
goes from a folder that is held open to one plain name in it, and a link at that name is refused. On POSIX
the step is ``openat`` with ``O_NOFOLLOW``; on Windows every folder on the way is held by a handle that denies
its renaming and removal, and the opened file must be the one that was looked at.

Hard links and mounts are outside of this: a hard link is the file itself.
"""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

WINDOWS = sys.platform == "win32"


@dataclass(frozen=True, slots=True, order=True)
class FileIdentity:
    """What makes a file or folder the same one under any name: device and inode, or Windows' file id."""

    device: int
    inode: int

    def __str__(self) -> str:
        return f"{self.device:x}:{self.inode:x}"


def identity_of(status: os.stat_result) -> FileIdentity:
    """Give the identity in a stat result."""
    return FileIdentity(status.st_dev, status.st_ino)


class IsLink(OSError):
    """A link, junction or other name surrogate stands where a plain file or folder was expected."""


def is_link(status: os.stat_result) -> bool:
    """Tell whether an ``lstat`` result is a symbolic link or, on Windows, a junction."""
    if stat.S_ISLNK(status.st_mode):
        return True
    if sys.platform == "win32":
        return status.st_reparse_tag in (stat.IO_REPARSE_TAG_SYMLINK, stat.IO_REPARSE_TAG_MOUNT_POINT)
    return False


if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    _FILE_LIST_DIRECTORY = 0x0001
    _SHARE_READ_WRITE = 0x0003
    _OPEN_EXISTING = 3
    _BACKUP_SEMANTICS_AND_OPEN_REPARSE_POINT = 0x0220_0000
    _INVALID_HANDLE = ctypes.c_void_p(-1).value

    _kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
    _kernel32.CreateFileW.restype = wintypes.HANDLE
    _kernel32.CreateFileW.argtypes = (
        wintypes.LPCWSTR,
        wintypes.DWORD,
        wintypes.DWORD,
        ctypes.c_void_p,
        wintypes.DWORD,
        wintypes.DWORD,
        wintypes.HANDLE,
    )
    _kernel32.CloseHandle.argtypes = (wintypes.HANDLE,)

    class Folder:
        """An open folder. Close it, or use it in a ``with`` statement."""

        def __init__(self, path: Path) -> None:
            """Hold the folder at ``path`` so that nobody can rename or remove it; `IsLink` for a link."""
            handle = _kernel32.CreateFileW(
                str(path),
                _FILE_LIST_DIRECTORY,
                _SHARE_READ_WRITE,
                None,
                _OPEN_EXISTING,
                _BACKUP_SEMANTICS_AND_OPEN_REPARSE_POINT,
                None,
            )
            if handle in (None, _INVALID_HANDLE):
                raise ctypes.WinError(ctypes.get_last_error())
            self._handle = handle
            self._path = path
            try:
                status = path.lstat()
                if is_link(status):
                    raise IsLink(f"{path} is a link")
                if not stat.S_ISDIR(status.st_mode):
                    raise NotADirectoryError(f"{path} is not a folder")
                self.identity = identity_of(status)
            except BaseException:
                self.close()
                raise

        def names(self) -> list[str]:
            """Give the names in the folder, sorted."""
            return sorted(entry.name for entry in self._path.iterdir())

        def look(self, name: str) -> os.stat_result:
            """Give the status of a name; a link is not followed."""
            return (self._path / name).lstat()

        def link_target(self, name: str) -> str:
            """Give the text of a link."""
            return str((self._path / name).readlink())

        def folder(self, name: str) -> Folder:
            """Open a folder in this one; `IsLink` for a link."""
            return Folder(self._path / name)

        def file(self, name: str) -> BinaryIO:
            """Open a regular file for reading; `IsLink` for a link, OSError for anything else."""
            expected = self.look(name)
            _require_regular(expected, name)
            handle = (self._path / name).open("rb", buffering=0)
            if identity_of(os.fstat(handle.fileno())) != identity_of(expected):
                handle.close()
                raise IsLink(f"{name} was replaced while it was opened")
            return handle

        def close(self) -> None:
            """Let go of the folder; more than once does nothing."""
            if self._handle is not None:
                _kernel32.CloseHandle(self._handle)
                self._handle = None

        def __enter__(self) -> Folder:
            return self

        def __exit__(
            self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
        ) -> None:
            self.close()

else:

    class Folder:
        """An open folder. Close it, or use it in a ``with`` statement."""

        def __init__(self, path: Path | str, inside: int | None = None) -> None:
            """Open the folder at ``path``; `IsLink` if its last part is a link."""
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                self._descriptor = os.open(path, flags, dir_fd=inside)
            except NotADirectoryError as error:
                # Linux says ENOTDIR for a link as well, since O_NOFOLLOW stops at the link itself; what is a
                # folder by now was a link a moment ago.
                status = os.stat(path, dir_fd=inside, follow_symlinks=False)
                if is_link(status) or stat.S_ISDIR(status.st_mode):
                    raise IsLink(f"{path} is a link") from error
                raise
            except OSError as error:
                _raise_as_link(error, str(path))
                raise
            self._open = True
            self.identity = identity_of(os.fstat(self._descriptor))

        def names(self) -> list[str]:
            """Give the names in the folder, sorted."""
            return sorted(os.listdir(self._descriptor))  # noqa: PTH208 - a Path cannot list a descriptor

        def look(self, name: str) -> os.stat_result:
            """Give the status of a name; a link is not followed."""
            return os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)

        def link_target(self, name: str) -> str:
            """Give the text of a link."""
            return os.readlink(name, dir_fd=self._descriptor)

        def folder(self, name: str) -> Folder:
            """Open a folder in this one; `IsLink` for a link."""
            return Folder(name, inside=self._descriptor)

        def file(self, name: str) -> BinaryIO:
            """Open a regular file for reading; `IsLink` for a link, OSError for anything else."""
            # Without O_NONBLOCK a named pipe would hold us until somebody writes to it.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            try:
                descriptor = os.open(name, flags, dir_fd=self._descriptor)
            except OSError as error:
                _raise_as_link(error, name)
                raise
            try:
                _require_regular(os.fstat(descriptor), name)
                return os.fdopen(descriptor, "rb", buffering=0)
            except BaseException:
                os.close(descriptor)
                raise

        def close(self) -> None:
            """Let go of the folder; more than once does nothing."""
            if self._open:
                self._open = False
                os.close(self._descriptor)

        def __enter__(self) -> Folder:
            return self

        def __exit__(
            self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
        ) -> None:
            self.close()

    def _raise_as_link(error: OSError, name: str) -> None:
        import errno

        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise IsLink(f"{name} is a link") from error


def _require_regular(status: os.stat_result, name: str) -> None:
    if is_link(status):
        raise IsLink(f"{name} is a link")
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{name} is not a regular file")
