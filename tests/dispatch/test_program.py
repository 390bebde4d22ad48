import os
import sys
from pathlib import Path

import pytest

from engine.dispatch.program import is_batch_file, resolve_program
from engine.errors import InvalidWorkOrder
from engine.workspace.containment import Root, find_root
from engine.workspace.digests import file_digest
from engine.workspace.executables import search_path

windows_only = pytest.mark.skipif(os.name != "nt", reason="starts programs of Windows")
posix_only = pytest.mark.skipif(os.name == "nt", reason="makes POSIX programs")


def make_program(path: Path, content: bytes = b"#!/bin/sh\n", mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
    return path


@pytest.fixture
def root(workspace) -> Root:
    return find_root(workspace)


def resolve(name, root, folder=".", path="", **options):
    return resolve_program(name, root, folder, {"PATH": str(path)}, **options)


@posix_only
def test_a_bare_name_is_searched_in_the_childs_path_in_order(root, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    tool = make_program(second / "tool")
    program = resolve("tool", root, path=f"{first}:{second}:{tmp_path / 'third'}")
    assert program.path == str(tool)
    assert program.searched == (str(first), str(second))
    assert program.sha256 == file_digest(tool).sha256
    assert program.size == 10
    earlier = make_program(first / "tool", b"#!/bin/sh\nexit 1\n")
    assert resolve("tool", root, path=f"{first}:{second}").path == str(earlier)


@posix_only
@pytest.mark.parametrize("path", ["", ".", "::", "bin", ".:bin:"])
def test_p33_the_current_folder_is_never_searched(root, workspace, monkeypatch, path):
    make_program(workspace / "tool")
    make_program(workspace / "bin" / "tool")
    monkeypatch.chdir(workspace)
    with pytest.raises(InvalidWorkOrder, match="no program tool on PATH"):
        resolve("tool", root, path=path)


@posix_only
def test_the_path_of_the_child_counts_not_that_of_the_console(root, tmp_path, monkeypatch):
    make_program(tmp_path / "bin" / "tool")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(InvalidWorkOrder):
        resolve("tool", root)


@posix_only
def test_the_links_of_a_virtual_environment_are_kept_for_the_start(root, tmp_path):
    real = make_program(tmp_path / "python3.11")
    link = tmp_path / "venv" / "bin" / "python"
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    program = resolve("python", root, path=link.parent)
    assert (program.path, program.real_path) == (str(link), str(real.resolve()))


@posix_only
def test_a_relative_program_is_taken_from_the_folder_of_the_command(root, workspace, monkeypatch, tmp_path):
    tool = make_program(workspace / "tools" / "run")
    monkeypatch.chdir(tmp_path)
    assert resolve("./run", root, "tools").path == str(tool)
    assert resolve("tools/run", root).path == str(tool)
    assert resolve("../tools/run", root, "tools").path == str(tool)
    with pytest.raises(InvalidWorkOrder, match="does not exist"):
        resolve("./run", root)
    with pytest.raises(InvalidWorkOrder, match="does not stay inside"):
        resolve("../../run", root, "tools")


@posix_only
def test_a_virtual_environment_inside_the_workspace_may_link_out_of_it(root, workspace, tmp_path):
    real = make_program(tmp_path / "python3")
    (workspace / ".venv" / "bin").mkdir(parents=True)
    (workspace / ".venv" / "bin" / "python").symlink_to(real)
    program = resolve(".venv/bin/python", root)
    assert program.path == str(root.real / ".venv/bin/python")
    assert program.real_path == str(real.resolve())


@posix_only
def test_whole_paths_are_taken_as_they_are(root, tmp_path):
    tool = make_program(tmp_path / "tool")
    assert resolve(str(tool), root).searched == ()
    assert resolve(sys.executable, root).path == sys.executable


@posix_only
def test_what_cannot_run_says_what_to_do(root, tmp_path):
    make_program(tmp_path / "bin" / "text", mode=0o644)
    (tmp_path / "bin" / "folder").mkdir()
    (tmp_path / "broken").symlink_to("nowhere")
    for name, what in (
        ("text", "may not be executed"),
        (str(tmp_path / "bin" / "text"), "may not be executed"),
        (str(tmp_path / "bin"), "is a folder"),
        ("folder", "no program folder on PATH"),
        (str(tmp_path / "none"), "does not exist"),
        (str(tmp_path / "broken"), "does not exist"),
        ("", "is empty"),
        ("a\0b", "is empty"),
        (".", "is a folder"),
        ("..", "is a folder"),
    ):
        with pytest.raises(InvalidWorkOrder, match=what) as caught:
            resolve(name, root, path=tmp_path / "bin")
        assert caught.value.do
        assert caught.value.facts["field"] == "argv"


@posix_only
def test_a_file_that_may_not_be_executed_is_passed_over_for_a_later_one(root, tmp_path):
    make_program(tmp_path / "a" / "tool", mode=0o644)
    later = make_program(tmp_path / "b" / "tool")
    assert resolve("tool", root, path=f"{tmp_path / 'a'}:{tmp_path / 'b'}").path == str(later)


@pytest.mark.parametrize(
    "name", ["x.bat", "x.BAT.", "x.cmd ", "C:\\a b\\x.Cmd", "x.bat. . ", "x.bat::$DATA", "dir/x.CMD"]
)
def test_p32_batch_files_are_known_under_any_spelling(name):
    assert is_batch_file(name)


@pytest.mark.parametrize("name", ["x.exe", "bat", "x.bat.exe", "cmd", "x.bats", "x.bat/y"])
def test_other_files_are_no_batch_files(name):
    assert not is_batch_file(name)


@posix_only
def test_p32_on_windows_batch_files_are_refused_and_the_interpreter_asked_for(root, tmp_path):
    for name in ("npm.cmd", "build.BAT"):
        make_program(tmp_path / "bin" / name)
    for name in ("npm", "npm.cmd", "build.BAT", str(tmp_path / "bin" / "npm.cmd")):
        if name == str(tmp_path / "bin" / "npm.cmd"):
            continue  # no whole path by the rules of Windows
        with pytest.raises(InvalidWorkOrder, match="batch file") as caught:
            resolve_program(
                name, root, ".", {"Path": str(tmp_path / "bin"), "PathExt": ".exe;.cmd;.BAT"}, windows=True
            )
        assert "interpreter" in caught.value.do


@posix_only
def test_p32_a_batch_file_behind_a_link_with_another_name_is_refused(root, workspace):
    make_program(workspace / "x.bat")
    (workspace / "x.exe").symlink_to("x.bat")
    with pytest.raises(InvalidWorkOrder, match="batch file"):
        resolve_program("./x.exe", root, ".", {}, windows=True)


@posix_only
def test_on_windows_endings_are_tried_in_the_order_of_pathext(root, tmp_path):
    for name in ("tool.com", "tool.exe", "script.py", "plain"):
        make_program(tmp_path / "bin" / name, mode=0o644)
    environment = {"PATH": str(tmp_path / "bin"), "PATHEXT": ".exe;.com;.py"}

    def find(name):
        return Path(resolve_program(name, root, ".", environment, windows=True).path).name

    assert find("tool") == "tool.exe"
    assert find("tool.com") == "tool.com"
    with pytest.raises(InvalidWorkOrder, match="not a program that Windows can start"):
        find("script")
    with pytest.raises(InvalidWorkOrder, match="no program plain"):
        find("plain")


@posix_only
@pytest.mark.parametrize("name", ["C:tool.exe", "..\\tool.exe", "\\tool.exe", "tool.exe:stream"])
def test_p34_on_windows_paths_that_depend_on_a_drive_are_refused(root, name):
    with pytest.raises(InvalidWorkOrder, match="does not stay inside"):
        resolve_program(name, root, ".", {}, windows=True)


@posix_only
def test_a_search_tells_where_it_looked(tmp_path):
    search = search_path("none", f"{tmp_path}:{tmp_path}:relative:{tmp_path / 'b'}")
    assert (search.found, search.folders) == (None, (str(tmp_path), str(tmp_path / "b")))


@windows_only
def test_a_bare_name_is_found_with_its_ending(root):
    folder = Path(sys.executable).parent
    program = resolve("python", root, path=folder)
    assert Path(program.path) == folder / "python.exe"
    assert program.sha256 == file_digest(sys.executable).sha256


@windows_only
def test_batch_files_and_drive_paths_are_refused(root, workspace):
    make_program(workspace / "build.bat", b"@echo off\r\n")
    for name, path in (
        ("build", workspace),
        ("build.bat", workspace),
        (".\\build.bat", ""),
        ("./build.bat", ""),
    ):
        with pytest.raises(InvalidWorkOrder, match="batch file"):
            resolve(name, root, path=path)
    for name in ("C:python.exe", "\\python.exe", "..\\python.exe"):
        with pytest.raises(InvalidWorkOrder, match="does not stay inside"):
            resolve(name, root)


@windows_only
def test_the_workspace_is_not_searched_on_windows(root, workspace, monkeypatch):
    make_program(workspace / "tool.exe", b"MZ")
    monkeypatch.chdir(workspace)
    for path in ("", ".", ";"):
        with pytest.raises(InvalidWorkOrder, match="no program tool on PATH"):
            resolve("tool", root, path=path)
    assert Path(resolve(".\\tool.exe", root).path) == root.real / "tool.exe"
