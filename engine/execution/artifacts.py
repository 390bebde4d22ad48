"""Keeping the files that a command was to leave in its workspace (E-52, E-55).

Names are matched by walking folders that are held open; links are not followed by wildcards. Each match is
then opened anew through `open_inside`, which proves once more, after the run, that it lies inside the
workspace.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import NotFound, OutsideWorkspace, PraxisError
from engine.execution.blobs import BlobStore
from engine.execution.evidence import Artifact, ArtifactProblem
from engine.workspace.containment import Root, open_folder_inside, open_inside, parts_of
from engine.workspace.folders import WINDOWS, Folder, is_link
from engine.workspace.manifest import GIT_FOLDER

LISTED_PROBLEMS = 100
_NOT_KEPT = (OutsideWorkspace, NotFound, OSError)


@dataclass(frozen=True, slots=True)
class ArtifactBounds:
    """How much of what matches is kept: so many files, so many bytes of all together."""

    files: int = 2_000
    bytes: int = 4 << 30


DEFAULT_BOUNDS = ArtifactBounds()


def keep_artifacts(
    root: Root, patterns: Sequence[str], blobs: BlobStore, bounds: ArtifactBounds = DEFAULT_BOUNDS
) -> tuple[tuple[Artifact, ...], tuple[ArtifactProblem, ...]]:
    """Keep every file that matches one of the patterns, and give them and what was in the way, by path.

    Patterns are relative to the root: ``*`` and ``?`` stay within one name, ``**`` stands for any folders
    (git's own left out). Whatever is wrong with one file is a problem of that file; only a blob store that
    cannot keep anything raises its `StorageError`.
    """
    search = _Search(root)
    for pattern in patterns:
        search.pattern(pattern)
    kept: list[Artifact] = []
    room = bounds.bytes
    for number, path in enumerate(sorted(search.found)):
        if len(kept) >= bounds.files:
            left = len(search.found) - number
            search.problem(path, f"More than {bounds.files:,} files match; {left:,} were left out.")
            break
        try:
            with open_inside(root, path) as file:
                size = os.fstat(file.fileno()).st_size
                if size > room:
                    search.problem(path, f"With its {size:,} bytes it is too large to be kept.")
                    continue
                blob = blobs.put_stream(file)
        except _NOT_KEPT as error:
            search.problem(path, _words(error))
            continue
        room -= blob.size
        kept.append(Artifact(path, blob.size, blob.sha256))
    return tuple(kept), search.problems()


class _Search:
    """Collects the paths that match, and what was in the way."""

    def __init__(self, root: Root) -> None:
        self.found: set[str] = set()
        self._root = root
        self._matches = 0
        self._problems: list[ArtifactProblem] = []

    def problem(self, path: str, why: str) -> None:
        self._problems.append(ArtifactProblem(path, why))

    def problems(self) -> tuple[ArtifactProblem, ...]:
        listed = self._problems[:LISTED_PROBLEMS]
        more = len(self._problems) - len(listed)
        if more:
            listed.append(ArtifactProblem("…", f"{more:,} more files could not be kept."))
        return tuple(listed)

    def pattern(self, pattern: str) -> None:
        matches = self._matches
        try:
            parts = parts_of(pattern, pattern=True)
            # A folder that is named plainly may be a link that stays inside; what a wildcard finds may not.
            plain = next((place for place, part in enumerate(parts[:-1]) if _is_wild(part)), len(parts[:-1]))
            start = "/".join(parts[:plain])
            with open_folder_inside(self._root, start or ".") as folder:
                self._walk(folder, parts[plain:], f"{start}/" if start else "")
        except _NOT_KEPT as error:
            self.problem(pattern, _words(error))
            return
        if self._matches == matches:
            self.problem(pattern, "Nothing matches this pattern.")

    def _walk(self, folder: Folder, parts: Sequence[str], prefix: str) -> None:
        if not parts:
            return
        head, rest = parts[0], parts[1:]
        if head == "**":
            self._walk(folder, rest or ["*"], prefix)
        for name in folder.names():
            if head != "**" and not _name_matches(name, head):
                continue
            kind = folder.look(name)
            if is_link(kind) or not stat.S_ISDIR(kind.st_mode):
                if head != "**" and not rest:
                    self._matches += 1
                    self.found.add(prefix + name)
            elif name != GIT_FOLDER and (head == "**" or rest):
                self._enter(folder, name, parts if head == "**" else rest, prefix)

    def _enter(self, folder: Folder, name: str, parts: Sequence[str], prefix: str) -> None:
        try:
            with folder.folder(name) as below:
                self._walk(below, parts, f"{prefix}{name}/")
        except OSError as error:
            self.problem(prefix + name, _words(error))


def _is_wild(part: str) -> bool:
    return "*" in part or "?" in part


def _name_matches(name: str, part: str) -> bool:
    wild = "".join({"*": ".*", "?": "."}.get(character, re.escape(character)) for character in part)
    return re.fullmatch(wild, name, re.DOTALL | (re.IGNORECASE if WINDOWS else 0)) is not None


def _words(error: Exception) -> str:
    return error.what if isinstance(error, PraxisError) else f"It cannot be read: {_system_words(error)}."


def _system_words(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
