"""Is a folder at a place where a live database is safe? (E-16a, B-085).

On a network share locks and shared memory do not work across machines, so the database is damaged sooner or
later: refused. Folders that a program synchronises, removable disks and folders shared with a virtual machine
mostly work and fail badly: allowed with a warning.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Protocol

import platformdirs
import psutil

from engine.errors import UnsuitableFolder

APPLICATION_FOLDER = "Praxis Console"


class PlaceKind(StrEnum):
    """The kinds of place."""

    LOCAL = "LOCAL"
    SYNCED = "SYNCED"
    REMOVABLE = "REMOVABLE"
    SHARED = "SHARED"
    NETWORK = "NETWORK"


@dataclass(frozen=True, slots=True)
class Volume:
    """What a folder is stored on: its kind, and how it is called (``nfs4 at /home``)."""

    kind: PlaceKind
    name: str = ""


@dataclass(frozen=True, slots=True)
class FolderPlace:
    """Where a data folder lies. ``warning`` is for a person, and empty if there is nothing to warn of."""

    kind: PlaceKind
    name: str = ""
    warning: str = ""


class Surroundings(Protocol):
    """What the machine knows about places; tests bring their own."""

    def volume(self, folder: Path) -> Volume:
        """Give what ``folder`` is, or would be, stored on."""

    def synced_by(self, folder: Path) -> str:
        """Name the program that synchronises ``folder``, or give an empty text."""


def default_data_folder() -> Path:
    """Give the data folder for who names none: this user's folder for local application data."""
    return platformdirs.user_data_path(APPLICATION_FOLDER, appauthor=False, roaming=False)


def these_surroundings() -> Surroundings:
    """Give the surroundings of this machine as they are now."""
    if sys.platform == "win32":
        return WindowsSurroundings(_drive_type, _volume_root, _attributes, os.environ)
    return PosixSurroundings(_mounts_of_this_machine())


def judge_place(folder: Path, surroundings: Surroundings) -> FolderPlace:
    """Say where ``folder`` (resolved, not necessarily there yet) lies; `UnsuitableFolder` on a network."""
    volume = surroundings.volume(folder)
    if volume.kind is PlaceKind.NETWORK:
        raise UnsuitableFolder(
            f"The data folder {folder} is on a network share ({volume.name}).",
            means="A live database is damaged there sooner or later. Nothing was changed.",
            do=f"Choose a folder on a local disk with --data{_suggestion(surroundings)}.",
            folder=str(folder),
            kind=volume.kind.value,
            name=volume.name,
        )
    service = surroundings.synced_by(folder)
    if service:
        return FolderPlace(
            PlaceKind.SYNCED,
            service,
            f"The data folder {folder} is synchronised by {service}, which may lock or replace the live database "
            f"while it is written. Keep it on the local disk{_suggestion(surroundings)}, and only the backups "
            "in the synchronised folder.",
        )
    if volume.kind is PlaceKind.LOCAL:
        return FolderPlace(PlaceKind.LOCAL, volume.name)
    matter = {
        PlaceKind.REMOVABLE: "is on a removable disk; pulled out too early, it loses what was not yet written",
        PlaceKind.SHARED: "is shared with the host of this virtual machine; a program on the other side that "
        "opens the database damages it",
    }[volume.kind]
    return FolderPlace(
        volume.kind,
        volume.name,
        f"The data folder {folder} {matter}. Better keep it on the local disk{_suggestion(surroundings)}.",
    )


def _suggestion(surroundings: Surroundings) -> str:
    folder = default_data_folder()
    suits = surroundings.volume(folder).kind is PlaceKind.LOCAL and not surroundings.synced_by(folder)
    return f", such as {folder}" if suits else ""


# ------------------------------------------------------------------------------------------ synchronised folders

