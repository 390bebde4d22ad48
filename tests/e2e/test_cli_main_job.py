"""The main job from outside: each command a process of its own, on a real repository with a failing test (E-91)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from engine.interfaces.scratch import create_example_repository
from engine.workspace.repository import find_git


def praxis(folder: Path, *arguments: str) -> Any:
    """Run ``praxis`` in a process of its own and give the JSON document that it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "engine.interfaces.cli", "--data", str(folder), *arguments, "--json"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def fails(repository: Path) -> bool:
    """Whether the repository's own test fails, run outside the product."""
    done = subprocess.run(
        [sys.executable, "-B", "-m", "unittest", "tests.test_rounding"],
        cwd=repository,
        capture_output=True,
        check=False,
    )
    return done.returncode != 0


def test_from_submit_to_accepted_in_separate_processes(folder: Path, tmp_path: Path) -> None:
    repository = tmp_path / "payments-api"
    create_example_repository(repository, git=find_git(os.environ))
    assert fails(repository)
    praxis(folder, "submit", str(repository / "work-order.toml"))
    (request,) = praxis(folder, "inbox")
    praxis(folder, "serve", "--until-idle", "--quiet")
    assert fails(repository), "nothing runs unapproved"
    praxis(folder, "approve", "WO-1", "--seal", request["seal"][:12], "--with-validation")
    praxis(folder, "serve", "--until-idle", "--quiet")
    assert not fails(repository), "the implementation step mended it"
    story = praxis(folder, "show", "WO-1")
    assert story["row"]["state"] == "AWAITING_ACCEPTANCE"
    assert [item["outcome"] for item in story["validations"]] == ["PASSED"]
    evidence = praxis(folder, "evidence", "WO-1/1")
    assert "rounding.py" in json.dumps(evidence)
    praxis(folder, "accept", "WO-1", "--reason", "Read the diff.")
    assert praxis(folder, "show", "WO-1")["row"]["state"] == "ACCEPTED"
    assert praxis(folder, "journal", "verify")
