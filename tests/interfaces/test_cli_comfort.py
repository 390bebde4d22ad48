"""What makes the command line pleasant: narrow terminals, completion, help that does not mislead."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from engine.errors import WrongState
from engine.interfaces import cli
from engine.interfaces.cli_output import LONGEST_WHOLE_WORD, Output, fitted, length, prose, table, until
from tests.interfaces.conftest import Praxis

WORDS = st.text("abcdefg", min_size=1, max_size=LONGEST_WHOLE_WORD)
CELLS = st.lists(WORDS, max_size=4).map(" ".join)


def printed(made: object, width: int) -> list[str]:
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(made)
    return captured.get().splitlines()


@settings(max_examples=30)
@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=4), width=st.integers(35, 100))
def test_no_word_is_broken_whatever_the_width(rows: list[tuple[str, str, str]], width: int) -> None:
    lines = printed(fitted(table(("name", "state", "why"), rows), width), width)
    whole = {word for line in lines for word in line.split()}
    assert {word for row in rows for cell in row for word in cell.split()} <= whole
    assert max(map(len, lines)) <= width


def test_a_table_that_does_not_fit_becomes_lines_of_name_and_value() -> None:
    rows = [("WO-1", "AWAITING_ACCEPTANCE", "a long reason"), ("WO-2", "", "other")]
    wide = printed(fitted(table(("name", "state", "why"), rows), 80), 80)
    assert wide[0].split() == ["name", "state", "why"]
    narrow = [line.split() for line in printed(fitted(table(("name", "state", "why"), rows), 30), 30)]
    assert narrow == [
        ["name", "WO-1"],
        ["state", "AWAITING_ACCEPTANCE"],
        ["why", "a", "long", "reason"],
        [],
        ["name", "WO-2"],
        ["why", "other"],
    ]


def test_the_shell_completes_commands_options_and_values(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def complete(line: str) -> list[str]:
        monkeypatch.setenv("_PRAXIS_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
        with pytest.raises(SystemExit):
            cli.run([])
        return capsys.readouterr().out.split()

    assert complete("praxis ag") == ["agent"]
    assert complete("praxis journal export --form ") == ["jsonl", "csv"]
    assert "--with-validation" in complete("praxis approve --w")


def test_help_of_approve_says_when_what_is_looked_at(praxis: Praxis) -> None:
    said = " ".join(praxis("approve", "--help").out.split())
    assert "looked at when it starts" in said
    assert "would run now" not in said


@pytest.mark.skipif(sys.platform == "win32", reason="file names of bytes")
def test_arguments_that_are_not_utf_8_are_refused_in_words_or_taken(praxis: Praxis, tmp_path: Path) -> None:
    odd = os.fsdecode(b"odd-\xff")
    praxis("agent", "add", "codex")
    for arguments, code in (
        (["submit", str(tmp_path / odd)], 3),
        (["show", odd], 2),
        (["list", "--text", odd], 2),
        (["hold", "engine", "--reason", odd], 2),
        (["list", "--as-agent", odd], 2),
        (["agent", "tell", odd, "k"], 2),
        (["agent", "answer", odd, "yes"], 2),
        (["verify-receipt", odd], 3),
        (["journal", "export", "-o", str(tmp_path / odd)], 0),
        ([odd], 2),
    ):
        assert praxis(*arguments, ok=False).code == code, arguments
    assert (tmp_path / odd).exists()


def test_tables_of_usual_content_fit_80_columns() -> None:
    """Times stay whole, and the table of budgets is one, also while something is frozen."""
    titles = ("scope", "units", "spent", "reserved", "frozen", "free", "time", "frozen", "left")
    row = ("project:payments", "1,000", "0", "0", "3", "997", "1d", "500ms", "23h59m59s")
    assert fitted(table(titles, [row]), 80).columns[0].header == "scope"
    narrow = fitted(table(("when", "what"), [("2026-12-01T09:13:57.163Z", "a long text " * 9)]), 40)
    assert narrow.columns[0].width == 24


def test_a_column_that_is_nearly_whole_is_made_whole() -> None:
    rows = [
        ("WO-2", "7 min ago", "Hangs for a while and is never done", "UNKNOWN: a person has to decide it")
    ]
    made = fitted(table(("name", "changed", "title", "why"), rows), 60)
    assert made.columns[1].width == len("7 min ago")
    assert sum(column.width or 0 for column in made.columns) == 60 - 2 * 3


def test_the_help_fits_80_columns(praxis: Praxis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = praxis("--help").out
    assert max(map(len, said.splitlines())) <= 80
    assert "130  Interrupted with Ctrl+C." in said


def test_an_error_is_broken_between_words_and_its_command_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    out = Output(as_json=False)
    said = io.StringIO()
    monkeypatch.setattr(out, "_err", Console(file=said, width=40, color_system=None))
    command = 'Take it back first: praxis agent revoke codex --reason "why"'
    out.error(WrongState("The agent has a key already. " * 3, means="Nothing was changed.", do=command))
    *sentences, last = said.getvalue().splitlines()
    assert last == command
    assert max(map(len, sentences)) <= 40
    assert all(line == line.strip() for line in sentences[1:])


def test_a_field_of_prose_keeps_its_place() -> None:
    made = fitted(prose("seen", "as it is " * 20), 60)
    assert made.columns[0].width == 10


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(0, "0"), (13, "13ms"), (1_500, "1s500ms"), (86_399_976, "23h59m59s"), (-60_001, "-1m")],
)
def test_lengths_are_read_at_a_glance(milliseconds: int, text: str) -> None:
    assert length(milliseconds) == text


def test_what_is_still_to_come_is_in_one_unit() -> None:
    assert (until(100, 100), until(90_000, 0), until(86_400_000, 0)) == ("now", "in 1 min", "in 1 d")
