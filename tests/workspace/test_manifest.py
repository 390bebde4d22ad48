import hashlib
import json
import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.workspace.digests import file_digest
from engine.workspace.folders import Folder
from engine.workspace.manifest import (
    Entry,
    EntryKind,
    Manifest,
    ManifestBounds,
    ManifestDifference,
    difference,
    manifest_from_json,
    take_manifest,
)

posix_only = pytest.mark.skipif(os.name == "nt", reason="needs links and permissions of POSIX")
not_root = pytest.mark.skipif(os.name != "nt" and os.geteuid() == 0, reason="root may read everything")

LONG_AFTER = 4_000_000_000_000
"""Later than the time of any file of these tests."""


def look(path, **options):
    with Folder(path) as folder:
        return take_manifest(folder, now=LONG_AFTER, **options)


def sha256(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def tree(workspace):
    (workspace / "src" / "deep").mkdir(parents=True)
    (workspace / "a.txt").write_bytes(b"alpha")
    (workspace / "src" / "b.txt").write_bytes(b"beta")
    (workspace / "src" / "deep" / "c.txt").write_bytes(b"")
    return workspace


def test_e55_a_manifest_lists_everything_with_digests(tree):
    manifest = look(tree)
    assert list(manifest.entries) == ["a.txt", "src", "src/b.txt", "src/deep", "src/deep/c.txt"]
    assert manifest.entries["a.txt"].sha256 == sha256(b"alpha")
    assert manifest.entries["src"].kind is EntryKind.FOLDER
    assert (manifest.size(), manifest.by_times(), manifest.shortcomings()) == (9, 0, ())


def test_e55_added_changed_and_removed_are_told_apart(tree):
    before = look(tree)
    (tree / "a.txt").write_bytes(b"ALPHA")
    (tree / "src" / "b.txt").unlink()
    (tree / "src" / "new").mkdir()
    after = look(tree, previous=before)
    assert difference(before, after) == ManifestDifference(("src/new",), ("a.txt",), ("src/b.txt",))
    assert difference(before, after)
    assert not difference(before, before)
    assert before.digest() != after.digest()


@posix_only
def test_a_change_of_permission_is_a_change(tree):
    before = look(tree)
    (tree / "a.txt").chmod(0o755)
    assert difference(before, look(tree)).changed == ("a.txt",)


@posix_only
def test_links_are_recorded_and_never_followed(tree, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    (tree / "link").symlink_to(outside)
    (tree / "broken").symlink_to("nowhere")
    manifest = look(tree)
    assert manifest.entries["link"].kind is EntryKind.LINK
    assert manifest.entries["link"].note == str(outside)
    assert manifest.entries["broken"].kind is EntryKind.LINK
    assert not any("secret" in path for path in manifest.entries)
    (tree / "broken").unlink()
    (tree / "broken").symlink_to("elsewhere")
    assert difference(manifest, look(tree)).changed == ("broken",)


@posix_only
def test_pipes_are_recorded_and_not_read(tree):
    os.mkfifo(tree / "pipe")
    assert look(tree).entries["pipe"].kind is EntryKind.OTHER


def test_gits_own_folder_is_recorded_and_not_looked_into(tree):
    (tree / "src" / ".git" / "hooks").mkdir(parents=True)
    manifest = look(tree)
    assert manifest.entries["src/.git"].kind is EntryKind.GIT
    assert "src/.git/hooks" not in manifest.entries


@posix_only
@not_root
def test_what_cannot_be_read_is_recorded_as_such(tree):
    (tree / "a.txt").chmod(0)
    (tree / "src").chmod(0)
    try:
        manifest = look(tree)
    finally:
        (tree / "src").chmod(0o755)
    assert {path: entry.kind for path, entry in manifest.entries.items()} == {
        "a.txt": EntryKind.UNREADABLE,
        "src": EntryKind.UNREADABLE,
    }
    assert manifest.shortcomings() == ("2 entries could not be read.",)


def test_an_unreadable_file_is_recorded_and_the_rest_goes_on(tree, monkeypatch):
    real = Folder.file

    def refuse(folder, name):
        if name == "a.txt":
            raise PermissionError(13, "denied")
        return real(folder, name)

    monkeypatch.setattr(Folder, "file", refuse)
    manifest = look(tree)
    assert manifest.entries["a.txt"].kind is EntryKind.UNREADABLE
    assert manifest.entries["a.txt"].note == "PermissionError"
    assert manifest.entries["src/b.txt"].sha256 == sha256(b"beta")


@pytest.mark.parametrize("bounds", [ManifestBounds(files=1), ManifestBounds(bytes=5)])
def test_beyond_the_bounds_files_are_marked_as_not_read(tree, bounds):
    manifest = look(tree, bounds=bounds)
    assert manifest.entries["a.txt"].sha256
    assert manifest.entries["src/b.txt"].by_times
    assert manifest.shortcomings()[0].endswith(
        "files were recorded by size and time alone, their content was not read."
    )
    assert not difference(manifest, look(tree, bounds=bounds))
    os.utime(tree / "src" / "b.txt", ns=(1, 1))
    assert difference(manifest, look(tree, bounds=bounds)).changed == ("src/b.txt",)
    assert manifest.digest() != look(tree, bounds=bounds).digest()


def test_meeting_a_bound_in_one_of_two_looks_is_no_change(tree):
    full, bounded = look(tree), look(tree, bounds=ManifestBounds(files=1))
    assert not difference(full, bounded)
    assert not difference(bounded, full)
    (tree / "src" / "b.txt").write_bytes(b"BETA")
    os.utime(tree / "src" / "b.txt", ns=(1, 1))
    assert difference(full, look(tree, bounds=ManifestBounds(files=1))).changed == ("src/b.txt",)


def test_too_many_entries_are_left_out_and_said(tree):
    manifest = look(tree, bounds=ManifestBounds(entries=2))
    assert manifest.left_out
    assert len(manifest.entries) == 2
    assert manifest.shortcomings() == ("There were more than 2 entries; the rest was left out.",)


def test_folders_nested_without_end_are_not_followed_without_end(workspace):
    deepest = workspace.joinpath(*(["d"] * 6))
    deepest.mkdir(parents=True)
    manifest = look(workspace, bounds=ManifestBounds(depth=3))
    assert list(manifest.entries) == ["d", "d/d", "d/d/d", "d/d/d/d"]
    assert manifest.entries["d/d/d/d"].note == "too deep"


def test_unchanged_files_are_not_read_again(tree, monkeypatch):
    before = look(tree)
    (tree / "src" / "b.txt").write_bytes(b"BETA")
    os.utime(tree / "src" / "b.txt", ns=(1, 1))
    opened = []
    real = Folder.file
    monkeypatch.setattr(Folder, "file", lambda folder, name: opened.append(name) or real(folder, name))
    after = look(tree, previous=before)
    assert opened == ["b.txt"]
    assert after == look(tree)


@pytest.mark.parametrize("now", [0, None])
def test_a_file_that_changed_just_before_the_look_is_read_again(tree, monkeypatch, now):
    """The same size within the same tick of the file system's clock must not hide a change."""
    with Folder(tree) as folder:
        before = take_manifest(folder, now=now)
    times = (tree / "a.txt").stat()
    (tree / "a.txt").write_bytes(b"ALPHA")
    os.utime(tree / "a.txt", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert look(tree, previous=before).entries["a.txt"].sha256 == sha256(b"ALPHA")


@posix_only
def test_setting_the_time_back_does_not_hide_a_change(tree):
    before = look(tree)
    times = (tree / "a.txt").stat()
    (tree / "a.txt").write_bytes(b"ALPHA")
    os.utime(tree / "a.txt", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert difference(before, look(tree, previous=before)).changed == ("a.txt",)


def test_names_may_be_left_out(tree):
    (tree / "src" / "__pycache__").mkdir()
    (tree / "src" / "__pycache__" / "b.pyc").touch()
    assert look(tree).digest() != look(tree, leave_out="__pycache__".__eq__).digest()
    assert "src/__pycache__" not in look(tree, leave_out="__pycache__".__eq__).entries


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are Unicode")
def test_names_that_are_not_unicode_survive(tree):
    (tree / os.fsdecode(b"caf\xe9")).write_bytes(b"x")
    manifest = look(tree)
    again = manifest_from_json(json.loads(json.dumps(manifest.to_json())))
    assert again == manifest
    assert again.digest() == manifest.digest()


KINDS = st.sampled_from([EntryKind.FILE, EntryKind.FOLDER, EntryKind.LINK, EntryKind.UNREADABLE])
ENTRIES = st.builds(
    Entry,
    st.just(""),
    KINDS,
    st.integers(0, 5),
    st.integers(0, 3),
    st.sampled_from(["aa", "bb"]),
    st.text(max_size=2),
)
MANIFESTS = st.dictionaries(st.sampled_from(["a", "a/b", "c", "d"]), ENTRIES).map(
    lambda found: Manifest(
        {
            path: Entry(path, *(getattr(found[path], n) for n in ("kind", "size", "mode", "sha256", "note")))
            for path in sorted(found)
        }
    )
)


@given(MANIFESTS, MANIFESTS)
def test_digests_are_equal_exactly_when_nothing_differs(one, other):
    assert (one.digest() == other.digest()) == (not difference(one, other))
    back = difference(other, one)
    forth = difference(one, other)
    assert (forth.added, forth.changed, forth.removed) == (back.removed, back.changed, back.added)


@given(MANIFESTS)
def test_manifests_survive_json(manifest):
    assert manifest_from_json(json.loads(json.dumps(manifest.to_json()))) == manifest


def test_the_manifest_and_the_digest_of_a_file_agree(tree):
    assert look(tree).entries["a.txt"].sha256 == file_digest(tree / "a.txt").sha256
