"""The state of a workspace in one value: git's commit with the uncommitted changes, or the files as they are.

The workspace may have been written by somebody who would like to have a program run unseen, and a repository's
own configuration can name programs: hooks, file system monitors, filters, remote helpers. So git is asked only
for what it can answer from its index and its objects, with everything that starts programs switched off, and
the files themselves are read here. That also sees what ``git status`` can be told to overlook.
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO

from engine.canonical import canonical_digest
from engine.errors import InvalidWorkOrder
from engine.instants import Instant
from engine.workspace.containment import Root, contains, find_root, open_folder_inside
from engine.workspace.digests import Content, KnownContents, Stamp
from engine.workspace.executables import search_path
from engine.workspace.folders import WINDOWS, Folder, IsLink, is_link
from engine.workspace.manifest import DEFAULT_BOUNDS, GIT_FOLDER, EntryKind, ManifestBounds, take_manifest

GIT_TIMEOUT_SECONDS = 60
_PIECE = 1 << 20
_HELD_IN_MEMORY = 64 << 20
_DEEPEST_REPOSITORY = 8
if sys.platform == "win32":
    NO_WINDOW = subprocess.CREATE_NO_WINDOW
    """For ``creationflags``: a windowed program that starts a console program must not let a console flash up."""
else:
    NO_WINDOW = 0


class StateKind(StrEnum):
    """What a workspace state was taken from (E-40, E-42b)."""

    GIT = "git"
    FILES = "files"
    AS_LEFT_BY_APPROVED_STEP = "as_left_by_approved_step"
    AS_LEFT_BY_FAILED_VALIDATION = "as_left_by_failed_validation"


@dataclass(frozen=True, slots=True)
class WorkspaceState:
    """What a workspace held at one moment.

    GIT: ``head`` is the commit (empty before the first one), ``branch`` its name (empty when detached),
    ``changed`` the number of files that differ from it, ``digest`` covers their content and all untracked
    files that git does not ignore. FILES: ``digest`` covers every file, ``files`` is their number.
    ``unread`` files were judged by size and time alone, because the folder holds more than is read. ``note``
    says why a folder with a repository was not taken as one.
    """

    kind: StateKind
    head: str = ""
    branch: str = ""
    changed: int = 0
    files: int = 0
    digest: str = ""
    unread: int = 0
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Give plain JSON values; `state_from_json` is the inverse."""
        return {
            "kind": self.kind.value,
            "head": self.head,
            "branch": self.branch,
            "changed": self.changed,
            "files": self.files,
            "digest": self.digest,
            "unread": self.unread,
            "note": self.note,
        }


AS_LEFT_BY_APPROVED_STEP = WorkspaceState(StateKind.AS_LEFT_BY_APPROVED_STEP)
"""The state of a validation that is covered by the approval of its step (E-42b)."""

AS_LEFT_BY_FAILED_VALIDATION = WorkspaceState(StateKind.AS_LEFT_BY_FAILED_VALIDATION)
"""The state of a correction that is covered by an earlier approval of its command (E-62).

It stands for the one state that was recorded when the validation had failed; any other is drift.
"""


def state_from_json(value: Mapping[str, Any]) -> WorkspaceState:
    """Rebuild a state from what `WorkspaceState.to_json` gave; the form is trusted."""
    return WorkspaceState(**{**value, "kind": StateKind(value["kind"])})


def find_git(environment: Mapping[str, str]) -> Path | None:
    """Find the git program on the PATH of ``environment``, never in the current folder; None if absent."""
    path = next((value for name, value in environment.items() if name.upper() == "PATH"), "")
    return search_path("git.exe" if WINDOWS else "git", path).found


def workspace_state(
    root: Root,
    git: Path | None,
    environment: Mapping[str, str],
    *,
    now: Instant | None = None,
    known: KnownContents | None = None,
    bounds: ManifestBounds = DEFAULT_BOUNDS,
) -> WorkspaceState:
    """Look at a workspace and give its state.

    ``git`` is an absolute program, as `find_git` gave it; ``environment`` the console's. ``known`` spares
    reading files that have not changed since; it needs ``now``. In a repository only what lies below the
    workspace folder counts. A folder that is no work tree, or whose repository cannot be read, is taken by its
    files, and ``note`` says so. Raises `InvalidWorkOrder` if git does not answer in time or the folder cannot be
    opened.
    """
    reader = _Reader(known if known is not None else KnownContents(0), now, bounds)
    try:
        return _state(root, git, environment, reader, 0)
    except OSError as error:
        raise InvalidWorkOrder(
            f"The workspace {root.path} cannot be looked at: {error.strerror or error}.",
            means="The state of the workspace is not known, so nothing can be sealed.",
            do="Give yourself access to its folders, or let whatever changes them end; then try again.",
            field="workspace",
        ) from error


