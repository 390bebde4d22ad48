import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from engine.canonical import canonical_json
from engine.dispatch.differences import differences
from engine.dispatch.inputs import InputKind
from engine.dispatch.plan import make_plan, plan_from_json, seal_of
from engine.errors import InvalidWorkOrder, OutsideWorkspace
from engine.states import Purpose
from engine.work_order import CommandSpec, Secret
from engine.workspace.digests import file_digest
from engine.workspace.repository import AS_LEFT_BY_APPROVED_STEP, StateKind, find_git

posix_only = pytest.mark.skipif(os.name == "nt", reason="needs links of POSIX")
ENVIRONMENT = {**os.environ, "PRAXIS_TEST_SECRET": "correct horse"}


@pytest.fixture
def plan(workspace):
    """Make the plan of a command in `workspace`, which holds task.py and tools/check.py."""
    (workspace / "task.py").write_bytes(b"print('task')\n")
    (workspace / "tools").mkdir()
    (workspace / "tools" / "check.py").write_bytes(b"print('check')\n")

    def make(*argv, environment=None, state=None, key=b"key", criteria="it works", **fields):
        variables = MappingProxyType(environment or {})
        command = CommandSpec(argv or (sys.executable, "task.py"), environment=variables, **fields)
        return make_plan(
            Purpose.IMPLEMENT,
            command,
            criteria,
            str(workspace),
            base_environment=ENVIRONMENT,
            secret_key=key,
            state=state,
        )

    return make


def inputs(prepared):
    return [item.path for item in prepared.plan.inputs]


def changed(before, after):
    found = differences(before.plan, after.plan)
    assert bool(found) == (seal_of(before.plan) != seal_of(after.plan))
    return {difference.field for difference in found}


def test_e40_a_plan_holds_what_runs_and_its_limits(plan, workspace):
    prepared = plan(
        sys.executable,
        "check.py",
        "--all",
        folder="tools",
        environment={"MODE": "fast", "TOKEN": Secret("PRAXIS_TEST_SECRET")},
        artifacts=("out/*.json",),
        report="out/tests.xml",
        time_limit_ms=5_000,
        max_cost=30,
        output_limit_bytes=1_000,
    )
    found = prepared.plan
    assert found.argv == (sys.executable, "check.py", "--all")
    assert (found.folder, prepared.folder) == ("tools", workspace.resolve() / "tools")
    assert found.workspace.path == str(workspace.resolve())
    assert found.program.sha256 == file_digest(sys.executable).sha256
    assert [(item.path, item.kind, item.size) for item in found.inputs] == [
        ("tools/check.py", InputKind.FILE, 15)
    ]
    assert (found.limits.time_ms, found.limits.cost, found.limits.output_bytes) == (5_000, 30, 1_000)
    assert (found.artifacts, found.report, found.criteria) == (("out/*.json",), "out/tests.xml", "it works")
    assert found.state.kind is StateKind.FILES
    assert found.environment.own["MODE"] == "fast"
    assert prepared.environment.values["TOKEN"] == "correct horse"
    assert [item.path for item in prepared.files] == [
        sys.executable,
        str(workspace.resolve() / "tools" / "check.py"),
    ]


def test_a_plan_survives_json_and_its_seal_is_over_canonical_json(plan):
    prepared = plan(environment={"TOKEN": Secret("PRAXIS_TEST_SECRET")})
    again = plan_from_json(json.loads(canonical_json(prepared.plan.to_json())))
    assert again == prepared.plan
    assert seal_of(again) == seal_of(prepared.plan)
    assert len(seal_of(again)) == 64


def test_a_plan_of_an_unknown_version_is_refused(plan):
    with pytest.raises(InvalidWorkOrder, match="version 99"):
        plan_from_json({**plan().plan.to_json(), "version": 99})


def test_b023_the_same_command_has_the_same_seal_and_no_reason_is_in_it(plan):
    assert changed(plan(), plan()) == set()
    assert "reason" not in json.dumps(plan().plan.to_json())


def test_a_secret_never_stands_in_a_plan(plan):
    text = json.dumps(plan(environment={"TOKEN": Secret("PRAXIS_TEST_SECRET")}).plan.to_json())
    assert "correct horse" not in text
    assert "PRAXIS_TEST_SECRET" in text


