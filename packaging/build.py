"""Build the bundle on this machine and try it; on Windows with NSIS also the installer.

``python packaging/build.py OUT`` makes OUT/praxis-console (the bundle) and, on Windows, the installer beside it. It
needs Python 3.11 or newer and a package index, and on Windows NSIS 3, on the path or at its usual place.
``--sign COMMAND`` signs the programs and the installer; see packaging/README.md.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import bundle

PACKAGING = Path(__file__).resolve().parent
ROOT = PACKAGING.parent
WINDOWS = sys.platform == "win32"
SUFFIX = ".exe" if WINDOWS else ""
NAME = "praxis-console"


def step(*command: str | Path) -> None:
    """Run one command, shown as it is; a failure ends the build."""
    print("==", *command, flush=True)
    subprocess.run([str(part) for part in command], cwd=ROOT, check=True)


def make_environment(folder: Path) -> Path:
    """Make an environment with everything that goes into the bundle, and give its Python."""
    python = folder / ("Scripts" if WINDOWS else "bin") / f"python{SUFFIX}"
    if not python.exists():
        venv.create(folder, with_pip=True)
    wanted = folder / "dependencies.txt"
    listed = subprocess.run(
        [sys.executable, PACKAGING / "dependencies.py", "mcp"], check=True, capture_output=True, text=True
    )
    wanted.write_text(listed.stdout, encoding="utf-8")
    step(python, "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", "-r", wanted)
    step(python, "-m", "pip", "install", "--quiet", "-r", PACKAGING / "build-requirements.txt")
    return python


def sign(command: str | None, *files: Path) -> None:
    """Sign files by a command, in which ``{}`` stands for one file."""
    if command is None:
        return
    for file in files:
        words = [str(file) if word == "{}" else word for word in shlex.split(command, posix=not WINDOWS)]
        step(*words)


def make_installer(out: Path, icon: Path) -> Path:
    """Pack the bundle into an installer."""
    usual = Path(os.environ.get("PROGRAMFILES(X86)", "")) / "NSIS" / "makensis.exe"
    makensis = shutil.which("makensis") or str(usual)
    project = bundle.read_project()
    header = out / "project.nsh"
    header.write_text(bundle.installer_header(project), encoding="utf-8")
    setup = out / f"{NAME}-{project.version}-setup.exe"
    facts = {"PROJECT": header, "BUNDLE": out / NAME, "ICON": icon, "OUTPUT": setup}
    step(
        makensis,
        "-V2",
        *(f"-D{name}={value}" for name, value in facts.items()),
        PACKAGING / "installer.nsi",
    )
    return setup


def main() -> int:
    """Build, try, and pack."""
    parser = argparse.ArgumentParser(description="Build the Praxis Console bundle and try it.")
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder for what is built")
    parser.add_argument(
        "--starts", type=int, default=5, help="how often the built console is started and has to quit"
    )
    parser.add_argument("--sign", metavar="COMMAND", help="signs one file, named by {}")
    wanted = parser.parse_args()
    out = wanted.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    python = make_environment(out / "environment")
    work = out / "freezing"
    freeze = (
        python,
        "-m",
        "PyInstaller",
        "--noconfirm",
        "--log-level",
        "WARN",
        "--workpath",
        work,
        "--distpath",
        out,
    )
    step(*freeze, ROOT / "pyinstaller.spec")
    sign(wanted.sign, *sorted((out / NAME).glob(f"praxis*{SUFFIX}")))
    step(sys.executable, PACKAGING / "smoke.py", out / NAME, "--starts", str(wanted.starts))
    size = sum(file.lstat().st_size for file in (out / NAME).rglob("*") if file.is_file())
    print(f"Bundle: {out / NAME}, {size / 1e6:.0f} MB")
    if WINDOWS:
        setup = make_installer(out, work / "pyinstaller" / "praxis.ico")
        sign(wanted.sign, setup)
        print(f"Installer: {setup}, {setup.stat().st_size / 1e6:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
