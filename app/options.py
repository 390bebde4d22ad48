"""What the command line asks for, and whether this machine can show it. Nothing of Qt is imported here."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from engine.version import VERSION

BROKEN_QT = "6.12.0"
"""This PySide6 counts references wrongly on Python 3.11 and ends it after a few thousand signals."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks for. ``tour`` is set where there is no display.

    ``clock_script`` names a file of clock faults to be played, for trying out what the product does about them.
    ``self_test`` tries everything once in a scratch folder; ``screenshots`` is then where its pictures are kept.
    ``quit`` asks a running console to end.
    """

    data: Path | None = None
    screenshots: Path | None = None
    tour: bool = False
    clock_script: Path | None = None
    self_test: bool = False
    json: bool = False
    quit: bool = False


def qt_problem(python: tuple[int, ...], pyside: str | None) -> str:
    """Why this pair of Python and PySide6 cannot work, or ``""``."""
    if pyside is None:
        return "PySide6-Essentials is not installed. Install the product again: pip install praxis-console"
    if pyside == BROKEN_QT and python < (3, 12):
        return (
            f"PySide6 {BROKEN_QT} ends Python {python[0]}.{python[1]} after a short time, a fault of that version. "
            'Install another one: pip install "PySide6-Essentials==6.11.*"'
        )
    return ""


def has_display(platform: str, environment: Mapping[str, str]) -> bool:
    """Whether a window can be shown, or a Qt platform was chosen on purpose."""
    if platform in {"win32", "darwin"}:
        return True
    return any(environment.get(name) for name in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"))


def parse(arguments: Sequence[str] | None) -> Options:
    """Read the arguments (None: those of the process); a wrong one ends the process with its usage."""
    parser = argparse.ArgumentParser(
        prog="praxis-console", description="Supervise work that machines do: look, approve, watch, prove."
    )
    parser.add_argument(
        "--data",
        metavar="FOLDER",
        type=Path,
        help="the data folder; without it the one of this user's local application data",
    )
    parser.add_argument(
        "--screenshots",
        metavar="FOLDER",
        type=Path,
        help="write a picture of every page, light and dark, into this folder and end",
    )
    parser.add_argument(
        "--clock-script",
        metavar="FILE",
        type=Path,
        help="for development: let the clock go wrong as FILE says, one fault a line, such as “10s step -2h”",
    )
    parser.add_argument(
        "--self-test",
        action="store_true",
        help="try everything once in a scratch folder, say what fails, and end; with --screenshots, keep pictures",
    )
    parser.add_argument("--json", action="store_true", help="with --self-test: report as one JSON document")
    parser.add_argument(
        "--quit",
        action="store_true",
        help="ask the console that has the data folder to quit, as File > Quit does, and wait until it has",
    )
    parser.add_argument("--version", action="version", version=f"praxis-console {VERSION}")
    found = parser.parse_args(arguments)
    if found.json and not found.self_test:
        parser.error("--json goes with --self-test")
    return Options(
        found.data,
        found.screenshots,
        clock_script=found.clock_script,
        self_test=found.self_test,
        json=found.json,
        quit=found.quit,
    )


def installed(name: str) -> str | None:
    """The version of an installed distribution, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
