"""`praxis grant` over a real folder: a person gives after looking, sees every use, and revokes (E-42a)."""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.conftest import python_command
from tests.interfaces.conftest import Praxis


def test_a_person_gives_looks_and_revokes(praxis: Praxis, order_file: Any, workspace: Any) -> None:
    (workspace / "task.py").write_text("print('done')")
    command = python_command("pass")
    argv = (sys.executable, "task.py", "alpha")
    file = order_file(implementation=type(command)(argv, environment=command.environment))
    praxis("submit", file, "--as-agent", "codex")
    seal = praxis("show", "WO-1/1", "--json").json["approval"]["seal"]
    shown = praxis("grant", "give", "WO-1", "--free", "2", "--for", "90s", "--uses", "2", ok=False)
    assert shown.code == 2
    assert "Free: argument 2" in shown.out
    assert "there is nobody at a terminal" in shown.err
    assert praxis("grant", "give", "WO-1", "--seal", "0" * 8, ok=False).code == 5
    assert praxis("grant", "give", "WO-1", "--seal", seal, "--free", "1", ok=False).code == 2
    assert praxis("grant", "list").out == "No standing grant is in force.\n"
    given = praxis(
        "grant",
        "give",
        "WO-1",
        "--free",
        "2",
        "--uses",
        "3",
        "--seal",
        seal[:8],
        "--reason",
        "tonight",
        "--json",
    ).json
    assert (given["row"]["uses"], given["row"]["max_uses"], given["row"]["argv"][2]) == (1, 3, None)
    name = given["row"]["id"][-6:]
    praxis(
        "submit",
        order_file(implementation=type(command)((*argv[:2], "beta"), environment=command.environment)),
    )
    assert len(praxis("inbox", "--json").json) == 1, "a person's own order is not the agent's"
    praxis("submit", file, "--as-agent", "codex")
    listed = praxis("grant", "list").out
    assert name in listed
    assert "2 of 3" in listed
    whole = praxis("grant", "show", name).out
    assert "(free)" in whole
    assert "WO-3" in whole
    assert "tonight" in whole
    assert "by the standing grant of" in praxis("show", "WO-3/1").out
    refused = praxis("grant", "revoke", name, "--reason", "r", "--as-agent", "codex", "--json", ok=False)
    assert json.loads(refused.err)["code"] == "unauthorized"
    assert "Used 2 of 3 times" in praxis("grant", "revoke", name, "--reason", "enough").out
    assert len(praxis("inbox", "--json").json) == 3
    assert "REVOKED" in praxis("grant", "list", "--all").out
    assert praxis("grant", "show", "ZZZZZZ", ok=False).code == 3


def test_bounds_are_told_before_the_card(praxis: Praxis, order_file: Any) -> None:
    praxis("submit", order_file())
    for wrong in (("--uses", "0"), ("--uses", "101"), ("--for", "25h")):
        ran = praxis("grant", "give", "WO-1", "--seal", "0" * 8, *wrong, ok=False)
        assert (ran.code, ran.out) == (2, "")
