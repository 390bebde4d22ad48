"""Keeping paths inside the workspace (E-52).

A relative path is refused by its shape first, with rules that need no file system, and then resolved
strictly and compared by the identity of its ancestors: never by text, which junctions, short names, letter
case and links all defeat (pitfall P34).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from engine.errors import InvalidWorkOrder, NotFound, OutsideWorkspace
from engine.workspace.folders import WINDOWS, FileIdentity, Folder, IsLink, identity_of

_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_DEVICE = re.compile(
    r"(?:CON|PRN|AUX|NUL|CLOCK\$|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9\u00b9\u00b2\u00b3])", re.IGNORECASE
)
_NOT_IN_NAMES = re.compile(r'[<>"|]')
_WILDCARDS = re.compile(r"[*?]")


@dataclass(frozen=True, slots=True)
class Root:
    """A workspace folder as it was first seen.

    ``path`` is absolute, as given; ``real`` is where it led, links resolved; ``identity`` is that folder's
    own. `check_root` notices a folder that was moved, replaced or became a link to elsewhere.
    """

    path: Path
    real: Path
    identity: FileIdentity


@dataclass(frozen=True, slots=True)
class Contained:
    """A path proved to be inside a root: ``real`` has no links in it, ``relative`` is ``real`` below the root.

    ``relative`` uses ``/`` and is ``.`` for the root itself.
    """

    real: Path
    relative: str


def find_root(path: str | Path) -> Root:
    """Look at a workspace folder and record its identity.

    Raises `InvalidWorkOrder` if the path is not absolute, is no folder, or cannot be reached.
    """
    given = Path(path)
    if "\0" in str(path) or not given.is_absolute():
        raise InvalidWorkOrder(
            f"The workspace {str(path)!r} is not an absolute path.",
            do="Give the whole path of the folder, from the drive or root.",
            field="workspace",
        )
    try:
        real = given.resolve(strict=True)
        with Folder(real) as folder:
            return Root(given, real, folder.identity)
    except (NotADirectoryError, FileNotFoundError) as error:
        raise InvalidWorkOrder(
            f"The workspace {given} is not a folder that exists.",
            do="Make the folder, or correct the path.",
            field="workspace",
        ) from error
    except (OSError, RuntimeError) as error:
        raise InvalidWorkOrder(
            f"The workspace {given} cannot be opened: {error}.",
            do="Give yourself access to the folder, or choose another.",
            field="workspace",
        ) from error


def check_root(root: Root) -> None:
    """Raise `OutsideWorkspace` unless the root's path still leads to the folder that was recorded."""
    try:
        real = root.path.resolve(strict=True)
        identity = identity_of(real.stat())
    except (OSError, RuntimeError) as error:
        raise OutsideWorkspace(
            f"The workspace {root.path} can no longer be reached: {error}.",
            means="Nothing was read or started there.",
            do="Put the folder back, or make a new work order for its new place.",
        ) from error
    if identity != root.identity or real != root.real:
        raise OutsideWorkspace(
            f"The workspace {root.path} is no longer the folder it was.",
            means=f"It was {root.real} and now leads to {real}. Nothing was read or started there.",
            do="Put the folder back, or make a new work order for its new place.",
        )


def parts_of(relative: str, *, windows: bool = WINDOWS, pattern: bool = False) -> tuple[str, ...]:
    """Split a relative path into plain names, or refuse it by its shape with `OutsideWorkspace`.

    Looks at text only. ``a/../b`` is ``b``; the empty tuple is the folder itself. Refused everywhere: empty
    text, absolute and UNC paths, drive letters, ``..`` that leaves, control characters, text that is not
    Unicode. With the rules of Windows also device names, alternate streams, names that end with a dot or
    space, and characters that no name can hold; elsewhere a backslash, which is nearly always a path written
    for Windows. With ``pattern`` the names may hold ``*`` and ``?``, and ``..`` is refused wholly.
    """
    if not relative:
        raise _refused(relative, "is empty")
    if _CONTROL.search(relative):
        raise _refused(relative, "holds a control character or is not Unicode")
    text = relative.replace("\\", "/") if windows else relative
    if text.startswith("//"):
        raise _refused(relative, "is a network or device path")
    if text.startswith("/"):
        raise _refused(relative, "starts at a root")
    if not windows and "\\" in text:
        raise _refused(relative, "holds a backslash", do="Write / between folders.")
    if _DRIVE.match(text):
        raise _refused(relative, "names a drive")
    parts: list[str] = []
    for name in text.split("/"):
        if name in ("", "."):
            continue
        if name == "..":
            if pattern or not parts:
                raise _refused(relative, "leaves the workspace with ..")
            parts.pop()
            continue
        if windows:
            _check_windows_name(relative, name, pattern)
        parts.append(name)
    return tuple(parts)


