"""What a frozen program does besides its own work: it stands in for the Python that is not on the machine.

A frozen program holds no ``.py`` files that could be run. Two things need one all the same: the keeper that
starts each command on Linux, and the small scripts of the scratch workspace. Both are started through the
frozen programs themselves, by words that nobody types; `served` answers them before anything else is done.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import MutableMapping, Sequence
from pathlib import Path

RUN_SCRIPT = "run-script"
"""``praxis run-script FILE ARGUMENTS`` and ``praxis run-script -m MODULE ARGUMENTS`` run as ``python`` would."""


_BUNDLE_VARIABLES = ("QT_PLUGIN_PATH", "QML2_IMPORT_PATH")
_LOADER_PREFIX = "_PYI_"


def leave_no_trace(bundle: str, environment: MutableMapping[str, str] = os.environ) -> None:
    """Undo what was set up for the bundle alone, so that it does not reach the programs that are started.

    A command of a work order, git, or a file manager must find its own libraries and plugins, and a command's
    environment must be the same whether the console or ``praxis`` seals it. ``bundle`` is the folder that holds ours.
    """
    for name in list(environment):
        inside = name in _BUNDLE_VARIABLES and environment[name].startswith(bundle)
        if inside or name.startswith(_LOADER_PREFIX):
            del environment[name]
    parts = environment.get("PATH", "").split(os.pathsep)
    if parts[0] == bundle:
        environment["PATH"] = os.pathsep.join(parts[1:])
    if sys.platform == "win32":
        import ctypes

        # Where else libraries are looked for is inherited. Ours are found beside what needs them.
        ctypes.windll.kernel32.SetDllDirectoryW(None)
        return
    environment.pop("LD_LIBRARY_PATH", None)
    if (before := environment.pop("LD_LIBRARY_PATH_ORIG", None)) is not None:
        environment["LD_LIBRARY_PATH"] = before


def served(arguments: Sequence[str]) -> int | None:
    """Do what such a word asks for and give the exit code; None when the arguments are the program's own."""
    if not arguments:
        return None
    if arguments[0] == RUN_SCRIPT and len(arguments) > 1:
        _run_script(list(arguments[1:]))
        return 0
    if sys.platform != "win32":
        from engine.execution import keeper

        if arguments[0] == keeper.KEEPER_SWITCH:
            return keeper.main(list(arguments[1:]))
    return None


def script_interpreter() -> tuple[str, ...]:
    """Give what runs a Python script here: this Python, or the frozen ``praxis`` beside this program."""
    if not getattr(sys, "frozen", False):
        return (sys.executable,)
    here = Path(sys.executable)
    return (str(here.with_name(f"praxis{here.suffix}")), RUN_SCRIPT)


def _run_script(arguments: list[str]) -> None:
    """Run a script or module as the main program; its exit code is raised as `SystemExit`."""
    if arguments[0] == "-m" and len(arguments) > 1:
        sys.path.insert(0, str(Path.cwd()))
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    script = Path(arguments[0])
    sys.path.insert(0, str(script.resolve().parent))
    sys.argv = arguments
    runpy.run_path(str(script), run_name="__main__")
