"""Command lines and environment blocks for Windows: what is approved comes out again, or is refused (B-022, B-067)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from engine.dispatch.program import is_batch_file
from engine.errors import InvalidValue
from engine.execution.windows_arguments import (
    LONGEST_COMMAND_LINE,
    command_line,
    environment_block,
    split_command_line,
)

arguments = some.text(some.characters(exclude_characters="\0")) | some.text(' \t"\\a%!^&')


@pytest.mark.parametrize(
    ("line", "argv"),
    [
        # From Microsoft's own table of examples for the C runtime.
        ('prog "abc" d e', ["prog", "abc", "d", "e"]),
        (r"prog a\\b d\"e\"f\"g h", ["prog", r"a\\b", 'd"e"f"g', "h"]),
        (r'prog a\\\b d"e f"g h', ["prog", r"a\\\b", "de fg", "h"]),
        (r"prog a\\\"b c d", ["prog", r"a\"b", "c", "d"]),
        (r'prog a\\\\"b c" d e', ["prog", r"a\\b c", "d", "e"]),
        ('prog a"b"" c d', ["prog", 'ab" c d']),
        # The first argument has rules of its own.
        (r'"C:\a b\prog.exe" x', [r"C:\a b\prog.exe", "x"]),
        (r"C:\"a b\"prog x", ["C:\\a b\\prog", "x"]),
        ("prog", ["prog"]),
        ('""', [""]),
        ('prog ""', ["prog", ""]),
        ("prog  \t a ", ["prog", "a"]),
    ],
)
def test_the_rules_of_the_c_runtime(line: str, argv: list[str]) -> None:
    assert split_command_line(line) == argv


@given(some.lists(arguments, max_size=5))
def test_every_vector_comes_back(rest: list[str]) -> None:
    argv = [r"C:\Program Files\tool.exe", *rest]
    assert split_command_line(command_line(argv)) == argv


@given(some.lists(arguments, min_size=1, max_size=3))
def test_a_first_argument_that_cannot_be_passed_is_refused_and_never_changed(argv: list[str]) -> None:
    try:
        line = command_line(argv)
    except InvalidValue:
        assert '"' in argv[0] or argv[0].endswith("\\")
    else:
        assert split_command_line(line) == argv


def test_too_long_is_refused() -> None:
    assert len(command_line(["a", "b" * (LONGEST_COMMAND_LINE - 2)])) == LONGEST_COMMAND_LINE
    with pytest.raises(InvalidValue):
        command_line(["a", "b" * (LONGEST_COMMAND_LINE - 1)])


def test_the_environment_block_is_sorted_and_ended() -> None:
    block = environment_block({"b": "2", "A": "x=y", "SystemRoot": "C:\\Windows", "é": "🚀"})
    assert block == "A=x=y\0b=2\0SystemRoot=C:\\Windows\0é=🚀\0\0"
    assert environment_block({}) == "\0\0"


def test_names_that_are_the_same_on_windows_are_refused() -> None:
    with pytest.raises(InvalidValue, match="Path and PATH"):
        environment_block({"Path": "1", "PATH": "2"})


@pytest.mark.parametrize(
    "name", ["x.bat", "x.BAT.", "x.cmd ", "C:\\a b\\x.Cmd", "x.bat::$DATA", "x.bat. . ", "folder/x.cmd"]
)
def test_batch_files_in_every_spelling(name: str) -> None:
    """P32."""
    assert is_batch_file(name)


@pytest.mark.parametrize("name", ["x.exe", "bat", "x.bat.exe", "cmd", "C:\\x.bat\\tool.exe"])
def test_what_is_no_batch_file(name: str) -> None:
    assert not is_batch_file(name)
