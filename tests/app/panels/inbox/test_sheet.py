"""What the card says of a plan, a budget and an end, in words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.panels.inbox.sheet import (
    Act,
    CommandSheet,
    Fact,
    cost_budgets,
    ending,
    possible,
    read_plan,
    read_validation,
    refusals,
    spoken_card,
    standing,
    subtitle,
    tightest_time,
    time_budgets,
)
from app.theme import Tone
from app.widgets import Times, Zone
from engine.clock import ManualClock
from engine.durations import size_text
from engine.states import ApprovalState, Partition
from engine.views.values import BudgetLine, DifferenceLine
from tests.app.panels.inbox.samples import MINUTE, START, approval_card, budget_line, plan_json


@pytest.fixture
def times(qtbot: QtBot, clock: ManualClock) -> Iterator[Times]:
    made = Times(clock.now, Zone.UTC)
    yield made
    made.deleteLater()


def sheet(**fields: object) -> CommandSheet:
    return read_plan(approval_card(plan=plan_json(**fields)))


def value(facts: tuple[Fact, ...], name: str) -> str:
    return next(fact.value for fact in facts if fact.name == name)


def test_limits_say_what_happens_at_them() -> None:
    limits = sheet().limits
    assert value(limits, "Time") == "5 min, then stopped → UNKNOWN"
    assert value(limits, "Cost") == "at most 30 units"
    assert value(limits, "Output") == "at most 64 MiB, then stopped → UNKNOWN"
    assert value(sheet(limits={"time_ms": 1, "cost": 0, "output_bytes": 1}).limits, "Cost") == "none"
    assert (
        value(sheet(limits={"time_ms": 1, "cost": 1, "output_bytes": 1}).limits, "Cost") == "at most 1 unit"
    )


def test_repository_head_and_dirty_state() -> None:
    facts = sheet().where
    repository = next(fact for fact in facts if fact.name == "Repository")
    assert repository.value == "main 3e91c4d · 2 files changed"
    assert repository.tone is Tone.WARN
    state = plan_json()["state"]
    assert value(sheet(state={**state, "changed": 0}).where, "Repository") == "main 3e91c4d · clean"
    assert value(sheet(state={**state, "branch": "", "changed": 1}).where, "Repository") == (
        "detached 3e91c4d · 1 file changed"
    )
    assert value(sheet(state={**state, "head": ""}).where, "Repository").startswith("main no commit yet")
    files = {**state, "kind": "files", "files": 124, "unread": 3, "note": "git was not found"}
    assert value(sheet(state=files).where, "Repository").startswith("none · 124 files")
    assert value(sheet(state=files).where, "Not read") == "3 files judged by size and time alone"
    assert value(sheet(state=files).where, "Remark") == "git was not found"


def test_e42b_a_covered_validation_runs_on_what_the_step_leaves() -> None:
    state = {**plan_json()["state"], "kind": "as_left_by_approved_step"}
    card = approval_card(validation_plan=plan_json(state=state), validation_seal="v" * 64)
    found = read_validation(card)
    assert found is not None
    assert value(found.where, "Repository") == "as the approved step leaves it"
    assert read_validation(approval_card()) is None


def test_environment_is_a_difference_and_secrets_are_masked() -> None:
    found = sheet()
    assert [fact.name for fact in found.environment] == ["ISSUE_TOKEN"]
    assert value(found.environment, "ISSUE_TOKEN") == "•••• secret from GH_TOKEN"
    assert [fact.name for fact in found.base] == ["HOME", "LANG", "PATH", "PYTHONIOENCODING", "PYTHONUTF8"]
    assert "ab" * 32 not in repr(found.environment)


def test_another_value_for_python_is_the_commands_own() -> None:
    environment = {"base": {}, "own": {"PYTHONUTF8": "0"}}
    found = sheet(environment=environment)
    assert [fact.name for fact in found.environment] == ["PYTHONUTF8"]
    assert found.base == ()


@pytest.mark.parametrize(
    ("element", "folder"),
    [
        ("tools/apply_fix.py", "."),
        ("./tools/apply_fix.py", "."),
        ("tools\\apply_fix.py", "."),
        ("apply_fix.py", "tools"),
    ],
)
def test_an_element_that_is_a_sealed_input_has_its_digest_beside_it(element: str, folder: str) -> None:
    found = sheet(argv=["python", element, "--issue"], folder=folder)
    assert [item.note for item in found.elements] == ["", "sha256 77d0…1e52", ""]


def test_inputs_with_digests() -> None:
    (fact,) = sheet().inputs
    assert fact.name == "tools/apply_fix.py"
    assert fact.value == "sha256 77d0…1e52 · 4.1 KiB"
    assert "77d0" + "5" * 56 + "1e52" in fact.tip
    folder = {"path": "tools", "kind": "folder", "sha256": "a" * 64, "size": 9}
    assert sheet(inputs=[folder]).inputs[0].value == "whole folder · sha256 aaaa…aaaa · 9 bytes"


def test_b031_a_shell_is_named_as_one() -> None:
    program = plan_json()["program"]
    assert sheet().shell == ""
    for path in ("/bin/bash", "C:\\Windows\\System32\\cmd.exe", "C:\\pwsh\\PWSH.EXE"):
        assert "is a shell" in sheet(program={**program, "path": path, "real_path": path}).shell
    assert "is a shell" in sheet(program={**program, "path": "/opt/tool", "real_path": "/bin/dash"}).shell


def test_links_of_the_program_are_told() -> None:
    program = {**plan_json()["program"], "real_path": "/opt/python/bin/python3.13"}
    assert "behind links /opt/python/bin/python3.13" in sheet(program=program).program_note


def test_changed_arguments_are_marked() -> None:
    card = approval_card(
        differences=(
            DifferenceLine("program as written", "python", "python3"),
            DifferenceLine("argument 3", "411", "412"),
            DifferenceLine("input argument x", "a", "b"),
        )
    )
    assert [element.changed for element in read_plan(card).elements] == [True, False, False, True]


def test_budget_waterfall_and_the_scope_that_refuses() -> None:
    lines = (budget_line("everything", 1000, 310, 60, 40), budget_line("WO-118", 60, 42, 0, 0))
    assert [budget.left for budget in cost_budgets(lines)] == [560, -12]
    assert refusals(lines) == ["WO-118 would refuse: 30 units asked, 18 left."]
    assert tightest_time(lines) == "22 h 50 min of 1 d active time would be left in everything"
    assert tightest_time(()) == ""


def test_a_scope_without_active_time_refuses_too() -> None:
    line = BudgetLine("s", "WO-1", Partition.EXECUTION, 10, 0, 0, 0, 1, 60_000, 50_500, 0, 0, 30_000)
    assert refusals([line]) == ["WO-1 would refuse: 30 s asked, 9 s left."]
    (budget,) = time_budgets([line])
    assert (budget.limit, budget.spent, budget.this) == (60, 51, 30)


def test_the_badge_of_each_state(clock: ManualClock) -> None:
    now = clock.now()
    assert standing(approval_card(), now).word == "sealed"
    assert standing(approval_card(), now, ()).word == "sealed · unchanged", "only a look can tell"
    drift = (DifferenceLine("input fix.py", "a", "b"),)
    assert standing(approval_card(), now, drift).word == "changed on disk"
    changed = (DifferenceLine("argument 1", "a", "b"),)
    assert standing(approval_card(differences=changed), now).word == "changed since asked"
    assert standing(approval_card(), now + 60 * MINUTE).word == "expired"
    words = {standing(approval_card(state=state), now).word for state in ApprovalState}
    assert words == {
        "sealed",
        "approved",
        "rejected",
        "withdrawn",
        "expired",
        "changed since asked",
        "consumed",
    }, "each has a word of its own"


@pytest.mark.parametrize(
    ("state", "successor", "acts"),
    [
        (ApprovalState.PENDING, False, {Act.APPROVE, Act.GRANT, Act.REJECT, Act.HOLD}),
        (ApprovalState.APPROVED, False, {Act.WITHDRAW, Act.HOLD, Act.SHOW_ORDER}),
        (ApprovalState.REJECTED, False, {Act.SHOW_ORDER}),
        (ApprovalState.CONSUMED, False, {Act.SHOW_ORDER}),
        (ApprovalState.EXPIRED, False, {Act.ASK_AGAIN, Act.SHOW_ORDER}),
        (ApprovalState.WITHDRAWN, False, {Act.ASK_AGAIN, Act.SHOW_ORDER}),
        (ApprovalState.CHANGED, False, {Act.ASK_AGAIN, Act.SHOW_ORDER}),
        (ApprovalState.CHANGED, True, {Act.SHOW_NEXT, Act.SHOW_ORDER}),
        (ApprovalState.EXPIRED, True, {Act.SHOW_NEXT}),
    ],
)
def test_b016_only_what_can_work_is_offered(
    state: ApprovalState, successor: bool, acts: set[Act], clock: ManualClock
) -> None:
    assert set(possible(approval_card(state=state), clock.now(), held=False, successor=successor)) == acts


def test_a_held_step_offers_resume(clock: ManualClock) -> None:
    acts = possible(approval_card(), clock.now(), held=True, successor=False)
    assert Act.RESUME in acts
    assert Act.HOLD not in acts


def test_b016_a_pending_request_past_its_time_offers_nothing(clock: ManualClock) -> None:
    assert possible(approval_card(), clock.now() + 60 * MINUTE, held=False, successor=False) == ()


def test_each_end_has_its_sentence_with_actor_and_time(times: Times, clock: ManualClock) -> None:
    clock.advance(5 * MINUTE)
    decided = {"decided_by": "ada", "decided_at": START + MINUTE, "ended_at": START + 2 * MINUTE}
    assert ending(approval_card(), times) == ""
    assert ending(approval_card(state=ApprovalState.REJECTED, decision_reason="no", **decided), times) == (
        "Rejected by ada today 00:01. Nothing runs. Reason: no"
    )
    assert (
        ending(approval_card(state=ApprovalState.EXPIRED, ended_at=START + 2 * MINUTE), times)
        == "Expired today 00:02. Nobody decided in time; nothing runs."
    )
    assert ending(approval_card(state=ApprovalState.EXPIRED, **decided), times) == (
        "Expired today 00:02. It had been approved by ada today 00:01, but it was not used in time; nothing runs."
    )
    assert "Its validation is approved too." in ending(
        approval_card(state=ApprovalState.APPROVED, covers_validation=True, **decided), times
    )
    assert ending(approval_card(state=ApprovalState.CONSUMED, **decided), times) == (
        "Approved by ada today 00:01, and used: its run was authorised today 00:02."
    )
    assert "What would run changed" in ending(approval_card(state=ApprovalState.CHANGED, **decided), times)
    assert "Withdrawn today 00:02" in ending(approval_card(state=ApprovalState.WITHDRAWN, **decided), times)


def test_the_subtitle_and_the_spoken_card(times: Times, clock: ManualClock) -> None:
    clock.advance(14 * MINUTE)
    card = approval_card(plan=plan_json(argv=["python", "a\u200b", ""]))
    assert subtitle(card, times) == (
        "WO-118 · implement · asked by agent “codex-1” 14 min ago · seal 9f3c 71ab"
    )
    said = spoken_card(card, times)
    assert "Command with 3 elements:\n0: python\n1: a⟨U+200B ZWSP⟩\n2: ⟨empty⟩" in said


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1 KiB"), (4300, "4.2 KiB"), (1 << 30, "1 GiB")],
)
def test_sizes_for_a_glance(size: int, text: str) -> None:
    assert size_text(size) == text


def test_e32_nothing_is_shown_as_expired_while_the_clock_is_distrusted(times, clock):
    clock.advance(90 * MINUTE)
    card = approval_card()
    assert standing(card, times.judging()).word == "expired"
    assert ending(card, times).startswith("Expired")
    times.trusted = False
    assert standing(card, times.judging()).word == "sealed"
    assert ending(card, times) == ""
