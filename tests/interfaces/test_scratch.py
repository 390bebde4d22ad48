import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import psutil
import pytest

from engine.dispatch.differences import differences
from engine.dispatch.plan import make_plan
from engine.errors import InvalidValue
from engine.interfaces.scratch import create_example_repository, create_scratch_workspace
from engine.states import Purpose
from engine.work_order import ValidatedBy
from engine.workspace.repository import AS_LEFT_BY_APPROVED_STEP, StateKind, find_git

GIT = find_git(os.environ)


@pytest.fixture
def orders(tmp_path):
    return create_scratch_workspace(tmp_path / "scratch")


def prepare(spec, command=None, state=None):
    return make_plan(
        Purpose.IMPLEMENT,
        command or spec.implementation,
        spec.validation.criteria,
        spec.workspace,
        base_environment=os.environ,
        secret_key=b"key",
        state=state,
    )


def run(spec, command=None, **options):
    prepared = prepare(spec, command)
    return subprocess.run(
        prepared.plan.argv,
        executable=prepared.plan.program.path,
        cwd=prepared.folder,
        env=dict(prepared.environment.values),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=60,
        **options,
    )


def test_there_are_seven_each_in_a_workspace_of_its_own(orders, tmp_path):
    assert [Path(spec.workspace).name for spec in orders] == [
        "1-works",
        "2-fails",
        "3-passes-its-time-limit",
        "4-floods-the-log",
        "5-starts-a-detached-child",
        "6-edits-its-own-check",
        "7-prints-odd-encodings",
    ]
    assert {Path(spec.workspace).parent for spec in orders} == {tmp_path / "scratch"}
    assert all(spec.project == "scratch" and spec.reason for spec in orders)


def test_every_command_can_be_sealed_with_its_scripts(orders):
    for spec in orders:
        for command in filter(None, (spec.implementation, spec.validation.command)):
            prepared = prepare(spec, command, AS_LEFT_BY_APPROVED_STEP)
            assert prepared.plan.argv[0] == sys.executable
            assert {item.path for item in prepared.plan.inputs} >= {command.argv[1]}


def test_each_can_run_by_an_interpreter_of_several_words(tmp_path):
    prefix = (str(tmp_path / 'odd "name" folder' / "praxis.exe"), "run-script")
    for spec in create_scratch_workspace(tmp_path / "scratch", interpreter=prefix):
        assert spec.implementation.argv[:2] == prefix
        assert spec.implementation.inputs, "no interpreter is known here, so scripts must be declared"
        if spec.validation.command is not None:
            assert spec.validation.command.argv[:2] == prefix


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InvalidValue, match="not empty"):
        create_scratch_workspace(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_1_works_and_is_judged_good(orders):
    spec = orders[0]
    assert run(spec, spec.validation.command).returncode != 0
    assert run(spec).returncode == 0
    assert (Path(spec.workspace) / "greeting.txt").exists()
    assert run(spec, spec.validation.command).returncode == 0


def test_2_fails_with_exit_code_1(orders):
    done = run(orders[1])
    assert done.returncode == 1
    assert b"on purpose" in done.stderr


def test_3_would_go_on_far_beyond_its_limit(orders):
    spec = orders[2]
    assert spec.implementation.time_limit_ms == 5_000
    source = (Path(spec.workspace) / "count.py").read_text(encoding="utf-8")
    assert "range(1, 121)" in source
    assert "time.sleep(1)" in source


def test_4_prints_what_it_says_within_its_output_limit(orders):
    spec = orders[3]
    assert int(spec.implementation.argv[-1]) * 1_000_000 * 1.1 < spec.implementation.output_limit_bytes
    less = replace(spec.implementation, argv=(*spec.implementation.argv[:-1], "1"))
    output = run(spec, less).stdout
    assert 1_000_000 < len(output) < 1_200_000
    assert output.rstrip().endswith(b"lines were printed.")


def test_5_leaves_a_child_that_its_parent_does_not_wait_for(orders):
    spec = orders[4]
    done = run(spec)
    assert done.returncode == 0
    child = psutil.Process(int(done.stdout.split()[2].rstrip(b",")))
    try:
        assert child.is_running()
        assert Path(child.cwd()) == Path(spec.workspace).resolve()
        assert "write_later.py" in child.cmdline()
    finally:
        child.kill()
        child.wait(10)
    assert not (Path(spec.workspace) / "marker.txt").exists()


def test_e42b_6_edits_the_check_that_was_sealed_with_it(orders):
    spec = orders[5]
    covered = prepare(spec, spec.validation.command, AS_LEFT_BY_APPROVED_STEP).plan
    assert run(spec).returncode == 0
    now = prepare(spec, spec.validation.command, AS_LEFT_BY_APPROVED_STEP).plan
    assert [difference.field for difference in differences(covered, now)] == ["input check.py"]
    assert run(spec, spec.validation.command).returncode == 0, "the edited check would have been fooled"


def test_7_prints_what_no_single_encoding_can_read(orders):
    output = run(orders[6]).stdout
    for encoding in ("utf-8", "ascii"):
        with pytest.raises(UnicodeDecodeError):
            output.decode(encoding)
    for expected in (
        "größer".encode(),
        "größer".encode("cp850"),
        "größer".encode("utf-16-le"),
        b"\x1b[31m",
        b"\r",
    ):
        assert expected in output
    assert orders[6].validation.by is ValidatedBy.PERSON


# ------------------------------------------------------------------------------------------------ the example


@pytest.fixture
def example(tmp_path):
    return create_example_repository(tmp_path / "example", git=GIT)


def test_the_example_is_mended_in_one_step(example):
    mend, _ = example
    assert run(mend, mend.validation.command).returncode == 1
    assert run(mend).returncode == 0
    done = run(mend, mend.validation.command)
    assert done.returncode == 0, done.stderr.decode()
    assert mend.limits.execution_cost == 35


def test_the_example_needs_a_correction_and_reports_its_tests(example):
    _, spec = example
    report = Path(spec.workspace) / "reports" / "tests.xml"
    outcomes = []
    for command in (spec.implementation, spec.correction.command):
        assert run(spec, command).returncode == 0
        code = run(spec, spec.validation.command).returncode
        suite = ElementTree.parse(report).getroot()
        failures = [case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None]
        assert (suite.get("tests"), suite.get("failures")) == ("3", str(len(failures)))
        outcomes.append((code, failures))
    assert outcomes == [(1, ["test_a_negative_half_goes_down"]), (0, [])]


@pytest.mark.skipif(GIT is None, reason="git is not installed")
def test_the_example_is_a_clean_repository_and_shows_its_change(example, monkeypatch):
    mend, _ = example
    state = prepare(mend).plan.state
    assert (state.kind, state.branch, state.changed, state.note) == (StateKind.GIT, "main", 0, "")
    run(mend)
    run(mend, mend.validation.command)
    assert prepare(mend).plan.state.changed == 1


def test_without_git_the_example_is_a_plain_folder(tmp_path):
    mend, _ = create_example_repository(tmp_path / "example")
    assert prepare(mend).plan.state.kind is StateKind.FILES


def test_nothing_compiled_is_copied(orders, example, tmp_path):
    assert not list(tmp_path.rglob("__pycache__"))
