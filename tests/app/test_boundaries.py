"""Rules of the console that hold for every file of it: what no part of `app` may do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import app

ROOT = Path(app.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

FORBIDDEN = {
    "runs a loop of its own": re.compile(r"\.exec_?\("),
    "processes events by hand": re.compile(r"processEvents"),
    "uses qasync's helpers": re.compile(r"asyncClose|asyncSlot|asyncWrap"),
    "measures all rows": re.compile(r"ResizeToContents|resizeColumnsToContents|resizeRowsToContents"),
    "sorts or filters by proxy": re.compile(r"QSortFilterProxyModel"),
    "reads the clock itself": re.compile(r"time\.time\(|datetime\.now\(|utcnow\("),
    "opens the database": re.compile(r"import (sqlite3|aiosqlite)|from engine\.storage"),
}
ONLY_IN = {
    "sets a style sheet": (re.compile(r"setStyleSheet\("), "theme"),
    "makes tasks nobody watches": (re.compile(r"create_task\("), "session.py"),
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_of_the_console(what: str) -> None:
    found = [str(path.relative_to(ROOT)) for path in FILES if FORBIDDEN[what].search(_code(path))]
    assert found == [], f"{what}: {found}"


@pytest.mark.parametrize("what", ONLY_IN)
def test_only_one_place_of_the_console(what: str) -> None:
    pattern, place = ONLY_IN[what]
    found = {path.relative_to(ROOT).parts[0] for path in FILES if pattern.search(_code(path))}
    assert found <= {place}, f"{what}: {found}"


def test_the_engine_knows_no_qt() -> None:
    engine = ROOT.parent / "engine"
    pattern = re.compile(r"^\s*(import|from) (PySide6|qasync|app)\b", re.MULTILINE)
    assert [path.name for path in engine.rglob("*.py") if pattern.search(_code(path))] == []


def _code(path: Path) -> str:
    """The file without docstrings and comments, which may speak of what the code must not do."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r'"""(?:.|\n)*?"""', "", text)
    return re.sub(r"(?m)#.*$", "", text)
