import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import engine.workspace.repository as repository
from engine.errors import InvalidWorkOrder
from engine.workspace.containment import find_root
from engine.workspace.digests import KnownContents
from engine.workspace.folders import Folder
from engine.workspace.manifest import ManifestBounds
from engine.workspace.repository import (
    AS_LEFT_BY_APPROVED_STEP,
    StateKind,
    find_git,
    state_from_json,
    workspace_state,
)

GIT = find_git(os.environ)
posix_only = pytest.mark.skipif(os.name == "nt", reason="needs links and permissions of POSIX")
pytestmark = pytest.mark.skipif(GIT is None, reason="git is not installed")
LONG_AFTER = 4_000_000_000_000


class Repo:
    """A repository of a test, and git as a person would use it in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)

    def git(self, *arguments: str, **options) -> str:
        settings = ("user.name=t", "user.email=t@example.org", "protocol.file.allow=always", "gc.auto=0")
        done = subprocess.run(
            [str(GIT), *(part for text in settings for part in ("-c", text)), *arguments],
            cwd=self.path,
            check=True,
            capture_output=True,
            text=True,
            **options,
        )
        return done.stdout.strip()

    def write(self, name: str, content: bytes = b"x\n") -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def commit(self) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "m")
        return self.git("rev-parse", "HEAD")

    def state(self, folder: str = ".", **options):
        return workspace_state(find_root(self.path / folder), GIT, os.environ, **options)


@pytest.fixture
def repo(workspace: Path) -> Repo:
    repo = Repo(workspace)
    repo.git("init", "--quiet", "--initial-branch=main")
    repo.write("a.txt", b"alpha\n")
    repo.write("src/b.py", b"print(1)\n")
    repo.write(".gitignore", b"*.log\n/build/\n")
    repo.commit()
    return repo


def test_a_clean_repository_is_its_commit(repo):
    state = repo.state()
    assert (state.kind, state.branch, state.changed, state.note) == (StateKind.GIT, "main", 0, "")
    assert state.head == repo.git("rev-parse", "HEAD")
    assert repo.state() == state


def test_e40_every_kind_of_uncommitted_change_shows(repo):
    states = [repo.state()]

    def changed_to(count):
        states.append(repo.state())
        assert states[-1].changed == count
        assert states[-1].digest not in [state.digest for state in states[:-1]]

    repo.write("a.txt", b"ALPHA\n")
    changed_to(1)
    repo.write("a.txt", b"alphb\n")
    changed_to(1)
    repo.write("new.txt")
    changed_to(2)
    repo.write("new.txt", b"y\n")
    changed_to(2)
    (repo.path / "src" / "b.py").unlink()
    changed_to(3)
    repo.git("add", "new.txt")
    changed_to(3)
    repo.git("rm", "--cached", "--quiet", "src/b.py")
    changed_to(3)


def test_changing_back_gives_the_same_state(repo):
    before = repo.state()
    repo.write("a.txt", b"ALPHA\n")
    assert repo.state() != before
    repo.write("a.txt", b"alpha\n")
    assert repo.state() == before


def test_a_change_staged_and_undone_on_disk_is_still_a_change(repo):
    repo.write("a.txt", b"ALPHA\n")
    repo.git("add", "a.txt")
    repo.write("a.txt", b"alpha\n")
    assert repo.state().changed == 1


def test_ignored_files_do_not_count(repo):
    before = repo.state()
    repo.write("noise.log")
    repo.write("build/out.bin")
    assert repo.state() == before


def test_a_new_commit_and_a_new_branch_show(repo):
    before = repo.state()
    head = repo.commit()
    assert repo.state().head == head != before.head
    repo.git("switch", "--quiet", "--create", "topic/x")
    assert repo.state().branch == "topic/x"
    repo.git("switch", "--quiet", "--detach")
    assert repo.state().branch == ""


def test_a_repository_before_its_first_commit(tmp_path):
    repo = Repo(tmp_path / "new")
    repo.git("init", "--quiet", "--initial-branch=main")
    repo.write("a.txt")
    state = repo.state()
    assert (state.kind, state.head, state.branch, state.changed) == (StateKind.GIT, "", "main", 1)


@posix_only
def test_a_change_of_the_executable_bit_shows(repo):
    before = repo.state()
    (repo.path / "a.txt").chmod(0o755)
    assert (repo.state().changed, before.changed) == (1, 0)
    assert repo.state().digest != before.digest


@posix_only
def test_links_are_compared_by_their_target(repo):
    (repo.path / "link").symlink_to("a.txt")
    repo.commit()
    assert repo.state().changed == 0
    (repo.path / "link").unlink()
    (repo.path / "link").symlink_to("src")
    assert repo.state().changed == 1
    (repo.path / "link").unlink()
    repo.write("link", b"a.txt")
    assert repo.state().changed == 1


@posix_only
def test_a_tracked_folder_replaced_by_a_link_is_not_read_through(repo, tmp_path):
    outside = tmp_path / "outside"
    shutil.copytree(repo.path / "src", outside)
    shutil.rmtree(repo.path / "src")
    (repo.path / "src").symlink_to(outside)
    assert repo.state().changed == 2  # the tracked file is gone, and the link is untracked


def test_a_subfolder_counts_only_what_lies_below_it(repo):
    before = repo.state("src")
    repo.write("a.txt", b"ALPHA\n")
    assert repo.state("src") == before
    repo.write("src/c.py")
    assert repo.state("src").changed == 1


def test_a_folder_that_the_repository_around_it_ignores_is_taken_by_its_files(repo):
    repo.write("build/out.bin")
    state = repo.state("build")
    assert (state.kind, state.files) == (StateKind.FILES, 1)
    assert state.note == "the repository around it ignores this folder"
    repo.write("build/out.bin", b"changed")
    assert repo.state("build").digest != state.digest


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_flags_that_blind_git_status_do_not_blind_us(repo, flag):
    repo.git("update-index", flag, "a.txt")
    assert repo.state().changed == 0
    repo.write("a.txt", b"ALPHA\n")
    assert repo.git("status", "--porcelain") == ""
    assert repo.state().changed == 1


def test_files_left_out_by_a_sparse_checkout_are_not_missing(repo):
    repo.git("sparse-checkout", "set", "--no-cone", "/*", "!/src")
    assert not (repo.path / "src" / "b.py").exists()
    assert repo.state().changed == 0


def test_line_ends_converted_at_checkout_are_no_change(repo):
    repo.write("a.txt", b"alpha\r\n")
    repo.git("config", "core.autocrlf", "true")
    state = repo.state()
    assert state.changed == 0
    repo.write("a.txt", b"alpha\r\nmore\r\n")
    assert repo.state().changed == 1


def test_a_file_that_lfs_keeps_elsewhere_is_no_change(repo):
    content = b"large\n" * 1000
    sha256 = repository.hashlib.sha256(content).hexdigest()
    repo.write(
        "big.bin", f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize 6000\n".encode()
    )
    repo.commit()
    repo.write("big.bin", content)
    assert repo.state().changed == 0
    repo.write("big.bin", content + b"!")
    assert repo.state().changed == 1


def test_a_conflict_shows(repo):
    repo.git("switch", "--quiet", "--create", "other")
    repo.write("a.txt", b"other\n")
    repo.commit()
    repo.git("switch", "--quiet", "main")
    repo.write("a.txt", b"main\n")
    repo.commit()
    with pytest.raises(subprocess.CalledProcessError):
        repo.git("merge", "other")
    before = repo.state()
    assert before.changed == 1
    repo.write("a.txt", b"resolved\n")
    assert repo.state().digest != before.digest


def test_a_repository_with_sha256_objects(tmp_path):
    repo = Repo(tmp_path / "new")
    repo.git("init", "--quiet", "--object-format=sha256")
    repo.write("a.txt")
    repo.commit()
    state = repo.state()
    assert (len(state.head), state.changed) == (64, 0)


@pytest.fixture
def parent(repo, tmp_path):
    """A repository with `repo` as its submodule."""
    parent = Repo(tmp_path / "parent")
    parent.git("init", "--quiet", "--initial-branch=main")
    parent.git("submodule", "--quiet", "add", str(repo.path), "vendored/sub")
    parent.commit()
    return parent


def test_a_clean_submodule_is_no_change(parent):
    assert parent.state().changed == 0


def test_changes_inside_a_submodule_show(parent):
    clean = parent.state()
    sub = Repo(parent.path / "vendored" / "sub")
    sub.write("a.txt", b"ALPHA\n")
    dirty = parent.state()
    assert (dirty.changed, dirty.head) == (1, clean.head)
    sub.write("a.txt", b"ALPHB\n")
    assert parent.state().digest != dirty.digest
    sub.commit()
    assert parent.state().changed == 1


def test_a_submodule_that_was_never_fetched_is_no_change(parent, tmp_path):
    clone = Repo(tmp_path / "clone")
    clone.git("clone", "--quiet", str(parent.path), ".")
    assert clone.state().changed == 0
    clone.write("vendored/sub/planted.py")
    assert clone.state().changed == 1


def test_a_repository_inside_that_is_not_tracked_is_looked_into(repo):
    inner = Repo(repo.path / "inner")
    inner.git("init", "--quiet")
    inner.write("x.txt")
    inner.commit()
    before = repo.state()
    assert before.changed == 1
    inner.write("x.txt", b"y\n")
    assert repo.state().digest != before.digest


def test_a_worktree_of_another_repository(repo, tmp_path):
    repo.git("worktree", "add", "--quiet", str(tmp_path / "tree"), "-b", "side")
    tree = Repo(tmp_path / "tree")
    assert (tree.state().branch, tree.state().changed) == ("side", 0)


# ------------------------------------------------------------------------------ what is no usable repository


def test_a_plain_folder_is_taken_by_its_files(tmp_path):
    plain = Repo(tmp_path / "plain")
    plain.write("a.txt")
    before = plain.state()
    assert (before.kind, before.files, before.note) == (StateKind.FILES, 1, "")
    plain.write("a.txt", b"y\n")
    assert plain.state().digest != before.digest
    plain.write("a.txt")
    assert plain.state() == before


def test_without_git_a_repository_is_taken_by_its_files(repo):
    state = workspace_state(find_root(repo.path), None, {})
    assert (state.kind, state.note) == (StateKind.FILES, "git is not installed")


def test_a_git_that_lies_in_the_workspace_is_never_run(repo, tmp_path):
    planted = repo.write("bin/git", b"#!/bin/sh\ntouch " + os.fsencode(tmp_path / "ran") + b"\n")
    planted.chmod(0o755)
    state = workspace_state(find_root(repo.path), planted, os.environ)
    assert state.note == "git is not installed"
    assert not (tmp_path / "ran").exists()


def test_p33_git_is_never_found_in_the_current_folder(tmp_path, monkeypatch):
    name = "git.exe" if os.name == "nt" else "git"
    (tmp_path / name).write_text("", encoding="utf-8")
    (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for value in ("", ".", os.pathsep, f".{os.pathsep}{os.curdir}"):
        assert find_git({"PATH": value}) is None
    assert find_git({"PATH": str(tmp_path)}) == tmp_path / name


def test_a_broken_repository_is_taken_by_its_files(repo):
    (repo.path / ".git" / "HEAD").write_text("nonsense", encoding="utf-8")
    state = repo.state()
    assert (state.kind, state.note) == (StateKind.FILES, "git cannot read the repository")


def test_a_damaged_index_is_told_and_not_an_error(repo):
    (repo.path / ".git" / "index").write_bytes(b"DIRC nonsense")
    assert repo.state().note == "git cannot read the repository"


def test_a_file_named_dot_git_that_leads_nowhere(tmp_path):
    plain = Repo(tmp_path / "plain")
    plain.write(".git", b"gitdir: /nowhere/at/all\n")
    assert plain.state().note == "git cannot read the repository"


def test_a_bare_repository_is_taken_by_its_files(tmp_path):
    bare = Repo(tmp_path / "bare.git")
    bare.git("init", "--quiet", "--bare")
    assert (bare.state().kind, bare.state().note) == (StateKind.FILES, "")


def test_a_repository_of_another_user_is_told(repo, monkeypatch):
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    real = repository._Git.run
    monkeypatch.setattr(
        repository._Git,
        "run",
        lambda git, *arguments: (
            git._child.update(GIT_TEST_ASSUME_DIFFERENT_OWNER="1") or real(git, *arguments)
        ),
    )
    assert repo.state().note == "git refuses the repository: another user owns it"


@posix_only
def test_a_git_that_does_not_answer_is_an_error_with_words(repo, tmp_path, monkeypatch):
    slow = tmp_path / "git"
    slow.write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    slow.chmod(0o755)
    monkeypatch.setattr(repository, "GIT_TIMEOUT_SECONDS", 0.2)
    with pytest.raises(InvalidWorkOrder, match="did not answer"):
        workspace_state(find_root(repo.path), slow, os.environ)


def test_a_folder_that_goes_away_meanwhile_is_an_error_with_words(repo, monkeypatch):
    root = find_root(repo.path)

    def gone(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(repository, "_git_state", gone)
    with pytest.raises(InvalidWorkOrder, match="cannot be looked at: Permission denied"):
        workspace_state(root, GIT, os.environ)


def test_a_git_that_cannot_be_started_is_told(repo, tmp_path):
    broken = tmp_path / "git"
    broken.write_bytes(b"")
    assert workspace_state(find_root(repo.path), broken, os.environ).note == "git cannot be started"


# ----------------------------------------------------------------------------------- nothing of theirs runs


@pytest.fixture
def trap(tmp_path):
    """A program that leaves a mark when it runs, as a command line for git's settings."""
    mark = tmp_path / "the trap ran"
    script = tmp_path / "trap.py"
    script.write_text(f"open({str(mark)!r}, 'w').close()\nprint('x')\n", encoding="utf-8")
    return f'"{sys.executable}" "{script}"', mark


