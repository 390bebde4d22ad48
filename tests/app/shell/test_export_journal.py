"""File > Export journal, over the real engine."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QLabel

from app.main import open_console
from app.shell import export_journal as exporting
from engine.control.holds import WHOLE_ENGINE
from tests.app.shell.test_window import action, press, question


@pytest.mark.parametrize("name", ["journal.jsonl", "journal.csv"])
async def test_the_whole_journal_is_written(
    qapp: QApplication, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    target = tmp_path / name

    async def choose(*_: object, **__: object) -> Path:
        return target

    monkeypatch.setattr(exporting, "ask_save_file", choose)
    async with open_console(qapp, folder) as window:
        window.show()
        await window.session.engine.pause(WHOLE_ENGINE, window.session.actor, reason="=1+1")
        await window.session.settled()
        action(window, "Export journal…").trigger()
        dialog = await question()
        while dialog.windowTitle() != "The journal is exported":
            dialog = await question()
        rows = len(await window.session.engine.journal(limit=1000))
        assert any(str(target) in found.text() for found in dialog.findChildren(QLabel))
        press(dialog, "Close")
        await window.session.settled()
    text = target.read_text(encoding="utf-8")
    if name.endswith(".csv"):
        assert len(list(csv.DictReader(text.splitlines()))) == rows
    else:
        kinds = [json.loads(line)["kind"] for line in text.splitlines()]
        assert len(kinds) == rows
        assert "hold.placed" in kinds
    assert not list(tmp_path.glob("*.new"))


async def test_going_back_writes_nothing(
    qapp: QApplication, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def choose(*_: object, **__: object) -> None:
        return None

    monkeypatch.setattr(exporting, "ask_save_file", choose)
    async with open_console(qapp, folder) as window:
        await exporting.export_journal(window, window.session)


async def test_a_file_that_cannot_be_written_is_said(
    qapp: QApplication, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def choose(*_: object, **__: object) -> Path:
        return tmp_path / "no such folder" / "journal.jsonl"

    monkeypatch.setattr(exporting, "ask_save_file", choose)
    async with open_console(qapp, folder) as window:
        window.show()
        action(window, "Export journal…").trigger()
        dialog = await question()
        while "cannot be written" not in dialog.windowTitle():
            dialog = await question()
        press(dialog, "Close")
        await window.session.settled()