def committed_content(
    root: Root, git: Path | None, environment: Mapping[str, str], commit: str, path: str, largest: int
) -> bytes | None:
    """Give what a commit holds at a path below the workspace, None if it holds no file of at most ``largest`` bytes.

    Nothing is converted: a file whose line ends git changes at checkout differs from what stood in the workspace.
    """
    if git is None or contains(root, git) or not commit:
        return None
    repository = _Git(git, root, environment)
    name = f"{commit}:./{path}"
    try:
        size = repository.one_or_none("cat-file", "-s", name)
        if not size.isdecimal() or int(size) > largest:
            return None
        return repository.output("cat-file", "blob", name)
    except (_GitFailed, InvalidWorkOrder):
        return None


def _state(
    root: Root, git: Path | None, environment: Mapping[str, str], reader: _Reader, depth: int
) -> WorkspaceState:
    if not _within_repository(root.real):
        return _files_state(root, reader)
    if git is None or contains(root, git):
        return _files_state(root, reader, "git is not installed")
    repository = _Git(git, root, environment)
    try:
        if repository.lines("rev-parse", "--is-inside-work-tree") != ["true"]:
            return _files_state(root, reader)
        if repository.says_yes("check-ignore", "-q", "."):
            return _files_state(root, reader, "the repository around it ignores this folder")
        return _git_state(repository, reader, depth)
    except _GitFailed as error:
        return _files_state(root, reader, error.note)


def _files_state(root: Root, reader: _Reader, note: str = "") -> WorkspaceState:
    with open_folder_inside(root, ".") as folder:
        manifest = take_manifest(folder, bounds=reader.bounds)
    files = sum(entry.kind is EntryKind.FILE for entry in manifest.entries.values())
    return WorkspaceState(
        StateKind.FILES, files=files, digest=manifest.digest(), unread=manifest.by_times(), note=note
    )


def _within_repository(folder: Path) -> bool:
    return any(os.path.lexists(ancestor / GIT_FOLDER) for ancestor in (folder, *folder.parents))


class _GitFailed(Exception):
    def __init__(self, note: str) -> None:
        super().__init__(note)
        self.note = note


@dataclass(frozen=True, slots=True)
class _Tracked:
    """One entry of git's index: ``stages`` is empty unless it is in conflict; ``sparse`` may be absent on disk."""

    mode: str
    name: str
    sparse: bool = False
    conflict: bool = False


class _Git:
    """A git program that answers from the index and objects of one repository and starts nothing else."""

    def __init__(self, program: Path, root: Root, environment: Mapping[str, str]) -> None:
        self.program = program
        self.root = root
        self.environment = environment
        kept = {name: value for name, value in environment.items() if not name.upper().startswith("GIT_")}
        self._child = kept | {
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": "",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "LC_ALL": "C",
        }
        settings = (
            "core.fsmonitor=false",
            f"core.hooksPath={os.devnull}",
            "core.untrackedCache=false",
            "protocol.allow=never",
            "safe.bareRepository=explicit",
            "submodule.recurse=false",
        )
        self._start = [str(program), "--no-pager", *(part for text in settings for part in ("-c", text))]

    def run(self, *arguments: str) -> tuple[int, bytes, str]:
        try:
            done = subprocess.run(
                [*self._start, *arguments],
                cwd=self.root.real,
                env=self._child,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=GIT_TIMEOUT_SECONDS,
                check=False,
                creationflags=NO_WINDOW,
            )
        except subprocess.TimeoutExpired as error:
            raise InvalidWorkOrder(
                f"git did not answer within {GIT_TIMEOUT_SECONDS} seconds in {self.root.path}.",
                means="The state of the workspace is not known, so nothing can be sealed.",
                do="Try again; if it stays so, look at the repository with git status.",
                field="workspace",
            ) from error
        except OSError as error:
            raise _GitFailed("git cannot be started") from error
        return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace")

    def output(self, *arguments: str) -> bytes:
        code, output, complaint = self.run(*arguments)
        if code != 0:
            if "dubious ownership" in complaint:
                raise _GitFailed("git refuses the repository: another user owns it")
            raise _GitFailed("git cannot read the repository")
        return output

    def lines(self, *arguments: str) -> list[str]:
        return _text(self.output(*arguments)).splitlines()

    def says_yes(self, *arguments: str) -> bool:
        return self.run(*arguments)[0] == 0

    def one_or_none(self, *arguments: str) -> str:
        code, output, _ = self.run(*arguments)
        return _text(output).strip() if code == 0 else ""

    def index(self) -> dict[str, _Tracked]:
        found: dict[str, _Tracked] = {}
        for record in _records(self.output("ls-files", "-z", "--stage", "-t")):
            facts, _, path = record.partition("\t")
            tag, mode, name, stage = facts.split(" ")
            found[path] = _Tracked(mode, name, tag == "S", stage != "0")
        return found

    def committed(self, head: str) -> dict[str, tuple[str, str]]:
        found: dict[str, tuple[str, str]] = {}
        if head:
            for record in _records(self.output("ls-tree", "-r", "-z", head)):
                facts, _, path = record.partition("\t")
                mode, _, name = facts.split(" ")
                found[path] = (mode, name)
        return found

    def untracked(self) -> list[str]:
        return sorted(_records(self.output("ls-files", "-z", "--others", "--exclude-standard")))


