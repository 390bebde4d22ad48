"""Whatever command a text of the engine names, it exists; what is told to be typed works as it is typed."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import engine
from engine.interfaces.cli import app
from engine.interfaces.cli_cards import WITH_REASON

ROOT = Path(engine.__file__).parent
COMMANDS: Any = typer.main.get_command(app)

_NAMED = re.compile(r"(?:(: )|(?<![\w./-]))praxis ([a-z][a-z-]+\b(?!\.[a-z])[^;\n(]*)")
_NO_COMMANDS = ("and agents cannot reach it.",)
"""Sentences about the program itself."""


def texts(tree: ast.AST) -> Iterator[str]:
    """Every text of a module that is not documentation of its code; what is filled in is the word 1."""
    inner: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inner.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            inner |= {id(one) for one in ast.walk(node) if one is not node}
            if id(node) not in inner:
                yield "".join(str(one.value) if isinstance(one, ast.Constant) else "1" for one in node.values)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield node.value


def mentions() -> Iterator[tuple[str, bool]]:
    """Each mention of a command, and whether it is one to be typed: those that follow a colon."""
    for path in sorted(ROOT.rglob("*.py")):
        for text in texts(ast.parse(path.read_text("utf-8"))):
            for found in _NAMED.finditer(text):
                if found[2] not in _NO_COMMANDS:
                    yield found[2].strip(), found[1] is not None


def find(words: list[str]) -> tuple[Any, list[str]]:
    """The command of the words, and what follows it."""
    named = COMMANDS.commands[words[0].rstrip(".,`")]
    if not hasattr(named, "commands"):
        return named, words[1:]
    if len(words) == 1:
        return named, []
    return named.commands[words[1].rstrip(".,")], words[2:]


@pytest.mark.parametrize("said", sorted({said for said, typed in mentions() if typed}))
def test_what_is_to_be_typed_works_as_typed(said: str) -> None:
    """Whatever follows the colon is the command alone, with every option and argument that it needs."""
    command, rest = find(shlex.split(said))
    assert not hasattr(command, "commands"), "a command of this group is to be named"
    command.make_context("praxis", rest)


@pytest.mark.parametrize("said", sorted({said for said, typed in mentions() if not typed}))
def test_a_command_that_is_mentioned_exists(said: str) -> None:
    command, rest = find(said.split())
    options = {name for one in command.params for name in one.opts}
    for word in rest[:1]:
        assert not word.startswith("--") or word.rstrip(".,") in options


def test_enough_hints_are_found() -> None:
    assert sum(typed for _, typed in mentions()) > 20


@pytest.mark.parametrize("name", sorted(COMMANDS.commands))
def test_what_wants_a_reason_is_said_beside_what_is_possible(name: str) -> None:
    needed = any("--reason" in one.opts and one.required for one in COMMANDS.commands[name].params)
    known = name in WITH_REASON | {"reject", "reconcile", "stop", "acknowledge-restore"}
    assert known or not needed


def documented() -> Iterator[str]:
    """What stands as a command in the README and the manual."""
    pages = [ROOT.parent / "README.md", *sorted((ROOT.parent / "resources" / "docs").glob("*.md"))]
    for page in pages:
        for found in re.finditer(
            r"(?:`|^)praxis ([a-z][^`\n]*)(?:`|$)", page.read_text("utf-8"), re.MULTILINE
        ):
            yield found[1]


@pytest.mark.parametrize("said", sorted(set(documented())))
def test_a_command_in_the_manual_exists_with_its_options(said: str) -> None:
    command, rest = find(shlex.split(said))
    options = {name for one in command.params for name in one.opts}
    assert {word for word in rest if word.startswith("--")} <= options
