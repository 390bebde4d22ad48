"""What a folder holds, entry by entry, and what changed between two looks at it (E-55).

Links are recorded as links and never followed. Git's own folders (``.git``) are recorded and not looked into.
What cannot be read is recorded as such. Reading is bounded: files beyond the bounds are recorded by size and
time alone, and a manifest says so of itself.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from engine.canonical import canonical_digest
from engine.instants import Instant
from engine.workspace.digests import Stamp, handle_digest
from engine.workspace.folders import FileIdentity, Folder, is_link

GIT_FOLDER = ".git"


class EntryKind(StrEnum):
    """What stands at a path. GIT is a ``.git`` folder, OTHER a device, pipe or socket."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    GIT = "git"
    OTHER = "other"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. ``path`` is relative with ``/``; ``mode`` the permission bits.

    ``sha256`` is empty for what is no file and for a file recorded by size and time alone. ``note`` is a
    link's target, or why an entry could not be read.
    """

    path: str
    kind: EntryKind
    size: int = 0
    mode: int = 0
    sha256: str = ""
    note: str = ""
    stamp: Stamp | None = None

    @property
    def by_times(self) -> bool:
        """Whether this is a file whose content was not read."""
        return self.kind is EntryKind.FILE and not self.sha256

    def facts(self) -> tuple[object, ...]:
        """Give what must be equal for the entry to count as unchanged; times only where nothing else is."""
        times = self.stamp.mtime_ns if self.by_times and self.stamp else 0
        return (self.kind, self.size, self.mode, self.sha256, self.note, times)


@dataclass(frozen=True, slots=True)
class ManifestBounds:
    """How much a manifest reads and holds. Beyond ``files`` or ``bytes`` entries are by size and time alone.

    Beyond ``entries`` the rest is left out, and below ``depth`` folders nothing is looked into.
    """

    files: int = 200_000
    bytes: int = 8 << 30
    entries: int = 1_000_000
    depth: int = 128


DEFAULT_BOUNDS = ManifestBounds()


@dataclass(frozen=True, slots=True)
class Manifest:
    """The entries of a folder by path, in order. ``left_out`` is true when there were more than the bounds."""

    entries: Mapping[str, Entry]
    left_out: bool = False

    def digest(self) -> str:
        """Give one SHA-256 over all entries: equal when every entry is unchanged."""
        return canonical_digest(
            {"left_out": self.left_out, "entries": [[e.path, *e.facts()] for e in self.entries.values()]}
        )

    def size(self) -> int:
        """Give the bytes of all files together."""
        return sum(entry.size for entry in self.entries.values() if entry.kind is EntryKind.FILE)

    def by_times(self) -> int:
        """Count the files whose content was not read."""
        return sum(entry.by_times for entry in self.entries.values())

    def shortcomings(self) -> tuple[str, ...]:
        """Say in sentences what this manifest does not prove; nothing for a complete one."""
        found = []
        if count := self.by_times():
            found.append(f"{count:,} files were recorded by size and time alone, their content was not read.")
        if count := sum(entry.kind is EntryKind.UNREADABLE for entry in self.entries.values()):
            found.append(f"{count:,} entries could not be read.")
        if self.left_out:
            found.append(f"There were more than {len(self.entries):,} entries; the rest was left out.")
        return tuple(found)

    def to_json(self) -> dict[str, Any]:
        """Give plain JSON values; `manifest_from_json` is the inverse."""
        return {"left_out": self.left_out, "entries": [_entry_to_json(e) for e in self.entries.values()]}


@dataclass(frozen=True, slots=True)
class ManifestDifference:
    """What changed between two manifests: paths added, changed and removed, each in order."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


def manifest_from_json(value: Mapping[str, Any]) -> Manifest:
    """Rebuild a manifest from what `Manifest.to_json` gave; the form is trusted."""
    entries = (_entry_from_json(item) for item in value["entries"])
    return Manifest({entry.path: entry for entry in entries}, value["left_out"])


def difference(before: Manifest, after: Manifest) -> ManifestDifference:
    """Compare two manifests of one folder.

    A file read in only one of them (the other met its bounds) is compared by stamp, so that meeting a bound
    is not taken for a change.
    """
    old, new = before.entries, after.entries
    return ManifestDifference(
        tuple(path for path in new if path not in old),
        tuple(path for path, entry in new.items() if path in old and not _unchanged(old[path], entry)),
        tuple(path for path in old if path not in new),
    )