def _git_state(git: _Git, reader: _Reader, depth: int) -> WorkspaceState:
    head = git.one_or_none("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    branch = git.one_or_none("symbolic-ref", "--quiet", "--short", "HEAD")
    if not head and not branch:
        raise _GitFailed("git cannot read the repository")
    reader.algorithm = git.one_or_none("rev-parse", "--show-object-format") or "sha1"
    modes_count = not WINDOWS and git.one_or_none("config", "--type=bool", "core.filemode") != "false"
    index, committed = git.index(), git.committed(head)
    changes: dict[str, list[object]] = {}
    count = 0
    with _Walk(git.root) as walk:
        for path, tracked in sorted(index.items()):
            facts, counts = _compare(git, walk, reader, path, tracked, modes_count, depth)
            if committed.get(path) != (tracked.mode, tracked.name):
                facts, counts = [*facts, "staged", tracked.mode, tracked.name], True
            if facts:
                changes[path] = facts
                count += counts
        for path in sorted(committed.keys() - index.keys()):
            changes[path] = ["not in the index"]
            count += 1
        for path in git.untracked():
            plain = path.rstrip("/")
            changes[plain] = [*changes.get(plain, []), "untracked"]
            changes[plain] += (
                _nested(git, plain, reader, depth) if path.endswith("/") else reader.facts(walk, path)
            )
            count += 1
    return WorkspaceState(
        StateKind.GIT,
        head,
        branch,
        count,
        digest=canonical_digest([[path, *changes[path]] for path in sorted(changes)]),
        unread=reader.unread,
    )


def _compare(
    git: _Git, walk: _Walk, reader: _Reader, path: str, tracked: _Tracked, modes_count: bool, depth: int
) -> tuple[list[object], bool]:
    """Compare a tracked path with the index: the facts that differ, and whether they count as a change."""
    if tracked.mode == "160000":
        return _submodule(git, walk, reader, path, tracked, depth)
    facts = reader.facts(walk, path)
    kind = facts[0]
    if kind == "missing":
        return (["missing"], True) if not tracked.sparse else ([], False)
    if tracked.conflict:
        return ["conflict", *facts], True
    if kind == "by times":
        return facts, False
    if kind == "link":
        same = tracked.mode == "120000" and reader.name_of(os.fsencode(str(facts[1]))) == tracked.name
        return ([], False) if same else (facts, True)
    if kind != "file" or tracked.mode == "120000" or tracked.name not in reader.last_names:
        return facts, True
    if facts[1] != (tracked.mode == "100755") and not WINDOWS:
        return facts, modes_count
    return [], False


def _submodule(
    git: _Git, walk: _Walk, reader: _Reader, path: str, tracked: _Tracked, depth: int
) -> tuple[list[object], bool]:
    status = walk.look(path)
    if status is None:
        return (["missing"], True) if not tracked.sparse else ([], False)
    if not stat.S_ISDIR(status.st_mode):
        return ["no folder"], True
    if not os.path.lexists(git.root.real / path / GIT_FOLDER):
        folder_is_empty = not any((git.root.real / path).iterdir())
        return ([], False) if folder_is_empty else (_nested(git, path, reader, depth), True)
    nested = _nested(git, path, reader, depth)
    clean = nested[1:] == [tracked.name, 0]
    return (nested, not clean) if not clean else ([], False)


def _nested(git: _Git, path: str, reader: _Reader, depth: int) -> list[object]:
    """Give the facts of a repository inside this one: digest, commit, number of changes."""
    if depth >= _DEEPEST_REPOSITORY:
        raise _GitFailed("repositories are nested too deeply")
    root = find_root(git.root.real / path)
    if not contains(git.root, root.real):
        return ["outside", "", 1]
    own = _Reader(reader.known, reader.now, reader.bounds)
    state = _state(root, git.program, git.environment, own, depth + 1)
    reader.unread += state.unread
    return [state.digest, state.head, state.changed]


class _Walk:
    """Opens paths below a root in order, keeping open the folders that the next path shares."""

    def __init__(self, root: Root) -> None:
        self._folders = [open_folder_inside(root, ".")]
        self._names: list[str] = []

    def __enter__(self) -> _Walk:
        return self

    def __exit__(self, *_: object) -> None:
        for folder in self._folders:
            folder.close()

    def folder_of(self, path: str) -> tuple[Folder, str]:
        """Give the open folder of a path and the last name; OSError if it is not there or behind a link."""
        *wanted, name = path.split("/")
        shared = 0
        while shared < min(len(wanted), len(self._names)) and wanted[shared] == self._names[shared]:
            shared += 1
        while len(self._names) > shared:
            self._folders.pop().close()
            self._names.pop()
        for part in wanted[shared:]:
            self._folders.append(self._folders[-1].folder(part))
            self._names.append(part)
        return self._folders[-1], name

    def look(self, path: str) -> os.stat_result | None:
        try:
            folder, name = self.folder_of(path)
            return folder.look(name)
        except OSError:
            return None


@dataclass(slots=True)
class _Reader:
    """Reads the contents of files within bounds, or recalls them."""

    known: KnownContents
    now: Instant | None
    bounds: ManifestBounds
    algorithm: str = "sha1"
    unread: int = 0
    last_names: frozenset[str] = frozenset()
    files_read: int = 0
    bytes_read: int = 0

    def facts(self, walk: _Walk, path: str) -> list[object]:
        """Give what is at a path: its kind first, then what makes it this one."""
        self.last_names = frozenset()
        try:
            folder, name = walk.folder_of(path)
            status = folder.look(name)
            if is_link(status):
                return ["link", folder.link_target(name)]
            if not stat.S_ISREG(status.st_mode):
                return ["other", stat.S_IFMT(status.st_mode)]
            return self._file(folder, name, status)
        except (FileNotFoundError, NotADirectoryError, IsLink):
            return ["missing"]
        except OSError as error:
            return ["unreadable", type(error).__name__]

    def name_of(self, content: bytes) -> str:
        """Give git's object name for a content."""
        return str(self._hash(len(content), content).hexdigest())

    def _file(self, folder: Folder, name: str, status: os.stat_result) -> list[object]:
        stamp = Stamp.of(status)
        content = self.known.recall(stamp, self.algorithm)
        if content is None:
            if self.files_read >= self.bounds.files or self.bytes_read + stamp.size > self.bounds.bytes:
                self.unread += 1
                return ["by times", stamp.size, stamp.mtime_ns]
            with folder.file(name) as handle:
                content = self._read(handle, stamp.size)
            self.files_read += 1
            self.bytes_read += content.size
            if self.now is not None and content.size == stamp.size:
                self.known.remember(stamp, content, self.now, self.algorithm)
        self.last_names = content.git_names
        return ["file", bool(status.st_mode & stat.S_IXUSR), content.sha256]

    def _read(self, handle: BinaryIO, size: int) -> Content:
        sha256 = hashlib.sha256()
        raw = self._hash(size)
        held = bytearray()
        read = 0
        while (piece := handle.read(_PIECE)) and read <= size:
            sha256.update(piece)
            raw.update(piece)
            read += len(piece)
            if size <= _HELD_IN_MEMORY:
                held += piece
        names = {raw.hexdigest(), self.name_of(_lfs_pointer(sha256.hexdigest(), read))}
        if b"\r\n" in held:
            names.add(self.name_of(bytes(held).replace(b"\r\n", b"\n")))
        return Content(sha256.hexdigest(), read, frozenset(names))

    def _hash(self, size: int, content: bytes = b"") -> Any:
        digest = hashlib.new(self.algorithm, usedforsecurity=False)
        digest.update(b"blob %d\0" % size)
        digest.update(content)
        return digest


def _lfs_pointer(sha256: str, size: int) -> bytes:
    """Give what git holds instead of a file that Git LFS keeps elsewhere."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n".encode()


def _records(output: bytes) -> Iterator[str]:
    return (_text(record) for record in output.split(b"\0") if record)


def _text(output: bytes) -> str:
    return output.decode("utf-8", "surrogateescape")
