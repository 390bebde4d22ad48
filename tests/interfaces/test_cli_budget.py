"""`praxis budget` over a real folder: what it shows, what it changes, and what it refuses (E-91)."""

from __future__ import annotations

from typing import Any

from tests.interfaces.conftest import Praxis


def test_a_person_looks_at_budgets_and_changes_them(praxis: Praxis, order_file: Any) -> None:
    praxis("submit", order_file(project="payments"))
    listed = praxis("budget", "list", "--json").json
    assert [row["name"] for row in listed] == ["everything", "payments"]
    assert listed[0]["execution"]["cost_limit"] == 1000
    assert "project:payments" in praxis("budget", "list").out
    assert "WO-1" in praxis("budget", "list", "--below", "project:payments").out
    changed = praxis(
        "budget",
        "set",
        "project:payments",
        "--cost",
        "0",
        "--time",
        "90s",
        "--reason",
        "a quiet week",
        "--json",
    ).json
    assert changed["row"]["execution"]["cost_limit"] == 0
    assert changed["row"]["execution"]["active_ms_limit"] == 90_000
    shown = praxis("budget", "show", "project:payments").out
    assert "a quiet week" in shown
    assert "Draws on it now (0)" in shown
    again = praxis("budget", "set", "project:payments", "--cost", "0", "--reason", "again", ok=False)
    assert again.code == 2
    told = praxis("budget", "set", "WO-1", "--cost", "5000", "--reason", "wide").out
    assert "“payments” above it allows less for a step, so that is what binds." in told
    for value in ("-1", str(10**16)):
        assert praxis("budget", "set", "root", f"--cost={value}", "--reason", "r", ok=False).code == 2


def test_projects_are_made_and_removed(praxis: Praxis, order_file: Any) -> None:
    praxis("submit", order_file(project="payments"))
    praxis("budget", "add", "docs", "--cost", "40", "--reason", "this quarter")
    praxis("budget", "remove", "project:docs", "--reason", "not after all")
    refused = praxis("budget", "remove", "project:payments", "--reason", "away", ok=False)
    assert refused.code == 4
    assert "1 work order" in refused.err
    assert praxis("budget", "show", "project:docs", ok=False).code == 3