def resolve_inside(root: Root, relative: str, *, must_exist: bool = True) -> Contained:
    """Resolve a relative path strictly and prove that it is inside the root.

    With ``must_exist`` False the last names may be missing, and what exists of the path is proved; a file may
    then be made there. Raises `OutsideWorkspace`, or `NotFound` when it must exist and does not.
    """
    check_root(root)
    parts = parts_of(relative)
    target = root.real.joinpath(*parts)
    missing: list[str] = []
    try:
        while True:
            try:
                real = target.resolve(strict=True)
                break
            except FileNotFoundError:
                # A link that leads nowhere exists as a link: what is made through it may be anywhere.
                if must_exist or os.path.lexists(target):
                    raise
                missing.insert(0, target.name)
                target = target.parent
    except FileNotFoundError as error:
        raise NotFound(
            f"There is no {relative} in the workspace {root.path}.",
            do="Make the file or folder, or correct the path.",
            path=relative,
        ) from error
    except (OSError, RuntimeError) as error:
        raise OutsideWorkspace(
            f"The path {relative} cannot be followed: {error}.",
            means="It could not be proved to stay inside the workspace, so it is refused.",
            do="Remove links that lead in a circle, and give yourself access to the folders on the way.",
            path=relative,
        ) from error
    try:
        inside = _names_below(root, real)
    except OSError as error:
        raise _swapped(relative) from error
    if inside is None:
        raise OutsideWorkspace(
            f"The path {relative} leads to {real}, outside the workspace {root.path}.",
            means="A link on the way leaves the workspace. Nothing was read or started there.",
            do="Name a path that stays inside, without links that lead out.",
            path=relative,
        )
    whole = [*inside, *missing]
    return Contained(real.joinpath(*missing), "/".join(whole) or ".")


def contains(root: Root, path: Path) -> bool:
    """Tell whether an existing path, links resolved, is the root or below it, by identity."""
    return _names_below(root, path.resolve(strict=True)) is not None


def open_folder_inside(root: Root, relative: str) -> Folder:
    """Open a folder inside the root by handle; no link swapped in meanwhile can lead it outside.

    Raises `OutsideWorkspace`, `NotFound`, or OSError if it is not a folder.
    """
    contained = resolve_inside(root, relative)
    names = [] if contained.relative == "." else contained.relative.split("/")
    return _walk(root, names, relative)


def open_inside(root: Root, relative: str) -> BinaryIO:
    """Open a regular file inside the root for reading, unbuffered.

    Links that stay inside are followed when the path is resolved; from then on every step is taken from a
    folder held open and no link is followed, so that a link swapped in between can never make it read
    outside (P35). Raises `OutsideWorkspace`, `NotFound`, or OSError if it cannot be read or is no file.
    """
    contained = resolve_inside(root, relative)
    if contained.relative == ".":
        raise IsADirectoryError(f"{relative} is a folder")
    *folders, name = contained.relative.split("/")
    with _walk(root, folders, relative) as folder:
        try:
            return folder.file(name)
        except (IsLink, FileNotFoundError) as error:
            raise _swapped(relative) from error


def _walk(root: Root, names: list[str], relative: str) -> Folder:
    folder = Folder(root.real)
    try:
        if folder.identity != root.identity:
            raise _swapped(relative)
        for name in names:
            below = folder.folder(name)
            folder.close()
            folder = below
    except (IsLink, FileNotFoundError) as error:
        folder.close()
        raise _swapped(relative) from error
    except BaseException:
        folder.close()
        raise
    return folder


def _names_below(root: Root, real: Path) -> tuple[str, ...] | None:
    names: list[str] = []
    for ancestor in (real, *real.parents):
        if identity_of(ancestor.stat()) == root.identity:
            return tuple(reversed(names))
        names.append(ancestor.name)
    return None


def _check_windows_name(relative: str, name: str, pattern: bool) -> None:
    if ":" in name:
        raise _refused(relative, "names an alternate stream")
    if name != name.rstrip(". "):
        raise _refused(relative, "has a name that ends with a dot or space")
    if _DEVICE.fullmatch(name.split(".")[0].rstrip(" ")):
        raise _refused(relative, "names a device")
    if _NOT_IN_NAMES.search(name) or (not pattern and _WILDCARDS.search(name)):
        raise _refused(relative, "holds a character that Windows allows in no name")


def _refused(relative: str, why: str, *, do: str = "") -> OutsideWorkspace:
    return OutsideWorkspace(
        f"The path {relative!r} {why}.",
        means="Only relative paths that stay inside the workspace are accepted.",
        do=do or "Write it relative to the workspace, like tools/check.py.",
        path=relative,
    )


def _swapped(relative: str) -> OutsideWorkspace:
    return OutsideWorkspace(
        f"The path {relative} changed while it was being opened.",
        means="A file, folder or link on the way was replaced. Nothing outside the workspace was read.",
        do="Let whatever changes the workspace end, then try again.",
        path=relative,
    )