def test_e40a_the_real_value_of_a_secret_is_sealed(plan, monkeypatch):
    before = plan(environment={"TOKEN": Secret("PRAXIS_TEST_SECRET")})
    monkeypatch.setitem(ENVIRONMENT, "PRAXIS_TEST_SECRET", "another horse")
    assert changed(before, plan(environment={"TOKEN": Secret("PRAXIS_TEST_SECRET")})) == {"environment TOKEN"}


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({"max_cost": 1}, {"maximum cost"}),
        ({"time_limit_ms": 1}, {"time limit in ms"}),
        ({"output_limit_bytes": 1}, {"output limit in bytes"}),
        ({"criteria": "other"}, {"criteria"}),
        ({"artifacts": ("*.txt",)}, {"artifacts"}),
        ({"report": "r.xml"}, {"report"}),
        ({"environment": {"A": "1"}}, {"environment A"}),
        ({"inputs": ("tools/check.py",)}, {"input tools/check.py"}),
    ],
)
def test_e40a_everything_that_runs_and_every_limit_is_sealed(plan, options, fields):
    assert changed(plan(), plan(**options)) == fields


def test_b022_arguments_are_kept_exactly(plan):
    odd = ("100% done", "%USERPROFILE%", "a & b", "^", "back\\", "", "🙂", 'quote"d', "new\nline", " ")
    argv = (sys.executable, "-c", "pass", *odd)
    assert plan(*argv).plan.argv == argv
    assert changed(plan(*argv), plan(*argv[:-1], "  ")) == {"argument 12"}


def test_b019_an_edited_script_changes_the_seal(plan, workspace):
    before = plan()
    (workspace / "task.py").write_text("print('TASK')\n", encoding="utf-8")
    assert changed(before, plan()) == {"input task.py", "content of the workspace"}


def test_a_script_replaced_by_a_link_to_equal_content_changes_nothing_that_runs(plan, workspace):
    before = plan(state=AS_LEFT_BY_APPROVED_STEP)
    (workspace / "task.py").rename(workspace / "moved.py")
    shutil.copyfile(workspace / "moved.py", workspace / "task.py")
    assert changed(before, plan(state=AS_LEFT_BY_APPROVED_STEP)) == set()


@posix_only
def test_a_program_that_was_replaced_changes_the_seal(plan, workspace):
    tool = workspace / "tool"
    for content in ("#!/bin/sh\n", "#!/bin/sh\nexit\n"):
        tool.write_text(content, encoding="utf-8")
        tool.chmod(0o755)
        if content == "#!/bin/sh\n":
            before = plan("./tool", state=AS_LEFT_BY_APPROVED_STEP)
    after = plan("./tool", state=AS_LEFT_BY_APPROVED_STEP)
    assert changed(before, after) == {"program sha256", "program size in bytes"}


@posix_only
def test_a_program_found_earlier_on_path_changes_the_seal(plan, workspace, tmp_path):
    path = {"PATH": f"{tmp_path / 'early'}:{tmp_path / 'late'}"}
    for folder in ("late", "early"):
        (tmp_path / folder).mkdir()
        if folder == "early":
            before = plan("tool", environment=path, state=AS_LEFT_BY_APPROVED_STEP)
        tool = tmp_path / folder / "tool"
        tool.write_text("#!/bin/sh\n", encoding="utf-8")
        tool.chmod(0o755)
    assert changed(before, plan("tool", environment=path, state=AS_LEFT_BY_APPROVED_STEP)) == {
        "program",
        "program behind links",
        "folders searched for the program",
    }


def test_e52_the_workspace_itself_is_sealed_by_identity(plan, workspace):
    before = plan(state=AS_LEFT_BY_APPROVED_STEP)
    workspace.rename(workspace.with_name("old"))
    shutil.copytree(workspace.with_name("old"), workspace, copy_function=shutil.copyfile)
    assert changed(before, plan(state=AS_LEFT_BY_APPROVED_STEP)) == {"identity of the workspace folder"}


def test_e42b_a_covered_validation_does_not_look_at_the_workspace_but_at_its_inputs(plan, workspace):
    before = plan(sys.executable, "tools/check.py", state=AS_LEFT_BY_APPROVED_STEP)
    assert before.plan.state.kind is StateKind.AS_LEFT_BY_APPROVED_STEP
    (workspace / "task.py").write_text("changed by the step\n", encoding="utf-8")
    assert changed(before, plan(sys.executable, "tools/check.py", state=AS_LEFT_BY_APPROVED_STEP)) == set()
    (workspace / "tools" / "check.py").write_text("also changed\n", encoding="utf-8")
    assert changed(before, plan(sys.executable, "tools/check.py", state=AS_LEFT_BY_APPROVED_STEP)) == {
        "input tools/check.py"
    }


