"""Which file is it that will run: argv's first element, resolved to one absolute file (E-40a)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from engine.dispatch.environment import look_up
from engine.errors import InvalidWorkOrder, OutsideWorkspace
from engine.workspace.containment import Root, parts_of
from engine.workspace.digests import file_digest
from engine.workspace.executables import is_executable, search_path
from engine.workspace.folders import WINDOWS

_BATCH = (".bat", ".cmd")
_STARTABLE = (".exe", ".com")
_STREAM = re.compile(r":.*\Z")


@dataclass(frozen=True, slots=True)
class Program:
    """The file that will be started.

    ``path`` is absolute with its links unresolved: it is what is started, since a virtual environment's
    interpreter finds its packages by it. ``real_path`` is the file behind the links, ``sha256`` and ``size``
    its content. ``searched`` are the folders of PATH that were searched for a bare name, in order; empty when
    argv named a path.
    """

    path: str
    real_path: str
    sha256: str
    size: int
    searched: tuple[str, ...] = ()


def resolve_program(
    name: str, root: Root, folder: str, environment: Mapping[str, str], *, windows: bool = WINDOWS
) -> Program:
    """Find the program that argv's first element names, as the child itself would be started.

    A bare name is searched in the child's own PATH, never in the current folder; a relative path is taken from
    the command's ``folder`` inside the workspace; an absolute path is taken as it is. Raises
    `InvalidWorkOrder` when there is no such file, when it is a folder or may not be executed, and for batch
    files, whose arguments cmd.exe would rewrite (P32).
    """
    path, searched = _locate(name, root, folder, environment, windows)
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise _invalid(f"The program {path} does not exist.", "Correct its path, or install it.") from error
    for found in (path, real):
        _check_kind(found, windows)
    if real.is_dir():
        raise _invalid(f"The program {path} is a folder.", "Name the program file in it.")
    if not is_executable(real, windows=windows):
        raise _invalid(
            f"The program {path} may not be executed.",
            f"Make it executable (chmod +x {path.name}), or name its interpreter first.",
        )
    try:
        digest = file_digest(real)
    except OSError as error:
        raise _invalid(
            f"The program {path} cannot be read, so it cannot be sealed: {error.strerror or error}.",
            "Name the program file itself: an alias of the Windows store is no readable file.",
        ) from error
    return Program(str(path), str(real), digest.sha256, digest.size, searched)


def is_batch_file(name: str) -> bool:
    """Tell whether Windows would hand this file to cmd.exe; trailing dots, spaces and streams are folded."""
    base = _STREAM.sub("", PureWindowsPath(name).name).rstrip(". ")
    return base.lower().endswith(_BATCH)


def _locate(
    name: str, root: Root, folder: str, environment: Mapping[str, str], windows: bool
) -> tuple[Path, tuple[str, ...]]:
    if not name or "\0" in name:
        raise _invalid("The first element of argv is empty.", "Name the program to start.")
    shape = PureWindowsPath(name) if windows else PurePosixPath(name)
    if shape.is_absolute():
        return Path(os.path.normpath(name)) if windows else Path(name), ()
    if "/" in name or (windows and ("\\" in name or ":" in name)):
        try:
            if shape.anchor:
                parts_of(name, windows=windows)
            inside = parts_of(f"{folder}/{name}", windows=windows)
        except OutsideWorkspace as error:
            raise _invalid(
                f"The program path {name} does not stay inside the workspace.",
                "Name a program in the workspace, a bare name to be found on PATH, or a whole path.",
            ) from error
        return root.real.joinpath(*inside), ()
    if name in (".", ".."):
        raise _invalid(f"The program {name} is a folder.", "Name the program file in it.")
    search = search_path(
        name,
        look_up(environment, "PATH", windows=windows),
        look_up(environment, "PATHEXT", windows=windows),
        windows=windows,
    )
    if search.found is None:
        if search.passed_over:
            raise _invalid(
                f"{name} was found as {search.passed_over[0]}, which may not be executed.",
                "Make it executable, or name its interpreter first.",
            )
        raise _invalid(
            f"There is no program {name} on PATH ({len(search.folders)} folders searched).",
            "Install it, correct the name, or write its whole path; the current folder is never searched.",
        )
    return search.found, search.folders


def _check_kind(path: Path, windows: bool) -> None:
    if is_batch_file(path.name) and windows:
        raise _invalid(
            f"{path} is a batch file.",
            'Name its interpreter: ["cmd", "/c", "…"]; cmd.exe rewrites arguments such as %PATH%.',
        )
    if windows and path.suffix.lower() not in _STARTABLE:
        raise _invalid(f"{path} is not a program that Windows can start.", "Name its interpreter first.")


def _invalid(what: str, do: str) -> InvalidWorkOrder:
    return InvalidWorkOrder(what, means="Nothing can be sealed or started.", do=do, field="argv")
