"""Taking a command line that was written for a shell apart into arguments, and saying what a shell would do.

The engine runs argument lists without a shell. What a person pastes is often one line, so it is offered as a
list; nothing is taken over without being shown first.
"""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SplitLine:
    """A command line taken apart.

    ``problem`` says why it cannot be, and then ``arguments`` are empty. ``warning`` names what only a shell
    would act on; it is passed on as plain text.
    """

    arguments: tuple[str, ...]
    problem: str = ""
    warning: str = ""


_SHELL_WORDS = ("&&", "||", "|", ";", "&", ">>", ">", "<<", "<", "2>&1")
_POSIX_EXPANSION = re.compile(r"\$(?:\w+|\{[^}]*\}?|\()|`|(?<![\w/])~(?=/|\s|$)")
_POSIX_GLOB = re.compile(r"(?:^|[\s/])[^\s'\"]*[*?][^\s'\"]*")
_WINDOWS_EXPANSION = re.compile(r"%[A-Za-z_][^%\s]*%|\^")


def looks_like_a_line(text: str) -> bool:
    """Whether text is one line with several words, which is rarely meant as one argument."""
    return "\n" not in text.strip() and len(text.split()) > 1


def split_line(text: str, *, windows: bool = sys.platform == "win32") -> SplitLine:
    """Take a line apart by the rules of a POSIX shell, or by those that Windows programs go by."""
    line = text.strip()
    try:
        arguments = _split_windows(line) if windows else _split_posix(line)
    except ValueError:
        return SplitLine(
            (), "The quotes in this line do not match. Correct them, or write one argument per line."
        )
    return SplitLine(tuple(arguments), warning=_warning(line, arguments, windows=windows))


def _split_posix(line: str) -> list[str]:
    return shlex.split(line)


def _split_windows(line: str) -> list[str]:
    """As ``CommandLineToArgvW`` does it: backslashes count only before a quote, ``""`` inside quotes is one."""
    arguments: list[str] = []
    at = 0
    while at < len(line):
        if line[at] in " \t":
            at += 1
            continue
        argument, at = _next_windows(line, at)
        arguments.append(argument)
    return arguments


def _next_windows(line: str, at: int) -> tuple[str, int]:
    parts: list[str] = []
    quoted = False
    while at < len(line) and (quoted or line[at] not in " \t"):
        slashes = 0
        while at < len(line) and line[at] == "\\":
            slashes += 1
            at += 1
        if at < len(line) and line[at] == '"':
            parts.append("\\" * (slashes // 2))
            if slashes % 2:
                parts.append('"')
            elif quoted and line[at + 1 : at + 2] == '"':
                parts.append('"')
                at += 1
            else:
                quoted = not quoted
            at += 1
            continue
        parts.append("\\" * slashes)
        if at < len(line) and (quoted or line[at] not in " \t"):
            parts.append(line[at])
            at += 1
    if quoted:
        raise ValueError("unbalanced quotes")
    return "".join(parts), at


def _warning(line: str, arguments: list[str], *, windows: bool) -> str:
    found = [word for word in _SHELL_WORDS if word in arguments]
    expansion = _WINDOWS_EXPANSION if windows else _POSIX_EXPANSION
    found += sorted({match[0].strip() for match in expansion.finditer(line)})
    if not windows:
        found += sorted({match[0].strip() for match in _POSIX_GLOB.finditer(line)})
    if not found:
        return ""
    shown = ", ".join(dict.fromkeys(found))
    return f"No shell will read this: {shown} would be passed to the program as plain text."