_SYNCED_NAMES: Mapping[str, re.Pattern[str]] = {
    service: re.compile(pattern, re.IGNORECASE)
    for service, pattern in {
        "OneDrive": r"onedrive([ -].+)?",
        "Dropbox": r"dropbox( \(.+\))?",
        "iCloud": r"icloud ?drive|mobile documents|com~apple~clouddocs",
        "Google Drive": r"google ?drive(-.+)?|my drive",
        "Nextcloud": r"nextcloud",
        "ownCloud": r"owncloud",
        "pCloud": r"pcloud ?drive|pcloudsync",
        "MEGA": r"mega(sync)?",
        "Box": r"box sync|box-box",
        "Proton Drive": r"proton ?drive",
        "Synology Drive": r"synology ?drive",
    }.items()
}
_MARKERS: Mapping[str, str] = {
    ".stfolder": "Syncthing",
    ".dropbox.cache": "Dropbox",
    ".nextcloudsync.log": "Nextcloud",
    ".owncloudsync.log": "ownCloud",
}


def _synced_by_name(folder: PurePath) -> str:
    for part in folder.parts:
        for service, pattern in _SYNCED_NAMES.items():
            if pattern.fullmatch(part):
                return service
    return ""


def _synced_by_marker(folder: Path) -> str:
    for place in (folder, *folder.parents):
        for marker, service in _MARKERS.items():
            if os.path.lexists(place / marker):
                return service
    return ""


# -------------------------------------------------------------------------------------------------- Linux, macOS

_NETWORK_FILE_SYSTEMS = re.compile(
    r"nfs4?|cifs|smb[23]|smbfs|smbnetfs|ncpfs|afs|afpfs|coda|ceph|glusterfs|lustre|beegfs|gpfs|webdav"
    r"|davfs2?|sshfs|rclone|s3fs|gcsfuse|curlftpfs|gvfsd-fuse|kio-fuse"
)
_SHARED_FILE_SYSTEMS = re.compile(r"9p|virtiofs|vboxsf|vmhgfs-fuse|prl_fs")
_REMOVABLE_PLACES = ("/media/*/*", "/run/media/*/*", "/Volumes/*")
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of the mount table; ``removable`` is what the device says of itself."""

    point: PurePosixPath
    file_system: str
    removable: bool = False


class PosixSurroundings:
    """A mount table, and the names and marker files of programs that synchronise folders."""

    def __init__(self, mounts: Sequence[Mount]) -> None:
        self._mounts = mounts

    def volume(self, folder: Path) -> Volume:
        """Judge by the mount that lies deepest above ``folder``; of two at one point, by the later."""
        place = PurePosixPath(folder)
        above = [mount for mount in self._mounts if place.is_relative_to(mount.point)]
        if not above:
            return Volume(PlaceKind.LOCAL)
        depth = max(len(mount.point.parts) for mount in above)
        mount = [mount for mount in above if len(mount.point.parts) == depth][-1]
        name = f"{mount.file_system} at {mount.point}"
        file_system = mount.file_system.removeprefix("fuse.")
        if _NETWORK_FILE_SYSTEMS.fullmatch(file_system):
            return Volume(PlaceKind.NETWORK, name)
        if _SHARED_FILE_SYSTEMS.fullmatch(file_system):
            return Volume(PlaceKind.SHARED, name)
        if mount.removable or any(mount.point.match(place) for place in _REMOVABLE_PLACES):
            return Volume(PlaceKind.REMOVABLE, name)
        return Volume(PlaceKind.LOCAL, name)

    def synced_by(self, folder: Path) -> str:
        """Judge by names on the path and by the markers that such programs leave."""
        return _synced_by_name(folder) or _synced_by_marker(folder)


def parse_mounts(table: str, removable: Callable[[str], bool]) -> tuple[Mount, ...]:
    """Read a table in the form of Linux's ``mountinfo``; ``removable`` is asked with ``major:minor``."""
    mounts = []
    for line in table.splitlines():
        before, separator, after = line.partition(" - ")
        fields = before.split(" ")
        if separator and len(fields) > 4:
            point = _OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[4])
            mounts.append(Mount(PurePosixPath(point), after.split(" ")[0], removable(fields[2])))
    return tuple(mounts)


