"""Parts of what a command wrote, bounded and masked (E-92)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidValue, NotFound
from engine.execution.reading import LARGEST_PART, read_part

SECRET = "hunter2-correct-horse"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reading") / "stdout"
    path.write_bytes(f"ab{SECRET}cd{SECRET}{SECRET}ef LIVE DELIVERY ".encode() + b"\xff\n")
    return path


@given(offset=st.integers(0, 120), limit=st.integers(1, 120))
def test_no_cut_shows_a_part_of_a_secret(file: Path, offset: int, limit: int) -> None:
    whole = file.read_bytes().replace(SECRET.encode(), b"*" * len(SECRET))
    part = read_part(file, offset, limit, (SECRET, "LIVE", ""))
    assert part.text == whole[offset : offset + limit].decode("utf-8", "backslashreplace")
    assert (part.offset, part.end) == (offset, offset + len(whole[offset : offset + limit]))


def test_it_says_how_much_there_is_and_how_much_was_masked(file: Path) -> None:
    part = read_part(file, 0, LARGEST_PART, (SECRET,))
    assert (part.size, part.end, part.masked) == (file.stat().st_size, file.stat().st_size, 3)
    assert "LIVE DELIVERY \\xff" in part.text


@pytest.mark.parametrize(("offset", "limit"), [(-1, 1), (True, 1), (0, 0), (0, LARGEST_PART + 1), (0, True)])
def test_bounds_are_kept(file: Path, offset: int, limit: int) -> None:
    with pytest.raises(InvalidValue):
        read_part(file, offset, limit, ())


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_part(tmp_path / "none", 0, 1, ())
