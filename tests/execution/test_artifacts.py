"""Artifacts: matched by pattern, kept only from inside the workspace (E-52, E-55, P34, P35)."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import pytest

from engine.execution.artifacts import LISTED_PROBLEMS, ArtifactBounds, keep_artifacts
from engine.execution.blobs import BlobStore
from engine.workspace.containment import Root, find_root

not_on_windows = pytest.mark.skipif(
    sys.platform == "win32", reason="makes links and pipes as POSIX systems do"
)


@pytest.fixture
def root(tmp_path: Path) -> Root:
    folder = tmp_path / "workspace"
    for name in (
        "report.xml",
        "build/a.txt",
        "build/deep/er/b.txt",
        "build/c.log",
        ".git/d.txt",
        "odd[1].txt",
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return find_root(folder)


@pytest.fixture
def blobs(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "blobs")


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("report.xml", ["report.xml"]),
        ("./build//a.txt", ["build/a.txt"]),
        ("*.txt", ["odd[1].txt"]),
        ("odd[1].txt", ["odd[1].txt"]),
        ("build/?.txt", ["build/a.txt"]),
        ("*/a.txt", ["build/a.txt"]),
        ("**/*.txt", ["build/a.txt", "build/deep/er/b.txt", "odd[1].txt"]),
        ("build/**", ["build/a.txt", "build/c.log", "build/deep/er/b.txt"]),
        ("build/**/b.txt", ["build/deep/er/b.txt"]),
        ("**/er/*", ["build/deep/er/b.txt"]),
    ],
)
def test_patterns(root: Root, blobs: BlobStore, pattern: str, paths: list[str]) -> None:
    kept, problems = keep_artifacts(root, [pattern], blobs)
    assert [one.path for one in kept] == paths
    assert problems == ()
    for one in kept:
        assert one.sha256 == hashlib.sha256(one.path.encode()).hexdigest()
        assert one.size == blobs.size(one.sha256) == len(one.path)


def test_each_file_is_kept_once_and_what_is_missing_is_said(root: Root, blobs: BlobStore) -> None:
    kept, problems = keep_artifacts(root, ["**/*.log", "build/c.log", "*.pdf", "gone/x"], blobs)
    assert [one.path for one in kept] == ["build/c.log"]
    assert [one.path for one in problems] == ["*.pdf", "gone/x"]
    assert problems[0].why == "Nothing matches this pattern."


@pytest.mark.parametrize(
    "pattern", ["/etc/passwd", "../x", "build/../../x", "a\0b", "", "C:/x", "//server/share/x"]
)
def test_patterns_that_leave_are_problems(root: Root, blobs: BlobStore, pattern: str) -> None:
    kept, problems = keep_artifacts(root, [pattern], blobs)
    assert kept == ()
    assert [one.path for one in problems] == [pattern]


@not_on_windows
def test_links_that_lead_out_are_never_read(root: Root, blobs: BlobStore, tmp_path: Path) -> None:
    """E-52: proved again after the run, since the command may have made the links."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    (root.real / "build" / "leak.txt").symlink_to(outside / "secret.txt")
    (root.real / "out").symlink_to(outside)
    kept, problems = keep_artifacts(root, ["build/*.txt", "out/secret.txt", "**/secret.txt"], blobs)
    assert [one.path for one in kept] == ["build/a.txt"]
    assert [one.path for one in problems] == ["out/secret.txt", "**/secret.txt", "build/leak.txt"]
    assert "outside" in problems[2].why


@not_on_windows
def test_links_that_stay_inside_and_what_is_no_file(root: Root, blobs: BlobStore) -> None:
    (root.real / "latest").symlink_to("build")
    (root.real / "copy.xml").symlink_to("report.xml")
    os.mkfifo(root.real / "pipe.xml")
    kept, problems = keep_artifacts(root, ["latest/a.txt", "*.xml"], blobs)
    assert [one.path for one in kept] == ["copy.xml", "latest/a.txt", "report.xml"]
    assert [one.path for one in problems] == ["pipe.xml"]


def test_bounds(root: Root, blobs: BlobStore) -> None:
    """A pattern that matches a whole package folder does not fill the disk or the record."""
    for number in range(LISTED_PROBLEMS + 20):
        (root.real / f"{number:03}.bin").write_bytes(b"x" * 2_000)
    kept, problems = keep_artifacts(root, ["*.bin"], blobs, ArtifactBounds(files=3))
    assert [one.path for one in kept] == ["000.bin", "001.bin", "002.bin"]
    assert [one.path for one in problems] == ["003.bin"]
    assert "117 were left out" in problems[0].why
    kept, problems = keep_artifacts(root, ["*.bin"], blobs, ArtifactBounds(bytes=5_000))
    assert len(kept) == 2
    assert len(problems) == LISTED_PROBLEMS + 1
    assert problems[-1].why == "18 more files could not be kept."
