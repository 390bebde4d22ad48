"""What `praxis` says: in whole sentences, with the words that a person typed, one of a thing in the singular."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import python_command
from tests.interfaces.conftest import Praxis, approve


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("retention", "settings", "--work", "1s"), "Ended work orders are kept for at least a day."),
        (("retention", "settings", "--journal", "1s"), "Journal rows are kept for at least a day."),
        (("retention", "settings", "--grace", "1s"), "The grace of kept files is at least an hour."),
        (("retention", "settings", "--work", "0"), "Write it like 90s"),
        (("budget", "set", "everything", "--cost=-5", "--reason", "r"), "A limit of cost is a whole number"),
        (("backup-schedule", "--every", "1d", "--keep", "0"), "At least one backup is kept."),
        (("schedule", "preview", "--cron", "abc"), "1 field instead of five"),
        (("list", "--state", "lost"), "'lost' is not one of"),
        (("hold", "project:no", "--reason", "r"), "praxis budget list"),
    ],
)
def test_a_refusal_has_the_words_that_were_typed(
    praxis: Praxis, order_file: Any, arguments: tuple[str, ...], words: str
) -> None:
    praxis("submit", order_file())
    ran = praxis(*arguments, ok=False)
    assert ran.code in (2, 3)
    assert words in " ".join(ran.err.split())
    for raw in ("_ms", "execution_", "Value error", "None"):
        assert raw not in ran.err


def test_an_attempt_is_unknown_once(praxis: Praxis, order_file: Any) -> None:
    slow = python_command("import time; time.sleep(60)", time_limit_ms=300)
    praxis("submit", order_file(implementation=slow))
    approve(praxis, "WO-1")
    praxis("serve", "--until-idle", "--quiet")
    said = praxis("show", "WO-1").out
    assert "UNKNOWN  " in said
    assert "UNKNOWN UNKNOWN" not in said


def test_cancelling_the_engine_says_what_that_means(praxis: Praxis, order_file: Any) -> None:
    praxis("submit", order_file())
    said = praxis("cancel", "engine", "--reason", "enough").out
    assert said.startswith("Cancelled every open work order.")
    assert praxis("list", "--json").json[0]["state"] == "CANCELLED"


def test_paths_are_named_whole(praxis: Praxis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    ran = praxis("list", "--data", "../sub/../nowhere", ok=False)
    assert f"There is no data in {tmp_path / 'nowhere'}." in ran.err


def test_the_doctor_names_nobody_as_owner(praxis: Praxis, order_file: Any) -> None:
    praxis("submit", order_file())
    assert "owner        nobody has the folder open" in praxis("doctor").out


def test_one_of_a_thing_is_one(praxis: Praxis, order_file: Any) -> None:
    praxis("submit", order_file(implementation=python_command("print(1)", max_cost=1)))
    assert ", 1 unit, " in praxis("show", "WO-1/1").out
    for command in (("wakes", "show"), ("docket", "decide"), ("schedule", "show")):
        more = ("all", "--reason", "r") if command[0] == "docket" else ()
        ran = praxis(*command, "x", *more, ok=False)
        assert "'x' names no " in ran.err
        assert " a undecided" not in ran.err
