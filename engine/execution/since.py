"""The workspace now beside a manifest that was kept of it, and the texts of a file that changed.

What is kept of a workspace are digests, not contents. A text before or after a change is therefore shown only
where its very bytes are found again: in the workspace, among the kept files, or in the repository's commit.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from engine.clock import Clock
from engine.errors import DiskFault, InvalidWorkOrder, NotFound, PraxisError
from engine.execution.blobs import BlobStore
from engine.execution.evidence import FileChange, FileFacts, WorkspaceChanges, changes_between
from engine.instants import Instant
from engine.workspace.containment import Root, find_root, open_inside
from engine.workspace.folders import Folder
from engine.workspace.manifest import EntryKind, Manifest, manifest_from_json, take_manifest
from engine.workspace.repository import committed_content, find_git

BEFORE_FILE = "before.json"
"""The manifest from before the start, in the run folder while a command runs: what is left if the console goes."""

NOT_THERE = "not there"
"""Where the text of a side is found that has none, because the file is new or gone."""

LARGEST_TEXT = 1 << 20
MOST_DIFF_LINES = 4_000


_NO_FILE = {
    EntryKind.FOLDER: "a folder",
    EntryKind.GIT: "a folder of git's own, which is not looked into",
    EntryKind.OTHER: "a device, pipe or socket",
    EntryKind.UNREADABLE: "it could not be read",
}


class Point(StrEnum):
    """From when on changes are looked for: the dispatch of an attempt, or its end."""

    DISPATCH = "dispatch"
    END = "end"


@dataclass(frozen=True, slots=True)
class Since:
    """What changed in a workspace between a point and now.

    ``changes`` is None if that cannot be said, and ``why_not`` says why.
    """

    looked_at: Instant
    changes: WorkspaceChanges | None
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class FileText:
    """One side of a changed file: its text with where its bytes were found, or why there is none to show."""

    text: str | None
    found: str = ""
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class FileComparison:
    """Both sides of a changed file. ``lines`` is their unified difference if both texts are there.

    ``cut`` is true if there were more than `MOST_DIFF_LINES`.
    """

    path: str
    before: FileText
    after: FileText
    lines: tuple[str, ...] = ()
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Sources:
    """Where contents are looked for: the workspace, the kept files, and the commit before the run."""

    workspace: str
    blobs: BlobStore
    environment: Mapping[str, str]
    commit: str = ""


def kept_manifest(blobs: BlobStore, sha256: str) -> Manifest:
    """Read a kept manifest again; `NotFound` if it is missing, `DiskFault` if it is not what it was."""
    with blobs.open(sha256) as file:
        content = file.read()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise DiskFault(f"The kept manifest {sha256[:12]}… was altered.", do="Verify the evidence.")
    return manifest_from_json(json.loads(content))


def manifest_left(run_folder: Path) -> Manifest | None:
    """Read the manifest that a lost console left of the time before the start; None if there is no whole one."""
    try:
        return manifest_from_json(json.loads((run_folder / BEFORE_FILE).read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def changes_since(workspace: str, before: Manifest, clock: Clock) -> Since:
    """Compare a workspace now with a manifest of it. Reads what changed; call it in a thread."""
    try:
        root = find_root(workspace)
        with Folder(root.real) as folder:
            after = take_manifest(folder, now=clock.now(), previous=before)
    except InvalidWorkOrder as error:
        return Since(clock.now(), None, error.what)
    except OSError as error:
        return Since(
            clock.now(), None, f"The workspace {workspace} cannot be looked at: {error.strerror or error}."
        )
    return Since(clock.now(), changes_between(before, after))


def compare_file(change: FileChange, sources: Sources) -> FileComparison:
    """Find both texts of a changed file and compare them. Reads files and asks git; call it in a thread."""
    try:
        root: Root | None = find_root(sources.workspace)
    except InvalidWorkOrder:
        root = None
    before = _side(change.path, change.before, sources, root)
    after = _side(change.path, change.after, sources, root)
    if before.text is None or after.text is None:
        return FileComparison(change.path, before, after)
    lines = list(
        difflib.unified_diff(
            before.text.splitlines(), after.text.splitlines(), "before", "after", n=3, lineterm=""
        )
    )
    return FileComparison(
        change.path, before, after, tuple(lines[:MOST_DIFF_LINES]), len(lines) > MOST_DIFF_LINES
    )


def _side(path: str, facts: FileFacts | None, sources: Sources, root: Root | None) -> FileText:
    if facts is None:
        return FileText("", NOT_THERE)
    if facts.kind is EntryKind.LINK:
        return FileText(facts.note + "\n", "the target of the link")
    if facts.kind is not EntryKind.FILE:
        return FileText(None, why_not=_NO_FILE[facts.kind])
    if facts.size > LARGEST_TEXT:
        return FileText(None, why_not="too large to be shown here")
    if not facts.sha256:
        return FileText(None, why_not="its content was not read, so it cannot be found again")
    content, found = _content(path, facts.sha256, sources, root)
    if content is None:
        return FileText(None, why_not="its content was not kept; only its digest is known")
    if b"\0" in content:
        return FileText(None, found, "not text")
    try:
        return FileText(content.decode("utf-8-sig"), found)
    except UnicodeDecodeError:
        return FileText(content.decode("latin-1"), f"{found}, shown as Latin-1")


def _content(path: str, sha256: str, sources: Sources, root: Root | None) -> tuple[bytes | None, str]:
    """The bytes with this digest and where they were found, looked for where they may be."""
    if root is not None:
        try:
            with open_inside(root, path) as file:
                content = file.read(LARGEST_TEXT + 1)
        except (OSError, PraxisError):
            content = b""
        if _is(content, sha256):
            return content, "as it stands in the workspace"
    try:
        with sources.blobs.open(sha256) as kept:
            content = kept.read(LARGEST_TEXT + 1)
        if _is(content, sha256):
            return content, "from the kept files"
    except (NotFound, OSError):
        pass
    if root is not None:
        git = find_git(sources.environment)
        committed = committed_content(root, git, sources.environment, sources.commit, path, LARGEST_TEXT)
        if committed is not None and _is(committed, sha256):
            return committed, f"from the commit {sources.commit[:8]}"
    return None, ""


def _is(content: bytes, sha256: str) -> bool:
    return hashlib.sha256(content).hexdigest() == sha256
