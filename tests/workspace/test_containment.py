import os
import posixpath
import socket
import threading
from contextlib import suppress
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidWorkOrder, NotFound, OutsideWorkspace
from engine.workspace.containment import (
    Root,
    check_root,
    contains,
    find_root,
    open_folder_inside,
    open_inside,
    parts_of,
    resolve_inside,
)
from engine.workspace.folders import Folder, IsLink

posix_only = pytest.mark.skipif(os.name == "nt", reason="needs links and permissions of POSIX")
windows_only = pytest.mark.skipif(os.name != "nt", reason="needs folders of Windows")

REFUSED_EVERYWHERE = [
    "",
    "/",
    "/etc/passwd",
    "//server/share/x",
    "..",
    "../x",
    "../../x",
    "a/../../x",
    "a/b/../../../x",
    "./..",
    "C:x",
    "C:",
    "c:/x",
    "C:\\x",
    "\\x",
    "\\\\server\\share\\x",
    "\\\\?\\C:\\x",
    "\\\\.\\pipe\\x",
    "a\0b",
    "a\nb",
    "a\tb",
    "a\x7fb",
    "a\x85b",
    "a\udcffb",
    "a\\..\\..\\x",
]
REFUSED_ON_WINDOWS = [
    "//?/C:/x",
    "a/..\\../x",
    "file:stream",
    "file::$DATA",
    "a/file.txt:secret",
    "NUL",
    "nul",
    "nul.txt",
    "NUL .txt",
    "a/CON",
    "con.tar.gz",
    "COM1",
    "com9.log",
    "COM¹",
    "lpt²",
    "LPT1",
    "AUX/x",
    "prn",
    "CONIN$",
    "conout$",
    "CLOCK$",
    "x.",
    "x ",
    ".. ",
    ". ",
    "...",
    "a/x. ",
    "a./x",
    "x.bat.",
    "a<b",
    'a"b',
    "a|b",
    "a*b",
    "a?b",
]
ACCEPTED_EVERYWHERE = {
    ".": (),
    "./": (),
    "a": ("a",),
    "a/b.txt": ("a", "b.txt"),
    "./a//b/": ("a", "b"),
    "a/../b": ("b",),
    "a/./b": ("a", "b"),
    "..a": ("..a",),
    ".git": (".git",),
    "größe/漢字.txt": ("größe", "漢字.txt"),
    "with space/x y": ("with space", "x y"),
    "console": ("console",),
    "com10": ("com10",),
    "nullable.txt": ("nullable.txt",),
}


@pytest.mark.parametrize("windows", [True, False])
@pytest.mark.parametrize("spelling", REFUSED_EVERYWHERE)
def test_e52_shapes_refused_on_every_platform(spelling, windows):
    with pytest.raises(OutsideWorkspace) as caught:
        parts_of(spelling, windows=windows)
    assert caught.value.do


@pytest.mark.parametrize("spelling", REFUSED_ON_WINDOWS)
def test_p34_shapes_refused_by_the_rules_of_windows(spelling):
    with pytest.raises(OutsideWorkspace):
        parts_of(spelling, windows=True)


@pytest.mark.parametrize("windows", [True, False])
@pytest.mark.parametrize(("spelling", "parts"), ACCEPTED_EVERYWHERE.items())
def test_plain_relative_paths_are_split(spelling, parts, windows):
    assert parts_of(spelling, windows=windows) == parts


def test_backslash_separates_on_windows_only():
    assert parts_of("tools\\fix.py", windows=True) == ("tools", "fix.py")
    with pytest.raises(OutsideWorkspace, match="backslash"):
        parts_of("tools\\fix.py", windows=False)


def test_names_that_windows_reserves_are_files_elsewhere():
    assert parts_of("src/aux.c", windows=False) == ("src", "aux.c")
    assert parts_of("log 10:00", windows=False) == ("log 10:00",)


def test_patterns_may_hold_wildcards_but_no_dots_that_climb():
    assert parts_of("reports/**/*.xml", windows=True, pattern=True) == ("reports", "**", "*.xml")
    for spelling in ("a/../b", "../*", "/*", "C:*"):
        with pytest.raises(OutsideWorkspace):
            parts_of(spelling, windows=True, pattern=True)


@given(st.text(st.sampled_from("ab./\\:.. ~NUL*C\0"), max_size=14))
def test_p34_whatever_the_text_accepted_parts_stay_inside_by_windows_own_rules(text):
    try:
        parts = parts_of(text, windows=True)
    except OutsideWorkspace:
        return
    joined = PureWindowsPath("W:\\root", *parts)
    assert joined.parts == ("W:\\", "root", *parts)
    assert not any(name in ("..", ".") or ":" in name or name != name.rstrip(". ") for name in parts)


@given(st.text(st.sampled_from("ab./\\: .\0"), max_size=14))
def test_whatever_the_text_accepted_parts_stay_inside_on_posix(text):
    try:
        parts = parts_of(text, windows=False)
    except OutsideWorkspace:
        return
    assert PurePosixPath(posixpath.normpath("/".join(("/root", *parts)))).is_relative_to("/root")
    assert all(name and "/" not in name and name not in (".", "..") for name in parts)


