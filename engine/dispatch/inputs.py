"""The files that a command reads and that its seal covers: those it declares, and its script (E-40a)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from engine.dispatch.interpreters import Module, Script, interpreter_line, program_behind_env, what_runs
from engine.dispatch.program import Program, resolve_program
from engine.errors import InvalidWorkOrder, NotFound, OutsideWorkspace
from engine.work_order import CommandSpec
from engine.workspace.containment import Root, open_folder_inside, open_inside, parts_of, resolve_inside
from engine.workspace.digests import FileDigest, file_digest, handle_digest
from engine.workspace.folders import WINDOWS, Folder
from engine.workspace.manifest import EntryKind, Manifest, take_manifest

_LONGEST_LINE, _DEEPEST = 256, 5
"""Linux reads so much of a script's first line, and follows interpreters that are scripts so deep."""

COMPILED_FOLDER = "__pycache__"
"""Left out of folders that are inputs: Python writes it beside what it runs, and would change the seal by that."""


class InputKind(StrEnum):
    """Whether an input is one file or everything in a folder."""

    FILE = "file"
    FOLDER = "folder"


@dataclass(frozen=True, slots=True)
class SealedInput:
    """One input: ``path`` relative to the workspace with ``/``, or absolute if it lies outside.

    For a folder ``sha256`` is the digest of its manifest and ``size`` the bytes of all its files.
    """

    path: str
    kind: InputKind
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class SealedFile:
    """A file by absolute path, and the SHA-256 that its content must have when the command starts."""

    path: str
    sha256: str


def seal_inputs(
    root: Root, folder: str, command: CommandSpec, program: Program, environment: Mapping[str, str]
) -> tuple[tuple[SealedInput, ...], tuple[SealedFile, ...]]:
    """Read every input of a command and give them in the order of their paths, with all their files.

    Inputs are what the command declares, relative to the workspace; the script that an interpreter is to run,
    relative to the working ``folder``; the files of a Python module run by ``-m`` if Python would find it there;
    the program behind ``env``; and the interpreters that a program names in its first line, where the system follows
    that. Raises `InvalidWorkOrder` for what is not there or cannot be read whole,
    `OutsideWorkspace` for a declared input that does not stay inside.
    """
    found = _Found(root)
    for path in command.inputs:
        found.declared(path)
    behind = program_behind_env(command.argv)
    names = [program.real_path]
    if behind is not None:
        started = resolve_program(behind[0], root, folder, environment)
        found.outside(Path(started.path))
        names = [started.real_path]
    if not WINDOWS:
        for interpreter in _interpreters(Path(names[0]), root, folder, environment):
            found.outside(interpreter)
    runs = what_runs(command.argv, *names)
    if isinstance(runs, Script):
        found.script(runs, folder)
    elif isinstance(runs, Module) and runs.from_folder and not environment.get("PYTHONSAFEPATH"):
        found.module(runs.name, folder)
    return tuple(found.inputs[path] for path in sorted(found.inputs)), tuple(found.files)


def _interpreters(
    script: Path, root: Root, folder: str, environment: Mapping[str, str], depth: int = 0
) -> Iterator[Path]:
    """The files that the system starts for a program that is a script: each interpreter, and what ``env`` finds."""
    try:
        with script.open("rb") as file:
            line = interpreter_line(file.read(_LONGEST_LINE))
    except OSError as error:
        raise _unreadable(str(script), error) from error
    if line is None or depth == _DEEPEST:
        return
    names = [line[0]]
    if (behind := program_behind_env(line)) is not None:
        names.append(behind[0])
    for name in names:
        started = resolve_program(name, root, folder, environment)
        yield Path(started.path)
        yield from _interpreters(Path(started.real_path), root, folder, environment, depth + 1)


