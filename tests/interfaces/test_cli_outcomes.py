"""`praxis reconcile` with proof and `praxis replan`, alone on a folder and against an owner (E-63, E-72)."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from engine.control import proofs
from engine.execution.blobs import BlobStore
from tests.conftest import python_command
from tests.interfaces.conftest import Praxis, approve
from tests.interfaces.test_cli_owner import environment, owner, until_true

__all__ = ["environment", "owner"]

SLOW = python_command("import time; print('began', flush=True); time.sleep(60)", time_limit_ms=500)


@pytest.fixture(params=["alone", "owner"])
def unknown(request: pytest.FixtureRequest, praxis: Praxis, order_file: Any) -> str:
    """An attempt that passed its time limit; an owner has the folder, or nobody."""
    praxis("submit", order_file(implementation=SLOW))
    approve(praxis, "WO-1")
    if request.param == "owner":
        request.getfixturevalue("owner")()
    else:
        praxis("serve", "--until-idle", "--quiet")
    until_true(lambda: "UNKNOWN" in praxis("show", "WO-1/1", "--json").out)
    return "WO-1/1/1"


def decision(praxis: Praxis) -> dict[str, Any]:
    return praxis("show", "WO-1", "--json").json["decisions"][-1]


def test_e72_what_is_shown_is_kept_byte_for_byte_and_named_in_the_decision(
    praxis: Praxis, unknown: str, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = os.urandom(5 << 20)  # more than a message of the channel takes
    (tmp_path / "pièce à conviction.bin").write_bytes(odd)
    (tmp_path / "link.txt").symlink_to("seen.txt")
    (tmp_path / "seen.txt").write_text("the table is as before")
    monkeypatch.chdir(tmp_path)
    ran = praxis(
        "reconcile", unknown, "did-not", "--reason", "looked", "--saw", "no row was added",
        "--proof", "pièce à conviction.bin", "--proof", "link.txt",
    )  # fmt: skip
    digest = hashlib.sha256(odd).hexdigest()
    assert "VOIDED" in ran.out
    assert f"Kept as proof: pièce à conviction.bin, sha256 {digest}" in ran.out
    kept = decision(praxis)["proof"]
    assert [(one["name"], one["size"]) for one in kept] == [
        ("what was seen", 16),
        ("pièce à conviction.bin", len(odd)),
        ("link.txt", 22),
    ]
    assert BlobStore(folder / "blobs").path(digest).read_bytes() == odd
    assert digest in praxis("show", "WO-1").out
    assert praxis("show", "WO-1", "--json").json["tasks"][0]["state"] == "READY"


def test_a_proof_that_cannot_be_kept_decides_nothing(
    praxis: Praxis, unknown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"x" * 2000)
    (tmp_path / "empty").touch()
    monkeypatch.setattr(proofs, "LARGEST_FILE", 1000)
    many = [part for _ in range(21) for part in ("--saw", "nothing")]
    for arguments, code, words in (
        (["--proof", str(tmp_path / "absent")], 3, "cannot be read: No such file"),
        (["--proof", str(tmp_path)], 2, "is no file"),
        (["--proof", str(tmp_path / "pipe")], 2, "is no file"),
        (["--proof", str(tmp_path / "large")], 2, "large has 2,000 bytes"),
        (many, 2, "21 proofs are more than the 20"),
        (["--proof", str(tmp_path / "empty")], 2, "empty is empty"),
        ([], 2, 'Add --saw "what was there", or --proof FILE.'),
        (["--saw", " "], 2, "A proof is either a note or a file"),
    ):
        ran = praxis("reconcile", unknown, "did-not", "--reason", "r", *arguments, ok=False)
        assert (ran.code, words in ran.err) == (code, True), ran.err
        assert "Nothing was decided." in ran.err
    assert praxis("show", unknown, "--json").json["state"] == "UNKNOWN"
    assert praxis("show", "WO-1", "--json").json["decisions"] == []


def test_a_proof_that_changes_on_its_way_is_refused(
    praxis: Praxis, unknown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.interfaces import cli_deciding

    (tmp_path / "log").write_text("before")
    seen = cli_deciding.shown_proofs

    def then_written(*arguments: Any) -> Any:
        shown = seen(*arguments)
        (tmp_path / "log").write_text("after")
        return shown

    monkeypatch.setattr(cli_deciding, "shown_proofs", then_written)
    ran = praxis(
        "reconcile", unknown, "did-not", "--reason", "r", "--proof", str(tmp_path / "log"), "--json", ok=False
    )
    assert ran.code == 2
    assert json.loads(ran.err)["what"] == "log changed while it was being attached."
    assert praxis("show", unknown, "--json").json["state"] == "UNKNOWN"


def test_e63_replan_ends_one_order_and_asks_for_another_once(
    praxis: Praxis, unknown: str, order_file: Any
) -> None:
    assert "replan" in praxis("show", "WO-1").out
    better = order_file("print('better')", name="better.toml", title="Better")
    ran = praxis("replan", "WO-1", better, "--reason", "too slow", "--key", "k")
    assert "WO-1: CANCELLED" in ran.out
    assert "WO-2 “Better” takes its place" in ran.out
    assert "praxis approve WO-2" in ran.out
    again = praxis("replan", "WO-1", better, "--reason", "too slow", "--key", "k", "--json").json
    assert again["submitted"]["number"] == 2
    assert [one["number"] for one in praxis("list", "--json").json] == [2, 1]
    assert decision(praxis)["kind"] == "replanned"
    assert praxis("show", unknown, "--json").json["state"] == "UNKNOWN", "replanning settles no UNKNOWN"
    over = praxis("replan", "WO-1", better, "--reason", "again", ok=False)
    assert (over.code, "cannot be replanned" in over.err) == (4, True)
    assert praxis("replan", "WO-1", "absent.toml", "--reason", "r", ok=False).code == 3


def test_what_an_unknown_freezes_is_shown_in_units_and_time(praxis: Praxis, order_file: Any) -> None:
    praxis("submit", order_file(implementation=SLOW))
    assert "frozen until" not in praxis("show", "WO-1").out
    assert "time frozen" not in praxis("show", "WO-1").out
    approve(praxis, "WO-1")
    praxis("serve", "--until-idle", "--quiet")
    frozen = praxis("budget", "list", "--json").json[0]["execution"]
    assert (frozen["frozen_cost"] > 0, frozen["frozen_ms"]) == (True, 500)
    said = praxis("show", "WO-1").out
    assert f"frozen until it is decided: {frozen['frozen_cost']} unit" in said
    assert "and 500ms of active time" in said
    assert "time frozen" in said
    for name in ("everything", "project:default", "WO-1"):
        assert "500ms" in praxis("budget", "show", name).out
    assert praxis("budget", "list").out.count("everything") == 1