@pytest.mark.skipif(find_git(os.environ) is None, reason="git is not installed")
def test_a_new_commit_is_told_as_such(plan, workspace):
    def git(*arguments):
        settings = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(["git", *settings, *arguments], cwd=workspace, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-q", "-m", "m")
    before = plan()
    assert before.plan.state.kind is StateKind.GIT
    git("commit", "-q", "--allow-empty", "-m", "m")
    assert changed(before, plan()) == {"repository head"}


# ------------------------------------------------------------------------------------------------------ inputs


@pytest.mark.parametrize(
    ("argv", "folder", "expected"),
    [
        (("tools/check.py",), ".", ["tools/check.py"]),
        (("-u", "check.py"), "tools", ["tools/check.py"]),
        (("../task.py",), "tools", ["task.py"]),
        (("-c", "pass"), ".", []),
        (("-m", "task"), ".", ["task.py"]),
        (("-m", "tools.check"), ".", ["tools/check.py"]),
        (("-m", "check"), "tools", ["tools/check.py"]),
        (("-Im", "task"), ".", []),
        (("-m", "unittest", "tools/check.py"), ".", []),
    ],
)
def test_e40a_the_script_of_an_interpreter_is_an_input_by_itself(plan, argv, folder, expected):
    assert inputs(plan(sys.executable, *argv, folder=folder)) == expected


def test_a_package_run_by_python_is_sealed_whole_without_what_python_writes(plan, workspace):
    package = workspace / "pkg" / "sub"
    package.mkdir(parents=True)
    for name in ("pkg/__init__.py", "pkg/sub/__main__.py", "pkg/sub/helper.py"):
        (workspace / name).write_text("", encoding="utf-8")
    before = plan(sys.executable, "-m", "pkg.sub", state=AS_LEFT_BY_APPROVED_STEP)
    assert inputs(before) == ["pkg/__init__.py", "pkg/sub"]
    assert before.plan.inputs[1].kind is InputKind.FOLDER
    assert [Path(item.path).name for item in before.files[1:]] == ["__init__.py", "__main__.py", "helper.py"]
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "helper.pyc").touch()
    assert changed(before, plan(sys.executable, "-m", "pkg.sub", state=AS_LEFT_BY_APPROVED_STEP)) == set()
    (package / "helper.py").write_text("x = 1\n", encoding="utf-8")
    assert changed(before, plan(sys.executable, "-m", "pkg.sub", state=AS_LEFT_BY_APPROVED_STEP)) == {
        "input pkg/sub"
    }


@pytest.mark.parametrize("planted", ["unittest.py", "unittest/__init__.py", "unittest.cpython-311.so"])
def test_a_module_planted_to_stand_before_pythons_own_changes_the_seal(plan, workspace, planted):
    before = plan(sys.executable, "-m", "unittest", state=AS_LEFT_BY_APPROVED_STEP)
    (workspace / planted).parent.mkdir(exist_ok=True)
    (workspace / planted).touch()
    assert changed(before, plan(sys.executable, "-m", "unittest", state=AS_LEFT_BY_APPROVED_STEP)) == {
        f"input {'unittest' if '/' in planted else planted}"
    }


def test_a_data_folder_that_bears_a_modules_name_is_no_input(plan, workspace):
    (workspace / "unittest").mkdir()
    (workspace / "unittest" / "data.json").touch()
    assert inputs(plan(sys.executable, "-m", "unittest")) == []


def test_python_told_not_to_look_in_its_folder_does_not_find_modules_there(plan):
    assert inputs(plan(sys.executable, "-m", "task", environment={"PYTHONSAFEPATH": "1"})) == []


def test_declared_inputs_may_be_folders(plan, workspace):
    before = plan(inputs=("tools", "tools/check.py"), state=AS_LEFT_BY_APPROVED_STEP)
    assert inputs(before) == ["task.py", "tools", "tools/check.py"]
    (workspace / "tools" / "new.py").touch()
    after = plan(inputs=("tools", "tools/check.py"), state=AS_LEFT_BY_APPROVED_STEP)
    assert changed(before, after) == {"input tools"}


def test_an_input_named_twice_counts_once(plan):
    assert inputs(plan(inputs=("task.py", "./task.py", "tools/../task.py"))) == ["task.py"]


@posix_only
def test_an_input_by_a_link_is_sealed_as_the_file_it_leads_to(plan, workspace):
    (workspace / "alias.py").symlink_to("task.py")
    assert inputs(plan(sys.executable, "alias.py")) == ["task.py"]


