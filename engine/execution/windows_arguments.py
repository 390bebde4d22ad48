"""How an argument vector and an environment reach a Windows program: as one text each (B-022, B-067).

Windows passes a command line, not a vector; each program splits it again, nearly all by the rules of the
Microsoft C runtime. So the line is built, split again by these rules, and used only if exactly the approved
vector comes back.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from engine.errors import InvalidValue

LONGEST_COMMAND_LINE = 32_766
_BLANK = " \t"


def command_line(argv: Sequence[str]) -> str:
    """Give the command line from which the program gets exactly ``argv``.

    Raises `InvalidValue` where no command line can do that, such as for a quotation mark in ``argv[0]``, or
    where it would be longer than Windows passes.
    """
    line = subprocess.list2cmdline(argv)
    if split_command_line(line) != list(argv):
        raise InvalidValue(
            "Windows cannot pass these arguments as they were approved.",
            means="The program would see other arguments, so it is not started.",
            do="Use no quotation mark and no trailing backslash in the first argument.",
        )
    if len(line) > LONGEST_COMMAND_LINE:
        raise InvalidValue(
            f"The command line has {len(line):,} characters; Windows passes {LONGEST_COMMAND_LINE:,}."
        )
    return line


def split_command_line(line: str) -> list[str]:
    """Split a command line as the Microsoft C runtime does (since 2008)."""
    first, place = _program_name(line)
    arguments = [first]
    while True:
        while place < len(line) and line[place] in _BLANK:
            place += 1
        if place == len(line):
            return arguments
        argument, place = _argument(line, place)
        arguments.append(argument)


def environment_block(environment: Mapping[str, str]) -> str:
    """Give the block of an environment: ``name=value`` texts, sorted, each ended by NUL, and a last NUL.

    Raises `InvalidValue` when two names differ in letter case only, which are the same name on Windows.
    """
    folded: dict[str, str] = {}
    for name in environment:
        other = folded.setdefault(name.upper(), name)
        if other != name:
            raise InvalidValue(f"The variables {other} and {name} are the same one on Windows.")
    entries = "".join(f"{name}={environment[name]}\0" for _, name in sorted(folded.items()))
    return (entries or "\0") + "\0"


def _program_name(line: str) -> tuple[str, int]:
    """The first argument: backslashes mean nothing, quotation marks only begin and end quoting."""
    name = ""
    quoted = False
    for place, character in enumerate(line):
        if character == '"':
            quoted = not quoted
        elif character in _BLANK and not quoted:
            return name, place
        else:
            name += character
    return name, len(line)


def _argument(line: str, place: int) -> tuple[str, int]:
    text = ""
    quoted = False
    while place < len(line):
        start = place
        while place < len(line) and line[place] == "\\":
            place += 1
        backslashes = place - start
        if place < len(line) and line[place] == '"':
            text += "\\" * (backslashes // 2)
            if backslashes % 2:
                text += '"'
                place += 1
            elif quoted and line[place + 1 : place + 2] == '"':
                text += '"'
                place += 2
            else:
                quoted = not quoted
                place += 1
            continue
        text += "\\" * backslashes
        if place == len(line) or (line[place] in _BLANK and not quoted):
            break
        text += line[place]
        place += 1
    return text, place
