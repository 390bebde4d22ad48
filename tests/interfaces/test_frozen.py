"""What stands in for Python in a frozen program, tried from source: the same code answers there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.interfaces import frozen

PROGRAM = (
    "import sys; from engine.interfaces.frozen import served; code = served(sys.argv[1:]); "
    "print('mine'); sys.exit(code or 0)"
)


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).parents[2]
    bootstrap = f"import sys; sys.path.insert(0, {str(root)!r}); " + PROGRAM
    return subprocess.run(
        [sys.executable, "-c", bootstrap, *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("arguments", [(), ("list",), ("run-script",), ("--data", "run-script")])
def test_what_is_the_programs_own_is_left_to_it(arguments: tuple[str, ...]) -> None:
    assert frozen.served(arguments) is None


def test_a_script_runs_as_python_would_run_it(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("WORD = 'beside'\n", encoding="utf-8")
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, beside\nprint(__name__, beside.WORD, sys.argv[1:], __file__)\nsys.exit(3)\n",
        encoding="utf-8",
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = run("run-script", str(script), "--to", "Ada", folder=elsewhere)
    assert (done.returncode, done.stdout) == (3, f"__main__ beside ['--to', 'Ada'] {script}\n")


def test_a_module_runs_as_python_would_run_it(tmp_path: Path) -> None:
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "till.py").write_text("import sys\nprint(__name__, sys.argv[1:])\n", encoding="utf-8")
    done = run("run-script", "-m", "shop.till", "7", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "__main__ ['7']\nmine\n")


def test_what_is_for_the_bundle_alone_reaches_no_child() -> None:
    environment = {
        "HOME": "/home/ada",
        "PATH": os.pathsep.join(["/opt/praxis/_internal", "/usr/bin", "/opt/praxis/_internal"]),
        "QT_PLUGIN_PATH": "/opt/praxis/_internal/PySide6/Qt/plugins",
        "QML2_IMPORT_PATH": "/home/ada/qml",
        "_PYI_ARCHIVE_FILE": "/opt/praxis/praxis",
        "LD_LIBRARY_PATH": "/opt/praxis/_internal:/opt/own",
        "LD_LIBRARY_PATH_ORIG": "/opt/own",
    }
    frozen.leave_no_trace("/opt/praxis/_internal", environment)
    expected = {
        "HOME": "/home/ada",
        "PATH": os.pathsep.join(["/usr/bin", "/opt/praxis/_internal"]),
        "QML2_IMPORT_PATH": "/home/ada/qml",
    }
    if sys.platform != "win32":
        assert environment == {**expected, "LD_LIBRARY_PATH": "/opt/own"}
        frozen.leave_no_trace("/opt/praxis/_internal", environment)
        assert environment == expected, "without a value of before there is none"
    else:
        assert expected.items() <= environment.items()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has jobs, and needs no keeper")
def test_the_keeper_is_served(tmp_path: Path) -> None:
    done = run("--praxis-keeper", "99", folder=tmp_path)
    assert "mine" not in done.stdout
    assert "Bad file descriptor" in done.stderr, "the keeper took the descriptor of its channel"


def test_scripts_are_run_by_this_python_or_by_the_frozen_praxis(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert frozen.script_interpreter() == (sys.executable,)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    for program, praxis in (("praxis-console", "praxis"), ("praxis-console.exe", "praxis.exe")):
        monkeypatch.setattr(sys, "executable", str(tmp_path / program))
        assert frozen.script_interpreter() == (str(tmp_path / praxis), "run-script")
