"""Work to try the console with: the guided scratch workspace, and an example repository with a failing test."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from engine.errors import InvalidValue
from engine.interfaces.frozen import script_interpreter
from engine.interfaces.work_order_file import read_work_order
from engine.work_order import WorkOrderSpec
from engine.workspace.repository import NO_WINDOW

_NOT_COPIED = "__pycache__"
_SCRATCH_NOTE = """\
# Scratch workspace

Seven harmless work orders, one in each folder, so that each situation can be met without real work. Look at
the scripts before you approve; edit one after approving and see what happens. Delete this folder at any time.
"""


def create_scratch_workspace(
    folder: Path, *, interpreter: Sequence[str] | None = None
) -> tuple[WorkOrderSpec, ...]:
    """Copy the seven scratch work orders into a new or empty ``folder`` and give them in their order.

    Each has a folder of its own as its workspace, so that they do not wait for one another and none changes
    what another one's approval has sealed. ``interpreter`` is what runs a Python script: a program and perhaps
    arguments; without it the one of this program. Raises `InvalidValue` if the folder holds anything, OSError if
    it cannot be written.
    """
    _copy(_resource("scratch"), folder, interpreter)
    (folder / "README.md").write_text(_SCRATCH_NOTE, encoding="utf-8", newline="\n")
    return tuple(read_work_order(path) for path in sorted(folder.glob("*/work-order.toml")))


def create_example_repository(
    folder: Path, *, interpreter: Sequence[str] | None = None, git: Path | None = None
) -> tuple[WorkOrderSpec, ...]:
    """Copy the example with a failing test into a new or empty ``folder`` and give its two work orders.

    The first mends the fault in one step; the second needs a correction and writes a JUnit report. With
    ``git`` the folder becomes a repository with one commit.
    """
    _copy(_resource("examples") / "mend-rounding", folder, interpreter)
    (folder / "gitignore").rename(folder / ".gitignore")
    if git is not None:
        _commit_all(git, folder)
    return tuple(
        read_work_order(folder / name) for name in ("work-order.toml", "work-order-with-correction.toml")
    )


def _resource(name: str) -> Traversable:
    return files("resources") / name


def _copy(source: Traversable, folder: Path, interpreter: Sequence[str] | None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise InvalidValue(
            f"The folder {folder} is not empty.",
            means="Nothing was copied.",
            do="Choose a new or empty folder.",
        )
    words = interpreter or script_interpreter()
    _copy_tree(source, folder, ", ".join(json.dumps(part, ensure_ascii=False) for part in words))


def _copy_tree(source: Traversable, folder: Path, interpreter: str) -> None:
    for item in source.iterdir():
        target = folder / item.name
        if item.is_dir():
            if item.name != _NOT_COPIED:
                target.mkdir()
                _copy_tree(item, target, interpreter)
        elif item.name.endswith(".toml"):
            text = item.read_text(encoding="utf-8").replace('argv = ["python"', f"argv = [{interpreter}")
            target.write_text(text, encoding="utf-8", newline="\n")
        else:
            target.write_bytes(item.read_bytes())


def _commit_all(git: Path, folder: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    settings = (
        "user.name=Praxis Console",
        "user.email=example@localhost",
        "init.defaultBranch=main",
        "core.autocrlf=false",
        f"core.hooksPath={os.devnull}",
        "commit.gpgSign=false",
    )
    start = [str(git), *(part for text in settings for part in ("-c", text))]
    for arguments in (
        ("init", "--quiet", "--template="),
        ("add", "--all"),
        ("commit", "--quiet", "--message", "A rounding module with a failing test"),
    ):
        subprocess.run(
            [*start, *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=True,
            creationflags=NO_WINDOW,
        )
