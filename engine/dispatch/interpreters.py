"""What an interpreter will read: the script, or the Python module, that its arguments name (E-40a).

The seal of ``python tools/task.py`` must cover ``tools/task.py``. This module knows the command lines of the
usual interpreters well enough to find that argument; it looks at text only.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import PureWindowsPath

_VERSION = re.compile(r"(?:[-.]?\d+(?:\.\d+)*)?w?")


@dataclass(frozen=True, slots=True)
class Script:
    """A file that the interpreter will run, as written in argv at ``index``.

    ``certain`` is False where the argument may also be a command of the interpreter's own language.
    """

    path: str
    index: int
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Module:
    """A Python module run by ``-m``. ``from_folder`` is whether Python looks in the current folder for it."""

    name: str
    from_folder: bool


@dataclass(frozen=True, slots=True)
class _Interpreter:
    """A family of command lines.

    ``valued`` options take the next argument (a single letter also when more text follows it at once);
    after ``inline`` ones there is no script, since the code stands in argv; ``file`` options name the script.
    ``bare`` is whether the first plain argument is the script. ``clusters`` is whether single letters may be
    joined, as in ``-uB``. ``slash`` is whether options start with ``/``, ``folded`` whether letter case is free,
    ``commands`` whether a command may stand where a script may.
    """

    names: tuple[str, ...]
    valued: frozenset[str] = frozenset()
    inline: frozenset[str] = frozenset()
    file: frozenset[str] = frozenset()
    bare: bool = True
    clusters: bool = False
    slash: bool = False
    folded: bool = False
    commands: bool = False


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_PYTHON = _Interpreter(
    ("python", "pypy", "py"),
    _set("-W -X --check-hash-based-pycs"),
    _set("-c -h -V --help --version"),
    clusters=True,
)
_POWERSHELL_VALUED = _set(
    "-executionpolicy -ex -ep -workingdirectory -wd -configurationname -config -inputformat -outputformat "
    "-windowstyle -w -version -v -settingsfile -custompipename -psconsolefile"
)
_INTERPRETERS = (
    _PYTHON,
    _Interpreter(
        ("node", "nodejs"),
        _set("-r --require --import --loader --experimental-loader -C --conditions --env-file --input-type"),
        _set("-e --eval -p --print -h --help -v --version -i --interactive"),
    ),
    _Interpreter(
        ("ruby",), _set("-I -r -C -E -F -K -x --encoding"), _set("-e -h --help --version"), clusters=True
    ),
    _Interpreter(("perl",), _set("-I -C -F -x"), _set("-e -E -h -v"), clusters=True),
    _Interpreter(("php",), _set("-d -c -z"), _set("-r -R -B -E -h -v -i -m --run"), _set("-f --file -F")),
    _Interpreter(
        ("bash", "sh", "dash", "zsh", "ksh", "fish"),
        _set("-o +o -O +O --rcfile --init-file"),
        _set("-c -s --help --version --command"),
        clusters=True,
    ),
    _Interpreter(
        ("pwsh", "powershell"),
        _POWERSHELL_VALUED,
        _set("-command -c -encodedcommand -enc -e -ec -help -h -?"),
        _set("-file -f"),
        folded=True,
        commands=True,
    ),
    _Interpreter(("cmd",), file=_set("/c /k"), bare=False, slash=True, folded=True, commands=True),
    _Interpreter(("Rscript",), inline=_set("-e --version --help")),
    _Interpreter(("lua", "luajit"), _set("-l"), _set("-e -v"), clusters=True),
    _Interpreter(("wscript", "cscript"), slash=True, folded=True),
)


def what_runs(argv: tuple[str, ...], *known_as: str) -> Script | Module | None:
    """Find what the interpreter in ``argv[0]`` will run, or None if it is none or runs code given in argv.

    ``known_as`` are further names of the program, such as that of the file behind its links. ``env`` with
    variables and a program is looked through.
    """
    behind = program_behind_env(argv)
    if behind is not None:
        found = what_runs(argv[behind[1] :])
        return replace(found, index=found.index + behind[1]) if isinstance(found, Script) else found
    for name in (argv[0], *known_as):
        for interpreter in _INTERPRETERS:
            if any(_is(name, known) for known in interpreter.names):
                module = _python_module(argv) if interpreter is _PYTHON else None
                return module or _script(interpreter, argv)
    return None


def is_interpreter(*names: str) -> bool:
    """Whether one of these names of a program is that of an interpreter or a shell that this module knows."""
    return any(
        _is(name, known)
        for name in names
        if name
        for interpreter in _INTERPRETERS
        for known in interpreter.names
    )


def is_env(*names: str) -> bool:
    """Whether one of these names of a program is that of ``env``."""
    return any(_is(name, "env") for name in names if name)


def program_behind_env(argv: tuple[str, ...]) -> tuple[str, int] | None:
    """Give the program that ``env`` would start and its place in argv, or None if argv is no such command."""
    if not _is(argv[0], "env"):
        return None
    start = _after_env(argv)
    return None if start is None else (argv[start], start)


def interpreter_line(beginning: bytes) -> tuple[str, ...] | None:
    """The interpreter and its argument that a script names in its first line (``#!``), as POSIX systems read it.

    None if the file is no such script. What follows ``env -S`` is split into words.
    """
    if not beginning.startswith(b"#!"):
        return None
    line = os.fsdecode(beginning[2:].split(b"\n", 1)[0]).strip()
    words = line.split(None, 1)
    if not words:
        return None
    if is_env(words[0]) and len(words) == 2:
        return (words[0], *words[1].removeprefix("-S").split())
    return tuple(words)


def _is(name: str, known: str) -> bool:
    """Tell whether a program's file name is ``known``, perhaps with a version: python3.11, pythonw.exe."""
    base = PureWindowsPath(name).name.lower().removesuffix(".exe")
    return base.startswith(known.lower()) and _VERSION.fullmatch(base[len(known) :]) is not None


def _after_env(argv: tuple[str, ...]) -> int | None:
    index = 1
    while index < len(argv):
        argument = argv[index]
        if argument in ("-u", "--unset", "-C", "--chdir"):
            index += 2
        elif argument.startswith("-") or "=" in argument:
            index += 1
        else:
            return index
    return None


def _script(kind: _Interpreter, argv: tuple[str, ...]) -> Script | None:
    index = 1
    while index < len(argv):
        argument = argv[index]
        option = argument.lower() if kind.folded else argument
        if not _is_option(kind, option):
            return Script(argument, index, not kind.commands) if kind.bare else None
        if option in kind.file:
            following = index + 1
            certain = not (kind.commands and kind.slash)
            return Script(argv[following], following, certain) if following < len(argv) else None
        if option in ("-", "--"):
            following = index + 1
            return Script(argv[following], following) if option == "--" and following < len(argv) else None
        if kind.clusters and not option.startswith("--"):
            ends, takes_next = _cluster(kind, option)
        else:
            ends, takes_next = option.split("=", 1)[0] in kind.inline, option in kind.valued
        if ends:
            return None
        index += 2 if takes_next else 1
    return None


def _is_option(kind: _Interpreter, argument: str) -> bool:
    starts = ("/",) if kind.slash else ("-", "+") if "+o" in kind.valued else ("-",)
    return argument.startswith(starts)


def _cluster(kind: _Interpreter, option: str) -> tuple[bool, bool]:
    """Read letters joined behind one dash: whether no script follows, whether the next argument is a value."""
    sign, letters = option[0], option[1:]
    for place, letter in enumerate(letters):
        if sign + letter in kind.inline:
            return True, False
        if sign + letter in kind.valued:
            return False, place == len(letters) - 1
    return False, False


def _python_module(argv: tuple[str, ...]) -> Module | None:
    """Find ``-m name`` of a Python command line; None if there is none before the script."""
    index, isolated = 1, False
    while index < len(argv) and argv[index].startswith("-") and argv[index] not in ("-", "--"):
        option = argv[index]
        if option.startswith("--"):
            index += 2 if option in _PYTHON.valued else 1
            continue
        letters = option[1:]
        takes_next = False
        for place, letter in enumerate(letters):
            if letter == "m":
                rest = letters[place + 1 :]
                name = rest or (argv[index + 1] if index + 1 < len(argv) else "")
                return Module(name, not isolated) if name else None
            if letter == "c":
                return None
            if letter in "WX":
                takes_next = place == len(letters) - 1
                break
            isolated = isolated or letter in "IP"
        index += 2 if takes_next else 1
    return None
