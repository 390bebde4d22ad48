"""A pasted command line is taken apart as its shell would, and what only a shell would do is said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.wizards.command_split import looks_like_a_line, split_line


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("python tools/fix.py --issue 412", ("python", "tools/fix.py", "--issue", "412")),
        ("grep 'a b' \"c d\"", ("grep", "a b", "c d")),
        (r"echo a\ b", ("echo", "a b")),
        ("echo ''", ("echo", "")),
    ],
)
def test_posix_lines(line, arguments):
    assert split_line(line, windows=False).arguments == arguments


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        (r'"C:\Program Files\Python\python.exe" x.py', (r"C:\Program Files\Python\python.exe", "x.py")),
        (r"tool C:\a\b\ c", ("tool", "C:\\a\\b\\", "c")),
        (r'tool "a\"b"', ("tool", 'a"b')),
        (r'tool "a\\" b', ("tool", "a\\", "b")),
        (r'tool "a ""quoted"" b"', ("tool", 'a "quoted" b')),
        ('tool ""', ("tool", "")),
        (r"tool a\\b", ("tool", r"a\\b")),
        ("tool 'single quotes' stay", ("tool", "'single", "quotes'", "stay")),
    ],
)
def test_windows_lines(line, arguments):
    assert split_line(line, windows=True).arguments == arguments


@pytest.mark.parametrize("windows", [True, False])
def test_quotes_that_do_not_match_are_a_problem_in_words(windows):
    split = split_line('echo "open', windows=windows)
    assert split.arguments == ()
    assert "quotes" in split.problem


@pytest.mark.parametrize(
    ("line", "windows", "named"),
    [
        ("make test | tee $HOME/log && rm ~/x", False, ("|", "&&", "$HOME", "~")),
        ("ls *.py", False, ("*.py",)),
        ("echo %USERPROFILE% > out", True, ("%USERPROFILE%", ">")),
        ("python x.py", False, ()),
    ],
)
def test_what_only_a_shell_would_do_is_named(line, windows, named):
    warning = split_line(line, windows=windows).warning
    assert all(name in warning for name in named)
    assert bool(warning) == bool(named)


@pytest.mark.parametrize(("text", "is_line"), [("a b", True), ("a", False), ("a\nb c", False), ("", False)])
def test_what_looks_like_a_line(text, is_line):
    assert looks_like_a_line(text) is is_line


@given(st.lists(st.text(alphabet='ab "\\\t', max_size=6), min_size=1, max_size=5))
def test_windows_rules_read_what_windows_itself_would_write(arguments):
    from subprocess import list2cmdline

    assert split_line(list2cmdline(["tool", *arguments]), windows=True).arguments == ("tool", *arguments)


@given(st.lists(st.text(alphabet="ab '\"\\$", max_size=6), min_size=1, max_size=5))
def test_posix_rules_read_what_shlex_writes(arguments):
    from shlex import join

    assert split_line(join(["tool", *arguments]), windows=False).arguments == ("tool", *arguments)