def test_a_script_outside_is_sealed_by_its_whole_path(plan, tmp_path):
    script = tmp_path / "outside.py"
    script.write_text("x", encoding="utf-8")
    before = plan(sys.executable, str(script))
    assert inputs(before) == [str(script)]
    assert inputs(plan(sys.executable, "../outside.py")) == [
        str(tmp_path / "workspace" / ".." / "outside.py")
    ]
    script.write_text("y", encoding="utf-8")
    assert changed(before, plan(sys.executable, str(script))) == {f"input {script}"}


@posix_only
def test_the_program_behind_env_is_an_input(plan):
    found = plan("env", "A=1", sys.executable, "task.py")
    assert inputs(found) == sorted([sys.executable, "task.py"])


@posix_only
def test_e40a_the_interpreters_that_the_system_starts_for_a_script_are_inputs(plan, workspace, tmp_path):
    """``#!/usr/bin/env tool``: env, what it finds on the PATH, and what that names in its own first line."""
    early, late = tmp_path / "early", tmp_path / "late"
    for folder in (early, late):
        folder.mkdir()
    shell = Path("/bin/sh").resolve()
    real = shutil.copy(shell, late / "real")
    shim = late / "tool"
    shim.write_text(f"#!{real}\nexec true\n")
    job = workspace / "job"
    job.write_text("#!/usr/bin/env tool\n")
    for file in (shim, job):
        file.chmod(0o755)
    path = {"PATH": f"{early}{os.pathsep}{late}"}
    before = plan("./job", environment=path)
    assert inputs(before) == sorted(["/usr/bin/env", str(shim), str(real)])
    assert {file.path for file in before.files} >= {"/usr/bin/env", str(shim), str(real)}, (
        "read again at the start"
    )
    with Path(real).open("ab") as file:
        file.write(b"more")
    assert f"input {real}" in changed(before, plan("./job", environment=path))
    shutil.copy(shell, early / "tool")
    found = changed(before, plan("./job", environment=path))
    assert {f"input {early / 'tool'}", f"input {shim}"} <= found, "another comes first on the PATH now"
    job.write_text("#!/nowhere/tool\n")
    with pytest.raises(InvalidWorkOrder, match="/nowhere/tool does not exist"):
        plan("./job", environment=path)


def test_what_is_not_there_cannot_be_sealed(plan, workspace):
    for options, what in (
        ({"inputs": ("none.txt",)}, "input none.txt is not in the workspace"),
        ({"folder": "none"}, "working folder none is not a folder"),
        ({"folder": "task.py"}, "working folder task.py is not a folder"),
    ):
        with pytest.raises(InvalidWorkOrder, match=what) as caught:
            plan(**options)
        assert caught.value.do
    with pytest.raises(InvalidWorkOrder, match=r"script none.py, element 2 of argv, does not exist"):
        plan(sys.executable, "none.py")


@pytest.mark.parametrize(
    "options", [{"folder": ".."}, {"inputs": ("../x",)}, {"report": "/x"}, {"artifacts": ("../*",)}]
)
def test_e52_paths_that_leave_the_workspace_are_refused(plan, options):
    with pytest.raises(OutsideWorkspace):
        plan(**options)


@posix_only
def test_e52_links_that_leave_the_workspace_are_refused(plan, workspace, tmp_path):
    (workspace / "out").symlink_to(tmp_path)
    for options in ({"folder": "out"}, {"inputs": ("out/x",)}, {"report": "out/tests.xml"}):
        with pytest.raises((OutsideWorkspace, InvalidWorkOrder)):
            plan(**options)


def test_an_input_that_cannot_be_read_whole_is_refused(plan, monkeypatch):
    import engine.dispatch.inputs as module
    from engine.workspace.manifest import ManifestBounds, take_manifest

    monkeypatch.setattr(
        module,
        "take_manifest",
        lambda folder, **options: take_manifest(folder, bounds=ManifestBounds(files=0), **options),
    )
    with pytest.raises(InvalidWorkOrder, match="cannot be sealed") as caught:
        plan(inputs=("tools",))
    assert "Name the files that matter" in caught.value.do


@posix_only
def test_an_input_that_is_no_file_is_refused(plan, workspace):
    os.mkfifo(workspace / "pipe")
    with pytest.raises(InvalidWorkOrder, match="cannot be read"):
        plan(inputs=("pipe",))


def test_plans_of_different_purposes_differ(plan):
    prepared = plan()
    other = replace(prepared, plan=replace(prepared.plan, purpose=Purpose.CORRECT))
    assert changed(prepared, other) == {"purpose"}
