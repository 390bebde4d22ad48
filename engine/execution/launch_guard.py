"""The seal at the start of a process: the guarded files are what was approved, and stayed it (E-40a, B-020).

The digest is taken from an opened handle, and that handle stays open until the command has ended. Beside
the digest stands the *trace* of the file: the identity of the handle (device, inode, size, change time) and
of every folder and link on the way to it. The trace is compared right before the program is let go and
again, with the digest, at the end. A file that was changed or swapped and put back has another change time,
so it is noticed even when its content is the approved one again.

This is the guard of systems that let others change an open file. Windows does not; there `process_windows`
holds the files so that nobody can.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from engine.clock import Clock
from engine.execution.process import Difference, DifferenceKind, GuardedFile, Stop
from engine.workspace.digests import handle_digest

COARSE_MS = 20
"""Change times may be as coarse as a timer tick: a file changed this lately is looked at only after it."""

_Identity = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Trace:
    handle: _Identity
    steps: tuple[_Identity, ...]


@dataclass(slots=True)
class _Held:
    file: GuardedFile
    handle: BinaryIO
    trace: _Trace | None = None

    def look(self) -> Difference | None:
        """Take the trace, then the digest: a change in between shows in the trace later."""
        try:
            self.trace = _trace(self.file.path, self.handle)
            there = Path(self.file.path).stat()
        except OSError as error:
            return _not_readable(self.file, error)
        difference = _compare(self.file, self.handle)
        if difference is None and self.trace.handle != _identity(there):
            # Swapped between opening it and looking at its path: what was read is not what stands there.
            return Difference(self.file.path, DifferenceKind.TOUCHED, self.file.sha256, self.file.sha256)
        return difference


class LaunchGuard:
    """Holds the guarded files of one launch. Use as a context manager; leaving it closes the handles."""

    def __init__(self, files: tuple[GuardedFile, ...]) -> None:
        self._files = tuple(dict.fromkeys(files))
        self._held: list[_Held] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for held in self._held:
            held.handle.close()
        self._held.clear()

    def verify(self, clock: Clock, stop: Stop) -> tuple[Difference, ...]:
        """Open every file, take its trace and digest, and give what differs from what was approved."""
        differences: list[Difference] = []
        for file in self._files:
            try:
                handle = _open(file.path)
            except OSError as error:
                differences.append(_not_readable(file, error))
                continue
            age = clock.now() - os.fstat(handle.fileno()).st_ctime_ns // 1_000_000
            if 0 <= age <= COARSE_MS:
                stop.wait(COARSE_MS + 1 - age)
            held = _Held(file, handle)
            self._held.append(held)
            difference = held.look()
            if difference is not None:
                differences.append(difference)
        return tuple(differences)

    def touched(self) -> tuple[Difference, ...]:
        """Give the files whose trace changed since `verify`. Cheap: no content is read."""
        return tuple(
            Difference(held.file.path, DifferenceKind.TOUCHED, held.file.sha256, held.file.sha256)
            for held in self._held
            if _trace_or_none(held.file.path, held.handle) != held.trace
        )

    def verify_again(self) -> tuple[Difference, ...]:
        """Give what changed since `verify`: by content where it differs now, otherwise by trace."""
        differences: list[Difference] = []
        touched = {difference.path: difference for difference in self.touched()}
        for held in self._held:
            file = held.file
            try:
                with _open(file.path) as now:
                    difference = _compare(file, now)
            except OSError as error:
                difference = _not_readable(file, error)
            difference = difference or touched.get(file.path)
            if difference is not None:
                differences.append(difference)
        return tuple(differences)

    def descriptor(self, path: str) -> int:
        """Give the descriptor of a file that `verify` has opened and read."""
        return next(held.handle.fileno() for held in self._held if held.file.path == path)


def starts_with_interpreter_line(descriptor: int) -> bool:
    """Say whether the file is a script with a ``#!`` line, which the system starts by its path."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.read(descriptor, 2) == b"#!"


def _open(path: str) -> BinaryIO:
    # Non-blocking, so that a named pipe put in the place of the file does not hold us up.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))
    handle = os.fdopen(descriptor, "rb", buffering=0)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        handle.close()
        raise OSError(0, "it is not a regular file")
    return handle


def _compare(file: GuardedFile, handle: BinaryIO) -> Difference | None:
    try:
        digest = handle_digest(handle).sha256
    except OSError as error:
        return _not_readable(file, error)
    if digest == file.sha256:
        return None
    return Difference(file.path, DifferenceKind.CONTENT, file.sha256, digest)


def _trace(path: str, handle: BinaryIO) -> _Trace:
    steps = [_identity(os.lstat(step)) for step in _steps(path)]
    real = os.path.realpath(path)
    if real != path:
        steps += [_identity(os.lstat(step)) for step in _steps(real)]
    return _Trace(_identity(os.fstat(handle.fileno())), tuple(steps))


def _trace_or_none(path: str, handle: BinaryIO) -> _Trace | None:
    try:
        return _trace(path, handle)
    except OSError:
        return None


def _steps(path: str) -> list[Path]:
    place = Path(path)
    return [*reversed(place.parents), place]


def _identity(found: os.stat_result) -> _Identity:
    if stat.S_ISDIR(found.st_mode):
        # A folder's times change with every file made in it, which commands do all the time.
        return (found.st_dev, found.st_ino)
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _not_readable(file: GuardedFile, error: OSError) -> Difference:
    missing = isinstance(error, FileNotFoundError | NotADirectoryError)
    kind = DifferenceKind.MISSING if missing else DifferenceKind.UNREADABLE
    return Difference(file.path, kind, file.sha256, detail=error.strerror or str(error))
