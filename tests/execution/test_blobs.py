"""Blobs: whole or not there, never overwritten, true or said to be altered (E-55, B-071, B-122)."""

from __future__ import annotations

import errno
import hashlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import pytest

from engine import files
from engine.engine import Engine
from engine.errors import DiskFault, DiskFull, FolderNotUsable, InvalidValue, NotFound
from engine.execution import blobs
from engine.execution.blobs import Blob, BlobState, BlobStore

not_on_windows = pytest.mark.skipif(sys.platform == "win32", reason="needs what only POSIX systems have")


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "blobs")


def all_files(store: BlobStore) -> list[Path]:
    return sorted(path for path in store.path("0" * 64).parents[1].rglob("*") if path.is_file())


@contextmanager
def small_files_only(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond ``size`` bytes, as a full disk would not."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("content", [b"", b"x", b"\0\xff\x81" * 700_001])
def test_what_is_kept_comes_back(store: BlobStore, tmp_path: Path, content: bytes) -> None:
    source = tmp_path / "source"
    source.write_bytes(content)
    blob = store.put_file(source)
    assert blob == Blob(hashlib.sha256(content).hexdigest(), len(content))
    assert store.path(blob.sha256) == tmp_path / "blobs" / blob.sha256[:2] / blob.sha256
    with store.open(blob.sha256) as file:
        assert file.read() == content
    assert store.size(blob.sha256) == len(content)
    assert store.verify(blob.sha256) is BlobState.TRUE
    assert source.read_bytes() == content


def test_keeping_again_changes_nothing(store: BlobStore) -> None:
    blob = store.put_bytes(b"same")
    before = store.path(blob.sha256).stat()
    assert store.put_bytes(b"same") == blob
    after = store.path(blob.sha256).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert all_files(store) == [store.path(blob.sha256)]


def test_missing_and_altered_are_told_apart(store: BlobStore) -> None:
    """B-122: "verify now" recomputes and compares; missing says missing."""
    blob = store.put_bytes(b"evidence")
    store.path(blob.sha256).write_bytes(b"Evidence")
    assert store.verify(blob.sha256) is BlobState.ALTERED
    store.path(blob.sha256).unlink()
    assert store.verify(blob.sha256) is BlobState.MISSING
    with pytest.raises(NotFound, match="missing"):
        store.open(blob.sha256)
    with pytest.raises(NotFound):
        store.size(blob.sha256)


def test_an_altered_blob_is_set_aside_and_not_overwritten(store: BlobStore) -> None:
    blob = store.put_bytes(b"evidence")
    store.path(blob.sha256).write_bytes(b"Evidence")
    assert store.put_bytes(b"evidence") == blob
    assert store.verify(blob.sha256) is BlobState.TRUE
    true, aside = all_files(store)
    assert true == store.path(blob.sha256)
    assert aside.name.startswith(f"{blob.sha256}.altered-")
    assert aside.read_bytes() == b"Evidence"


@not_on_windows
def test_a_full_disk_leaves_nothing_behind(store: BlobStore) -> None:
    """E-12 of its kind: a clear error, no temporary file, and the store works on."""
    with small_files_only(100_000), pytest.raises(DiskFull, match="no room") as caught:
        store.put_bytes(b"x" * 200_000)
    assert "nothing half-written" in caught.value.means
    assert all_files(store) == []
    assert store.verify(store.put_bytes(b"small").sha256) is BlobState.TRUE


@pytest.mark.parametrize(
    ("number", "error"), [(errno.ENOSPC, DiskFull), (errno.EROFS, FolderNotUsable), (errno.EIO, DiskFault)]
)
def test_an_error_at_the_flush_leaves_nothing_behind(
    store: BlobStore, monkeypatch: pytest.MonkeyPatch, number: int, error: type[Exception]
) -> None:
    def broken(_descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(blobs.os, "fsync", broken)
    with pytest.raises(error):
        store.put_bytes(b"content")
    assert all_files(store) == []


def test_a_folder_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_bytes(b"a file")
    with pytest.raises(DiskFault):
        BlobStore(tmp_path / "blobs").put_bytes(b"content")


@pytest.mark.parametrize("failures", [3, files.REPLACE_ATTEMPTS])
def test_a_scanner_that_holds_the_file_is_waited_for(
    store: BlobStore, monkeypatch: pytest.MonkeyPatch, failures: int
) -> None:
    """P17, B-070: on Windows a rename may be refused for a moment; the wait is bounded."""
    real, calls = Path.replace, []

    def refused(self: Path, target: Path) -> Path:
        calls.append(self)
        if len(calls) <= failures:
            raise PermissionError(errno.EACCES, "in use")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", refused)
    monkeypatch.setattr(files, "WINDOWS", True)
    monkeypatch.setattr(files, "REPLACE_PAUSE_SECONDS", 0)
    if failures < files.REPLACE_ATTEMPTS:
        blob = store.put_bytes(b"content")
        monkeypatch.undo()
        assert store.verify(blob.sha256) is BlobState.TRUE
    else:
        with pytest.raises(FolderNotUsable):
            store.put_bytes(b"content")
        monkeypatch.undo()
        assert all_files(store) == []


def link(path: Path, outside: Path) -> None:
    path.symlink_to(outside)


def pipe(path: Path, _outside: Path) -> None:
    os.mkfifo(path)


def folder(path: Path, _outside: Path) -> None:
    path.mkdir()


@not_on_windows
@pytest.mark.parametrize("make", [link, pipe, folder])
def test_only_regular_files_are_kept(
    store: BlobStore, tmp_path: Path, make: Callable[[Path, Path], None]
) -> None:
    """A command may have put a link or a pipe in the place of its output."""
    outside = tmp_path / "outside"
    outside.write_bytes(b"secret")
    make(tmp_path / "source", outside)
    with pytest.raises(DiskFault):
        store.put_file(tmp_path / "source")
    with pytest.raises(NotFound):
        store.put_file(tmp_path / "missing")
    assert all_files(store) == []


def test_an_error_of_reading_passes_through(store: BlobStore) -> None:
    class Broken(BytesIO):
        def read(self, _size: int | None = -1) -> bytes:
            raise OSError(errno.EIO, "broken")

    with pytest.raises(OSError, match="broken"):
        store.put_stream(Broken())
    assert all_files(store) == []


@pytest.mark.parametrize("name", ["", "../" * 21 + "x", "A" * 64, "0" * 63, "0" * 64 + "\n"])
def test_only_digests_name_blobs(store: BlobStore, name: str) -> None:
    with pytest.raises(InvalidValue):
        store.path(name)


def test_what_a_crash_left_is_cleared(store: BlobStore, tmp_path: Path) -> None:
    assert store.clear_incoming() == 0
    blob = store.put_bytes(b"whole")
    (tmp_path / "blobs" / "incoming" / "half").write_bytes(b"ha")
    assert store.clear_incoming() == 1
    assert all_files(store) == [store.path(blob.sha256)]


async def test_an_engine_that_begins_clears_what_a_crash_left(tmp_path: Path) -> None:
    half = tmp_path / "blobs" / "incoming" / "half"
    half.parent.mkdir(parents=True)
    half.write_bytes(b"ha")
    await (await Engine.open(tmp_path, automatic=False)).close()
    assert not half.exists()


def test_many_threads_keep_the_same_and_other_contents(store: BlobStore) -> None:
    contents = [bytes([number % 5]) * 200_000 for number in range(20)]
    kept: list[Blob] = []
    threads = [threading.Thread(target=lambda one=one: kept.append(store.put_bytes(one))) for one in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kept) == 20
    assert len(all_files(store)) == 5
    assert {store.verify(blob.sha256) for blob in kept} == {BlobState.TRUE}