@pytest.fixture
def root(workspace: Path) -> Root:
    (workspace / "tools").mkdir()
    (workspace / "tools" / "fix.py").write_bytes(b"print(1)\n")
    return find_root(workspace)


def read(root: Root, relative: str) -> bytes:
    with open_inside(root, relative) as handle:
        return handle.read()


def test_a_file_inside_is_resolved_and_read(root):
    contained = resolve_inside(root, "./tools/../tools/fix.py")
    assert contained.relative == "tools/fix.py"
    assert contained.real == root.real / "tools" / "fix.py"
    assert read(root, "tools/fix.py") == b"print(1)\n"
    assert resolve_inside(root, ".").relative == "."


def test_what_is_missing_is_told_apart_from_what_is_outside(root):
    with pytest.raises(NotFound):
        resolve_inside(root, "tools/none.py")
    made = resolve_inside(root, "reports/deep/tests.xml", must_exist=False)
    assert made.relative == "reports/deep/tests.xml"


@posix_only
def test_links_that_stay_inside_are_followed(root):
    (root.real / "alias").symlink_to("tools")
    (root.real / "one.py").symlink_to("alias/fix.py")
    assert resolve_inside(root, "one.py").relative == "tools/fix.py"
    assert read(root, "alias/fix.py") == b"print(1)\n"


@posix_only
@pytest.mark.parametrize("must_exist", [True, False])
def test_e52_links_that_lead_out_are_refused(root, tmp_path, must_exist):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("s", encoding="utf-8")
    (root.real / "folder").symlink_to(outside)
    (root.real / "file").symlink_to(outside / "secret")
    (root.real / "absolute").symlink_to("/etc")
    (root.real / "chain").symlink_to("folder")
    (root.real / "up").symlink_to("..")
    for path in ("folder", "folder/secret", "file", "absolute/passwd", "chain/secret", "up/outside/secret"):
        with pytest.raises(OutsideWorkspace):
            resolve_inside(root, path, must_exist=must_exist)
        with pytest.raises(OutsideWorkspace):
            open_inside(root, path)


@posix_only
def test_a_link_to_nowhere_is_no_place_to_write(root, tmp_path):
    (root.real / "report.xml").symlink_to(tmp_path / "not made yet")
    with pytest.raises(NotFound):
        resolve_inside(root, "report.xml", must_exist=False)


@posix_only
def test_circles_and_closed_folders_are_refused_with_words(root):
    (root.real / "a").symlink_to("b")
    (root.real / "b").symlink_to("a")
    with pytest.raises(OutsideWorkspace, match="cannot be followed"):
        resolve_inside(root, "a/x")


@posix_only
def test_a_sibling_with_the_same_beginning_is_outside(root, workspace):
    sibling = workspace.with_name(workspace.name + "-2")
    sibling.mkdir()
    (root.real / "next").symlink_to(sibling)
    with pytest.raises(OutsideWorkspace):
        resolve_inside(root, "next")
    assert not contains(root, sibling)
    assert contains(root, workspace / "tools")


def test_a_root_that_was_replaced_is_noticed(root, workspace):
    workspace.rename(workspace.with_name("moved"))
    with pytest.raises(OutsideWorkspace, match="no longer be reached"):
        check_root(root)
    workspace.mkdir()
    (workspace / "tools").mkdir()
    with pytest.raises(OutsideWorkspace, match="no longer the folder it was"):
        resolve_inside(root, "tools")


@posix_only
def test_a_root_that_became_a_link_is_noticed_even_to_itself_moved(root, workspace):
    moved = workspace.with_name("moved")
    workspace.rename(moved)
    workspace.symlink_to(moved)
    with pytest.raises(OutsideWorkspace, match="no longer the folder it was"):
        check_root(root)


