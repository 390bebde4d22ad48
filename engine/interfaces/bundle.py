"""The diagnostics bundle: what a report of a fault needs, as a few texts in one archive, and nothing that people wrote.

It holds no commands, arguments, environment values, paths of workspaces, titles, reasons, output or names of people.
Whoever makes one can read every byte of it before it is written: the parts are text, and `as_text` is all of them.
"""

from __future__ import annotations

import io
import json
import os
import platform
import shutil
import sqlite3
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from engine.errors import InvalidValue
from engine.files import write_whole
from engine.instants import Instant, format_instant
from engine.interfaces import wire
from engine.interfaces.redaction import only_words, own_words, without_home
from engine.storage.owner_lock import read_owner
from engine.storage.schema import shipped_migrations
from engine.version import VERSION
from engine.views.diagnostics import EngineFacts, StoredFacts

PACKAGES = (
    "PySide6-Essentials",
    "qasync",
    "aiosqlite",
    "pydantic",
    "platformdirs",
    "psutil",
    "python-ulid",
    "cronsim",
    "tzdata",
    "typer",
    "rich",
    "mcp",
)
LOG_LINES = 400
"""So many of the last lines of each log file."""

_LOGS = ("console.log", "praxis.log", "crash.txt", "crash-last.txt")
_LONGEST_LOG_TAIL = 256 << 10
_FOLDERS = ("blobs", "runs", "logs", "backups", "keys", "rollback", "restore-staging")
_FILES = (
    "praxis.sqlite",
    "praxis.sqlite-wal",
    "praxis.sqlite-shm",
    "person.key",
    "secret.key",
    "console.ini",
)

NOT_IN_IT = (
    "It holds no commands, arguments, environment values, secrets, workspaces, titles, reasons, output or names. "
    "Your home folder is written as ~. In the log every word that is not the program's own is left out."
)


@dataclass(frozen=True, slots=True)
class Part:
    """One file of the bundle: its name, what it is, in a sentence, and its text."""

    name: str
    says: str
    text: str


@dataclass(frozen=True, slots=True)
class Bundle:
    """Everything that will be written."""

    parts: tuple[Part, ...]

    def as_text(self) -> str:
        """All of it, to be read before it is given away."""
        return "\n".join(f"===== {part.name}\n{part.text}" for part in self.parts)

    def write(self, target: Path) -> None:
        """Write the archive; it appears only when it is whole. `InvalidValue` if that cannot be."""
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for part in self.parts:
                archive.writestr(part.name, part.text)
        try:
            write_whole(target, content.getvalue())
        except OSError as error:
            raise InvalidValue(
                f"{target} cannot be written: {error.strerror or error}.", do="Name another file."
            ) from error


def make_bundle(
    folder: Path,
    now: Instant,
    *,
    engine: EngineFacts | None = None,
    stored: StoredFacts | None = None,
    problems: Sequence[str] = (),
    more: Sequence[Part] = (),
) -> Bundle:
    """Gather a bundle about a data folder. Blocks while it reads sizes and logs.

    ``engine`` is what its owner says, ``stored`` what its database says, ``problems`` are sentences of this program
    about what is wrong, ``more`` are parts that the caller adds and vouches for.
    """
    words = own_words()
    parts = [
        Part(
            "versions.json",
            "Versions of the program, Python, SQLite, its packages and the system.",
            _json(_versions()),
        ),
        Part(
            "folder.json",
            "Sizes of the data folder's parts, its place, and who has it.",
            _json(_folder(folder)),
        ),
    ]
    if engine is not None:
        parts.append(
            Part(
                "engine.json",
                "Settings, states in numbers, the clock and the writer.",
                _json(wire.document(engine)),
            )
        )
    if stored is not None:
        parts.append(
            Part(
                "database.json",
                "The schema and its migrations, counts of rows, and kinds and times of the last rows of the journal.",
                _json({**wire.document(stored), "shipped": _shipped()}),
            )
        )
    parts += more
    if problems:
        found = "\n".join(only_words(line, words) for line in problems)
        parts.append(Part("problems.txt", "What praxis doctor found.", found + "\n"))
    parts += _logs(folder, words)
    whole = [Part(part.name, part.says, without_home(part.text)) for part in parts]
    return Bundle((Part("README.txt", "What is in the bundle.", _readme(whole, now)), *whole))


def _readme(parts: Sequence[Part], now: Instant) -> str:
    lines = [f"Diagnostics of Praxis Console {VERSION}, made at {format_instant(now)}.", "", NOT_IN_IT, ""]
    return "\n".join([*lines, *(f"{part.name}: {part.says}" for part in parts), ""])


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=True) + "\n"


def _versions() -> dict[str, object]:
    return {
        "praxis_console": VERSION,
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "frozen": bool(getattr(sys, "frozen", False)),
        "sqlite": sqlite3.sqlite_version,
        "system": platform.platform(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "encoding": sys.getfilesystemencoding(),
        "packages": {name: _version_of(name) for name in PACKAGES},
    }


def _version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _folder(folder: Path) -> dict[str, object]:
    owner = read_owner(folder)
    try:
        free: int | None = shutil.disk_usage(folder).free
    except OSError:
        free = None
    return {
        "folder": str(folder),
        "exists": folder.is_dir(),
        "free_bytes": free,
        "files": {name: size for name in _FILES if (size := _size(folder / name)) is not None},
        "folders": {name: _count(folder / name) for name in _FOLDERS if (folder / name).is_dir()},
        "owner": None if owner is None else {"program": owner.program, "process": owner.pid},
    }


def _count(folder: Path) -> dict[str, int]:
    sizes = [size for path in folder.rglob("*") if (size := _size(path)) is not None]
    return {"files": len(sizes), "bytes": sum(sizes)}


def _size(path: Path) -> int | None:
    try:
        return path.lstat().st_size if not path.is_dir() else None
    except OSError:
        return None


def _shipped() -> list[dict[str, object]]:
    return [{"version": one.version, "name": one.name, "sha256": one.sha256} for one in shipped_migrations()]


def _logs(folder: Path, words: frozenset[str]) -> Iterator[Part]:
    for name in _LOGS:
        lines = _tail(folder / "logs" / name)
        if lines:
            kept = "\n".join(only_words(line, words) for line in lines)
            yield Part(
                f"{name}.txt", f"The last lines of {name}, in the program's own words only.", kept + "\n"
            )


def _tail(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _LONGEST_LOG_TAIL))
            text = file.read(_LONGEST_LOG_TAIL).decode("utf-8", "replace")
    except OSError:
        return []
    return text.splitlines()[-LOG_LINES:]


def default_name(now: Instant) -> str:
    """What a bundle is called unless it is named."""
    return f"praxis-diagnostics-{format_instant(now)[:10]}.zip"
