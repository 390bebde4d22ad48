"""Publishing whole files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine import files
from engine.files import replace_file, write_whole


def test_a_file_is_written_whole_and_replaces_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "note.json"
    write_whole(target, b"old")
    write_whole(target, b"new")
    assert target.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_failure_leaves_the_old_file_and_no_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "note.json"
    write_whole(target, b"old")

    def fail(descriptor: int) -> None:
        raise OSError("no room")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no room"):
        write_whole(target, b"new")
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_p17_on_windows_a_file_that_is_held_for_a_moment_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = tmp_path / "new", tmp_path / "note"
    source.write_bytes(b"new")
    replace = Path.replace
    held = [True, True]

    def held_at_first(path: Path, other: Path) -> Path:
        if held:
            held.pop()
            raise PermissionError("held by a scanner")
        return replace(path, other)

    monkeypatch.setattr(Path, "replace", held_at_first)
    monkeypatch.setattr(files, "REPLACE_PAUSE_SECONDS", 0)
    monkeypatch.setattr(files, "WINDOWS", True)
    replace_file(source, target)
    assert target.read_bytes() == b"new"


def test_p17_a_file_that_stays_held_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def held(path: Path, other: Path) -> Path:
        raise PermissionError("held for good")

    monkeypatch.setattr(Path, "replace", held)
    monkeypatch.setattr(files, "REPLACE_PAUSE_SECONDS", 0)
    for windows in (True, False):
        monkeypatch.setattr(files, "WINDOWS", windows)
        with pytest.raises(PermissionError, match="for good"):
            replace_file(tmp_path / "new", tmp_path / "note")