def take_manifest(
    folder: Folder,
    *,
    now: Instant | None = None,
    previous: Manifest | None = None,
    bounds: ManifestBounds = DEFAULT_BOUNDS,
    leave_out: Callable[[str], bool] | None = None,
) -> Manifest:
    """Look at everything in an open folder.

    With ``previous``, a file whose stamp is as it was is not read again, unless it had changed so shortly
    before that look that its times prove nothing. ``now`` is the wall time of this look; without it nothing
    of this manifest can spare a later one a read. ``leave_out`` is asked for the name of each entry.
    """
    scan = _Scan(now, previous, bounds, leave_out)
    scan.look(folder, "", 0)
    return Manifest(scan.entries, scan.left_out)


@dataclass(slots=True)
class _Scan:
    now: Instant | None
    previous: Manifest | None
    bounds: ManifestBounds
    leave_out: Callable[[str], bool] | None
    entries: dict[str, Entry] = field(default_factory=dict)
    left_out: bool = False
    files_read: int = 0
    bytes_read: int = 0

    def look(self, folder: Folder, prefix: str, depth: int) -> None:
        for name in folder.names():
            if self.leave_out is not None and self.leave_out(name):
                continue
            if len(self.entries) >= self.bounds.entries:
                self.left_out = True
                return
            path = prefix + name
            try:
                self._entry(folder, name, path, depth)
            except OSError as error:
                self.entries[path] = Entry(path, EntryKind.UNREADABLE, note=type(error).__name__)

    def _entry(self, folder: Folder, name: str, path: str, depth: int) -> None:
        status = folder.look(name)
        mode = stat.S_IMODE(status.st_mode)
        if is_link(status):
            self.entries[path] = Entry(path, EntryKind.LINK, mode=mode, note=folder.link_target(name))
        elif stat.S_ISREG(status.st_mode):
            self.entries[path] = self._file(folder, name, path, Stamp.of(status), mode)
        elif not stat.S_ISDIR(status.st_mode):
            self.entries[path] = Entry(path, EntryKind.OTHER, mode=mode)
        elif name == GIT_FOLDER:
            self.entries[path] = Entry(path, EntryKind.GIT, mode=mode)
        elif depth >= self.bounds.depth:
            self.entries[path] = Entry(path, EntryKind.UNREADABLE, mode=mode, note="too deep")
        else:
            with folder.folder(name) as below:
                self.entries[path] = Entry(path, EntryKind.FOLDER, mode=mode)
                self.look(below, f"{path}/", depth + 1)

    def _file(self, folder: Folder, name: str, path: str, stamp: Stamp, mode: int) -> Entry:
        known = self.previous.entries.get(path) if self.previous is not None else None
        if known is not None and known.sha256 and known.stamp == stamp:
            return Entry(path, EntryKind.FILE, stamp.size, mode, known.sha256, stamp=stamp)
        if self.files_read >= self.bounds.files or self.bytes_read + stamp.size > self.bounds.bytes:
            return Entry(path, EntryKind.FILE, stamp.size, mode, stamp=stamp)
        with folder.file(name) as handle:
            digest = handle_digest(handle)
        self.files_read += 1
        self.bytes_read += digest.size
        # The stamp taken before the read: a change during it differs then from the next look's stamp.
        settled = self.now is not None and stamp.settled(self.now) and digest.size == stamp.size
        usable = stamp if settled else None
        return Entry(path, EntryKind.FILE, digest.size, mode, digest.sha256, stamp=usable)


def _unchanged(old: Entry, new: Entry) -> bool:
    if old.by_times != new.by_times and old.kind is new.kind:
        return (old.size, old.mode) == (new.size, new.mode) and old.stamp == new.stamp
    return old.facts() == new.facts()


def _entry_to_json(entry: Entry) -> dict[str, Any]:
    value: dict[str, Any] = {"path": entry.path, "kind": entry.kind.value}
    value |= {
        name: getattr(entry, name) for name in ("size", "mode", "sha256", "note") if getattr(entry, name)
    }
    if (stamp := entry.stamp) is not None:
        value["stamp"] = [stamp.identity.device, stamp.identity.inode, stamp.mtime_ns, stamp.ctime_ns]
    return value


def _entry_from_json(value: Mapping[str, Any]) -> Entry:
    fields = dict(value)
    kind = EntryKind(fields.pop("kind"))
    stamp = None
    if "stamp" in fields:
        device, inode, mtime_ns, ctime_ns = fields.pop("stamp")
        stamp = Stamp(FileIdentity(device, inode), fields.get("size", 0), mtime_ns, ctime_ns)
    return Entry(kind=kind, stamp=stamp, **fields)