@posix_only
def test_a_root_given_as_a_link_is_bound_to_where_it_led(workspace, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(workspace)
    root = find_root(link)
    assert (root.path, root.real) == (link, workspace.resolve())
    other = tmp_path / "other"
    other.mkdir()
    link.unlink()
    link.symlink_to(other)
    with pytest.raises(OutsideWorkspace):
        check_root(root)


@pytest.mark.parametrize("path", ["relative", "", "a\0b"])
def test_a_root_must_be_a_whole_path(path):
    with pytest.raises(InvalidWorkOrder):
        find_root(path)


def test_a_root_must_be_a_folder(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    for name in ("file", "none", "file/below"):
        with pytest.raises(InvalidWorkOrder):
            find_root(tmp_path / name)


@posix_only
def test_what_is_no_regular_file_is_never_waited_for(root):
    os.mkfifo(root.real / "pipe")
    with socket.socket(socket.AF_UNIX) as server, suppress(OSError):  # a path may be too long for a socket
        server.bind(str(root.real / "socket"))
        with pytest.raises(OSError, match=r"."):
            open_inside(root, "socket")
    with pytest.raises(OSError, match="not a regular file"):
        open_inside(root, "pipe")
    with pytest.raises(OSError, match="folder"):
        open_inside(root, ".")
    with pytest.raises(OSError, match=r"."):
        open_inside(root, "tools")


@posix_only
def test_held_folders_follow_no_link(root):
    (root.real / "alias").symlink_to("tools")
    (root.real / "one.py").symlink_to("tools/fix.py")
    with Folder(root.real) as folder:
        with pytest.raises(IsLink):
            folder.folder("alias")
        with pytest.raises(IsLink):
            folder.file("one.py")
        with pytest.raises(NotADirectoryError), folder.folder("tools") as tools:
            tools.folder("fix.py")
    with pytest.raises(IsLink):
        Folder(root.real / "alias")


@posix_only
@pytest.mark.parametrize("what", ["file", "folder"])
def test_p35_a_link_flipped_by_another_thread_never_lets_an_outside_byte_through(root, tmp_path, what):
    inside, outside = root.real / "data", tmp_path / "outside"
    for folder, content in ((inside, b"inside"), (outside, b"OUTSIDE")):
        folder.mkdir()
        (folder / "file").write_bytes(content)
    target = inside if what == "folder" else inside / "file"
    source = outside if what == "folder" else outside / "file"
    link, kept = root.real / "link", root.real / "kept"
    link.symlink_to(source)
    stop = threading.Event()

    def flip() -> None:
        while not stop.is_set():
            target.rename(kept)
            link.rename(target)
            target.rename(link)
            kept.rename(target)

    thread = threading.Thread(target=flip)
    thread.start()
    seen: set[bytes] = set()
    good = refused = 0
    try:
        while good < 1_000 or not refused:
            try:
                seen.add(read(root, "data/file"))
                good += 1
            except (OutsideWorkspace, NotFound):
                refused += 1
    finally:
        stop.set()
        thread.join()
    assert seen == {b"inside"}


@posix_only
def test_p35_the_open_folder_is_the_one_that_was_checked(root, tmp_path, monkeypatch):
    """The swap happens exactly between the check and the open."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "fix.py").write_bytes(b"OUTSIDE")
    import engine.workspace.containment as containment

    real_resolve = containment.resolve_inside

    def resolve_then_swap(*arguments, **options):
        contained = real_resolve(*arguments, **options)
        (root.real / "tools").rename(root.real / "gone")
        (root.real / "tools").symlink_to(outside)
        return contained

    monkeypatch.setattr(containment, "resolve_inside", resolve_then_swap)
    with pytest.raises(OutsideWorkspace, match="changed while it was being opened"):
        open_inside(root, "tools/fix.py")


@posix_only
def test_p35_a_root_swapped_between_check_and_open_is_noticed(root, workspace, monkeypatch):
    import engine.workspace.containment as containment

    real_resolve = containment.resolve_inside

    def resolve_then_swap(*arguments, **options):
        contained = real_resolve(*arguments, **options)
        workspace.rename(workspace.with_name("gone"))
        (workspace / "tools").mkdir(parents=True)
        (workspace / "tools" / "fix.py").write_bytes(b"OTHER")
        return contained

    monkeypatch.setattr(containment, "resolve_inside", resolve_then_swap)
    with pytest.raises(OutsideWorkspace):
        open_inside(root, "tools/fix.py")


def test_folders_inside_are_opened_by_handle(root):
    with open_folder_inside(root, "tools") as folder:
        assert folder.names() == ["fix.py"]
        assert folder.look("fix.py").st_size == 9
    folder.close()
    with pytest.raises(NotADirectoryError):
        open_folder_inside(root, "tools/fix.py")


# ---------------------------------------------------------------------------------------------- Windows alone


@windows_only
def test_p35_a_folder_held_on_windows_cannot_be_replaced(root):
    with Folder(root.real / "tools"):
        with pytest.raises(PermissionError):
            (root.real / "tools").rename(root.real / "gone")
        assert read(root, "tools/fix.py") == b"print(1)\n"
    (root.real / "tools").rename(root.real / "gone")


@windows_only
def test_p34_letter_case_does_not_matter_on_windows(root):
    assert resolve_inside(root, "TOOLS\\Fix.PY").relative == "tools/fix.py"


@windows_only
def test_p34_junctions_that_lead_out_are_refused_and_never_held(root, tmp_path):
    import _winapi

    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"s")
    try:
        _winapi.CreateJunction(str(outside), str(root.real / "junction"))
    except OSError:
        pytest.skip("this system makes no junctions")
    for path in ("junction", "junction\\secret"):
        with pytest.raises(OutsideWorkspace):
            resolve_inside(root, path)
    with pytest.raises(IsLink):
        Folder(root.real / "junction")
    with Folder(root.real) as folder, pytest.raises(IsLink):
        folder.folder("junction")