def _mounts_of_this_machine() -> tuple[Mount, ...]:
    table = Path("/proc/self/mountinfo")
    if table.exists():
        return parse_mounts(table.read_text(encoding="utf-8", errors="surrogateescape"), _is_removable)
    return tuple(
        Mount(PurePosixPath(each.mountpoint), each.fstype) for each in psutil.disk_partitions(all=True)
    )


def _is_removable(device: str) -> bool:
    """Ask the kernel about a disk, or about the disk that a partition is part of."""
    place = Path("/sys/dev/block") / device
    for flag in (place / "removable", place / ".." / "removable"):
        try:
            return flag.read_text(encoding="ascii").strip() == "1"
        except OSError:
            continue
    return False


# ------------------------------------------------------------------------------------------------------- Windows

_DRIVE_REMOVABLE, _DRIVE_REMOTE, _DRIVE_CDROM = 2, 4, 5
_ONEDRIVE_VARIABLES = ("OneDrive", "OneDriveConsumer", "OneDriveCommercial")
_CLOUD_ATTRIBUTES = 0x0004_0000 | 0x0040_0000 | 0x0008_0000 | 0x0010_0000
"""RECALL_ON_OPEN, RECALL_ON_DATA_ACCESS, PINNED, UNPINNED: set only below a cloud program's root."""


class WindowsSurroundings:
    """Drive types, the variables that OneDrive sets, and the attributes of folders kept in a cloud."""

    def __init__(
        self,
        drive_type: Callable[[str], int],
        volume_root: Callable[[str], str],
        attributes: Callable[[str], int],
        environment: Mapping[str, str],
    ) -> None:
        self._drive_type = drive_type
        self._volume_root = volume_root
        self._attributes = attributes
        self._environment = environment

    def volume(self, folder: Path) -> Volume:
        """Judge by the form of the path, then by the type of the volume that is mounted there."""
        place = _plain_windows_path(folder)
        if place.drive.startswith("\\\\"):
            return Volume(PlaceKind.NETWORK, place.drive)
        root = self._volume_root(str(place)) or place.anchor
        kind = self._drive_type(root)
        if kind == _DRIVE_REMOTE:
            return Volume(PlaceKind.NETWORK, root)
        if kind in (_DRIVE_REMOVABLE, _DRIVE_CDROM):
            return Volume(PlaceKind.REMOVABLE, root)
        return Volume(PlaceKind.LOCAL, root)

    def synced_by(self, folder: Path) -> str:
        """Judge by OneDrive's own variables, by names on the path, by attributes, and by markers."""
        place = _plain_windows_path(folder)
        for variable in _ONEDRIVE_VARIABLES:
            root = self._environment.get(variable, "")
            if root and place.is_relative_to(PureWindowsPath(root)):
                return "OneDrive"
        named = _synced_by_name(place)
        if named:
            return named
        if any(self._attributes(str(each)) & _CLOUD_ATTRIBUTES for each in (place, *place.parents)):
            return "a cloud program"
        return _synced_by_marker(folder)


def _plain_windows_path(folder: PurePath) -> PureWindowsPath:
    r"""Take the ``\\?\`` prefix off, so that drives and shares are seen for what they are."""
    text = str(folder)
    if text.upper().startswith("\\\\?\\UNC\\"):
        return PureWindowsPath("\\\\" + text[8:])
    return PureWindowsPath(text.removeprefix("\\\\?\\"))


if sys.platform == "win32":
    import ctypes

    def _drive_type(root: str) -> int:
        return int(ctypes.windll.kernel32.GetDriveTypeW(root))

    def _volume_root(path: str) -> str:
        buffer = ctypes.create_unicode_buffer(1024)
        found = ctypes.windll.kernel32.GetVolumePathNameW(path, buffer, len(buffer))
        return buffer.value if found else ""

    def _attributes(path: str) -> int:
        try:
            return os.lstat(path).st_file_attributes
        except OSError:
            return 0
