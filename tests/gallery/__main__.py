"""``python -m tests.gallery FOLDER``: seed each data folder once, then picture it in one process per scale."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from engine.engine import Engine
from tests.gallery.data import SEEDS, damage
from tests.gallery.sheets import make_sheets

THEMES = ("light", "dark", "high contrast")
SCALES = ("1", "1.5", "2")
SIZES = ("1280x800", "1024x640")


def main() -> int:
    """Make the pictures that the arguments ask for; returns how many of the processes failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.gallery", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the pictures go")
    parser.add_argument("--states", nargs="+", choices=tuple(SEEDS), default=tuple(SEEDS))
    parser.add_argument("--themes", nargs="+", choices=THEMES, default=THEMES)
    parser.add_argument("--scales", nargs="+", default=SCALES)
    parser.add_argument("--sizes", nargs="+", default=SIZES)
    parser.add_argument("--pages", nargs="+", default=(), help="keys of pages; without it all")
    parser.add_argument("--dialogs", action="store_true", help="the dialogs too, over the typical folder")
    parser.add_argument("--seeded", type=Path, help="keep or take the seeded data here, to save the time")
    wanted = parser.parse_args()
    wanted.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="praxis-gallery-", ignore_cleanup_errors=True) as name:
        seeded = wanted.seeded or Path(name)
        failed = 0
        for state in wanted.states:
            place = seeded / state
            if not place.exists():
                asyncio.run(_seed(state, place))
            for scale in wanted.scales:
                data = Path(name) / "now" / f"{state}-{scale}"
                shutil.copytree(place / "data", data)
                failed += _picture(wanted, state, scale, data) != 0
                shutil.rmtree(data, ignore_errors=True)
    make_sheets(wanted.folder, wanted.states, wanted.themes)
    return failed


async def _seed(state: str, place: Path) -> None:
    place.mkdir(parents=True)
    engine = await Engine.open(place / "data")
    try:
        await SEEDS[state](engine, place)
    finally:
        await engine.close()
    if state == "error":
        damage(place / "data")


def _picture(wanted: argparse.Namespace, state: str, scale: str, data: Path) -> int:
    command: Sequence[str] = (
        *(sys.executable, "-m", "tests.gallery.pictures", str(wanted.folder), str(data), state, scale),
        *("--themes", *wanted.themes),
        *("--sizes", *wanted.sizes),
        *(("--pages", *wanted.pages) if wanted.pages else ()),
        *(("--dialogs",) if wanted.dialogs and state == "typical" else ()),
    )
    surroundings = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": scale}
    return subprocess.run(command, env=surroundings, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
