"""Text that leaves the machine: only what the program itself says is kept, and homes are not named.

A log can quote anything: a path, a reason, a value in the message of an error. What must not leave cannot be listed,
what may can: the words that stand in this program's own code. Every other word becomes an ellipsis.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

_PACKAGES = ("engine", "app")
_TOKEN = re.compile(r"\w+")
_KEPT = re.compile(r"\d{1,13}|\d{1,2}T\d{1,2}|\d{1,6}Z|01[0-9A-HJKMNP-TV-Z]{24}", re.ASCII)
"""Numbers, times and identities."""
_LEFT_OUT = "…"
_LONGEST_LINE = 1_000


def only_words(line: str, words: Collection[str]) -> str:
    """Give a line in which every word that is not among these is an ellipsis; numbers and identities stay."""
    return _TOKEN.sub(
        lambda match: match[0] if match[0] in words or _KEPT.fullmatch(match[0]) else _LEFT_OUT,
        line[:_LONGEST_LINE],
    )


def without_home(text: str) -> str:
    """Give text in which the path of this user's home folder is ``~``, in whichever way it is written."""
    home = str(Path.home())
    for form in {home, home.replace("\\", "\\\\"), home.replace("\\", "/")}:
        if len(form) > 1:
            text = re.sub(re.escape(form) + r"(?![^\\/\s\"'.,:;)])", "~", text)
    return text


def own_words() -> frozenset[str]:
    """Every word in the code of the packages of this program that are loaded: names, sentences, documentation."""
    words: set[str] = set()
    for name, module in tuple(sys.modules.items()):
        if name.partition(".")[0] in _PACKAGES and module is not None:
            words.update(name.split("."))
            for code in _codes_of(module):
                for text in _texts_of(code):
                    words.update(_TOKEN.findall(text))
            for text in _constants_of(module):
                words.update(_TOKEN.findall(text))
    return frozenset(words)


def _codes_of(holder: ModuleType | type) -> Iterator[CodeType]:
    for value in tuple(vars(holder).values()):
        function = getattr(value, "__func__", getattr(value, "fget", value))
        if isinstance(function, FunctionType):
            yield function.__code__
        elif isinstance(value, type) and value.__module__.partition(".")[0] in _PACKAGES:
            yield from _codes_of(value)


def _constants_of(module: ModuleType) -> Iterator[str]:
    for name, value in tuple(vars(module).items()):
        yield name
        if isinstance(value, str):
            yield value
        elif isinstance(value, type) and issubclass(value, BaseException):
            yield value.__name__


def _texts_of(code: CodeType) -> Iterator[str]:
    yield from (*code.co_names, *code.co_varnames, *code.co_freevars, code.co_name)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _texts_of(constant)
        elif isinstance(constant, str):
            yield constant
