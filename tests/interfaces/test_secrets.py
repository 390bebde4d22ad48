"""The value of a secret goes to the command alone: it is in nothing that is recorded, shown, exported or given away.

What the command itself wrote is kept as it was (raw evidence); everywhere else the value never occurs (B-124, E-40a).
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from engine.interfaces import cli_doctor
from engine.interfaces.redaction import only_words, own_words, without_home
from engine.work_order import Secret
from tests.conftest import python_command
from tests.interfaces.conftest import Praxis, approve

USES_IT = """
import json, os, sys
token = os.environ["TOKEN"]
print("the token is", token)
print("error about", token, file=sys.stderr)
open("kept.txt", "w", encoding="utf-8").write(token)
json.dump({"cost": 3, "summary": "used " + token, "questions": [token]},
          open(os.environ["PRAXIS_RESULT"], "w", encoding="utf-8"))
sys.exit(int(sys.argv[1]))
"""
SECRET = 'hunter2-odd"quote\\back-ß∅-value'


def forms(secret: str) -> list[bytes]:
    """The secret as it could stand in a file: plain, and inside JSON with and without escapes."""
    texts = {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    return [text.encode() for text in texts]


@pytest.mark.skipif(sys.platform == "win32", reason="the run folder is judged by POSIX names")
def test_the_value_of_a_secret_is_nowhere_but_in_what_the_command_wrote(
    praxis: Praxis,
    order_file: Any,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CONSOLE_TOKEN", SECRET)
    own = MappingProxyType({"TOKEN": Secret("CONSOLE_TOKEN")})

    def order(exit_code: int) -> str:
        command = python_command(USES_IT, str(exit_code), environment=own, artifacts=("kept.txt",))
        return order_file(implementation=command, name=f"order-{exit_code}.toml")

    said: list[bytes] = []

    def ask(*arguments: str, ok: bool = True) -> Any:
        ran = praxis(*arguments, ok=ok)
        said.append(ran.raw + ran.raw_err)
        return ran

    for number, exit_code in enumerate((0, 1), 1):
        ask("submit", order(exit_code))
        ask("show", f"WO-{number}/1")
        approve(praxis, f"WO-{number}", "--with-validation")
        ask("serve", "--until-idle")
    ask("accept", "WO-1")
    # Approved, then the value changes: refused as drift, with both sides shown.
    ask("submit", order(0))
    approve(praxis, "WO-3")
    monkeypatch.setenv("CONSOLE_TOKEN", other := "changed-" + SECRET)
    ask("serve", "--until-idle")

    receipt, exported, metrics = tmp_path / "receipt.json", tmp_path / "journal.csv", tmp_path / "metrics.txt"
    bundle = tmp_path / "bundle.zip"
    for arguments in (
        ("list",),
        *((command, f"WO-{number}") for command in ("show", "evidence") for number in (1, 3)),
        ("show", "WO-2/1/1"),
        ("explain", "WO-3"),
        ("journal", "export"),
        ("backup",),
        ("backups",),
    ):
        ask(*arguments, ok=False)
        ask(*arguments, "--json", ok=False)
    ask("receipt", "WO-1", "-o", str(receipt))
    ask("journal", "export", "--form", "csv", "-o", str(exported))
    ask("metrics", "-o", str(metrics))

    def broken(*_: object) -> None:
        raise RuntimeError("an odd fault")

    with monkeypatch.context() as patch:
        patch.setattr(cli_doctor, "_sizes", broken)
        assert ask("doctor", ok=False).code == 1
    ask("doctor", "--bundle", str(bundle))

    written = {path.name: path.read_bytes() for path in (receipt, exported, metrics)}
    with zipfile.ZipFile(bundle) as archive:
        written |= {name: archive.read(name) for name in archive.namelist()}
    raw = [folder / "blobs", *(one / "blobs" for one in (folder / "backups").iterdir())]
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not any(place in path.parents for place in raw):
            written[str(path.relative_to(folder))] = path.read_bytes()
    written |= {f"output {number}": text for number, text in enumerate(said)}
    assert {"database.json", "praxis.log.txt", "logs/praxis.log", "praxis.sqlite"} <= written.keys()
    assert len(said) > 30
    found = {name for name, data in written.items() for form in forms(SECRET) + forms(other) if form in data}
    assert found == set()
    kept = b"".join(path.read_bytes() for path in (folder / "blobs").rglob("*") if path.is_file())
    assert SECRET.encode() in kept, "the test reached the command"


def test_what_people_wrote_is_not_in_the_bundle(
    praxis: Praxis, order_file: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in any of its forms: argv, environment, title, reasons, names, workspaces, what a log or a fault quotes."""
    home = tmp_path / "home-of-ada"
    workspace = home / "plant0workspace"
    workspace.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("LOGNAME", "plant1person")
    command = python_command(
        "print('plant2output')", "--password=plant3argv", environment={"A": "plant4value"}
    )
    praxis(
        "submit",
        order_file(
            implementation=command,
            title="plant5title",
            reason="plant6reason",
            project="plant7project",
            workspace=str(workspace),
        ),
        "--as-agent",
        "plant8agent",
    )
    praxis("agent", "add", "plant9key")
    praxis("hold", "project:plant7project", "--reason", "plantAhold")
    praxis("hold", "engine", "--reason", "plantBhold")
    logs = folder / "logs"
    logs.mkdir(exist_ok=True)
    (logs / "console.log").write_text(
        f"2026-12-01T03:44:17.123Z ERROR   engine.execution.local_worker: The evidence of attempt "
        f"01M8QWD8JEHZJYE2RWSDKQ2115 could not be kept. plantClog {workspace}\n"
        'Traceback (most recent call last):\n  File "/srv/plantDpath/engine/engine.py", line 12, in submit\n'
        "    raise InvalidValue(plantEname)\nValueError: plantFmessage\n",
        encoding="utf-8",
    )

    def broken(*_: object) -> None:
        raise RuntimeError("plantGfault")

    with monkeypatch.context() as patch:
        patch.setattr(sys, "argv", ["praxis", "doctor", "--data=plantHdata", "--", "--plantI"])
        patch.setattr(cli_doctor, "_sizes", broken)
        assert praxis("doctor", ok=False).code == 1
    bundle = tmp_path / "bundle.zip"
    told = praxis("doctor", "--bundle", str(bundle), "--json").json
    assert told["bundle"] == str(bundle)
    with zipfile.ZipFile(bundle) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert {"README.txt", "versions.json", "folder.json", "database.json", "console.log.txt"} <= parts.keys()
    whole = "\n".join(parts.values())
    assert "plant" not in whole.replace(str(folder), "")
    assert str(home) not in whole
    assert "hold.placed" in parts["database.json"]
    assert json.loads(parts["database.json"])["checked"]["problem_count"] == 0
    line = parts["console.log.txt"].splitlines()[0]
    assert line.startswith(
        "2026-12-01T03:44:17.123Z ERROR   engine.execution.local_worker: The evidence of attempt 01M8QWD8"
    )
    assert "line 12, in submit" in parts["console.log.txt"]
    log = (logs / "praxis.log").read_text(encoding="utf-8")
    assert "praxis doctor --data\n" in log
    assert "plantH" not in log


def test_the_bundle_of_an_owner_has_what_the_owner_says(
    praxis: Praxis, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "empty.zip"
    praxis("doctor", "--data", str(tmp_path / "none"), "--bundle", str(empty))
    with zipfile.ZipFile(empty) as archive:
        assert set(archive.namelist()) == {"README.txt", "versions.json", "folder.json"}
    assert praxis("doctor", "--bundle", str(tmp_path / "no" / "folder.zip"), ok=False).code == 2
    assert not (tmp_path / "none").exists()


def test_only_the_programs_own_words_are_kept() -> None:
    words = own_words()
    line = "2026-12-01 03:44:17,123 WARNING engine.storage.writer: A transaction could not be rolled back. hunter2 x9"
    assert only_words(line, words) == line.replace("hunter2", "…").replace("x9", "…")
    assert only_words("AKIA0123456789ABCDEF 4111111111111111", words) == "… …"
    assert len(only_words("a " * 10_000, words)) == 1_000


def test_the_home_folder_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("USERPROFILE", "/home/ada")
    assert without_home('"/home/ada/x" /home/adam /home/ada') == '"~/x" /home/adam ~'