@posix_only
def test_no_program_named_in_the_repositorys_settings_runs(repo, trap):
    command, mark = trap
    repo.write(".gitattributes", b"*.txt filter=trap diff=trap\n")
    repo.commit()
    for setting in (
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.gitProxy",
        "core.askPass",
        "credential.helper",
        "diff.external",
        "diff.trap.command",
        "diff.trap.textconv",
        "filter.trap.clean",
        "filter.trap.smudge",
        "filter.trap.process",
    ):
        repo.git("config", setting, command)
    repo.git("config", "filter.trap.required", "true")
    hooks = repo.path / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-index-change", "fsmonitor-watchman", "query-watchman", "post-checkout", "pre-commit"):
        (hooks / hook).write_text(f"#!/bin/sh\n{command}\n", encoding="utf-8")
        (hooks / hook).chmod(0o755)
    repo.write("a.txt", b"ALPHA\n")
    assert not mark.exists()
    assert repo.state().changed == 1
    assert not mark.exists()
    subprocess.run([str(GIT), "status"], cwd=repo.path, capture_output=True, check=False)
    assert mark.exists(), "the trap must be one into which git itself steps"


@posix_only
def test_objects_that_are_not_there_are_never_fetched(repo, trap):
    command, mark = trap
    repo.git("config", "remote.origin.url", f"ext::{command}")
    repo.git("config", "remote.origin.promisor", "true")
    repo.git("config", "remote.origin.partialclonefilter", "tree:0")
    repo.git("config", "extensions.partialClone", "origin")
    repo.git("config", "protocol.ext.allow", "always")
    tree = repo.git("rev-parse", "HEAD^{tree}")
    (repo.path / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    assert repo.state().note == "git cannot read the repository"
    assert not mark.exists()


def test_nothing_is_written_into_the_repository(repo):
    repo.write("a.txt", b"alpha\n")  # new times, so that git would like to refresh its index
    before = {path: path.stat().st_mtime_ns for path in (repo.path / ".git").rglob("*")}
    repo.state()
    assert {path: path.stat().st_mtime_ns for path in (repo.path / ".git").rglob("*")} == before


def test_gits_own_variables_of_the_console_lead_nowhere_else(repo, tmp_path, monkeypatch):
    other = Repo(tmp_path / "other")
    other.git("init", "--quiet")
    expected = repo.state()
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "none"))
    assert repo.state() == expected


