"""`praxis` alone on a data folder: commands, output, errors and exit codes (E-91)."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from engine.dispatch.display import visible_text
from engine.errors import InvalidValue, PraxisError
from engine.instants import parse_instant
from engine.interfaces import cli, cli_doctor, cli_serve, wire
from engine.interfaces.channel_methods import METHODS
from engine.interfaces.cli_names import read_name
from engine.interfaces.cli_output import table
from engine.interfaces.cli_session import EXIT_CODES
from engine.interfaces.rights import Right
from engine.scheduling.gates import Gate
from engine.states import ApprovalState, TaskState
from tests.conftest import python_command
from tests.interfaces.conftest import Praxis, approve

ORDER_FILE = str(Path(__file__).parents[2] / "resources" / "examples" / "minimal.toml")
HOSTILE = "evil\x1b[2J\x1b]0;owned\x07\u202egnp.exe\u200b  "


# ------------------------------------------------------------------------------------------------ the whole story


def test_e91_a_work_order_from_submission_to_acceptance(praxis: Praxis, order_file: Any) -> None:
    assert "praxis approve WO-1" in praxis("submit", order_file("print('did it')")).out
    assert "WO-1" in praxis("inbox").out
    assert approve(praxis, "WO-1", "--with-validation", "--json").json["state"] == "APPROVED"
    served = praxis("serve", "--until-idle", "--json").json
    assert served["reason"] == "idle"
    assert [(one["name"], one["state"]) for one in served["waiting"]] == [("WO-1", "AWAITING_ACCEPTANCE")]
    assert praxis("evidence", "WO-1/1", "--stdout").out == "did it\n"
    assert praxis("evidence", "1/2/1", "--verify", "--json").json[0]["state"] == "true"
    assert praxis("accept", "WO-1", "--json").json["state"] == "ACCEPTED"
    assert praxis("accept", "1", "--json").json["state"] == "ACCEPTED"
    assert "journal is sound" in praxis("journal", "verify").out
    assert praxis("inbox").out == "Nothing waits for approval.\n"


def test_a_failed_validation_waits_for_a_persons_decision(praxis: Praxis, order_file: Any) -> None:
    praxis("submit", order_file("print(1)", "import sys; sys.exit(3)"))
    approve(praxis, "WO-1", "--with-validation")
    served = praxis("serve", "--until-idle", "--quiet").out
    assert "DECISION_NEEDED" in served
    assert "allow-correction" in praxis("show", "WO-1").out
    praxis("allow-correction", "WO-1", "--reason", "one more")
    assert praxis("explain", "WO-1", "--json").json[1]["name"] == "approval"
    praxis("cancel", "WO-1", "--reason", "enough")
    assert praxis("list", "--state", "cancelled", "--json").json[0]["number"] == 1


def test_what_does_not_run_is_not_said_to_be_stopped(praxis: Praxis, order_file: Any) -> None:
    praxis("submit", order_file())
    approve(praxis, "WO-1")
    praxis("serve", "--until-idle", "--quiet")
    late = praxis("stop", "WO-1", "--reason", "too slow", ok=False)
    assert late.code == 4
    assert "WO-1/1/1 does not run; it is EXECUTED." in late.err


def test_serve_shows_the_journal_of_its_epoch_and_says_what_waits(praxis: Praxis, order_file: Any) -> None:
    praxis("submit", order_file())
    shown = praxis("serve", "--until-idle").out
    assert shown.splitlines()[1].split()[1] == "epoch.taken"
    assert "Nothing runs, and nothing can without a person." in shown
    assert "Waits for a person's approval." in shown


APPROVED, PENDING = ApprovalState.APPROVED, ApprovalState.PENDING


@pytest.mark.parametrize(
    ("state", "approval", "closed", "goes_on"),
    [
        ("WAITING", APPROVED, {"schedule"}, True),
        ("WAITING", PENDING, {"schedule", "approval"}, False),
        ("WAITING", APPROVED, {"schedule", "hold"}, False),
        ("READY", APPROVED, set(), True),
        ("READY", APPROVED, {"resources"}, False),
        ("READY", PENDING, {"approval"}, False),
        ("READY", None, {"approval"}, True),
        ("DISPATCHED", APPROVED, {"schedule"}, True),
        ("SUCCEEDED", APPROVED, {"schedule"}, False),
        ("UNKNOWN", APPROVED, {"schedule"}, False),
    ],
)
def test_until_idle_knows_what_can_go_on_without_a_person(
    state: str, approval: ApprovalState | None, closed: set[str], goes_on: bool
) -> None:
    task = SimpleNamespace(state=TaskState(state), approval_state=approval)
    gates = tuple(
        Gate(name, name not in closed, "") for name in ("schedule", "approval", "hold", "resources")
    )
    assert cli_serve._goes_on(task, gates) is goes_on  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------- approving


def test_the_card_is_shown_whole_before_anything_is_approved(praxis: Praxis, order_file: Any) -> None:
    """B-008: every argument on a line of its own, hidden characters spelled out, nothing shortened."""
    long = "y" * 12_000
    arguments = ["a\nb", "tab\there", "\u202egnp.exe", "ends  ", "", long, *map(str, range(40))]
    praxis("submit", order_file(implementation=python_command("pass", *arguments)))
    ran = praxis("approve", "WO-1", ok=False)
    assert ran.code == 2
    assert "nobody at a terminal" in ran.err
    lines = ran.out.splitlines()
    assert any(long in line and "12,000 characters" in line for line in lines)
    for argument in arguments[:5]:
        assert any(visible_text(argument) in line for line in lines)
    numbers = [int(line.split()[0]) for line in lines if line.startswith("   ") and line.split()[0].isdigit()]
    assert numbers == [*range(3 + len(arguments)), *range(3)]
    assert "\u202e" not in ran.out
    assert praxis("inbox", "--json").json[0]["approval_id"]
    for summary in (praxis("inbox").out, praxis("show", "WO-1").out):
        assert long not in summary
        assert "characters)" in summary, "what is cut says so"


@pytest.mark.parametrize(
    ("seal", "code"), [("", 2), ("abc", 2), ("0" * 7, 2), ("0" * 8, 5), ("\x1b[2Jxxxxxxxx", 5), ("0" * 64, 5)]
)
def test_a_seal_that_is_short_or_another_approves_nothing(
    praxis: Praxis, order_file: Any, seal: str, code: int
) -> None:
    praxis("submit", order_file())
    ran = praxis("approve", "WO-1", "--seal", seal, "--json", ok=False)
    assert ran.code == code
    assert ran.out == ""
    assert json.loads(ran.err)["exit_code"] == code
    assert len(praxis("inbox", "--json").json) == 1


def test_json_never_asks_a_question(praxis: Praxis, order_file: Any) -> None:
    praxis("submit", order_file())
    ran = praxis("approve", "WO-1", "--json", ok=False)
    assert (ran.code, ran.out, json.loads(ran.err)["code"]) == (2, "", "invalid_value")


def test_deciding_twice_and_too_late_is_told(praxis: Praxis, order_file: Any) -> None:
    praxis("submit", order_file())
    assert praxis("reject", "WO-1", "--reason", "no", "--json").json["state"] == "REJECTED"
    ran = praxis("withdraw", "WO-1", "--reason", "late", ok=False)
    assert ran.code == 4
    assert "Rejected by" in praxis("explain", "WO-1").out
    assert praxis("ask-again", "WO-1/1", "--json").json["state"] == "PENDING"


# --------------------------------------------------------------------------------------------------------- rights


DECIDING = {
    "approvals.approve": ["approve", "WO-1", "--seal", "0" * 8],
    "approvals.reject": ["reject", "WO-1", "--reason", "r"],
    "approvals.withdraw": ["withdraw", "WO-1"],
    "pause": ["pause", "engine"],
    "hold": ["hold", "WO-1", "--reason", "r"],
    "resume": ["resume", "engine"],
    "cancel": ["cancel", "WO-1", "--reason", "r"],
    "stop_attempt": ["stop", "WO-1", "--reason", "r"],
    "accept": ["accept", "WO-1"],
    "reject_work": ["reject-work", "WO-1", "--reason", "r"],
    "allow_correction": ["allow-correction", "WO-1", "--reason", "r"],
    "validate_again": ["validate-again", "WO-1", "--reason", "r"],
    "validate_by_person": ["judge", "WO-1", "passed", "--reason", "r"],
    "unknowns.reconcile": ["reconcile", "WO-1", "did-not", "--reason", "r", "--saw", "s"],
    "replan": ["replan", "WO-1", ORDER_FILE, "--reason", "r"],
    "backups.back_up": ["backup"],
    "backups.rehearse": ["rehearse", "some-backup"],
    "scheduled_backups.set": ["backup-schedule", "--off"],
    "acknowledge_restore": ["acknowledge-restore", "--reason", "r"],
    "agents.add": ["agent", "add", "mine"],
    "agents.revoke": ["agent", "revoke", "mine", "--reason", "r"],
    "agents.listed": ["agent", "list"],
    "followups.answer": ["agent", "answer", "some-question", "yes"],
    "budgets.set_limits": ["budget", "set", "root", "--cost", "5", "--reason", "r"],
    "budgets.add_project": ["budget", "add", "mine", "--reason", "r"],
    "budgets.remove_project": ["budget", "remove", "project:mine", "--reason", "r"],
    "grants.give": ["grant", "give", "WO-1", "--seal", "0" * 8],
    "grants.revoke": ["grant", "revoke", "ABCDEFGH", "--reason", "r"],
    "grants.listed": ["grant", "list"],
    "grants.grant": ["grant", "show", "0" * 26],
    "decide_missed": ["docket", "decide", "0" * 26, "all", "--reason", "r"],
    "wakes.cancel": ["wakes", "cancel", "0" * 26, "--reason", "r"],
    "wakes.release": ["wakes", "release", "0" * 26, "--reason", "r"],
    "wakes.drop": ["wakes", "drop", "0" * 26, "--reason", "r"],
    "schedules.add": ["schedule", "add", ORDER_FILE, "--every", "1d"],
    "schedules.pause": ["schedule", "pause", "0" * 26, "--reason", "r"],
    "schedules.resume": ["schedule", "resume", "0" * 26, "--reason", "r"],
    "schedules.change": ["schedule", "change", "0" * 26, "--reason", "r"],
    "schedules.cancel": ["schedule", "cancel", "0" * 26, "--reason", "r"],
    "retention.set": ["retention", "settings", "--work", "90d"],
    "retention.set_by_itself": ["retention", "settings", "--daily"],
    "retention.run": ["retention", "run", "--yes"],
}


def test_every_decision_has_a_command() -> None:
    assert set(DECIDING) == {method.name for method in METHODS.values() if method.right is Right.DECIDE}


def test_e90_agents_and_scripts_submit_and_look_but_never_decide(praxis: Praxis, order_file: Any) -> None:
    praxis("submit", order_file(), "--as-agent", "codex")
    approve(praxis, "WO-1")
    praxis("serve", "--until-idle", "--quiet")
    for kind in ("--as-agent", "--as-script"):
        assert praxis(kind, "codex", "list", "--json").json[0]["requested_by"]["kind"] == "agent"
        before = len(praxis("journal", "export", "--work-order", "1").out.splitlines())
        for arguments in DECIDING.values():
            ran = praxis(*arguments, kind, "codex", "--json", ok=False)
            assert (ran.code, json.loads(ran.err)["code"]) == (5, "unauthorized"), arguments
        assert len(praxis("journal", "export", "--work-order", "1").out.splitlines()) == before


@pytest.mark.parametrize("name", ["", "a\nb", "\u202e", "x" * 101])
def test_an_actors_name_is_visible_and_short(praxis: Praxis, name: str) -> None:
    assert praxis("list", "--as-agent", name, ok=False).code == 2


# ---------------------------------------------------------------------------------------------- output and errors


def test_json_is_one_ascii_document_with_canonical_instants(praxis: Praxis, order_file: Any) -> None:
    """E-01: the command line speaks canonical UTC."""
    praxis("submit", order_file(title="Größe ∅"))
    for arguments in (
        ["list"],
        ["inbox"],
        ["show", "WO-1"],
        ["show", "WO-1/1"],
        ["explain", "WO-1"],
        ["doctor"],
        ["journal", "verify"],
        ["submit", order_file(), "--check"],
        ["--json", "list"],
    ):
        ran = praxis(*arguments, "--json")
        assert ran.out.isascii()
        assert ran.err == ""
        assert ran.json is not None
    row = praxis("list", "--json").json[0]
    assert row["title"] == "Größe ∅"
    assert parse_instant(row["created_at"]) > 0


def test_nothing_from_a_work_order_reaches_the_terminal_raw(praxis: Praxis, order_file: Any) -> None:
    praxis("submit", order_file(title="t \u202egnp.exe\u200b", reason=HOSTILE))
    praxis("pause", "engine", "--reason", HOSTILE)
    for arguments in (
        ["list"],
        ["inbox"],
        ["show", "1"],
        ["show", "1/1"],
        ["explain", "1"],
        ["resume", "engine"],
    ):
        shown = praxis(*arguments).out
        assert "U+202E" in shown or arguments[0] in ("resume", "inbox")
        assert not {character for character in shown if not character.isprintable()} - {"\n"}


def test_output_of_any_bytes_goes_into_a_pipe_as_it_is(praxis: Praxis, order_file: Any) -> None:
    praxis("submit", order_file("import os; os.write(1, bytes(range(256))); os.write(2, b'\\xff\\x1b[2J')"))
    approve(praxis, "WO-1")
    praxis("serve", "--until-idle", "--quiet")
    assert praxis("evidence", "WO-1/1", "--stdout").raw == bytes(range(256))
    assert praxis("evidence", "WO-1/1", "--stderr").raw == b"\xff\x1b[2J"
    assert praxis("evidence", "WO-1/1", "--stderr", "--json", ok=False).code == 2


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "cp437", "utf-16"])
def test_poor_terminals_get_everything_readable(praxis: Praxis, order_file: Any, encoding: str) -> None:
    praxis("submit", order_file(title="Größe ∅ ⏎"))
    for arguments in (
        ["list"],
        ["show", "WO-1"],
        ["show", "WO-1/1"],
        ["inbox"],
        ["--help"],
        ["show", "WO-9"],
    ):
        ran = praxis(*arguments, ok=False, encoding=encoding)
        assert ran.code == (3 if "WO-9" in arguments else 0)
        assert ran.out or ran.err
    listed = praxis("list", encoding=encoding).out
    assert "Größe ∅" in listed or "Gr\\xf6\\xdfe \\u2205" in listed or "Größe \\u2205" in listed


def test_a_narrow_terminal_cuts_nothing_off() -> None:
    made = table(("name", "title"), [("WO-1", "a rather long title that does not fit")])
    stream = io.StringIO()
    Console(file=stream, width=20).print(made)
    assert "".join(stream.getvalue().split()) == "nametitleWO-1aratherlongtitlethatdoesnotfit"


def test_a_wrong_file_is_told_with_line_and_field_and_nothing_is_submitted(
    praxis: Praxis, order_file: Any, tmp_path: Path, folder: Path
) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('title = "t"\nworkspace = "w"\nmax_cost = 1\n')
    ran = praxis("submit", order_file(), str(wrong), ok=False)
    assert ran.code == 2
    assert "Line 3" in ran.err
    assert not (folder / "praxis.sqlite").exists()
    assert praxis("submit", str(tmp_path / "none.toml"), ok=False).code == 3


def test_looking_never_makes_a_data_folder(praxis: Praxis, tmp_path: Path) -> None:
    missing = tmp_path / "typo"
    for arguments in (["list"], ["show", "1"], ["pause", "engine"], ["journal", "verify"]):
        assert praxis(*arguments, "--data", str(missing), ok=False).code == 3
    praxis("doctor", "--data", str(missing))
    assert not missing.exists()


@pytest.mark.parametrize("content", [b"", b"no database", bytes(8192)])
def test_the_doctor_finds_a_database_that_cannot_be_used(
    praxis: Praxis, order_file: Any, folder: Path, content: bytes
) -> None:
    praxis("submit", order_file())
    assert praxis("doctor").out.endswith(
        "Nothing wrong was found. Looked at: the place of the folder, and whether the database can be opened.\n"
        "The journal was not checked. To check it: praxis journal verify\n"
    )
    (folder / "praxis.sqlite").write_bytes(content)
    ran = praxis("doctor", ok=False)
    assert ran.code == 6
    assert "problem " in ran.out
    assert "Nothing wrong" not in ran.out
    assert (folder / "praxis.sqlite").read_bytes() == content


def test_the_doctor_finds_missing_rights(
    praxis: Praxis, order_file: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    praxis("submit", order_file())
    monkeypatch.setattr(os, "access", lambda path, mode: path != folder or mode != os.W_OK)
    ran = praxis("doctor", ok=False)
    assert ran.code == 6
    assert "cannot be written to: this user has no right to" in ran.out


def test_a_file_is_no_data_folder(praxis: Praxis, order_file: Any, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert praxis("doctor", "--data", str(file), ok=False).code == 6
    ran = praxis("submit", order_file(), "--data", str(file), ok=False)
    assert ran.code == 6
    assert "it is no folder" in ran.err


def test_a_named_folder_wins_over_the_variable_at_either_place(praxis: Praxis, tmp_path: Path) -> None:
    other = tmp_path / "other"
    for arguments in (("--data", str(other), "doctor"), ("doctor", "--data", str(other))):
        assert praxis(*arguments, "--json").json["folder"] == str(other)


def test_the_same_key_submits_once(praxis: Praxis, order_file: Any) -> None:
    first = praxis("submit", order_file(), "--key", "k", "--json").json
    assert praxis("submit", order_file(), "--key", "k", "--json").json[0]["id"] == first[0]["id"]
    assert praxis("submit", order_file(), order_file(), "--key", "k", ok=False).code == 2


def test_what_does_not_exist_is_named(praxis: Praxis, order_file: Any) -> None:
    praxis("submit", order_file())
    for name in ("WO-7", "WO-1/9", "WO-1/1/1", "01ARZ3NDEKTSV4RRFFQ69G5FAV"):
        ran = praxis("show", name, ok=False)
        assert (ran.code, ran.out) == (3, "")
        assert name.split("/")[0] in ran.err
    assert praxis("show", "nonsense", ok=False).code == 2
    assert praxis("evidence", "WO-1", ok=False).code == 3
    assert praxis("pause", "project:none", ok=False).code == 3
    assert "engine, project:NAME" in praxis("pause", "everything", ok=False).err


@pytest.mark.parametrize(
    "arguments",
    [["list", "--nope"], ["list", "--state", "x"], ["nope"], ["reject", "1"], ["list", "--limit", "0"]],
)
def test_a_usage_mistake_is_told_in_both_forms(praxis: Praxis, arguments: list[str]) -> None:
    ran = praxis(*arguments, ok=False)
    assert (ran.code, ran.out) == (2, "")
    assert "Traceback" not in ran.err
    as_json = praxis(*arguments, "--json", ok=False)
    assert json.loads(as_json.err)["code"] == "usage"


def test_an_unexpected_error_is_one_line_and_a_log_file(
    praxis: Praxis, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_session: object) -> None:
        raise KeyError("odd")

    monkeypatch.setattr(cli_doctor, "diagnose", fail)
    ran = praxis("doctor", ok=False)
    log = folder / "logs" / "praxis.log"
    assert (ran.code, ran.out) == (1, "")
    assert len(ran.err.splitlines()) == 1
    assert str(log) in ran.err
    assert "Traceback" in log.read_text()


def test_exit_codes_are_documented_in_help_and_readme(praxis: Praxis) -> None:
    codes = {code for code, _ in EXIT_CODES}
    assert {
        kind.exit_code for kind in wire.error_classes().values() if issubclass(kind, PraxisError)
    } <= codes
    shown = " ".join(praxis("--help").out.split())
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    for code, meaning in EXIT_CODES:
        assert f"{code} {meaning}" in shown
        assert f"| {code} | {meaning} |" in readme


def test_every_command_has_help(praxis: Praxis) -> None:
    for name in [*cli.app.registered_commands, *cli.journal_app.registered_commands]:
        before = ["journal"] if name in cli.journal_app.registered_commands else []
        shown = praxis(*before, str(name.name), "--help").out
        for option in ("--data", "--json", "--as-script", "--as-agent"):
            assert option in shown


# ------------------------------------------------------------------------------------------------------- journal


def test_the_journal_is_written_whole_in_both_forms(praxis: Praxis, order_file: Any, tmp_path: Path) -> None:
    praxis("submit", order_file(), "--as-agent", "=HYPERLINK(1)")
    rows = [json.loads(line) for line in praxis("journal", "export").out.splitlines()]
    assert [row["sequence"] for row in rows] == list(range(1, len(rows) + 1))
    target = tmp_path / "journal.csv"
    written = praxis("journal", "export", "--form", "csv", "--output", str(target), "--json").json
    with target.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert written["rows"] == len(lines)
    assert json.loads(lines[0]["detail"]) == rows[0]["detail"]
    names = {line["actor_name"] for line in lines}
    assert "'=HYPERLINK(1)" in names
    assert "=HYPERLINK(1)" not in names
    assert list(tmp_path.glob("*.new")) == []


def test_a_journal_file_that_cannot_be_written_is_told(
    praxis: Praxis, order_file: Any, tmp_path: Path
) -> None:
    praxis("submit", order_file())
    assert praxis("journal", "export", "-o", str(tmp_path / "no" / "j"), ok=False).code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipe in a folder")
def test_the_journal_replaces_files_only(praxis: Praxis, order_file: Any, tmp_path: Path) -> None:
    praxis("submit", order_file())
    pipe, link, file = tmp_path / "pipe", tmp_path / "link", tmp_path / "file"
    os.mkfifo(pipe)
    for target in (pipe, tmp_path):
        ran = praxis("journal", "export", "-o", str(target), ok=False)
        assert (ran.code, ran.out) == (2, "")
    assert pipe.is_fifo()
    file.write_text("old")
    link.symlink_to(file)
    assert praxis("journal", "export", "-o", str(link), ok=False).code == 2
    assert file.read_text() == "old"
    praxis("journal", "export", "-o", str(link), "--force")
    assert link.is_symlink()
    assert file.read_text().startswith('{"sequence": 1,')


# --------------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("WO-118", ("WO-118", None, None)),
        ("118", ("WO-118", None, None)),
        ("wo-0118/2", ("WO-118", 2, None)),
        ("WO-118/2/1", ("WO-118", 2, 1)),
        ("01arz3ndektsv4rrffq69g5fav", ("01ARZ3NDEKTSV4RRFFQ69G5FAV", None, None)),
    ],
)
def test_names(text: str, parts: tuple[Any, ...]) -> None:
    name = read_name(text)
    assert (name.work_order, name.task, name.attempt) == parts


@given(st.text(max_size=40) | st.from_regex(r"(WO-)?\d*(/\d*){0,4}"))
def test_any_text_is_a_name_or_a_clear_refusal(text: str) -> None:
    try:
        name = read_name(text)
    except InvalidValue:
        return
    assert name.work_order.startswith("WO-") or len(name.work_order) == 26


def test_approve_says_when_nothing_waits(praxis: Praxis, order_file: Any) -> None:
    """B-016: it speaks of the request that ended, not of the seal that was typed."""
    praxis("submit", order_file())
    praxis("cancel", "WO-1", "--reason", "not needed")
    ran = praxis("approve", "WO-1", "--seal", "0" * 8, ok=False)
    assert ran.code == 4
    assert "Nothing of WO-1 waits for approval" in ran.err
    assert "seal" not in ran.err


def test_a_folder_is_named_as_it_was_typed(praxis: Praxis, tmp_path: Path) -> None:
    ran = praxis("submit", str(tmp_path), ok=False)
    assert ran.code == 2
    assert f"{tmp_path}: it cannot be read: it is a folder" in ran.err


def test_a_file_that_is_there_is_replaced_only_by_force(
    praxis: Praxis, order_file: Any, tmp_path: Path
) -> None:
    praxis("submit", order_file())
    for command in (("receipt", "WO-1", "-o"), ("doctor", "--bundle"), ("journal", "export", "-o")):
        file = tmp_path / command[0]
        file.write_text("mine")
        ran = praxis(*command, str(file), ok=False)
        assert (ran.code, ran.out) == (2, "")
        assert "--force" in ran.err
        assert file.read_text() == "mine"
        praxis(*command, str(file), "--force")
        assert file.read_bytes() != b"mine"
