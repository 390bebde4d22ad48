"""Finding a program by its bare name, as a child would, but never in the current folder (pitfall P33)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.workspace.folders import WINDOWS

DEFAULT_PATHEXT = ".COM;.EXE;.BAT;.CMD"


@dataclass(frozen=True, slots=True)
class Search:
    """How a bare name was looked for: the folders of PATH in order, up to the one where it was found.

    ``found`` is the absolute file, links unresolved, or None. ``passed_over`` are files of that name on the way
    which cannot be executed.
    """

    found: Path | None
    folders: tuple[str, ...]
    passed_over: tuple[str, ...] = ()


def search_path(name: str, path: str, extensions: str = "", *, windows: bool = WINDOWS) -> Search:
    """Look for a bare program name in the absolute folders of ``path``, the value of a PATH variable.

    Empty and relative entries, which mean the current folder, are left out. On Windows ``extensions`` (the
    value of PATHEXT) are tried in order, and what is found may be a batch file: the caller judges that.
    """
    searched: list[str] = []
    passed_over: list[str] = []
    endings = _endings(name, extensions or DEFAULT_PATHEXT) if windows else ("",)
    for folder in _folders(path):
        searched.append(str(folder))
        for extension in endings:
            candidate = folder / (name + extension)
            if is_executable(candidate, windows=windows):
                return Search(candidate, tuple(searched), tuple(passed_over))
            if candidate.is_file():
                passed_over.append(str(candidate))
    return Search(None, tuple(searched), tuple(passed_over))


def is_executable(path: Path, *, windows: bool = WINDOWS) -> bool:
    """Tell whether a regular file is there that may be executed (on Windows: that is there)."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return False
    except (OSError, ValueError):
        return False
    return windows or os.access(path, os.X_OK)


def _folders(value: str) -> Iterator[Path]:
    seen: set[str] = set()
    for entry in value.split(os.pathsep):
        text = entry.strip('"') if WINDOWS else entry
        if text and text not in seen and Path(text).is_absolute():
            seen.add(text)
            yield Path(text)


def _endings(name: str, extensions: str) -> tuple[str, ...]:
    known = [text for text in extensions.split(";") if text.startswith(".")]
    if any(name.lower().endswith(extension.lower()) for extension in known):
        return ("", *known)
    return tuple(known)
