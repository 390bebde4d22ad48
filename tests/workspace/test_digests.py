import hashlib
import os

import pytest

from engine.workspace.digests import (
    Content,
    FileChanging,
    KnownContents,
    Stamp,
    file_digest,
    handle_digest,
)
from engine.workspace.folders import FileIdentity, identity_of


def test_a_digest_is_of_the_whole_content_and_names_the_file(tmp_path):
    content = bytes(range(256)) * 10_000
    path = tmp_path / "file"
    path.write_bytes(content)
    digest = file_digest(path)
    assert digest.sha256 == hashlib.sha256(content).hexdigest()
    assert digest.size == len(content)
    assert digest.identity == identity_of(path.stat())
    assert str(digest.identity) == f"{path.stat().st_dev:x}:{path.stat().st_ino:x}"


def test_an_empty_file_has_a_digest(tmp_path):
    (tmp_path / "empty").touch()
    assert file_digest(tmp_path / "empty").sha256 == hashlib.sha256().hexdigest()


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be replaced on Windows")
def test_p35_the_handle_is_read_not_the_path(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"first")
    with path.open("rb", buffering=0) as handle:
        path.unlink()
        path.write_bytes(b"second")
        assert handle_digest(handle).sha256 == hashlib.sha256(b"first").hexdigest()


def test_a_file_that_never_ends_has_no_digest(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"x")

    class Growing:
        name = str(path)

        def __init__(self, handle):
            self.handle = handle

        def read(self, count):
            with path.open("ab") as more:
                more.write(b"y")
            return self.handle.read(count)

        def fileno(self):
            return self.handle.fileno()

    with path.open("rb", buffering=0) as handle, pytest.raises(FileChanging):
        handle_digest(Growing(handle))


def test_missing_files_and_folders_are_os_errors(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(OSError, match=r"."):
            file_digest(path)


SECOND = 1_000_000_000
STAMP = Stamp(FileIdentity(1, 2), 3, 100 * SECOND, 100 * SECOND)


def test_a_stamp_proves_nothing_for_two_seconds_after_a_change():
    assert not STAMP.settled(100_000)
    assert not STAMP.settled(102_000)
    assert STAMP.settled(102_001)
    assert not Stamp(FileIdentity(1, 2), 3, 0, 100 * SECOND).settled(102_000)


def test_contents_are_recalled_by_the_same_stamp_only():
    known, content = KnownContents(), Content("aa", 3)
    known.remember(STAMP, content, 200_000)
    assert known.recall(STAMP) == content
    assert known.recall(STAMP, "sha1") is None
    assert known.recall(Stamp(FileIdentity(1, 2), 3, 100 * SECOND, 100 * SECOND + 1)) is None
    assert known.recall(Stamp(FileIdentity(1, 3), 3, 100 * SECOND, 100 * SECOND)) is None


def test_a_content_too_fresh_to_trust_is_not_remembered():
    known = KnownContents()
    known.remember(STAMP, Content("aa", 3), 101_000)
    assert known.recall(STAMP) is None


def test_the_least_recently_used_content_is_forgotten_first():
    known = KnownContents(capacity=2)
    stamps = [Stamp(FileIdentity(1, number), 1, 0, 0) for number in range(3)]
    for stamp in stamps[:2]:
        known.remember(stamp, Content(str(stamp), 1), 10_000)
    known.recall(stamps[0])
    known.remember(stamps[2], Content("new", 1), 10_000)
    assert [known.recall(stamp) is not None for stamp in stamps] == [True, False, True]


def test_stamps_come_from_the_file_system(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    os.utime(path, ns=(1, 7 * SECOND))
    stamp = Stamp.of(path.stat())
    assert (stamp.size, stamp.mtime_ns, stamp.identity) == (3, 7 * SECOND, identity_of(path.stat()))