def test_settings_that_move_the_work_tree_elsewhere_are_not_believed(repo, tmp_path):
    repo.git("config", "core.worktree", str(tmp_path))
    repo.write("a.txt", b"ALPHA\n")
    state = repo.state()
    assert state.kind is StateKind.GIT or state.kind is StateKind.FILES
    repo.write("a.txt", b"ALPHB\n")
    assert repo.state().digest != state.digest


# --------------------------------------------------------------------------------------------- how much is read


def test_unchanged_files_are_not_read_again(repo, monkeypatch):
    known = KnownContents()
    first = repo.state(now=LONG_AFTER, known=known)
    opened = []
    real = Folder.file
    monkeypatch.setattr(Folder, "file", lambda folder, name: opened.append(name) or real(folder, name))
    assert repo.state(now=LONG_AFTER, known=known) == first
    assert opened == []
    repo.write("a.txt", b"ALPHA!\n")
    assert repo.state(now=LONG_AFTER, known=known).changed == 1
    assert opened == ["a.txt"]


def test_a_look_without_a_time_remembers_nothing(repo, monkeypatch):
    known = KnownContents()
    repo.state(known=known)
    opened = []
    real = Folder.file
    monkeypatch.setattr(Folder, "file", lambda folder, name: opened.append(name) or real(folder, name))
    repo.state(known=known)
    assert sorted(opened) == [".gitignore", "a.txt", "b.py"]


def test_files_beyond_the_bounds_are_judged_by_size_and_time_and_counted(repo):
    state = repo.state(bounds=ManifestBounds(files=1))
    assert (state.unread, state.changed) == (2, 0)
    os.utime(repo.path / "src" / "b.py", ns=(1, 1))
    assert repo.state(bounds=ManifestBounds(files=1)).digest != state.digest


def test_states_survive_json(repo):
    for state in (repo.state(), AS_LEFT_BY_APPROVED_STEP):
        assert state_from_json(state.to_json()) == state
