"""Where a data folder may lie (E-16a, B-085), by injected mount tables, drive types and variables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import pytest

from engine.errors import UnsuitableFolder
from engine.storage import folder_place
from engine.storage.folder_place import (
    Mount,
    PlaceKind,
    PosixSurroundings,
    WindowsSurroundings,
    default_data_folder,
    judge_place,
    parse_mounts,
    these_surroundings,
)

MOUNTINFO = r"""
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:21 / /proc rw,nosuid - proc proc rw
30 22 0:40 / /home rw,relatime shared:9 master:3 - nfs4 server:/export/home rw,vers=4.2
31 22 8:17 / /media/ada/STICK rw,nosuid - vfat /dev/sdb1 rw
32 22 8:33 / /srv/backup\040disk rw - ext4 /dev/sdc1 rw
33 22 0:50 / /mnt/windows rw - 9p drvfs rw
34 22 0:51 / /mnt/cloud rw - fuse.rclone remote: rw
35 22 0:52 / /mnt/office rw - cifs //server/office rw
36 30 8:5 / /home/local rw - btrfs /dev/sda5 rw
37 22 0:53 / /net rw - autofs auto rw
38 22 0:54 / /net rw - nfs server:/net rw
39 22 8:6 / /media/data rw - ext4 /dev/sda6 rw
40 22 0:55 / /mnt/secret rw - fuse.gocryptfs /x rw
"""
MOUNTS = parse_mounts(MOUNTINFO, lambda device: device == "8:33")


def posix(path: str) -> Any:
    return PurePosixPath(path)


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/var/lib/praxis", PlaceKind.LOCAL),
        ("/home/ada/data", PlaceKind.NETWORK),
        ("/home/local/ada", PlaceKind.LOCAL),
        ("/homely", PlaceKind.LOCAL),
        ("/media/ada/STICK/data", PlaceKind.REMOVABLE),
        ("/media/data/praxis", PlaceKind.LOCAL),
        ("/srv/backup disk/data", PlaceKind.REMOVABLE),
        ("/mnt/windows/c/data", PlaceKind.SHARED),
        ("/mnt/cloud/data", PlaceKind.NETWORK),
        ("/mnt/office", PlaceKind.NETWORK),
        ("/mnt/secret/data", PlaceKind.LOCAL),
        ("/net/data", PlaceKind.NETWORK),
    ],
)
def test_b085_the_mount_table_tells(folder: str, kind: PlaceKind) -> None:
    assert PosixSurroundings(MOUNTS).volume(posix(folder)).kind is kind


@pytest.mark.parametrize(
    "file_system",
    [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "afpfs",
        "webdav",
        "fuse.sshfs",
        "fuse.davfs2",
        "ceph",
        "fuse.gvfsd-fuse",
    ],
)
def test_b085_network_file_systems_are_refused_with_a_local_default(
    file_system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_place, "default_data_folder", lambda: Path("/var/lib/praxis"))
    surroundings = PosixSurroundings([Mount(posix("/"), "ext4"), Mount(posix("/mnt"), file_system)])
    with pytest.raises(UnsuitableFolder) as caught:
        judge_place(Path("/mnt/data"), surroundings)
    assert f"{file_system} at /mnt" in caught.value.what
    assert str(Path("/var/lib/praxis")) in caught.value.do
    assert caught.value.facts["kind"] == "NETWORK"


def test_b085_a_default_that_is_no_better_is_not_suggested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        folder_place, "default_data_folder", lambda: Path("/home/ada/.local/share/Praxis Console")
    )
    with pytest.raises(UnsuitableFolder) as caught:
        judge_place(Path("/home/ada/data"), PosixSurroundings(MOUNTS))
    assert caught.value.do == "Choose a folder on a local disk with --data."


@pytest.mark.parametrize(
    ("folder", "service"),
    [
        ("/home/local/OneDrive/data", "OneDrive"),
        ("/home/local/OneDrive - Contoso/data", "OneDrive"),
        ("/Users/ada/Library/CloudStorage/OneDrive-Personal/data", "OneDrive"),
        ("/home/local/Dropbox/data", "Dropbox"),
        ("/home/local/Dropbox (Work)/data", "Dropbox"),
        ("/Users/ada/Library/Mobile Documents/com~apple~CloudDocs/data", "iCloud"),
        ("/Users/ada/Library/CloudStorage/GoogleDrive-ada@example.org/My Drive", "Google Drive"),
        ("/home/local/Nextcloud/data", "Nextcloud"),
        ("/home/local/ownCloud/data", "ownCloud"),
        ("/home/local/droplets/data", ""),
        ("/home/local/megaphone/data", ""),
        ("/home/local/one drive to rule them/data", ""),
    ],
)
def test_b085_synced_folders_are_known_by_name(folder: str, service: str) -> None:
    place = judge_place(posix(folder), PosixSurroundings([Mount(posix("/"), "ext4")]))
    assert place.name == service or (not service and place.kind is PlaceKind.LOCAL)
    assert service in place.warning
    assert bool(place.warning) == bool(service)


@pytest.mark.parametrize(
    ("marker", "service"),
    [(".stfolder", "Syncthing"), (".dropbox.cache", "Dropbox"), (".nextcloudsync.log", "Nextcloud")],
)
def test_b085_synced_folders_are_known_by_what_their_programs_leave(
    tmp_path: Path, marker: str, service: str
) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / marker).touch()
    place = judge_place(tmp_path / "shared" / "deep" / "data", PosixSurroundings(MOUNTS))
    assert (place.kind, place.name) == (PlaceKind.SYNCED, service)


def test_removable_and_shared_places_are_warned_of() -> None:
    surroundings = PosixSurroundings(MOUNTS)
    removable = judge_place(posix("/media/ada/STICK/data"), surroundings)
    shared = judge_place(posix("/mnt/windows/data"), surroundings)
    assert "removable disk" in removable.warning
    assert "virtual machine" in shared.warning
    assert judge_place(posix("/var/data"), surroundings).warning == ""


# ------------------------------------------------------------------------------------------------------- Windows


def windows(
    drives: Mapping[str, int],
    attributes: Mapping[str, int] | None = None,
    environment: Mapping[str, str] | None = None,
) -> WindowsSurroundings:
    return WindowsSurroundings(
        lambda root: drives.get(root, 3),
        lambda path: f"{path[:2]}\\",
        lambda path: (attributes or {}).get(path, 0x10),
        environment or {},
    )


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        (r"C:\Users\ada\AppData\Local\Praxis Console", PlaceKind.LOCAL),
        (r"E:\data", PlaceKind.REMOVABLE),
        (r"D:\data", PlaceKind.REMOVABLE),
        (r"Z:\data", PlaceKind.NETWORK),
        (r"\\server\share\data", PlaceKind.NETWORK),
        (r"\\?\UNC\server\share\data", PlaceKind.NETWORK),
        (r"\\wsl.localhost\Ubuntu\home", PlaceKind.NETWORK),
        (r"\\?\C:\data", PlaceKind.LOCAL),
        (r"\\?\Z:\data", PlaceKind.NETWORK),
    ],
)
def test_b085_windows_drives_and_shares(folder: str, kind: PlaceKind) -> None:
    surroundings = windows({"C:\\": 3, "D:\\": 5, "E:\\": 2, "Z:\\": 4})
    assert surroundings.volume(PureWindowsPath(folder)).kind is kind  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("folder", "service"),
    [
        (r"C:\Users\ada\Cloud\data", "OneDrive"),
        (r"c:\users\ADA\cloud\data", "OneDrive"),
        (r"C:\Users\ada\OneDrive - Contoso\data", "OneDrive"),
        (r"C:\Users\ada\Dropbox\data", "Dropbox"),
        (r"C:\Users\ada\iCloudDrive\data", "iCloud"),
        (r"C:\Users\ada\Kept\deep\data", "a cloud program"),
        (r"C:\Users\ada\Local\data", ""),
    ],
)
def test_b085_windows_synced_folders(folder: str, service: str) -> None:
    surroundings = windows(
        {},
        attributes={r"C:\Users\ada\Kept": 0x0008_0010},
        environment={"OneDriveCommercial": r"C:\Users\ada\Cloud"},
    )
    place: Any = PureWindowsPath(folder)
    if service:
        assert surroundings.synced_by(place) == service
    else:
        assert surroundings.synced_by(Path(folder)) == ""


# --------------------------------------------------------------------------------------------------- this machine


def test_this_machine_can_be_asked(tmp_path: Path) -> None:
    assert judge_place(tmp_path, these_surroundings()).kind in (
        PlaceKind.LOCAL,
        PlaceKind.SHARED,
        PlaceKind.REMOVABLE,
    )


def test_the_default_is_named_like_the_program() -> None:
    assert default_data_folder().name == "Praxis Console"