class _Found:
    """Inputs by path, as they are found and read."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self.inputs: dict[str, SealedInput] = {}
        self.files: list[SealedFile] = []

    def declared(self, path: str) -> None:
        try:
            contained = resolve_inside(self.root, path)
        except NotFound as error:
            raise _invalid(f"The input {path} is not in the workspace {self.root.path}.") from error
        self._add(contained.relative)

    def script(self, script: Script, folder: str) -> None:
        if WINDOWS and ":" in script.path and not Path(script.path).is_absolute():
            raise _invalid(f"The script {script.path} is neither a relative nor a whole path.")
        path = Path(self.root.real, folder, script.path)
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError, ValueError) as error:
            if not script.certain:
                return
            raise _invalid(
                f"The script {script.path}, element {script.index + 1} of argv, does not exist.",
                f"It was looked for as {path}. Correct its path; a script that an earlier step makes "
                "can only be planned after that step.",
            ) from error
        below = self._below(real)
        if below is None:
            self.outside(path)
        else:
            self._add(below)

    def module(self, name: str, folder: str) -> None:
        """Add what Python finds in the working folder for ``-m name``; nothing if the module is elsewhere."""
        *packages, last = name.split(".")
        here = "" if folder == "." else f"{folder}/"
        for package in packages:
            here += f"{package}/"
            if not self._is_folder(here):
                return
            self._add_present(here, "__init__.py")
        for file in self._names(here or "."):
            if file == f"{last}.py" or (
                file.startswith(f"{last}.") and file.endswith((".pyc", ".pyd", ".so"))
            ):
                self._add_present(here, file)
        inside = self._names(here + last) if self._is_folder(here + last) else []
        if "__init__.py" in inside or "__main__.py" in inside:
            self._add(here + last)

    def outside(self, path: Path) -> None:
        """Add a file by its absolute path, wherever it is."""
        try:
            digest = file_digest(path)
        except OSError as error:
            raise _unreadable(str(path), error) from error
        self._keep(str(path), path, digest)

    def _below(self, real: Path) -> str | None:
        try:
            relative = os.path.relpath(real, self.root.real).replace(os.sep, "/")
            return resolve_inside(self.root, relative).relative
        except (OutsideWorkspace, ValueError):
            return None

    def _names(self, path: str) -> list[str]:
        try:
            with open_folder_inside(self.root, path) as folder:
                return folder.names()
        except (OSError, NotFound, OutsideWorkspace):
            return []

    def _is_folder(self, path: str) -> bool:
        try:
            return resolve_inside(self.root, path).real.is_dir()
        except (NotFound, OutsideWorkspace):
            return False

    def _add_present(self, here: str, name: str) -> None:
        if name in self._names(here or "."):
            self._add(here + name)

    def _add(self, path: str) -> None:
        relative = "/".join(parts_of(path)) or "."
        try:
            if self._is_folder(relative):
                with open_folder_inside(self.root, relative) as folder:
                    self._add_folder(relative, folder)
            else:
                with open_inside(self.root, relative) as handle:
                    digest = handle_digest(handle)
                self._keep(relative, self.root.real / relative, digest)
        except (OSError, NotFound) as error:
            raise _unreadable(relative, error) from error

    def _keep(self, name: str, path: Path, digest: FileDigest) -> None:
        if name not in self.inputs:
            self.inputs[name] = SealedInput(name, InputKind.FILE, digest.sha256, digest.size)
            self.files.append(SealedFile(str(path), digest.sha256))

    def _add_folder(self, relative: str, folder: Folder) -> None:
        manifest = take_manifest(folder, leave_out=COMPILED_FOLDER.__eq__)
        if shortcomings := manifest.shortcomings():
            raise _invalid(
                f"The input folder {relative} cannot be sealed. {' '.join(shortcomings)}",
                "Name the files that matter instead of the whole folder.",
            )
        if relative not in self.inputs:
            self.inputs[relative] = SealedInput(
                relative, InputKind.FOLDER, manifest.digest(), manifest.size()
            )
            self.files.extend(_files(self.root.real / relative, manifest))


def _files(folder: Path, manifest: Manifest) -> list[SealedFile]:
    return [
        SealedFile(str(folder / entry.path), entry.sha256)
        for entry in manifest.entries.values()
        if entry.kind is EntryKind.FILE
    ]


def _unreadable(path: str, error: Exception) -> InvalidWorkOrder:
    why = getattr(error, "strerror", None) or error
    return _invalid(f"The input {path} cannot be read, so it cannot be sealed: {why}.")


def _invalid(what: str, do: str = "Correct the path, or put the file there.") -> InvalidWorkOrder:
    return InvalidWorkOrder(what, means="Nothing can be sealed or started.", do=do, field="inputs")
