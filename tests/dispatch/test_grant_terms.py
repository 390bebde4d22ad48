"""What a standing grant covers, plan against plan (E-42a): what may be free, what is drift, what is another thing."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.dispatch.environment import SealedSecret
from engine.dispatch.grant_terms import coverage, fit, free_places, is_plain_word, make_terms
from engine.dispatch.inputs import InputKind, SealedInput
from engine.dispatch.plan import Plan, PlanEnvironment, PlanLimits, PlanWorkspace, seal_of
from engine.dispatch.program import Program
from engine.errors import InvalidValue
from engine.states import Purpose
from engine.workspace.repository import AS_LEFT_BY_APPROVED_STEP, StateKind, WorkspaceState


def plan(*argv: str, **changes: Any) -> Plan:
    words = argv or ("tool", "convert", "alpha", "--quick")
    made = Plan(
        purpose=Purpose.IMPLEMENT,
        argv=words,
        program=Program(f"/bin/{words[0]}", f"/usr/bin/{words[0]}", "a" * 64, 10, ("/bin",)),
        folder=".",
        workspace=PlanWorkspace("/work", "1:2"),
        environment=PlanEnvironment(
            MappingProxyType({"HOME": "/home/ada"}),
            MappingProxyType({"MODE": "quick", "TOKEN": SealedSecret("TOKEN", "b" * 64)}),
        ),
        inputs=(SealedInput("in.txt", InputKind.FILE, "c" * 64, 3),),
        limits=PlanLimits(60_000, 5, 1 << 20),
        artifacts=("out/*",),
        report="",
        criteria="it is right",
        state=WorkspaceState(StateKind.GIT, "d" * 40, "main", 0, 0, "e" * 64),
    )
    return replace(made, **changes)


OTHER = {
    "program": Program("/bin/tool", "/usr/bin/tool", "f" * 64, 10, ("/bin",)),
    "workspace": PlanWorkspace("/work", "1:3"),
    "environment": PlanEnvironment(
        MappingProxyType({"HOME": "/home/eve"}),
        MappingProxyType({"MODE": "quick", "TOKEN": SealedSecret("TOKEN", "b" * 64)}),
    ),
    "inputs": (SealedInput("in.txt", InputKind.FILE, "f" * 64, 3),),
    "limits": PlanLimits(60_001, 5, 1 << 20),
    "artifacts": ("out/*", "more/*"),
    "report": "r.xml",
    "criteria": "it is fine",
}


@pytest.mark.parametrize("field", sorted(OTHER))
@pytest.mark.parametrize("any_state", [False, True])
def test_e42a_any_other_part_of_the_granted_thing_is_drift(field: str, any_state: bool) -> None:
    terms = make_terms(plan(), (2,), any_state)
    assert fit(terms, plan().to_json(), None).covered
    found = fit(terms, plan(**{field: OTHER[field]}).to_json(), None)
    assert found.same_thing
    assert found.drift
    assert not found.covered


@pytest.mark.parametrize(
    "state",
    [
        WorkspaceState(StateKind.GIT, "d" * 40, "main", 1, 0, "f" * 64),
        WorkspaceState(StateKind.GIT, "0" * 40, "main", 0, 0, "e" * 64),
        WorkspaceState(StateKind.GIT, "d" * 40, "other", 0, 0, "e" * 64),
        WorkspaceState(StateKind.FILES, files=3, digest="e" * 64),
    ],
)
def test_e42a_the_state_of_the_workspace_is_fixed_unless_it_was_left_free(state: WorkspaceState) -> None:
    assert fit(make_terms(plan(), (), False), plan(state=state).to_json(), None).drift
    assert fit(make_terms(plan(), (), True), plan(state=state).to_json(), None).covered


@pytest.mark.parametrize(
    "other",
    [
        plan("tool", "convert", "alpha", "--slow"),
        plan("tool", "convert", "alpha"),
        plan("tool", "convert", "alpha", "--quick", "more"),
        plan("tool", "convert", "alpha", "beta", "--quick"),
        plan("other", "convert", "alpha", "--quick"),
        plan(purpose=Purpose.CORRECT),
        plan(folder="sub"),
        plan(workspace=PlanWorkspace("/elsewhere", "1:2")),
    ],
)
def test_e42a_another_thing_is_not_covered_and_is_no_drift(other: Plan) -> None:
    found = fit(make_terms(plan(), (2,), True), other.to_json(), None)
    assert not found.same_thing
    assert not found.covered


ATTACKS = [
    "",
    "-o",
    "--output=/etc/passwd",
    "/etc/passwd",
    "\\\\server\\share",
    "C:/Windows",
    "C:",
    "@file",
    "+x",
    "..",
    "../secret",
    "a/../../secret",
    "a..b/..",
    "a b",
    "a\nb",
    "a\tb",
    "a\0b",
    "a;b",
    "a|b",
    "a&b",
    "$(id)",
    "`id`",
    "%PATH%",
    "!x!",
    "a*",
    "a?",
    "a=b",
    "a\u200b",
    "a\u202eb",
    "\u0430lpha",
    "http://x",
    "host:path",
    "::a",
    "a::",
    "a::-k",
    "x" * 201,
    "alpha\n",
]


@pytest.mark.parametrize("value", ATTACKS)
def test_e42a_a_free_argument_reaches_no_option_no_path_outside_and_no_other_element(value: str) -> None:
    terms = make_terms(plan(), (2,), True)
    assert not is_plain_word(value)
    assert not fit(terms, plan("tool", "convert", value, "--quick").to_json(), None).covered


@pytest.mark.parametrize(
    "value", ["beta", "a/b.txt", "v1.2-rc", "tests/test_x.py::test_y", "x" * 200, "_", "1,2"]
)
def test_e42a_plain_words_stand_in_free_places_and_are_told(value: str) -> None:
    found = fit(make_terms(plan(), (2,), False), plan("tool", "convert", value, "--quick").to_json(), None)
    assert found.covered
    assert found.values == (value,)


@given(st.text(max_size=30))
def test_whatever_is_a_plain_word_is_one_word_of_a_few_characters(text: str) -> None:
    if is_plain_word(text):
        assert text.isascii()
        assert not set(text) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,+/:-")
        assert text[0] not in "-+/.:,"
        assert ".." not in text.split("/")


@pytest.mark.parametrize(
    ("argv", "free"),
    [
        (("tool", "convert", "alpha", "--quick"), (1, 2)),
        (("python", "task.py", "alpha"), (2,)),
        (("python3.11", "-X", "dev", "task.py", "alpha", "-v"), (4,)),
        (("python", "-m", "pytest", "tests/test_x.py"), (3,)),
        (("python", "-Im", "pytest", "tests/test_x.py"), (3,)),
        (("python", "-mpytest", "tests/test_x.py"), (2,)),
        (("python", "-c", "print", "alpha"), ()),
        (("python", "alpha"), ()),
        (("bash", "run.sh", "alpha"), (2,)),
        (("bash", "-c", "reboot"), ()),
        (("cmd", "/c", "dir", "alpha"), ()),
        (("node", "-e", "alpha", "beta"), ()),
        (("env", "MODE=x", "tool", "alpha"), (3,)),
        (("env", "python", "task.py", "alpha"), (3,)),
        (("env", "python", "-c", "alpha"), ()),
        (("env", "-S", "alpha"), ()),
        (("timeout", "5", "python", "task.py", "alpha"), ()),
        (("nice", "tool", "alpha"), ()),
        (("/usr/bin/XARGS.exe", "rm"), ()),
        (("env", "MODE=x", "nohup", "tool", "alpha"), ()),
        (("python", "-m", "pytest", "alpha"), (3,)),
        (("python", "-m", "runpy", "alpha"), ()),
        (("python", "-m", "coverage", "run", "task.py"), ()),
        (("env",), ()),
        (("tool",), ()),
    ],
)
def test_e42a_never_free_is_the_program_or_what_it_is_to_run(
    argv: tuple[str, ...], free: tuple[int, ...]
) -> None:
    made = plan(*argv)
    assert free_places(made) == free
    for place in range(-1, len(argv) + 1):
        if place in free:
            make_terms(made, (place,), False)
        else:
            with pytest.raises(InvalidValue):
                make_terms(made, (place,), False)


@pytest.mark.parametrize("free", [(2, 2), (True,), ("2",), (2.0,)])
def test_odd_places_are_refused(free: Any) -> None:
    with pytest.raises(InvalidValue):
        make_terms(plan(), free, False)


def test_e42b_a_covered_validation_must_be_the_very_same() -> None:
    terms = make_terms(plan(), (), False, "1" * 64)
    assert fit(terms, plan().to_json(), "1" * 64).covered
    for other in ("2" * 64, None):
        assert fit(terms, plan().to_json(), other).drift == ("its validation",)
    assert fit(make_terms(plan(), (), False), plan().to_json(), "2" * 64).covered


def test_what_an_approved_step_leaves_is_nothing_to_grant_from() -> None:
    with pytest.raises(InvalidValue, match="approval of another"):
        make_terms(plan(state=AS_LEFT_BY_APPROVED_STEP), (), True)


def test_the_template_is_no_seal_and_two_terms_never_share_one() -> None:
    exact = make_terms(plan(), (), False)
    assert exact.digest == seal_of(plan()), "with nothing free it is the seal itself"
    digests = {
        make_terms(plan(), free, state).digest for free in ((), (1,), (2,), (1, 2)) for state in (False, True)
    }
    assert len(digests) == 8


def test_what_it_covers_is_said_in_sentences() -> None:
    said = " ".join(coverage(make_terms(plan(), (2,), False)))
    assert "Free: argument 2" in said
    assert "commit ddddddd, nothing changed" in said
    assert "Its validation is not covered." in said
    assert "may change" in " ".join(coverage(make_terms(plan(), (), True, "1" * 64)))
