"""Before Qt is imported: arguments, versions, display."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app.options import Options, has_display, installed, parse, qt_problem


def test_arguments() -> None:
    assert parse([]) == Options()
    assert parse(["--data", "x", "--screenshots", "y"]) == Options(Path("x"), Path("y"))
    assert parse(["--clock-script", "faults.txt"]).clock_script == Path("faults.txt")
    assert parse(["--self-test", "--json"]) == Options(self_test=True, json=True)
    assert parse(["--quit"]) == Options(quit=True)


@pytest.mark.parametrize("wrong", ["--dat", "--json"])
def test_a_wrong_argument_ends_with_usage(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse([wrong])
    assert ended.value.code == 2
    assert "usage: praxis-console" in capsys.readouterr().err


def test_the_version_is_told_without_qt(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("praxis-console ")


@pytest.mark.parametrize(
    ("python", "pyside", "works"),
    [
        ((3, 11), "6.12.0", False),
        ((3, 12), "6.12.0", True),
        ((3, 11), "6.11.3", True),
        ((3, 11), "6.12.1", True),
        ((3, 13), None, False),
    ],
)
def test_a_pair_of_versions_that_cannot_work_is_named(
    python: tuple[int, int], pyside: str | None, works: bool
) -> None:
    problem = qt_problem(python, pyside)
    assert (problem == "") is works
    assert works or "nstall" in problem


def test_this_pair_works() -> None:
    assert qt_problem(sys.version_info[:2], installed("PySide6-Essentials")) == ""


@pytest.mark.parametrize(
    ("platform", "environment", "shown"),
    [
        ("linux", {}, False),
        ("linux", {"DISPLAY": ""}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("linux", {"QT_QPA_PLATFORM": "offscreen"}, True),
        ("win32", {}, True),
        ("darwin", {}, True),
    ],
)
def test_whether_a_window_can_be_shown(platform: str, environment: dict[str, str], shown: bool) -> None:
    assert has_display(platform, environment) is shown


def test_options_are_read_without_importing_qt() -> None:
    code = "import sys, app.__main__, app.options; sys.exit('PySide6' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
