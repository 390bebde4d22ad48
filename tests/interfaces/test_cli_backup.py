"""`praxis` backup, verify, rehearse and restore (E-91, E-80 to E-82), alone and through the owner."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.engine import Engine
from engine.interfaces.channel import Channel
from tests.interfaces.conftest import Praxis, approve


def test_the_whole_way_there_and_back(praxis: Praxis, order_file: Any, folder: Path) -> None:
    """Back up with a request pending, run it, restore: it is told, nothing runs, undo brings the other back."""
    praxis("submit", order_file("print('did it')"))
    made = praxis("backup", "--json").json
    assert made["proven"] is True
    name = Path(made["path"]).name
    assert name in praxis("backups").out
    assert "is good" in praxis("verify", name).out
    assert "can be restored" in praxis("rehearse", name).out
    approve(praxis, "WO-1", "--with-validation")
    praxis("serve", "--until-idle", "--quiet")
    refused = praxis("restore", name, ok=False)
    assert refused.code == 2
    assert "Started since" in refused.out
    assert "--confirm" in refused.err
    assert praxis("restore", name, "--confirm", "other", ok=False).code == 2
    restored = praxis("restore", name, "--confirm", folder.name, "--reason", "drill").out
    assert "after the backup: WO-1 implement" in restored
    assert praxis("list", "--json").json[0]["state"] == "DECISION_NEEDED"
    assert "WO-1" not in praxis("serve", "--until-idle", "--json").json["reason"]
    assert praxis("acknowledge-restore", ok=False).code == 2
    praxis("acknowledge-restore", "--reason", "looked")
    assert praxis("acknowledge-restore", "--reason", "again", ok=False).code == 4
    report = praxis("restore", "--undo", "--confirm", folder.name, "--json").json
    assert report["kind"] == "ROLLBACK"
    assert praxis("list", "--json").json[0]["state"] == "AWAITING_ACCEPTANCE"


def test_a_backup_to_another_place_onto_an_empty_folder(
    praxis: Praxis, order_file: Any, tmp_path: Path
) -> None:
    praxis("submit", order_file())
    made = praxis("backup", "--to", str(tmp_path / "disk"), "--only-copy", "--json").json
    assert made["proven"] is False
    target = tmp_path / "new data"
    praxis("restore", made["path"], "--data", str(target), "--confirm", "new data")
    assert praxis("list", "--json", "--data", str(target)).json[0]["number"] == 1


def test_what_is_wrong_is_said_with_an_exit_code(praxis: Praxis, order_file: Any, folder: Path) -> None:
    assert praxis("backups", ok=False).code == 3
    praxis("submit", order_file())
    assert praxis("backups").out.startswith("There is no backup yet")
    assert praxis("verify", "nothing", ok=False).code == 3
    assert praxis("restore", ok=False).code == 2
    assert praxis("restore", "x", "--undo", ok=False).code == 2
    assert praxis("restore", "--undo", "--confirm", folder.name, ok=False).code == 3
    path = Path(praxis("backup", "--json").json["path"])
    (path / "extra.txt").write_text("?")
    found = praxis("verify", path.name, "--json", ok=False)
    assert found.code == 6
    assert found.json["problems"] == [
        {
            "kind": "FILE_EXTRA",
            "file": "extra.txt",
            "text": "The file extra.txt does not belong to the backup.",
        }
    ]
    assert praxis("restore", path.name, "--confirm", folder.name, ok=False).code == 6
    assert "extra.txt" in praxis("verify", path.name, ok=False).out


def test_only_a_person_backs_up_and_restores(praxis: Praxis, order_file: Any, folder: Path) -> None:
    praxis("submit", order_file())
    name = Path(praxis("backup", "--only-copy", "--json").json["path"]).name
    for command in (("backup",), ("restore", name, "--confirm", folder.name), ("rehearse", name)):
        assert praxis(*command, "--as-agent", "codex", ok=False).code == 5
    assert praxis("verify", name, "--as-agent", "codex").code == 0


def test_e83_backups_by_schedule(praxis: Praxis, order_file: Any, tmp_path: Path) -> None:
    praxis("submit", order_file())
    assert "No backup is made by itself" in praxis("backup-schedule").out
    place = tmp_path / "disk"
    assert (
        "Every 12h into" in praxis("backup-schedule", "--every", "12h", "--to", str(place), "--keep", "3").out
    )
    assert praxis("backup-schedule", "--json").json["schedule"] == {
        "every_ms": 12 * 3_600_000,
        "keep": 3,
        "place": str(place),
    }
    for wrong in (
        ("--every", "1s"),
        ("--to", "x"),
        ("--off", "--every", "1h"),
        ("--every", "1h", "--keep", "0"),
    ):
        assert praxis("backup-schedule", *wrong, ok=False).code == 2
    assert praxis("backup-schedule", "--off", "--json").json["schedule"] is None


@pytest.fixture
def owner(folder: Path) -> Iterator[None]:
    """Another part of this process owns the folder and answers on its channel."""
    ready, stop = threading.Event(), threading.Event()

    async def own() -> None:
        engine = await Engine.open(folder, automatic=False)
        channel = await Channel.listen(engine, folder, program="owner")
        ready.set()
        await asyncio.to_thread(stop.wait)
        await channel.close()
        await engine.close()

    thread = threading.Thread(target=lambda: asyncio.run(own()))
    thread.start()
    assert ready.wait(30)
    yield
    stop.set()
    thread.join()


def test_e90_the_owner_backs_up_for_a_command(praxis: Praxis, owner: None, folder: Path) -> None:
    made = praxis("backup", "--json").json
    assert made["proven"] is True
    refused = praxis("restore", made["path"], "--confirm", folder.name, ok=False)
    assert refused.code == 6
    assert "in use" in refused.err


def test_a_place_that_cannot_be_is_what_is_named(praxis: Praxis, order_file: Any, tmp_path: Path) -> None:
    """The data folder is not to blame for a wrong --to."""
    praxis("submit", order_file())
    place = tmp_path / "file"
    place.write_text("x")
    for wrong in (place, place / "below"):
        ran = praxis("backup", "--to", str(wrong), ok=False)
        assert ran.code == 6
        assert f"cannot be written to “{wrong}”" in ran.err
        assert "data folder" not in ran.err


def test_a_rehearsal_needs_no_data_folder(praxis: Praxis, order_file: Any, tmp_path: Path) -> None:
    praxis("submit", order_file())
    made = praxis("backup", "--only-copy", "--json").json["path"]
    nowhere = tmp_path / "nothing here"
    assert "can be restored" in praxis("rehearse", made, "--data", str(nowhere)).out
    assert not nowhere.exists()


def test_copies_elsewhere_are_listed_with_their_place(
    praxis: Praxis, order_file: Any, tmp_path: Path
) -> None:
    praxis("submit", order_file())
    places = [
        Path(praxis("backup", "--only-copy", "--to", str(tmp_path / disk), "--json").json["path"])
        for disk in ("kept", "lost")
    ]
    places[1].rename(places[1].with_name("moved"))
    own = Path(praxis("backup", "--only-copy", "--json").json["path"])
    found = {one["path"]: one["problem"] for one in praxis("backups", "--json").json}
    assert found == {str(own): "", str(places[0]): "", str(places[1]): "It is not there any more."}
    said = praxis("backups").out
    assert str(places[0]) in said
    assert f"\n{own.name}" in said


def test_what_a_restore_took_away_is_not_blamed_on_retention_alone(
    praxis: Praxis, order_file: Any, folder: Path
) -> None:
    praxis("submit", order_file())
    name = Path(praxis("backup", "--only-copy", "--json").json["path"]).name
    praxis("submit", order_file(title="Later"))
    praxis("restore", name, "--confirm", folder.name, "--reason", "drill")
    ran = praxis("show", "WO-2", ok=False)
    assert ran.code == 3
    assert "WO-2 is not there any more" in ran.err
    assert "a restore brought back data from before it was made" in ran.err
